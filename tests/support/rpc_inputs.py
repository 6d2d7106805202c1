"""What the tests of RPC results need: files ingested, and their tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from archives import JOB, list_archive, list_one, save_table, summarise_one, write_archive, write_yaml
from readings import read_files

from ccreport.archive.harness_layout import find_root
from ccreport.core.table_folder import TableFolder
from ccreport.core.tables import read_table
from ccreport.measure import EXPERIMENT_TABLES
from ccreport.measure.runs import measure_runs
from ccreport.summarise.database import list_views


@dataclass(frozen=True)
class Tables:
    tests: pl.DataFrame
    samples: pl.DataFrame
    histograms: pl.DataFrame
    rejects: pl.DataFrame

    @property
    def reasons(self) -> list[tuple[str, bool]]:
        """Return reason and whether the whole file is meant, of every reject."""
        return [(row["reason"], row["is_whole_file"]) for row in self.rejects.iter_rows(named=True)]

    @property
    def test(self) -> dict[str, Any]:
        """Return the only test."""
        (row,) = self.tests.iter_rows(named=True)
        return row

    def series(self, name: str) -> dict[str, Any]:
        """Return the row of one flent series."""
        (row,) = self.tests.filter(pl.col("data_series") == name).iter_rows(named=True)
        return row

    def values(self, name: str) -> pl.DataFrame:
        """Return the samples of one flent series."""
        return self.samples.filter(pl.col("test_number") == self.series(name)["test_number"])


def ingest(files: Mapping[str, str | bytes], folder: Path) -> Tables:
    """Ingest files of one job by their names there."""
    archive = write_archive(folder / "raw", {f"{JOB}/{name}": content for name, content in files.items()})
    return Tables(*read_files("rpc", list_one(archive, folder / "w"), archive, folder).values())


EVALUATION = {
    "title": "RPCs",
    "algorithms": {"CUBIC": {"members": ["cubic"]}, "BBR": {"members": ["bbr"]}},
    "labels": {},
    "tables": {"rpc_latency": {"title": "Latency"}, "rpc_load": {"title": "Load"}},
}


@dataclass(frozen=True)
class RpcDatabase:
    path: Path
    evaluation: Path

    def read(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a published table, checked against its schema."""
        summarise_one(table, self.evaluation, self.path, self.path.parent)
        return read_table(table, [self.path.parent / f"{table}.parquet"]).rows(named=True)


def build_rpc_database(
    files: Mapping[str, str | bytes], folder: Path, flows: Sequence[Mapping[str, Any]] = (), **changes: Any
) -> RpcDatabase:
    """Take an archive of these files through inventory, RPC ingest and measure to its database.

    Of each run there are also `flows` as given for the run of that suffix.
    """
    archive = write_archive(folder / "raw", files)
    manifests = list_archive(archive, folder / "w")
    archive = find_root(archive)
    tables = folder / "tables"
    for experiment, manifest in manifests.items():
        saved = {name: tables / name / f"{experiment}.parquet" for name in EXPERIMENT_TABLES}
        own = TableFolder(folder / "experiments" / experiment)
        read = read_files("rpc", folder / f"w/manifests/{experiment}.json", archive, own.folder)
        for name in EXPERIMENT_TABLES:
            save_table(name, read[name].rows(named=True) if name in read else [], own.place(name))
        measure_runs(manifest, own, include_interrupted=False, include_cpu_bound=True)
        for name, path in saved.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            own.place(name).rename(path)
        of_runs = [dict(row) for row in flows if row["run_id"] in {run.run_id for run in manifest.runs}]
        if of_runs:
            save_table("flows", of_runs, saved["flows"])
    listed = [
        {"raw_file_id": file.raw_file_id, "path": file.path, "experiment_id": experiment, "run_id": file.run_id}
        | {"sha256": file.sha256, "state": "ingested", "kind": file.kind}
        for experiment, manifest in manifests.items()
        for file in manifest.files
    ]
    save_table("raw_files", listed, tables / "raw_files/archive.parquet")
    save_table("rejects", [], tables / "rejects/archive.parquet")
    evaluation = folder / "evaluation.yaml"
    write_yaml(evaluation, EVALUATION | changes)
    list_views(folder / "w/experiments.txt", tables, evaluation, folder / "archive.duckdb")
    return RpcDatabase(folder / "archive.duckdb", evaluation)


def rpc(cc: str | None, size: int, mean_ms: float, **changes: object) -> str:
    """Return netperf's keyval output of requests of a size: 100 transactions/s for 10 s, 5 of its segments sent again.

    Latencies are the mean times 0.5 (least), 0.9 (median), 2 (90 %), 4 (99 %) and 8 (most). A selector of value None is
    left out.
    """
    latencies = {"MIN": 0.5, "MEAN": 1, "P50": 0.9, "P90": 2, "P99": 4, "MAX": 8}
    selected: dict[str, object] = {
        "PROTOCOL": "TCP",
        "DIRECTION": "Send|Recv",
        "ELAPSED_TIME": "10.00",
        "THROUGHPUT": "100.00",
        "THROUGHPUT_UNITS": "Trans/s",
        "REQUEST_SIZE": size,
        "RESPONSE_SIZE": 1,
        "BURST_SIZE": 0,
        "LOCAL_TRANSPORT_RETRANS": 5,
        "REMOTE_TRANSPORT_RETRANS": 0,
        "TRANSPORT_MSS": 1000,
        "LOCAL_CONG_CONTROL": cc,
        "DEST_ADDR": "10.0.0.2",
        **{f"{name}_LATENCY": f"{1000 * factor * mean_ms:.2f}" for name, factor in latencies.items()},
    }
    return "".join(f"{name}={value}\n" for name, value in (selected | changes).items() if value is not None)
