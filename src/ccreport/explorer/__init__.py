"""Explorer: the data of one page on which a reader looks at any run, as scripts that a browser loads from disk."""
