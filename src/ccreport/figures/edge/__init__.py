"""Figures of an edge network's connections."""
