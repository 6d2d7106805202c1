"""What a figure of single runs needs of the archive: the runs of its panel, and which of them are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.select.declaration import (
    FigureDeclaration,
    Rate,
    choose_rate,
    select_condition_runs,
    summarise_algorithms,
)
from ccreport.figures.select.queries import MissingFigure, read_matching_runs, read_rows
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.throughput_series import FigureTables
from ccreport.figures.wording.runs import DrawnRun
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
        return [one.run["run_id"] for one in self.drawn]


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
    runs = select_condition_runs(matching, declaration)
    intervals, flows = (read_rows(database, table, runs) for table in ("intervals", "flows"))
    runs = runs.join(intervals, on="run_id", how="semi").join(flows, on="run_id", how="semi")
    _require_runs(declaration, matching, runs)
    drawn = choose_drawn_runs(declaration, runs, flows, choose_rate(declaration, flows))
    drawn_runs = runs.filter(pl.col("run_id").is_in([one.run["run_id"] for one in drawn]))
    samples, qdiscs = (read_rows(database, table, drawn_runs) for table in ("samples", "qdiscs"))
    tables = FigureTables(runs, flows, intervals, samples, qdiscs)
    is_fitting = (pl.col("mode") == "both") == pl.lit(declaration.overlapped)
    left_out_count = matching.filter(is_fitting)["condition_id"].n_unique() - runs["condition_id"].n_unique()
    return PanelRuns(declaration, tables, drawn, left_out_count)


def _require_runs(declaration: FigureDeclaration, matching: pl.DataFrame, runs: pl.DataFrame) -> None:
    if declaration.run is not None and declaration.run not in runs["run_id"].to_list():
        raise MissingFigure(
            f"Run {declaration.run} is none of the {matching.height:,} runs that match and fit the figure."
        )
    if runs.is_empty():
        modes = ", ".join(sorted(matching["mode"].fill_null("unknown").unique()))
        wanted = "several algorithms at once" if declaration.overlapped else "one algorithm alone"
        raise MissingFigure(
            f"None of the {matching.height:,} runs that match ran {wanted} with intervals (mode: {modes})."
        )
