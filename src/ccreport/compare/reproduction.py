"""Compare tables: every published cell beside this archive's, and what pairs of algorithms have in common.

A pair is reproduced when the same algorithm is ahead and the ratio of the two rates is within a factor of 2 of the
published one. It has the same value when each rate's interval holds the published one.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.database import QueryError, connect, label_runs, quote_name
from ccreport.evaluation import load_evaluation
from ccreport.format_csv import write_csv
from ccreport.format_table import format_size
from ccreport.reproduction.expected import Expected, Key, read_expected, read_other
from ccreport.tables import conform, load_schema, read_table, write_table

# "Reproduced" allows this factor between two ratios of rates.
PAIR_FACTOR: Final = 2.0
COMPARED: Final = "compared"
MISSING: Final = "missing"
SUSPECT: Final = "suspect"
ADDED: Final = "added"


@dataclass(frozen=True)
class Cells:
    """This archive's cells of one table: rows of its published table by key, with line rate and BDP of their runs."""

    table: str
    rows: Mapping[Key, dict[str, Any]]

    @property
    def key(self) -> tuple[str, ...]:
        """Return the names of the key columns, the algorithm the last of them."""
        return load_schema(self.table).key


def compare_tables(
    evaluation: Path, database: Path, summaries: Path, compare_with: list[Path], parquet: Path, csv: Path
) -> None:
    """Write the table `reproduction`, one row for each cell to compare with.

    `summaries` is the folder of the published tables; `compare_with` are tables of another build, `<table>.parquet`.
    Raise InputError for a file of published values that cannot be used, QueryError where an expression is no SQL.
    """
    declared = load_evaluation(evaluation)
    algorithms = list(declared["algorithms"])
    rows = []
    with connect(database) as connection:
        allowed = {"algorithm": algorithms, "rtt_bucket": _name_buckets(connection, declared["rtt_bucket_edges_ms"])}
        for table, facts in declared["reproduction"].items():
            cells = _read_cells(connection, table, summaries, facts["line_rate"])
            expected = read_expected(evaluation.parent / facts["expected"], table, allowed)
            rows += mark_pairs(compare_with_paper(expected, cells, facts), algorithms)
    for path in sorted(compare_with):
        cells = _index_cells(path.stem, read_table(path.stem, [summaries / path.name]))
        rows += mark_pairs(compare_with_archive(read_other(path, path.stem), cells), algorithms)
    compared = conform(pl.DataFrame(rows, infer_schema_length=None), "reproduction")
    write_table(compared, "reproduction", parquet)
    write_csv(compared, csv)


def _name_buckets(connection: duckdb.DuckDBPyConnection, edges: list[float]) -> list[str]:
    # The first edge less one is below all of them, and a value at an edge is in the bucket above it.
    values = "SELECT unnest($values)::DOUBLE AS rtt_ms, 'both' AS mode"
    labelled = label_runs(values, {"rtt_bucket_edges_ms": edges, "labels": {}})
    found = connection.execute(f"SELECT rtt_bucket FROM ({labelled})", {"values": [min(edges) - 1, *edges]})  # noqa: S608
    return [name for (name,) in found.fetchall()]


def _read_cells(connection: duckdb.DuckDBPyConnection, table: str, summaries: Path, line_rate: str) -> Cells:
    """Return the cells of a published table; the line rate of a cell is known where it is the same for all its runs."""
    key = ", ".join(map(quote_name, load_schema(table).key))
    # The line rate is the evaluation author's own SQL; names and texts of the archive never enter a query.
    query = f"""
        SELECT {key}, CASE WHEN min(line_rate) = max(line_rate) THEN min(line_rate) END AS line_rate_bps,
            avg(line_rate * rtt_ms / 8e3 ORDER BY run_id) AS bdp_bytes
        FROM (SELECT *, ({line_rate})::DOUBLE AS line_rate FROM {quote_name(f"{table}_runs")})
        GROUP BY {key}
    """  # noqa: S608
    try:
        paths = connection.sql(query).pl()
    except duckdb.Error as error:
        raise QueryError(f"reproduction of {table}: {error}") from error
    published = read_table(table, [summaries / f"{table}.parquet"])
    return _index_cells(table, published.join(paths, on=load_schema(table).key, how="left", nulls_equal=True))


def _index_cells(table: str, frame: pl.DataFrame) -> Cells:
    key = load_schema(table).key
    return Cells(table, {tuple(row[name] for name in key): row for row in frame.iter_rows(named=True)})


def compare_with_paper(expected: Iterable[Expected], cells: Cells, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each published cell; `facts` is what the evaluation declares of the table's reproduction."""
    scaled = facts.get("as_bdp_fraction")
    rows = []
    for number, cell in enumerate(expected, 1):
        found, matched = (
            match_size(cell.key, cells, **scaled) if scaled else (cells.rows.get(cell.key), dict[str, Any]())
        )
        named = _name_cell("paper", number, cell.key, cells) | matched
        rows.append(
            named
            | _put_side_by_side(cell, found, facts["line_rate_bps"])
            | {"expected_basis": facts["rate_basis"], "expected_line_rate_bps": facts["line_rate_bps"]}
        )
    return rows


def compare_with_archive(others: list[Expected], cells: Cells) -> list[dict[str, Any]]:
    """Return a row for each cell of another archive's table, then one for each that only this archive has."""
    rows = [
        _name_cell("archive", number, cell.key, cells) | _put_side_by_side(cell, cells.rows.get(cell.key), None)
        for number, cell in enumerate(others, 1)
    ]
    added = [key for key in cells.rows if key not in {cell.key for cell in others}]
    for number, key in enumerate(added, len(rows) + 1):
        rows.append(_name_cell("archive", number, key, cells) | _show_found(cells.rows[key]) | {"cell_state": ADDED})
    return rows


def match_size(
    key: Key, cells: Cells, *, column: str, bdp_bytes: float, within_factor: float
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the cell whose size is nearest as a fraction of the bandwidth-delay product, and both fractions.

    Nearest is the smallest factor between the fractions; there is no such cell beyond `within_factor`.
    """
    place = cells.key.index(column)
    wanted = key[place] / bdp_bytes
    candidates = []
    for own, row in cells.rows.items():
        if (*own[:place], *own[place + 1 :]) == (*key[:place], *key[place + 1 :]) and row["bdp_bytes"] and own[place]:
            fraction = own[place] / row["bdp_bytes"]
            candidates.append((max(fraction / wanted, wanted / fraction), own[place], fraction))
    factor, size, fraction = min(candidates, default=(math.inf, None, None))
    if factor > within_factor:
        return None, {"expected_bdp_ratio": wanted}
    found = cells.rows[(*key[:place], size, *key[place + 1 :])]
    return found, {"expected_bdp_ratio": wanted, "matched_bdp_ratio": fraction, f"matched_{column}": size}


def _name_cell(comparison: str, number: int, key: Key, cells: Cells) -> dict[str, Any]:
    named = dict(zip(cells.key, key, strict=True))
    parts = [_describe(name, value) for name, value in named.items() if name != "algorithm"]
    names = {"comparison": comparison, "table_name": cells.table, "cell_number": number, "cell": ", ".join(parts)}
    return names | named


def _describe(name: str, value: Any) -> str:
    if value is None:
        return f"{name} unknown"
    if name == "flows_count":
        return f"{value} flow{'' if value == 1 else 's'}"
    if name.endswith("_bytes"):
        return format_size(value)
    return {"sharing": f"{value}", "sender_speed": f"{value} sender"}.get(name, str(value))


def _put_side_by_side(cell: Expected, found: dict[str, Any] | None, expected_line_rate: float | None) -> dict[str, Any]:
    state = SUSPECT if cell.is_suspect else COMPARED if found else MISSING
    row = {
        "cell_state": state,
        "expected_bps": cell.rate_bps,
        "expected_cv": cell.cv,
        "expected_low_bps": cell.low_bps,
        "expected_high_bps": cell.high_bps,
        "expected_share_ratio": cell.rate_bps / expected_line_rate if expected_line_rate else None,
    }
    if found is None:
        return row
    row |= _show_found(found)
    line_rate = found.get("line_rate_bps")
    # ASSUME: an archive that does not tell its line rate has the published one, so that rates compare as they are.
    scale = line_rate / expected_line_rate if line_rate and expected_line_rate else 1.0
    expected = cell.rate_bps * scale
    row["value_ratio"] = found["rate_mean_bps"] / expected if expected else None
    low, high = found["rate_low_bps"], found["rate_high_bps"]
    if low is not None and high is not None and (expected_line_rate or cell.low_bps is not None):
        above = expected if cell.low_bps is None else cell.low_bps
        below = expected if cell.high_bps is None else cell.high_bps
        row["is_inside"] = above <= high and low <= below
    return row


def _show_found(found: Mapping[str, Any]) -> dict[str, Any]:
    names = ("rate_basis", "runs_count", "rate_mean_bps", "rate_cv", "rate_low_bps", "rate_high_bps")
    line_rate = found.get("line_rate_bps")
    shares = {"mean": "share_ratio", "low": "share_low_ratio", "high": "share_high_ratio"}
    return (
        {name: found[name] for name in names}
        | {"line_rate_bps": line_rate}
        | {
            share: found[f"rate_{name}_bps"] / line_rate
            for name, share in shares.items()
            if line_rate and found[f"rate_{name}_bps"] is not None
        }
    )


def mark_pairs(rows: list[dict[str, Any]], algorithms: list[str]) -> list[dict[str, Any]]:
    """Return the rows, each pair of the first two algorithms marked as reproduced or not, and as the same or not."""
    by_pair: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_pair.setdefault((row["table_name"], row["cell"]), {})[row["algorithm"]] = row
    marks = {pair: _compare_pair(*map(own.get, algorithms[:2])) for pair, own in by_pair.items() if len(algorithms) > 1}
    return [
        row | (marks.get((row["table_name"], row["cell"]), {}) if row["algorithm"] in algorithms[:2] else {})
        for row in rows
    ]


def _compare_pair(first: dict[str, Any] | None, second: dict[str, Any] | None) -> dict[str, Any]:
    if first is None or second is None:
        return {}
    marks = {
        "pair_expected_ratio": _divide(first.get("expected_bps"), second.get("expected_bps")),
        "pair_ratio": _divide(first.get("rate_mean_bps"), second.get("rate_mean_bps")),
    }
    expected, found = marks.values()
    if not (expected and found):
        return marks
    factor = max(found / expected, expected / found)
    is_same_ahead = (found > 1) == (expected > 1) and (found < 1) == (expected < 1)
    inside = (first.get("is_inside"), second.get("is_inside"))
    return marks | {
        "pair_factor_ratio": factor,
        "is_reproduced": is_same_ahead and factor <= PAIR_FACTOR,
        "is_same_value": None if None in inside else all(inside),
    }


def _divide(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None
