"""The words of versions of BBR side by side: how they compare, and what ran beside them has with each."""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.select.declaration import Rate
from ccreport.figures.wording.conditions import (
    NEARLY_EQUAL,
    count_runs,
    describe_conditions,
    describe_intervals,
    find_ends,
    fold_sentences,
    name_close,
    qualify_closeness,
    write_sentences,
)
from ccreport.figures.wording.runs import format_rate, format_ratio, format_significant, join_names

# `bbr` is the kernel's own, the first version unless a patched kernel gives the name to a later one.
VERSIONS: Final = ("bbr", "bbr1", "bbr2", "bbr3")


def write_versions_caption(
    runs: pl.DataFrame, rates: pl.DataFrame, ratios: pl.DataFrame, measure: tuple[Rate, str], *, is_shared: bool
) -> str:
    """Return the caption of a figure whose `measure` is a rate and its unit; a category is `BBRv2\\nbeside CUBIC`.

    Means are compared only where all versions ran under the same conditions, `is_shared`.
    """
    rate, unit = measure
    which = "where every version ran so" if is_shared else "each version in conditions of its own"
    found = list(_compare_versions(rates, rate)) if is_shared else []
    others = _list_others(rates, unit) if is_shared else []
    compared = ["; ".join(part) for part in (found, others) if part] + qualify_closeness(found)
    return fold_sentences(
        [
            f"{describe_conditions(runs)}; {count_runs(rates)}",
            *compared,
            f"Mean {rate}, summed over the flows of an algorithm, and mean of the runs’ retransmit ratios, {which}",
            *describe_intervals(rates),
            *find_ends(runs).tell_names(),
            *([] if ratios.height else ["No retransmits were recorded"]),
        ],
        max(1 + len(compared), 2),
    )


def _compare_versions(rates: pl.DataFrame, rate: Rate) -> Iterator[str]:
    """Yield how the fastest version compares with the slowest, alone and beside each algorithm."""
    own = rates.filter(pl.col("cc").is_in(VERSIONS), pl.col("mean") > 0)
    close: dict[tuple[str, ...], list[str]] = {}
    for (beside,), group in own.group_by(pl.col("category").str.split("\n").list.last(), maintain_order=True):
        versions = group.sort("mean", maintain_order=True)
        slow, fast = (theme.style_of(versions["cc"][place]).name for place in (0, -1))
        times = versions["mean"][-1] / versions["mean"][0]
        if versions.height > 1 and times < NEARLY_EQUAL:
            close.setdefault(tuple(group["cc"]), []).append(str(beside))
        elif versions.height > 1:
            yield f"{beside} {fast} had {format_significant(times, 3)} times the {rate} of {slow}"
    for ccs, places in close.items():
        yield f"the {name_close(ccs)}, {join_names(places)}"


def _list_others(rates: pl.DataFrame, unit: str) -> list[str]:
    """Return the mean of each algorithm that is not a version of BBR: alone, and beside each version."""
    mixes = {category: list(ccs) for category, ccs in rates.group_by("category").agg("cc").iter_rows()}
    told = []
    for (cc,), own in rates.filter(~pl.col("cc").is_in(VERSIONS)).group_by("cc", maintain_order=True):
        means = [
            f"{format_rate(mean, unit)} {_name_company([other for other in mixes[category] if other != cc])}"
            for category, mean in own.select("category", "mean").iter_rows()
        ]
        told.append(f"{theme.style_of(str(cc)).name} had {join_names(means)}")
    return told


def _name_company(ccs: Sequence[str]) -> str:
    names = [theme.style_of(cc).name for cc in theme.order_algorithms(ccs)]
    return f"beside {join_names(names)}" if names else "alone"


def write_versions_alternative(rates: pl.DataFrame, ratios: pl.DataFrame, rate: Rate, unit: str) -> str:
    """Return the text alternative: the rate and the retransmit ratio of each bar."""
    known = {(row["category"], row["cc"]): row["mean"] for row in ratios.rows(named=True)}
    told = []
    for (category,), own in rates.group_by("category", maintain_order=True):
        parts = [
            f"{theme.style_of(row['cc']).name} {format_rate(row['mean'], unit)}"
            + (
                f" and {format_ratio(known[category, row['cc']])} retransmitted"
                if (category, row["cc"]) in known
                else ""
            )
            for row in own.rows(named=True)
        ]
        told.append(f"{str(category).replace(chr(10), ' ')}: {'; '.join(parts)}")
    return write_sentences([f"Bars of mean {rate} and marks of the mean retransmit ratio by version of BBR", *told])
