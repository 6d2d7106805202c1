"""Costs of builds: wall time as archives grow, both axes logarithmic, and bars of two ways to make the same table."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.small_multiples import Series, draw_legend
from ccreport.figures.wording.runs import format_significant

# Colours of the theme's algorithms, which are told apart in grey print and by colour-blind readers; what they mean here
# the legend says.
LOOKS: Final = [(style.colour, style.dash, style.marker) for name, style in theme.STYLES.items() if name != "bbr1"]
TARGET_NAME: Final = "target"
MARGIN: Final = 1.25


def draw_cost_curves(costs: pl.DataFrame, targets: pl.DataFrame, names: Mapping[str, str]) -> Figure:
    """Return the figure of `costs` (case, runs, seconds) with `targets` (the same columns) as crosses.

    `names` are the cases in the order of the legend. Seconds are wall time.
    """
    series = [
        Series(case, name, colour, dash, marker)
        for (case, name), (colour, dash, marker) in zip(names.items(), LOOKS, strict=False)
        if case in costs["case"].to_list()
    ]
    both = pl.concat([costs.select("runs", "seconds"), targets.select("runs", "seconds")])
    x = _scale(both["runs"], "Runs in the archive")
    y = _scale(both["seconds"], "Wall time (s)")
    layers = [layer for line in series for layer in _draw_line(costs.filter(pl.col("case") == line.key), line, x, y)]
    for line in series:
        own = targets.filter(pl.col("case") == line.key)
        if own.height:
            mark = alt.Chart(own.select("runs", "seconds")).mark_point(
                shape="M-1,-1L1,1M-1,1L1,-1", size=110, color=line.colour, strokeWidth=2.5, opacity=1
            )
            layers.append(mark.encode(x=alt.X("runs:Q"), y=alt.Y("seconds:Q")))
    plot = alt.LayerChart(layer=layers, width=theme.PLOT_WIDTH_PX, height=theme.PLOT_HEIGHT_PX)
    title = alt.TitleParams(["Wall time of a build by the size of the archive"], offset=12, anchor="start")
    chart = alt.vconcat(draw_legend(series), plot, spacing=14).properties(title=title)
    data = pl.concat([costs.with_columns(is_target=False), targets.with_columns(is_target=True)])
    caption = "Both axes are logarithmic. Crosses, in the colour of their line: the most that a build may take."
    return Figure(chart, data, caption, _describe(costs, targets, names))


def _scale(values: pl.Series, title: str) -> tuple[list[float], list[float], str]:
    """Return domain, ticks at powers of ten, and title of a logarithmic axis around values."""
    positive = [value for value in values.to_list() if value > 0]
    low, high = min(positive) / MARGIN, max(positive) * MARGIN
    ticks = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    return [round(low, 4), round(high, 4)], [tick for tick in ticks if low <= tick <= high], title


def _draw_line(
    own: pl.DataFrame, line: Series, x: tuple[list[float], list[float], str], y: tuple[list[float], list[float], str]
) -> list[alt.Chart]:
    across, down = (alt.Axis(title=title, values=ticks, format=",~r") for _, ticks, title in (x, y))
    wide, high = (alt.Scale(type="log", domain=domain, nice=False) for domain, _, _ in (x, y))
    base = alt.Chart(own.sort("runs").select("runs", "seconds")).encode(
        x=alt.X("runs:Q", scale=wide, axis=across), y=alt.Y("seconds:Q", scale=high, axis=down)
    )
    return [
        base.mark_line(color=line.colour, strokeWidth=1.8, strokeDash=list(line.dash)),
        base.mark_point(size=45, color=line.colour, shape=line.marker, fill="white", opacity=1, strokeWidth=1.5),
    ]


def _describe(costs: pl.DataFrame, targets: pl.DataFrame, names: Mapping[str, str]) -> str:
    sentences = ["Line chart of wall time against runs"]
    for case, name in names.items():
        own = costs.filter(pl.col("case") == case).sort("runs")
        points = [f"{format_significant(s, 3)} s at {runs:,} runs" for runs, s in own.select("runs", "seconds").rows()]
        aimed = targets.filter(pl.col("case") == case)["seconds"].to_list()
        limit = f" ({TARGET_NAME} {format_significant(aimed[0], 3)} s)" if aimed else ""
        sentences += [f"{name}: {', '.join(points)}{limit}"] if points else []
    return ". ".join(sentences) + "."


def draw_costs_of_ways(costs: pl.DataFrame, cases: Sequence[str]) -> Figure:
    """Return bars of `costs` (task, case, way, seconds, peak_memory_bytes): wall time by case, a panel for each task.

    `cases` are in the order of the bars; ways are told apart by colour and by their names.
    """
    tasks, ways = (costs[column].unique(maintain_order=True).to_list() for column in ("task", "way"))
    looks = dict(zip(ways, [theme.OTHER_COLOUR, theme.STYLES["cubic"].colour], strict=False))
    width = (theme.PLOT_WIDTH_PX - 60 - 30) // max(len(tasks), 1)
    panels = []
    for place, task in enumerate(tasks):
        own = costs.filter(pl.col("task") == task).select(
            "case", "way", "seconds", name=pl.col("seconds").map_elements(_name_seconds, return_dtype=pl.String)
        )
        labels = alt.Axis(title=None, labels=place == 0, ticks=False, domain=False)
        y = alt.Y("case:N", sort=list(cases), axis=labels, scale=alt.Scale(paddingInner=0.3))
        offset = alt.YOffset("way:N", sort=ways)
        room = max(own["seconds"].to_list()) * 1.3
        x = alt.X("seconds:Q", axis=alt.Axis(title="Wall time (s)", tickCount=4), scale=alt.Scale(domain=[0, room]))
        colour = alt.Color("way:N", scale=alt.Scale(domain=ways, range=list(looks.values())), legend=None)
        bars = alt.Chart(own).mark_bar().encode(x=x, y=y, yOffset=offset, color=colour)
        texts = alt.Chart(own).mark_text(align="left", dx=4, baseline="middle")
        written = texts.encode(x=alt.X("seconds:Q"), y=y, yOffset=offset, text="name:N")
        panels.append(
            alt.layer(bars, written).properties(width=width, height=50 * len(cases), title=alt.TitleParams(task))
        )
    legend = draw_legend([Series(way, way, looks[way], (1, 0), "square") for way in ways])
    title = alt.TitleParams(["The same table by both ways"], offset=12, anchor="start")
    chart = alt.vconcat(legend, alt.hconcat(*panels, spacing=30), spacing=14).properties(title=title)
    texts = [
        f"{row['task']}, {row['case']}, {row['way']}: {_name_seconds(row['seconds'])} s"
        for row in costs.iter_rows(named=True)
    ]
    return Figure(chart, costs, "Wall time; each panel has a scale of its own.", f"Bar charts. {'. '.join(texts)}.")


def _name_seconds(seconds: float) -> str:
    return format_significant(seconds, 2)
