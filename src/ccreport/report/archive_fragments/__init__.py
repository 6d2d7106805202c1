"""Fragments about an archive: what is in it, what became of its files, how it was collected."""
