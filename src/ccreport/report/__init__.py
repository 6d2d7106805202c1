"""Fragments that the pages include, and the two renderers of the pages."""
