"""ccreport: from raw congestion-control measurements to published, checkable results."""

__version__ = "0.1.0"
