import functools
import json
import math
import re
import runpy
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from archives import ROOT, write_yaml
from condition_runs import build_database
from scipy import stats
from test_summarise import gather, run, summarise

from ccreport.compare.claims import check_claims, date_bounds, judge_claim, judge_claims, list_unexplained
from ccreport.core.declarations import load_yaml
from ccreport.core.declared_files import DeclarationError
from ccreport.core.evaluation import list_evaluations, load_evaluation, resolve_evaluation
from ccreport.core.tables import read_table
from ccreport.summarise.database import QueryError
from ccreport.summarise.view_columns import open_without_rows

EVALUATION = ROOT / "evaluations/esnet-dtn.yaml"
SHA256 = "ab" * 32
# BBR 40, 42, 44 (mean 42) and CUBIC 20, 21, 22 (mean 21) Mbit/s, alone, on one path of 50 Mbit/s.
STEADY = gather(
    *(
        run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a", bottleneck_bps=5e7)
        for n, rate in enumerate((40.0, 42.0, 44.0), 1)
    ),
    *(
        run(n, {"cubic": rate}, rtt_ms=10.0, condition_id="b", bottleneck_bps=5e7)
        for n, rate in enumerate((20.0, 21.0, 22.0), 4)
    ),
)
BBR_OVER_CUBIC = """
    SELECT quotient_of(list(rate) FILTER (algorithm = 'BBR'), list(rate) FILTER (algorithm = 'CUBIC'))
    FROM measured
"""


def bound(check: dict[str, Any]) -> dict[str, Any]:
    """Return a check that accepts any value where it has no bounds."""
    return check if {"word", "at_least", "at_most"} & check.keys() else check | {"at_least": -1e9}


def judge(
    folder: Path,
    claims: dict[str, list[dict[str, Any]]] | tuple[str, ...] | None,
    tables: dict[str, list[dict[str, Any]]] = STEADY,
    explanations: dict[str, Any] | None = None,
) -> pl.DataFrame:
    """Return the table of claims, made of these checks, or of those of the shipped evaluation: all, or the named."""
    declared = load_yaml(EVALUATION)
    if isinstance(claims, tuple):
        declared["claims"] = {name: declared["claims"][name] for name in claims}
    elif claims is not None:
        declared["claims"] = {
            name: {"text": "It is so.", "source": "here", "checks": [{"name": "c"} | bound(check) for check in checks]}
            for name, checks in claims.items()
        }
    evaluation = folder / "evaluation.yaml"
    write_yaml(evaluation, declared)
    database = build_database(folder, tables, evaluation)
    # Without the files of published tables, their views do.
    for table in ("table_2_testbed", "table_3_paths", "stability") if claims is None else ():
        summarise(table, database, evaluation)
    archive = folder / "archive.json"
    archive.write_text(json.dumps({"sha256": SHA256}))
    explained = []
    if explanations is not None:
        explained = [folder / "explanations.yaml"]
        write_yaml(explained[0], {"archive_sha256": SHA256} | explanations)
    parquet, csv = folder / "claims.parquet", folder / "claims.csv"
    judge_claims(evaluation, database, folder, archive, explained, parquet, csv)
    judged = read_table("claims", [parquet])
    assert pl.read_csv(csv, infer_schema=False).height == judged.height
    return judged


def explain(**claims: str) -> dict[str, Any]:
    return {"evaluations": {"evaluation": {"claims": claims}}}


def judge_rows(*checks: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what becomes of checks whose queries need no archive."""
    with duckdb.connect() as connection:
        return judge_claim(connection, "first", [{"name": "rate", "minimum_runs": 3} | check for check in checks])


def test_a_check_holds_within_its_bounds(tmp_path: Path) -> None:
    checks = [{"sql": BBR_OVER_CUBIC} | bounds for bounds in ({"at_least": 2}, {"at_most": 1.6}, {"at_least": 1.6}, {})]
    judged = judge(tmp_path, {"c": checks})
    assert judged["value"].to_list() == pytest.approx([2.0] * 4)
    assert judged["verdict"].to_list() == ["not enough data", "does not hold", "holds", "holds"]
    assert judged["runs_count"].to_list() == [3] * 4
    # Of both algorithms the mean's standard error is 2/√3 of 42, 2.7493 %, together √2 times that, 3.8881 %, with 4
    # degrees of freedom. Four checks: t at 1 - 0.025/4, which is 4.31480: e^(±0.167762).
    assert judged.select("low", "high").row(0) == pytest.approx((2 / 1.182654, 2 * 1.182654), rel=1e-4)


@pytest.mark.parametrize(
    ("time", "start", "is_before"),
    [
        ("2026-11-21T06:32:10Z", "2026-11-21T06:32:11+00:00", True),
        ("2026-11-21T06:32:10Z", "2026-11-21T06:32:09+00:00", False),
        ("2026-11-21T06:32:10Z", None, None),
        (None, "2026-11-21T06:32:11+00:00", None),
    ],
)
def test_bounds_are_set_before_or_after_the_first_run(time: str | None, start: str | None, is_before: bool) -> None:
    declared = {
        "bounds_set": {} if time is None else {"commit": "a" * 40, "time": time},
        "claims": {
            "c": {"bounds_set": {}},
            "own": {"bounds_set": {"commit": "b" * 40, "time": "2030-01-01T00:00:00Z"}},
        },
    }
    first_run = None if start is None else datetime.fromisoformat(start)
    dated = date_bounds(declared, "c", first_run)
    assert (dated["is_preregistered"], dated["bounds_commit"]) == (is_before, None if time is None else "a" * 40)
    # A claim whose bounds changed later says so itself.
    assert date_bounds(declared, "own", first_run)["is_preregistered"] is (None if start is None else False)


def test_the_first_run_is_the_archive_s(tmp_path: Path) -> None:
    starts = [datetime(2026, 11, 22, hour, tzinfo=UTC) for hour in (7, 5, 6)]
    tables = gather(*(run(n, {"bbr": 1.0}, start_utc=start) for n, start in enumerate(starts)))
    judged = judge(tmp_path, {"c": [{"sql": "SELECT 1 AS value, 3 AS n"}]}, tables)
    assert judged["first_run_utc"].to_list() == [starts[1]]


@pytest.mark.parametrize("name", list_evaluations())
def test_the_declared_commit_set_the_bounds(name: str, tmp_path: Path) -> None:
    def show(*what: str) -> str | None:
        command = ["git", "-C", str(ROOT), "show", *what]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return None if done.returncode else done.stdout

    @functools.cache
    def read_then(commit: str) -> tuple[Any, Any]:
        """Return what the words for numbers were, and the claims."""
        paths = [tmp_path / f"{commit}.py", tmp_path / f"{commit}.yaml"]
        for path, source in zip(paths, ("src/ccreport/core/words.py", f"evaluations/{name}.yaml"), strict=True):
            path.write_text(show(f"{commit}:{source}") or "", encoding="utf-8")
        return runpy.run_path(str(paths[0])), load_yaml(paths[1])["claims"]

    declared = load_evaluation(resolve_evaluation(name))
    for claim, facts in declared["claims"].items():
        bounds_set = facts["bounds_set"] or declared["bounds_set"]
        commit = bounds_set["commit"]
        time = show("--no-patch", "--format=%ct", commit)
        if time is None:
            pytest.skip("no history of the repository here")
        assert datetime.fromtimestamp(int(time), UTC) == datetime.fromisoformat(bounds_set["time"]), claim
        # Words were the numbers that they were then.
        words, claims = read_then(commit)
        assert [words["bound_check"](check) for check in claims[claim]["checks"]] == [
            {end: check[end] for end in ("at_least", "at_most") if end in check} for check in facts["checks"]
        ], f"{claim}: bounds changed; name the commit that did so in its bounds_set"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((1, 1), "holds"),
        ((1, 0), "does not hold"),
        (("NULL", 0), "does not hold"),
        (("NULL", 1), "not enough data"),
    ],
)
def test_a_claim_holds_if_all_its_checks_do(values: tuple[object, object], verdict: str) -> None:
    sql = "SELECT {0}::DOUBLE AS value, {0}::DOUBLE AS low, {0}::DOUBLE AS high, 5 AS n"
    rows = judge_rows(*({"sql": sql.format(value), "at_least": 1} for value in values))
    assert {row["claim_verdict"] for row in rows} == {verdict}


@pytest.mark.parametrize(
    ("value", "is_percentage", "words"),
    [
        (0.8, False, "holds"),
        # The other side is ahead.
        (-0.4, False, "contradicted"),
        (0.2, False, "differs only in size"),
        ("NULL", False, "undecided"),
        # Percentages are fractions in the table.
        (0.2, True, "differs only in size"),
    ],
)
def test_the_table_has_the_words_of_pages_too(value: object, is_percentage: bool, words: str) -> None:
    sql = f"SELECT {value} AS value, {value} - 0.1 AS low, {value} + 0.1 AS high, 5 AS n"
    check = {"sql": sql, "at_least": 0.5, "neutral": 0, "is_percentage": is_percentage}
    first, second = judge_rows(check, {"sql": "SELECT 9 AS value, 9 AS low, 9 AS high, 5 AS n", "at_least": 1})
    assert (first["claim_verdict_shown"], second["claim_verdict_shown"]) == (words, words)
    assert (first["verdict_shown"], second["verdict_shown"]) == (words, "holds")


def test_too_few_runs_are_not_enough_data() -> None:
    sql = "SELECT 1 AS value, 1 AS low, 1 AS high, 2 AS n"
    rows = judge_rows({"sql": sql}, {"sql": sql, "minimum_runs": 2})
    assert [row["verdict"] for row in rows] == ["not enough data", "holds"]


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [(1.5, "not enough data"), (0.5, "holds"), (2.5, "not enough data"), (3.5, "does not hold")],
)
def test_a_bound_inside_the_interval_leaves_a_check_open(bound: float, verdict: str) -> None:
    (row,) = judge_rows({"sql": "SELECT 2 AS value, 1 AS low, 3 AS high, 9 AS n", "at_least": bound})
    assert row["verdict"] == verdict


def test_a_value_without_an_interval_decides_nothing() -> None:
    (row,) = judge_rows({"sql": "SELECT 2 AS value, 2 AS n", "at_least": 1, "minimum_runs": 2})
    assert (row["verdict"], row["needed_runs_count"]) == ("not enough data", None)


def test_what_would_decide_a_check_is_said() -> None:
    # Twice as much or half with 9 runs; with four times as many √2 times, the factor between value and bound.
    (row,) = judge_rows({"sql": "SELECT 2 AS value, 1.0 AS low, 4.0 AS high, 9 AS n", "at_least": 2 / math.sqrt(2)})
    assert row["needed_runs_count"] == 36


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT no_such_column AS value, 3 AS n", "no_such_column"),
        ("SELECT 1 AS value", "its columns are value"),
        ("SELECT 1 AS value, 3 AS n, 4 AS other", "its columns are value, n, other"),
        ("SELECT {'value': 1, 'other': 4}", "its columns are value, other"),
        ("SELECT 1 AS value, 3 AS n WHERE FALSE", "returns 0 rows"),
        ("SELECT {'value': 1, 'n': 3} WHERE FALSE", "returns 0 rows"),
        ("SELECT unnest([1, 2]) AS value, 3 AS n", "returns 2 rows"),
        ("SELECT 'x' AS value, 3 AS n", "its value is 'x'"),
        ("SELECT 'infinity'::DOUBLE AS value, 3 AS n", "its value is inf"),
        ("SELECT 1 AS value, NULL AS n", "its n is None"),
        ("SELECT 1 AS value, -1 AS n", "its n is -1"),
        ("SELECT 1 AS value, 'many' AS n", "its n is 'many'"),
        ("SELECT 2.49e8 AS value, 3 AS n, 231 AS low, 267 AS high", "its value 2.49e+08 is above its high, 267; write"),
        ("SELECT 249 AS value, 3 AS n, 2.31e8 AS low, 2.67e8 AS high", "its value 249 is below its low, 2.31e+08; "),
        ("SELECT 2 AS value, 3 AS n, 1 AS high", "its value 2 is above its high, 1; "),
    ],
)
def test_a_wrong_query_is_an_error_and_no_verdict(sql: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        judge_rows({"sql": sql})
    assert str(caught.value).startswith("claims.first, check `rate`: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("ends", ["0.3 AS low, 0.3 AS high", "NULL AS low, 1 AS high", "0 AS low, NULL AS high"])
def test_an_end_may_be_missing_or_differ_from_the_value_by_rounding(ends: str) -> None:
    (row,) = judge_rows({"sql": f"SELECT 0.1::DOUBLE + 0.2::DOUBLE AS value, 3 AS n, {ends}"})
    assert row["value"] == pytest.approx(0.3)


def test_a_query_of_two_rows_is_told_with_its_line(tmp_path: Path) -> None:
    sql = "SELECT mean_of(list(rate)) FROM measured GROUP BY algorithm"
    said = r"\.yaml:\d+: claims\.c, check `c`: its query returns 2 rows, not one; with `extreme` it may have a row for "
    with pytest.raises(DeclarationError, match=said):
        judge(tmp_path, {"c": [{"sql": sql}]})


def test_statistics_are_selected_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="is selected as it is"):
        judge(tmp_path, {"c": [{"sql": "SELECT unnest(mean_of(list(rate))) FROM measured"}]})


def test_shares_are_of_the_line_rate(tmp_path: Path) -> None:
    # 42 of 50 Mbit/s.
    sql = "SELECT mean_of(list(share)) FROM measured WHERE algorithm = 'BBR'"
    judged = judge(tmp_path, {"c": [{"sql": sql}]})
    assert judged["value"].to_list() == pytest.approx([0.84])


def test_retransmits_are_the_ratio_of_the_group(tmp_path: Path) -> None:
    # Runs 1, 2 and 3 of BBR retransmit as many of 1000 segments each: 6 of 3000.
    sql = "SELECT mean_of(list(retransmits)) FROM measured WHERE algorithm = 'BBR'"
    assert judge(tmp_path, {"c": [{"sql": sql}]})["value"].to_list() == pytest.approx([0.002])


def test_algorithms_of_one_run_are_a_pair(tmp_path: Path) -> None:
    # BBR is twice as fast in every run, whatever the run's rate: no run says another ratio.
    tables = gather(
        *(
            run(n, {"bbr": 2.0 * rate, "cubic": rate}, rtt_ms=10.0, condition_id="a")
            for n, rate in ((1, 5.0), (2, 9.0), (3, 7.0))
        )
    )
    judged = judge(tmp_path, {"c": [{"sql": BBR_OVER_CUBIC}]}, tables)
    assert judged.select("value", "low", "high").row(0) == pytest.approx((2.0, 2.0, 2.0))


def test_the_interval_of_pairs_is_that_of_their_differences(tmp_path: Path) -> None:
    # BBR 10, 12, 14 (mean 12) and CUBIC 5, 7, 6 (mean 6) at once: relative to their means the runs differ by 10/12 -
    # 5/6 = 0, 1 - 7/6 = -1/6 and 14/12 - 1 = 1/6, a standard deviation of 1/6. t of 2: 4.30265 / 6 / √3 = 0.414023.
    rates = ((1, 10.0, 5.0), (2, 12.0, 7.0), (3, 14.0, 6.0))
    tables = gather(*(run(n, {"bbr": bbr, "cubic": cubic}, rtt_ms=10.0, condition_id="a") for n, bbr, cubic in rates))
    judged = judge(tmp_path, {"c": [{"sql": BBR_OVER_CUBIC}]}, tables)
    factor = math.exp(0.414023)
    assert judged.select("value", "low", "high").row(0) == pytest.approx((2.0, 2 / factor, 2 * factor), rel=1e-4)


def test_two_runs_of_one_algorithm_are_no_interval(tmp_path: Path) -> None:
    tables = gather(
        *(run(n, {"bbr": 10.0 + n}, rtt_ms=10.0, condition_id="a") for n in range(9)),
        *(run(10 + n, {"cubic": 10.0 + n}, rtt_ms=10.0, condition_id="b") for n in range(2)),
    )
    judged = judge(tmp_path, {"c": [{"sql": BBR_OVER_CUBIC}]}, tables)
    assert judged.select("low", "high", "runs_count").row(0) == (None, None, 2)


def test_the_mean_of_differences_may_be_negative(tmp_path: Path) -> None:
    # -3, 1, -1: mean -1, standard error 2/√3 = 1.154701; t of 2: ± 4.968273, on both sides as far.
    sql = """
        SELECT mean_of(list({'run': {'condition': 'a', 'id': n::VARCHAR}, 'x': x, 'y': 1.0::DOUBLE}))
        FROM (SELECT unnest([1, 2, 3]) AS n, unnest([-3.0, 1.0, -1.0]::DOUBLE[]) AS x)
    """
    judged = judge(tmp_path, {"c": [{"sql": sql}]})
    assert judged.select("value", "low", "high").row(0) == pytest.approx((-1, -5.968273, 3.968273), rel=1e-4)


def test_an_interval_is_that_of_the_spread_within_conditions(tmp_path: Path) -> None:
    # a: 2, 4, 6; b: 10, 20; and without its run r2 a: 2, 6. Of 2, 6, 10, 20 the mean is 9.5; squares within are 8 and
    # 50, so variances (2 · 8 + 2 · 50) / 4² = 7.25; degrees of freedom 7.25² / (1² + 6.25²) = 1.312023.
    rates = {"a": [2.0, 4.0, 6.0], "b": [10.0, 20.0]}
    numbered = enumerate(((name, rate) for name, values in rates.items() for rate in values), 1)
    tables = gather(*(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id=name) for n, (name, rate) in numbered))
    sql = "SELECT mean_of(list(rate)) FROM measured WHERE run_id <> 'r2'"
    judged = judge(tmp_path, {"c": [{"sql": sql}]}, tables)
    factor = math.exp(stats.t.ppf(0.975, 1.312023) * 7.25**0.5 / 9.5)
    expected = (9.5e6, 9.5e6 / factor, 9.5e6 * factor, 4)
    assert judged.select("value", "low", "high", "runs_count").row(0) == pytest.approx(expected, rel=1e-4)


def test_one_run_of_a_condition_has_no_interval(tmp_path: Path) -> None:
    tables = gather(*(run(n, {"bbr": float(n)}, rtt_ms=10.0, condition_id=f"c{n}") for n in (1, 2, 3)))
    judged = judge(tmp_path, {"c": [{"sql": "SELECT mean_of(list(rate)) FROM measured"}]}, tables)
    assert judged.select("value", "low", "high", "runs_count").row(0) == (pytest.approx(2e6), None, None, 3)


def test_only_counted_runs_of_steady_tests_are_measured(tmp_path: Path) -> None:
    tables = gather(
        run(1, {"bbr": 9.0}, rtt_ms=10.0, condition_id="a"),
        run(2, {"bbr": 1.0}, rtt_ms=10.0, condition_id="a", is_counted=False),
        run(3, {"bbr": 1.0}, rtt_ms=10.0, condition_id="b", job="capture_bbr"),
        run(4, {"bbr": 1.0}, rtt_ms=10.0, condition_id="c", volume_bytes=1_000_000),
    )
    judged = judge(tmp_path, {"c": [{"sql": "SELECT mean_of(list(rate)) FROM measured"}]}, tables)
    assert judged.select("value", "runs_count").row(0) == (9e6, 1)


SUSPECT = {"suspect_rule": "sample_gap", "observed": 3.0, "bound": 2.0, "bound_unit": "s"}


def test_a_check_says_what_it_would_be_with_suspect_runs(tmp_path: Path) -> None:
    # Mean of 19, 20 and 21 Mbit/s, with the suspect run of 3: 15.75, whose interval holds the bound.
    rates = enumerate((19.0, 20.0, 3.0, 21.0), 1)
    tables = gather(*(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a") for n, rate in rates))
    tables["suspects"] = [SUSPECT | {"run_id": "r3"}]
    check = {"sql": "SELECT mean_of(list(rate)) FROM measured", "at_least": 12e6}
    row = judge(tmp_path, {"c": [check]}, tables).row(0, named=True)
    assert (row["value"], row["verdict"], row["runs_count"]) == (20e6, "holds", 3)
    said = (row["suspects_count"], row["with_suspects_value"], row["with_suspects_verdict"])
    assert said == (1, pytest.approx(15.75e6), "not enough data")


def test_checks_of_published_tables_are_made_of_those_with_suspect_runs(tmp_path: Path) -> None:
    rates = enumerate((10.0, 20.0, 3.0), 1)
    tables = gather(*(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a") for n, rate in rates))
    tables["suspects"] = [SUSPECT | {"run_id": "r3"}]
    check = {"sql": "SELECT rate_mean_bps AS value, runs_count AS n FROM table_2_testbed"}
    row = judge(tmp_path, {"c": [check]}, tables).row(0, named=True)
    assert (row["value"], row["with_suspects_value"]) == (15e6, pytest.approx(11e6))


def test_an_archive_without_suspect_runs_says_nothing_of_them(tmp_path: Path) -> None:
    row = judge(tmp_path, {"c": [{"sql": "SELECT mean_of(list(rate)) FROM measured"}]}).row(0, named=True)
    assert (row["suspects_count"], row["with_suspects_value"], row["with_suspects_verdict"]) == (None, None, None)


@pytest.mark.slow
def test_nothing_of_the_evaluation_fails_on_an_empty_archive(tmp_path: Path) -> None:
    judged = judge(tmp_path, None, {})
    assert set(judged["verdict"]) == {"not enough data"}
    assert judged["value"].is_null().all()


def test_an_evaluation_without_claims_gives_an_empty_table(tmp_path: Path) -> None:
    assert judge(tmp_path, {}).is_empty()


def value_of(judged: pl.DataFrame, claim: str) -> list[float | None]:
    return judged.filter(claim=claim)["value"].to_list()


def test_the_default_of_a_parameter_against_its_best_other_value(tmp_path: Path) -> None:
    # loss_thresh: 5 (the default) gives 40, 1 gives 20, 3 gives 32 Mbit/s: 40/32. pacing_gain has no one default.
    points = {"5": 40.0, "1": 20.0, "3": 32.0}
    tables = gather(
        *(
            run(
                10 * i + n,
                {"bbr2": rate},
                rtt_ms=80.0,
                condition_id=value,
                parameter_name="loss_thresh",
                parameter_value=value,
            )
            for i, (value, rate) in enumerate(points.items())
            for n in (1, 2, 3)
        ),
        run(99, {"bbr2": 99.0}, rtt_ms=80.0, condition_id="g", parameter_name="pacing_gain", parameter_value="5"),
    )
    judged = judge(tmp_path, ("default_parameters_best",), tables)
    assert value_of(judged, "default_parameters_best") == pytest.approx([1.25])
    assert judged.filter(claim="default_parameters_best")["verdict"].to_list() == ["holds"]


def test_versions_of_bbr_are_told_apart(tmp_path: Path) -> None:
    # 40G sender, ESnet path: BBRv2's runs retransmit 1, 2, 3 of 1000 and leave CUBIC 10 of 50; BBRv1's 4, 5, 6 and 1.
    def pair(n: int, version: str, cubic: float) -> dict[str, Any]:
        facts = {"job": "40g_both_p16", "host": "sacr.es.net", "rtt_ms": 61.0, "bottleneck_bps": 5e7}
        return run(n, {version: 40.0, "cubic": cubic}, condition_id=version, **facts)

    tables = gather(*(pair(n, "bbr2", 10.0) for n in (1, 2, 3)), *(pair(n, "bbr", 1.0) for n in (4, 5, 6)))
    judged = judge(tmp_path, ("bbr2_retransmits", "bbr1_retransmits"), tables)
    assert value_of(judged, "bbr2_retransmits") == pytest.approx([0.002, 0.2])
    assert value_of(judged, "bbr1_retransmits") == pytest.approx([0.005, 0.02])


def test_a_faster_card_that_is_paced_to_the_receivers_rate_is_a_10g_sender(tmp_path: Path) -> None:
    # 16 flows of 620 Mbit/s are 9.92 Gbit/s, of 2.4 Gbit/s are 38.4: the first have equal rates, the second 4 to 1.
    def pair(n: int, pacing_bps: float, cubic: float) -> dict[str, Any]:
        facts = {"job": "bost_both_p16", "host": "cern.es.net", "rtt_ms": 87.0, "nic_bps": 4e10, "bottleneck_bps": 1e10}
        paced = {"pacing_bps": pacing_bps, "flows_count": 16, "condition_id": f"{pacing_bps:g}"}
        return run(n, {"bbr2": 4000.0, "cubic": cubic}, **facts, **paced)

    tables = gather(*(pair(n, 620e6, 4000.0) for n in (1, 2, 3)), *(pair(n, 2.4e9, 1000.0) for n in (4, 5, 6)))
    judged = judge(tmp_path, ("sender_at_receiver_rate", "sender_above_receiver_rate"), tables)
    assert value_of(judged, "sender_at_receiver_rate")[1] == pytest.approx(1.0)
    assert value_of(judged, "sender_above_receiver_rate")[1] == pytest.approx(4.0)


def test_runs_of_a_sweep_are_in_no_other_claim(tmp_path: Path) -> None:
    # One flow of BBR at 0.001 % and 10 ms: three runs at 9.5 Gbit/s, and three of a sweep at 1.
    facts = {"rtt_ms": 10.0, "loss_pct": 0.001, "bottleneck_bps": 1e10, "flows_count": 1}
    tables = gather(
        *(run(n, {"bbr2": 9500.0}, condition_id="a", **facts) for n in (1, 2, 3)),
        *(
            run(n, {"bbr2": 1000.0}, condition_id="b", parameter_name="loss_thresh", parameter_value="1", **facts)
            for n in (4, 5, 6)
        ),
    )
    judged = judge(tmp_path, ("one_flow_little_loss",), tables)
    assert judged.select("value", "runs_count").row(0) == pytest.approx((0.95, 3))


def test_a_real_path_is_the_testbeds_loop(tmp_path: Path) -> None:
    # Where an emulator sets 88 ms, and over the loop of which it is measured; a host of another network is neither.
    facts = {"bottleneck_bps": 1e10, "nic_bps": 1e10}
    places = {
        "loop": (9000.0, {"rtt_source": "ping", "rtt_ms": 88.2}),
        "netem": (9000.0, {"rtt_source": "nominal", "rtt_ms": 88.0}),
        "far": (1000.0, {"rtt_source": "ping", "rtt_ms": 88.0, "host": "h.example.org"}),
    }
    tables = gather(
        *(
            run(10 * place + n, {"cubic": rate}, condition_id=name, **facts, **own)
            for place, (name, (rate, own)) in enumerate(places.items())
            for n in (1, 2, 3)
        )
    )
    judged = judge(tmp_path, ("real_and_emulated_paths",), tables)
    assert judged.select("value", "runs_count", "verdict").row(0) == (pytest.approx(1.0), 3, "holds")


def test_bbrs_share_of_the_last_quarter_less_that_of_the_first(tmp_path: Path) -> None:
    # 8 s: BBR has 1 of 2 bytes in the first two seconds and 3 of 4 in the last two.
    runs = [
        run(
            n,
            {"bbr": 3.0, "cubic": 1.0},
            rtt_ms=40.0,
            condition_id="a",
            host="h.example.org",
            nic_bps=1e10,
            duration_s=8.0,
            loss_pct=0.1,
        )
        for n in (1, 2, 3)
    ]
    tables = gather(*runs)
    sizes = {"bbr": (1, 1, 9, 9, 9, 9, 3, 3), "cubic": (1,) * 8}
    tables["intervals"] = [
        {
            "run_id": f"r{n}",
            "flow_id": f"r{n}/{cc}",
            "stream_number": stream,
            "interval_number": second,
            "start_s": float(second),
            "interval_bytes": size,
        }
        for n in (1, 2, 3)
        for stream, cc in enumerate(sizes)
        for second, size in enumerate(sizes[cc])
    ]
    assert value_of(
        judge(tmp_path, ("share_grows_on_lossy_paths",), tables), "share_grows_on_lossy_paths"
    ) == pytest.approx([0.25])


def test_a_size_of_buffer_alone_has_no_effect(tmp_path: Path) -> None:
    # BBR alone: means 40 with 25 kB, 50 with 500 kB: 1.25, in every run. CUBIC with one buffer only.
    tables = gather(
        *(run(n, {"bbr": 40.0}, rtt_ms=40.0, condition_id="a", buffer_bytes=25_000) for n in (1, 2, 3)),
        *(run(n, {"bbr": 50.0}, rtt_ms=40.0, condition_id="b", buffer_bytes=500_000) for n in (4, 5, 6)),
        *(run(n, {"cubic": 50.0}, rtt_ms=40.0, condition_id="c", buffer_bytes=500_000) for n in (7, 8, 9)),
    )
    judged = judge(tmp_path, ("buffers_alone",), tables)
    assert judged.select("value", "low", "high").row(0) == pytest.approx((1.25, 1.25, 1.25))
    assert judged["value"][1] is None
    assert judged["verdict"].to_list() == ["does not hold", "not enough data"]


def test_an_explanation_stands_beside_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fails = [{"sql": "SELECT 0 AS value, 0 AS low, 0 AS high, 9 AS n", "at_least": 1}]
    judged = judge(tmp_path, {"known": fails, "open": fails}, explanations=explain(known="It is short."))
    assert judged["about_archive"].to_list() == ["It is short.", None]
    assert list_unexplained(judged) == ["open"]
    assert capsys.readouterr().out == "claim open: contradicted, and nothing explains it\n"


def test_an_explanation_of_another_archive_is_not_shown_but_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = [{"sql": "SELECT 0 AS value, 0 AS low, 0 AS high, 9 AS n", "at_least": 1}]
    explanations = {"archive_sha256": "cd" * 32} | explain(c="It is short.")
    assert judge(tmp_path, {"c": fails}, explanations=explanations)["about_archive"].to_list() == [None]
    warned, _ = capsys.readouterr().out.splitlines()
    # Nothing in it is of one evaluation, so that a build of several says it once.
    assert re.fullmatch(
        r"warning: \S+explanations\.yaml explains another archive, and what it says is left out; if it holds for this "
        rf"one, write `archive_sha256: {SHA256}` there; if not, `explanations: null` in config\.yaml ends this warning",
        warned,
    )


def test_an_explanation_for_another_evaluation_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fails = [{"sql": "SELECT 0 AS value, 0 AS low, 0 AS high, 9 AS n", "at_least": 1}]
    explanations = {"evaluations": {"another": {"claims": {"other": "It is short."}}}}
    assert judge(tmp_path, {"c": fails}, explanations=explanations)["about_archive"].to_list() == [None]
    others = explanations | {"archive_sha256": "cd" * 32}
    assert judge(tmp_path, {"c": fails}, explanations=others)["about_archive"].to_list() == [None]
    assert "warning" not in capsys.readouterr().out


def test_an_explanation_of_no_claim_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        DeclarationError, match=r"explanations\.yaml:5: .*: evaluation makes no claim `other`; there are c$"
    ):
        judge(tmp_path, {"c": [{"sql": "SELECT 1 AS value, 9 AS n"}]}, explanations=explain(other="So."))
    causes = {"evaluations": {"evaluation": {"causes": {"a buffer": ["c", "other"]}}}}
    with pytest.raises(DeclarationError, match=r"evaluations\.evaluation\.causes: evaluation makes no claim `other`"):
        judge(tmp_path, {"c": [{"sql": "SELECT 1 AS value, 9 AS n"}]}, explanations=causes)


def test_every_claim_that_the_sample_archive_explains_is_made() -> None:
    explained = load_yaml(ROOT / "archive/explanations.yaml")["evaluations"]
    for evaluation, facts in explained.items():
        declared = load_evaluation(ROOT / "evaluations" / f"{evaluation}.yaml")
        assert set(facts.get("claims", {})) <= set(declared["claims"])
        assert {claim for of_cause in facts.get("causes", {}).values() for claim in of_cause} <= set(facts["claims"])


def test_a_claim_names_figures_and_tables_that_there_are(tmp_path: Path) -> None:
    declared = load_yaml(EVALUATION)
    declared["claims"]["buffers_alone"]["shown_in"] = ["figure_7", "figure_99"]
    path = tmp_path / "e.yaml"
    write_yaml(path, declared)
    with pytest.raises(
        DeclarationError, match=r"yaml:\d+: claims\.buffers_alone\.shown_in: no figure or table `figure_99`"
    ):
        load_evaluation(path)


def test_the_first_page_names_figures_that_there_are(tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml")
    declared["front_figures"][1] = "rate_by_rrt"
    path = tmp_path / "e.yaml"
    write_yaml(path, declared)
    with pytest.raises(DeclarationError, match=r"yaml:\d+: front_figures: no figure `rate_by_rrt`; did you mean"):
        load_evaluation(path)


def test_the_same_archive_gives_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        judge(tmp_path / name, {"c": [{"sql": BBR_OVER_CUBIC}]})
        written.append((tmp_path / name / "claims.parquet").read_bytes())
    assert written[0] == written[1]


def try_claims(path: Path) -> None:
    with open_without_rows(path) as connection:
        check_claims(connection, path)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(ROOT.glob("evaluations/*.yaml")), ids=lambda path: path.stem)
def test_no_check_of_a_shipped_evaluation_is_refused(path: Path) -> None:
    try_claims(path)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [("SELECT avg(rate_bps) AS val", "val"), ("SELECT {'value': avg(rate_bps), 'runs': count(*)}", "value, runs")],
)
def test_the_columns_of_a_check_are_tried_before_there_is_an_archive(sql: str, columns: str, tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml")
    check = {"name": "rate", "at_least": 1, "sql": f"{sql} FROM measured"}
    declared["claims"] = {"c": {"text": "T", "source": "S", "checks": [check]}}
    path = tmp_path / "e.yaml"
    write_yaml(path, declared)
    said = rf"e\.yaml:\d+: claims\.c, check `rate`: its columns are {columns}; they must be value, n and"
    with pytest.raises(DeclarationError, match=said):
        try_claims(path)


@pytest.mark.slow
def test_the_query_of_a_check_reads_no_file(tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml")
    check = {"name": "c", "at_least": 1, "sql": "SELECT 1 AS value, count(*) AS n FROM read_csv('/etc/passwd')"}
    declared["claims"] = {"c": {"text": "T", "source": "S", "checks": [check]}}
    path = tmp_path / "e.yaml"
    write_yaml(path, declared)
    with pytest.raises(
        DeclarationError, match=r"e\.yaml:\d+: claims.*Cannot access file \"/etc/passwd\"; SQL of an evalu"
    ):
        try_claims(path)


def test_the_query_of_a_check_is_tried_before_there_is_an_archive(tmp_path: Path) -> None:
    text = (ROOT / "evaluations/esnet-dtn.yaml").read_text()
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace("FROM measured", "FROM mesured", 1))
    line = next(number for number, row in enumerate(path.read_text().splitlines(), 1) if "FROM mesured" in row)
    with pytest.raises(
        DeclarationError, match="Table with name mesured does not exist; did you mean `measured`"
    ) as caught:
        try_claims(path)
    told = str(caught.value)
    assert "\n" not in told
    place, where = told.split(": ")[:2]
    assert int(place.rsplit(":", 1)[1]) == line
    assert re.fullmatch(r"claims\.\w+, check `.*`", where)
