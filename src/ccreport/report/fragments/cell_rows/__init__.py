"""Sections of the pages of cells, one for each row of a table."""
