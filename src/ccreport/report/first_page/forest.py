"""Forest plot: the ratio of two algorithms' rates in each pair of published cells, the paper's beside this archive's.

Drawn twice: with names of rows beside them, and for narrow screens with names above them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt
import polars as pl

from ccreport.compare.verdicts import PAIR_FACTOR
from ccreport.core.text import count_things
from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import CHARACTER_PX, shorten
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.text import write
from ccreport.report.first_page.forest_frame import (
    BAND,
    BAND_PX,
    LOOKS,
    OWN_OFFSET_PX,
    OWN_SIZE,
    PAPER_INTERVAL,
    PAPER_OFFSET_PX,
    PAPER_SIZE,
    Layout,
    draw_legend,
    draw_stripes,
    draw_top_ticks,
    name_ratio,
    write_directions,
    write_top_ticks,
)
from ccreport.report.first_page.rtts import BUCKET, NO_RTTS, name_rtts

# The scale reaches this far beyond the outermost ratio; intervals may go on.
MARGIN: Final = 2.5
TICKS: Final = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
# Of the lines of intervals below the middle of the row, where no mark hides them.
INTERVAL_OFFSET_PX: Final = 7.5
HEADING_PX: Final = 26
# Of the line below a table's name.
NOTE_PX: Final = 16
# Names have more digits and blanks than letters, which are narrower.
NAME_ROOM: Final = 1.05


def draw_forest(
    pairs: pl.DataFrame,
    titles: Mapping[str, str],
    algorithms: Sequence[str],
    layout: Layout,
    doubted_count: int = 0,
    rtts: pl.DataFrame = NO_RTTS,
) -> Figure:
    """Return the figure of pairs as `list_pairs` gives them, at least one.

    `titles` are the tables' by name, `algorithms` the two in the order of the ratio. `doubted_count` pairs are not
    among them, since the publication's numbers look wrong. `rtts` is as `read_rtts` returns it.
    """
    notes = _note_rtts(pairs, rtts)
    rows, headings, height = _place_rows(pairs, titles, notes, layout)
    low, high = _find_domain(pairs)
    ticks = [tick for tick in TICKS if low <= tick <= high]
    # Other labels would touch.
    named = [tick for tick in ticks if len(ticks) * 34 <= layout.plot or math.log10(tick).is_integer()]
    scale = alt.Scale(type="log", domain=[low, high], nice=False, padding=0, clamp=True)
    label = f"indexof({named}, datum.value) < 0 ? '' : datum.label"
    axis = alt.Axis(title=name_ratio(algorithms), values=ticks, format="~r", labelExpr=label, grid=bool(layout.names))
    if layout.compact:
        axis = alt.Axis(title=None, labels=False, ticks=False, values=ticks)
    x = alt.X("ratio:Q", scale=scale, axis=axis)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[height, 0], nice=False, zero=False, padding=0), axis=None)
    layers = [
        draw_stripes(rows, y, layout),
        _draw_bands(rows, x, y),
        _draw_equality(rows, x, y, layout),
        *_draw_intervals(rows, x, y),
        *_draw_dots(rows, x, y),
        *_write_names(rows, headings, layout),
        draw_top_ticks(ticks, x),
        *write_top_ticks(named, (low, high), layout),
        *write_directions(algorithms, layout),
        *draw_legend(layout),
    ]
    title = alt.TitleParams(
        [f"{algorithms[0]} against {algorithms[1]}, the paper and here"], offset=10, anchor="start", frame="bounds"
    )
    chart = alt.LayerChart(layer=layers, width=layout.plot, height=height).properties(title=title)
    if layout.text != theme.TEXT_PX:
        chart = chart.configure_text(fontSize=layout.text)
    caption = _caption(algorithms, doubted_count, has_notes=bool(notes))
    return Figure(chart, pairs, caption, _describe(pairs, titles, algorithms))


def _note_rtts(pairs: pl.DataFrame, rtts: pl.DataFrame) -> dict[str, str]:
    """Return for each table the round-trip times here of each bucket that its cells name, where it names any."""
    bucketed = pairs.select(
        "table_name", question="cell", bucket=pl.col("cell").str.extract(f"({BUCKET.pattern})$")
    ).drop_nulls()
    notes: dict[str, list[str]] = {}
    for (table, bucket), asked in bucketed.group_by("table_name", "bucket", maintain_order=True):
        if here := name_rtts(rtts, asked):
            notes.setdefault(str(table), []).append(f"{bucket.removeprefix('RTT ')}: {here}")
    return {table: f"RTT {'; '.join(buckets)}" for table, buckets in notes.items()}


def _place_rows(
    pairs: pl.DataFrame, titles: Mapping[str, str], notes: Mapping[str, str], layout: Layout
) -> tuple[pl.DataFrame, list[tuple[str, str, float]], int]:
    """Return the pairs with `y` of their marks and `top` of their rows, headings with their places, and the height.

    A heading is a table's name, and the note below it or an empty text.
    """
    headings: list[tuple[str, str, float]] = []
    tops: list[float] = []
    top, before = 0.0, None
    for table in pairs["table_name"]:
        if table != before:
            # Table II: mean (M) and …
            note = notes.get(table, "")
            headings.append((titles.get(table, table).partition(":")[0], note, top + HEADING_PX / 2))
            top, before = top + HEADING_PX + (NOTE_PX if note and not layout.compact else 0), table
        tops.append(top)
        top += layout.row
    rows = pairs.with_columns(top=pl.Series(tops, dtype=pl.Float64)).with_columns(y=pl.col("top") + layout.mark)
    return rows, headings, math.ceil(top) + 4


def _find_domain(pairs: pl.DataFrame) -> tuple[float, float]:
    shown = [*pairs["expected"].to_list(), *pairs["ratio"].to_list(), 1.0]
    return round(min(shown) / MARGIN, 4), round(max(shown) * MARGIN, 4)


def _draw_bands(rows: pl.DataFrame, x: alt.X, y: alt.Y) -> alt.Chart:
    bands = rows.select(
        "y",
        ratio=(pl.col("expected") / PAIR_FACTOR).round(6),
        ratio_high=(pl.col("expected") * PAIR_FACTOR).round(6),
    )
    chart: alt.Chart = alt.Chart(bands).mark_bar(color=BAND, height=BAND_PX).encode(x=x, x2="ratio_high", y=y)
    return chart


def _draw_equality(rows: pl.DataFrame, x: alt.X, y: alt.Y, layout: Layout) -> alt.Chart:
    """Return the line at equal rates, in pieces that leave out the names of tables, and those above marks."""
    pieces = rows.select(y=pl.col("top") + layout.strip, y_low=pl.col("top") + layout.row, ratio=pl.lit(1.0))
    chart: alt.Chart = alt.Chart(pieces).mark_rule(color=theme.FAINT_INK, strokeWidth=1).encode(x=x, y=y, y2="y_low")
    return chart


def _draw_intervals(rows: pl.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Return the thin prediction intervals and over them the thick ones of this archive, and the paper's thin ones."""
    own, paper = (INTERVAL_OFFSET_PX, _colour()), (PAPER_OFFSET_PX, alt.value(PAPER_INTERVAL))
    return [
        alt.Chart(
            rows.drop_nulls(low).select("y", "verdict", ratio=pl.col(low).round(6), ratio_high=pl.col(high).round(6))
        )
        .mark_rule(strokeWidth=width, clip=True, yOffset=offset)
        .encode(x=x, x2="ratio_high", y=y, color=colour)
        for low, high, width, (offset, colour) in (
            ("predicted_low", "predicted_high", 1, own),
            ("low", "high", 3, own),
            ("expected_low", "expected_high", 1, paper),
        )
    ]


def _draw_dots(rows: pl.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    shapes = alt.Shape(
        "verdict:N", scale=alt.Scale(domain=list(LOOKS), range=[shape for _, shape in LOOKS.values()]), legend=None
    )
    published = rows.select("y", ratio=pl.col("expected").round(6))
    own = rows.select("y", "verdict", ratio=pl.col("ratio").round(6))
    # The smaller open dot is on top: of equal ratios the two touch.
    return [
        alt.Chart(own)
        .mark_point(size=OWN_SIZE, opacity=1, stroke="white", strokeWidth=1, yOffset=OWN_OFFSET_PX)
        .encode(x=x, y=y, fill=_colour("fill"), shape=shapes),
        alt.Chart(published)
        .mark_point(
            shape="circle",
            size=PAPER_SIZE,
            color=theme.INK,
            fill="white",
            opacity=1,
            strokeWidth=1.4,
            yOffset=PAPER_OFFSET_PX,
        )
        .encode(x=x, y=y),
    ]


def _colour(channel: str = "color") -> alt.Color | alt.Fill:
    scale = alt.Scale(domain=list(LOOKS), range=[colour for colour, _ in LOOKS.values()])
    return (alt.Color if channel == "color" else alt.Fill)("verdict:N", scale=scale, legend=None)


def _write_names(rows: pl.DataFrame, headings: list[tuple[str, str, float]], layout: Layout) -> list[alt.Chart]:
    room, width = ((px or layout.width) / layout.scale(1.0) for px in (layout.names, layout.width))
    left, across = float(-layout.names), 10.0 * bool(layout.names) - layout.names
    middle = (layout.strip or layout.row) / 2
    names = [
        write([shorten(cell, room * NAME_ROOM)], (across, top + middle), align="left")
        for cell, top in rows.select("cell", "top").iter_rows()
    ]
    named = [write([shorten(title, width)], (left, at), align="left", weight="bold") for title, _, at in headings]
    noted = [
        write([shorten(note, width * NAME_ROOM)], _place_note(title, at, layout), align="left", colour=theme.FAINT_INK)
        for title, note, at in headings
        if note
    ]
    return [*names, *named, *noted]


def _place_note(title: str, heading_px: float, layout: Layout) -> tuple[float, float]:
    """Return where the note on a table begins: below the name, or beside it."""
    if not layout.compact:
        return float(-layout.names), heading_px + NOTE_PX
    return layout.scale((len(title) + 2) * CHARACTER_PX) - layout.names, heading_px


def _caption(algorithms: Sequence[str], doubted_count: int, *, has_notes: bool) -> str:
    noted = " At a table’s name: the RTTs here that each bucket pools." if has_notes else ""
    doubted = f" Not drawn: {count_things(doubted_count, 'pair')} suspect in the paper." if doubted_count else ""
    return (
        f"Ratio of the arithmetic mean rates of {algorithms[0]} and {algorithms[1]} in each pair of published cells: "
        "open dots are the paper’s with its 95 % interval, where its CVs give one; filled ones below them are this "
        "archive’s, and below these its own, with a thin line for the 95 % prediction interval of a repeat of the same "
        f"size. Reproduced: the same is ahead, by a ratio within a factor of {PAIR_FACTOR:g}, or both are equal. "
        "Verdicts count both intervals, and are corrected for the number of pairs. Both: flows of both algorithms "
        f"share the path at the same time; alone: flows of one algorithm only.{noted}{doubted}"
    )


def _describe(pairs: pl.DataFrame, titles: Mapping[str, str], algorithms: Sequence[str]) -> str:
    counts = pairs.group_by("table_name", "verdict", maintain_order=True).len()
    sentences = [f"Forest plot of {pairs.height} ratios of {algorithms[0]} to {algorithms[1]}"]
    for table in pairs["table_name"].unique(maintain_order=True):
        own = counts.filter(pl.col("table_name") == table)
        parts = ", ".join(f"{count} {verdict}" for verdict, count in own.select("verdict", "len").iter_rows())
        sentences.append(f"{titles.get(table, table)}: {parts}")
    return ". ".join(sentences) + "."
