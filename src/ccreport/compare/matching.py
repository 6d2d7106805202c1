"""Which cell of this archive a published cell is compared with, where sizes differ: by the bandwidth-delay product."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ccreport.compare.expected import Key


@dataclass(frozen=True)
class Match:
    """The key of this archive's cell, None where no size is near enough, and both sizes as fractions of the product."""

    key: Key | None
    facts: dict[str, Any]


def match_sizes(
    wanted: Iterable[Key],
    own: Mapping[Key, Mapping[str, Any]],
    place: int,
    *,
    column: str,
    bdp_bytes: float,
    within_factor: float,
) -> dict[Key, Match]:
    """Return the match of each published key; the size is its part at `place`, the algorithm its last part.

    `own` are this archive's rows by key, with `bdp_bytes` of their runs. Of all sizes the two nearest as fractions of
    the product belong together first, so that no size here is matched to two. Beyond the factor `within_factor` none
    matches.
    """
    fractions = {
        (key[place], _drop_size(key, place)): key[place] / row["bdp_bytes"]
        for key, row in own.items()
        if row["bdp_bytes"] and key[place]
    }
    keys = list(wanted)
    candidates: list[tuple[float, int, int, Key]] = []
    for size, rest in dict.fromkeys((key[place], _drop_size(key, place)) for key in keys):
        fraction = size / bdp_bytes
        candidates += [
            (max(here / fraction, fraction / here), size, own_size, rest)
            for (own_size, own_rest), here in fractions.items()
            if own_rest == rest
        ]
    taken: dict[Any, Any] = {}
    for factor, size, own_size, rest in sorted(candidates, key=lambda candidate: candidate[:3]):
        is_free = (size, rest) not in taken and (own_size, rest) not in taken.values()
        if factor <= within_factor and is_free:
            taken[size, rest] = (own_size, rest)
    matches = {}
    for key in keys:
        facts = {"expected_bdp_ratio": key[place] / bdp_bytes}
        found = taken.get((key[place], _drop_size(key, place)))
        if found is None:
            matches[key] = Match(None, facts)
            continue
        facts |= {"matched_bdp_ratio": fractions[found], f"matched_{column}": found[0]}
        matches[key] = Match((*key[:place], found[0], *key[place + 1 :]), facts)
    return matches


def _drop_size(key: Key, place: int) -> Key:
    # Algorithms of one size are a pair: both are compared with those of one size here.
    return (*key[:place], *key[place + 1 : -1])
