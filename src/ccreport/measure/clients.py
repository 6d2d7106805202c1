"""The client processes of every run, as the job's metadata declare them: which algorithm, destination and start.

A run that mixes algorithms, or round-trip times, with a stock tool has one client for each, and only the metadata say
which is which where neither the tool nor `ss` does.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

CLIENT_SCHEMA: Final = {
    "run_id": pl.String(),
    "client_number": pl.Int64(),
    "client_cc": pl.String(),
    "client_host": pl.String(),
    "rtt_nominal_ms": pl.Float64(),
    "client_start_s": pl.Float64(),
}


def list_clients(conditions: pl.DataFrame, clients_json: str | None) -> pl.DataFrame:
    """Return the declared clients of each run, one row each: their algorithm, host, nominal RTT and start.

    `conditions` has run_id, host and rtt_nominal_ms of the runs. The RTT of a run is that of its own destination, and
    of clients that name none; that of another destination is the one that the client declares.
    """
    declared: list[dict[str, Any]] = json.loads(clients_json) if clients_json else []
    rows = [
        _describe_client(run, client)
        for run in conditions.select("run_id", "host", "rtt_nominal_ms").iter_rows(named=True)
        for client in _select_own(declared, run["host"])
    ]
    return pl.DataFrame(rows, schema=CLIENT_SCHEMA)


def _select_own(declared: Iterable[Mapping[str, Any]], host: str | None) -> Iterable[Mapping[str, Any]]:
    """Return one client of each number, that to this host where a job declares a number for several hosts."""
    chosen: dict[int, Mapping[str, Any]] = {}
    for client in declared:
        if client["number"] not in chosen or client.get("host") == host:
            chosen[client["number"]] = client
    return chosen.values()


def _describe_client(run: Mapping[str, Any], client: Mapping[str, Any]) -> dict[str, Any]:
    host = client.get("host")
    # `{dst}` stands for each destination of the job in turn.
    is_own = host is None or host in (run["host"], "{dst}")
    rtt_ms = client.get("rtt_ms")
    return {
        "run_id": run["run_id"],
        "client_number": client["number"],
        "client_cc": client.get("congestion_control"),
        "client_host": run["host"] if is_own else host,
        "rtt_nominal_ms": run["rtt_nominal_ms"] if is_own and run["rtt_nominal_ms"] is not None else rtt_ms,
        "client_start_s": client.get("start_s"),
    }


def summarise_clients(clients: pl.DataFrame) -> pl.DataFrame:
    """Return per run how far its clients' starts are apart, null where only some are declared: run_id, spread_s."""
    start_s = pl.col("client_start_s")
    spread_s = pl.when(start_s.is_not_null().all()).then(start_s.max() - start_s.min())
    return clients.group_by("run_id").agg(spread_s.alias("declared_spread_s"))


def find_branching(clients: pl.DataFrame) -> pl.Series:
    """Return the runs whose clients have more than one destination, so that no one path is the run's."""
    several = clients.group_by("run_id").agg(pl.col("client_host").n_unique()).filter(pl.col("client_host") > 1)
    return several["run_id"]
