"""Compare tables: every published cell beside this archive's, and what pairs of algorithms have in common.

Each cell is judged by the interval of this archive's mean over the published one, each pair by the intervals of both
ratios (`ccreport.compare.verdicts`). No cell of this archive is compared with two published ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.compare.expected import Expected, Key, read_expected, read_other
from ccreport.compare.matching import Match, match_sizes
from ccreport.compare.verdicts import (
    UNDECIDED,
    Estimate,
    add_spreads,
    compare_ratios,
    count_runs_needed,
    judge_cell,
    judge_pair,
)
from ccreport.core.csv_files import write_csv
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import conform, load_schema, read_table, write_table
from ccreport.summarise.database import QueryError, connect, label_runs, quote_name
from ccreport.summarise.grids.grid import format_size
from ccreport.summarise.statistics.contrasts import Spread
from ccreport.summarise.statistics.correction import correct_holm

COMPARED: Final = "compared"
MISSING: Final = "missing"
SUSPECT: Final = "suspect"
ADDED: Final = "added"


@dataclass(frozen=True)
class Compared:
    """A row of the table, the spread of the mean to compare with, and the key of this archive's cell."""

    row: dict[str, Any]
    spread: Spread | None = None
    own_key: Key | None = None


@dataclass(frozen=True)
class Cells:
    """This archive's cells of a table: rows of its published table by key, with line rate, BDP, spread of their runs.

    `pairs` are the spreads of the ratio of the first two algorithms, by the key without the algorithm.
    """

    table: str
    rows: Mapping[Key, dict[str, Any]]
    pairs: Mapping[Key, Spread]

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
    within_factor = declared["consistent_within_factor"]
    with connect(database) as connection:
        allowed = {"algorithm": algorithms, "rtt_bucket": _name_buckets(connection, declared["rtt_bucket_edges_ms"])}
        for table, facts in declared["reproduction"].items():
            cells = _read_cells(connection, table, summaries, facts["line_rate"], algorithms)
            expected = read_expected(evaluation.parent / facts["expected"], table, allowed, facts.get("runs_count"))
            rows += mark_pairs(compare_with_paper(expected, cells, facts, within_factor), algorithms, cells)
        for path in sorted(compare_with):
            cells = _read_cells(connection, path.stem, summaries, "NULL", algorithms)
            rows += mark_pairs(
                compare_with_archive(read_other(path, path.stem), cells, within_factor), algorithms, cells
            )
    compared = conform(pl.DataFrame(rows, infer_schema_length=None), "reproduction")
    write_table(compared, "reproduction", parquet)
    write_csv(compared, csv)


def _name_buckets(connection: duckdb.DuckDBPyConnection, edges: list[float]) -> list[str]:
    # The first edge less one is below all of them, and a value at an edge is in the bucket above it.
    values = "SELECT unnest($values)::DOUBLE AS rtt_ms, 'both' AS mode, NULL AS cc_list, NULL AS rtt_source"
    labelled = label_runs(values, {"rtt_bucket_edges_ms": edges, "labels": {}})
    found = connection.execute(f"SELECT rtt_bucket FROM ({labelled})", {"values": [min(edges) - 1, *edges]})  # noqa: S608
    return [name for (name,) in found.fetchall()]


def _read_cells(
    connection: duckdb.DuckDBPyConnection, table: str, summaries: Path, line_rate: str, algorithms: list[str]
) -> Cells:
    """Return the cells of a published table; the line rate of a cell is known where it is the same for all its runs."""
    key = load_schema(table).key
    names, paired = (", ".join(map(quote_name, columns)) for columns in (key, key[:-1]))
    # The line rate is the evaluation author's own SQL; names and texts of the archive never enter a query.
    runs = f"""(
        SELECT *, ({line_rate})::DOUBLE AS line_rate,
            {{'run': {{'condition': condition_id, 'id': run_id}}, 'x': rate_bps, 'y': 1.0::DOUBLE}} AS rate
        FROM {quote_name(f"{table}_runs")}
    )"""  # noqa: S608
    cells = f"""
        SELECT {names}, CASE WHEN min(line_rate) = max(line_rate) THEN min(line_rate) END AS line_rate_bps,
            avg(line_rate * rtt_ms / 8e3 ORDER BY run_id) AS bdp_bytes,
            log_spread(parts_of(known_runs(list(rate)), [])) AS spread
        FROM {runs} GROUP BY {names}
    """  # noqa: S608
    pairs = f"""
        SELECT {paired}, quotient_spread(
            known_runs(list(rate) FILTER (algorithm = $first)), known_runs(list(rate) FILTER (algorithm = $second))
        ) AS spread
        FROM {runs} GROUP BY {paired}
    """  # noqa: S608
    first, second = (*algorithms, None)[:2]
    try:
        found = connection.sql(cells).pl()
        of_pairs = connection.execute(pairs, {"first": first, "second": second}).fetchall()
    except duckdb.Error as error:
        raise QueryError(f"reproduction of {table}: {error}") from error
    published = read_table(table, [summaries / f"{table}.parquet"]).join(found, on=key, how="left", nulls_equal=True)
    rows = {tuple(row[name] for name in key): row for row in published.iter_rows(named=True)}
    spreads = {tuple(values): Spread(**spread) for *values, spread in of_pairs if spread is not None}
    return Cells(table, rows, spreads)


def compare_with_paper(
    expected: list[Expected], cells: Cells, facts: Mapping[str, Any], within_factor: float
) -> list[Compared]:
    """Return a row for each published cell; `facts` is what the evaluation declares of the table's reproduction."""
    scaled = facts.get("as_bdp_fraction")
    if scaled:
        place = cells.key.index(scaled["column"])
        matches = match_sizes([cell.key for cell in expected], cells.rows, place, **scaled)
    else:
        matches = {cell.key: Match(cell.key, {}) for cell in expected}
    rates = {"expected_basis": facts["rate_basis"], "expected_line_rate_bps": facts["line_rate_bps"]}
    return [
        _put_side_by_side(
            _name_cell("paper", number, cell.key, cells) | matches[cell.key].facts | rates,
            cell,
            cells,
            matches[cell.key].key,
            within_factor,
        )
        for number, cell in enumerate(expected, 1)
    ]


def compare_with_archive(others: list[Expected], cells: Cells, within_factor: float) -> list[Compared]:
    """Return a row for each cell of another archive's table, then one for each that only this archive has."""
    rows = [
        _put_side_by_side(_name_cell("archive", number, cell.key, cells), cell, cells, cell.key, within_factor)
        for number, cell in enumerate(others, 1)
    ]
    added = [key for key in cells.rows if key not in {cell.key for cell in others}]
    for number, key in enumerate(added, len(rows) + 1):
        row = _name_cell("archive", number, key, cells) | _show_found(cells.rows[key]) | {"cell_state": ADDED}
        rows.append(Compared(row))
    return rows


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


def _put_side_by_side(
    named: dict[str, Any], cell: Expected, cells: Cells, own_key: Key | None, within_factor: float
) -> Compared:
    found = None if own_key is None else cells.rows.get(own_key)
    state = SUSPECT if cell.is_suspect else COMPARED if found else MISSING
    line_rate_there = named.get("expected_line_rate_bps")
    row = named | {
        "cell_state": state,
        "expected_bps": cell.rate_bps,
        "expected_cv": cell.cv,
        "expected_runs_count": cell.runs_count,
        "expected_low_bps": cell.low_bps,
        "expected_high_bps": cell.high_bps,
        "expected_share_ratio": cell.rate_bps / line_rate_there if line_rate_there else None,
    }
    if found is None:
        return Compared(row)
    row |= _show_found(found)
    line_rate = found.get("line_rate_bps")
    # ASSUME: an archive that does not tell its line rate has the published one, so that rates compare as they are.
    scale = line_rate / line_rate_there if line_rate and line_rate_there else 1.0
    expected = cell.rate_bps * scale
    if not expected or not found["rate_mean_bps"]:
        return Compared(row | {"value_ratio": found["rate_mean_bps"] / expected if expected else None})
    own = Spread(**found["spread"]) if found["spread"] else None
    theirs = cell.find_spread(own, found["runs_count"])
    ratio = Estimate(found["rate_mean_bps"] / expected, add_spreads(theirs, own) if theirs and own else None)
    verdict = judge_cell(ratio, within_factor)
    row |= {"value_ratio": ratio.value, "cell_verdict": verdict}
    if ratio.interval:
        row |= dict(zip(("value_low_ratio", "value_high_ratio"), ratio.interval, strict=True))
    if verdict == UNDECIDED and theirs and own:
        row["needed_runs_count"] = count_runs_needed(theirs, own, found["runs_count"], within_factor)
    return Compared(row, theirs, own_key)


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


@dataclass(frozen=True)
class Pair:
    """What the rows of a pair say of it, and, where a verdict is asked, the ratio of its algorithms there and here."""

    marks: dict[str, Any]
    ratios: tuple[Estimate, Estimate] | None = None


def mark_pairs(compared: list[Compared], algorithms: list[str], cells: Cells) -> list[dict[str, Any]]:
    """Return the rows, each pair of the first two algorithms with its ratios and the verdict on them."""
    by_pair: dict[str, dict[str, Compared]] = {}
    for entry in compared:
        by_pair.setdefault(entry.row["cell"], {})[entry.row["algorithm"]] = entry
    pairs = {
        name: _compare_pair(cells, *map(own.get, algorithms[:2]))
        for name, own in by_pair.items()
        if len(algorithms) > 1
    }
    corrected = correct_holm([pair.ratios[1].p_ratio if pair.ratios else None for pair in pairs.values()])
    marks = {name: _judge_pair(pair, p_holm) for (name, pair), p_holm in zip(pairs.items(), corrected, strict=True)}
    return [
        entry.row | (marks.get(entry.row["cell"], {}) if entry.row["algorithm"] in algorithms[:2] else {})
        for entry in compared
    ]


def _compare_pair(cells: Cells, first: Compared | None, second: Compared | None) -> Pair:
    if first is None or second is None:
        return Pair({})
    marks: dict[str, Any] = {
        "pair_expected_ratio": _divide(first.row.get("expected_bps"), second.row.get("expected_bps")),
        "pair_ratio": _divide(first.row.get("rate_mean_bps"), second.row.get("rate_mean_bps")),
    }
    expected, found = marks.values()
    if not (expected and found):
        return Pair(marks)
    spread = add_spreads(first.spread, second.spread) if first.spread and second.spread else None
    theirs = Estimate(expected, spread)
    own = Estimate(found, cells.pairs.get(first.own_key[:-1]) if first.own_key else None)
    for name, estimate in (
        ("pair_expected", theirs),
        ("pair", own),
        ("pair_factor", compare_ratios(theirs, own)),
    ):
        if estimate.interval:
            low, high = estimate.interval
            marks |= {f"{name}_low_ratio": low, f"{name}_high_ratio": high}
    marks["pair_factor_ratio"] = found / expected
    # A pair published as suspect is shown without a verdict, so Holm does not correct for it.
    is_suspect = SUSPECT in (first.row.get("cell_state"), second.row.get("cell_state"))
    return Pair(marks, None if is_suspect else (theirs, own))


def _judge_pair(pair: Pair, p_holm: float | None) -> dict[str, Any]:
    if pair.ratios is None:
        return pair.marks
    return pair.marks | {"pair_p_holm_ratio": p_holm, "pair_verdict": judge_pair(*pair.ratios, p_holm)}


def _divide(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None
