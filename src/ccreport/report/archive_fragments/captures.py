"""The captures of an archive: every file with what it holds, what tcpdump lost, and whether it is whole."""

from typing import Any, Final

import polars as pl

from ccreport.report.markup.blocks import NONE, Html, number, prose, render_float, render_varying, verbatim

NO_CAPTURES: Final = "This archive holds no packet captures."
COUNTS: Final = (
    ("frames_count", "Packets"),
    ("tcp_packets_count", "TCP"),
    ("other_packets_count", "Other"),
    ("fragments_count", "Fragments"),
    ("malformed_packets_count", "Malformed"),
    ("kernel_drops_count", "Dropped"),
)
CAPTION: Final = (
    "Captures, by packets: all, analysed as TCP, of other protocols, fragments, malformed; those that the kernel "
    "dropped by tcpdump's own log; and whether the file ends early."
)


def render_captures(captures: pl.DataFrame, logs: pl.DataFrame, runs: pl.DataFrame) -> str:
    """Return the list of captures, from the tables of these names, or one line where there are none."""
    if captures.is_empty():
        return f"{NO_CAPTURES}\n"
    # ASSUME: tcpdump writes one log a run; where a run has several, what they say of drops is summed.
    drops = logs.group_by("run_id").agg(
        pl.when(pl.col("kernel_drops_count").is_not_null().any()).then(pl.col("kernel_drops_count").sum())
    )
    names = runs.select("run_id", "session", "job", "host", "iteration")
    listed = (
        captures.join(drops, on="run_id", how="left")
        .join(names, on="run_id", how="left")
        .sort("session", "job", "iteration", "run_id", "raw_file_id", nulls_last=True)
    )
    rows = [_render_row(row) for row in listed.rows(named=True)]
    header = ("Job", "Host", "Run", *(heading for _, heading in COUNTS), "Truncated")
    totals = [_sum(listed[column]) for column, _ in COUNTS]
    total = [Html("All"), Html(""), Html(""), *totals, number(int(listed["is_cut"].sum()))]
    table = render_varying(header, rows, title="Captures", numbers=range(2, len(header) - 1), total=total)
    return render_float("tbl-captures", table, prose(CAPTION))


def _render_row(row: dict[str, Any]) -> list[Html]:
    # A capture whose run is not known goes by the identifier that it has.
    name = verbatim(row["job"] or row["run_id"])
    counts = [number(row[column]) for column, _ in COUNTS]
    cut = Html("yes" if row["is_cut"] else "no")
    return [name, verbatim(row["host"]), number(row["iteration"]), *counts, cut]


def _sum(counts: pl.Series) -> Html:
    return number(int(counts.sum())) if counts.count() else NONE
