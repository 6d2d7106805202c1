"""Two runs of one condition beside each other on the same axes: rates, windows with retransmissions, and RTTs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import keyed_panels
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.kit.theme import RETRANSMIT_COLOUR
from ccreport.figures.kit.value_axis import ValueAxis
from ccreport.figures.run import chart
from ccreport.figures.run.cwnd import MEASURES, list_window_samples
from ccreport.figures.run.flow_styles import FlowStyle, draw_flows, list_flow_key, style_flows
from ccreport.figures.run.flows import MARK_WIDTH_PX, draw_marks, list_retransmits
from ccreport.figures.run.panel import FlowRates, PanelRuns, measure_flow_rates, read_single_run
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.runs import format_significant
from ccreport.summarise.database import quote_text

HEIGHT_PX: Final = 150
RATE: Final = "rate"


@dataclass(frozen=True)
class _Side:
    """One run: its panel, and its lines by column, each of flow_id, cc, time_s and the column."""

    panel: PanelRuns
    measured: FlowRates
    samples: pl.DataFrame
    marks: pl.DataFrame
    styles: list[FlowStyle]

    def take_lines(self, column: str, unit: str) -> pl.DataFrame:
        """Return the lines of a column, of rates in this unit."""
        return chart.scale_rates(self.measured.rates, unit) if column == RATE else self.samples.drop_nulls(column)


def draw_side_by_side(runs: Mapping[str, tuple[str, bool]], title: str, database: Database) -> Figure:
    """Return the figure of two runs, by what each is called: its run_id, and whether algorithms run together in it.

    Raise MissingFigure where `ss` did not sample the flows of either.
    """
    sides = {name: _read(run_id, title, database, is_both=is_both) for name, (run_id, is_both) in runs.items()}
    end_s = max(side.panel.end_s for side in sides.values())
    unit = chart.find_rate_unit(pl.concat(side.measured.rates for side in sides.values()))
    measured = next(iter(sides.values())).measured
    titles = {RATE: f"{measured.title} ({unit})"} | {column: name for column, (name, _) in MEASURES.items()}
    rows = []
    for column, name in titles.items():
        lines = {key: side.take_lines(column, unit) for key, side in sides.items()}
        axis = chart.fit_axis(
            name, pl.concat(frame[column].cast(pl.Float64) for frame in lines.values()), has_groups=True
        )
        rows.append([_draw(sides[key], frame, column, axis, end_s, key) for key, frame in lines.items()])
    # Sides of other algorithms have keys of their own.
    entries = [entry for side in sides.values() for entry in list_flow_key(side.styles, side.panel.ccs)]
    key = [*dict.fromkeys(entries), KeyEntry("retransmissions", "line", RETRANSMIT_COLOUR, width=MARK_WIDTH_PX)]
    figure = keyed_panels.stack([title], [f"{' · '.join(sides)}, with the same axes"], key, rows)
    return Figure(
        figure,
        stack_parts({name: _collect(side) for name, side in sides.items()}),
        f"{measured.name.capitalize()} ({measured.origin}), congestion window and smoothed RTT of each flow of one run "
        "of each side. Once a loss is repaired, bytes are acknowledged faster than the path carries them. A red line "
        "marks where ss reports retransmissions.",
        f"{title}. Line charts of two runs beside each other. " + " ".join(_describe(*side) for side in sides.items()),
    )


def _read(run_id: str, title: str, database: Database, *, is_both: bool) -> _Side:
    where = f"run_id = {quote_text(run_id)}"
    panel = read_single_run(FigureDeclaration("side_by_side", "flows_over_time", title, is_both, where), database)
    sampled = list_window_samples(panel)
    return _Side(panel, measure_flow_rates(panel), sampled, list_retransmits(sampled), style_flows(panel.flows))


def _draw(side: _Side, lines: pl.DataFrame, column: str, axis: ValueAxis, end_s: float, name: str) -> alt.LayerChart:
    is_first, is_last = column == RATE, column == list(MEASURES)[-1]
    plot = chart.Plot(side.panel, axis, HEIGHT_PX, is_last, keyed_panels.PAIR_WIDTH_PX, end_s)
    marks = draw_marks(side.marks, plot) if column == "cwnd_segments_count" else []
    return plot.hold([*marks, draw_flows(lines, column, plot, side.styles)], name if is_first else None)


def _collect(side: _Side) -> pl.DataFrame:
    parts = [side.measured.rates, side.samples.select("run_id", "flow_id", "cc", "time_s", *MEASURES)]
    return pl.concat(parts, how="diagonal_relaxed").select("run_id", "flow_id", "cc", "time_s", "rate_bps", *MEASURES)


def _describe(name: str, side: _Side) -> str:
    highest = {column: float(side.samples[column].max() or 0.0) for column in MEASURES}  # type: ignore[arg-type]
    told = ", ".join(
        f"{title.split(' (')[0].replace('C', 'c', 1)} up to {format_significant(highest[column], 3)} {unit}"
        for column, (title, unit) in MEASURES.items()
    )
    return f"{name}: {told}, {side.marks['retransmits_count'].sum():,} retransmissions."
