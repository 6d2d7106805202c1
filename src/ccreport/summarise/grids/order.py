"""In which order a table shows the rows and columns that its evaluation names: by the first of them, then the next.

Numbers ascend, and so do texts of which a number alone differs, as RTT 20 ms and RTT 100 ms. Other values, as labels
and algorithms, are in the order in which the query has them.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import polars as pl

# RTT 0.1 ms, and not the version 5.15.0
NUMBER: Final = re.compile(r"(?<![\d.])\d+(?:\.\d+)?(?![\d.])")
# Texts that the evaluation neither declares nor ranks.
COUNTED: Final = frozenset({"path_rtt", "parameter_value", "host", "sender_host"})


def order_rows(rows: pl.DataFrame, named: Sequence[str]) -> list[int]:
    """Return the numbers of the rows in the order of the columns that name them."""
    names = [name for name in named if name in rows.columns]
    keys = rows.select(names).rows() if names else [()] * rows.height
    ranks = [
        rank_values(name, rows[name].to_list(), [(*key[:place], *key[place + 1 :]) for key in keys])
        for place, name in enumerate(names)
    ]
    return sorted(
        range(rows.height), key=lambda row: [rank[value] for rank, value in zip(ranks, keys[row], strict=True)]
    )


def order_groups(names: Sequence[str], groups: Sequence[tuple[Any, ...]], rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return each combination of the columns of these names once, those with the same first value side by side.

    `rows` has the row that each is of: a value that only later rows have stands where it is among theirs.
    """
    ranks = []
    for level, values in enumerate(zip(*groups, strict=True)):
        above = [(row, group[:level]) for row, group in zip(rows, groups, strict=True)]
        ranks.append(rank_values(names[level], values, above))
    return sorted(set(groups), key=lambda group: [rank[value] for rank, value in zip(ranks, group, strict=True)])


def rank_values(name: str, values: Sequence[Any], rows: Sequence[Any]) -> dict[Any, int]:
    """Return the place of each value of a column; `rows` says which of them are of one row, in an order that counts."""
    ordered = merge_orders(values, rows)
    known = [value for value in ordered if value is not None]
    numbers = {value: _read_numbers(value, is_counted=name in COUNTED) for value in known}
    if len({words for words, _ in numbers.values()}) == 1:
        known.sort(key=lambda value: numbers[value][1])
    unknown = [None] * (len(ordered) - len(known))
    is_first = bool(ordered) and ordered[0] is None
    return {value: rank for rank, value in enumerate([*unknown, *known] if is_first else [*known, *unknown])}


def _read_numbers(value: Any, *, is_counted: bool) -> tuple[str, tuple[float, ...]]:
    """Return a value without its numbers, and these; none of a text that is not counted."""
    if isinstance(value, str):
        return (NUMBER.sub("0", value), tuple(map(float, NUMBER.findall(value)))) if is_counted else (value, ())
    return ("", (value,)) if isinstance(value, int | float) else (str(value), ())


def merge_orders(values: Sequence[Any], rows: Sequence[Any]) -> list[Any]:
    """Return each value once, in an order that agrees with every row's; of appearance where rows leave it open."""
    before: dict[Any, set[Any]] = {value: set() for value in values}
    last: dict[Any, Any] = {}
    for value, row in zip(values, rows, strict=True):
        before[value] |= {last[row]} - {value} if row in last else set()
        last[row] = value
    left, ordered = list(before), list[Any]()
    while left:
        # Where rows contradict each other the first that is left comes next.
        ordered.append(next((value for value in left if before[value] <= {*ordered}), left[0]))
        left.remove(ordered[-1])
    return ordered
