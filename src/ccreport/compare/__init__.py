"""This archive beside what was published: cells, pairs and claims."""
