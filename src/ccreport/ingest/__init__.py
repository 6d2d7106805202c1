"""One raw format, one module: each reads the files of one experiment and writes typed tables."""
