"""Which cell of this archive a published one is compared with: that of its name, or one whose conditions bite alike.

A buffer works by how many bandwidth-delay products it holds. Random loss works by how long the window of a loss-based
algorithm is: that of Reno, which CUBIC keeps to on most paths, is sqrt(3/2) / sqrt(p) segments (RFC 9438, 4.3 and 5.1;
Mathis et al. 1997), so as a share of the bandwidth-delay product it depends on p · BDP² alone, BDP in segments: on the
segments between two losses, 1/p, against the square of the window that fills the path.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ccreport.compare.expected import Key

NAME: Final = "name"
DIMENSIONLESS: Final = "dimensionless"
BUCKET: Final = "rtt_bucket"


@dataclass(frozen=True)
class Scale:
    """What makes cells of a table alike: a number that follows from one part of their key, at `place`.

    It is the buffer in bandwidth-delay products (`bdp`), or p · BDP² (`loss_window`), one over the window's square.
    """

    column: str
    place: int
    within_factor: float
    bdp_bytes: float = math.nan
    loss_pct: Mapping[str, float] | None = None
    rtt_ms: Mapping[str, float] | None = None
    bucket_place: int = 0
    line_rate_bps: float = math.nan
    mss_bytes: float = math.nan

    @property
    def quantity(self) -> str:
        """Return the name of the number in columns."""
        return "bdp" if self.loss_pct is None else "loss_window"

    @property
    def factor(self) -> float:
        """Return the largest factor between two numbers: of losses the square of that between windows."""
        return self.within_factor if self.loss_pct is None else self.within_factor**2

    def find_published(self, key: Key) -> float | None:
        """Return the number of a published cell; None where it has none, as one without loss."""
        if self.loss_pct is None or self.rtt_ms is None:
            return float(key[self.place] / self.bdp_bytes)
        loss_pct, rtt_ms = self.loss_pct.get(key[self.place]), self.rtt_ms.get(key[self.bucket_place])
        if not loss_pct or rtt_ms is None:
            return None
        return loss_pct / 100 * (self.line_rate_bps * rtt_ms / 8e3 / self.mss_bytes) ** 2

    def find_own(self, key: Key, row: Mapping[str, Any] | None) -> float | None:
        """Return the number of this archive's cell; None where its runs do not tell it, or have no loss."""
        if row is None:
            return None
        if self.loss_pct is not None:
            return row["loss_window_ratio"] or None
        return key[self.place] / row["bdp_bytes"] if row["bdp_bytes"] and key[self.place] else None


@dataclass(frozen=True)
class Match:
    """The key of this archive's cell, None where no cell is near enough, and the numbers of both."""

    key: Key | None
    facts: dict[str, Any]


def read_scale(declared: Mapping[str, Any], line_rate_bps: float, names: tuple[str, ...]) -> Scale:
    """Return the scale that an evaluation declares of a table whose key columns have these names."""
    bucket_place = names.index(BUCKET) if BUCKET in names else 0
    place = names.index(declared["column"])
    return Scale(place=place, bucket_place=bucket_place, line_rate_bps=line_rate_bps, **declared)


def match_by_name(wanted: Iterable[Key], own: Mapping[Key, Mapping[str, Any]], scale: Scale | None) -> dict[Key, Match]:
    """Return the match of each published key: the same key, with the numbers of both where there is a scale."""
    return {key: Match(key, _tell(key, key, own, scale) if scale else {}) for key in wanted}


def match_by_scale(wanted: Iterable[Key], own: Mapping[Key, Mapping[str, Any]], scale: Scale) -> dict[Key, Match]:
    """Return the match of each published key; the algorithm is its last part. Cells without a number match by name.

    Of all numbers the two nearest belong together first, so that no cell here is matched to two. Beyond the scale's
    factor none matches.
    """
    here = {(key[scale.place], _drop_size(key, scale)): scale.find_own(key, row) for key, row in own.items()}
    keys = list(wanted)
    candidates: list[tuple[float, Any, Any, Key]] = []
    for size, rest, there in dict.fromkeys(
        (key[scale.place], _drop_size(key, scale), scale.find_published(key)) for key in keys
    ):
        candidates += [
            (max(number / there, there / number), size, own_size, rest)
            for (own_size, own_rest), number in here.items()
            if own_rest == rest and number and there
        ]
    taken: dict[Any, Any] = {}
    for factor, size, own_size, rest in sorted(candidates, key=lambda candidate: candidate[:3]):
        is_free = (size, rest) not in taken and (own_size, rest) not in taken.values()
        if factor <= scale.factor and is_free:
            taken[size, rest] = (own_size, rest)
    matches = {}
    for key in keys:
        found = taken.get((key[scale.place], _drop_size(key, scale)))
        own_key = None if found is None else (*key[: scale.place], found[0], *key[scale.place + 1 :])
        if scale.find_published(key) is None:
            own_key = key
        matches[key] = Match(own_key, _tell(key, own_key, own, scale))
    return matches


def _tell(key: Key, own_key: Key | None, own: Mapping[Key, Mapping[str, Any]], scale: Scale) -> dict[str, Any]:
    """Return the numbers of two cells that are compared, by column; the second one's where there is such a cell."""
    there = scale.find_published(key)
    facts: dict[str, Any] = {} if there is None else {f"expected_{scale.quantity}_ratio": there}
    here = None if own_key is None else scale.find_own(own_key, own.get(own_key))
    if there is None or here is None or own_key is None:
        return facts
    return facts | {f"matched_{scale.quantity}_ratio": here, f"matched_{scale.column}": own_key[scale.place]}


def _drop_size(key: Key, scale: Scale) -> Key:
    # Algorithms of one size are a pair: both are compared with those of one size here.
    return (*key[: scale.place], *key[scale.place + 1 : -1])
