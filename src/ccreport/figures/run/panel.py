"""Figures of throughput over time: which runs they draw, read from the views of the database."""

import polars as pl

from ccreport.figures.assemble import PanelRuns, assemble_throughput_over_time, choose_drawn_runs
from ccreport.figures.captions import write_left_out
from ccreport.figures.database import Database
from ccreport.figures.figure import Figure
from ccreport.figures.rows import MissingFigure, NoRunMatchesError, read_matching_runs, read_rows
from ccreport.figures.selection import FigureDeclaration, choose_rate, list_panels, select_condition_runs
from ccreport.figures.throughput_series import FigureTables


def build_throughput_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one condition, or of one for each of its panels, from the views of the database.

    A panel without data is left out. Raise MissingFigure where no run has the data of any.
    """
    panels: dict[str, PanelRuns] = {}
    left_out: dict[str, str] = {}
    for letter, panel in list_panels(declaration).items():
        try:
            panels[letter] = read_panel(panel, database)
        except MissingFigure as missing:
            if not letter:
                raise
            # The condition itself would fill the caption; the evaluation has it.
            reason = "no run matches its condition" if isinstance(missing, NoRunMatchesError) else str(missing)
            left_out[letter] = write_left_out(letter, panel.title, reason)
    if not panels:
        raise MissingFigure(" ".join(left_out.values()))
    return assemble_throughput_over_time(declaration, panels, left_out)


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
