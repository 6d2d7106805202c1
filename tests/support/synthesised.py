"""Made-up archives through the pipeline, in this process: their tables, and the answers beside them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from archives import list_batches
from synthesise.synthesise import synthesise

from ccreport.core.tables import read_table
from ccreport.ingest.batch import ingest_batch
from ccreport.measure.batch import measure_batch
from ccreport.measure.ledger import measure_ledger
from ccreport.rebuild.batches import table_files


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
    """Read and measure an archive as the rules do, one batch after the other."""
    batches = list_batches(made.folder, work)
    manifests, tables, rejected = work / "batches", work / "tables", work / "rejects"
    settings: dict[str, Any] = {"packet_runs": [], "edge_paths": "{}", "access_log_format": "$request_time $bytes_sent"}
    for batch in batches:
        listed = manifests / f"{batch}.json"
        ingest_batch(batch, listed, made.folder, tables, rejected, **settings)
        measure_batch(batch, listed, tables, include_interrupted=False, include_cpu_bound=False)
    ledger = [tables / name / "archive.parquet" for name in ("raw_files", "rejects")]
    measure_ledger(work / "batches.txt", manifests, tables, rejected, *ledger)
    names = ("tests", "streams", "samples", "flows", "runs")
    frames = {name: read_table(name, table_files(tables, name, batches)) for name in names}
    frames |= {path.parent.name: read_table(path.parent.name, [path]) for path in ledger}
    is_result = (pl.col("kind") == "src-cmd") & (pl.col("rule") == "ingest_iperf3")
    paths = frames["raw_files"].filter(is_result).select("run_id", "path")
    for name in ("runs", "flows"):
        frames[name] = frames[name].join(paths, on="run_id", how="left")
    return Built(made, frames)
