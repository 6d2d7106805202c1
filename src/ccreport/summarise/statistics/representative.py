"""Which iteration represents a condition: the run that a figure draws where the others are only a band.

It is the medoid of the condition's iterations: the run with the smallest sum of distances to the others. A run is a
point whose coordinates are the rate of each algorithm and the retransmit ratio of the run, each divided by its MAD
(median absolute deviation from the median) over the iterations; distances are Euclidean. A medoid is a run that was
measured, which a mean is not, and the MAD keeps one odd iteration from setting the scale.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

Coordinates = npt.NDArray[np.float64]

# Sums of the same distances in another order differ by rounding only; such runs are tied.
TIE_TOLERANCE: Final = 1e-9
# A MAD this small beside the values themselves is 0 but for rounding.
ZERO_MAD: Final = 1e-12


def choose_representatives(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the representative run of every condition.

    `rates` has one row per run and algorithm: run_id, condition_id, iteration, cc, rate_bps, and the retransmit_ratio
    of the whole run. The result has condition_id, run_id and runs_count (iterations to choose from), sorted by
    condition_id. A coordinate whose MAD is 0 is dropped, ties go to the lowest iteration (then run_id), and a single
    iteration represents itself. A run that lacks a coordinate (null) which others have is not a candidate while some
    run has all of them. Raise ValueError if a run has several retransmit ratios.
    """
    _check_ratios(rates)
    chosen = [
        {
            "condition_id": condition.item(0, "condition_id"),
            "run_id": _choose_medoid(condition),
            "runs_count": condition["run_id"].n_unique(),
        }
        for condition in rates.partition_by("condition_id")
    ]
    schema = {"condition_id": pl.String(), "run_id": pl.String(), "runs_count": pl.Int64()}
    return pl.DataFrame(chosen, schema=schema).sort("condition_id")


def _check_ratios(rates: pl.DataFrame) -> None:
    ratios = rates.group_by("run_id").agg(pl.col("retransmit_ratio").n_unique())
    several = ratios.filter(pl.col("retransmit_ratio") > 1)["run_id"].sort().to_list()
    if several:
        raise ValueError(f"runs with more than one retransmit ratio: {several}")


def _choose_medoid(condition: pl.DataFrame) -> str:
    ratios = condition.group_by("run_id", "iteration").agg(pl.col("retransmit_ratio").first())
    coordinate = pl.format("rate of {}", "cc").alias("coordinate")
    by_algorithm = condition.with_columns(coordinate).pivot("coordinate", index="run_id", values="rate_bps")
    runs = ratios.join(by_algorithm, on="run_id").sort("iteration", "run_id", nulls_last=True)
    points = runs.drop("run_id", "iteration").cast(pl.Float64()).to_numpy()
    complete = _find_complete(points)
    distances = _sum_distances(_scale_by_mad(points[np.ix_(*complete)]))
    first = int(np.flatnonzero(distances <= distances.min() * (1 + TIE_TOLERANCE))[0])
    run_id: str = runs.item(int(complete[0][first]), "run_id")
    return run_id


def _find_complete(points: Coordinates) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the rows (runs) and columns (coordinates) that are compared, none of whose values is missing."""
    known = np.isfinite(points)
    measured = known.any(axis=0)
    complete = known[:, measured].all(axis=1)
    if complete.any():
        return np.flatnonzero(complete), np.flatnonzero(measured)
    return np.arange(len(points)), np.flatnonzero(known.all(axis=0))


def _scale_by_mad(points: Coordinates) -> Coordinates:
    mads = np.median(np.abs(points - np.median(points, axis=0)), axis=0)
    spread = mads > ZERO_MAD * np.abs(points).max(axis=0)
    scaled: Coordinates = points[:, spread] / mads[spread]
    return scaled


def _sum_distances(points: Coordinates) -> Coordinates:
    differences = points[:, np.newaxis, :] - points[np.newaxis, :, :]
    distances: Coordinates = np.sqrt((differences**2).sum(axis=2)).sum(axis=1)
    return distances
