"""Grids as markup: HTML and LaTeX."""
