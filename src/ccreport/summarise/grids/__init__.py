"""A summary as the grid that is published: headings, cells, HTML, LaTeX, CSV."""
