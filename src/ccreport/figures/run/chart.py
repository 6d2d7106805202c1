"""What figures of single runs over time share: their heading and caption, and lines and bands by algorithm."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.kit import keyed_panels, theme
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.kit.label_placement import Point, place_labels
from ccreport.figures.kit.text import draw_notes, write
from ccreport.figures.run.panel import PanelRuns
from ccreport.figures.select.series import BIN_WIDTHS_S, UNKNOWN_CC
from ccreport.figures.wording.captions import name_runs
from ccreport.figures.wording.runs import DrawnAlgorithm, describe_runs, name_run, wrap_title, write_band, write_notes

TIME_TITLE: Final = "Time since the start of the test (s)"
BAND_OPACITY: Final = 0.16
# The edge of a band of one iteration, as the key shows it.
SINGLE_BAND_COLOUR: Final = "#b5b5b5"
# What a plot of one line for each flow may hold: a file of some 100 kB.
POINTS_LIMIT: Final = 6000
# Plots with more flows than this would be hatched by their lines.
FAINT_FLOWS: Final = 4


@dataclass(frozen=True)
class ValueAxis:
    """The vertical axis of a plot: its title, ticks from 0, and how its numbers are written (d3-format)."""

    title: str
    ticks: Sequence[float]
    format: str = ""


@dataclass(frozen=True)
class Plot:
    """The frame of one plot: the end of its time axis, its value axis, height, and whether it names the time axis."""

    end_s: float
    values: ValueAxis
    height_px: int
    is_lowest: bool = True

    @property
    def time(self) -> alt.X:
        """Return the time axis, without numbers where a plot below it has them."""
        return keyed_panels.time_axis(TIME_TITLE if self.is_lowest else None, "time_s", self.end_s, ticks=10)

    def value(self, column: str) -> alt.Y:
        """Return the value axis for a column."""
        options: dict[str, Any] = {"format": self.values.format} if self.values.format else {}
        axis = alt.Axis(title=self.values.title, values=list(self.values.ticks), **options)
        return alt.Y(f"{column}:Q", scale=alt.Scale(domain=[0, self.values.ticks[-1]], nice=False), axis=axis)


def list_algorithms(flows: pl.DataFrame) -> list[str]:
    """Return the algorithms of flows in the order in which figures name them."""
    return theme.order_algorithms(flows["cc"].fill_null(UNKNOWN_CC).unique())


def select_drawn(panel: PanelRuns, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the runs that are drawn."""
    return frame.filter(pl.col("run_id").is_in(panel.run_ids))


def choose_width_s(spacing_s: float, duration_s: float, lines_count: int) -> float:
    """Return the width of bins in s for a line for each flow: 0.5, or the next that keeps the drawing small."""
    fitting = (
        width for width in BIN_WIDTHS_S if width * 1.5 >= spacing_s and lines_count * duration_s / width <= POINTS_LIMIT
    )
    return next(fitting, BIN_WIDTHS_S[-1])


def write_heading(panel: PanelRuns, ccs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines of the title (what was declared, then the conditions) and of the subtitle (runs and rule)."""
    overlapped = panel.declaration.overlapped
    declared = " ".join(panel.declaration.title.split())
    conditions = wrap_title(describe_runs(_bare(ccs), panel.drawn, overlapped=overlapped))
    return [line for line in (declared, *conditions) if line], [
        name_run(one, overlapped=overlapped) for one in panel.drawn
    ]


def list_notes(panel: PanelRuns) -> list[str]:
    """Return the settings of the path, each once."""
    qdiscs = panel.tables.qdiscs
    notes = [
        note
        for one in panel.drawn
        for note in write_notes(qdiscs.filter(pl.col("run_id") == one.run["run_id"]).sort("line_number"), one.run)
    ]
    return list(dict.fromkeys(notes))


def write_run_caption(panel: PanelRuns, ccs: Sequence[str], sentences: Sequence[str]) -> str:
    """Return the caption: conditions, the kind's own sentences, the runs drawn and their rule, the path."""
    notes = list_notes(panel)
    return _join(
        [
            describe_runs(_bare(ccs), panel.drawn, overlapped=panel.declaration.overlapped),
            *sentences,
            *name_runs(panel.drawn),
            *_describe_left_out(panel),
            *([f"Path: {'; '.join(notes)}"] if notes else []),
        ]
    )


def write_run_alternative(panel: PanelRuns, ccs: Sequence[str], what: str, messages: Sequence[str]) -> str:
    """Return the text alternative: what kind of chart it is, of which conditions, and its message in numbers."""
    conditions = describe_runs(_bare(ccs), panel.drawn, overlapped=panel.declaration.overlapped)
    return _join([f"{what}: {conditions}", *messages])


def list_band_key(panel: PanelRuns) -> list[KeyEntry]:
    """Return what the band is, as an entry of the key; a band of one iteration is a line."""
    text = write_band(panel.drawn)
    if text is None:
        return []
    if not text.startswith("range"):
        return [KeyEntry(text, "line", SINGLE_BAND_COLOUR, width=1.2)]
    return [KeyEntry(text, "band", theme.INK)]


def _bare(ccs: Iterable[str]) -> list[DrawnAlgorithm]:
    return [DrawnAlgorithm(cc, None, None) for cc in ccs]


def _join(sentences: Sequence[str]) -> str:
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)


def _describe_left_out(panel: PanelRuns) -> list[str]:
    if not panel.left_out_count:
        return []
    others = "1 other condition matches" if panel.left_out_count == 1 else f"{panel.left_out_count} others match"
    return [f"{others} as well; drawn is the condition with the most runs, then the first by its identifier"]


def scale_of(ccs: Sequence[str], attribute: str = "colour") -> alt.Scale:
    """Return the colours (or dashes, or markers) of algorithms as a scale."""
    return alt.Scale(domain=list(ccs), range=[getattr(theme.style_of(cc), attribute) for cc in ccs])


def draw_lines(
    frame: pl.DataFrame, column: str, plot: Plot, *, width: float = 2.0, opacity: float = 1.0, is_dashed: bool = True
) -> alt.Chart:
    """Return one line for each `line` of a frame (line, cc, time_s and the column), coloured by algorithm."""
    ccs = theme.order_algorithms(frame["cc"].unique())
    data = frame.select("line", "cc", pl.col("time_s").round(3), column).sort("line", "time_s")
    encoding: dict[str, Any] = {
        "x": plot.time,
        "y": plot.value(column),
        "color": alt.Color("cc:N", scale=scale_of(ccs), legend=None),
        "detail": "line:N",
    }
    if is_dashed:
        encoding["strokeDash"] = alt.StrokeDash("cc:N", scale=scale_of(ccs, "dash"), legend=None)
    chart: alt.Chart = (
        alt.Chart(data).mark_line(strokeWidth=width, opacity=opacity, strokeJoin="round").encode(**encoding)
    )
    return chart


def draw_band(frame: pl.DataFrame, low: str, high: str, plot: Plot) -> alt.Chart:
    """Return a faint band for each `line` of a frame (line, cc, time_s and both columns); a flat one has an edge."""
    ccs = theme.order_algorithms(frame["cc"].unique())
    data = frame.select("line", "cc", pl.col("time_s").round(3), low, high).sort("line", "time_s")
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_area(fillOpacity=BAND_OPACITY, line=edge_of(data, low, high))
        .encode(
            x=plot.time,
            y=plot.value(high),
            y2=f"{low}:Q",
            color=alt.Color("cc:N", scale=scale_of(ccs), legend=None),
            detail="line:N",
        )
    )
    return chart


def edge_of(band: pl.DataFrame, low: str, high: str, **options: Any) -> alt.OverlayMarkDef | bool:
    """Return the edge of a band: a band made of one iteration has no height and would not be seen without."""
    is_flat = bool((band[low] == band[high]).all())
    return alt.OverlayMarkDef(strokeWidth=1.2, strokeOpacity=2 * BAND_OPACITY, **options) if is_flat else False


def draw_names(frame: pl.DataFrame, column: str, plot: Plot) -> list[alt.Chart]:
    """Return the names of the algorithms beside their lines (cc, time_s and the column), where they fit."""

    def locate(rows: pl.DataFrame) -> list[Point]:
        height, top = plot.height_px, plot.values.ticks[-1]
        return [
            (time_s / plot.end_s * theme.PLOT_WIDTH_PX, height * (1 - value / top))
            for time_s, value in rows.select("time_s", column).drop_nulls().sort("time_s").rows()
        ]

    ccs = theme.order_algorithms(frame["cc"].unique())
    names = {cc: theme.style_of(cc).name for cc in ccs}
    traces = {cc: locate(frame.filter(pl.col("cc") == cc)) for cc in ccs}
    places = place_labels(names, traces, [], theme.PLOT_WIDTH_PX, plot.height_px)
    return [
        write([names[cc]], place, align="center", weight="bold", colour=theme.style_of(cc).colour)
        for cc, place in places.items()
    ]


def stack_plots(
    heading: tuple[list[str], list[str]], key: Sequence[KeyEntry], plots: Sequence[alt.LayerChart]
) -> alt.VConcatChart:
    """Return a figure of plots above each other: title and subtitle, the key, then the plots."""
    chart = keyed_panels.stack(*heading, key, [[plot] for plot in plots])
    # One plot's colours are of algorithms, another's of something else.
    independent: alt.VConcatChart = chart.resolve_scale(color="independent", strokeDash="independent")
    return independent


def size_plot(layers: Sequence[alt.Chart], plot: Plot, title: str | None, notes: Sequence[str] = ()) -> alt.LayerChart:
    """Return a plot in its size, with the notes on the path below the lowest."""
    return keyed_panels.size_panel(
        [*layers, *draw_notes(notes, plot.height_px)], theme.PLOT_WIDTH_PX, plot.height_px, title
    )
