"""Algorithms that names or tables say, and results contradict."""

import difflib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ccreport.adopt.rows import Row
from ccreport.core.algorithms import FIRST_BBR, KNOWN, name_algorithm
from ccreport.core.schema_problems import guess_near

# Of a misspelt name; somebody's own word for an algorithm is less like it.
CLOSE: Final = 0.8


def find_wrong_names(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield runs whose files are said to be of another algorithm than their results are of, and what to know of it.

    A word that is not an algorithm's name, beside results of one only, which no other word names, is somebody's own,
    unless it is nearly that one's name.
    """
    meant: dict[str, set[str]] = defaultdict(set)
    called: dict[str, set[str]] = defaultdict(set)
    for name, algorithms in (said for row in rows for said in row.said):
        meant[name].update(algorithms)
        for algorithm in algorithms:
            called[algorithm].add(name)
    own = {
        name for name, told in meant.items() if not name_algorithm(name) and [called[one] for one in told] == [{name}]
    }
    for row in rows:
        wrong: dict[str, set[str]] = defaultdict(set)
        for name, algorithms in row.said:
            known = {algorithm.lower() for algorithm in algorithms}
            known |= FIRST_BBR if known & FIRST_BBR else set()
            if known and name not in own and name.lower() not in known:
                wrong[name].update(algorithms)
        for name, told in sorted(wrong.items()):
            counted = ", ".join(sorted(told))
            yield row.run.suffix, f"{name} by its name or its row of the table, {counted} by its results, which count."
        for name in sorted({name for name, _ in row.said if name.lower() not in called} - wrong.keys()):
            if (hint := _doubt(name, meant[name])) is not None:
                yield row.run.suffix, f"{name} by its name or its row of the table is not a known algorithm{hint}"


def _doubt(name: str, told: Collection[str]) -> str | None:
    """Return what to say of a name that no algorithm has, where results of its files tell none, or one that is near."""
    if name_algorithm(name):
        return None
    if told:
        near = difflib.get_close_matches(name.lower(), told, 1, CLOSE)
        return f"; did you mean `{near[0]}`?" if near else None
    return guess_near(name, KNOWN) or "."
