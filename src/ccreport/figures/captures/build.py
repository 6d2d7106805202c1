"""Figures of packet captures: which runs they draw, and which function draws each kind."""

from collections.abc import Callable
from typing import Final

import polars as pl

from ccreport.core.identifiers import match_runs
from ccreport.figures.captures.rtts import assemble_rtt_distribution, assemble_rtt_in_flight
from ccreport.figures.captures.sequences import assemble_loss_episodes, assemble_time_sequence
from ccreport.figures.captures.series import list_captured_flows
from ccreport.figures.captures.wording import CaptureFacts
from ccreport.figures.kit.figure import Figure, deny
from ccreport.figures.run.panel import choose_drawn_runs
from ccreport.figures.select.declaration import FigureDeclaration, choose_rate
from ccreport.figures.select.queries import MissingFigure, name_run, read_matching_runs, read_rows
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.runs import DrawnRun

# Where the configuration names the runs of which every packet is stored.
KEY: Final = "`packet_runs` in config.yaml"
ASSEMBLERS: Final[dict[str, Callable[[CaptureFacts, Database], Figure]]] = {
    "time_sequence": assemble_time_sequence,
    "loss_episodes": assemble_loss_episodes,
    "rtt_in_flight": assemble_rtt_in_flight,
    "rtt_distribution": assemble_rtt_distribution,
}


def build_capture_figure(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return a figure of the captures of matching runs; raise MissingFigure where none of them has its data.

    Of the conditions that match, the one with the most captured runs is drawn, by its representative run among those;
    a distribution is of all of them.
    """
    matching = read_matching_runs(declaration, database)
    connections, flows = (read_rows(database, table, matching) for table in ("packet_flows", "flows"))
    captured = list_captured_flows(connections, flows)
    runs = matching.join(captured, on="run_id", how="semi")
    if runs.is_empty():
        raise MissingFigure(f"{deny(matching.height)} has a capture with flows of its test.")
    if declaration.kind == "loss_episodes":
        runs = _keep_runs_with_packets(declaration.run, database, runs)
    declaration = name_run(declaration, runs, "captured runs")
    captured_conditions_count = runs["condition_id"].n_unique()
    if declaration.kind == "rtt_distribution":
        drawn = [DrawnRun(run, 1, is_declared=False) for run in runs.rows(named=True)]
    else:
        runs = _select_condition(runs, declaration.run)
        of_runs = flows.join(runs, on="run_id", how="semi")
        drawn = choose_drawn_runs(declaration, runs, of_runs, choose_rate(declaration, of_runs))
    captured = captured.filter(pl.col("run_id").is_in([drawn_run.run["run_id"] for drawn_run in drawn]))
    left_out_count = captured_conditions_count - runs["condition_id"].n_unique()
    return ASSEMBLERS[declaration.kind](CaptureFacts(declaration, drawn, captured, left_out_count), database)


def _keep_runs_with_packets(run: str | None, database: Database, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs whose packets are stored; raise MissingFigure where none of those meant by `run` has them.

    Where it is part of no name, all are returned.
    """
    known = runs["run_id"].unique().sort().to_list()
    meant = known if run is None else match_runs(run, known)
    query = "SELECT DISTINCT run_id FROM packets WHERE run_id IN (SELECT unnest(?)) ORDER BY ALL"
    stored = database.ask(query, [runs["run_id"].to_list()])
    if not meant:
        return runs
    if not {*meant} & {*stored["run_id"]}:
        names = ", ".join(meant)
        if run is None:
            whose, which = "the runs that match", f"the identifier of a run to {KEY}; these match: {names}"
        else:
            whose, which = names, f"{'this' if len(meant) == 1 else 'such an'} identifier to {KEY}"
        raise MissingFigure(f"The packets of {whose} are not stored. Add {which}")
    return runs.join(stored, on="run_id", how="semi")


def _select_condition(runs: pl.DataFrame, run: str | None) -> pl.DataFrame:
    """Return the runs of the condition that has the declared run, else the most runs, then the first."""
    is_declared = (pl.col("run_id") == (run or "")).any()
    ranked = (
        runs.group_by("condition_id")
        .agg(is_declared.alias("has_run"), pl.len().alias("runs_count"))
        .sort("has_run", "runs_count", "condition_id", descending=[True, True, False])
    )
    return runs.filter(pl.col("condition_id") == ranked.item(0, "condition_id"))
