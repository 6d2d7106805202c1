"""Made-up archives through the pipeline, in this process: their tables, and the answers beside them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from support import list_archive

from ccreport.ingest.experiment import ingest_experiment
from ccreport.measure.ledger import READERS, measure_ledger
from ccreport.measure.runs import measure_runs
from ccreport.synthesise.synthesise import synthesise
from ccreport.tables import read_table, table_files


@dataclass(frozen=True)
class Made:
    """An archive and its key."""

    folder: Path

    def key(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.folder.with_name(f"{self.folder.name}.key") / f"{name}.parquet")


@dataclass(frozen=True)
class Built:
    """The key of an archive and the tables made of it; `runs` and `flows` have the `path` of their src-cmd."""

    made: Made
    tables: dict[str, pl.DataFrame]


def make(folder: Path, runs: int, **options: Any) -> Made:
    """Make an archive, in this process unless told otherwise."""
    synthesise(folder, runs, **({"workers": 1} | options))
    return Made(folder)


def build(made: Made, work: Path) -> Built:
    """Read and measure an archive as the rules do, one experiment after the other."""
    ids = list(list_archive(made.folder, work))
    manifests, tables, rejected = work / "manifests", work / "tables", work / "rejects"
    for experiment in ids:
        place = partial(_place, tables, experiment)
        _call(
            ingest_experiment,
            place,
            manifest=manifests / f"{experiment}.json",
            root=made.folder,
            rejects=[rejected / reader / f"{experiment}.parquet" for reader in READERS],
            packet_runs=[],
            edge_paths="{}",
            access_log_format="$request_time $bytes_sent",
        )
        _call(measure_runs, place, manifest=manifests / f"{experiment}.json")
    ledger = (tables / "raw_files.parquet", tables / "rejects.parquet")
    measure_ledger(work / "experiments.txt", manifests, tables, rejected, *ledger, strict=False)
    names = ("tests", "streams", "samples", "flows", "runs")
    frames = {name: read_table(name, table_files(tables, name, ids)) for name in names}
    frames |= {path.stem: read_table(path.stem, [path]) for path in ledger}
    is_result = (pl.col("kind") == "src-cmd") & (pl.col("rule") == "ingest_iperf3")
    paths = frames["raw_files"].filter(is_result).select("run_id", "path")
    for name in ("runs", "flows"):
        frames[name] = frames[name].join(paths, on="run_id", how="left")
    return Built(made, frames)


def _place(tables: Path, experiment: str, table: str) -> Path:
    return tables / table / f"{experiment}.parquet"


def _call(command: Callable[..., None], place: Callable[[str], Path], **arguments: Any) -> None:
    """Call a step with these arguments, switches off, and for all others the file of the table of that name."""
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in arguments:
            arguments[name] = False if parameter.annotation is bool else place(name)
    command(**arguments)
