"""Paths: what was set on the way of runs (rates, delay, buffer, loss), and what of it the publication gives."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from ccreport.report.archive_fragments.calibration import LISTED_AT_MOST
from ccreport.report.markup.blocks import NONE, Html, number, render_float, render_varying, text, verbatim
from ccreport.summarise.open_database import open_database
from ccreport.trace.uses import is_published, name_uses

# What a row of the table has in common; of the rest it lists the values.
SAME: Final = ("sender_host", "host", "nic_bps", "pacing_bps", "bottleneck_bps", "background_udp_bps")
LISTED: Final = ("rtt_ms", "loss_pct", "buffer_bytes")
VALUES_LISTED: Final = 6
# Behind a value that the publication does not give.
CHOSEN: Final = "*"
HEADER: Final = (
    *("For", "Sender", "Receiver", "RTT, ms", "Loss, %", "Interface", "Pacing", "Bottleneck"),
    *("Buffer, MB", "UDP", "Runs"),
)
CAPTION: Final = (
    "Paths, and what was set on them: the sender's interface, the pacing of each flow, the bottleneck and the UDP "
    "traffic beside the flows in Gbit/s. Several values in a cell are those of different runs; a dash is what was not "
    "set, or is not known. Without a bottleneck the sender's interface is the limit, unless the flows' pacing adds up "
    "to less."
)
MARKED: Final = " A star marks what the publication does not give: it was chosen for this archive."


def read_paths(database: Path, published: Mapping[str, str]) -> pl.DataFrame:
    """Return what was set on the path of each run, SAME and LISTED, with `gives_<column>` for each of LISTED.

    `published` are an evaluation's conditions by column; one without a condition is given.
    """
    gives = ", ".join(f"coalesce(({published.get(name, 'TRUE')}), FALSE) AS gives_{name}" for name in LISTED)
    columns = ", ".join(("run_id", *SAME, *LISTED[1:]))
    rtt = "coalesce(rtt_nominal_ms, rtt_ms) AS rtt_ms"
    with open_database(database) as connection:
        query = f"SELECT {columns}, {rtt}, {gives} FROM labelled_runs ORDER BY run_id"  # noqa: S608 (the evaluation's own)
        paths: pl.DataFrame = connection.sql(query).pl()
    return paths


def render_paths(paths: pl.DataFrame, uses: pl.DataFrame) -> str:
    """Return a row for each path as `read_paths` gives them, with the exhibits that its runs are for (`list_uses`).

    They are in the order of these exhibits. A star is behind what the publication of an exhibit does not give.
    """
    if paths.is_empty():
        return "No run is known.\n"
    placed = uses.with_row_index("place")
    groups = [
        (own, placed.join(own.select("run_id"), on="run_id", how="semi"))
        for _, own in paths.sort(*SAME, "rtt_ms", "run_id", nulls_last=True).group_by(*SAME, maintain_order=True)
    ]
    ordered = sorted(groups, key=lambda group: (group[1].is_empty(), group[1]["place"].min() or 0))
    rows = [_render_path(own, used) for own, used in ordered[:LISTED_AT_MOST]]
    is_marked = any(text(CHOSEN) in cell for row in rows for cell in row)
    is_cut = len(ordered) > LISTED_AT_MOST
    more = f" The first {LISTED_AT_MOST} of {len(ordered):,} paths." if is_cut else ""
    table = render_varying(HEADER, rows, title="Paths", numbers=(10,), is_text=True, is_cut=is_cut)
    return render_float("tbl-paths", table, f"{CAPTION}{MARKED if is_marked else ''}{more}")


def _render_path(own: pl.DataFrame, used: pl.DataFrame) -> list[Html]:
    row = own.row(0, named=True)
    rtts, losses, buffers = (_list_values(own, name, marks=is_published(used)) for name in LISTED)
    return [
        text(name_uses(used) or None),
        verbatim(row["sender_host"]),
        verbatim(row["host"]),
        rtts,
        losses,
        *(_show_rate(row[name]) for name in ("nic_bps", "pacing_bps", "bottleneck_bps")),
        buffers,
        _show_rate(row["background_udp_bps"]),
        number(own.height),
    ]


def _list_values(own: pl.DataFrame, column: str, *, marks: bool) -> Html:
    """Return the values of a column, or their number and range where they are many, each with its mark."""
    scale = 1e-6 if column.endswith("_bytes") else 1.0
    values = own.drop_nulls(column).group_by(column).agg(pl.col(f"gives_{column}").any()).sort(column)
    if values.is_empty():
        return NONE
    shown = [f"{scale * value:.4g}{CHOSEN if marks and not given else ''}" for value, given in values.iter_rows()]
    if len(shown) > VALUES_LISTED:
        return text(f"{shown[0]} to {shown[-1]} ({len(shown)} values)")
    return text(", ".join(shown))


def _show_rate(rate: float | None) -> Html:
    return text(None if rate is None else f"{rate / 1e9:.4g}")
