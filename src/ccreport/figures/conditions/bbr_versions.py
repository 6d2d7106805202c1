"""Versions of BBR side by side: rate and retransmit ratio of each and of what ran beside it, with intervals.

Rates are bars from 0; retransmit ratios, of which one can be a thousand times another, are marks on a logarithmic axis.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import Position, draw_ticks
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.log_axis import fit_log_axis
from ccreport.figures.kit.small_multiples import TITLE_LIMIT_PX, TITLE_RISE_PX
from ccreport.figures.kit.text import NO_DATA, at_x, at_y, to_x, to_y, write
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.select.condition_cells import SETTINGS, read_algorithm_rates, summarise_cells
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.bbr_versions import VERSIONS, write_versions_alternative, write_versions_caption
from ccreport.figures.wording.conditions import describe_conditions
from ccreport.figures.wording.runs import TITLE_CHARACTERS, format_significant, join_names, wrap_title
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit

HEIGHT_PX: Final = 190
WIDTH_PX: Final = theme.PLOT_WIDTH_PX
# Part of a version's place that its bars fill.
FILLED: Final = 0.76
VALUE_RISE_PX: Final = 4
# Half the height of a marker.
MARKER_PX: Final = 5
LEGEND_PX: Final = 22
LEGEND_ENTRY_PX: Final = 110
# What must be the same of runs that are compared, beside what ran at once.
CONDITION: Final = tuple(name for name in (*SETTINGS, "host") if name != "sharing")


@dataclass(frozen=True)
class Bars:
    """A panel: its title, scale and axis, one row per bar, and the number that is written on each.

    `bars` has category, cc, left, right, middle, mean, low and high, the last three in the axis' unit; `part` is how
    far up the axis a value is, 0 to 1.
    """

    title: str
    scale: alt.Scale
    axis: alt.Axis
    part: Callable[[float], float]
    bars: pl.DataFrame
    labels: Sequence[str]
    is_log: bool


def build_rate_by_version(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the versions that match, in the runs of each; other algorithms beside them.

    Raise MissingFigure where the archive has fewer than two versions among the runs that match.
    """
    runs, rate = read_algorithm_rates(declaration, database)
    versions = [cc for cc in VERSIONS if cc in runs["cc"].to_list()]
    # ASSUME: an archive that names a version 1 calls its own `bbr` so too; both count as one.
    if len({"bbr" if cc == "bbr1" else cc for cc in versions}) < 2:
        found = join_names([theme.style_of(cc).name for cc in versions]) or "none"
        raise MissingFigure(f"The runs that match have fewer than two versions of BBR to compare: {found}.")
    runs, is_shared = _keep_shared(_name_categories(runs))
    categories = runs.select("place", "category").unique().sort("place")["category"].to_list()
    rates = summarise_cells(database, runs, ["place", "category", "cc"])
    ratios = summarise_cells(database, runs, ["place", "category", "cc"], "retransmit_ratio")
    unit = choose_rate_unit(rates.select(pl.max_horizontal(pl.col("mean").max(), pl.col("high").max())).item())
    panels = [_lay_out_rates(_place(rates, categories, 1 / RATE_UNITS[unit]), f"Mean {rate}", unit)]
    if ratios.height:
        panels.append(_lay_out_ratios(_place(ratios, categories, 100.0)))
    ccs = theme.order_algorithms(runs["cc"].unique())
    drawn = [_draw_legend(ccs), *(_draw_bars(panel, categories) for panel in panels)]
    heading = alt.TitleParams(
        wrap(" ".join(declaration.title.split()), TITLE_CHARACTERS),
        subtitle=wrap_title(describe_conditions(runs)),
        offset=12,
        limit=TITLE_LIMIT_PX,
        anchor="start",
    )
    chart = alt.vconcat(*drawn, spacing=20).properties(title=heading)
    return Figure(
        chart,
        _collect(rates, ratios),
        write_versions_caption(runs, rates, ratios, (rate, unit), is_shared=is_shared),
        write_versions_alternative(rates, ratios, rate, unit),
    )


def _name_categories(runs: pl.DataFrame) -> pl.DataFrame:
    """Add category (what ran in the run: the version, and what was beside it) and its place among all."""
    mixes = runs.group_by("run_id").agg(mix=pl.col("cc").unique().sort())
    names = {tuple(mix): _name_category(mix) for mix in mixes["mix"].unique().to_list()}
    order = sorted(set(names.values()))
    categories = pl.DataFrame(
        [(list(mix), order.index(name), name[1]) for mix, name in names.items()],
        schema={"mix": pl.List(pl.String), "place": pl.Int64, "category": pl.String},
        orient="row",
    )
    named = mixes.join(categories, on="mix").drop("mix")
    return runs.join(named, on="run_id", maintain_order="left")


def _keep_shared(runs: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """Return the runs of conditions in which every version ran alone, or beside the same algorithms, and True.

    CUBIC alone is kept in the conditions of versions alone. Where that would empty a category: all, and False.
    """
    version = pl.col("cc").is_in(VERSIONS)
    facts = runs.group_by("run_id").agg(
        version=pl.col("cc").filter(version).replace("bbr1", "bbr").first(),
        # Nothing where it ran alone, as CUBIC did.
        competitors=pl.when(version.any())
        .then(pl.col("cc").filter(~version).unique().sort().str.join(","))
        .otherwise(pl.lit("")),
    )
    known = runs.join(facts, on="run_id", maintain_order="left")
    key = [*CONDITION, "competitors"]
    ran = known.drop_nulls("version")
    counts = ran.group_by("competitors").agg(all_count=pl.col("version").n_unique())
    shared = ran.group_by(key).agg(count=pl.col("version").n_unique()).join(counts, on="competitors")
    kept = known.join(shared.filter(pl.col("count") == pl.col("all_count")), on=key, how="semi", nulls_equal=True)
    is_whole = kept["category"].n_unique() == runs["category"].n_unique()
    return (runs.join(kept.select("run_id").unique(), on="run_id", how="semi"), True) if is_whole else (runs, False)


def _name_category(mix: Sequence[str]) -> tuple[int, str]:
    """Return the rank among the versions and the name of runs with these algorithms."""
    ccs = theme.order_algorithms(mix)
    first = next((cc for cc in ccs if cc in VERSIONS), ccs[0])
    others = [theme.style_of(cc).name for cc in ccs if cc != first]
    beside = f"beside {join_names(others)}" if others else "alone"
    return VERSIONS.index(first) if first in VERSIONS else -1, f"{theme.style_of(first).name}\n{beside}"


def _place(cells: pl.DataFrame, categories: Sequence[str], factor: float) -> pl.DataFrame:
    """Return the bars as `Bars` has them, with values times a factor."""
    rows = []
    width = FILLED / cells.group_by("category").len()["len"].cast(pl.Float64).sort()[-1]
    for place, category in enumerate(categories):
        own = cells.filter(pl.col("category") == category)
        ccs = theme.order_algorithms(own["cc"])
        for number, cc in enumerate(ccs):
            cell = own.row(by_predicate=pl.col("cc") == cc, named=True)
            left = place + (number - len(ccs) / 2) * width
            scaled = {
                end: None if cell[end] is None else round(cell[end] * factor, 6) for end in ("mean", "low", "high")
            }
            place_of_bar = {
                "left": round(left, 4),
                "right": round(left + width, 4),
                "middle": round(left + width / 2, 4),
            }
            rows.append({"category": category, "cc": cc, **place_of_bar, **scaled})
    schema = dict.fromkeys(("category", "cc"), pl.String) | dict.fromkeys(
        ("left", "right", "middle", "mean", "low", "high"), pl.Float64
    )
    return pl.DataFrame(rows, schema=schema)


def _lay_out_rates(bars: pl.DataFrame, name: str, unit: str) -> Bars:
    top: float = bars.select(pl.max_horizontal(pl.col("mean").max(), pl.col("high").max())).item()
    # The tallest bar has its number above it.
    ticks = choose_ticks(1.08 * top or 1.0)
    scale = alt.Scale(domain=[0, ticks[-1]], nice=False)
    axis = alt.Axis(title=f"{name} ({unit})", values=ticks)
    labels = [format_significant(mean, 3) for mean in bars["mean"]]
    return Bars(name, scale, axis, lambda value: value / ticks[-1], bars, labels, is_log=False)


def _lay_out_ratios(bars: pl.DataFrame) -> Bars:
    axis = fit_log_axis(bars["mean"], bars["high"])
    ends = ("low", "high", "mean")
    placed = bars.with_columns(axis.place(pl.col(end), pl.col("mean")).alias(end) for end in ends)
    labels = [format_significant(mean, 2) for mean in bars["mean"]]
    drawn = axis.draw("Mean of the runs’ ratios (%)")
    return Bars("Retransmitted data segments (log scale)", axis.scale, drawn, axis.part, placed, labels, is_log=True)


def _draw_legend(ccs: Sequence[str]) -> alt.LayerChart:
    layers: list[alt.Chart] = []
    for number, cc in enumerate(ccs):
        style = theme.style_of(cc)
        x_px = number * LEGEND_ENTRY_PX
        swatch = alt.Chart(NO_DATA).mark_rect(color=style.colour)
        layers += [
            swatch.encode(x=at_x(x_px), x2=to_x(x_px + 18), y=at_y(5), y2=to_y(17)),
            write([style.name], (float(x_px + 26), LEGEND_PX / 2), align="left"),
        ]
    return alt.LayerChart(layer=layers, width=theme.PLOT_WIDTH_PX, height=LEGEND_PX)


def _draw_bars(panel: Bars, categories: Sequence[str]) -> alt.LayerChart:
    position = Position("", -0.5, len(categories) - 0.5, [(float(at), name) for at, name in enumerate(categories)])
    axis = alt.Axis(title=None, labels=False, ticks=False, grid=False, values=list(range(len(categories))))
    scale = alt.Scale(domain=[position.low, position.high], nice=False, zero=False)
    left = alt.X("left:Q", scale=scale, axis=axis)
    mean = alt.Y("mean:Q", scale=panel.scale, axis=panel.axis)
    layers: list[alt.Chart] = []
    known = alt.Chart(panel.bars.drop_nulls())
    # White around it, to be seen on a dark bar.
    rules = [
        known.mark_rule(color=colour, strokeWidth=width).encode(x=alt.X("middle:Q"), y=alt.Y("low:Q"), y2="high:Q")
        for colour, width in (("white", 4.0), (theme.INK, 1.4))
    ]
    if panel.is_log:
        layers += rules
    for cc in theme.order_algorithms(panel.bars["cc"].unique()):
        style, own = theme.style_of(cc), alt.Chart(panel.bars.filter(pl.col("cc") == cc))
        if panel.is_log:
            mark = own.mark_point(size=80, shape=style.marker, color=style.colour, fill="white", opacity=1)
            layers.append(mark.encode(x=alt.X("middle:Q", scale=scale, axis=axis), y=mean))
        else:
            bars = own.mark_rect(color=style.colour, stroke="white", strokeWidth=1)
            layers.append(bars.encode(x=left, x2="right:Q", y=mean, y2=alt.datum(0)))
    if not panel.is_log:
        layers += rules
    for bar, label in zip(panel.bars.rows(named=True), panel.labels, strict=True):
        x_px = (bar["middle"] - position.low) / (position.high - position.low) * WIDTH_PX
        top_px = HEIGHT_PX * panel.part(max(bar["mean"], bar["high"] or 0.0)) + (MARKER_PX if panel.is_log else 0)
        y_px = HEIGHT_PX - top_px - VALUE_RISE_PX - theme.TEXT_PX / 2
        layers.append(write([label], (x_px, y_px), align="center"))
    layers += draw_ticks(position, WIDTH_PX, HEIGHT_PX)
    layers.append(write([panel.title], (0.0, -TITLE_RISE_PX), align="left", weight="bold"))
    return alt.LayerChart(layer=layers, width=WIDTH_PX, height=HEIGHT_PX)


def _collect(rates: pl.DataFrame, ratios: pl.DataFrame) -> pl.DataFrame:
    names = {"mean": "{}_mean_{}", "low": "{}_low_{}", "high": "{}_high_{}"}
    flat = pl.col("category").str.replace("\n", " ")
    left = rates.select(flat, "cc", "runs_count", *(pl.col(c).alias(n.format("rate", "bps")) for c, n in names.items()))
    right = ratios.select(flat, "cc", *(pl.col(c).alias(n.format("retransmit", "ratio")) for c, n in names.items()))
    return left.join(right, on=["category", "cc"], how="left", maintain_order="left")
