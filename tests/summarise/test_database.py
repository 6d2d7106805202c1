import hashlib
import itertools
import random
import statistics
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ccreport.database import SQL, label_runs, name_algorithms, quote_name, quote_text, read_files
from ccreport.evaluation import EvaluationError, load_evaluation

EVALUATION = {"rtt_bucket_edges_ms": [0, 30], "labels": {}}


@pytest.fixture(scope="module")
def macros() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute((SQL / "macros.sql").read_text())
    return connection


def cell(macros: duckdb.DuckDBPyConnection, name: str, strata: list[list[float]]) -> Any:
    row = macros.execute(f"SELECT cell_{name}($1::DOUBLE[][])", [strata]).fetchone()
    assert row is not None
    return row[0]


def test_statistics_of_a_cell_by_hand(macros: duckdb.DuckDBPyConnection) -> None:
    # Two conditions: 9, 11 and 18, 22. Pooled: mean 15, squared deviations 36 + 16 + 9 + 49 = 110, / 3 = 36.667.
    strata = [[9.0, 11.0], [18.0, 22.0]]
    assert cell(macros, "count", strata) == 4
    assert cell(macros, "mean", strata) == 15
    assert cell(macros, "cv", strata) == pytest.approx(36.6667**0.5 / 15, rel=1e-5)
    # Within: sqrt(2) / 10 and sqrt(8) / 20 are both 0.141421; the pooled CV is three times that.
    assert cell(macros, "within_cv", strata) == pytest.approx(0.141421, rel=1e-5)


def test_a_cell_of_one_run_has_a_mean_and_nothing_else(macros: duckdb.DuckDBPyConnection) -> None:
    strata = [[5.0]]
    assert (cell(macros, "mean", strata), cell(macros, "count", strata)) == (5, 1)
    assert [cell(macros, name, strata) for name in ("cv", "within_cv", "interval")] == [None] * 3


def test_conditions_of_one_run_each_have_no_interval(macros: duckdb.DuckDBPyConnection) -> None:
    strata = [[5.0], [9.0]]
    assert cell(macros, "cv", strata) == pytest.approx(8**0.5 / 7)
    assert [cell(macros, name, strata) for name in ("within_cv", "interval")] == [None] * 2


def test_the_interval_is_near_the_normal_one(macros: duckdb.DuckDBPyConnection) -> None:
    # 20 values 0, 1, … 19: mean 9.5; a bootstrap mean has variance 33.25 / 20, so ± 1.96 · 1.2894 = 2.527.
    strata = [[float(value) for value in range(20)]]
    assert cell(macros, "interval", strata) == pytest.approx([9.5 - 2.53, 9.5 + 2.53], abs=0.3)


def hash_place(k: object, i: int) -> int:
    """Return the number of place i of condition k in plain arithmetic: the lowest 31 bits of the MD5 of its name."""
    digest = hashlib.md5(f"{k}/{i}".encode(), usedforsecurity=False).digest()
    # DuckDB takes the last eight bytes for the lower half, the least of them first.
    return int.from_bytes(digest[8:], "little") % 2**31


def draw_indices(b: int, k: object, n: int) -> list[int]:
    """Return which of the n runs of condition k, from 0, resample b draws for each of their places."""
    drawn = []
    for i in range(n):
        product = hash_place("resample", b) * hash_place(k, i)
        mixed = product // 2**15 % 2**31 * 1597334677 // 2**15 % 2**31
        drawn.append(n * mixed // 2**31)
    return drawn


def draw_all(macros: duckdb.DuckDBPyConnection, k: int, size: int, places: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return which of the runs of condition k, from 0, each resample (a row) draws for each place (a column)."""
    query = """
        SELECT list_transform(range($3), lambda i: drawn_index(resample, drawn_number($1, i), $2) - 1)
        FROM (SELECT unnest(drawn_resamples()) AS resample)
    """
    return np.array([row[0] for row in macros.execute(query, [k, size, places]).fetchall()])


def test_the_draws_are_those_of_plain_arithmetic(macros: duckdb.DuckDBPyConnection) -> None:
    for b, k, n in ((0, 1, 3), (999, 7, 5), (12, 2_147_483_646, 40)):
        assert draw_all(macros, k, n, n)[b].tolist() == draw_indices(b, k, n)
    # The strata are conditions 1 and 2; an interval reaches the 2.5 % and 97.5 % of 1000 means, between two of them.
    strata = [[1.0, 2.0, 4.0], [10.0, 20.0]]
    means = []
    for b in range(1000):
        drawn = []
        for k, values in enumerate(strata, 1):
            drawn += [values[index] for index in draw_indices(b, k, len(values))]
        means.append(statistics.mean(drawn))
    low, high = cell(macros, "interval", strata)
    cuts = statistics.quantiles(means, n=40, method="inclusive")
    assert (low, high) == pytest.approx((cuts[0], cuts[-1]))


def test_each_resample_has_a_number_of_its_own(macros: duckdb.DuckDBPyConnection) -> None:
    # Means are grouped by it.
    assert macros.execute("SELECT len(list_distinct(drawn_resamples()))").fetchone() == (1000,)


@pytest.mark.parametrize("size", [2, 3, 7, 20, 100])
def test_the_draws_are_even_and_independent(macros: duckdb.DuckDBPyConnection, size: int) -> None:
    # Far beyond what chance does: 5 standard deviations.
    for k in range(1, 11):
        drawn = draw_all(macros, k, size, size)
        counts = np.bincount(drawn.ravel(), minlength=size)
        squares = float((((counts - 1000) ** 2) / 1000).sum())
        assert abs(squares - (size - 1)) < 5 * (2 * (size - 1)) ** 0.5 + 5
        centred = drawn - (size - 1) / 2
        variance = (size**2 - 1) / 12
        for one, other in ((centred[:, :-1], centred[:, 1:]), (centred[:-1], centred[1:])):
            assert abs(float((one * other).mean()) / variance) * one.size**0.5 < 5


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_two_places_draw_is_independent(macros: duckdb.DuckDBPyConnection, k: int) -> None:
    # Chi-square of the 100 outcomes, each expected 10 times: 99 with a standard deviation of 14.
    # Of 200 places the product of the numbers alone, not mixed further, has pairs between 260 and 4,300.
    size = 10
    drawn = draw_all(macros, k, size, 200)
    for one, other in itertools.combinations(drawn.T, 2):
        counts = np.bincount(size * one + other, minlength=size**2)
        assert float((((counts - 10) ** 2) / 10).sum()) < 99 + 8 * 14


def test_the_interval_is_stratified(macros: duckdb.DuckDBPyConnection) -> None:
    # Each condition is constant: whatever is drawn, the mean is 15, though the cell's CV is large.
    strata = [[10.0] * 5, [20.0] * 5]
    assert cell(macros, "interval", strata) == [15, 15]


@pytest.mark.parametrize("seed", range(20))
def test_mean_and_cv_agree_with_the_standard_library(macros: duckdb.DuckDBPyConnection, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 (no secret)
    strata = [[draw.uniform(1, 10**seed) for _ in range(draw.randint(2, 5))] for _ in range(draw.randint(1, 3))]
    values = [value for stratum in strata for value in stratum]
    assert cell(macros, "mean", strata) == pytest.approx(statistics.mean(values))
    assert cell(macros, "cv", strata) == pytest.approx(statistics.stdev(values) / statistics.mean(values))


@pytest.mark.parametrize(
    ("edges", "rtt", "bucket"),
    [
        ([0, 30], "29.99", "RTT < 30 ms"),
        ([0, 30], "30", "RTT ≥ 30 ms"),
        ([0, 30], "0", "RTT < 30 ms"),
        ([0, 10, 50], "10", "RTT 10–50 ms"),
        ([0, 10, 50], "5", "RTT < 10 ms"),
        ([0, 10, 50], "50", "RTT ≥ 50 ms"),
        ([20], "3", "RTT < 20 ms"),
        ([0, 30], "NULL", "RTT unknown"),
    ],
)
def test_a_value_at_an_edge_is_in_the_bucket_above_it(edges: list[float], rtt: str, bucket: str) -> None:
    query = label_runs(f"SELECT {rtt}::DOUBLE AS rtt_ms, 'both' AS mode", EVALUATION | {"rtt_bucket_edges_ms": edges})
    assert duckdb.sql(f"SELECT rtt_bucket, sharing FROM ({query})").fetchall() == [(bucket, "both")]


def test_the_first_case_that_holds_gives_the_label() -> None:
    labels = {
        "kind": {
            "cases": [{"value": "a 'quoted' one", "when": "x = 1", "rank": 99}, {"value": "second", "when": "x <= 2"}],
            "otherwise": "'rest ' || x",
            "otherwise_rank": 50,
        },
        "again": {"cases": [], "otherwise": "upper(kind)", "otherwise_rank": 0},
    }
    query = label_runs(
        "SELECT unnest([1, 2, 3]) AS x, 10.0 AS rtt_ms, 'cubic' AS mode", EVALUATION | {"labels": labels}
    )
    assert duckdb.sql(f"SELECT kind, kind_rank, again, sharing FROM ({query}) ORDER BY x").fetchall() == [
        ("a 'quoted' one", 99, "A 'QUOTED' ONE", "alone"),
        ("second", 1, "SECOND", "alone"),
        ("rest 3", 50, "REST 3", "alone"),
    ]


def test_the_first_member_held_goes_by_the_groups_name() -> None:
    groups = {"BBR": {"members": ["bbr2", "bbr"]}, "CUBIC": {"members": ["cubic"]}}
    assert name_algorithms(["bbr", "cubic", "reno"], groups) == [
        ("bbr", "BBR", 0),
        ("cubic", "CUBIC", 1),
        ("reno", "reno", 2),
    ]
    assert name_algorithms(["bbr", "bbr2"], groups) == [("bbr", "bbr", 2), ("bbr2", "BBR", 0)]


@pytest.mark.parametrize("text", ["plain", "it's", 'say "x"', "'; DROP TABLE runs; --", "\\", "\n", "$1", "ü%_"])
def test_texts_and_names_are_quoted(text: str) -> None:
    assert duckdb.sql(f"SELECT {quote_text(text)}").fetchall() == [(text,)]
    assert duckdb.sql(f"SELECT 1 AS {quote_name(text)}").columns == [text]


def test_a_results_folder_may_be_called_anything(tmp_path: Path) -> None:
    folder = tmp_path / "it's [a] *?"
    folder.mkdir()
    path = folder / "t.parquet"
    duckdb.sql("SELECT 7 AS x").write_parquet(str(tmp_path / "t.parquet"))
    (tmp_path / "t.parquet").rename(path)
    assert duckdb.sql(read_files([path])).fetchall() == [(7,)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title: x", "e.yaml, the top level: 'algorithms' is a required property"),
        ("title: [", "e.yaml is no YAML"),
        ("{title: x, algorithms: {B: {members: []}}, labels: {}, tables: {}}", "algorithms.B.members"),
        ("{title: x, algorithms: {B: {members: [b]}}, labels: {}, tables: {}, extra: 1}", "'extra' was unexpected"),
    ],
)
def test_a_broken_evaluation_says_where(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(text)
    with pytest.raises(EvaluationError) as caught:
        load_evaluation(path)
    assert message in str(caught.value)
