"""All raw files of one experiment, one reader after the other.

One process reads every format: starting Python with polars and pyarrow costs more than reading a small experiment.
"""

from pathlib import Path

from ccreport.ingest.campaigns import ingest_campaign
from ccreport.ingest.edge import ingest_edge
from ccreport.ingest.iperf3 import ingest_iperf3
from ccreport.ingest.metadata import ingest_metadata
from ccreport.ingest.mpstat import ingest_mpstat
from ccreport.ingest.nginx import ingest_nginx
from ccreport.ingest.nstat import ingest_nstat
from ccreport.ingest.rpc import ingest_rpc
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
    connections: Path,
    web_requests: Path,
    machine_counters: Path,
    rpc_tests: Path,
    rpc_samples: Path,
    rpc_histograms: Path,
    sessions: Path,
    calibrations: Path,
    attempts: Path,
    rejects: list[Path],
    packet_runs: list[str],
    edge_paths: str,
    access_log_format: str,
) -> None:
    """Write the tables of an experiment, and the rejects of iperf3, ss, mpstat, metadata, captures, edge
    dumps, access logs, counters, RPC tests and campaigns in this order.

    `packet_runs` names the runs of whose captures every packet is kept. `edge_paths` and
    `access_log_format` are those of the configuration.
    """
    of_iperf3, of_ss, of_mpstat, of_metadata, of_captures, of_edge, of_nginx, of_nstat, of_rpc, of_campaign = rejects
    ingest_iperf3(manifest, root, tests, streams, intervals, of_iperf3)
    ingest_ss(manifest, root, samples, of_ss)
    ingest_mpstat(manifest, root, cpu_samples, of_mpstat)
    ingest_metadata(manifest, root, experiments, hosts, qdiscs, harness_results, of_metadata)
    ingest_captures(
        manifest, root, captures, capture_logs, packet_flows, packet_intervals, packets, of_captures, packet_runs
    )
    ingest_edge(manifest, root, connections, of_edge, edge_paths)
    ingest_nginx(manifest, root, web_requests, of_nginx, edge_paths, access_log_format)
    ingest_nstat(manifest, root, machine_counters, of_nstat, edge_paths)
    ingest_rpc(manifest, root, rpc_tests, rpc_samples, rpc_histograms, of_rpc)
    ingest_campaign(manifest, root, sessions, calibrations, attempts, of_campaign)
