"""Figures that set what was measured beside theory, or apart by its causes."""
