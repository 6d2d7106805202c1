"""Pairs of algorithms in the cells of published tables: their ratio there and here, and the verdict on it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ccreport.compare.expected import Key
from ccreport.compare.verdicts import NOT_REPRODUCED, PAIR_FACTOR, Estimate, add_spreads, compare_ratios, judge_pair
from ccreport.core.tables import load_schema
from ccreport.summarise.statistics.contrasts import Spread
from ccreport.summarise.statistics.correction import correct_holm

SUSPECT: Final = "suspect"


@dataclass(frozen=True)
class Compared:
    """A row of the table, the spread of the mean to compare with, and the key of this archive's cell."""

    row: dict[str, Any]
    spread: Spread | None = None
    own_key: Key | None = None


@dataclass(frozen=True)
class Cells:
    """This archive's cells of a table: rows of its published table by key, with line rate, BDP, spread of their runs.

    `pairs` are the spreads of the ratio of the first two algorithms, by the key without the algorithm. Algorithms whose
    ratio is at most `equal_margin` are equal.
    """

    table: str
    rows: Mapping[Key, dict[str, Any]]
    pairs: Mapping[Key, Spread]
    equal_margin: float

    @property
    def key(self) -> tuple[str, ...]:
        """Return the names of the key columns, the algorithm the last of them."""
        return load_schema(self.table).key


@dataclass(frozen=True)
class Pair:
    """What the rows of a pair say of it, and, where a verdict is asked, the ratio of its algorithms there and here."""

    marks: dict[str, Any]
    ratios: tuple[Estimate, Estimate] | None = None


def choose_pair(algorithms: Sequence[str], here: Collection[str], there: Collection[str]) -> list[str]:
    """Return these algorithms, those first that both archives have: the first two make pairs."""
    return sorted(algorithms, key=lambda name: name not in here or name not in there)


def mark_pairs(compared: list[Compared], algorithms: list[str], cells: Cells) -> list[dict[str, Any]]:
    """Return the rows, each pair of the first two algorithms with its ratios and the verdict on them."""
    by_pair: dict[str, dict[str, Compared]] = {}
    for entry in compared:
        by_pair.setdefault(entry.row["cell"], {})[entry.row["algorithm"]] = entry
    pairs = {
        name: _compare_pair(cells, *map(own.get, algorithms[:2]))
        for name, own in by_pair.items()
        if len(algorithms) > 1
    }
    corrected = correct_holm([pair.ratios[1].p_ratio if pair.ratios else None for pair in pairs.values()])
    marks = {
        name: _judge_pair(pair, p_holm, cells.equal_margin)
        for (name, pair), p_holm in zip(pairs.items(), corrected, strict=True)
    }
    return [
        entry.row | (marks.get(entry.row["cell"], {}) if entry.row["algorithm"] in algorithms[:2] else {})
        for entry in compared
    ]


def _compare_pair(cells: Cells, first: Compared | None, second: Compared | None) -> Pair:
    if first is None or second is None:
        return Pair({})
    marks: dict[str, Any] = {
        "pair_expected_ratio": _divide(first.row.get("expected_bps"), second.row.get("expected_bps")),
        "pair_ratio": _divide(first.row.get("rate_mean_bps"), second.row.get("rate_mean_bps")),
    }
    expected, found = marks.values()
    if not (expected and found):
        return Pair(marks)
    spread = add_spreads(first.spread, second.spread) if first.spread and second.spread else None
    theirs = Estimate(expected, spread)
    own = Estimate(found, cells.pairs.get(first.own_key[:-1]) if first.own_key else None)
    for name, estimate in (
        ("pair_expected", theirs),
        ("pair", own),
        ("pair_factor", compare_ratios(theirs, own)),
    ):
        if estimate.interval:
            low, high = estimate.interval
            marks |= {f"{name}_low_ratio": low, f"{name}_high_ratio": high}
    marks["pair_factor_ratio"] = found / expected
    # A pair published as suspect is shown without a verdict, so Holm does not correct for it.
    is_suspect = SUSPECT in (first.row.get("cell_state"), second.row.get("cell_state"))
    return Pair(marks, None if is_suspect else (theirs, own))


def _judge_pair(pair: Pair, p_holm: float | None, margin: float) -> dict[str, Any]:
    if pair.ratios is None:
        return pair.marks
    return pair.marks | {"pair_p_holm_ratio": p_holm, "pair_verdict": judge_pair(*pair.ratios, p_holm, margin)}


def _divide(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def explain_pair(row: Mapping[str, Any]) -> str:
    """Return why a pair of the table `reproduction` is not reproduced, in words; nothing for one of another verdict."""
    if row["pair_verdict"] != NOT_REPRODUCED:
        return ""
    ends = [(row[f"pair_{which}low_ratio"], row[f"pair_{which}high_ratio"]) for which in ("expected_", "")]
    directions = {1 if low > 1 else -1 for low, high in ends if low is not None and not low <= 1 <= high}
    if len(directions) > 1:
        return "the other algorithm is ahead"
    low, high = row["pair_factor_low_ratio"], row["pair_factor_high_ratio"]
    is_beyond = low is not None and (low > PAIR_FACTOR or high < 1 / PAIR_FACTOR)
    return f"beyond a factor of {PAIR_FACTOR:g}" if is_beyond else "equal in one only"
