"""Archives made up from known numbers, in the layout and formats of real ones, with the answers beside them."""
