"""The distribution of one quantity over all connections of servers: one probability density per series.

Drawn from the histograms that the database made, so a figure of 10 million connections is as small as one of 100.
"""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.edge.quantities import (
    Quantity,
    find_integers,
    find_quantity,
    name_absent,
    read_aggregates,
    tell_left_out,
)
from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.series_styles import name_series, style_series
from ccreport.figures.kit.small_multiples import TITLE_LIMIT_PX
from ccreport.figures.kit.text import draw_legend_entry
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_significant

ORDER: Final = "quantity, series, bin_number NULLS FIRST"
# With fewer values a density is an accident of its bins.
VALUES_AT_LEAST: Final = 20
# Of 2 percentage points each.
PERCENT_BINS: Final = 50


def build_distribution_pdf(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the densities of the series whose bins of `edge_histograms` match, all of one quantity.

    Raise MissingFigure where none has enough values, FigureError where they are of several quantities.
    """
    bins = read_aggregates(declaration, database, "edge_histograms", ORDER)
    quantity = find_quantity(declaration, bins)
    known = read_aggregates(declaration, database, "edge_distributions", "series")
    facts, few = keep_large(known)
    styles = style_series(facts["series"].to_list())
    own = bins.filter(pl.col("series").is_in(list(styles)))
    lines = trace_counts(own) if quantity.is_count else trace_lines(own)
    return Figure(
        _draw(lines, facts, quantity, styles, declaration.title),
        bins.select("series", "bin_low_value", "bin_high_value", "values_count", "values_ratio", "density"),
        _write_caption(facts, few, quantity, name_absent(declaration, known["series"])),
        write_percentiles(facts, quantity, styles, f"Probability densities of {quantity.lower_name}"),
    )


def keep_large(facts: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows with enough values and the others; raise MissingFigure where none has."""
    is_large = facts["values_count"] >= VALUES_AT_LEAST
    if not is_large.any():
        raise MissingFigure(f"No series has {VALUES_AT_LEAST} values of this quantity.")
    return facts.filter(is_large), facts.filter(~is_large)


def trace_lines(bins: pl.DataFrame) -> pl.DataFrame:
    """Return the densities as points: series, middle (geometric on a log axis) and density, 0 in bins without values.

    A line begins and ends at 0, one bin beyond those of any series.
    """
    is_log = bins["is_log"][0]
    known = bins.drop_nulls("bin_number")
    if known.is_empty():
        return pl.DataFrame(schema={"series": pl.String, "middle": pl.Float64, "density": pl.Float64})
    first, last = known.select(low=pl.col("bin_number").min(), high=pl.col("bin_number").max()).row(0)
    # A share has no place below 0 or above 100 %; a line needs two points.
    edges = range(first - 1, last + 2) if is_log else range(max(first, 0), min(last + 2, PERCENT_BINS))
    grid = bins.select("series").unique(maintain_order=True).join(pl.DataFrame({"bin_number": edges}), how="cross")
    number = pl.col("bin_number").cast(pl.Float64) + 0.5
    return (
        grid.with_columns(pl.col("bin_number").cast(known.schema["bin_number"]))
        .join(known.select("series", "bin_number", "density"), on=["series", "bin_number"], how="left")
        .select(
            "series",
            middle=(10.0 ** (number / 10) if is_log else 2 * number),
            density=pl.col("density").fill_null(0.0).round(6),
        )
    )


def trace_counts(bins: pl.DataFrame) -> pl.DataFrame:
    """Return the shares of whole numbers as points: series, middle (mean of the numbers in a bin), density per number.

    Bins that hold no whole number are not gaps and have no point.
    """
    known = bins.drop_nulls("bin_number")
    numbers = known["bin_number"].sort().to_list()
    # One bin that holds a number is at most three further.
    around = range(numbers[0] - 3, numbers[-1] + 4) if numbers else range(0)
    holding = [(number, find_integers(number)) for number in around if number >= 0 and find_integers(number)]
    low = max((n for n, _ in holding if n < numbers[0]), default=numbers[0]) if numbers else 0
    high = min((n for n, _ in holding if n > numbers[-1]), default=numbers[-1]) if numbers else -1
    grid = pl.DataFrame(
        [(n, sum(own) / len(own), len(own)) for n, own in holding if low <= n <= high],
        schema={"bin_number": bins.schema["bin_number"], "middle": pl.Float64, "integers_count": pl.Int64},
        orient="row",
    )
    share = pl.col("values_ratio").fill_null(0.0) / pl.col("integers_count")
    return (
        bins.select("series")
        .unique(maintain_order=True)
        .join(grid, how="cross")
        .join(known.select("series", "bin_number", "values_ratio"), on=["series", "bin_number"], how="left")
        .select("series", "middle", density=share.round(6))
    )


def _draw(
    lines: pl.DataFrame, facts: pl.DataFrame, quantity: Quantity, styles: dict[str, str], title: str
) -> alt.LayerChart:
    scale = alt.Scale(type="log", nice=False) if quantity.is_log else alt.Scale(domain=[0, 100], nice=False)
    x_axis = alt.Axis(title=quantity.title, format=quantity.format, grid=True, tickCount=8)
    per = "segment" if quantity.is_count else "decade" if quantity.is_log else "percentage point"
    y_title = f"Share of {quantity.noun} per {per}"
    x = alt.X("middle:Q", scale=scale, axis=x_axis)
    top: float = lines["density"].max() or 1.0  # type: ignore[assignment]
    ticks = choose_ticks(top)
    y = alt.Y("density:Q", scale=alt.Scale(domain=[0, ticks[-1]]), axis=alt.Axis(title=y_title, values=list(ticks)))
    layers: list[alt.Chart] = []
    for row, (series, cc) in enumerate(styles.items()):
        style = theme.style_of(cc)
        own = alt.Chart(lines.filter(pl.col("series") == series).select("middle", "density"))
        layers.append(
            own.mark_line(color=style.colour, strokeDash=list(style.dash), strokeWidth=2, strokeJoin="round").encode(
                x=x, y=y
            )
        )
        entry = write_entry(facts.row(by_predicate=pl.col("series") == series, named=True), quantity)
        layers += draw_legend_entry(cc, entry, row, len(styles), has_points=False)
    heading = alt.TitleParams([" ".join(title.split())], offset=12, limit=TITLE_LIMIT_PX)
    return alt.LayerChart(layer=layers, width=theme.PLOT_WIDTH_PX, height=theme.PLOT_HEIGHT_PX, title=heading)


def write_entry(facts: dict[str, object], quantity: Quantity) -> str:
    """Return a series' entry of the legend: n, what was filtered out, and what a log axis cannot show."""
    parts = [f"{name_series(str(facts['series']))}: n = {facts['values_count']:,}"]
    parts.append(f"{facts['filtered_out_count']:,} filtered out")
    if facts["zeros_count"] and quantity.is_log:
        zeros = 100 * int(str(facts["zeros_count"])) / int(str(facts["values_count"]))
        parts.append(f"{format_significant(zeros, 3)} % are 0")
    parts.append(f"median {format_value(float(str(facts['value_p50'])), quantity)}")
    return ", ".join(parts)


def format_value(value: float, quantity: Quantity) -> str:
    """Return a value of a quantity with three significant digits and its unit."""
    if quantity.unit == "bit/s":
        unit, size = next(((u, s) for u, s in (("Gbit/s", 1e9), ("Mbit/s", 1e6)) if value >= s), ("kbit/s", 1e3))
        return f"{format_significant(value / size, 3)} {unit}"
    return f"{format_significant(value, 3)} {quantity.unit.split(' of ')[0]}"


def write_counts(facts: pl.DataFrame, few: pl.DataFrame, quantity: Quantity) -> list[str]:
    """Return sentences on what a figure's numbers are of, and what they leave out."""
    n, unknown = (facts[name].sum() for name in ("values_count", "unknown_count"))
    left_out = ", ".join(map(name_series, few["series"]))
    return [
        f"{quantity.noun.capitalize()}: n = {n:,}; {tell_left_out(facts)}",
        *([f"Of {unknown:,} other{'' if unknown == 1 else 's'} the quantity is not known"] if unknown else []),
        *([f"Not drawn, with fewer than {VALUES_AT_LEAST} values: {left_out}"] if few.height else []),
    ]


def _write_caption(facts: pl.DataFrame, few: pl.DataFrame, quantity: Quantity, absent: list[str]) -> str:
    width = "ten bins per decade of a log axis" if quantity.is_log else "bins of 2 percentage points"
    width += ", of which each whole number has the same part" if quantity.is_count else ""
    zeros = "Values of 0 have no place on the axis; the area under a line is the share of all others"
    return fold_sentences(
        [
            f"Distribution of {quantity.lower_name} over {quantity.noun}: {width}",
            *absent,
            *write_counts(facts, few, quantity),
            *([zeros] if quantity.is_log and facts["zeros_count"].sum() else []),
        ]
    )


def write_percentiles(facts: pl.DataFrame, quantity: Quantity, styles: dict[str, str], heading: str) -> str:
    """Return the text alternative: median and outer percentiles of each series."""
    told = []
    for series in styles:
        row = facts.row(by_predicate=pl.col("series") == series, named=True)
        low, middle, high = (format_value(row[f"value_p{p}"], quantity) for p in ("10", "50", "90"))
        told.append(f"{name_series(series)}: median {middle}, 10th percentile {low}, 90th {high}")
    return write_sentences([heading, *told])
