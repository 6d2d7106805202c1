"""What a comparison reads of a database of runs: flows that pause, flows of a given size, and the most in flight."""

from datetime import timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest
from archives import make_table
from figure_inputs import EPOCH, make_database, make_tables

from ccreport.compare_kernels.measures import read_runs
from ccreport.core.declarations import read_query

# Five samples in 4 s of a flow that was busy for 1 s of them, in which 1 MB was acknowledged: 8 Mbit/s while busy.
BUSY_MS = [0, 500, 500, 500, 1000]
ACKED = [0, 400_000, 400_000, 400_000, 1_000_000]
UNACKED = [10, 40, 0, 0, 25]


def read(folder: Path, busy_ms: list[int], volumes: dict[int, int | None]) -> dict[str, float | None]:
    """Return the measures of one run of two clients with a flow each; `volumes` are by client."""
    tables = make_tables("10.0.0.2", "sender")
    run = "experiment-cubic/1"
    made = {name: tables[name].filter(pl.col("run_id") == run) for name in ("runs", "flows")}
    made["runs"] = made["runs"].with_columns(clients_count=pl.lit(2), volume_bytes=pl.lit(None, pl.Int64))
    made["flows"] = made["flows"].with_columns(client_number=pl.Series([1, 2]), goodput_bps=pl.Series([9e6, 1e6]))
    made["intervals"] = tables["intervals"].filter(pl.col("run_id") == run)
    made["samples"] = pl.DataFrame(
        [
            {"run_id": run, "flow_id": flow, "connection_number": 0, "raw_file_id": "f", "extra": []}
            | {"time_utc": EPOCH + timedelta(seconds=number), "is_partial": False, "tcp_state": "ESTAB"}
            | {"busy_ms": busy_ms[number], "acked_bytes": ACKED[number], "unacked_count": UNACKED[number]}
            for flow in made["flows"]["flow_id"]
            for number in range(5)
        ],
        infer_schema_length=None,
    )
    made |= {name: make_table(name, []) for name in ("packet_flows", "packet_intervals")}
    database = make_database(folder, made)
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            "CREATE OR REPLACE TABLE sessions AS"
            " SELECT 's' AS session, 'pair-a' AS campaign, 'block-1-main' AS session_label"
        )
        connection.execute("CREATE TABLE tests (run_id VARCHAR, client_number INTEGER, volume_bytes BIGINT)")
        connection.executemany("INSERT INTO tests VALUES (?, ?, ?)", [(run, *volume) for volume in volumes.items()])
        connection.execute(
            "CREATE OR REPLACE VIEW labelled_runs AS SELECT *, NULL::DOUBLE AS completion_bytes FROM runs"
        )
        for view in ("flow_completions", "run_completions"):
            connection.execute(f"CREATE VIEW {view} AS {read_query(view)}")
    return read_runs(database, "pair").rows.row(0, named=True)


def test_a_flow_that_pauses_has_the_rate_of_its_busy_time(tmp_path: Path) -> None:
    measures = read(tmp_path, BUSY_MS, {1: None, 2: None})
    assert (measures["goodput_busy"], measures["flight_peak"]) == (8e6, 40)
    assert measures["completion"] is None


def test_a_flow_that_is_always_busy_has_no_such_rate(tmp_path: Path) -> None:
    # 3.7 s of 4 s are more than nine tenths.
    assert read(tmp_path, [0, 1000, 2000, 3000, 3700], {1: None, 2: None})["goodput_busy"] is None


def test_completion_is_that_of_clients_with_a_given_size(tmp_path: Path) -> None:
    # Of 200 kB half are acknowledged after a quarter of the second in which 400 kB are; the SYN counts as a byte.
    measures = read(tmp_path, BUSY_MS, {1: None, 2: 200_000})
    assert measures["completion"] == pytest.approx(0.25, abs=1e-5)
    assert (measures["goodput_first"], measures["goodput_others"]) == (9e6, 1e6)
