"""Paths: what was set on the way of runs (rates, delay, buffer, loss), and what of it the publication gives."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from ccreport.report.archive_fragments.calibration import LISTED_AT_MOST
from ccreport.report.markup.blocks import (
    NONE,
    Html,
    leave_out_empty,
    number,
    render_float,
    render_varying,
    text,
    verbatim,
)
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit
from ccreport.summarise.open_database import open_database
from ccreport.trace.uses import is_published, name_uses

# What a row of the table has in common; of the rest it lists the values.
RATE_COLUMNS: Final = ("nic_bps", "pacing_bps", "bottleneck_bps", "background_udp_bps")
SAME: Final = ("sender_host", "host", *RATE_COLUMNS)
LISTED: Final = ("rtt_ms", "loss_pct", "buffer_bytes")
VALUES_LISTED: Final = 6
# Behind a value that the publication does not give.
CHOSEN: Final = "*"
USED: Final = "For"
MEGABYTE: Final = 1e6
CAPTION: Final = (
    "Paths, and what was set on them: the sender's interface, the pacing of each flow, the bottleneck and the UDP "
    "traffic beside the flows in {}. Several values in a cell are those of different runs; a dash is what was not "
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
    rate = choose_rate_unit(_find_largest(paths, RATE_COLUMNS))
    size = "MB" if _find_largest(paths, ["buffer_bytes"]) >= MEGABYTE else "kB"
    scales = {"rtt_ms": 1.0, "loss_pct": 1.0, "buffer_bytes": MEGABYTE if size == "MB" else 1e3}
    scales |= dict.fromkeys(RATE_COLUMNS, RATE_UNITS[rate])
    named = (USED, "Sender", "Receiver", "RTT, ms", "Loss, %", "Interface", "Pacing", "Bottleneck", f"Buffer, {size}")
    rows = [_render_path(own, used, scales) for own, used in ordered[:LISTED_AT_MOST]]
    header, rows = leave_out_empty((*named, "UDP", "Runs"), rows, USED)
    is_marked = any(text(CHOSEN) in cell for row in rows for cell in row)
    is_cut = len(ordered) > LISTED_AT_MOST
    more = f" The first {LISTED_AT_MOST} of {len(ordered):,} paths." if is_cut else ""
    numbers = (header.index("Runs"),)
    table = render_varying(header, rows, title="Paths", numbers=numbers, is_text=True, is_cut=is_cut)
    return render_float("tbl-paths", table, f"{CAPTION.format(rate)}{MARKED if is_marked else ''}{more}")


def _find_largest(paths: pl.DataFrame, columns: Sequence[str]) -> float:
    return max((value for name in columns for value in paths[name].drop_nulls()), default=0.0)


def _render_path(own: pl.DataFrame, used: pl.DataFrame, scales: Mapping[str, float]) -> list[Html]:
    def show_rate(name: str) -> Html:
        return text(None if row[name] is None else f"{row[name] / scales[name]:.4g}")

    row = own.row(0, named=True)
    rtts, losses, buffers = (_list_values(own, name, scales[name], marks=is_published(used)) for name in LISTED)
    return [
        text(name_uses(used) or None),
        verbatim(row["sender_host"]),
        verbatim(row["host"]),
        rtts,
        losses,
        *map(show_rate, ("nic_bps", "pacing_bps", "bottleneck_bps")),
        buffers,
        show_rate("background_udp_bps"),
        number(own.height),
    ]


def _list_values(own: pl.DataFrame, column: str, scale: float, *, marks: bool) -> Html:
    """Return the values of a column, or their number and range where they are many, each with its mark."""
    values = own.drop_nulls(column).group_by(column).agg(pl.col(f"gives_{column}").any()).sort(column)
    if values.is_empty():
        return NONE
    shown = [f"{value / scale:.4g}{CHOSEN if marks and not given else ''}" for value, given in values.iter_rows()]
    if len(shown) > VALUES_LISTED:
        return text(f"{shown[0]} to {shown[-1]} ({len(shown)} values)")
    return text(", ".join(shown))
