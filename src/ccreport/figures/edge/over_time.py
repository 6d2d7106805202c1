"""Edge networks over time: percentiles of a quantity of connections, and retransmits of whole machines."""

from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.edge.distributions import format_value
from ccreport.figures.edge.quantities import QUANTITIES, Quantity, find_quantity, query_aggregates, read_aggregates
from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.series_styles import name_series, style_series
from ccreport.figures.kit.small_multiples import TITLE_LIMIT_PX
from ccreport.figures.kit.text import draw_legend_entry
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_significant

# Percentiles of fewer values are accidents; their intervals are gaps of the lines.
VALUES_AT_LEAST: Final = 5
BAND_OPACITY: Final = 0.14
ORDER: Final = "series, bin_start_utc"
# All machines of a series together, in at most some 100 intervals.
MACHINES: Final = """
    WITH matched AS (FROM edge_machine_retransmits WHERE (
{where}
)),
    width AS (
        SELECT greatest(1, ceil((epoch(max(interval_end_utc)) - epoch(min(interval_end_utc))) / 100)) AS width_s
        FROM matched
    )
    SELECT
        series,
        time_bucket(to_seconds(width_s::BIGINT), interval_end_utc) AS bin_start_utc,
        count(DISTINCT machine) AS machines_count,
        count(*) AS intervals_count,
        sum(segments_first_sent_count)::BIGINT AS segments_first_sent_count,
        sum(retransmits_machine_count)::BIGINT AS retransmits_machine_count,
        100.0 * sum(retransmits_machine_count)
            / nullif(sum(segments_first_sent_count + retransmits_machine_count), 0) AS retransmit_pct
    FROM matched, width
    GROUP BY ALL
    ORDER BY series, bin_start_utc
"""


def build_distribution_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return median and percentiles 10 and 90 over time of the series whose rows of `edge_over_time` match.

    Raise MissingFigure where no interval has enough values, FigureError where they are of several quantities.
    """
    rows = read_aggregates(declaration, database, "edge_over_time", ORDER)
    quantity = find_quantity(declaration, rows)
    kept = rows.filter(pl.col("values_count") >= VALUES_AT_LEAST)
    if kept.is_empty():
        raise MissingFigure(f"No interval of time has {VALUES_AT_LEAST} values of this quantity.")
    styles = style_series(kept["series"].unique(maintain_order=True).to_list())
    width_s = rows["bin_width_s"][0]
    counts = dict(rows.group_by("series").agg(pl.col("values_count").sum()).rows())
    entries = {series: f"{name_series(series)}: n = {counts[series]:,}" for series in styles}
    layers = _draw_lines(_break_lines(kept, width_s), "value_p50", styles, entries, quantity)
    few = rows.height - kept.height
    sentences = [
        f"Median of {quantity.lower_name} per {width_s:,} s (line), percentiles 10 to 90 (band)",
        f"{quantity.noun.capitalize()} that moved enough data: n = {sum(counts.values()):,}; times in UTC",
        *([f"{few:,} intervals with fewer than {VALUES_AT_LEAST} values are left out"] * bool(few)),
    ]
    return Figure(
        _frame(layers, declaration.title),
        rows.drop("quantity", "grouped_by"),
        fold_sentences(sentences),
        write_sentences(
            [f"Line chart of {quantity.lower_name} over time", *_describe(kept, "value_p50", styles, quantity)]
        ),
    )


def build_machine_retransmits(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the retransmits over time of the machines whose rows of `edge_machine_retransmits` match.

    Each series is one line, the sum of its machines. Raise MissingFigure where no row matches.
    """
    rows = query_aggregates(declaration, database, MACHINES.format(where=declaration.where))
    rows = rows.drop_nulls("retransmit_pct")
    if rows.is_empty():
        raise MissingFigure("No machine sent a segment between two snapshots of its counters.")
    styles = style_series(rows["series"].unique(maintain_order=True).to_list())
    quantity = QUANTITIES["retransmit_pct"]
    entries = {series: _sum_up(rows.filter(pl.col("series") == series), series) for series in styles}
    drawn = rows.with_columns(value_p10=pl.lit(None, pl.Float64), value_p90=pl.lit(None, pl.Float64))
    layers = _draw_lines(drawn, "retransmit_pct", styles, entries, quantity, is_log=False)
    sentences = [
        "Segments retransmitted in % of all segments sent, all connections of a machine together, from its counters",
        f"Intervals between two snapshots: n = {rows['intervals_count'].sum():,}; times in UTC",
        "An interval in which a counter fell (the machine was started anew) is left out",
    ]
    return Figure(
        _frame(layers, declaration.title),
        rows,
        fold_sentences(sentences),
        write_sentences(
            ["Line chart of retransmits of machines over time", *_describe(rows, "retransmit_pct", styles, quantity)]
        ),
    )


def _sum_up(rows: pl.DataFrame, series: str) -> str:
    sent, again = rows.select(pl.col("segments_first_sent_count", "retransmits_machine_count").sum()).row(0)
    machines = rows.select(pl.col("machines_count").max()).item()
    noun = "machine" if machines == 1 else "machines"
    return (
        f"{name_series(series)}: {machines:,} {noun}, {sent + again:,} segments, "
        f"{format_significant(100 * again / (sent + again), 3)} % retransmitted"
    )


def _break_lines(rows: pl.DataFrame, width_s: int) -> pl.DataFrame:
    """Return the rows with the number of the unbroken line that each is part of."""
    gap = pl.col("bin_start_utc").diff().over("series") > pl.duration(seconds=width_s)
    return rows.with_columns(line=gap.fill_null(value=False).cum_sum().over("series"))


def _draw_lines(
    rows: pl.DataFrame,
    value: str,
    styles: dict[str, str],
    entries: dict[str, str],
    quantity: Quantity,
    *,
    is_log: bool | None = None,
) -> list[alt.Chart]:
    has_log = quantity.is_log if is_log is None else is_log
    scale = alt.Scale(type="log") if has_log else alt.Scale(zero=True)
    axis = alt.Axis(title=quantity.title if value != "retransmit_pct" else "Retransmitted segments (%)",
                    format=quantity.format, tickCount=6)  # fmt: skip
    time = alt.X("time:T", scale=alt.Scale(type="utc"), axis=alt.Axis(title="Time (UTC)", grid=True, tickCount=6))
    number = pl.col("line") if "line" in rows.columns else pl.lit(0)
    placed = rows.with_columns(time=pl.col("bin_start_utc").dt.epoch("ms"), line=number)
    layers: list[alt.Chart] = []
    for row, (series, cc) in enumerate(styles.items()):
        style = theme.style_of(cc)
        own = placed.filter(pl.col("series") == series, pl.col(value) > 0 if has_log else True)
        chart = alt.Chart(own.select("time", "line", value=value, low="value_p10", high="value_p90"))
        y = alt.Y("value:Q", scale=scale, axis=axis)
        if own["value_p10"].drop_nulls().len():
            band = chart.transform_filter("datum.low > 0" if has_log else "true")
            layers.append(band.mark_area(color=style.colour, opacity=BAND_OPACITY, line=False).encode(
                x=time, y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q", detail="line:N"))  # fmt: skip
        line = chart.mark_line(color=style.colour, strokeDash=list(style.dash), strokeWidth=2)
        layers.append(line.encode(x=time, y=y, detail="line:N"))
        # A line of one point cannot be seen.
        layers.append(chart.mark_point(color=style.colour, shape=style.marker, size=22).encode(x=time, y=y))
        layers += draw_legend_entry(cc, entries[series], row, len(styles), has_points=True)
    return layers


def _frame(layers: list[alt.Chart], title: str) -> alt.LayerChart:
    heading = alt.TitleParams([" ".join(title.split())], offset=12, limit=TITLE_LIMIT_PX)
    return alt.LayerChart(layer=layers, width=theme.PLOT_WIDTH_PX, height=theme.PLOT_HEIGHT_PX, title=heading)


def _describe(rows: pl.DataFrame, value: str, styles: dict[str, str], quantity: Quantity) -> list[str]:
    told = []
    for series in styles:
        values: Any = rows.filter(pl.col("series") == series)[value]
        low, high = (format_value(end, quantity) for end in (values.min(), values.max()))
        told.append(f"{name_series(series)}: between {low} and {high} in {len(values):,} intervals")
    return told
