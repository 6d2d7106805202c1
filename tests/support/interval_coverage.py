"""How often the 95 % intervals of the published tables and claims hold the truth, by simulated archives.

`simulate` measures it through the SQL that makes the intervals, `format_coverage` writes the table of the methods page.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import numpy as np
import polars as pl

from ccreport.core.declarations import read_query

Values = np.ndarray[Any, np.dtype[np.float64]]

SEED: Final = 20_211
# Runs of each condition of a cell, and the level of each condition's rates.
CELLS: Final[dict[str, tuple[list[int], list[float]]]] = {
    "n = 3": ([3], [1.0]),
    "n = 4": ([4], [1.0]),
    "n = 5": ([5], [1.0]),
    "n = 10": ([10], [1.0]),
    "2 × 5": ([5, 5], [1.0, 0.4]),
}
# Simulated cells: quotients take longest.
CELLS_COUNT: Final = 2000
QUOTIENTS_COUNT: Final = 600
NAMES: Final = {
    "mean": "mean",
    "cv": "CV",
    "separate": "ratio of two means, separate runs",
    "pairs": "ratio of two means, pairs of one run",
    "retransmits": "ratio of two retransmit ratios, separate runs",
}


def draw_normal(draw: np.random.Generator, size: tuple[int, ...]) -> Values:
    """Return values with mean 1 and a CV of 20 %."""
    return draw.normal(1, 0.2, size)


def draw_skewed(draw: np.random.Generator, size: tuple[int, ...]) -> Values:
    """Return lognormal values with mean 1 and a CV of 50 %, skewness 1.6, as of rates under loss."""
    variance = np.log(1.25)
    return draw.lognormal(-variance / 2, variance**0.5, size)


def draw_stalled(draw: np.random.Generator, size: tuple[int, ...]) -> Values:
    """Return values with a mean of 0.94 and a CV of 19.8 %: 1 ± 5 %, of which one in ten is only 40 % of that."""
    return draw.normal(1, 0.05, size) * np.where(draw.random(size) < 0.1, 0.4, 1)


# Name, how values are drawn, their mean and standard deviation. Stalled: E x = 0.9 + 0.1 · 0.4 = 0.94,
# E x² = (0.9 + 0.1 · 0.16) · 1.0025 = 0.91829, less 0.94² is 0.03469.
SHAPES: Final[dict[str, tuple[Callable[..., Values], float, float]]] = {
    "normal": (draw_normal, 1.0, 0.2),
    "skewed": (draw_skewed, 1.0, 0.5),
    "one run in ten stalls": (draw_stalled, 0.94, 0.03469**0.5),
}


@dataclass(frozen=True)
class Coverage:
    """The share of cells simulated for a statistic, a shape and a number of runs whose interval holds the truth."""

    statistic: str
    shape: str
    cell: str
    share: float


def simulate() -> list[Coverage]:
    """Return the coverage of each statistic, in the order of the table."""
    draw = np.random.default_rng(SEED)
    found = []
    for statistic in NAMES:
        for shape in SHAPES:
            for cell in CELLS:
                if statistic in ("mean", "cv"):
                    share = _cover_cells(draw, statistic, shape, cell)
                else:
                    share = _cover_quotients(draw, statistic, shape, cell)
                found.append(Coverage(statistic, shape, cell, share))
    return found


def find_truth(statistic: str, shape: str, cell: str) -> float:
    """Return what an interval should hold: of the CV that of a cell with as many runs, on average (its square)."""
    sizes, levels = (np.array(part, dtype=float) for part in CELLS[cell])
    _, mean, deviation = SHAPES[shape]
    runs, pooled = sizes.sum(), (sizes * levels).sum() / sizes.sum() * mean
    if statistic == "mean":
        return float(pooled)
    within = (sizes * (levels * deviation) ** 2).sum() / runs
    between = (sizes * (levels * mean - pooled) ** 2).sum() / (runs - 1)
    return float(np.sqrt(within + between) / pooled)


def _cover_cells(draw: np.random.Generator, statistic: str, shape: str, cell: str) -> float:
    drawn = _draw_conditions(draw, shape, cell, CELLS_COUNT)
    cells = pl.DataFrame({"strata": [[condition[n].tolist() for condition in drawn] for n in range(CELLS_COUNT)]})
    macro = {"mean": "cell_interval", "cv": "cell_cv_interval"}[statistic]
    with duckdb.connect() as connection:
        connection.execute(read_query("macros"))
        found = connection.execute(
            f"SELECT bounds[1], bounds[2] FROM cells, LATERAL (SELECT {macro}(strata) AS bounds)"
        )
        bounds = np.array(found.fetchall(), dtype=float)
    assert len(cells) == len(bounds)
    truth = find_truth(statistic, shape, cell)
    return float(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean())


def _draw_conditions(draw: np.random.Generator, shape: str, cell: str, count: int) -> list[Values]:
    sizes, levels = CELLS[cell]
    drawer = SHAPES[shape][0]
    return [level * drawer(draw, (count, size)) for size, level in zip(sizes, levels, strict=True)]


def _cover_quotients(draw: np.random.Generator, statistic: str, shape: str, cell: str) -> float:
    """Return the coverage of a ratio whose truth is 2."""
    first = _draw_conditions(draw, shape, cell, QUOTIENTS_COUNT)
    second = [half / 2 for half in _draw_conditions(draw, shape, cell, QUOTIENTS_COUNT)]
    if statistic == "pairs":
        # What one algorithm of a run has more than usual, the other lacks in part.
        mean = SHAPES[shape][1]
        second = [
            other - 0.2 * (one - level * mean) for one, other, level in zip(first, second, CELLS[cell][1], strict=True)
        ]
    runs = [*_list_runs(draw, "A", first, statistic), *_list_runs(draw, "B", second, statistic)]
    algorithm_runs = pl.concat(runs)  # noqa: F841 (the query reads it)
    with duckdb.connect() as connection:
        connection.execute(read_query("macros"))
        connection.execute("SET threads = 1; CREATE TABLE algorithm_runs AS FROM algorithm_runs")
        connection.execute(read_query("claims"))
        value = "retransmits" if statistic == "retransmits" else "rate"
        sides = ", ".join(f"list({value}) FILTER (algorithm = '{name}')" for name in "AB")
        found = connection.execute(f"SELECT quotient_of({sides}) FROM measured GROUP BY cell")
        quotients = [quotient for (quotient,) in found.fetchall()]
    assert len(quotients) == QUOTIENTS_COUNT
    return float(np.mean([quotient["low"] <= 2 <= quotient["high"] for quotient in quotients]))


def _list_runs(
    draw: np.random.Generator, algorithm: str, conditions: list[Values], statistic: str
) -> list[pl.DataFrame]:
    """Return the runs of all cells, condition by condition; those of pairs have the same names for both algorithms."""
    named = "" if statistic == "pairs" else algorithm
    frames = []
    for number, values in enumerate(conditions):
        count, size = values.shape
        # Of retransmit ratios of 1 % the values are the ratios, of runs that sent up to three times as much as others.
        segments = 1e6 * draw.uniform(0.5, 1.5, values.size)
        frames.append(
            pl.DataFrame(
                {
                    "cell": np.repeat(np.arange(count), size),
                    "place": np.tile(np.arange(size), count),
                    "goodput_bps": values.ravel(),
                    "retransmits_count": values.ravel() * segments / 100,
                    "segments_count": segments,
                }
            ).with_columns(
                algorithm=pl.lit(algorithm),
                condition_id=pl.format("{}/{}{}", "cell", pl.lit(number), pl.lit(named)),
                run_id=pl.format("{}/{}{}/{}", "cell", pl.lit(number), pl.lit(named), "place"),
                throughput_bps=pl.lit(None, pl.Float64),
                bottleneck_bps=pl.lit(None, pl.Float64),
                nic_bps=pl.lit(None, pl.Float64),
                path_class=pl.lit("testbed"),
                purpose=pl.lit("steady"),
                is_counted=pl.lit(value=True),
            )
        )
    return frames


def format_coverage(found: list[Coverage]) -> list[str]:
    """Return the lines of the methods page's table: percentages of simulated cells."""
    header = f"| Interval of | Runs | {' | '.join(CELLS)} |"
    rows = [
        f"| {name} | {shape} | "
        + " | ".join(f"{100 * one.share:.0f}" for one in found if (one.statistic, one.shape) == (statistic, shape))
        + " |"
        for statistic, name in NAMES.items()
        for shape in SHAPES
    ]
    return [header, f"|---|---|{'--:|' * len(CELLS)}", *rows]
