"""Numbers that a publication prints in its tables or text: the views that the table `published_values` reads.

The evaluation declares each exhibit with the columns that tell its cells apart, its cells, and a query with one row for
each run of this archive, whose x over y is the run's value.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import duckdb

from ccreport.core.declared_files import DeclarationError
from ccreport.core.schema_problems import Place, format_place
from ccreport.summarise.refused_sql import FULLEST, TABLE, find_refused

PUBLISHED_VALUES: Final = "published_values"
CELL_TYPE: Final = (
    "STRUCT(exhibit VARCHAR, cell VARCHAR, cell_number INTEGER, unit VARCHAR, printed VARCHAR, published_value DOUBLE, "
    "published_low DOUBLE, published_high DOUBLE, published_runs_count INTEGER, within_factor DOUBLE)"
)
NOTHING: Final = (
    "SELECT NULL::VARCHAR AS exhibit, NULL::VARCHAR AS cell, run_id, condition_id, 0::DOUBLE AS x, 0::DOUBLE AS y,"
    " NULL::BOOLEAN AS is_divisor FROM runs WHERE FALSE"
)
# The view that checks of claims are queries of is made when they are judged.
OF_CLAIMS: Final = "measured"
# What a publication prints: a number, or a range whose ends may be missing.
Published = float | list[float | None]


def select_cells(published: Mapping[str, Any], within_factor: float) -> str:
    """Return the query of `published_cells`, one row for each published number."""
    rows = [
        {
            "exhibit": facts["title"],
            "cell": cell,
            "unit": facts["unit"],
            **_read_number(value, facts["step"], facts["unit"]),
            "published_runs_count": facts["runs_count"],
            "within_factor": within_factor,
        }
        for facts in published.values()
        for cell, _, value in list_cells(facts)
    ]
    numbered = ", ".join(_write_struct(row | {"cell_number": number}) for number, row in enumerate(rows, 1))
    return f"SELECT unnest([{numbered}]::{CELL_TYPE}[], recursive := true)"


def select_published_runs(published: Mapping[str, Any]) -> str:
    """Return the query of `published_values_runs`: exhibit, cell, run_id, condition_id, x, y and is_divisor of runs.

    The last is null where the value of a cell is not a quotient of two groups of runs.
    """
    # Queries are the evaluation author's own SQL.
    parts = [
        f"""
        SELECT {write_literal(facts["title"])} AS exhibit, cell, run_id, condition_id, x::DOUBLE AS x, y::DOUBLE AS y,
            {"is_divisor" if facts["is_quotient"] else "NULL::BOOLEAN"} AS is_divisor
        FROM (
{facts["sql"]}
        )
        JOIN (SELECT unnest([{", ".join(_write_struct({**key, "cell": cell}) for cell, key, _ in list_cells(facts))}],
            recursive := true)) USING ({", ".join(facts["columns"])})
        """
        for facts in published.values()
    ]
    return " UNION ALL ".join([NOTHING, *parts])


def find_published_fault(
    connection: duckdb.DuckDBPyConnection, published: Mapping[str, Any]
) -> DeclarationError | None:
    """Return the fault of the first exhibit whose query is refused or lacks a column."""
    for exhibit, facts in published.items():
        place: Place = ("published", exhibit, "sql")
        if refused := find_refused(connection, [(place, f"FROM (\n{facts['sql']}\n)")]):
            said = f"{refused}{_name_readable(str(refused))}"
            return DeclarationError(said, place, refused.tokens)
        columns = [name for name, *_ in connection.execute("DESCRIBE tried").fetchall()]
        wanted = ["run_id", "condition_id", *facts["columns"], "x", "y", *(["is_divisor"] * facts["is_quotient"])]
        if missing := [name for name in wanted if name not in columns]:
            said = f"its columns are {', '.join(columns)}; add {', '.join(missing)}"
            return DeclarationError(f"{format_place(place)}: {said}", place)
    return None


def _name_readable(said: str) -> str:
    """Return which tables the query of an exhibit can read, where DuckDB says that it names one that is not there."""
    if not (lacking := TABLE.search(said)):
        return ""
    fullest = ", ".join(f"`{name}`" for name in FULLEST if name != OF_CLAIMS)
    of_claims = "; only checks of claims can read it" if lacking[1] == OF_CLAIMS else ""
    return f"{of_claims}; here there are {fullest} and others, which the page Data dictionary lists"


def list_cells(facts: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], Published]]:
    """Yield each cell of an exhibit in words, with the values of its columns and what the publication prints."""
    for *key, value in facts["cells"]:
        yield word_cell(facts["columns"], key), dict(zip(facts["columns"], key, strict=True)), value


def word_cell(columns: Mapping[str, str], key: Iterable[Any]) -> str:
    """Return a cell of an exhibit in words: of each value those that its column has for it."""
    return ", ".join(wording.format(part) for wording, part in zip(columns.values(), key, strict=True))


def _read_number(value: Published, step: float, unit: str) -> dict[str, Any]:
    """Return how a published number is shown, its value, and the ends of all that it stands for; null where open."""
    low, high = value if isinstance(value, list) else (value, value)
    return {
        "printed": f"{_word_range(low, high) if isinstance(value, list) else _write_number(value, step)} {unit}",
        "published_value": None if isinstance(value, list) else value,
        "published_low": None if low is None else low - step / 2,
        "published_high": None if high is None else high + step / 2,
    }


def _write_number(value: float, step: float) -> str:
    """Return a number with as many decimals as its table prints."""
    return f"{value:,.{max(0, -math.floor(math.log10(step)))}f}"


def _word_range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most {high:,g}"
    return f"at least {low:,g}" if high is None else f"{low:,g} to {high:,g}"


def _write_struct(values: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"'{name}': {write_literal(value)}" for name, value in values.items()) + "}"


def write_literal(value: Any) -> str:
    """Return a text, a number or null as SQL."""
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
