"""Latency of RPCs against load: mean and 99th percentile of each algorithm, a row of panels for each size and path."""

from typing import Final

from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.series_styles import style_series
from ccreport.figures.rpc.panels import LoadPanel, draw_rows
from ccreport.figures.rpc.rows import KINDS_OF_RPC, list_panels, read_rpc, select_panel
from ccreport.figures.rpc.wording import describe_lines, describe_rows, list_common
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import fold_sentences, write_sentences

ROWS_AT_MOST: Final = 6
TOLD: Final = {"rpc_latency_mean_ms": ("mean latency", 1.0, "ms"), "latency_p99_mean_ms": ("99 % latency", 1.0, "ms")}


def build_rpc_latency_by_load(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of all RPC tests that match, means over repetitions as in the table `rpc_latency`.

    Raise MissingFigure where they have one load or make too many panels.
    """
    rows = read_rpc(declaration, database, "rpc_latency")
    keys, values, names = list_panels(rows, KINDS_OF_RPC, ROWS_AT_MOST)
    styles = style_series(rows["algorithm"].unique().to_list())
    panels = []
    for panel_values, name in zip(values, names, strict=True):
        own = select_panel(rows, keys, panel_values)
        mean = LoadPanel(
            own, ("rpc_latency_mean_ms", "rpc_latency_low_ms", "rpc_latency_high_ms"), "Mean latency (ms)", name
        )
        tail = LoadPanel(own, ("latency_p99_mean_ms", "latency_p99_low_ms", "latency_p99_high_ms"), "99 % latency (ms)")
        panels.append([panel for panel in (mean, tail) if panel.is_known])
    chart = draw_rows([" ".join(declaration.title.split())], list_common(rows, keys), styles, panels)
    sentences = [
        *describe_rows(rows, "Means of mean latency and of the 99th percentile"),
        "A repetition's percentile is the mean of those of its connections",
        "Each panel has its own scale",
    ]
    alternative = ["Line charts of RPC latency against load", *describe_lines(rows, keys, values, list(styles), TOLD)]
    return Figure(chart, rows, fold_sentences(sentences), write_sentences(alternative))
