"""The representative run of a condition: worked out by hand."""

import math
from itertools import permutations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccreport.summarise.statistics.representative import choose_representatives


def make_rates(rows: list[tuple[int, str, float | None, float | None]], condition: str = "c") -> pl.DataFrame:
    """Return the input of one condition from (iteration, cc, rate in bit/s, retransmit ratio of the run)."""
    return pl.DataFrame(
        [
            {
                "run_id": f"{condition}-{iteration}",
                "condition_id": condition,
                "iteration": iteration,
                "cc": cc,
                "rate_bps": rate,
                "retransmit_ratio": ratio,
            }
            for iteration, cc, rate, ratio in rows
        ],
        schema_overrides={"rate_bps": pl.Float64, "retransmit_ratio": pl.Float64},
    )


def choose(rates: pl.DataFrame) -> list[str]:
    return choose_representatives(rates)["run_id"].to_list()


def test_medoid_of_one_coordinate_and_a_tie() -> None:
    # Ratios are equal: their MAD is 0 and they are dropped. Rates: median 25, deviations 15 5 5 75, MAD 10, so the
    # runs stand at 1 2 3 10. Sums of distances: 1+2+9 = 12, 1+1+8 = 10, 2+1+7 = 10, 9+8+7 = 24. 2 and 3 are tied.
    rates = make_rates(
        [(1, "cubic", 10, 0.01), (2, "cubic", 20, 0.01), (3, "cubic", 30, 0.01), (4, "cubic", 100, 0.01)]
    )
    assert choose(rates) == ["c-2"]


def test_each_coordinate_is_scaled_by_its_own_mad() -> None:
    # Rates 10 20 30: MAD 10 → 1 2 3. Ratios 0.001 0.009 0.002: median 0.002, deviations 0.001 0.007 0, MAD 0.001
    # → 1 9 2. Distances: 1–2 √65 = 8.06, 1–3 √5 = 2.24, 2–3 √50 = 7.07; sums 10.30, 15.13, 9.31. By the rate alone, or
    # without scaling, iteration 2 would be in the middle.
    rates = make_rates([(1, "bbr", 10, 0.001), (2, "bbr", 20, 0.009), (3, "bbr", 30, 0.002)])
    assert choose(rates) == ["c-3"]


def test_rate_of_every_algorithm_is_a_coordinate() -> None:
    # CUBIC 1 2 3 (MAD 1), BBR 30 90 20: median 30, deviations 0 60 10, MAD 10 → 3 9 2; no run has a ratio.
    # Distances: 1–2 √(1+36) = 6.08, 1–3 √(4+1) = 2.24, 2–3 √(1+49) = 7.07; sums 8.32, 13.15, 9.31.
    rows = [(1, "cubic", 1.0, None), (2, "cubic", 2.0, None), (3, "cubic", 3.0, None)]
    rows += [(1, "bbr", 30.0, None), (2, "bbr", 90.0, None), (3, "bbr", 20.0, None)]
    assert choose(make_rates(rows)) == ["c-1"]


def test_single_iteration_stands_for_itself() -> None:
    assert choose(make_rates([(7, "cubic", 10, None)])) == ["c-7"]


def test_iterations_that_are_all_alike_are_tied_by_number_not_by_text() -> None:
    assert choose(make_rates([(10, "cubic", 5, 0.1), (9, "cubic", 5, 0.1), (11, "cubic", 5, 0.1)])) == ["c-9"]


def test_two_iterations_are_tied() -> None:
    assert choose(make_rates([(2, "cubic", 1, 0.1), (1, "cubic", 9, 0.3)])) == ["c-1"]


def test_run_that_lacks_a_coordinate_is_no_candidate() -> None:
    # Of iterations 1, 3 and 4 (2 has no ratio) the rates are 10 30 12: 12 is in the middle; the ratios are equal.
    rates = make_rates([(1, "cubic", 10, 0.1), (2, "cubic", 12, None), (3, "cubic", 30, 0.1), (4, "cubic", 12, 0.1)])
    assert choose(rates) == ["c-4"]


def test_coordinates_with_gaps_are_dropped_where_every_run_has_one() -> None:
    # Neither run has both a rate and a ratio: nothing is left to compare, the lowest iteration stands for them.
    assert choose(make_rates([(1, "cubic", None, 0.1), (2, "cubic", 12, None)])) == ["c-1"]


def test_each_condition_has_one() -> None:
    rates = pl.concat(
        [make_rates([(1, "cubic", 5, 0.1)], "b"), make_rates([(3, "bbr", 5, 0.1), (2, "bbr", 5, 0.1)], "a")]
    )
    assert choose_representatives(rates).rows() == [("a", "a-2", 2), ("b", "b-1", 1)]


def test_nothing_gives_nothing() -> None:
    assert choose_representatives(make_rates([(1, "cubic", 1, 0.1)]).clear()).columns == [
        "condition_id",
        "run_id",
        "runs_count",
    ]


def test_algorithm_may_be_called_like_a_column() -> None:
    assert choose(make_rates([(1, "run_id", 1, 0.1), (1, "iteration", 2, 0.1)])) == ["c-1"]


def test_ratio_is_of_the_run() -> None:
    with pytest.raises(ValueError, match="more than one retransmit ratio: \\['c-1'\\]"):
        choose_representatives(make_rates([(1, "cubic", 1, 0.1), (1, "bbr", 1, 0.2)]))


points = st.lists(
    st.tuples(st.floats(1, 1e10, allow_subnormal=False), st.floats(0, 0.3, allow_subnormal=False)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40, deadline=None)
@given(points, st.sampled_from([1.0, 0.125, 1024.0]))
def test_choice_minimises_the_distances_whatever_the_unit(values: list[tuple[float, float]], unit: float) -> None:
    rates = make_rates([(number, "cubic", rate * unit, ratio) for number, (rate, ratio) in enumerate(values)])
    (chosen,) = choose(rates)

    def scale(coordinate: list[float]) -> list[float]:
        def median(numbers: list[float]) -> float:
            ordered = sorted(numbers)
            middle = len(ordered) // 2
            return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

        mad = median([abs(number - median(coordinate)) for number in coordinate])
        return [number / mad for number in coordinate] if mad > 1e-12 * max(coordinate) else [0.0] * len(coordinate)

    scaled = list(zip(*(scale(list(coordinate)) for coordinate in zip(*values, strict=True)), strict=True))
    sums = [0.0] * len(scaled)
    for one, other in permutations(range(len(scaled)), 2):
        sums[one] += math.dist(scaled[one], scaled[other])
    assert sums[int(chosen.removeprefix("c-"))] == pytest.approx(min(sums), rel=1e-6)
