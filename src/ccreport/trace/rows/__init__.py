"""Rows of a published table: which one is meant, the runs that it is made of, and those that are not among them."""
