"""The name that each algorithm of an archive has in tables, and its place in their order; and what pages call it."""

import re
from collections.abc import Mapping
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.algorithms import NAMES, keep_kernel_name

# Columns of the kernel's names, of several with commas between or as a list; others, of the names in tables, end in
# ALGORITHM. `line` is what a figure of captures draws.
KERNEL_COLUMNS: Final = ("cc", "cc_list", "beside", "mode", "line")
LISTS: Final = "algorithms"
ALGORITHM: Final = "algorithm"
# That of a comparison begins with the algorithm that is ahead.
VERDICT: Final = "verdict"
QUESTION: Final = "question"


def name_algorithms(held: list[str], groups: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Return (cc, name in tables, rank) for each algorithm that an archive holds.

    The first member held of a group goes by the group's name, others keep their own and come after all groups.
    """
    named = {}
    for rank, (group, facts) in enumerate(groups.items()):
        first = next((member for member in facts["members"] if member in held), None)
        if first is not None:
            named[first] = (group, rank)
    rest = enumerate((cc for cc in held if cc not in named), len(groups))
    # A group may have the name of another algorithm.
    others = {cc: (keep_kernel_name(cc, [group for group, _ in named.values()]), rank) for rank, cc in rest}
    return [(cc, *(named | others)[cc]) for cc in held]


def create_algorithms(connection: duckdb.DuckDBPyConnection, groups: Mapping[str, Any]) -> None:
    """Create the table `algorithms`: cc, algorithm (the name in tables), algorithm_rank."""
    # Flows of an unknown algorithm are in the tables as unknown, not left out.
    held = connection.execute(
        """SELECT DISTINCT coalesce(cc, 'unknown') FROM (SELECT cc FROM flows UNION ALL SELECT cc FROM harness_results
        UNION ALL SELECT DISTINCT cc FROM connections UNION ALL SELECT DISTINCT cc FROM web_requests
        UNION ALL SELECT DISTINCT cc FROM machine_counters UNION ALL SELECT DISTINCT cc FROM rpc_tests)"""
    )
    names = name_algorithms(sorted(cc for (cc,) in held.fetchall()), groups)
    connection.execute("CREATE TABLE algorithms (cc VARCHAR, algorithm VARCHAR, algorithm_rank INTEGER)")
    for row in names:
        connection.execute("INSERT INTO algorithms VALUES (?, ?, ?)", row)


def show_algorithms(rows: pl.DataFrame, declared: Mapping[str, Any]) -> pl.DataFrame:
    """Return rows with the names of figures for what has the kernel's: BBR, BBRv2 for bbr, bbr2.

    They are those of a published table, of runs or flows, or of what a figure draws. `declared` has the evaluation's
    `algorithms` and `algorithm_names`. An algorithm of no group keeps the kernel's name where figures call it as a
    group is called, so that the two stay apart.
    """
    names, in_tables = _list_names(declared)
    texts = [name for name, dtype in rows.schema.items() if dtype == pl.String]
    return rows.with_columns(
        *(pl.col(name).replace(in_tables) for name in texts if name.endswith(ALGORITHM)),
        *(
            pl.col(name).str.split(",").list.eval(pl.element().replace(names)).list.join(",")
            for name in texts
            if name in KERNEL_COLUMNS
        ),
        *(pl.col(name).replace(_name_in_verdicts(rows[name], in_tables)) for name in texts if name == VERDICT),
        *(show_algorithms_within(rows[name], declared) for name in texts if name == QUESTION),
        *(pl.col(name).list.eval(pl.element().replace(names)) for name in rows.columns if name == LISTS),
    )


def show_algorithms_within(questions: pl.Series, declared: Mapping[str, Any]) -> pl.Series:
    """Return questions, "16 flows, both CUBIC and bbr", with the names of figures, as `show_algorithms` has them."""
    for cc, name in _list_names(declared)[1].items():
        questions = questions.str.replace_all(rf"\b(both|and) {re.escape(cc)}\b", f"${{1}} {name.replace('$', '$$')}")
    return questions


def _list_names(declared: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return by the kernel's name what figures call an algorithm, and of these what no group is called."""
    groups, own = declared["algorithms"], declared["algorithm_names"]
    names = {cc: name for cc, name in NAMES.items() if name not in own.values()} | own
    return names, {cc: name for cc, name in names.items() if cc not in groups and name not in groups}


def _name_in_verdicts(verdicts: pl.Series, names: Mapping[str, str]) -> dict[str, str]:
    """Return each verdict that begins with an algorithm, "bbr faster", with the algorithm's other name."""
    parts = (verdict.partition(" ") for verdict in verdicts.drop_nulls().unique())
    return {f"{first}{blank}{rest}": f"{names[first]}{blank}{rest}" for first, blank, rest in parts if first in names}
