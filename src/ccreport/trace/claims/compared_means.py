"""What a check's number alone does not show: the two means that it compares, and the CVs that such a mean is of."""

import re
from typing import Final

import duckdb

from ccreport.core.text import count_things
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.trace.claims.checked_runs import parse_query, write_parsed
from ccreport.trace.claims.deciding_rows import STAR
from ccreport.trace.shown_runs import show_rows

# The mean of a list that a macro compares, as a macro takes it, and what the list is of.
MEANS: Final = {
    "quotient_of": ("mean_of(part).value", "run"),
    "difference_of": ("mean_of(part).value", "run"),
    "cv_quotient": ("sum_cvs(part).total / sum_cvs(part).weight", "CV"),
}
BETWEEN: Final = {"difference_of": "less"}
# The macro that makes CVs of the conditions of a cell.
CVS: Final = re.compile(r"\b(pooled_cvs|within_cvs)\(strata\)")
CV: Final = "rate_cv"
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


def describe_cvs(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """Return lines on the coefficients of variation of which a check's query compares means, with the cell of each."""
    parsed, made_by = parse_query(connection, query), CVS.search(query)
    if parsed is None or made_by is None:
        return []
    cells = write_parsed(connection, parsed | {"select_list": [STAR]})
    listed = f"SELECT * EXCLUDE strata, unnest({made_by[0]}).cv AS {CV} FROM ({cells})"  # noqa: S608 (as above)
    rows = connection.sql(f"FROM ({listed}) ORDER BY algorithm, test_group, sharing, flows_count, rtt_bucket").pl()
    return [f"  CVs ({rows.height:,}), each of a cell:", *(f"  {line}" for line in show_rows(rows))]


def _show(value: float, query: str, noun: str) -> str:
    """Return a mean with its unit: rates in Mbit/s, CVs in per cent."""
    if noun == "CV":
        return f"{show_plain(PERCENT * value, SIGNIFICANT)} %"
    if RATE.search(query):
        return f"{show_plain(value / PER_MEGABIT, SIGNIFICANT)} Mbit/s"
    return show_plain(value, SIGNIFICANT)
