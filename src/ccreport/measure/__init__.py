"""What is computed from the ingested tables: flows, runs, and the measures defined over them."""

from typing import Final

from ccreport.ingest.readers import READ_TABLES

# The tables that are made of an experiment's others.
MEASURED_TABLES: Final = ("flows", "runs", "reconciliation")
# Those others.
NEEDED_TABLES: Final = (
    "tests",
    "streams",
    "samples",
    "sample_stamps",
    "cpu_samples",
    "experiments",
    "hosts",
    "qdiscs",
    "captures",
    "capture_logs",
    "packet_flows",
    "packet_intervals",
    "kernel_drops",
)
# Tables of experiments, with a file for each batch of these, and those of one file for the archive.
EXPERIMENT_TABLES: Final = (*READ_TABLES, *MEASURED_TABLES)
ARCHIVE_TABLES: Final = ("raw_files", "rejects", "suspects")
