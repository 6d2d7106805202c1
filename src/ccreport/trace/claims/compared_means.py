"""The two means that a check's quotient or difference is of: what its number alone does not show."""

import re
from typing import Final

import duckdb

from ccreport.core.text import count_things
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.trace.claims.checked_runs import parse_query, write_parsed

# The mean of a list that a macro compares, as a macro takes it, and what the list is of.
MEANS: Final = {
    "quotient_of": ("mean_of(part).value", "run"),
    "difference_of": ("mean_of(part).value", "run"),
    "cv_quotient": ("sum_cvs(part).total / sum_cvs(part).weight", "CV"),
}
BETWEEN: Final = {"difference_of": "less"}
RATE: Final = re.compile(r"\brate\b")
PER_MEGABIT: Final = 1e6
PERCENT: Final = 100
SIGNIFICANT: Final = 4


def describe_parts(connection: duckdb.DuckDBPyConnection, query: str) -> str | None:
    """Return the means of the two lists that the one row of a check's query compares, each with how many it is of.

    None of a query that has several rows, or compares otherwise.
    """
    parsed = parse_query(connection, query)
    selected = parsed["select_list"] if parsed else []
    name = selected[0].get("function_name") if len(selected) == 1 else None
    if parsed is None or name not in MEANS:
        return None
    mean, noun = MEANS[name]
    told = []
    for argument in selected[0]["arguments"][:2]:
        own = write_parsed(connection, parsed | {"select_list": [argument["expression"] | {"alias": "part"}]})
        rows = connection.execute(f"SELECT {mean}, len(part) FROM ({own})").fetchall()  # noqa: S608 (of this module)
        if len(rows) != 1 or rows[0][0] is None:
            return None
        ((value, count),) = rows
        told.append(f"{_show(value, own, noun)} (mean of {count_things(count, noun)})")
    return f" {BETWEEN.get(name, 'over')} ".join(told)


def _show(value: float, query: str, noun: str) -> str:
    """Return a mean with its unit: rates in Mbit/s, CVs in per cent."""
    if noun == "CV":
        return f"{show_plain(PERCENT * value, SIGNIFICANT)} %"
    if RATE.search(query):
        return f"{show_plain(value / PER_MEGABIT, SIGNIFICANT)} Mbit/s"
    return show_plain(value, SIGNIFICANT)
