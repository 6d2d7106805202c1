"""All raw files of one experiment, one reader after the other.

One process reads every format: starting Python with polars and pyarrow costs more than reading a small experiment.
"""

from pathlib import Path

from ccreport.ingest.iperf3 import ingest_iperf3
from ccreport.ingest.metadata import ingest_metadata
from ccreport.ingest.mpstat import ingest_mpstat
from ccreport.ingest.ss import ingest_ss
from ccreport.ingest.tcpdump import ingest_captures


def ingest_experiment(
    manifest: Path,
    root: Path,
    tests: Path,
    streams: Path,
    intervals: Path,
    samples: Path,
    cpu_samples: Path,
    experiments: Path,
    hosts: Path,
    qdiscs: Path,
    harness_results: Path,
    captures: Path,
    capture_logs: Path,
    packet_flows: Path,
    packet_intervals: Path,
    packets: Path,
    rejects: list[Path],
    packet_runs: list[str],
) -> None:
    """Write the tables of an experiment, and the rejects of iperf3, ss, mpstat, metadata and captures in this order.

    `packet_runs` names the runs of whose captures every packet is kept.
    """
    of_iperf3, of_ss, of_mpstat, of_metadata, of_captures = rejects
    ingest_iperf3(manifest, root, tests, streams, intervals, of_iperf3)
    ingest_ss(manifest, root, samples, of_ss)
    ingest_mpstat(manifest, root, cpu_samples, of_mpstat)
    ingest_metadata(manifest, root, experiments, hosts, qdiscs, harness_results, of_metadata)
    ingest_captures(
        manifest, root, captures, capture_logs, packet_flows, packet_intervals, packets, of_captures, packet_runs
    )
