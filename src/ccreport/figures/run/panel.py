"""What a figure of single runs needs of the archive: the runs of its panel, and which of them are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import deny
from ccreport.figures.select.declaration import (
    FigureDeclaration,
    Rate,
    choose_rate,
    keep_fitting,
    select_condition_runs,
    summarise_algorithms,
)
from ccreport.figures.select.queries import MissingFigure, name_run, read_matching_runs, read_rows
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import SOURCES, Source, choose_rate_source, list_flow_rates
from ccreport.figures.select.series import (
    UNKNOWN_CC,
    choose_width_s,
    measure_duration_s,
    measure_spacing_s,
    place_intervals,
)
from ccreport.figures.select.throughput_series import FigureTables
from ccreport.figures.wording.captions import RATE_NAMES
from ccreport.figures.wording.runs import DrawnRun, write_notes
from ccreport.summarise.statistics.representative import choose_representatives


@dataclass(frozen=True)
class PanelRuns:
    """What one panel is made of: its declaration, its tables and the runs drawn.

    `left_out_count` conditions matched too and are not drawn.
    """

    declaration: FigureDeclaration
    tables: FigureTables
    drawn: Sequence[DrawnRun]
    left_out_count: int

    @property
    def run_ids(self) -> list[str]:
        """Return the runs that lines and points are of."""
        return [drawn_run.run["run_id"] for drawn_run in self.drawn]

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Return the flows of the runs drawn."""
        return self.keep_drawn(self.tables.flows)

    @cached_property
    def intervals(self) -> pl.DataFrame:
        """Return the intervals of the runs drawn on the time axis of their run, as `place_intervals` does."""
        return place_intervals(self.keep_drawn(self.tables.intervals), self.flows)

    @cached_property
    def end_s(self) -> float:
        """Return the end of the time axis."""
        return measure_duration_s(self.intervals)

    @cached_property
    def ccs(self) -> list[str]:
        """Return the algorithms of the flows drawn, in the order in which figures name them."""
        return theme.order_algorithms(self.flows["cc"].fill_null(UNKNOWN_CC).unique())

    @property
    def notes(self) -> list[str]:
        """Return the settings of the path, each once: the runs of one figure usually share it."""
        qdiscs = self.tables.qdiscs
        notes = [
            note
            for drawn_run in self.drawn
            for note in write_notes(
                qdiscs.filter(pl.col("run_id") == drawn_run.run["run_id"]).sort("line_number"), drawn_run.run
            )
        ]
        return list(dict.fromkeys(notes))

    @property
    def line_rates_bps(self) -> dict[float, str]:
        """Return the rates of bottlenecks in bit/s, where unknown of senders, of the runs drawn, and their names."""
        runs = [drawn_run.run for drawn_run in self.drawn]
        senders = {run["nic_bps"]: "line rate" for run in runs if run["nic_bps"] and not run["bottleneck_bps"]}
        bottlenecks = {run["bottleneck_bps"]: "bottleneck rate" for run in runs if run["bottleneck_bps"]}
        return dict(sorted((senders | bottlenecks).items()))

    def keep_drawn(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the runs that are drawn."""
        return rows.filter(pl.col("run_id").is_in(self.run_ids))


@dataclass(frozen=True)
class FlowRates:
    """The rate of each flow drawn (run_id, flow_id, cc, time_s, rate_bps), its source and the width of its bins."""

    rates: pl.DataFrame
    source: Source
    bin_s: float

    @property
    def name(self) -> str:
        """Return what these rates are; acknowledgements catch up after a loss, so theirs is not the goodput."""
        return "rate of acknowledgements" if self.source == "ss" else "throughput"

    @property
    def title(self) -> str:
        """Return what these rates are, as axes name it."""
        return RATE_NAMES[self.source]

    @property
    def origin(self) -> str:
        """Return where the rates are from, as captions say it."""
        return f"from {SOURCES[self.source]}, per {self.bin_s:g} s"


def measure_flow_rates(panel: PanelRuns, shortest_s: float = 0.0) -> FlowRates:
    """Return the rates of the flows drawn, in bins of at least `shortest_s`."""
    source = choose_rate_source(panel.tables.samples, panel.flows)
    bin_s = choose_width_s(measure_spacing_s(panel.intervals), panel.end_s, panel.flows.height)
    bin_s = max(bin_s, shortest_s)
    rates = list_flow_rates(panel.tables.samples, panel.flows, panel.intervals, bin_s, source)
    return FlowRates(rates.with_columns(pl.col("rate_bps").round()), source, bin_s)


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


def read_panel(declaration: FigureDeclaration, database: Database) -> PanelRuns:
    """Return the runs that one panel draws, with their tables; raise MissingFigure where no run has its data."""
    matching = read_matching_runs(declaration, database)
    fitting = keep_fitting(matching, declaration)
    declaration = name_run(declaration, fitting)
    runs = select_condition_runs(matching, declaration)
    intervals, flows = (read_rows(database, table, runs) for table in ("intervals", "flows"))
    runs = runs.join(intervals, on="run_id", how="semi").join(flows, on="run_id", how="semi")
    _require_runs(declaration, matching, runs)
    drawn = choose_drawn_runs(declaration, runs, flows, choose_rate(declaration, flows))
    drawn_runs = runs.filter(pl.col("run_id").is_in([drawn_run.run["run_id"] for drawn_run in drawn]))
    # The band is of all iterations.
    samples, qdiscs = read_rows(database, "samples", runs), read_rows(database, "qdiscs", drawn_runs)
    tables = FigureTables(runs, flows, intervals, samples, qdiscs)
    left_out_count = fitting["condition_id"].n_unique() - runs["condition_id"].n_unique()
    return PanelRuns(declaration, tables, drawn, left_out_count)


def read_single_run(declaration: FigureDeclaration, database: Database) -> PanelRuns:
    """Return the first of the runs that a panel would draw; raise as `read_panel`.

    Of what happens to the flows of one run, the lines of two would show flows that never met.
    """
    panel = read_panel(declaration, database)
    others_count = len(panel.drawn) - 1
    return replace(panel, drawn=panel.drawn[:1], left_out_count=panel.left_out_count + others_count)


def _require_runs(declaration: FigureDeclaration, matching: pl.DataFrame, runs: pl.DataFrame) -> None:
    if runs.is_empty():
        modes = ", ".join(sorted(matching["mode"].fill_null("unknown").unique()))
        wanted = "both algorithms at the same time" if declaration.overlapped else "one algorithm alone"
        raise MissingFigure(f"{deny(matching.height)} ran {wanted} with intervals (mode: {modes}).")
    if declaration.run is not None and declaration.run not in runs["run_id"].to_list():
        raise MissingFigure(f"Run {declaration.run} has no intervals.")
