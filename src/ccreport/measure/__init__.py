"""What is computed from the ingested tables: flows, runs, and the measures defined over them."""

from typing import Final

# The tables that are made of an experiment's others.
MEASURED_TABLES: Final = ("flows", "runs", "reconciliation")
