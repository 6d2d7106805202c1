"""The table `means`: conditions, columns and measures are those that the evaluation chooses."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import ROOT, write_yaml
from condition_runs import build_database, make_run
from test_summarise import gather, run, summarise

from ccreport.core.declarations import load_yaml, read_query
from ccreport.core.declared_files import DeclarationError
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import conform
from ccreport.figures.select.condition_cells import list_values, sort_conditions
from ccreport.report.fragments.first_page.mean_findings import describe_means
from ccreport.summarise.database import connect
from ccreport.summarise.grids.pooled_settings import describe_pooled, explain_missing_intervals

GENERIC = ROOT / "evaluations/generic.yaml"


def declare(folder: Path, **means: Any) -> Path:
    """Write an evaluation with the table `means` alone."""
    declared = load_yaml(GENERIC) | {"figures": {}, "front_figures": []}
    declared["tables"] = {"means": {"title": "Means"} | means}
    path = folder / "own.yaml"
    write_yaml(path, declared)
    return path


def make_runs() -> dict[str, list[dict[str, Any]]]:
    """Return three runs each of CUBIC and BBR alone over 20 ms, and one of both over some 80 ms that nobody set."""
    nominal = {"rtt_ms": 20.0, "rtt_source": "nominal", "jain_ratio": 0.5}
    return gather(
        *(run(n, {"cubic": 9.0 + n % 3}, condition_id="a", **nominal) for n in (1, 2, 3)),
        *(run(n, {"bbr": 90.0 + n % 3}, condition_id="b", **nominal) for n in (4, 5, 6)),
        run(
            7,
            {"cubic": 5.0, "bbr": 35.0},
            rtt_ms=81.3,
            rtt_source="ss",
            condition_id="c",
            jain_ratio=0.7,
            cc_list="bbr,cubic",
        ),
    )


RENO_AND_CUBIC = [
    *((0, "reno", 1.0, 10.0), (1, "reno", 1.0, 20.0)),
    *((n, "reno", 10.0, 90.0) for n in (2, 3, 4)),
    *((n, "cubic", 18.0, 90.0) for n in (5, 6, 7)),
]


def read_words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_each_condition_has_the_means_of_each_algorithm(tmp_path: Path) -> None:
    table, html = summarise("means", build_database(tmp_path, make_runs(), GENERIC), GENERIC)
    told = ("path_rtt", "beside", "algorithm", "runs_count", "rate_mean_bps", "retransmit_ratio", "jain_mean_ratio")
    # Retransmits are the run's number, of 1,000 segments each. A run of one flow has no fairness.
    assert table.select(told).rows() == [
        ("RTT 20 ms", None, "BBR", 3, 91e6, pytest.approx(15 / 3000), None),
        ("RTT 20 ms", None, "CUBIC", 3, 10e6, pytest.approx(6 / 3000), None),
        ("RTT 50–100 ms", "bbr,cubic", "BBR", 1, 35e6, pytest.approx(7 / 1000), 0.7),
        ("RTT 50–100 ms", "bbr,cubic", "CUBIC", 1, 5e6, pytest.approx(7 / 1000), 0.7),
    ]
    words = read_words(html)
    assert "All rows: host 10.0.0.2, loss 0 %, 16 flows." in words
    assert "RTT 20 ms – BBR 3 91.0" in words
    # What no run has is not shown.
    assert not re.search("Buffer|Volume|Parameter|CPU", words)


def test_an_evaluation_says_which_sessions_repeat_a_condition(tmp_path: Path) -> None:
    # 9 and 11 Gbit/s, once in each of two sessions: a mean has an interval within a condition only.
    runs = gather(
        *(run(n, {"cubic": 9.0}, session="first", condition_id="a", rtt_ms=20.0) for n in (1, 2)),
        *(run(n, {"cubic": 11.0}, session="second", condition_id="b", rtt_ms=20.0) for n in (3, 4)),
    )
    path = declare(tmp_path, rows=["algorithm"], measures=["runs_count", "rate_mean_bps", "rate_within_cv"])
    apart, _ = summarise("means", build_database(tmp_path, runs, path), path)
    path.write_text(path.read_text() + "condition: job\n")
    joined, _ = summarise("means", build_database(tmp_path, runs, path), path)
    assert apart["rate_within_cv"].to_list() == [0.0]
    # Standard deviation of 9, 9, 11 and 11 over their mean.
    assert joined["rate_within_cv"].to_list() == [pytest.approx((4 / 3) ** 0.5 / 10)]
    assert apart["rate_mean_bps"].to_list() == joined["rate_mean_bps"].to_list()


STAGES = '[{"at_s": 5, "rate": "10mbit", "rtt_ms": 80}]'


@pytest.mark.parametrize(
    ("column", "values", "shown", "asked"),
    [
        ("nic_bps", (2e7, 5e7), "line 20 Mbit/s", "sender 20 Mbit/s"),
        ("sender_host", ("left", "right"), "left", "from left"),
        ("limit_packets_count", (20, 10000), "20 packets", "queue of 20 packets"),
        ("mtu_bytes", (1500, 9000), "MTU 1.5 kB", "MTU 1500 B"),
        ("duration_s", (2.0, 4.0), "uration 2 s", "for 2 s"),
        ("has_queue_ecn", (False, True), "no", "queue without ECN"),
        ("kernel", ("6.1.9", "6.12.0"), "6.1.9", "6.1.9"),
        ("stages_json", (STAGES, None), "5 s: RTT 80 ms 10mbit", "changes at 5 s: RTT 80 ms 10mbit"),
    ],
)
def test_runs_that_differ_in_one_condition_have_rows_and_questions_of_their_own(
    column: str, values: tuple[Any, Any], shown: str, asked: str, tmp_path: Path
) -> None:
    runs = gather(
        *(
            run(10 * place + n, {"cubic": 10.0 + place, "bbr": 20.0}, condition_id=str(place), **{column: value})
            for place, value in enumerate(values)
            for n in (1, 2, 3)
        )
    )
    database = build_database(tmp_path, runs, GENERIC)
    table, html = summarise("means", database, GENERIC)
    told = table.filter(algorithm="CUBIC").select(column, "rate_mean_bps", "rate_cv").rows()
    assert sorted(told, key=str) == sorted(((value, (10 + n) * 1e6, 0.0) for n, value in enumerate(values)), key=str)
    assert shown in read_words(html)
    questions = [*summarise("comparisons", database, GENERIC)[0]["question"].unique()]
    assert len(questions) == 2
    assert sum(asked in question.split(", ") for question in questions) == 1


@pytest.mark.slow
def test_bold_and_intervals_need_three_runs(tmp_path: Path) -> None:
    table, html = summarise("means", build_database(tmp_path, make_runs(), GENERIC), GENERIC)
    assert table["rate_low_bps"].is_not_null().to_list() == [True, True, False, False]
    assert re.findall(r"<strong>([^<]+)</strong>", html) == ["91.0"]
    pair = gather(
        *(run(n, {cc: 10.0 * n}, condition_id=cc) for n, cc in ((1, "bbr"), (2, "bbr"), (30, "cubic"), (31, "cubic")))
    )
    (folder := tmp_path / "two").mkdir()
    table, html = summarise("means", build_database(folder, pair, GENERIC), GENERIC)
    assert table["runs_count"].to_list() == [2, 2]
    assert table["rate_low_bps"].count() == table["rate_low_cv"].count() == 0
    assert "<strong>" not in html


def test_flows_of_an_algorithm_are_told_where_another_has_more(tmp_path: Path) -> None:
    runs = gather(
        make_run(1, {"bbr": [50.0], "cubic": [50.0, 51.0]}, condition_id="a"),
        make_run(2, {"bbr": [20.0] * 2, "cubic": [30.0] * 2}, condition_id="b"),
    )
    table, html = summarise("means", build_database(tmp_path, runs, GENERIC), GENERIC)
    assert table.select("flows_count", "algorithm", "algorithm_flows_count").rows() == [
        (3, "BBR", 1),
        (3, "CUBIC", 2),
        (4, "BBR", None),
        (4, "CUBIC", None),
    ]
    assert "Flows of this algorithm" in read_words(html)
    bbr, cubic, *_ = describe_means(table.head(2), conform(pl.DataFrame(), "comparisons"))
    assert "goodput of 50.0 Mbit/s (1 flow)" in bbr
    assert "goodput of 101 Mbit/s (the sum of 2 flows)" in cubic


def test_what_is_not_told_apart_is_pooled(tmp_path: Path) -> None:
    evaluation = declare(tmp_path, rows=["algorithm"], measures=["rate_mean_bps", "runs_count"])
    table, html = summarise("means", build_database(tmp_path, make_runs(), evaluation), evaluation)
    assert table.select("algorithm", "runs_count", "rate_mean_bps").rows() == [
        ("BBR", 4, (91 * 3 + 35) / 4 * 1e6),
        ("CUBIC", 4, (10 * 3 + 5) / 4 * 1e6),
    ]
    assert table["path_rtt"].count() == table["host"].count() == 0
    assert "Rate CV" not in read_words(html)


@pytest.mark.slow
def test_questions_name_what_is_told_apart_alone(tmp_path: Path) -> None:
    declared = load_yaml(GENERIC) | {"figures": {}, "front_figures": []}
    comparisons = declared["tables"]["comparisons"]
    questions = []
    declared["labels"] = {"far_away": {"cases": [{"value": "yes, it is", "when": "rtt_ms > 40"}]}}
    for rows in (["path_rtt"], ["path_rtt", "beside"], ["far_away"]):
        declared["tables"] = {"means": {"title": "Means", "rows": [*rows, "algorithm"]}, "comparisons": comparisons}
        folder = tmp_path / "-".join(rows)
        folder.mkdir()
        path = folder / "own.yaml"
        write_yaml(path, declared)
        table, _ = summarise("comparisons", build_database(folder, make_runs(), path), path)
        questions.append(table["question"].unique().sort().to_list())
    assert questions == [
        ["RTT 20 ms", "RTT 50–100 ms"],
        ["RTT 20 ms, alone", "RTT 50–100 ms, both BBR and CUBIC"],
        ["far away unknown", "far away yes, it is"],
    ]


def test_a_question_names_the_parameter_of_a_value(tmp_path: Path) -> None:
    tables = gather(
        *(
            run(10 * n + place, {"cubic": n, "bbr": 2 * n}, parameter_name="bdp", parameter_value=value)
            for place, value in enumerate(("0.5", "2"))
            for n in (1, 2, 3)
        )
    )
    table, _ = summarise("comparisons", build_database(tmp_path, tables, GENERIC), GENERIC)
    assert {part for question in table["question"] for part in question.split(", ") if "bdp" in part} == {
        "bdp 0.5",
        "bdp 2",
    }


def test_columns_stand_side_by_side(tmp_path: Path) -> None:
    evaluation = declare(
        tmp_path, rows=["path_rtt"], columns=["algorithm"], measures=["runs_count", "retransmit_ratio"]
    )
    _, html = summarise("means", build_database(tmp_path, make_runs(), evaluation), evaluation)
    headings = [read_words(cell) for cell in re.findall(r"<th[^>]*>(.*?)</th>", html, re.DOTALL)]
    assert headings == ["Path RTT", "Runs", "BBR", "CUBIC", "Retransmitted (%)", "Retransmitted (%)"]
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in html.split("<tr")[-3:]]
    assert [[read_words(cell) for cell in row] for row in rows[:2]] == [
        ["RTT 20 ms", "3", "0.500", "0.200"],
        ["RTT 50–100 ms", "1", "0.700", "0.700"],
    ]


def test_values_above_columns_have_name_and_unit(tmp_path: Path) -> None:
    conditions = [(cc, loss, count) for cc in ("bbr", "cubic") for loss, count in ((0.0, 1), (0.001, 1), (0.001, 16))]
    runs = gather(
        *(
            run(n, {cc: 5.0}, loss_pct=loss, flows_count=count, condition_id=str(n))
            for n, (cc, loss, count) in enumerate(conditions)
        )
    )
    evaluation = declare(tmp_path, rows=["algorithm"], columns=["loss_pct", "flows_count"], measures=["rate_mean_bps"])
    _, html = summarise("means", build_database(tmp_path, runs, evaluation), evaluation)
    headings = [read_words(cell) for cell in re.findall(r"<th[^>]*>(.*?)</th>", html, re.DOTALL)]
    assert headings[:5] == ["no loss", "0.001 % loss", "Algorithm", "1 flow", "16 flows"]


def test_columns_are_in_the_declared_order_though_the_first_row_lacks_one(tmp_path: Path) -> None:
    runs = gather(
        *(
            run(n, {cc: 5.0}, rtt_ms=10.0, rtt_source="nominal", condition_id=cc)
            for n, cc in enumerate(("bbr2", "cubic"))
        ),
        *(
            run(n, {cc: 5.0}, rtt_ms=20.0, rtt_source="nominal", condition_id=f"{cc}b")
            for n, cc in enumerate(("bbr", "bbr2", "cubic"), start=5)
        ),
    )
    evaluation = declare(tmp_path, rows=["path_rtt"], columns=["algorithm"], measures=["runs_count"])
    declared = load_yaml(evaluation)
    declared["algorithms"] = {
        "Old": {"members": ["bbr"]},
        "New": {"members": ["bbr2"]},
        "CUBIC": {"members": ["cubic"]},
    }
    write_yaml(evaluation, declared)
    _, html = summarise("means", build_database(tmp_path, runs, evaluation), evaluation)
    headings = [read_words(cell) for cell in re.findall(r"<th[^>]*>(.*?)</th>", html, re.DOTALL)]
    assert headings == ["Path RTT", "Old", "New", "CUBIC", *["Runs"] * 3]


def test_the_documented_example_is_an_evaluation(tmp_path: Path) -> None:
    text = (ROOT / "reports/evaluations.qmd").read_text(encoding="utf-8")
    example = text[text.index("{#sec-complete-evaluation}") :]
    path = tmp_path / "own.yaml"
    path.write_text(example.split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    declared = load_evaluation(path, looks_up=True)
    far = [make_run(n, {cc: [rate + n]}, rtt_ms=rtt, rtt_source="nominal") for n, cc, rate, rtt in RENO_AND_CUBIC]
    database = build_database(tmp_path, gather(*far), path)
    table, html = summarise("means", database, path)
    assert table.select("labels", "path_rtt", "algorithm", "runs_count").rows() == [
        ("distance=near", "RTT 10 ms", "Reno", 1),
        ("distance=near", "RTT 20 ms", "Reno", 1),
        ("distance=far", "RTT 90 ms", "Reno", 3),
        ("distance=far", "RTT 90 ms", "CUBIC", 3),
    ]
    headings = [read_words(cell) for cell in re.findall(r"<th[^>]*>(.*?)</th>", html, re.DOTALL)]
    assert {"Round-trip time", "Reno", "CUBIC"} <= {*headings}
    assert re.search(r"\bnear RTT 10 ms 1 1\.00 .*\bfar RTT 90 ms 3 13\.0\b", read_words(html))
    with connect(database) as connection:
        connection.execute(read_query("claims"))
        ((quotient,),) = connection.execute(
            declared["claims"]["cubic_is_faster_when_far"]["checks"][0]["sql"]
        ).fetchall()
    # 23, 24 and 25 over 12, 13 and 14 Mbit/s
    assert quotient["value"] == pytest.approx(24 / 13)
    assert quotient["n"] == 3


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("kernel_build", ["6.1", "6.2", "6.12"]),
        ("image", ["v6.1.9", "v6.2.0", "v6.12.0", "v6.12.0-rc1"]),
        ("gain", ["0.25", "0.5", "10", "auto"]),
    ],
)
def test_values_of_a_parameter_are_in_the_order_in_which_people_count(
    name: str, values: list[str], tmp_path: Path
) -> None:
    runs = [
        run(n, {"cubic": n}, parameter_name=name, parameter_value=value, condition_id=value)
        for n, value in enumerate(sorted(values, reverse=True), 1)
    ]
    table, _ = summarise("means", build_database(tmp_path, gather(*runs), GENERIC), GENERIC)
    assert table["parameter_value"].to_list() == values
    # Figures count alike.
    shown = pl.DataFrame({"parameter_name": name, "parameter_value": sorted(values)})
    assert list_values(shown, "parameter_value") == values
    rows = [(name, value) for value in sorted(values)] + [(None, None)]
    assert sort_conditions(rows, ["parameter_name", "parameter_value"]) == [
        *((name, own) for own in values),
        (None, None),
    ]


def test_a_swept_parameter_is_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    swept = [
        run(n, {"cubic": n}, parameter_name="bdp", parameter_value=v, condition_id=v) for n, v in ((1, "10"), (2, "9"))
    ]
    table, html = summarise("means", build_database(tmp_path, gather(*swept), GENERIC), GENERIC)
    assert table["parameter_value"].to_list() == ["9", "10"]
    assert "parameter name bdp" in read_words(html)


def test_an_unknown_measure_is_refused(tmp_path: Path) -> None:
    path = declare(tmp_path, rows=["algorithm"], measures=["rate_mean"])
    with pytest.raises(
        DeclarationError, match=r"tables\.means\.measures: means has no column `rate_mean`; did you mean"
    ):
        load_evaluation(path, looks_up=True)


def test_unknown_rows_are_refused_with_the_labels_there_are(tmp_path: Path) -> None:
    path = declare(tmp_path, rows=["distnace"])
    declared = load_yaml(path) | {"labels": {"distance": {"otherwise": "'x'"}}}
    write_yaml(path, declared)
    with pytest.raises(DeclarationError, match=r"means has no column `distnace`; did you mean `distance`"):
        load_evaluation(path, looks_up=True)


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        (
            {"rows": ["path_rtt"], "columns": ["loss_pct"]},
            r"tables\.means: `algorithm` is in neither `rows` nor `columns`; add it to one of them",
        ),
        ({"rows": ["path_rtt"]}, r"tables\.means: `algorithm` is in neither"),
        (
            {"rows": ["path_rtt", "algorithm"], "columns": ["loss_pct", "path_rtt"]},
            r"tables\.means: `path_rtt` is in `rows` and in `columns`; delete one of them",
        ),
        ({"rows": ["path_rtt", "algorithm", "path_rtt"]}, r"tables\.means\.rows: `path_rtt` is listed twice"),
        ({"columns": ["loss_pct", "loss_pct"]}, r"tables\.means\.columns: `loss_pct` is listed twice"),
    ],
)
def test_rows_and_columns_that_cannot_tell_rows_apart_are_refused(
    axes: dict[str, list[str]], said: str, tmp_path: Path
) -> None:
    with pytest.raises(DeclarationError, match=rf"own\.yaml:\d+: {said}"):
        load_evaluation(declare(tmp_path, **axes))


def test_without_rows_all_conditions_are_told_apart(tmp_path: Path) -> None:
    assert load_evaluation(declare(tmp_path, columns=["loss_pct"]))["tables"]["means"]["columns"] == ["loss_pct"]


@pytest.mark.parametrize("group", ["claims", "tables", "figures", "labels"])
def test_a_list_in_place_of_a_named_group_is_refused(tmp_path: Path, group: str) -> None:
    path = declare(tmp_path)
    declared = load_yaml(path) | {group: [{"title": "x"}]}
    write_yaml(path, declared)
    with pytest.raises(DeclarationError, match=rf"{group}: this is a group of named {group}: give each a name"):
        load_evaluation(path)


def test_no_runs_make_no_rows(tmp_path: Path) -> None:
    table, _ = summarise("means", build_database(tmp_path, {}, GENERIC), GENERIC)
    assert table.is_empty()


def test_a_note_names_what_differs_within_rows(tmp_path: Path) -> None:
    runs = gather(
        run(1, {"cubic": 9.0}, pacing_bps=1e8, nic_bps=1e10), run(2, {"bbr": 9.0}, pacing_bps=9.9e9, nic_bps=1e10),
        run(3, {"bbr": 9.0}, nic_bps=1e10),
    )  # fmt: skip
    for rows, said in ((["loss_pct"], "(Pacing: 100 Mbit/s, 9.9 Gbit/s, none)"), (["loss_pct", "pacing_bps"], "")):
        database = build_database(tmp_path, runs, declare(tmp_path, rows=rows, columns=["algorithm"]))
        with connect(database) as connection:
            told = describe_pooled(connection, {"rows": rows, "columns": ["algorithm"]})
        assert said in told
        assert bool(said) == bool(told)


def test_rows_of_one_s_own_that_pool_lines_of_senders_say_so(tmp_path: Path) -> None:
    runs = gather(run(1, {"cubic": 9.0}, nic_bps=2e7), run(2, {"cubic": 9.0}, nic_bps=5e7))
    path = declare(tmp_path, rows=["loss_pct", "algorithm"], measures=["runs_count"])
    _, html = summarise("means", build_database(tmp_path, runs, path), path)
    assert "Sender's line: 20 Mbit/s, 50 Mbit/s" in read_words(html).replace("&#x27;", "'").replace("&#39;", "'")


def test_a_note_says_why_means_have_no_interval() -> None:
    means = pl.DataFrame({"runs_count": [5, 2], "rate_mean_bps": [9.0, 9.0], "rate_low_bps": [None, None]})
    assert "`condition`" in explain_missing_intervals(means)
    assert explain_missing_intervals(means.with_columns(runs_count=2)) == ""
