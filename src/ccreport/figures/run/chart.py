"""What figures of single runs over time share: how they are put together, and their lines and bands by algorithm."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.kit import keyed_panels, theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.keyed_panels import KeyEntry, style_entry
from ccreport.figures.kit.label_placement import Point, place_labels
from ccreport.figures.kit.text import draw_notes, write
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.kit.value_axis import ValueAxis
from ccreport.figures.run.panel import PanelRuns
from ccreport.figures.wording.captions import describe_left_out, describe_path, name_runs, write_heading
from ccreport.figures.wording.conditions import fold_sentences, tell_unlike, write_sentences
from ccreport.figures.wording.runs import describe_runs, write_band
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit

TIME_TITLE: Final = "Time since the start of the test (s)"
BAND_OPACITY: Final = 0.16
# The edge of a band of one iteration, as the key shows it.
SINGLE_BAND_COLOUR: Final = "#b5b5b5"
# Plots with more flows than this would be hatched by their lines.
FAINT_FLOWS: Final = 4


JAIN_AXIS: Final = ValueAxis("Jain's index", [0, 0.25, 0.5, 0.75, 1], ".2f")


def fit_axis(title: str, values: pl.Series, *, has_groups: bool = False) -> ValueAxis:
    """Return an axis from 0 that holds all values; with groups, its whole numbers are written as 1,000."""
    ticks = choose_ticks(float(values.max() or 1.0))  # type: ignore[arg-type]
    return ValueAxis(title, ticks, ",d" if has_groups and ticks[1] >= 1 else "")


def fit_log_axis(title: str, values: pl.Series) -> ValueAxis:
    """Return a logarithmic axis from the power of ten below the least value, above 0, to that above the top."""
    least, most = (float(value) for value in (values.min(), values.max()))  # type: ignore[arg-type]
    first = math.floor(math.log10(least))
    powers = range(first, max(math.ceil(math.log10(most)), first + 1) + 1)
    return ValueAxis(f"{title}, log scale", [10.0**power for power in powers], ",~r", is_log=True)


@dataclass(frozen=True)
class Plot:
    """The frame of one plot: the runs drawn, its value axis and size; the lowest has the time axis and the notes.

    `until_s` is the end of a time axis that the plot shares with one of other runs, which then has no notes.
    """

    panel: PanelRuns
    values: ValueAxis
    height_px: int = theme.PLOT_HEIGHT_PX
    is_lowest: bool = True
    width_px: int = theme.PLOT_WIDTH_PX
    until_s: float | None = None

    @property
    def end_s(self) -> float:
        """Return the end of the time axis."""
        return self.panel.end_s if self.until_s is None else self.until_s

    @property
    def time(self) -> alt.X:
        """Return the time axis, without numbers where a plot below it has them."""
        return keyed_panels.time_axis(TIME_TITLE if self.is_lowest else None, "time_s", self.end_s, ticks=10)

    def style(self, attribute: str = "colour") -> alt.Scale:
        """Return colours (or dashes, or markers) of all algorithms drawn: the one scale that layers of a plot share."""
        return scale_of(self.panel.ccs, attribute)

    def value(self, column: str) -> alt.Y:
        """Return the value axis for a column."""
        options: dict[str, Any] = {"format": self.values.format} if self.values.format else {}
        axis = alt.Axis(title=self.values.title, values=list(self.values.ticks), **options)
        return alt.Y(f"{column}:Q", scale=self.values.scale, axis=axis)

    def hold(self, layers: Sequence[alt.Chart], title: str | None = None) -> alt.LayerChart:
        """Return the plot with its layers, in its size."""
        notes = draw_notes(self.panel.notes, self.height_px) if self.is_lowest and self.until_s is None else []
        return keyed_panels.size_panel([*layers, *notes], self.width_px, self.height_px, title)


def compose_figure(
    panel: PanelRuns,
    key: Sequence[KeyEntry],
    plots: Sequence[alt.LayerChart],
    data: pl.DataFrame,
    *,
    sentences: Sequence[str],
    what: str,
    messages: Sequence[str],
    finding: str = "",
    explained: Sequence[str] = (),
) -> Figure:
    """Return a figure of plots above each other, below its title, subtitle and key.

    `sentences` are the kind's own ones of the caption, below its `finding`, by default the first message, and what has
    to be `explained` beside it. The text alternative says `what` kind of chart it is, of which conditions, and its
    messages in numbers.
    """
    overlapped = panel.declaration.overlapped
    conditions = describe_runs(panel.ccs, panel.drawn, overlapped=overlapped)
    heading = write_heading(panel.declaration, conditions, panel.drawn, overlapped=overlapped)
    chart = keyed_panels.stack(*heading, key, [[plot] for plot in plots])
    left_out = describe_left_out(panel.left_out_count, "the condition with the most runs")
    unlike = tell_unlike(panel.drawn)
    shown = [conditions, *([finding] if finding else messages[:1]), *unlike, *explained]
    return Figure(
        chart,
        data,
        fold_sentences(
            [*shown, *sentences, *name_runs(panel.drawn), *left_out, *describe_path(panel.notes)], len(shown)
        ),
        write_sentences([f"{what}: {conditions}", *messages, *unlike]),
    )


def list_algorithm_key(ccs: Sequence[str], text: str = "{}", *, width: float = 2.0) -> list[KeyEntry]:
    """Return an entry of the key for each algorithm; `text` has {} in place of its name."""
    return [style_entry(cc, text.format(theme.style_of(cc).name), width=width) for cc in ccs]


def list_band_key(panel: PanelRuns) -> list[KeyEntry]:
    """Return what the band is, as an entry of the key; a band of one iteration is a line."""
    text = write_band(panel.drawn)
    if text is None:
        return []
    if not text.startswith("range"):
        return [KeyEntry(text, "line", SINGLE_BAND_COLOUR, width=1.2)]
    return [KeyEntry(text, "band", theme.INK)]


def find_rate_unit(rates: pl.DataFrame) -> str:
    """Return the unit in which the largest of rates (rate_bps) is drawn and told."""
    return choose_rate_unit(rates.select(pl.col("rate_bps").max()).item() or 0.0)


def scale_rates(rates: pl.DataFrame, unit: str, digits: int = 4) -> pl.DataFrame:
    """Return rates (rate_bps) with `rate` in this unit."""
    return rates.with_columns(rate=(pl.col("rate_bps") / RATE_UNITS[unit]).round(digits))


def scale_of(ccs: Sequence[str], attribute: str = "colour") -> alt.Scale:
    """Return the colours (or dashes, or markers) of algorithms as a scale."""
    return alt.Scale(domain=list(ccs), range=[getattr(theme.style_of(cc), attribute) for cc in ccs])


def draw_lines(
    frame: pl.DataFrame, column: str, plot: Plot, *, width: float = 2.0, opacity: float = 1.0, is_dashed: bool = True
) -> alt.Chart:
    """Return one line for each flow of a frame (flow_id, cc, time_s and the column), coloured by algorithm.

    A frame without flow_id has one line for each algorithm.
    """
    line = pl.col("flow_id").rank("dense") if "flow_id" in frame.columns else pl.col("cc")
    data = frame.select(line.alias("line"), "cc", pl.col("time_s").round(3), column).sort("line", "time_s")
    encoding: dict[str, Any] = {
        "x": plot.time,
        "y": plot.value(column),
        "color": alt.Color("cc:N", scale=plot.style(), legend=None),
        "detail": "line:N",
    }
    if is_dashed:
        encoding["strokeDash"] = alt.StrokeDash("cc:N", scale=plot.style("dash"), legend=None)
    chart: alt.Chart = (
        alt.Chart(data).mark_line(strokeWidth=width, opacity=opacity, strokeJoin="round").encode(**encoding)
    )
    return chart


def draw_flows_under(flows: pl.DataFrame, algorithms: pl.DataFrame, column: str, plot: Plot) -> list[alt.Chart]:
    """Return a thin line for each flow, and over them a thick one for each algorithm; frames as for `draw_lines`."""
    opacity = 0.7 if flows["flow_id"].n_unique() <= FAINT_FLOWS else 0.38
    thin = draw_lines(flows, column, plot, width=1.0, opacity=opacity, is_dashed=False)
    return [thin, draw_lines(algorithms, column, plot, width=2.6)]


def draw_total(frame: pl.DataFrame, column: str, plot: Plot, width: float = 2.4) -> alt.Chart:
    """Return the line of all flows together (time_s and the column)."""
    line = alt.Chart(frame.select(pl.col("time_s").round(3), column)).mark_line(strokeWidth=width, color=theme.INK)
    chart: alt.Chart = line.encode(x=plot.time, y=plot.value(column))
    return chart


def draw_band(frame: pl.DataFrame, plot: Plot) -> alt.Chart:
    """Return a faint band for each algorithm of a frame (cc, time_s, low and high); a flat one has an edge."""
    data = frame.select(pl.col("cc").alias("line"), "cc", pl.col("time_s").round(3), "low", "high").sort(
        "line", "time_s"
    )
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_area(fillOpacity=BAND_OPACITY, line=edge_of(data))
        .encode(
            x=plot.time,
            y=plot.value("high"),
            y2="low:Q",
            color=alt.Color("cc:N", scale=plot.style(), legend=None),
            detail="line:N",
        )
    )
    return chart


def edge_of(band: pl.DataFrame, **options: Any) -> alt.OverlayMarkDef | bool:
    """Return the edge of a band: a band made of one iteration has no height and would not be seen without."""
    is_flat = bool((band["low"] == band["high"]).all())
    return alt.OverlayMarkDef(strokeWidth=1.2, strokeOpacity=2 * BAND_OPACITY, **options) if is_flat else False


def draw_names(frame: pl.DataFrame, column: str, plot: Plot, obstacles: Sequence[Point] = ()) -> list[alt.Chart]:
    """Return the names of the algorithms beside their lines (cc, time_s and the column), where they fit.

    They keep clear of obstacles, in px of the plot.
    """

    def locate(rows: pl.DataFrame) -> list[Point]:
        return [
            (time_s / plot.end_s * theme.PLOT_WIDTH_PX, plot.height_px * (1 - plot.values.part(value)))
            for time_s, value in rows.select("time_s", column).drop_nulls().sort("time_s").rows()
        ]

    ccs = theme.order_algorithms(frame["cc"].unique())
    traces = {cc: locate(frame.filter(pl.col("cc") == cc)) for cc in ccs}
    return write_names(traces, obstacles, plot.height_px)


def write_names(traces: Mapping[str, Sequence[Point]], points: Sequence[Point], height_px: int) -> list[alt.Chart]:
    """Return the names of algorithms beside their traces, clear of points, where they fit; all in px of the plot."""
    styles = {cc: theme.style_of(cc) for cc in traces}
    names = {cc: style.name for cc, style in styles.items()}
    places = place_labels(names, traces, points, theme.PLOT_WIDTH_PX, height_px)
    return [
        write([names[cc]], place, align="center", weight="bold", colour=styles[cc].colour)
        for cc, place in places.items()
    ]
