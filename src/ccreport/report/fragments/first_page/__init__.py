"""The first page: what was found, in words and one picture."""
