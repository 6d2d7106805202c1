"""Suspect runs that rows of published tables would have if they were not suspect, for all rows of a table at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import duckdb
import polars as pl

from ccreport.trace.rows.candidates import find_suspects
from ccreport.trace.rows.edge import GROUPED, load_recorded_runs
from ccreport.trace.rows.left_out import read_condition, tell_rule
from ccreport.trace.rows.load_trace import Trace


@dataclass(frozen=True)
class SuspectRun:
    """A suspect run, and of each rule that it breaks what was observed and the bound."""

    run_id: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Suspects:
    """The suspect runs of a database of results."""

    connection: duckdb.DuckDBPyConnection
    meeting: dict[tuple[str, str], pl.DataFrame] = field(default_factory=dict, repr=False)

    def select(self, trace: Trace, row: Mapping[str, Any]) -> list[SuspectRun]:
        """Return those that a row of a table lacks: of its labels, or where runs have none of these its conditions."""
        if not self._reasons:
            return []
        if trace.table in GROUPED:
            return self._list_recorded(trace.table, trace.select_source(row))
        condition = read_condition(self.connection, trace, row)
        asked = (trace.table, condition)
        if asked not in self.meeting:
            self.meeting[asked] = find_suspects(self.connection, *asked)
        found = self.meeting[asked]
        own = trace.select_runs(row)["run_id"].unique()
        labels = trace.list_labels(row)
        if labels and set(labels) <= set(found.columns):
            is_alike = pl.all_horizontal(trace.match_labels(row))
        else:
            conditions = {self._conditions[run] for run in own if run in self._conditions}
            is_alike = pl.col("condition_id").is_in([*conditions])
        return self._describe(found.filter(is_alike, ~pl.col("run_id").is_in(own.implode())))

    def _list_recorded(self, table: str, files: pl.DataFrame) -> list[SuspectRun]:
        """Return those during which some files of an edge network were recorded, and that do not count."""
        asked = (table, "")
        if asked not in self.meeting:
            self.meeting[asked] = load_recorded_runs(self.connection, table).filter(~pl.col("is_run_counted"))
        recorded = self.meeting[asked].join(files, on="raw_file_id", how="semi")
        return self._describe(recorded.filter(pl.col("run_id").is_in([*self._reasons])))

    def _describe(self, runs: pl.DataFrame) -> list[SuspectRun]:
        return [SuspectRun(run, tuple(self._reasons.get(run, ()))) for run in runs["run_id"].unique().sort()]

    @cached_property
    def _reasons(self) -> dict[str, list[str]]:
        query = "SELECT run_id, suspect_rule, observed, bound, bound_unit FROM suspects ORDER BY ALL"
        reasons: dict[str, list[str]] = {}
        for run, *told in self.connection.sql(query).fetchall():
            reasons.setdefault(run, []).append(tell_rule(*told))
        return reasons

    @cached_property
    def _conditions(self) -> dict[str, str]:
        return dict(self.connection.sql("SELECT run_id, condition_id FROM all_labelled_runs").fetchall())
