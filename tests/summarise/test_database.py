import ast
import random
import re
import statistics
from pathlib import Path
from typing import Any

import duckdb
import pytest
from archives import ROOT
from condition_runs import build_database, gather, make_run

from ccreport.core.declarations import read_query
from ccreport.core.declared_files import DeclarationError
from ccreport.core.evaluation import list_evaluations, load_evaluation, resolve_evaluation
from ccreport.summarise.algorithm_names import name_algorithms
from ccreport.summarise.database import (
    connect,
    create_views,
    label_runs,
    quote_name,
    quote_text,
    read_files,
)
from ccreport.summarise.view_columns import ARCHIVE, write_empty_tables

EVALUATION = {"rtt_bucket_edges_ms": [0, 30], "labels": {}}
CLOCKS = {"v": "virtual", "r": "real", "n": None}


@pytest.fixture(scope="module")
def macros() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(read_query("macros"))
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
    assert [cell(macros, name, strata) for name in ("cv", "within_cv", "interval", "cv_interval")] == [None] * 4


def test_conditions_of_one_run_each_have_no_interval(macros: duckdb.DuckDBPyConnection) -> None:
    strata = [[5.0], [9.0]]
    assert cell(macros, "cv", strata) == pytest.approx(8**0.5 / 7)
    assert [cell(macros, name, strata) for name in ("within_cv", "interval")] == [None] * 2


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
    runs = f"SELECT {rtt}::DOUBLE AS rtt_ms, 'both' AS mode, NULL AS cc_list, NULL AS rtt_source"
    query = label_runs(runs, EVALUATION | {"rtt_bucket_edges_ms": edges})
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
    runs = "SELECT unnest([1, 2, 3]) AS x, 10.0 AS rtt_ms, 'cubic' AS mode, NULL AS cc_list, NULL AS rtt_source"
    query = label_runs(runs, EVALUATION | {"labels": labels})
    assert duckdb.sql(f"SELECT kind, kind_rank, again, sharing FROM ({query}) ORDER BY x").fetchall() == [
        ("a 'quoted' one", 99, "A 'QUOTED' ONE", "alone"),
        ("second", 1, "SECOND", "alone"),
        ("rest 3", 50, "REST 3", "alone"),
    ]


def test_a_label_of_several_cases_has_one_rank() -> None:
    cases = [{"value": "a", "when": "x = 1"}, {"value": "b", "when": "x = 2"}, {"value": "a", "when": "x = 3"}]
    labels = {"kind": {"cases": cases, "otherwise": "'b'", "otherwise_rank": 50}}
    runs = "SELECT unnest([1, 2, 3, 4]) AS x, 10.0 AS rtt_ms, 'cubic' AS mode, NULL AS cc_list, NULL AS rtt_source"
    query = label_runs(runs, EVALUATION | {"labels": labels})
    ranked = duckdb.sql(f"SELECT kind, kind_rank FROM ({query}) ORDER BY x").fetchall()
    assert ranked == [("a", 0), ("b", 1), ("a", 0), ("b", 1)]


def test_the_first_member_held_goes_by_the_groups_name() -> None:
    groups = {"BBR": {"members": ["bbr2", "bbr"]}, "CUBIC": {"members": ["cubic"]}}
    assert name_algorithms(["bbr", "cubic", "reno"], groups) == [
        ("bbr", "BBR", 0),
        ("cubic", "CUBIC", 1),
        ("reno", "reno", 2),
    ]
    assert name_algorithms(["bbr", "bbr2"], groups) == [("bbr", "bbr", 2), ("bbr2", "BBR", 0)]
    # Nor does a group take in the algorithm whose name it has.
    other = {"bbr": {"members": ["bbr2"]}}
    assert name_algorithms(["bbr", "bbr2"], other) == [("bbr", "bbr (kernel)", 1), ("bbr2", "bbr", 0)]


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
        ("title: x", "e.yaml: `algorithms` is missing"),
        ("title: [", "e.yaml:1: not YAML: "),
        (
            "{title: x, algorithms: {B: {members: []}}, labels: {}, tables: {}}",
            "e.yaml:1: algorithms.B.members: is empty",
        ),
        (
            "{title: x, algorithms: {B: {members: [b]}}, labels: {}, tables: {}, extra: 1}",
            "e.yaml:1: `extra` is not a key; there are algorithm_names, algorithms, ",
        ),
    ],
)
def test_a_broken_evaluation_says_where(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(text)
    with pytest.raises(DeclarationError) as caught:
        load_evaluation(path)
    assert message in str(caught.value)


class Read(dict[str, Any]):
    """What an evaluation declares, with the keys that were asked for."""

    def __init__(self, declared: dict[str, Any]) -> None:
        super().__init__(declared)
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)


@pytest.mark.slow
def test_the_database_is_made_anew_after_a_change_of_any_part_that_its_views_read(tmp_path: Path) -> None:
    rules = (ROOT / "rules/evaluations.smk").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^VIEWED_PARTS = (\(.*?\n\))", rules, re.MULTILINE | re.DOTALL)
    write_empty_tables(tmp_path)
    asked: set[str] = set()
    for name in list_evaluations():
        declared = Read(load_evaluation(resolve_evaluation(name)))
        with duckdb.connect() as connection:
            create_views(connection, [ARCHIVE], tmp_path, declared)
        asked |= declared.asked
    assert asked == set(ast.literal_eval(listed))


def test_a_run_in_virtual_time_has_no_processor_load(tmp_path: Path) -> None:
    load = {"cpu_host_total_pct": 2.0, "cpu_remote_total_pct": 3.0}
    runs = [
        make_run(number, {"cubic": 1.0}, session=session, **load)
        for number, session in enumerate(["v", "r", "n", None])
    ]
    sessions = [{"experiment_id": session, "session": session, "clock": clock} for session, clock in CLOCKS.items()]
    with connect(build_database(tmp_path, gather(*runs, {"sessions": sessions}))) as database:
        for view in ("labelled_runs", "algorithm_runs"):
            loads = database.execute(f"SELECT session, {', '.join(load)} FROM {view} ORDER BY ALL")
            assert loads.fetchall() == [("n", 2.0, 3.0), ("r", 2.0, 3.0), ("v", None, None), (None, 2.0, 3.0)]


@pytest.mark.slow
def test_measured_rtts_of_a_path_are_one(tmp_path: Path) -> None:
    def list_rtts(folder: str, *facts: dict[str, Any]) -> list[float]:
        (tmp_path / folder).mkdir()
        runs = [make_run(number, {"cubic": 1.0}, **{"rtt_source": "ss"} | one) for number, one in enumerate(facts)]
        with connect(build_database(tmp_path / folder, gather(*runs))) as database:
            told, of_algorithms = (
                [rtt_ms for (rtt_ms,) in database.sql(f"SELECT rtt_ms FROM {view} ORDER BY run_id").fetchall()]
                for view in ("labelled_runs", "algorithm_runs")
            )
        assert told == of_algorithms
        return told

    # 20.14 to two digits; another bottleneck is another path, and what is declared or pinged stays as it is.
    measured = [{"rtt_ms": 20.14}, {"rtt_ms": 20.9, "flows_count": 4}, {"rtt_ms": 23.0, "bottleneck_bps": 5e7}]
    declared = [{"rtt_ms": 21.44, "rtt_source": source} for source in ("nominal", "ping")]
    assert list_rtts("far", *measured, *declared) == [20, 20, 23, 21.44, 21.44]
    # Two paths that nothing else tells apart; but what only CUBIC sees may be its queue.
    both = [{"rtt_ms": rtt_ms, "mode": mode} for mode in ("cubic", "bbr") for rtt_ms in (10.04, 10.3, 80.2, 84.0)]
    assert list_rtts("two", *both) == [10, 10, 80, 80] * 2
    queued = [{"rtt_ms": rtt_ms, "mode": mode} for mode, rtt_ms in (("cubic", 31.0), ("cubic", 43.0), ("bbr", 10.2))]
    assert list_rtts("queue", *queued) == [10, 10, 10]
    # Loopback, on which the sizes of numbers are chance, whatever the bottleneck.
    near = [{"rtt_ms": 0.0044}, {"rtt_ms": 0.0071}, {"rtt_ms": 0.002, "bottleneck_bps": 5e7}]
    assert list_rtts("near", *near) == [0.002, 0.002, 0.002]


def test_forward_runs_are_called_so_beside_others_only(tmp_path: Path) -> None:
    def list_parameters(folder: str, *parameters: tuple[str | None, str | None]) -> list[tuple[str | None, str | None]]:
        (tmp_path / folder).mkdir()
        facts = [dict(zip(("parameter_name", "parameter_value"), pair, strict=True)) for pair in parameters]
        runs = [make_run(number, {"cubic": 1.0}, **one) for number, one in enumerate(facts)]
        with connect(build_database(tmp_path / folder, gather(*runs))) as database:
            told, of_algorithms = (
                database.sql(f"SELECT parameter_name, parameter_value FROM {view} ORDER BY run_id").fetchall()
                for view in ("labelled_runs", "algorithm_runs")
            )
        assert told == of_algorithms
        return told

    forward = [(None, None), ("beta", "717"), ("direction", "up")]
    assert list_parameters("forward", *forward) == forward
    reverse, both = ("beta, direction", "717, reverse"), ("direction", "both")
    named = [("direction", "forward"), ("beta, direction", "717, forward"), ("direction", "up")]
    assert list_parameters("mixed", *forward, reverse, both) == [*named, reverse, both]
