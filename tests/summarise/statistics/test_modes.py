import random

import polars as pl
import pytest

from ccreport.summarise.statistics.modes import (
    REFERENCES,
    add_modes,
    assign_modes,
    describe_modes,
    find_modes,
    list_references,
    measure_dunn,
    separate_parts,
)


def draw(count: int, seed: int = 1) -> list[float]:
    generator = random.Random(seed)  # noqa: S311 (data of a test)
    return [generator.gauss(0.9, 0.03) for _ in range(count)]


def test_three_of_35_runs_far_below_the_others_are_a_mode() -> None:
    values = draw(32)
    values[5:5] = [0.02, 0.03]
    values.append(0.01)
    assert [len(mode) for mode in find_modes(values)] == [3, 32]
    assert [place for place, number in enumerate(assign_modes(values)) if number == 0] == [5, 6, 34]


def test_one_mode_is_not_split() -> None:
    # By construction at most 1 of 100 uniform samples, and fewer normal ones: 18 of these 1800.
    generator = random.Random(2)  # noqa: S311 (data of a test)
    split = [
        len(find_modes([draw_one() for _ in range(count)])) > 1
        for draw_one in (generator.random, lambda: generator.gauss(1, 0.2), lambda: generator.gauss(1, 0.01))
        for count in (5, 10, 35)
        for _ in range(200)
    ]
    assert sum(split) <= 18


def test_three_modes_are_found() -> None:
    values = [0.10, 0.11, 0.50, 0.51, 0.49, 0.90, 0.91, 0.92, 0.905, 0.915]
    assert [len(mode) for mode in find_modes(values)] == [2, 3, 5]
    assert assign_modes(values) == [0, 0, 1, 1, 1, 2, 2, 2, 2, 2]


def test_dunns_index_is_the_smallest_gap_over_the_largest_range() -> None:
    # Gaps 3 (from 2 to 5) and 4 (from 6 to 10); ranges 1, 1 and 2.
    assert measure_dunn([[1, 2], [5, 6], [10, 12]]) == pytest.approx(3 / 2)
    assert measure_dunn([[1, 2, 3]]) == 0.0


def test_parts_are_cut_at_the_largest_gaps_but_leave_no_run_alone() -> None:
    assert separate_parts([1, 2, 5, 6, 10, 12]) == [[1, 2], [5, 6], [10, 12]]
    # The largest gap, from 4 to 20, leaves 20 alone.
    assert separate_parts([1, 2, 3, 4, 20]) == [[1, 2, 3, 4, 20]]


def test_a_single_run_far_away_is_an_outlier_and_no_mode() -> None:
    assert len(find_modes([*draw(34), 0.01])) == 1


def test_few_runs_have_modes_only_where_they_lie_very_far_apart() -> None:
    # 2 and 3 runs: gap 0.1 over range 0.05 is 2, which chance exceeds in more than 1 of 100 samples of five.
    assert len(find_modes([0.5, 0.55, 0.65, 0.66, 0.7])) == 1
    assert len(find_modes([0.1, 0.105, 0.9, 0.902, 0.904])) == 2
    assert len(find_modes([0.1, 0.1, 0.9])) == 1


def test_runs_that_repeat_exactly_are_modes_only_where_the_gap_matters() -> None:
    assert find_modes([1.0, 1.0, 1.0, 1.05, 1.05, 1.05]) == [[1.0, 1.0, 1.0, 1.05, 1.05, 1.05]]
    assert describe_modes([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]) == (2, "3 + 3", "1.000 / 2.000", None, 0.0)


@pytest.mark.parametrize("values", [[], [0.5], [0.5, 0.5], [0.5] * 20, [0.0] * 5])
def test_nothing_to_separate_is_one_mode(values: list[float]) -> None:
    assert find_modes(values) == [sorted(values)]
    assert describe_modes(values) == (1, None, None, None, None)


def test_references_are_always_the_same() -> None:
    first = list_references(7)
    list_references.cache_clear()
    assert list_references(7) == first
    assert len(first) == REFERENCES
    assert first == sorted(first)


def test_cells_lose_their_samples_and_gain_what_was_found() -> None:
    low, high = [0.1, 0.104], [0.9, 0.902, 0.904]
    cells = pl.DataFrame({"job": ["a", "b"], "outcomes": [low + high, [0.5] * 5], "run_ids": [list("abcde")] * 2})
    found = add_modes(cells)
    assert found.columns == ["job", "modes_count", "runs_by_mode", "means_by_mode", "dunn_ratio", "chance_ratio"]
    # The gap 0.9 - 0.104 over the range 0.004.
    assert found.row(0)[:5] == ("a", 2, "2 + 3", "0.102 / 0.902", pytest.approx(0.796 / 0.004))
    assert found.row(1) == ("b", 1, None, None, None, None)


def test_no_cells_are_no_rows() -> None:
    schema = {"job": pl.String, "outcomes": pl.List(pl.Float64), "run_ids": pl.List(pl.String)}
    assert add_modes(pl.DataFrame(schema=schema)).height == 0
