"""Compare tables: every published cell beside this archive's, and what pairs of algorithms have in common.

Each cell is judged by the interval of this archive's mean over the published one, each pair by the intervals of both
ratios (`ccreport.compare.verdicts`). No cell of this archive is compared with two published ones.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.compare.expected import Expected, Key, read_other, read_published
from ccreport.compare.matching import DIMENSIONLESS, NAME, match_by_name, match_by_scale, read_scale
from ccreport.compare.pairs import SUSPECT, Cells, Compared, choose_pair, mark_pairs
from ccreport.compare.verdicts import UNDECIDED, Estimate, add_spreads, count_runs_needed, judge_cell
from ccreport.core.csv_files import write_csv
from ccreport.core.declared_files import show_path
from ccreport.core.evaluation import load_evaluation
from ccreport.core.schema_problems import guess_near
from ccreport.core.tables import conform, load_schema, read_table, write_table
from ccreport.summarise.database import QueryError, connect, quote_name
from ccreport.summarise.grids.grid import format_size
from ccreport.summarise.questions import list_conditions, name_question
from ccreport.summarise.statistics.contrasts import Spread

DIGIT: Final = re.compile(r"\d")
COMPARED: Final = "compared"
MISSING: Final = "missing"
ADDED: Final = "added"
# What a row says of the other way to match its cell.
OTHER_VERDICTS: Final = ("cell_verdict", "pair_verdict")


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
        for table, expected in read_published(evaluation).items():
            facts = declared["reproduction"][table]
            cells = _read_cells(connection, table, summaries, facts["line_rate"], declared, algorithms)
            _warn_of_doubtful(evaluation.parent / facts["expected"], expected, cells)
            rows += _match_both_ways(expected, cells, facts, within_factor, algorithms)
        others = {path.stem: read_other(path, path.stem) for path in sorted(compare_with)}
        there = {cell.key[-1] for cells in others.values() for cell in cells}
        here = {name for table in others for name in read_table(table, [summaries / f"{table}.parquet"])["algorithm"]}
        pair = choose_pair(algorithms, here, there)
        for table, expected in others.items():
            cells = _read_cells(connection, table, summaries, "NULL", declared, pair)
            names = _name_cells(connection, table, declared, [*(cell.key for cell in expected), *cells.rows])
            rows += mark_pairs(compare_with_archive(expected, cells, names, within_factor), pair, cells)
    if others and not any(row["comparison"] == "archive" and row["cell_state"] == COMPARED for row in rows):
        print("warning: compare_with: its tables and this build's have no cell in common; build both by one evaluation")
    compared = conform(pl.DataFrame(rows, infer_schema_length=None), "reproduction")
    write_table(compared, "reproduction", parquet)
    write_csv(compared, csv)


def _warn_of_doubtful(path: Path, expected: list[Expected], cells: Cells) -> None:
    """Print a warning for a file of published values without rows, for misspelt names, and for CVs in per cent."""
    shown = show_path(path)
    if (largest := max((cell.cv or 0 for cell in expected), default=0)) > 1:
        print(f"warning: {shown}: a cv is {largest:g}, which few rates have; it is a ratio: 0.03 is 3 %")
    if not expected:
        print(f"warning: {shown} has no rows: nothing published is compared with {cells.table}")
    for place, column in enumerate(cells.key):
        known = {row[column] for row in cells.rows.values() if isinstance(row[column], str)}
        # 0.1 % loss is not a misspelt 1 % loss.
        words = [value for value in dict.fromkeys(cell.key[place] for cell in expected) if not DIGIT.search(str(value))]
        for value in words:
            if value not in known and (meant := guess_near(value, known)):
                print(f"warning: {shown}: no cell here has {column} = '{value}'{meant}")


def _read_cells(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    summaries: Path,
    line_rate: str,
    declared: Mapping[str, Any],
    algorithms: Sequence[str],
) -> Cells:
    """Return the cells of a published table; the line rate of a cell is known where it is the same for all its runs.

    The first two of the `algorithms` are a pair.
    """
    key = load_schema(table).key
    names, paired = (", ".join(map(quote_name, columns)) for columns in (key, key[:-1]))
    # The line rate is the evaluation author's own SQL; names and texts of the archive never enter a query.
    runs = f"""(
        SELECT *, (
{line_rate}
        )::DOUBLE AS line_rate,
            {{'run': {{'condition': condition_id, 'id': run_id}}, 'x': rate_bps, 'y': 1.0::DOUBLE}} AS rate
        FROM {quote_name(f"{table}_runs")}
    )"""  # noqa: S608
    cells = f"""
        SELECT {names}, CASE WHEN min(line_rate) = max(line_rate) THEN min(line_rate) END AS line_rate_bps,
            avg(line_rate * rtt_ms / 8e3 ORDER BY run_id) AS bdp_bytes,
            avg(loss_pct / 100 * (line_rate * rtt_ms / 8e3 / mss_bytes) ** 2 ORDER BY run_id) AS loss_window_ratio,
            log_spread(parts_of(known_runs(list(rate)), [])) AS spread
        FROM {runs} GROUP BY {names}
    """  # noqa: S608
    pairs = f"""
        SELECT {paired}, quotient_spread(
            known_runs(list(rate) FILTER (algorithm = $first)), known_runs(list(rate) FILTER (algorithm = $second))
        ) AS spread
        FROM {runs} GROUP BY {paired}
    """  # noqa: S608
    first, second = (*algorithms, None, None)[:2]
    try:
        found = connection.sql(cells).pl()
        of_pairs = connection.execute(pairs, {"first": first, "second": second}).fetchall()
    except duckdb.Error as error:
        raise QueryError(f"reproduction of {table}: {error}") from error
    published = read_table(table, [summaries / f"{table}.parquet"]).join(found, on=key, how="left", nulls_equal=True)
    rows = {tuple(row[name] for name in key): row for row in published.iter_rows(named=True)}
    spreads = {tuple(values): Spread(**spread) for *values, spread in of_pairs if spread is not None}
    return Cells(table, rows, spreads, 1 + declared["equal_within_pct"] / 100)


def _match_both_ways(
    expected: list[Expected], cells: Cells, facts: Mapping[str, Any], within_factor: float, algorithms: list[str]
) -> list[dict[str, Any]]:
    """Return the rows of a table's cells; with a scale each has the verdicts of the other way to match, too."""
    ways = {
        way: mark_pairs(compare_with_paper(expected, cells, {**facts, "match": way}, within_factor), algorithms, cells)
        for way in ((NAME, DIMENSIONLESS) if "scale" in facts else (facts["match"],))
    }
    chosen = ways.pop(facts["match"])
    nothing: list[dict[str, Any]] = [{} for _ in chosen]
    others = next(iter(ways.values()), nothing)
    return [
        row | {"match": facts["match"], **{f"other_{name}": other.get(name) for name in OTHER_VERDICTS}}
        for row, other in zip(chosen, others, strict=True)
    ]


def compare_with_paper(
    expected: list[Expected], cells: Cells, facts: Mapping[str, Any], within_factor: float
) -> list[Compared]:
    """Return a row for each published cell; `facts` is what the evaluation declares of the table's reproduction."""
    scale = read_scale(facts["scale"], facts["line_rate_bps"], cells.key) if "scale" in facts else None
    keys = [cell.key for cell in expected]
    if scale and facts["match"] == DIMENSIONLESS:
        matches = match_by_scale(keys, cells.rows, scale)
    else:
        matches = match_by_name(keys, cells.rows, scale)
    rates = {"expected_basis": facts["rate_basis"], "expected_line_rate_bps": facts["line_rate_bps"]}
    return [
        _put_side_by_side(
            _name_cell("paper", number, cell.key, cells, _join_key(cells.table, cell.key))
            | matches[cell.key].facts
            | rates,
            cell,
            cells,
            matches[cell.key].key,
            within_factor,
        )
        for number, cell in enumerate(expected, 1)
    ]


def compare_with_archive(
    others: list[Expected], cells: Cells, names: Mapping[Key, str], within_factor: float
) -> list[Compared]:
    """Return a row for each cell of another archive's table, then one for each that only this archive has.

    `names` are those of the cells of both.
    """
    rows = [
        _put_side_by_side(
            _name_cell("archive", number, cell.key, cells, names[cell.key]), cell, cells, cell.key, within_factor
        )
        for number, cell in enumerate(others, 1)
    ]
    added = [key for key in cells.rows if key not in {cell.key for cell in others}]
    for number, key in enumerate(added, len(rows) + 1):
        row = (
            _name_cell("archive", number, key, cells, names[key]) | _show_found(cells.rows[key]) | {"cell_state": ADDED}
        )
        rows.append(Compared(row))
    return rows


def _name_cells(
    connection: duckdb.DuckDBPyConnection, table: str, declared: Mapping[str, Any], keys: Sequence[Key]
) -> dict[Key, str]:
    """Return the names of cells by their keys: of a table that asks questions, in the words of these."""
    schema = load_schema(table)
    own = {column.name for column in load_schema("reproduction").columns}
    if own.issuperset(schema.key) or not keys:
        return {key: _join_key(table, key) for key in keys}
    frame = pl.DataFrame(keys, schema={name: schema.polars[name] for name in schema.key}, orient="row")
    # What the other build tells apart, and this one does not, tells its cells apart.
    told = {*list_conditions(table, declared["tables"].get(table, {}))}
    conditions = [name for name in schema.key[:-1] if name in told or frame[name].count()]
    connection.register("keys_of_cells", frame.to_arrow())
    try:
        names = connection.sql(f"SELECT {name_question(table, conditions)} FROM keys_of_cells").fetchall()  # noqa: S608
    finally:
        connection.unregister("keys_of_cells")
    return {key: name for key, (name,) in zip(keys, names, strict=True)}


def _name_cell(comparison: str, number: int, key: Key, cells: Cells, name: str) -> dict[str, Any]:
    own = {column.name for column in load_schema("reproduction").columns}
    names = {"comparison": comparison, "table_name": cells.table, "cell_number": number, "cell": name}
    return names | {column: value for column, value in zip(cells.key, key, strict=True) if column in own}


def name_published(published: Mapping[str, Sequence[Expected]]) -> pl.DataFrame:
    """Return the `table_name` and the name (`cell`) of each published cell, as the table of reproduction has them."""
    names = [(table, _join_key(table, cell.key)) for table, cells in published.items() for cell in cells]
    return pl.DataFrame(names, schema={"table_name": pl.String, "cell": pl.String}, orient="row").unique()


def _join_key(table: str, key: Key) -> str:
    """Return the name of a cell by its key without the algorithm."""
    return ", ".join(_describe(name, value) for name, value in zip(load_schema(table).key[:-1], key[:-1], strict=True))


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
