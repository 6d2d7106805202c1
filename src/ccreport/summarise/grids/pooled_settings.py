"""Notes on the table `means`: which settings differ within its rows, and why a mean has no interval."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.evaluation import MEANS
from ccreport.core.tables import load_schema
from ccreport.summarise.database import quote_name
from ccreport.summarise.grids.headings import format_name, write_heading
from ccreport.summarise.questions import PAIRED, list_pooled

# Of an interval.
RUNS_AT_LEAST: Final = 3
# More values of a setting are counted.
NAMED_AT_MOST: Final = 4
ABSENT: Final = (
    "pacing_bps",
    "background_udp_bps",
    "volume_bytes",
    "parameter_name",
    "parameter_value",
    "loss_pattern",
    "stages_json",
)
NOTHING: Final = {"beside": "alone", **dict.fromkeys(ABSENT, "none")}


def describe_pooled(connection: duckdb.DuckDBPyConnection, declared: Mapping[str, Any]) -> str:
    """Return the sentence on the settings that differ within rows of the table `means`; empty where none does."""
    settings = [name for name in list_pooled(declared) if name != PAIRED]
    if not settings:
        return ""
    rows = ", ".join(f"rows.{quote_name(name)}" for name in load_schema(MEANS).key if name != PAIRED)
    # A list has the nulls, which a count leaves out.
    values = ", ".join(f"list(DISTINCT runs.{quote_name(name)}) AS {quote_name(name)}" for name in settings)
    query = f"""
        SELECT {values} FROM means_runs AS rows
        JOIN (SELECT DISTINCT run_id, {", ".join(map(quote_name, settings))} FROM all_algorithm_runs) AS runs
        USING (run_id) GROUP BY {rows}
    """
    pooled = connection.sql(query).pl()
    told = []
    for name in settings:
        mixed = [value for own in pooled[name].to_list() if len(own) > 1 for value in own]
        if mixed:
            told.append(f"{write_heading(name).partition(' (')[0]}: {_name_values(name, mixed)}")
    return f"Within a row, runs can differ in settings that are not columns ({'; '.join(told)})." if told else ""


def explain_missing_intervals(means: pl.DataFrame) -> str:
    """Return why means of three runs or more have no interval; empty where all have one."""
    known = means.filter(pl.col("runs_count") >= RUNS_AT_LEAST, pl.col("rate_mean_bps") > 0)
    if not known["rate_low_bps"].null_count():
        return ""
    return (
        "Intervals come from the spread of runs that repeat each other, of which some means have too few: without "
        "`condition` in the evaluation, runs of different sessions do not repeat each other."
    )


def _name_values(name: str, mixed: Sequence[Any]) -> str:
    known = sorted({value for value in mixed if value is not None})
    if name == "path_rtt":
        # RTT 20 ms before RTT 100 ms.
        known.sort(key=len)
    if len(known) > NAMED_AT_MOST:
        return f"{len(known)} values"
    names = [format_name(name, value) for value in known]
    return ", ".join([*names, NOTHING.get(name, "not known")] if None in mixed else names)
