"""What several tests need: small archives, made on the spot, and their way through the inventory."""

import functools
import json
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from ccreport.archive.manifest import Manifest, read_manifests, write_manifests
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import conform, load_schema, write_table
from ccreport.inventory.inventory import list_raw_files
from ccreport.rebuild.batches import read_batches
from ccreport.summarise.database import connect
from ccreport.summarise.summarise import summarise_table

SHARED = Path(__file__).resolve().parents[3] / "shared"
ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"
CONFORMANCE = ROOT / "conformance/inputs"
JOB = "2026-11-20:22:10/both_p2"
SS = "# 1795215547.905306\nState Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n"
EPOCH = datetime(2026, 11, 20, 22, 10, tzinfo=UTC)


def write_archive(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files, by their paths below a folder, and return the folder."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def list_archive(archive: Path | list[Path], work: Path, layout: str = "") -> dict[str, Manifest]:
    """Return the manifests of an archive by experiment, made in a work folder, each a batch of its own there."""
    list_batches(archive, work, layout=layout)
    listed = {
        manifest.experiment_id: manifest for path in (work / "batches").iterdir() for manifest in read_manifests(path)
    }
    (work / "manifests").mkdir(exist_ok=True)
    for experiment, manifest in listed.items():
        write_manifests([manifest], work / "manifests" / f"{experiment}.json")
    (work / "experiments.txt").write_text("".join(f"{experiment}\n" for experiment in sorted(listed)))
    return {experiment: listed[experiment] for experiment in sorted(listed)}


def list_batches(
    archive: Path | list[Path], work: Path, batch_mib: float = 32, layout: str = ""
) -> dict[str, list[str]]:
    """Return the experiments of each batch of an archive, whose manifests are then in a work folder."""
    work.mkdir(parents=True, exist_ok=True)
    manifests, batches = work / "batches", work / "batches.txt"
    given = archive if isinstance(archive, list) else [archive]
    made_of = (given, work / "archive", work / "inventory.jsonl", manifests, [work / "tables", work / "rejects"])
    list_raw_files(*made_of, batches, work / "archive.json", batch_mib, [layout] if layout else [])
    named = read_batches(batches)
    assert {path.stem for path in manifests.iterdir()} == set(named)
    return named


def list_one(archive: Path, work: Path) -> Path:
    """Return the path of the manifest of an archive that holds one experiment."""
    (experiment,) = list_archive(archive, work)
    return work / "manifests" / f"{experiment}.json"


def iperf3_json(**changes: Any) -> str:
    """Return a small whole iperf3 result: one flow of 1 s, 1,250,000 bytes sent and 1,000,000 received."""
    stream = {
        "socket": 5,
        "start": 0,
        "end": 1.0,
        "seconds": 1.0,
        "bytes": 1250000,
        "bits_per_second": 1e7,
        "sender": True,
    }
    interval = stream | {
        "retransmits": 3,
        "snd_cwnd": 14480,
        "rtt": 10000,
        "rttvar": 500,
        "pmtu": 1500,
        "omitted": False,
    }
    sender = stream | {"retransmits": 3, "max_snd_cwnd": 14480, "max_rtt": 10000, "min_rtt": 10000, "mean_rtt": 10000}
    receiver = stream | {"bytes": 1000000, "bits_per_second": 8e6}
    connected = {
        "socket": 5,
        "local_host": "10.0.0.1",
        "local_port": 4001,
        "remote_host": "10.0.0.2",
        "remote_port": 5201,
    }
    document: dict[str, Any] = {
        "start": {
            "connected": [connected],
            "version": "iperf 3.12",
            "system_info": "Linux sender 6.1.0 #1 SMP x86_64",
            "timestamp": {"time": "Fri, 20 Nov 2026 22:10:00 GMT", "timesecs": 1795212600},
            "connecting_to": {"host": "10.0.0.2", "port": 5201},
            "cookie": "abc",
            "tcp_mss_default": 1448,
            "test_start": {
                "protocol": "TCP",
                "num_streams": 1,
                "blksize": 131072,
                "omit": 0,
                "duration": 1,
                "bytes": 0,
                "blocks": 0,
                "reverse": 0,
            },
        },
        "intervals": [{"streams": [interval], "sum": interval}],
        "end": {
            "streams": [{"sender": sender, "receiver": receiver}],
            "sum_sent": sender,
            "sum_received": receiver,
            "cpu_utilization_percent": {
                "host_total": 1.5,
                "host_user": 1.0,
                "host_system": 0.5,
                "remote_total": 2.5,
                "remote_user": 2.0,
                "remote_system": 0.5,
            },
            "sender_tcp_congestion": "cubic",
            "receiver_tcp_congestion": "cubic",
        },
    }
    return json.dumps(document | changes)


DEFAULTS: dict[str, object] = {"string": "x", "int": 0, "float": 0.0, "bool": False, "timestamp": EPOCH, "map": []}


def make_table(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return a table of these rows; a column that a row leaves out is null where the schema allows it."""
    columns = load_schema(table).columns
    blank = {c.name: None if c.nullable else c.enum[0] if c.enum else DEFAULTS[c.type] for c in columns}
    counters = {name: 1 for name in ("client_number",) if name in blank}
    return conform(pl.DataFrame([blank | counters | row for row in rows], schema=load_schema(table).polars), table)


def save_table(table: str, rows: list[dict[str, Any]], path: Path) -> Path:
    """Write a table of these rows and return its path."""
    if rows:
        write_table(make_table(table, rows), table, path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_write_empty(table))
    return path


@functools.cache
def _write_empty(table: str) -> bytes:
    """Return the file of a table without rows, which most tables of a small archive are."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.parquet"
        write_table(make_table(table, []), table, path)
        return path.read_bytes()


def write_yaml(path: Path, value: Any) -> None:
    """Write a YAML file with the compiled dumper: the other one takes half a second for an evaluation."""
    path.write_text(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")


def at(second: float) -> datetime:
    """Return a time so many seconds after the epoch of these tests."""
    return EPOCH + timedelta(seconds=second)


def list_plain(folder: Path) -> dict[str, Path]:
    """Return the files below a folder by their paths from it, sorted."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def summarise_one(table: str, evaluation: Path, database: Path, output: Path) -> None:
    """Write one published table of an evaluation into a folder."""
    with connect(database) as connection:
        summarise_table(connection, table, _read_tables(evaluation, evaluation.read_bytes())[table], output)


@functools.cache
def _read_tables(evaluation: Path, _content: bytes) -> dict[str, Any]:
    """Read an evaluation once for all of its tables: that takes a third of the time of a small one."""
    tables: dict[str, Any] = load_evaluation(evaluation)["tables"]
    return tables
