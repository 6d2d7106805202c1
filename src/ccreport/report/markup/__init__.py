"""Markdown and HTML, escaped."""
