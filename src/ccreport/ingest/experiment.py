"""All raw files of one experiment, one reader after the other.

One process reads every format: starting Python with polars and pyarrow costs more than reading a small experiment.
"""

from dataclasses import dataclass
from pathlib import Path

from ccreport.ingest.campaigns import ingest_campaign
from ccreport.ingest.edge import ingest_edge
from ccreport.ingest.iperf3 import ingest_iperf3
from ccreport.ingest.metadata import ingest_metadata
from ccreport.ingest.mpstat import ingest_mpstat
from ccreport.ingest.nginx import ingest_nginx
from ccreport.ingest.nstat import ingest_nstat
from ccreport.ingest.readers import READERS
from ccreport.ingest.rpc import ingest_rpc
from ccreport.ingest.ss import ingest_ss
from ccreport.ingest.tcpdump import PIECES, ingest_captures


@dataclass(frozen=True)
class Settings:
    """What the configuration says: of which runs' captures every packet is kept, and how edge files are read."""

    packet_runs: tuple[str, ...]
    edge_paths: str
    access_log_format: str


def ingest_experiment(manifest: Path, root: Path, output: Path, settings: Settings) -> None:
    """Write the tables of an experiment as `<table>.parquet` into a folder, and rejects as `<reader>.parquet`."""
    tests, streams, intervals = _place(output, "tests", "streams", "intervals")
    experiments, hosts, qdiscs, results = _place(output, "experiments", "hosts", "qdiscs", "harness_results")
    captures, capture_logs, flows, steps, packets = _place(output, "captures", "capture_logs", *PIECES)
    rpc_tests, rpc_samples, rpc_histograms = _place(output, "rpc_tests", "rpc_samples", "rpc_histograms")
    sessions, calibrations, attempts = _place(output, "sessions", "calibrations", "attempts")
    samples, loads, connections = _place(output, "samples", "cpu_samples", "connections")
    requests, counters = _place(output, "web_requests", "machine_counters")
    of_iperf3, of_ss, of_mpstat, of_metadata, of_captures, *of_others = _place(output, *READERS)
    of_edge, of_nginx, of_nstat, of_rpc, of_campaign = of_others
    packet_runs, paths = list(settings.packet_runs), settings.edge_paths
    ingest_iperf3(manifest, root, tests, streams, intervals, of_iperf3)
    ingest_ss(manifest, root, samples, of_ss)
    ingest_mpstat(manifest, root, loads, of_mpstat)
    ingest_metadata(manifest, root, experiments, hosts, qdiscs, results, of_metadata)
    ingest_captures(manifest, root, captures, capture_logs, flows, steps, packets, of_captures, packet_runs)
    ingest_edge(manifest, root, connections, of_edge, paths)
    ingest_nginx(manifest, root, requests, of_nginx, paths, settings.access_log_format)
    ingest_nstat(manifest, root, counters, of_nstat, paths)
    ingest_rpc(manifest, root, rpc_tests, rpc_samples, rpc_histograms, of_rpc)
    ingest_campaign(manifest, root, sessions, calibrations, attempts, of_campaign)


def _place(folder: Path, *names: str) -> list[Path]:
    return [folder / f"{name}.parquet" for name in names]
