"""What is said below the rows of a typed query: why there are none, or what a number pools."""
