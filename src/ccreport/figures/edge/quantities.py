"""What figures of an edge network read: aggregates, never single connections; their words and the styles of series."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import duckdb
import polars as pl

from ccreport.figures.kit.series_styles import name_series
from ccreport.figures.select.declaration import FigureDeclaration, FigureError, choose_view, refuse_where
from ccreport.figures.select.queries import MissingFigure, describe_absence
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.runs import join_names

SERIES: Final = re.compile(r"\bseries\s+IN\s*\(([^)]*)\)", re.IGNORECASE)
TEXT: Final = re.compile(r"'([^']*)'")


@dataclass(frozen=True)
class Quantity:
    """How a quantity is named; `format` is a D3 format for the labels of a log axis."""

    name: str
    unit: str
    format: str = "~g"

    @property
    def title(self) -> str:
        """Return the title of an axis."""
        return f"{self.name} ({self.unit})"

    @property
    def lower_name(self) -> str:
        """Return the name within a sentence."""
        return f"{self.name[0].lower()}{self.name[1:]}"

    @property
    def is_log(self) -> bool:
        """Return whether its values spread over decades."""
        return self is not QUANTITIES["rwnd_limited_pct"]

    @property
    def is_count(self) -> bool:
        """Return whether its values are whole numbers, which not every bin of a log axis holds."""
        return self is QUANTITIES["unacked_count"]

    @property
    def noun(self) -> str:
        """Return what it is a quantity of."""
        return "answers" if self is QUANTITIES["request_goodput_bps"] else "connections"


QUANTITIES: Final = {
    "retransmit_pct": Quantity("Retransmitted segments", "% of data segments"),
    "rtt_ms": Quantity("Round-trip time", "ms"),
    "rtt_min_ms": Quantity("Smallest round-trip time", "ms"),
    "delivery_rate_bps": Quantity("Delivery rate", "bit/s", "~s"),
    "bbr_bw_bps": Quantity("Bandwidth as BBR estimates it", "bit/s", "~s"),
    "unacked_count": Quantity("Data in flight", "unacknowledged segments"),
    "rwnd_limited_pct": Quantity("Time limited by the receive window", "% of busy time", "d"),
    "request_goodput_bps": Quantity("Goodput of an answer", "bit/s", "~s"),
}


def find_integers(bin_number: int) -> range:
    """Return the whole numbers in a bin of a log axis, ten per decade: 1 in bin 0, none in bin 1, 4 and 5 in bin 6."""
    first, beyond = (math.ceil(10 ** (number / 10) - 1e-9) for number in (bin_number, bin_number + 1))
    return range(first, beyond)


def read_aggregates(declaration: FigureDeclaration, database: Database, table: str, order: str) -> pl.DataFrame:
    """Return the rows of an aggregate that the declaration's condition selects.

    Raise FigureError where the evaluation lacks the table or the database refuses the condition, MissingFigure where
    no row matches.
    """
    return query_aggregates(declaration, database, f"FROM {table} WHERE (\n{declaration.where}\n) ORDER BY {order}")


def find_quantity(declaration: FigureDeclaration, rows: pl.DataFrame) -> Quantity:
    """Return the one quantity that rows are of; raise FigureError where they are of several, or grouped in two ways."""
    quantities = rows["quantity"].unique().sort().to_list()
    if len(quantities) > 1:
        raise FigureError(f"figure {declaration.name!r}: its `where` selects several quantities: {quantities}")
    check_grouping(declaration, rows)
    return QUANTITIES[quantities[0]]


def check_grouping(declaration: FigureDeclaration, rows: pl.DataFrame) -> None:
    """Raise FigureError where rows are of several groupings: their series would count each connection twice."""
    groupings = rows["grouped_by"].unique().sort().to_list()
    if len(groupings) > 1:
        raise FigureError(f"figure {declaration.name!r}: its `where` selects several groupings: {groupings}")


def query_aggregates(declaration: FigureDeclaration, database: Database, query: str) -> pl.DataFrame:
    """Return the rows of a query over aggregates; raise as `read_aggregates`."""
    try:
        rows = database.ask(query)
    except duckdb.CatalogException as error:
        raise FigureError(f"figure {declaration.name!r} needs a table that the evaluation lacks: {error}") from error
    except duckdb.Error as error:
        raise refuse_where(declaration.name, error, declaration.where, view=choose_view(declaration.kind)) from error
    if rows.is_empty():
        raise MissingFigure(describe_absence(declaration, "connection or answer"))
    return rows


def tell_left_out(facts: pl.DataFrame, noun: str = "") -> str:
    """Return how many connections or answers of some series are left out, and why; `noun` is behind their number."""
    small, uncounted = (facts[name].sum() for name in ("filtered_out_count", "in_uncounted_runs_count"))
    more = f" and {uncounted:,} of runs that do not count" if uncounted else ""
    return f"{small:,}{noun} that moved too little data{more} are left out"


def name_absent(declaration: FigureDeclaration, known: Iterable[str]) -> list[str]:
    """Return a sentence on the series that a condition names (`series IN (…)`) and the archive lacks, if any."""
    asked = [name for names in SERIES.findall(declaration.where) for name in TEXT.findall(names)]
    absent = [name_series(name) for name in asked if name not in set(known)]
    return [f"The archive has no data of {join_names(absent)}"] if absent else []
