"""All raw files of one experiment, one reader after the other.

One process reads every format: starting Python with polars and pyarrow costs more than reading a small experiment.
"""

from pathlib import Path

from ccreport.ingest.iperf3 import ingest_iperf3
from ccreport.ingest.metadata import ingest_metadata
from ccreport.ingest.mpstat import ingest_mpstat
from ccreport.ingest.ss import ingest_ss


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
    rejects: list[Path],
) -> None:
    """Write the nine tables of an experiment, and the rejects of iperf3, ss, mpstat and metadata in this order."""
    of_iperf3, of_ss, of_mpstat, of_metadata = rejects
    ingest_iperf3(manifest, root, tests, streams, intervals, of_iperf3)
    ingest_ss(manifest, root, samples, of_ss)
    ingest_mpstat(manifest, root, cpu_samples, of_mpstat)
    ingest_metadata(manifest, root, experiments, hosts, qdiscs, harness_results, of_metadata)
