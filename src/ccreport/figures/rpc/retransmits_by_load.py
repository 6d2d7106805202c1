"""Retransmits and round-trip times of RPCs against load, a row of panels for each path."""

from typing import Final

from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.series_styles import style_series
from ccreport.figures.rpc.panels import LoadPanel, draw_rows
from ccreport.figures.rpc.rows import list_panels, read_rpc, select_panel
from ccreport.figures.rpc.wording import describe_lines, describe_rows, list_common
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import fold_sentences, write_sentences

ROWS_AT_MOST: Final = 6
RATIO: Final = ("retransmit_rpc_mean_ratio", "retransmit_rpc_low_ratio", "retransmit_rpc_high_ratio")
RTT: Final = ("rpc_rtt_mean_ms", "rpc_rtt_low_ms", "rpc_rtt_high_ms")
TOLD: Final = {RATIO[0]: ("retransmits", 100.0, "%"), RTT[0]: ("RTT", 1.0, "ms")}


def build_rpc_retransmits_by_load(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of all RPC tests that match, means over repetitions as in the table `rpc_load`.

    Raise MissingFigure where they have one load, neither retransmits nor round-trip times, or make too many panels.
    """
    rows = read_rpc(declaration, database, "rpc_load")
    if not any(rows[column].is_not_null().any() for column in TOLD):
        raise MissingFigure(
            "No RPC test that matches tells its retransmits and MSS, or has samples of its connections."
        )
    keys, values, names = list_panels(rows, (), ROWS_AT_MOST)
    styles = style_series(rows["algorithm"].unique().to_list())
    panels = []
    for panel_values, name in zip(values, names, strict=True):
        own = select_panel(rows, keys, panel_values)
        both = [
            LoadPanel(own, RATIO, "Retransmitted segments (%)", name, 100.0),
            LoadPanel(own, RTT, "RTT of the connections (ms)", ""),
        ]
        panels.append([panel for panel in both if panel.is_known])
    shown = [row for row in panels if row]
    chart = draw_rows([" ".join(declaration.title.split())], list_common(rows, keys), styles, shown)
    sentences = [
        *describe_rows(rows, "Means"),
        "No result tells retransmits and MSS"
        if rows[RATIO[0]].is_null().all()
        else "Retransmits are those of the side that sends more, of RPCs of all sizes together",
        "Nothing sampled the connections, so their RTT is not known"
        if rows[RTT[0]].is_null().all()
        else "RTTs are medians of ss, or means of flent's samples",
        "Each panel has its own scale",
    ]
    alternative = [
        "Line charts of retransmits and round-trip times of RPCs against load",
        *describe_lines(rows, keys, values, list(styles), TOLD),
    ]
    return Figure(chart, rows, fold_sentences(sentences), write_sentences(alternative))
