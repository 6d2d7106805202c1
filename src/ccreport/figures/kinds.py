"""Kinds of figures: the name that an evaluation gives, and the function that builds such a figure from the database.

A builder takes the declaration and a connection to `archive.duckdb`, and returns the figure; it raises MissingFigure
where the archive has no data for it, FigureError where the declaration cannot be used.
"""

from collections.abc import Callable
from typing import Final

import duckdb

from ccreport.figures.capture_figures import build_capture_figure
from ccreport.figures.figure import Figure
from ccreport.figures.selection import CAPTURE_KINDS, FigureDeclaration
from ccreport.figures.throughput_figures import build_throughput_over_time

Builder = Callable[[FigureDeclaration, duckdb.DuckDBPyConnection], Figure]

BUILDERS: Final[dict[str, Builder]] = {
    "throughput_over_time": build_throughput_over_time,
    **dict.fromkeys(sorted(CAPTURE_KINDS), build_capture_figure),
}
