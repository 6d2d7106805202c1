"""Conditions that a query's means pool without saying so: several values in a group, neither grouped by nor fixed."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import duckdb

from ccreport.summarise.database import quote_name
from ccreport.summarise.open_database import fetch_rows
from ccreport.trace.claims.checked_runs import parse_query, write_parsed

# Views with a row for each run, or for each algorithm in a run; so have all whose names end as those of tables' runs.
VIEWS: Final = ("runs", "labelled_runs", "algorithm_runs", "measured")
OF_TABLES: Final = "_runs"
# What tells conditions apart, the first first.
CONDITIONS: Final = (
    *("algorithm", "sharing", "flows_count", "rtt_ms", "loss_pct", "buffer_bytes", "bottleneck_bps", "nic_bps"),
    *("pacing_bps", "background_udp_bps", "queue_discipline", "has_queue_ecn", "mtu_bytes", "volume_bytes"),
    *("parameter_name", "parameter_value", "start_spread_s", "stages_json", "host"),
)
# Of a column: a setting that only some runs have differs too.
DISTINCT: Final = "count(DISTINCT {0}) + (count({0}) BETWEEN 1 AND count(*) - 1)::INTEGER"
RATES: Final = ("goodput_bps", "throughput_bps", "rate_bps", "retransmit_ratio")
MEANS: Final = ("avg", "mean")
SPREADS: Final = (
    *("median", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"),
    *("quantile", "quantile_cont", "quantile_disc"),
)


def describe_pooled(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """Return a line on the conditions of which groups pool several values, where a query aggregates a rate of runs.

    Only one SELECT over a view of runs, alone or joined with tables, is looked at; of other queries nothing is said.
    """
    parsed = parse_query(connection, query)
    of_runs = _find_view(parsed) if parsed else None
    if parsed is None or of_runs is None:
        return []
    names = {*_list_rate_aggregates(parsed["select_list"])}
    if not names:
        return []
    pooled: dict[str, int] = {}
    # What else a query has, such as the columns of one around it, is not looked at.
    with contextlib.suppress(duckdb.Error):
        pooled = _count_pooled(connection, parsed, of_runs)
    if not pooled:
        return []
    first, *others = [f"{count:,} values of `{name}`" for name, count in pooled.items()]
    rest = [told.replace(" values", "", 1) for told in others]
    several = " and ".join(filter(None, (", ".join([first, *rest[:-1]]), *rest[-1:])))
    noun = "means" if names <= {*MEANS} else "numbers"
    them = "them" if others else "it"
    return [f"These {noun} pool up to {several}; add {them} to GROUP BY to tell them apart"]


def _find_view(parsed: dict[str, Any]) -> tuple[str, str] | None:
    """Return the view of runs that a query reads, the first of several, and its name in the query; else None."""
    if parsed["type"] != "SELECT_NODE" or parsed["cte_map"]["map"]:
        return None
    sources = [*_list_sources(parsed.get("from_table", {}))]
    views = [(source.get("table_name", ""), source.get("alias") or source.get("table_name", "")) for source in sources]
    return next((found for found in views if found[0] in VIEWS or found[0].endswith(OF_TABLES)), None)


def _list_sources(source: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the tables that a part of a query joins, or its only one, but for those of queries within."""
    if source.get("type") == "JOIN":
        yield from _list_sources(source["left"])
        yield from _list_sources(source["right"])
    elif source.get("type") == "BASE_TABLE":
        yield source


def _list_rate_aggregates(node: Any) -> Iterator[str]:
    """Yield the names of the aggregates of rates in a part of a syntax tree, but for those of queries within."""
    if isinstance(node, list):
        for item in node:
            yield from _list_rate_aggregates(item)
    elif isinstance(node, dict) and node.get("class") not in ("SUBQUERY", "WINDOW"):
        name = node.get("function_name")
        if (
            node.get("class") == "FUNCTION"
            and name in (*MEANS, *SPREADS)
            and _names_rate(node.get("arguments") or node["children"])
        ):
            yield str(name)
        yield from _list_rate_aggregates(list(node.values()))


def _names_rate(node: Any) -> bool:
    if isinstance(node, dict):
        if node.get("class") == "COLUMN_REF" and node["column_names"][-1] in RATES:
            return True
        node = list(node.values())
    return isinstance(node, list) and any(map(_names_rate, node))


def _count_pooled(
    connection: duckdb.DuckDBPyConnection, parsed: dict[str, Any], of_runs: tuple[str, str]
) -> dict[str, int]:
    """Return the conditions that vary within a group of a query, with the most values that a group has of each."""
    view, alias = map(quote_name, of_runs)
    columns = connection.sql(f"FROM {view} LIMIT 0").columns
    names = [name for name in CONDITIONS if name in columns]
    counts = ", ".join(DISTINCT.format(f"{alias}.{name}") for name in names)
    counted = parse_query(connection, f"SELECT {counts} FROM {view} AS {alias}") if names else None  # noqa: S608 (declared)
    if counted is None:
        return {}
    node = parsed | {"select_list": [*parsed["select_list"], *counted["select_list"]], "modifiers": []}
    _, rows = fetch_rows(connection, write_parsed(connection, node))
    most = {name: max((row[place - len(names)] for row in rows), default=0) for place, name in enumerate(names)}
    return {name: count for name, count in most.items() if count > 1}
