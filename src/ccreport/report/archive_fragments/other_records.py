"""What an archive holds beside runs: RPC tests, connections of servers, answers in logs, snapshots of counters."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.rebuild.batches import table_files
from ccreport.report.archive_fragments.archive_facts import show_dates, show_names
from ccreport.report.markup.blocks import close_fold, number, open_phone_fold, render_table, text

ALL: Final = pl.lit(value=True)
# Noun, table, what counts one, the rows that count, whose they are, and when they were measured.
KINDS: Final = (
    ("RPC test", "rpc_tests", pl.len(), ALL, "server_host", "start_utc"),
    ("connection", "connections", pl.len(), pl.col("is_last"), "machine", "time_utc"),
    ("answer", "web_requests", pl.len(), ALL, "machine", "logged_utc"),
    (
        "snapshot",
        "machine_counters",
        pl.struct("raw_file_id", "snapshot_number").n_unique(),
        pl.col("run_id").is_null(),
        "machine",
        "time_utc",
    ),
)
SOURCES: Final = {
    "RPC test": "RPC tests of netperf and flent",
    "connection": "connections in dumps of ss",
    "answer": "answers in access logs",
    "snapshot": "snapshots of a machine's counters",
}
HEADER: Final = ("What", "Number", "Machines", "Algorithms", "Measured, UTC")


def count_others(tables: Path, batches: Sequence[str]) -> pl.DataFrame:
    """Return a row for each kind that the archive has: noun, things, machines, algorithms (cc), times (first, last).

    `tables` is the folder of the batches' tables. Nothing is read as a whole: there may be millions of rows.
    """
    rows = []
    for noun, table, counted, condition, machine, time in KINDS:
        found = pl.scan_parquet(table_files(tables, table, batches)).filter(condition)
        rows.append(
            found.select(
                noun=pl.lit(noun),
                things=counted.cast(pl.Int64),
                machines=pl.col(machine).drop_nulls().n_unique().cast(pl.Int64),
                algorithms=pl.col("cc").drop_nulls().unique().sort().implode(),
                times=pl.concat_list(pl.col(time).min(), pl.col(time).max()),
            ).collect()
        )
    return pl.concat(rows).filter(pl.col("things") > 0)


def render_others(others: pl.DataFrame) -> str:
    """Return the table of what `count_others` found, nothing where that is nothing."""
    if others.is_empty():
        return ""
    rows = [
        [
            text(SOURCES[row["noun"]]),
            number(row["things"]),
            number(row["machines"]),
            text(show_names(pl.Series(row["algorithms"], dtype=pl.String))),
            text(show_dates(pl.Series(row["times"], dtype=others["times"].dtype.inner))),  # type: ignore[attr-defined]
        ]
        for row in others.iter_rows(named=True)
    ]
    table = render_table(HEADER, rows, title="Other measurements", numbers=(1, 2))
    opened = open_phone_fold(count_things(len(rows), "kind"))
    return f"## Besides runs of bulk transfers {{#others}}\n\n{opened}\n{table}\n{close_fold()}"
