"""A campaign as its author declares it, checked, and planned as runs."""
