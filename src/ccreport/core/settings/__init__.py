"""Settings: what some values of a configuration may be, and which of them pages show."""
