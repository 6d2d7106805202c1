"""The command `export`: a run's flows for other programs, as CSV or as qlog."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any, Final

import duckdb

from ccreport.core.atomic_files import replace_text
from ccreport.core.csv_files import format_csv
from ccreport.core.errors import InputError
from ccreport.core.identifiers import match_runs
from ccreport.core.schema_problems import guess_near
from ccreport.storage.writable import check_file
from ccreport.summarise.open_results import open_results
from ccreport.trace.find_table import find_databases, find_results
from ccreport.trace.qlog import convert_for_qvis, describe_flow, list_sent, write_file
from ccreport.trace.queries.copy_target import describe_target

SHOWN: Final = 5
LISTED: Final = '`python -m ccreport sql "SELECT run_id FROM runs"{database}` lists them'
FLOWS: Final = "FROM flows WHERE run_id = ? ORDER BY client_number, stream_number, is_reverse, flow_id"
# The last connection of a flow is the one that it was measured by.
SAMPLES: Final = """
    FROM samples WHERE run_id = ? AND flow_id = ? AND time_utc IS NOT NULL
    QUALIFY connection_number = max(connection_number) OVER () ORDER BY time_utc
"""
INTERVALS: Final = "FROM intervals WHERE run_id = ? AND flow_id = ? AND NOT is_omitted ORDER BY start_s, end_s"


def export(
    run: str, /, *, qlog: bool = False, qvis: bool = False, database: Path | None = None, output: Path | None = None
) -> None:
    """Print the flows of a run as CSV, a row each with all columns of the table `flows`, or as qlog.

    `run` is the name of a run, or a part of one that no other has. `qlog` writes windows, round-trip times and states
    of congestion control over time, as the current drafts of qlog have them; `qvis` writes the same as qlog 0.3, the
    latest that the viewer of this name reads, with a packet for each sample. `database` is an evaluation's, or a folder
    of results; without it, the folder that config.yaml names. `output` is the file to write in place of the standard
    output. Raise InputError where no run or several have the name, and where both forms of
    qlog are asked for.
    """
    if qlog and qvis:
        raise InputError("--qlog and --qvis are one file each; name one of the two")
    place = find_databases(find_results(database))[0]
    if output is not None:
        check_file(output, "--output")
        if problem := describe_target(output, place):
            raise InputError(f"--output {output} {problem}")
    with open_results(place) as connection:
        run_id = find_run(connection, run, database)
        text = write_qlog(connection, run_id, qvis=qvis) if qlog or qvis else _write_flows(connection, run_id)
    if output is None:
        sys.stdout.write(text)
    else:
        replace_text(output, text)


def find_run(connection: duckdb.DuckDBPyConnection, name: str, database: Path | None = None) -> str:
    """Return the run of a name, or of a part of one; raise InputError where none or several have it.

    `database` is what was given as such, for the command that lists all runs.
    """
    asked = "" if database is None else f" --database {shlex.quote(str(database))}"
    listed = LISTED.format(database=asked)
    if not name.strip():
        raise InputError(f"a run's name is needed, or a part of one; {listed}")
    runs = [run for (run,) in connection.execute("SELECT run_id FROM runs ORDER BY run_id").fetchall()]
    fitting = match_runs(name, runs)
    if len(fitting) == 1:
        return str(fitting[0])
    if fitting:
        more = f" and {len(fitting) - SHOWN} more" if len(fitting) > SHOWN else ""
        raise InputError(f"{len(fitting)} runs have `{name}` in their names: {', '.join(fitting[:SHOWN])}{more}")
    raise InputError(f"no run `{name}`{guess_near(name, runs) or f'; {listed}'}")


def _write_flows(connection: duckdb.DuckDBPyConnection, run_id: str) -> str:
    return format_csv(connection.sql(FLOWS, params=[run_id]).pl())


def write_qlog(connection: duckdb.DuckDBPyConnection, run_id: str, *, qvis: bool = False) -> str:
    """Return the qlog file of a run's flows, the same bytes from the same tables."""
    # Times as UTC, whatever the machine's zone is.
    connection.execute("SET TimeZone = 'UTC'")
    (run,) = _read(connection, "SELECT start_utc FROM runs WHERE run_id = ?", [run_id])
    traces, sent = [], []
    for flow in _read(connection, FLOWS, [run_id]):
        samples, intervals = (_read(connection, query, [run_id, flow["flow_id"]]) for query in (SAMPLES, INTERVALS))
        traces.append(describe_flow(flow, samples, intervals, run["start_utc"]))
        sent.append(list_sent(samples, intervals))
    written = write_file(run_id, traces)
    return json.dumps(convert_for_qvis(written, sent) if qvis else written, indent=1, ensure_ascii=False) + "\n"


def _read(connection: duckdb.DuckDBPyConnection, query: str, values: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = connection.sql(query, params=values).pl().to_dicts()
    return rows
