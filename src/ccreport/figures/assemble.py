"""One figure from tables: everything between reading them and writing files, without either."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ccreport.figures import theme
from ccreport.figures.captions import FigureFacts, write_alternative, write_caption
from ccreport.figures.figure import Figure
from ccreport.figures.selection import (
    FigureDeclaration,
    Rate,
    choose_rate,
    summarise_algorithms,
)
from ccreport.figures.series import (
    choose_bin_s,
    find_envelope,
    measure_duration_s,
    measure_sampling_s,
    measure_spacing_s,
    place_intervals,
    place_samples,
    sum_rates,
    sum_retransmits,
)
from ccreport.figures.throughput_over_time import Texts, draw_throughput_over_time
from ccreport.figures.wording import (
    RATE_UNITS,
    DrawnAlgorithm,
    DrawnRun,
    choose_rate_unit,
    describe_runs,
    name_run,
    wrap_title,
    write_band,
    write_legend,
    write_notes,
)
from ccreport.measure.representative import choose_representatives


@dataclass(frozen=True)
class FigureTables:
    """The rows that a figure needs: `runs` of the conditions drawn, the other tables of these runs.

    `samples` and `qdiscs` need only those of the representative runs.
    """

    runs: pl.DataFrame
    flows: pl.DataFrame
    intervals: pl.DataFrame
    samples: pl.DataFrame
    qdiscs: pl.DataFrame


@dataclass(frozen=True)
class Series:
    """What is drawn: lines and points of the representative runs, the band of the others, and the widths of bins."""

    lines: pl.DataFrame
    band: pl.DataFrame
    points: pl.DataFrame
    rate_bin_s: float
    count_bin_s: float
    time_end_s: float


def choose_drawn_runs(
    declaration: FigureDeclaration, runs: pl.DataFrame, flows: pl.DataFrame, rate: Rate
) -> list[DrawnRun]:
    """Return the run that stands for each condition: the declared one, else the representative; by algorithm."""
    algorithms = summarise_algorithms(flows, rate).select("run_id", "cc", "rate_bps")
    rates = runs.select("run_id", "condition_id", "iteration", "retransmit_ratio").join(algorithms, on="run_id")
    drawn = {}
    for condition_id, representative, runs_count in choose_representatives(rates).rows():
        of_condition = runs.filter(pl.col("condition_id") == condition_id)
        is_declared = declaration.run in of_condition["run_id"].to_list()
        run_id = declaration.run if is_declared else representative
        row = of_condition.row(by_predicate=pl.col("run_id") == run_id, named=True)
        drawn[row["mode"]] = DrawnRun(row, runs_count, is_declared)
    return [drawn[mode] for mode in theme.order_algorithms(drawn)]


def assemble_throughput_over_time(
    declaration: FigureDeclaration, tables: FigureTables, drawn: Sequence[DrawnRun], left_out_count: int
) -> Figure:
    """Return the figure of the runs in `drawn`; `left_out_count` conditions matched too and are not drawn."""
    rate = choose_rate(declaration, tables.flows)
    run_ids = [one.run["run_id"] for one in drawn]
    series = build_series(tables, run_ids)
    means = summarise_algorithms(tables.flows.filter(pl.col("run_id").is_in(run_ids)), rate)
    algorithms = _list_algorithms(means)
    unit = choose_rate_unit(max(_top(series.lines, "rate_bps"), _top(series.band, "rate_max_bps")))
    notes = _write_notes(tables.qdiscs, drawn)
    facts = FigureFacts(
        declaration=declaration,
        drawn=drawn,
        algorithms=algorithms,
        rate=rate,
        unit=unit,
        rate_bin_s=series.rate_bin_s,
        count_bin_s=series.count_bin_s,
        sources=series.points["source"].unique().to_list(),
        left_out_count=left_out_count,
        notes=notes,
    )
    chart = draw_throughput_over_time(
        series.lines, series.points, series.band, _write_texts(facts), RATE_UNITS[unit], series.time_end_s
    )
    return Figure(chart, _collect_data(series), write_caption(facts), write_alternative(facts))


def build_series(tables: FigureTables, run_ids: Sequence[str]) -> Series:
    """Return lines and points of the runs named, and the band of all others."""
    placed = place_intervals(tables.intervals, tables.flows)
    growth = place_samples(tables.samples, tables.flows)
    is_drawn = pl.col("run_id").is_in(run_ids)
    duration_s = measure_duration_s(placed)
    rate_bin_s = choose_bin_s(measure_spacing_s(placed), duration_s)
    rates = sum_rates(placed, rate_bin_s).with_columns(pl.col("rate_bps").round())
    end_s = _top(rates, "time_s") + rate_bin_s / 2
    drawn_growth = growth.filter(is_drawn)
    spacing_s = measure_sampling_s(drawn_growth) if drawn_growth.height else measure_spacing_s(placed)
    count_bin_s = choose_bin_s(spacing_s, max(duration_s, _top(drawn_growth, "until_s")))
    counts = sum_retransmits(drawn_growth, placed.filter(is_drawn), count_bin_s)
    # ss goes on for a moment after the test: what it saw then is drawn where it is more than nothing.
    points = counts.with_columns(pl.col("time_s", "retransmits_count").round(3)).filter(
        (pl.col("time_s") <= end_s) | (pl.col("retransmits_count") > 0)
    )
    return Series(
        lines=rates.filter(is_drawn),
        band=find_envelope(rates.filter(~is_drawn)),
        points=points,
        rate_bin_s=rate_bin_s,
        count_bin_s=count_bin_s,
        time_end_s=max(end_s, _top(points, "time_s")),
    )


def _top(frame: pl.DataFrame, column: str) -> float:
    top: float | None = frame.select(pl.col(column).max()).item()
    return top or 0.0


def _list_algorithms(means: pl.DataFrame) -> list[DrawnAlgorithm]:
    # ASSUME: no algorithm runs in two of the runs that one figure overlays.
    rows = {row["cc"]: row for row in means.rows(named=True)}
    return [
        DrawnAlgorithm(cc, rows[cc]["rate_bps"], rows[cc]["retransmit_ratio"]) for cc in theme.order_algorithms(rows)
    ]


def _write_notes(qdiscs: pl.DataFrame, drawn: Sequence[DrawnRun]) -> list[str]:
    """Return the notes of the runs, each once: the runs of one figure usually share their path."""
    notes = [
        note
        for one in drawn
        for note in write_notes(qdiscs.filter(pl.col("run_id") == one.run["run_id"]).sort("line_number"), one.run)
    ]
    return list(dict.fromkeys(notes))


def _write_texts(facts: FigureFacts) -> Texts:
    declared = " ".join(facts.declaration.title.split())
    conditions = describe_runs(facts.algorithms, facts.drawn, overlapped=facts.declaration.overlapped)
    return Texts(
        title=[line for line in (declared, *wrap_title(conditions)) if line],
        subtitle=[name_run(one, overlapped=facts.declaration.overlapped) for one in facts.drawn],
        legend={one.cc: write_legend(one, facts.rate, facts.unit) for one in facts.algorithms},
        rate_axis=f"Throughput ({facts.unit})",
        count_axis=f"Retransmitted segments per {facts.count_bin_s:g} s",
        band=write_band(facts.drawn),
        notes=facts.notes,
    )


def _collect_data(series: Series) -> pl.DataFrame:
    parts = {"line": series.lines, "point": series.points, "band": series.band}
    tagged = [frame.select(pl.lit(drawn_as).alias("drawn_as"), pl.all()) for drawn_as, frame in parts.items()]
    columns = ["run_id", "cc", "time_s", "rate_bps", "rate_min_bps", "rate_max_bps", "retransmits_count", "source"]
    return pl.concat(tagged, how="diagonal_relaxed").select("drawn_as", *columns)
