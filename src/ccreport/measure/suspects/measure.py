"""Find the suspect runs of a whole archive: siblings may be in any batch."""

from pathlib import Path
from typing import Final

import polars as pl

from ccreport.core.tables import load_schema, write_table
from ccreport.measure.suspects.instruments import CLOCK_STEP, KERNEL_DROPS, SAMPLE_GAP
from ccreport.measure.suspects.siblings import RATE, RECEIVER_CPU, SENDER_CPU
from ccreport.measure.suspects.transfers import COPIED, MISSING_FLOWS, REPEATED, UNDELIVERED
from ccreport.rebuild.batches import read_batches, table_files

# In the order in which they are listed.
RULES: Final = (
    *(SAMPLE_GAP, CLOCK_STEP, KERNEL_DROPS, SENDER_CPU, RECEIVER_CPU),
    *(RATE, UNDELIVERED, MISSING_FLOWS, REPEATED, COPIED),
)


def measure_suspects(batches: Path, tables: Path, suspects: Path) -> None:
    """Write `suspects`: a row for each rule that a run breaks, of all batches that `batches` lists below `tables`."""
    names = list(read_batches(batches))
    write_table(find_suspects(_read(tables, "runs", names), _read(tables, "attempts", names)), "suspects", suspects)


def _read(tables: Path, table: str, names: list[str]) -> pl.DataFrame:
    if not names:
        return pl.DataFrame(schema=load_schema(table).polars)
    return pl.read_parquet(table_files(tables, table, names), glob=False)


def find_suspects(runs: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `suspects`, of the tables `runs` and `attempts`, in the order of RULES and of the runs."""
    # A try that its user broke off says nothing of the run.
    ended = attempts.filter(pl.col("attempt_outcome") != "interrupted")
    tries = ended.group_by("run_id").agg(attempts_count=pl.len())
    known = runs.join(tries, on="run_id", how="left", maintain_order="left")
    return pl.concat(rule.find(known) for rule in RULES)
