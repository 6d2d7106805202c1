"""Differences of the comparison with the paper between two releases: verdicts on pairs and cells, published values."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ccreport.publish.changes.change import Change, compare_facts

KEY: Final = ("comparison", "table_name", "cell", "algorithm")
# Both cells of a pair have these.
PAIR_COLUMNS: Final = ("pair_verdict",)
CELL_COLUMNS: Final = ("cell_verdict", "expected_bps")

Rows = Mapping[tuple[Any, ...], Mapping[str, Any]]


def list_pairs(before: Rows, after: Rows) -> Iterator[Change]:
    """Yield what was and is of each pair, and then of its cells; the rows are those of `reproduction` by `KEY`.

    A cell that one side lacks has no values there.
    """
    keys = list({**after, **before})
    old_pairs, new_pairs = ({key[:-1]: row for key, row in side.items()} for side in (before, after))
    for pair in dict.fromkeys(key[:-1] for key in keys):
        where = ", ".join(pair[1:])
        yield from compare_facts(where, PAIR_COLUMNS, old_pairs.get(pair, {}), new_pairs.get(pair, {}))
        for key in keys:
            if key[:-1] == pair:
                yield from compare_facts(f"{where}, {key[-1]}", CELL_COLUMNS, before.get(key, {}), after.get(key, {}))
