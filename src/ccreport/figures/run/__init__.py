"""Figures of single runs over time."""
