"""Modes of a condition: whether its runs fall into groups so far apart that their mean describes none of them.

Values of one kind are cut at their largest gaps. The parts are modes where all of this holds:

- each has at least two runs: one run alone is an outlier;
- any two runs of a mode are closer to each other than any two of different modes: Dunn's index, the smallest gap
  between parts over the largest range of one, is above 1 ("compact and well separated" clusters; J. C. Dunn,
  "Well-separated clusters and optimal fuzzy partitions", Journal of Cybernetics 4, 1974);
- chance hardly does the same: of samples of as many values from a uniform distribution, the reference of the gap
  statistic for no clusters (Tibshirani, Walther, Hastie, "Estimating the number of clusters in a data set via the gap
  statistic", JRSS B 63, 2001), at most 1 in 100 has parts as well separated;
- the gap is large enough to matter, a tenth of the mean.

The second condition finds modes of very different sizes, such as 3 of 35 runs, which criteria of variance overlook; the
third keeps few runs, of which some are always closer to each other, from being called modes.
"""

import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final

import polars as pl

SMALLEST_MODE: Final = 2
MOST_MODES: Final = 3
DUNN: Final = 1.0
CHANCE: Final = 0.01
# ASSUME: what differs by less than a tenth of the mean is not a different behaviour, however exactly it repeats.
RELEVANT: Final = 0.1
REFERENCES: Final = 2000
SAMPLES: Final = ("outcomes", "run_ids")


def add_modes(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of the table `modes` with what was found in place of the samples `outcomes` and `run_ids`.

    Adds modes_count, runs_by_mode and means_by_mode (of the lowest mode first, separated by ` + ` and ` / `),
    dunn_ratio, chance_ratio; but for modes_count they are null where there is one mode.
    """
    found = [describe_modes(outcomes) for outcomes in cells["outcomes"].to_list()]
    schema: dict[str, type[pl.DataType]] = {
        "modes_count": pl.Int64,
        "runs_by_mode": pl.String,
        "means_by_mode": pl.String,
        "dunn_ratio": pl.Float64,
        "chance_ratio": pl.Float64,
    }
    return cells.drop(SAMPLES).hstack(pl.DataFrame(found, schema=schema, orient="row"))


def describe_modes(values: Sequence[float]) -> tuple[int, str | None, str | None, float | None, float | None]:
    """Return number of modes, their sizes and means as texts, Dunn's index (null where infinite), and its chance."""
    modes = find_modes(values)
    if len(modes) == 1:
        return 1, None, None, None, None
    dunn = measure_dunn(modes)
    return (
        len(modes),
        " + ".join(str(len(mode)) for mode in modes),
        " / ".join(f"{math.fsum(mode) / len(mode):.3f}" for mode in modes),
        dunn if math.isfinite(dunn) else None,
        measure_chance(len(values), dunn),
    )


def assign_modes(values: Sequence[float]) -> list[int]:
    """Return the number of each value's mode, from 0 for the lowest, in the order of the values."""
    tops = [mode[-1] for mode in find_modes(values)]
    return [bisect_left(tops, value) for value in values]


def find_modes(values: Sequence[float]) -> list[list[float]]:
    """Return the modes of some finite values, each in ascending order, the lowest first; one where they are alike."""
    ordered = sorted(values)
    parts = separate_parts(ordered)
    dunn = measure_dunn(parts)
    if dunn <= DUNN or measure_chance(len(ordered), dunn) > CHANCE:
        return [ordered]
    gap = min(right[0] - left[-1] for left, right in pairwise(parts))
    return parts if gap >= RELEVANT * abs(math.fsum(ordered) / len(ordered)) else [ordered]


def separate_parts(ordered: Sequence[float]) -> list[list[float]]:
    """Return the two or three parts of ascending values, none of a single one, whose Dunn index is the largest.

    They are cut at the largest gaps. The values are one part where these leave a single value alone.
    """
    gaps = sorted(range(1, len(ordered)), key=lambda at: ordered[at - 1] - ordered[at])
    best = [list(ordered)]
    for count in range(2, MOST_MODES + 1):
        edges = [0, *sorted(gaps[: count - 1]), len(ordered)]
        parts = [list(ordered[start:end]) for start, end in pairwise(edges)]
        if min(map(len, parts)) >= SMALLEST_MODE and measure_dunn(parts) > measure_dunn(best):
            best = parts
    return best


def measure_dunn(parts: Sequence[Sequence[float]]) -> float:
    """Return Dunn's index of parts of ascending values: the smallest gap between two over the largest range of one.

    0 for a single part, infinite where the values of each part are equal.
    """
    if len(parts) < 2:
        return 0.0
    gap = min(right[0] - left[-1] for left, right in pairwise(parts))
    width = max(part[-1] - part[0] for part in parts)
    return gap / width if width > 0 else math.inf


def measure_chance(count: int, dunn: float) -> float:
    """Return which share of uniform samples of as many values is separated at least so well; 1 for one part."""
    if dunn <= 0:
        return 1.0
    reference = list_references(count)
    return (len(reference) - bisect_left(reference, dunn)) / len(reference)


@cache
def list_references(count: int) -> list[float]:
    """Return, in ascending order, the Dunn indices of samples of so many values from a uniform distribution.

    The samples are always the same.
    """
    generator = random.Random(count)  # noqa: S311 (a reference distribution, nothing secret)
    samples = (sorted(generator.random() for _ in range(count)) for _ in range(REFERENCES))
    return sorted(measure_dunn(separate_parts(sample)) for sample in samples)
