"""Somebody's own files: what they hold, which layout their names have, and the table of runs that it gives."""
