"""Statistics that SQL does not have: rank tests, modes, representative runs."""
