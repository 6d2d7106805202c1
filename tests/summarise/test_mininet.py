import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
import yaml
from archives import ROOT, summarise_one, write_yaml
from condition_runs import Rows, build_database, gather, make_run, make_samples, make_transfers
from test_comparisons import EVALUATION, summarise
from test_convergence import JOINED, make_shares

from ccreport.compare.claims import judge_claims
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import read_table
from ccreport.figures.conditions.fairness_by_buffer import group_flows
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.kit.figure import Figure
from ccreport.figures.run.event_marks import Stage, read_stages
from ccreport.figures.select.declaration import read_declaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.write import plot_declaration
from ccreport.summarise.database import connect
from ccreport.trace.rows.load_trace import load_trace, recompute_row


def build(folder: Path, figure: str, tables: Rows) -> Figure:
    declaration = read_declaration(EVALUATION, figure)
    with Database(build_database(folder, tables, EVALUATION)) as database:
        return BUILDERS[declaration.kind](declaration, database)


START: Final = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def make_rtt_run(number: int, buffer_bytes: int, short: float, long: float) -> Rows:
    """Return a run of BBR with two flows over 10 ms and two over 50 ms, each at its rate in Mbit/s."""
    tables = make_run(number, {"bbr": [short, short, long, long]}, buffer_bytes=buffer_bytes, bottleneck_bps=50e6)
    for flow, rtt_min_ms in zip(tables["flows"], (10.0, 10.2, 50.0, 50.3), strict=True):
        flow["rtt_min_ms"] = rtt_min_ms
    tables["runs"][0]["jain_ratio"] = (2 * short + 2 * long) ** 2 / (4 * 2 * (short**2 + long**2))
    return tables


def test_flows_are_grouped_by_rtt_inside_a_run(tmp_path: Path) -> None:
    # The BDP is 50 Mbit/s · 10 ms / 8 = 62.5 kB.
    runs = [make_rtt_run(1, 31_250, 10.0, 10.0), make_rtt_run(2, 125_000, 2.0, 20.0)]
    figure = build(tmp_path, "rtt_fairness", gather(*runs))
    rates = figure.data.filter(pl.col("drawn_as") == "rate").select("buffer_bytes", "rtt_group_ms", "rate_mean_bps")
    assert rates.rows() == [(31_250, 10.0, 20e6), (31_250, 50.0, 20e6), (125_000, 10.0, 4e6), (125_000, 50.0, 40e6)]
    # (2 + 2 + 20 + 20)²/(4 (4 + 4 + 400 + 400)) = 1936/3232.
    jain = figure.data.filter(pl.col("drawn_as") == "jain")["jain_mean_ratio"].to_list()
    assert jain == pytest.approx([1.0, 1936 / 3232])
    drawn = figure.chart.to_json()
    assert all(text in drawn for text in ("BBR, RTT 10 ms", "BBR, RTT 50 ms", "2 BDP"))
    assert "0.60 with 125,000 B" in figure.alternative


def test_algorithms_are_the_groups_of_a_run_of_several() -> None:
    flows = pl.DataFrame(
        {
            "run_id": ["r"] * 4,
            "flow_id": list("abcd"),
            "cc": ["bbr", "cubic", "bbr", "cubic"],
            "rtt_min_ms": [10.0, 10.0, 50.0, None],
            "rate_bps": [1.0, 2.0, 4.0, 8.0],
        }
    )
    assert group_flows(flows).rows() == [("r", "bbr", None, 5.0), ("r", "cubic", None, 10.0)]


def test_rtts_that_hardly_differ_are_one_group() -> None:
    flows = pl.DataFrame(
        {
            "run_id": ["r"] * 2,
            "flow_id": ["a", "b"],
            "cc": ["bbr"] * 2,
            "rtt_min_ms": [10.0, 14.9],
            "rate_bps": [1.0, 2.0],
        }
    )
    assert group_flows(flows).rows() == [("r", "bbr", None, 3.0)]


def test_runs_beside_other_algorithms_have_a_panel_of_their_own(tmp_path: Path) -> None:
    runs = [
        make_run(
            n, {cc: 8.0, "cubic": 2.0}, job="buffer", buffer_bytes=size, cc_list=f"{cc},cubic", jain_ratio=jain,
            bottleneck_bps=20e6,
        )
        for n, (cc, size, jain) in enumerate(
            [("bbr", 1000, 0.5), ("bbr", 2000, 0.6), ("bbr2", 1000, 0.9), ("bbr2", 2000, 1.0)]
        )
    ]  # fmt: skip
    figure = build(tmp_path, "buffer_fairness", gather(*runs))
    jain = figure.data.filter(pl.col("drawn_as") == "jain").select("cc_list", "buffer_bytes", "jain_mean_ratio")
    assert jain.rows() == [
        ("bbr,cubic", 1000, 0.5),
        ("bbr,cubic", 2000, 0.6),
        ("bbr2,cubic", 1000, 0.9),
        ("bbr2,cubic", 2000, 1.0),
    ]
    assert "CUBIC and BBRv2 was 0.90 with 1,000 B" in figure.alternative


def test_one_buffer_size_is_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(MissingFigure, match="The only run that matches has one buffer size"):
        build(tmp_path, "rtt_fairness", make_rtt_run(1, 31_250, 10.0, 2.0))


def with_intervals(tables: Rows) -> Rows:
    """Return the tables with the intervals of every flow at 1 Mbit/s: what is drawn comes from the samples."""
    tables["intervals"] = [
        {
            "run_id": flow["run_id"],
            "flow_id": flow["flow_id"],
            "client_number": flow["client_number"],
            "stream_number": 1,
            "is_reverse": False,
            "raw_file_id": "f",
            "interval_number": second,
            "start_s": float(second),
            "end_s": second + 1.0,
            "is_omitted": False,
            "interval_bps": 1e6,
        }
        for flow in tables["flows"]
        for second in range(int(flow["receiver_s"]))
    ]
    return tables


def test_joins_are_marked_and_fairness_begins_with_the_first(tmp_path: Path) -> None:
    figure = build(tmp_path, "joins_bbr", with_intervals(make_shares(JOINED)))
    joins = figure.data.filter(pl.col("drawn_as") == "join").select("cc", "time_s", "flows_count").rows()
    assert joins == [("bbr", 4.0, 1)]
    jain = figure.data.filter(pl.col("drawn_as") == "jain").select("time_s", "jain_ratio").rows()
    assert [time_s for time_s, _ in jain] == [4.5, 5.5, 6.5, 7.5, 8.5, 9.5]
    assert jain[0][1] == pytest.approx(100 / 136, abs=1e-5)
    assert "+1 BBR" in figure.chart.to_json()


def test_flows_that_start_together_are_no_join(tmp_path: Path) -> None:
    flows = [("cubic", 0.0, [5.0, 5.0, 5.0]), ("bbr", 0.5, [5.0, 5.0, 5.0])]
    with pytest.raises(MissingFigure, match="start together"):
        build(tmp_path, "joins_bbr", with_intervals(make_shares(flows)))


RUN = {"rtt_ms": 20.0, "bottleneck_bps": 50e6}


def test_stages_last_until_the_path_is_as_before() -> None:
    text = '[{"at_s": 25, "rate": "100mbit"}, {"at_s": 10, "rtt_ms": 60}, {"at_s": 20, "rtt_ms": 20}]'
    assert read_stages(text, RUN, 40.0) == [Stage(10.0, 20.0, "RTT 60 ms"), Stage(25.0, 40.0, "100 Mbit/s")]


def test_changes_add_up() -> None:
    text = '[{"at_s": 1, "rtt_ms": 60}, {"at_s": 2, "rate": "25Mbit"}, {"at_s": 99, "rtt_ms": 20}]'
    assert read_stages(text, RUN, 4.0) == [Stage(1.0, 2.0, "RTT 60 ms"), Stage(2.0, 4.0, "RTT 60 ms, 25.0 Mbit/s")]


@pytest.mark.parametrize(
    "text",
    [None, "", "no json", "{}", "7", "null", "[7, null]", '[{"at_s": "1"}]', '[{"at_s": -1, "rtt_ms": 60}]',
     '[{"at_s": 1, "rate": "fast"}]', '[{"at_s": 1, "rtt_ms": "60"}]', '[{"at_s": 1, "rtt_ms": 20}]'],
)  # fmt: skip
def test_what_is_no_change_of_the_path_is_no_stage(text: str | None) -> None:
    assert read_stages(text, RUN, 40.0) == []


def test_stages_are_shaded_over_rates_and_rtts(tmp_path: Path) -> None:
    flows = [("cubic", 0.0, [5.0] * 6), ("bbr", 0.0, [5.0] * 6)]
    tables = make_shares(flows, stages_json='[{"at_s": 2, "rtt_ms": 60}, {"at_s": 4, "rtt_ms": 10}]')
    figure = build(tmp_path, "stages", with_intervals(tables))
    stages = figure.data.filter(pl.col("drawn_as") == "stage").select("time_s", "until_s", "stage").rows()
    assert stages == [(2.0, 4.0, "RTT 60 ms")]
    assert figure.data.filter(pl.col("drawn_as") == "rtt")["rtt_ms"].unique().to_list() == [20.0]


def test_completion_times_have_a_median_with_its_interval(tmp_path: Path) -> None:
    runs = [
        make_transfers(1, {"bbr": [1.0, 2.0], "cubic": [7.0]}, buffer_bytes=25_000, bottleneck_bps=20e6),
        make_transfers(2, {"bbr": [3.0, -6.0], "cubic": [9.0]}, buffer_bytes=25_000, bottleneck_bps=20e6),
    ]
    bbr, cubic, together = summarise(tmp_path, gather(*runs), "completion")
    # 1, 2, 3 and 6+: 3/4, 1/2, 1/4 are left. The interval of the first step is [0.128, 0.961], of the second
    # [0.058, 0.845] and of the third [0.009, 0.665]: the upper end stays above one half.
    assert (bbr["algorithm"], bbr["runs_count"], bbr["measured_count"], bbr["left_out_count"]) == ("BBRv1", 2, 4, 0)
    assert (bbr["censored_count"], bbr["completion_bytes"], bbr["acknowledged_source"]) == (1, 2000, "ss")
    assert (bbr["completion_p50_s"], bbr["completion_low_s"], bbr["completion_high_s"]) == (2.0, 1.0, None)
    assert bbr["completion_p90_s"] is None
    # 25 kB of 20 Mbit/s · 10 ms.
    assert bbr["buffer_bdp_ratio"] == pytest.approx(1.0)
    assert (cubic["completion_p50_s"], cubic["completion_p90_s"]) == (7.0, 9.0)
    # 1, 2, 3, 6+, 7, 9: a half are left after 3.
    assert (together["algorithm"], together["measured_count"], together["completion_p50_s"]) == ("all", 6, 3.0)
    with connect(build_database(tmp_path, gather(*runs), EVALUATION)) as connection:
        trace = load_trace(connection, "completion")
        for row in connection.sql("FROM completion").pl().iter_rows(named=True):
            assert recompute_row(connection, trace, row) == row
            assert {*trace.select_runs(row)["run_id"]} == {"r001", "r002"}


def test_completion_times_beside_another_algorithm_stand_apart(tmp_path: Path) -> None:
    runs = [
        make_transfers(1, {"bbr": [1.0], "cubic": [3.0]}, cc_list="bbr,cubic"),
        make_transfers(2, {"bbr2": [2.0], "cubic": [5.0]}, cc_list="bbr2,cubic"),
    ]
    rows = summarise(tmp_path, gather(*runs), "completion")
    assert [(row["cc_list"], row["algorithm"], row["completion_p50_s"]) for row in rows] == [
        ("bbr,cubic", "BBRv1", 1.0),
        ("bbr,cubic", "CUBIC", 3.0),
        ("bbr,cubic", "all", 1.0),
        ("bbr2,cubic", "BBRv2", 2.0),
        ("bbr2,cubic", "CUBIC", 5.0),
        ("bbr2,cubic", "all", 2.0),
    ]


def test_completion_times_of_other_settings_stand_apart(tmp_path: Path) -> None:
    runs = [
        make_transfers(2 * at + repeat, {cc: [time]}, parameter_name="cwnd", parameter_value=value, **queue)
        for at, (cc, value, queue, time) in enumerate(
            (cc, value, {"queue_discipline": queue}, time * factor)
            for (cc, factor) in (("bbr", 1.0), ("cubic", 2.0))
            for value, queue, time in (("10", "fifo", 1.0), ("4", "fifo", 2.0), ("4", "red", 3.0))
        )
        for repeat in (0, 1)
    ]
    rows = summarise(tmp_path, gather(*runs), "completion")
    assert [(row["queue_discipline"], row["parameter_value"], row["completion_p50_s"]) for row in rows] == [
        *(("fifo", "4", 2.0), ("fifo", "4", 4.0), ("fifo", "10", 1.0), ("fifo", "10", 2.0)),
        *(("red", "4", 3.0), ("red", "4", 6.0)),
    ]
    tests = summarise(tmp_path, gather(*runs), "completion_tests")
    assert [(row["parameter_value"], row["runs_count"], row["second_median_s"]) for row in tests] == [
        *(("4", 2, 4.0), ("10", 2, 2.0), ("4", 2, 6.0)),
    ]


def test_completion_times_of_other_pacing_stand_apart(tmp_path: Path) -> None:
    runs = [
        make_transfers(4 * at + 2 * repeat + paced, {cc: [time * (2 - paced)]}, pacing_bps=1e8 if paced else None)
        for at, (cc, time) in enumerate({"bbr": 1.0, "cubic": 2.0}.items())
        for repeat in (0, 1)
        for paced in (0, 1)
    ]
    rows = summarise(tmp_path, gather(*runs), "completion")
    assert [(row["algorithm"], row["pacing_bps"], row["completion_p50_s"]) for row in rows] == [
        *(("BBRv1", 1e8, 1.0), ("CUBIC", 1e8, 2.0), ("BBRv1", None, 2.0), ("CUBIC", None, 4.0)),
    ]
    tests = summarise(tmp_path, gather(*runs), "completion_tests")
    assert [(row["pacing_bps"], row["runs_count"], row["second_median_s"]) for row in tests] == [
        *((1e8, 2, 2.0), (None, 2, 4.0)),
    ]


def test_flows_that_nothing_tells_of_are_counted(tmp_path: Path) -> None:
    tables = make_transfers(1, {"cubic": [4.0, 6.0, 1.0]})
    tables["samples"] = [row for row in tables["samples"] if row["flow_id"] != tables["flows"][2]["flow_id"]]
    (row,) = summarise(tmp_path, tables, "completion")
    assert (row["measured_count"], row["left_out_count"], row["completion_p50_s"]) == (2, 1, 4.0)


def test_the_volume_is_reached_between_two_samples_of_ss(tmp_path: Path) -> None:
    tables = make_transfers(1, {"cubic": [1.0]})
    # The first sample says that data had been under way for 200 ms: it started 0.2 s earlier. 2,000 bytes, with the SYN
    # 2,001, are 3/4 of the way from 501 to 2,501.
    tables["samples"] = [
        *make_samples(tables["flows"][0], {10.0: 501}, busy_ms=200),
        *make_samples(tables["flows"][0], {11.0: 2501, 12.0: 3001}, busy_ms=1200),
    ]
    (time,) = ask_completions(tmp_path, tables)
    assert time == ("ss", pytest.approx(0.95), True, pytest.approx(1.0))


@pytest.mark.slow
def test_a_capture_tells_the_time_to_a_step(tmp_path: Path) -> None:
    tables = make_transfers(1, {"cubic": [1.0]})
    of_flow = {"run_id": "r001", "raw_file_id": "f", "flow_id": tables["flows"][0]["flow_id"], "connection_number": 1}
    tables["packet_flows"] = [of_flow | {"direction": "out", "syn_utc": at(0.05)}]
    steps = {0.0: 0, 0.1: 1000, 0.9: 1800, 1.0: 2200}
    tables["packet_intervals"] = [
        of_flow | {"direction": "out", "interval_utc": at(time), "acknowledged_end_bytes": count}
        for time, count in steps.items()
    ]
    # Half of the way through the step from 1.0 to 1.1 s, less 0.05 s.
    assert ask_completions(tmp_path, tables) == [("capture", pytest.approx(1.0), True, pytest.approx(0.1))]
    # Silence before a step is not part of it: 1,000 of 1,800 to 2,200 bytes are reached within 0.1 s.
    del tables["packet_intervals"][2]
    ((_, time_s, *_),) = ask_completions(tmp_path, tables)
    assert time_s == pytest.approx(0.95 + 0.1 * 1000 / 1200)
    tables["packet_intervals"].pop()
    assert ask_completions(tmp_path, tables) == [("capture", pytest.approx(0.15), False, None)]


def ask_completions(folder: Path, tables: Rows) -> list[tuple[Any, ...]]:
    with connect(build_database(folder, tables, EVALUATION)) as connection:
        columns = "acknowledged_source, acknowledged_s, is_complete, resolution_s"
        return connection.execute(f"SELECT {columns} FROM flow_completions ORDER BY flow_id").fetchall()


def test_algorithms_of_the_same_runs_are_compared_by_run(tmp_path: Path) -> None:
    runs = [
        make_transfers(number, {"bbr": [1.0, 2.0], "cubic": [4.0, 5.0]}, buffer_bytes=size, condition_id=f"{size}")
        for number, size in enumerate([1000, 1000, 4000])
    ]
    (row,) = summarise(tmp_path, gather(*runs), "completion_tests")
    assert (row["first_algorithm"], row["second_algorithm"]) == ("BBRv1", "CUBIC")
    assert (row["runs_count"], row["strata_count"], row["first_median_s"], row["second_median_s"]) == (3, 2, 1.0, 4.0)
    # Of the 8 ways to exchange within three runs two are as far apart.
    assert (row["p_ratio"], row["p_holm_ratio"], row["tests_count"]) == (0.25, 0.25, 1)
    assert row["log_rank_z"] > 0


TRANSFERS = gather(
    make_transfers(1, {"bbr": [1.0, 2.0], "cubic": [4.0, 6.0]}, buffer_bytes=1000),
    make_transfers(2, {"bbr": [2.0, 2.0], "cubic": [3.0, -5.0]}, buffer_bytes=4000),
)
for made in TRANSFERS["runs"]:
    made["has_capture"] = False


def test_completion_is_drawn_as_the_table_has_it(tmp_path: Path) -> None:
    figure = build(tmp_path, "completion_long", TRANSFERS)
    rows = figure.data.sort("buffer_bytes", "cc").select(
        "buffer_bytes", "cc", "measured_count", "censored_count", "completion_median_s", "completion_p90_s"
    )
    assert rows.rows() == [
        (1000, "all", 4, 0, 2.0, 6.0),
        (1000, "bbr", 2, 0, 1.0, 2.0),
        (1000, "cubic", 2, 0, 4.0, 6.0),
        (4000, "all", 4, 1, 2.0, None),
        (4000, "bbr", 2, 0, 2.0, 2.0),
        (4000, "cubic", 2, 1, 3.0, None),
    ]
    assert "1 of 8 flows stopped before and are censored" in figure.caption


def test_the_curve_counts_the_flows_not_yet_complete(tmp_path: Path) -> None:
    figure = build(tmp_path, "completion_long_cdf", TRANSFERS)
    steps = figure.data.filter(pl.col("buffer_bytes") == 4000).select("cc", "time_s", "share")
    # Both flows of BBR are done at 2 s, which is one step; the second of CUBIC is censored at 5 s.
    assert steps.rows() == [
        ("bbr", 0.0, 1.0), ("bbr", 2.0, 0.0), ("cubic", 0.0, 1.0), ("cubic", 3.0, 0.5), ("cubic", 5.0, 0.5)
    ]  # fmt: skip
    assert "n 2" in figure.chart.to_json()


def test_every_figure_of_an_archive_without_such_runs_says_why(tmp_path: Path) -> None:
    database = build_database(tmp_path, make_run(1, {"bbr": 1.0}), EVALUATION)
    for figure in load_evaluation(EVALUATION)["figures"]:
        plot_declaration(read_declaration(EVALUATION, figure), database, tmp_path / figure)
        assert (tmp_path / figure / "missing.txt").read_text().strip()


def test_names_from_an_archive_are_text_in_a_figure(tmp_path: Path) -> None:
    nasty = '<script>alert(1)</script>"; DROP TABLE runs; --'
    tables = gather(make_rtt_run(1, 31_250, 10.0, 10.0), make_rtt_run(2, 125_000, 2.0, 20.0))
    for run in tables["runs"]:
        run["host"] = nasty
    for flow in tables["flows"]:
        flow["cc"] = nasty
    database = build_database(tmp_path, tables, EVALUATION)
    plot_declaration(read_declaration(EVALUATION, "rtt_fairness"), database, tmp_path / "f")
    assert "<script>" not in (tmp_path / "f/figure.svg").read_text()


def read_example() -> str:
    # The others, one of published numbers and one complete with tables, are for other tests.
    example, *_ = re.findall(
        r"^```yaml\n(.*?)^```", (ROOT / "reports/evaluations.qmd").read_text(), re.DOTALL | re.MULTILINE
    )
    return example


def test_the_example_of_the_docs_has_20_lines_and_works(tmp_path: Path) -> None:
    example = read_example()
    assert len(example.splitlines()) <= 20
    evaluation = tmp_path / "own.yaml"
    evaluation.write_text(example)
    assert load_evaluation(evaluation)["title"] == yaml.safe_load(example)["title"]
    nominal = {"rtt_source": "nominal", "cc_list": "cubic,reno"}
    # Per run Reno 1 + n and CUBIC 10 + n Mbit/s over 500 ms; the runs over 30 ms are another orbit, over 5 ms none.
    runs = [
        make_run(n, {"reno": 1.0 + n, "cubic": 10.0 + n}, rtt_ms=rtt_ms, buffer_bytes=size, **nominal)
        for n, (rtt_ms, size) in enumerate([(500.0, 1000), (500.0, 1000), (500.0, 2000), (30.0, 1000), (5.0, 1000)])
    ]
    database = build_database(tmp_path, gather(*runs), evaluation)
    summarise_one("comparisons", evaluation, database, tmp_path)
    table = read_table("comparisons", [tmp_path / "comparisons.parquet"])
    rates = table.filter(measure="goodput_bps")
    paths = [("30", "1"), ("500", "1"), ("500", "2")]
    assert rates["question"].to_list() == [
        f"10.0.0.2, RTT {rtt} ms, 0 % loss, buffer {size} kB, 2 flows, both Reno and CUBIC" for rtt, size in paths
    ]
    # Over 500 ms with 1 kB: Reno 1 and 2, CUBIC 10 and 11 Mbit/s; both differences are -9, of two runs.
    row = rates.row(1, named=True)
    assert (row["first_algorithm"], row["second_algorithm"], row["first_runs_count"]) == ("Reno", "CUBIC", 2)
    assert (row["first_mean"], row["second_mean"], row["difference_mean"]) == pytest.approx((1.5e6, 10.5e6, -9e6))
    assert set(rates["verdict"]) == {"undecided"}
    plot_declaration(read_declaration(evaluation, "rates"), database, tmp_path / "rates")
    assert (tmp_path / "rates/figure.svg").is_file()
    drawn = pl.read_csv(tmp_path / "rates/figure.csv")
    means = drawn.filter(pl.col("buffer_bytes") == 1000, drawn_as="mean").sort("cc")["rate_mean_bps"].to_list()
    assert means == pytest.approx([10.5e6, 1.5e6])


def test_the_claim_of_the_docs_is_judged(tmp_path: Path) -> None:
    (sql,) = re.findall(r"^```sql\n(.*?)^```", (ROOT / "reports/evaluations.qmd").read_text(), re.DOTALL | re.MULTILINE)
    declared = yaml.safe_load(read_example())
    declared |= {"figures": {}, "tables": {"jobs": {"title": "Jobs"}}}
    declared["claims"] = {"some": {"text": "t", "source": "s", "checks": [{"name": "q", "at_most": 1, "sql": sql}]}}
    evaluation = tmp_path / "own.yaml"
    write_yaml(evaluation, declared)
    # Reno 2 and CUBIC 8 Mbit/s in each of three runs.
    runs = [make_run(n, {"reno": 2.0, "cubic": 8.0}, rtt_ms=500.0) for n in range(3)]
    database = build_database(tmp_path, gather(*runs), evaluation)
    (tmp_path / "archive.json").write_text('{"sha256": "0"}')
    judge_claims(
        evaluation, database, tmp_path, tmp_path / "archive.json", [], tmp_path / "c.parquet", tmp_path / "c.csv"
    )
    (judged,) = read_table("claims", [tmp_path / "c.parquet"]).rows(named=True)
    assert (judged["value"], judged["runs_count"], judged["verdict"]) == (0.25, 3, "holds")


def test_claims_of_an_evaluation_without_labels_count_all_runs(tmp_path: Path) -> None:
    declared = yaml.safe_load(read_example())
    sql = "SELECT avg(rate_bps) AS value, 1e6 AS low, 3e6 AS high, count(*) AS n FROM measured WHERE cc = 'reno'"
    check = {"name": "mean", "at_least": 1e6, "sql": sql}
    declared |= {"labels": {}, "figures": {}, "tables": {"jobs": {"title": "Jobs"}}}
    declared["claims"] = {"some": {"text": "t", "source": "s", "checks": [check]}}
    evaluation = tmp_path / "own.yaml"
    write_yaml(evaluation, declared)
    runs = [make_run(n, {"reno": 1.0 + n, "cubic": 2.0}) for n in range(3)]
    database = build_database(tmp_path, gather(*runs), evaluation)
    (tmp_path / "archive.json").write_text('{"sha256": "0"}')
    judge_claims(
        evaluation, database, tmp_path, tmp_path / "archive.json", [], tmp_path / "c.parquet", tmp_path / "c.csv"
    )
    (row,) = read_table("claims", [tmp_path / "c.parquet"]).rows(named=True)
    assert (row["value"], row["runs_count"], row["verdict"]) == (2e6, 3, "holds")
