"""Share of each algorithm in the summed throughput over time."""

import polars as pl

from ccreport.core.text import count_things
from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.value_axis import ValueAxis
from ccreport.figures.run import chart
from ccreport.figures.run.event_marks import draw_joins, find_joins, list_join_places
from ccreport.figures.run.fair_share import find_range, measure_shares
from ccreport.figures.run.panel import PanelRuns, read_panel
from ccreport.figures.select.declaration import FigureDeclaration, FigureError
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import SOURCES
from ccreport.figures.select.series import UNKNOWN_CC, choose_bin_s, measure_duration_s, measure_spacing_s, sum_rates
from ccreport.figures.select.throughput_series import place_rows
from ccreport.figures.wording.runs import format_significant, join_names

# The first and the last part of a run, whose means say how shares moved.
PART = 0.25


def build_share_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one overlapped condition; raise MissingFigure where no run has its data."""
    if not declaration.overlapped:
        raise FigureError(f"figure {declaration.name!r}: shares are of algorithms at the same time: overlapped")
    panel = read_panel(declaration, database)
    placed = place_rows(panel.tables, panel.run_ids)
    bin_s = choose_bin_s(measure_spacing_s(placed.intervals), measure_duration_s(placed.intervals))
    shares = measure_shares(sum_rates(placed.rates, bin_s)).with_columns(
        pl.col("rate_bps").round(), pl.col("share").round(5)
    )
    drawn = panel.keep_drawn(shares)
    if drawn.is_empty():
        raise MissingFigure("The run that would be drawn moved no data in any interval.")
    band = find_range(shares.join(drawn.select("run_id").unique(), on="run_id", how="anti"), "share")
    others = chart.list_band_key(panel) if band.height else []
    joins = find_joins(panel.flows)
    plot = chart.Plot(panel, ValueAxis("Share of the data (%)", [0, 25, 50, 75, 100]))
    lines = drawn.with_columns(share_pct=100 * pl.col("share"))
    shade = band.filter(pl.col("time_s") <= plot.end_s).with_columns(pl.col("low", "high") * 100)
    layers = [
        *draw_joins(joins, plot, is_named=True),
        chart.draw_band(shade, plot),
        chart.draw_lines(lines, "share_pct", plot),
        *chart.draw_names(lines, "share_pct", plot, list_join_places(joins, plot)),
    ]
    return chart.compose_figure(
        panel,
        chart.list_algorithm_key(panel.ccs) + others,
        [plot.hold(layers)],
        _collect_data(drawn, band),
        sentences=[
            f"Lines: each algorithm's share of the {SOURCES[placed.source]} for all flows, per {bin_s:g} s",
            *(["Dotted lines: other flows join"] if joins.height else []),
            *(f"Band: {entry.text}" for entry in others),
        ],
        what="Line chart of each algorithm's share of the throughput over time",
        messages=_describe(drawn, panel),
    )


def _collect_data(drawn: pl.DataFrame, band: pl.DataFrame) -> pl.DataFrame:
    named = band.rename({"low": "share_min", "high": "share_max"})
    parts = {"line": drawn, "band": named}
    columns = ("drawn_as", "run_id", "cc", "time_s", "rate_bps", "share", "share_min", "share_max")
    return stack_parts(parts).select(columns)


def _describe(drawn: pl.DataFrame, panel: PanelRuns) -> list[str]:
    """Return the share of the whole, and of the first and the last quarter of the time: sum over sum.

    Of flows it says how many they are, where algorithms have different numbers of them.
    """
    ccs = panel.ccs
    counts: dict[str, int] = dict(panel.flows.group_by(pl.col("cc").fill_null(UNKNOWN_CC)).len().rows())
    flows = {cc: f" ({count_things(counts[cc], 'flow')})" if len({*counts.values()}) > 1 else "" for cc in ccs}
    end_s = drawn.select(pl.col("time_s").max()).item()
    whole = _share_of_sum(drawn)
    first = _share_of_sum(drawn.filter(pl.col("time_s") <= PART * end_s))
    last = _share_of_sum(drawn.filter(pl.col("time_s") >= (1 - PART) * end_s))
    texts = [f"{theme.style_of(cc).name} had {_percent(whole.get(cc))}{flows[cc]}" for cc in ccs]
    moves = [f"{theme.style_of(cc).name} {_percent(first.get(cc))} and {_percent(last.get(cc))}" for cc in ccs]
    return [
        f"of all data {join_names(texts)}",
        f"shares in the first and the last quarter of the time: {'; '.join(moves)}",
    ]


def _share_of_sum(rates: pl.DataFrame) -> dict[str, float]:
    sums: dict[str, float] = dict(rates.group_by("cc").agg(pl.col("rate_bps").sum()).rows())
    total = sum(sums.values())
    return {cc: rate / total for cc, rate in sums.items()} if total else {}


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{format_significant(100 * share, 3 if share >= 0.995 else 2)} %"
