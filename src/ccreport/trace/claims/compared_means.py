"""What a check's number alone does not show: the parts that it is computed from, and the CVs that such a part is of."""

import re
from collections.abc import Sequence
from typing import Any, Final

import duckdb

from ccreport.core.text import count_things
from ccreport.summarise.grids.plain_numbers import round_value, show_plain
from ccreport.trace.claims.checked_runs import parse_query, write_parsed
from ccreport.trace.claims.deciding_rows import STAR
from ccreport.trace.shown_runs import show_rows

# What stands between the parts of each macro's number; of a mean alone the check itself shows the value.
BETWEEN: Final = {
    "mean_of": (),
    "quotient_of": ("over",),
    "difference_of": ("less",),
    "cv_quotient": ("over",),
    "quotient_of_quotients": ("over",),
    "nearness": ("beside", "and"),
}
# The value of a part and what that is of, as SQL over the query that has the part.
OF_RUNS: Final = """
SELECT {}, count_runs(known), len(known), list_sum(list_transform(known, lambda r: r.x))::DOUBLE,
    list_sum(list_transform(known, lambda r: r.y))::DOUBLE, len(list_filter(known, lambda r: r.y <> 1)) = 0
FROM (SELECT known_runs(part) AS known FROM ({}))
"""
OF_CVS: Final = """
SELECT (summed).total / (summed).weight, len(part), round((summed).weight)::INTEGER
FROM (SELECT part, sum_cvs(part) AS summed FROM ({}))
"""
OF_VALUES: Final = "SELECT (part).value, (part).n FROM ({})"
RATIO, MEAN_OF_RATIOS = "total_of(known)", "list_avg(list_transform(known, lambda r: r.x / r.y))"
# The macro that makes CVs of the conditions of a cell.
CVS: Final = re.compile(r"\b(pooled_cvs|within_cvs)\(strata\)")
CV: Final = "rate_cv"
RATE: Final = re.compile(r"\brate\b")
# list(retransmits), 'x': sum(retransmits_ss_count)
RETRANSMITS: Final = re.compile(r"\blist\(retransmits\)|'x': (sum\()?retransmits_\w*count")
# Tests that follow each other in one run count as runs.
REPETITIONS: Final = "|| repetition"
PER_MEGABIT: Final = 1e6
PERCENT: Final = 100
SIGNIFICANT: Final = 4


def describe_parts(connection: duckdb.DuckDBPyConnection, query: str) -> str | None:
    """Return the parts that the one row of a check's query is computed from, each with its value and what that is of.

    None of a query that has several rows, or computes otherwise.
    """
    parsed = parse_query(connection, query)
    selected = parsed["select_list"] if parsed else []
    macro = selected[0].get("function_name") if len(selected) == 1 else None
    if parsed is None or macro not in BETWEEN:
        return None
    told = ""
    for joint, argument in zip(("", *BETWEEN[macro]), selected[0]["arguments"], strict=False):
        own = write_parsed(connection, parsed | {"select_list": [argument["expression"] | {"alias": "part"}]})
        rows = connection.execute(_select_part(macro, own)).fetchall()
        if len(rows) != 1 or rows[0][0] is None:
            return None
        value, *facts = rows[0]
        of_what = _describe_part(macro, facts, query)
        told += f" {joint} {_show(value, own, macro)} ({of_what})" if BETWEEN[macro] else of_what
    return told.strip()


def _select_part(macro: str, own: str) -> str:
    """Return the query of the value of a part and of what that is of; `own` is the query that has the part."""
    if macro == "cv_quotient":
        return OF_CVS.format(own)
    if macro in ("quotient_of_quotients", "nearness"):
        return OF_VALUES.format(own)
    return OF_RUNS.format(MEAN_OF_RATIOS if macro == "difference_of" else RATIO, own)


def _describe_part(macro: str, facts: Sequence[Any], query: str) -> str:
    """Return what the value of a part is of, in words, from what its query has beside the value."""
    if macro == "cv_quotient":
        count, cells_count = facts
        mean = f"mean of {count_things(count, 'CV')}"
        return mean if count == cells_count else f"{mean} of {count_things(cells_count, 'cell')}, each counting alike"
    if macro == "quotient_of_quotients":
        return f"a quotient, of at least {count_things(facts[0], 'run')} a side"
    if macro == "nearness":
        return f"of {count_things(facts[0], 'run')}"
    runs_count, values_count, x, y, is_mean = facts
    runs = count_things(runs_count, "repetition" if REPETITIONS in query else "run")
    if is_mean or macro == "difference_of":
        return f"mean of {runs if values_count == runs_count else f'{values_count:,} values of {runs}'}"
    ratio = "{} retransmits over {} segments" if RETRANSMITS.search(query) else "sum of x {} over sum of y {}"
    return f"{runs}: {ratio.format(round_value('x', x), round_value('y', y))}"


def describe_cvs(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """Return lines on the coefficients of variation of which a check's query compares means, with the cell of each."""
    parsed, made_by = parse_query(connection, query), CVS.search(query)
    if parsed is None or made_by is None:
        return []
    cells = write_parsed(connection, parsed | {"select_list": [STAR]})
    listed = f"SELECT * EXCLUDE strata, unnest({made_by[0]}).cv AS {CV} FROM ({cells})"  # noqa: S608 (as above)
    rows = connection.sql(f"FROM ({listed}) ORDER BY algorithm, test_group, sharing, flows_count, rtt_bucket").pl()
    return [f"  CVs ({rows.height:,}), each of a cell:", *(f"  {line}" for line in show_rows(rows))]


def _show(value: float, query: str, macro: str) -> str:
    """Return the value of a part with its unit: rates in Mbit/s, CVs in per cent."""
    if macro == "cv_quotient":
        return f"{show_plain(PERCENT * value, SIGNIFICANT)} %"
    if RATE.search(query) and macro != "quotient_of_quotients":
        return f"{show_plain(value / PER_MEGABIT, SIGNIFICANT)} Mbit/s"
    return show_plain(value, SIGNIFICANT)
