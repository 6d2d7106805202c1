"""Whether runs of several algorithms share a condition: else no two of these are compared."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from ccreport.adopt.rows import Row
from ccreport.archive.layout import Layout


def doubt_comparisons(rows: Sequence[Row], layout: Layout) -> Iterator[str]:
    """Yield that no two algorithms share a condition, where this is due to parameters that say the algorithm again."""
    told = [row for row in rows if row.condition["cc"]]
    again = _list_again(told)
    if not again or _count_shared(told, ()) or not _count_shared(told, again):
        return
    named = " and ".join(f"`{name}`" for name in again)
    steps = " and ".join(_advise(name, layout) for name in again)
    differs, says = ("differs", "it only says") if len(again) == 1 else ("differ", "they only say")
    yield f"No two algorithms share a condition: {named} {differs} with `cc`. If {says} the algorithm again, {steps}."


def _count_shared(rows: Sequence[Row], without: Collection[str]) -> int:
    """Return how many conditions, but for the algorithm and some parameters, have runs of several algorithms."""
    algorithms: dict[object, set[object]] = defaultdict(set)
    for row in rows:
        rest = frozenset(item for item in row.condition.items() if item[0] not in ("cc", *without))
        algorithms[rest].add(row.condition["cc"])
    return sum(len(own) > 1 for own in algorithms.values())


def _list_again(rows: Sequence[Row]) -> list[str]:
    """Return the parameters of which each value is of one algorithm, and each algorithm of one value."""
    again = []
    for name in sorted({name for row in rows for name in row.parameters}):
        pairs = {(row.condition["cc"], row.parameters.get(name)) for row in rows}
        algorithms, values = ({pair[place] for pair in pairs} for place in (0, 1))
        if len(pairs) == len(algorithms) == len(values) > 1:
            again.append(name)
    return again


def _advise(name: str, layout: Layout) -> str:
    """Return how to take a parameter out of a layout."""
    if any(f"(?P<{name}>" in own.expression for own in layout.patterns):
        return f"write `(?:` for `(?P<{name}>` in the layout"
    if any(name in own.constants for own in layout.patterns):
        return f"take `{name}` out of `set` in the layout"
    return f"add `ignore_columns: [{name}]` to the layout"
