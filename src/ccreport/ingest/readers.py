"""The readers of raw files and the tables that they write, by name."""

from typing import Final

# In the order in which they read an experiment, and in which the ledger lists what they could not use.
READERS: Final = (
    "ingest_iperf3",
    "ingest_ss",
    "ingest_mpstat",
    "ingest_metadata",
    "ingest_captures",
    "ingest_edge",
    "ingest_nginx",
    "ingest_nstat",
    "ingest_rpc",
    "ingest_campaign",
)
# Tables of which each row, or one at least, names the raw file that it was read from.
INGESTED_TABLES: Final = (
    "tests",
    "intervals",
    "streams",
    "samples",
    "cpu_samples",
    "experiments",
    "hosts",
    "qdiscs",
    "harness_results",
    "captures",
    "capture_logs",
    "connections",
    "web_requests",
    "machine_counters",
    "rpc_tests",
    "sessions",
    "calibrations",
    "attempts",
)
# What else they write of the same files.
DETAIL_TABLES: Final = ("packet_flows", "packet_intervals", "packets", "rpc_samples", "rpc_histograms")
READ_TABLES: Final = (*INGESTED_TABLES, *DETAIL_TABLES)
