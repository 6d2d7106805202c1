"""Numbers that a publication prints in its tables or text: the views that the table `published_values` reads.

The evaluation declares each exhibit with the columns that tell its cells apart, its cells, and a query with one row for
each run of this archive, whose x over y is the run's value.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

PUBLISHED_VALUES: Final = "published_values"
CELL_TYPE: Final = (
    "STRUCT(exhibit VARCHAR, cell VARCHAR, cell_number INTEGER, unit VARCHAR, published_value DOUBLE, "
    "published_step DOUBLE, published_runs_count INTEGER, within_factor DOUBLE)"
)
NOTHING: Final = (
    "SELECT NULL::VARCHAR AS exhibit, NULL::VARCHAR AS cell, run_id, condition_id, 0::DOUBLE AS x, 0::DOUBLE AS y"
    " FROM runs WHERE FALSE"
)


def select_cells(published: Mapping[str, Any], within_factor: float) -> str:
    """Return the query of `published_cells`, one row for each published number."""
    rows = [
        {
            "exhibit": facts["title"],
            "cell": cell,
            "unit": facts["unit"],
            "published_value": value,
            "published_step": facts["step"],
            "published_runs_count": facts["runs_count"],
            "within_factor": within_factor,
        }
        for facts in published.values()
        for cell, _, value in _list_cells(facts)
    ]
    numbered = ", ".join(_write_struct(row | {"cell_number": number}) for number, row in enumerate(rows, 1))
    return f"SELECT unnest([{numbered}]::{CELL_TYPE}[], recursive := true)"


def select_published_runs(published: Mapping[str, Any]) -> str:
    """Return the query of `published_values_runs`: exhibit, cell, run_id, condition_id, x and y of runs."""
    # Queries are the evaluation author's own SQL.
    parts = [
        f"""
        SELECT {_write(facts["title"])} AS exhibit, cell, run_id, condition_id, x::DOUBLE AS x, y::DOUBLE AS y
        FROM ({facts["sql"]})
        JOIN (SELECT unnest([{", ".join(_write_struct({**key, "cell": cell}) for cell, key, _ in _list_cells(facts))}],
            recursive := true)) USING ({", ".join(facts["columns"])})
        """
        for facts in published.values()
    ]
    return " UNION ALL ".join([NOTHING, *parts])


def _list_cells(facts: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Yield each cell of an exhibit in words, with the values of its columns and the published number."""
    for *key, value in facts["cells"]:
        words = (wording.format(part) for wording, part in zip(facts["columns"].values(), key, strict=True))
        yield ", ".join(words), dict(zip(facts["columns"], key, strict=True)), value


def _write_struct(values: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"'{name}': {_write(value)}" for name, value in values.items()) + "}"


def _write(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
