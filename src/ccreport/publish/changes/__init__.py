"""What changed since a former release, and why."""
