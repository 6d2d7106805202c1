"""Which tables and figures show a claim: those that the evaluation names, if they hold the algorithms it is about."""

import re
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.summarise.algorithm_names import name_algorithms

# WHERE cc IN ('bbr', 'bbr1')
QUOTED: Final = re.compile(r"'(\w+)'")


def leave_out_unrelated(
    declared: Mapping[str, Any], held: Iterable[str], summaries: Path, figures: Path
) -> dict[str, Any]:
    """Return the claims of an evaluation, each with those exhibits alone that hold all algorithms its queries name.

    `held` are the algorithms of the archive by their kernel names; a query that names a group such as BBR asks for no
    version. An exhibit of which nothing says what it holds is kept. A claim that loses one leads to the runs of the
    algorithm that it lacks, where it names no others.
    """
    known = set(held)
    names = {name: cc for cc, name, _ in name_algorithms(sorted(known), declared["algorithms"])}

    def find_lacking(exhibit: str, asked: Set[str]) -> Set[str]:
        shown = _list_algorithms(exhibit, summaries, figures)
        return set() if shown is None else asked - {names.get(name, name) for name in shown}

    claims = {}
    for claim, facts in declared["claims"].items():
        asked = known & {name for check in facts["checks"] for name in QUOTED.findall(check["sql"])}
        lacking = {name: find_lacking(name, asked) if asked else set() for name in facts["shown_in"]}
        claims[claim] = facts | {"shown_in": [name for name in facts["shown_in"] if not lacking[name]]}
        if not facts["explorer"] and (missed := set().union(*lacking.values())):
            claims[claim]["explorer"] = {"cc": min(missed)}
    return claims


def _list_algorithms(exhibit: str, summaries: Path, figures: Path) -> list[str] | None:
    """Return the algorithms in the rows of a published table or a figure's data; None where no column has them."""
    table, drawn = summaries / f"{exhibit}.parquet", figures / exhibit / "figure.csv"
    if table.exists():
        rows = pl.scan_parquet(table)
    elif drawn.exists():
        rows = pl.scan_csv(drawn, infer_schema=False)
    else:
        return None
    column = next((name for name in ("algorithm", "cc") if name in rows.collect_schema()), None)
    return None if column is None else rows.select(pl.col(column).drop_nulls().unique()).collect()[column].to_list()
