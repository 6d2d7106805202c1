"""The name that each algorithm of an archive has in tables, and its place in their order."""

from collections.abc import Mapping
from typing import Any


def name_algorithms(held: list[str], groups: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Return (cc, name in tables, rank) for each algorithm that an archive holds.

    The first member held of a group goes by the group's name, others keep their own and come after all groups.
    """
    named = {}
    for rank, (group, facts) in enumerate(groups.items()):
        first = next((member for member in facts["members"] if member in held), None)
        if first is not None:
            named[first] = (group, rank)
    others = {cc: (cc, len(groups) + number) for number, cc in enumerate(cc for cc in held if cc not in named)}
    return [(cc, *(named | others)[cc]) for cc in held]
