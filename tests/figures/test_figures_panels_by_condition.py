"""Figures over conditions: parameters, pacing and versions apart or pooled, panels, and the spread of flows."""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from condition_figures import HOSTILE, plot, read, read_means, sweep, texts_of
from condition_runs import Rows, gather, make_run

from ccreport.figures.kit.text import wrap_text
from ccreport.figures.select.condition_cells import refuse_parts
from ccreport.figures.wording.conditions import describe_panel


def test_a_swept_parameter_is_in_order_of_its_numbers(tmp_path: Path) -> None:
    tables = sweep("parameter_value", ("10", "2", "5", "auto"), parameter_name="min_rtt_win_sec")
    output = plot(tmp_path, tables, kind="rate_by_parameter")
    assert read_means(output).filter(cc="bbr")["parameter_value"].to_list() == ["2", "5", "10", "auto"]
    assert '"text":["10","default"]' in read(output, "figure.vl.json")
    assert "min_rtt_win_sec" in texts_of(output)
    assert "From value 2 to value auto: " in read(output, "alt.txt")


def test_values_in_parts_of_1_are_told_as_numbers_and_compared_with_the_default(tmp_path: Path) -> None:
    rates = {"288": 38.0, "320": 40.0, "352": 42.0}
    runs = [
        make_run(n, {"cubic": 1.0 + n, "bbr": rate}, parameter_name="pacing_gain", parameter_value=value)
        for n, (value, rate) in enumerate(rates.items())
    ]
    output = plot(tmp_path, gather(*runs), kind="rate_by_parameter")
    specification = read(output, "figure.vl.json")
    assert '"text":["288","= 1.125"]' in specification
    assert '"text":["320","= 1.25","default"]' in specification
    assert "pacing_gain (1/256)" in texts_of(output)
    # Of the algorithm that has the parameter; 38/40 and 42/40.
    shown = read(output, "caption.txt").partition("\n")[0]
    assert shown.endswith("Other values gave BBRv1 0.950 to 1.05 times the mean goodput of the default.")


def test_beside_a_parameter_without_a_known_default_the_comparison_names_its_own(tmp_path: Path) -> None:
    cells = [("beta", "717", 10.0), ("beta", "512", 9.9), ("tcp_window_scaling", "0", 2.0)]
    cells += [("tcp_window_scaling", "1", 10.0)]
    runs = [
        make_run(n, {"cubic": rate}, parameter_name=name, parameter_value=value)
        for n, (name, value, rate) in enumerate(cells)
    ]
    caption = read(plot(tmp_path, gather(*runs), kind="rate_by_parameter"), "caption.txt")
    assert "Other values of CUBIC's beta gave CUBIC 0.990 times the mean goodput of the default." in caption


def test_what_pacing_allows_is_drawn_and_named_where_means_are_near_it(tmp_path: Path) -> None:
    runs = [
        make_run(
            n,
            {"cubic": [1.0, 1.0], "bbr": [19.0 + n, 19.0]},
            parameter_name="pacing_gain",
            parameter_value=value,
            pacing_bps=20e6,
        )
        for n, value in enumerate(("288", "320"))
    ]
    output = plot(tmp_path, gather(*runs), kind="rate_by_parameter")
    # Two flows of 20 Mbit/s: 38/40 and 39/40. CUBIC is far below.
    caption = read(output, "caption.txt")
    assert "BBRv1 has 95 to 98 % of what pacing allows in every panel" in caption
    assert "CUBIC has" not in caption
    assert "what pacing allows the flows of one algorithm" in texts_of(output)


def test_runs_of_different_values_of_a_parameter_are_kept_apart_or_said_to_be_pooled(tmp_path: Path) -> None:
    def write(folder: str, values: list[str | None]) -> tuple[pl.DataFrame, str]:
        runs = [
            make_run(
                100 * place + number,
                {"cubic": rate},
                loss_pct=loss,
                parameter_name=value and "bdp",
                parameter_value=value,
            )
            for place, value in enumerate(values)
            for number, (rate, loss) in enumerate([(9.0 + place, 0.1), (5.0 + place, 1.0)])
        ]
        (tmp_path / folder).mkdir()
        output = plot(tmp_path / folder, gather(*runs), kind="rate_by_loss")
        return pl.read_csv(output / "figure.csv"), read(output, "caption.txt") + read(output, "alt.txt")

    few, said = write("few", ["0.5", "2", None])
    assert few.select("parameter_name", "parameter_value", "loss_pct").unique().height == 6
    assert "pools" not in said
    assert "bdp 2" in said
    many, said = write("many", [str(number) for number in range(1, 15)])
    assert many.height == 2
    assert "; each mean pools the values of bdp. " in said.partition("\n")[0]


def make_rates(pairs: list[tuple[float, dict[str, Any]]], count: int = 1) -> Rows:
    """Return as many runs of CUBIC for each RTT with other facts."""
    runs = [(rtt, facts, repeat) for rtt, facts in pairs for repeat in range(count)]
    return gather(
        *(
            make_run(number, {"cubic": 1.0 + number}, **{"rtt_ms": rtt, "nic_bps": 1e10} | facts)
            for number, (rtt, facts, _) in enumerate(runs)
        )
    )


@pytest.mark.parametrize(
    ("column", "values", "titles"),
    [
        ("pacing_bps", (3e8, 9.9e9, None), ["paced to 300 Mbit/s", "paced to 9.9 Gbit/s", "not paced"]),
        ("nic_bps", (1e10, 4e10), ["sender's line 10 Gbit/s", "sender's line 40 Gbit/s"]),
    ],
)
def test_runs_of_other_pacing_and_line_rates_are_panels_of_their_own(
    column: str, values: tuple[float | None, ...], titles: list[str], tmp_path: Path
) -> None:
    pairs: list[tuple[float, dict[str, Any]]] = [(rtt, {column: value}) for rtt in (10.0, 80.0) for value in values]
    output = plot(tmp_path, make_rates(pairs), kind="rate_by_rtt")
    assert [text for text in texts_of(output) if text in titles] == titles
    data = read_means(output)
    assert data[column].unique().sort(nulls_last=True).to_list() == list(values)
    assert "drawn together" not in read(output, "caption.txt")


def test_line_rates_behind_a_known_bottleneck_share_a_panel(tmp_path: Path) -> None:
    pairs = [(rtt, {"nic_bps": nic, "bottleneck_bps": 1e9}) for rtt in (10.0, 80.0) for nic in (1e10, 4e10)]
    output = plot(tmp_path, make_rates(pairs), kind="rate_by_rtt")
    assert read_means(output)["runs_count"].to_list() == [2, 2]
    # Beside runs of an unknown bottleneck the title of theirs has the bottleneck alone.
    assert describe_panel(["bottleneck_bps", "nic_bps"], [1e9, None]) == "bottleneck 1 Gbit/s"
    unknown = describe_panel(["bottleneck_bps", "nic_bps"], [None, 4e10])
    assert unknown == "sender's line 40 Gbit/s"


def test_more_pacing_rates_than_panels_are_pooled_and_the_shown_sentence_says_so(tmp_path: Path) -> None:
    pairs: list[tuple[float, dict[str, Any]]] = [
        (rtt, {"pacing_bps": 1e9 + 1e8 * step}) for rtt in (10.0, 80.0) for step in range(13)
    ]
    output = plot(tmp_path, make_rates(pairs), kind="rate_by_rtt")
    first = read(output, "caption.txt").partition(". ")[0]
    assert first.endswith("; runs of 13 pacing rates are drawn together, 1 Gbit/s to 2.2 Gbit/s")
    assert first.rpartition("; ")[2] in read(output, "alt.txt")


@pytest.mark.parametrize(
    ("kind", "facts", "others"),
    [
        # As on two paths of which each was paced to its own rate.
        (
            "rate_by_rtt",
            [{"rtt_ms": 10.0, "pacing_bps": 3e8}, {"rtt_ms": 80.0, "pacing_bps": 9.9e9}],
            "pacing_bps",
        ),
        (
            "rate_by_loss",
            [{"loss_pct": 0.0, "flows_count": 1}, {"loss_pct": 1.0, "flows_count": 4}],
            "flows_count",
        ),
        ("rate_by_loss", [{"loss_pct": 0.0, "rtt_ms": 5.0}, {"loss_pct": 1.0, "rtt_ms": 9.0}], "rtt_ms"),
    ],
)
def test_means_that_never_differ_in_one_condition_only_are_not_compared(
    kind: str, facts: list[dict[str, Any]], others: str, tmp_path: Path
) -> None:
    runs = [make_run(number, {"cubic": 10.0, "bbr": 20.0}, **own) for number, own in enumerate(facts)]
    name = "RTT" if kind == "rate_by_rtt" else "packet loss"
    assert read(plot(tmp_path, gather(*runs), kind=kind), "missing.txt") == (
        f"No two means differ only in {name}: there is nothing to compare. "
        f"Those of other values differ in {others} too.\n"
    )


def test_a_hostile_parameter_is_only_text(tmp_path: Path) -> None:
    tables = sweep("parameter_value", (HOSTILE, "2"), parameter_name=HOSTILE)
    output = plot(tmp_path, tables, kind="rate_by_parameter")
    assert "<script" not in read(output, "figure.svg")
    assert "\\n" in read(output, "alt.txt")
    assert read(output, "alt.txt").count("\n") == 1


def test_too_many_panels_are_no_figure_and_the_message_names_what_differs(tmp_path: Path) -> None:
    tables = gather(
        *(
            make_run(10 * place + n, {"bbr": 1.0}, loss_pct=float(place), rtt_ms=rtt)
            for place in range(13)
            for n, rtt in enumerate((10.0, 20.0))
        )
    )
    message = read(plot(tmp_path, tables, kind="rate_by_rtt"), "missing.txt")
    assert message == (
        "The runs that match make 13 panels: narrow `where` for this archive. "
        "They have loss_pct IN (0.0, 1.0, 2.0, 3.0, 4.0, 5.0) and 7 others.\n"
    )


def test_what_where_could_choose_from_is_sql_that_can_be_pasted() -> None:
    runs = pl.DataFrame(
        {"cc": ["bbr", "cubic"], "host": ["it's", "b"], "rtt_ms": [0.1 + 0.2, 1e-7], "flows_count": [1, None]}
    )
    message = str(refuse_parts("9 panels", runs, ["cc", "host", "rtt_ms", "flows_count"], "RPC tests"))
    start, _, told = message.removesuffix(".").partition(" They have ")
    assert start == "The RPC tests that match make 9 panels: narrow `where` for this archive."
    conditions = told.split("; ")
    assert conditions[0] == "host IN ('b', 'it''s')"
    assert conditions[2] == "(flows_count IN (1) OR flows_count IS NULL)"
    for condition in conditions:
        assert duckdb.sql(f"FROM runs WHERE {condition}").pl().height == 2


def test_too_many_lines_are_no_figure(tmp_path: Path) -> None:
    tables = gather(
        *(
            make_run(10 * place + n, {"bbr": 1.0}, loss_pct=loss, rtt_ms=1.0 + place)
            for place in range(9)
            for n, loss in enumerate((0.0, 0.1))
        )
    )
    message = read(plot(tmp_path, tables, kind="rate_by_loss"), "missing.txt")
    assert message.startswith("The runs that match make 9 lines in a panel")


def test_rtts_that_differ_little_keep_lines_of_their_own(tmp_path: Path) -> None:
    tables = gather(
        *(
            make_run(10 * place + n, {"bbr": 1.0 + place}, loss_pct=loss, rtt_ms=rtt)
            for place, rtt in enumerate((10.01, 10.02))
            for n, loss in enumerate((0.0, 0.1))
        )
    )
    texts = texts_of(plot(tmp_path, tables, kind="rate_by_loss"))
    assert "RTT 10.01 ms" in texts
    assert "RTT 10.02 ms" in texts


def make_versions() -> Rows:
    """Return BBR versions beside CUBIC, two runs each, and version 2 alone; retransmit ratios 0.1 and 0.01."""
    runs = gather(
        *(make_run(n, {"cubic": 1.0 + n, "bbr": 9.0}) for n in (0, 1)),
        *(make_run(n, {"cubic": 4.0, "bbr2": 6.0}) for n in (2, 3)),
        make_run(4, {"bbr2": 9.5}),
    )
    for flow in runs["flows"]:
        ratio = {"bbr": 0.1, "bbr2": 0.01, "cubic": 0.02}[flow["cc"]]
        flow |= {
            "retransmits_count": round(ratio * 1000),
            "segments_count": 1000.0,
            "retransmit_ratio": ratio,
            "retransmit_source": "ss",
        }
    return runs


def test_versions_stand_beside_each_other_with_what_ran_beside_them(tmp_path: Path) -> None:
    output = plot(tmp_path, make_versions(), kind="rate_by_version")
    data = pl.read_csv(output / "figure.csv")
    # CUBIC beside the first version: 1 and 2 Mbit/s.
    assert data.select("category", "cc", "runs_count", "rate_mean_bps", "retransmit_mean_ratio").rows() == [
        ("BBRv1 beside CUBIC", "bbr", 2, 9e6, 0.1),
        ("BBRv1 beside CUBIC", "cubic", 2, 1.5e6, 0.02),
        ("BBRv2 alone", "bbr2", 1, 9.5e6, 0.01),
        ("BBRv2 beside CUBIC", "bbr2", 2, 6e6, 0.01),
        ("BBRv2 beside CUBIC", "cubic", 2, 4e6, 0.02),
    ]
    texts = texts_of(output)
    axes = ("Mean goodput (Mbit/s)", "Retransmitted data segments (log scale)", "Mean of the runs’ ratios (%)")
    for text in (*axes, "1.50", "9.00", "10", "1.0"):
        assert text in texts
    assert "BBRv1 beside CUBIC: BBRv1 9.00 Mbit/s and 10 % retransmitted; CUBIC 1.50 Mbit/s" in read(output, "alt.txt")


@pytest.mark.slow
def test_versions_are_compared_in_the_conditions_of_all(tmp_path: Path) -> None:
    both = {"loss_pct": 0.0}
    runs = [
        *(
            make_run(n, {cc: rate}, **both)
            for n, (cc, rate) in enumerate({"bbr": 9.0, "bbr2": 8.0, "cubic": 7.0}.items())
        ),
        make_run(3, {"bbr2": 1.0}, loss_pct=1.0),
        make_run(4, {"cubic": 2.0}, loss_pct=1.0),
    ]
    output = plot(tmp_path, gather(*runs), kind="rate_by_version")
    assert pl.read_csv(output / "figure.csv").select("category", "runs_count", "rate_mean_bps").rows() == [
        ("CUBIC alone", 1, 7e6),
        ("BBRv1 alone", 1, 9e6),
        ("BBRv2 alone", 1, 8e6),
    ]
    assert "mean of the runs’ retransmit ratios, where every version ran so." in read(output, "caption.txt")
    # 9/8 = 1.125, rounded to even.
    found = "each mean: 1 run. Alone BBRv1 had 1.12 times the goodput of BBRv2. CUBIC had 7.00 Mbit/s alone.\n"
    assert found in read(output, "caption.txt")
    # Without a condition of both, each has its own.
    (tmp_path / "own").mkdir()
    output = plot(tmp_path / "own", gather(runs[0], runs[3]), kind="rate_by_version")
    assert pl.read_csv(output / "figure.csv")["runs_count"].to_list() == [1, 1]
    assert "each version in conditions of its own." in read(output, "caption.txt")


def test_close_versions_are_named_and_so_is_what_others_had_beside_each(tmp_path: Path) -> None:
    mixes = ({"cubic": 4.5}, {"bbr": 9.7}, {"bbr2": 9.6}, {"cubic": 2.2, "bbr": 7.4}, {"cubic": 2.1, "bbr2": 7.5})
    output = plot(tmp_path, gather(*(make_run(n, mix) for n, mix in enumerate(mixes))), kind="rate_by_version")
    # 9.7/9.6 and 7.5/7.4 are below 1.05, but CUBIC has a third of either.
    assert (
        "The means of BBRv1 and BBRv2 are less than 5 % apart, alone and beside CUBIC. "
        "CUBIC had 4.50 Mbit/s alone, 2.20 Mbit/s beside BBRv1 and 2.10 Mbit/s beside BBRv2. "
        "Means that close need not be equal: their intervals decide.\n"
    ) in read(output, "caption.txt")


def test_versions_without_retransmits_have_one_panel(tmp_path: Path) -> None:
    tables = gather(make_run(1, {"cubic": 1.0, "bbr": 9.0}), make_run(2, {"cubic": 4.0, "bbr3": 6.0}))
    output = plot(tmp_path, tables, kind="rate_by_version")
    assert "No retransmits were recorded." in read(output, "caption.txt")
    assert not [text for text in texts_of(output) if "Retransmitted" in text]


@pytest.mark.parametrize("ccs", [("bbr2", "cubic"), ("bbr", "bbr1"), ("cubic", "reno")])
def test_fewer_than_two_versions_are_no_figure(ccs: tuple[str, str], tmp_path: Path) -> None:
    tables = gather(*(make_run(n, {cc: 5.0}) for n, cc in enumerate(ccs)))
    output = plot(tmp_path, tables, kind="rate_by_version")
    assert read(output, "missing.txt").startswith("The runs that match have fewer than two versions of BBR to compare")


def test_flows_of_a_run_have_their_jain_index(tmp_path: Path) -> None:
    # CUBIC 1 and 3: (1 + 3)²/(2 (1 + 9)) = 16/20 = 0.8; BBR 5 and 5: 1.
    tables = gather(*(make_run(n, {"cubic": [1.0, 3.0], "bbr": [5.0, 5.0]}, loss_pct=0.1) for n in (1, 2)))
    output = plot(tmp_path, tables, kind="flow_spread")
    data = pl.read_csv(output / "figure.csv")
    assert data.filter(cc="cubic").select("run_id", "rate_bps", "jain_ratio").rows() == [
        ("r001", 1e6, 0.8),
        ("r001", 3e6, 0.8),
        ("r002", 1e6, 0.8),
        ("r002", 3e6, 0.8),
    ]
    assert texts_of(output).count("0.800") == 2
    assert texts_of(output).count("1.000") == 2
    # Runs are numbered in either panel; the axis of rates has each number once more.
    assert [texts_of(output).count(text) for text in ("Run", "1", "2", "3")] == [2, 3, 3, 1]
    assert "CUBIC: single flows from 1.00 Mbit/s to 3.00 Mbit/s, Jain index 0.800." in read(output, "alt.txt")
    shown = read(output, "caption.txt").partition("\n")[0]
    assert shown.endswith(" Jain’s fairness index of a run’s flows, mean over the runs: CUBIC 0.800 and BBRv1 1.000.")


def test_the_title_of_a_panel_keeps_numbers_with_their_units() -> None:
    assert wrap_text("buffer 12 MB, 0.02 % loss, RTT 13 ms", 33) == ["buffer 12 MB, 0.02 % loss, RTT", "13 ms"]


def test_single_flows_have_no_spread(tmp_path: Path) -> None:
    output = plot(tmp_path, gather(make_run(1, {"cubic": 1.0, "bbr": 2.0})), kind="flow_spread")
    assert read(output, "missing.txt") == ("Of 1 run that fits, none has two flows of one algorithm with a rate.\n")


def test_flows_that_carried_nothing_have_no_index(tmp_path: Path) -> None:
    output = plot(tmp_path, gather(make_run(1, {"cubic": [0.0, 0.0], "bbr": [5.0, 5.0]})), kind="flow_spread")
    assert pl.read_csv(output / "figure.csv").filter(cc="cubic")["jain_ratio"].to_list() == [None, None]
    assert "–" in texts_of(output)


def test_the_spread_of_one_condition_says_that_others_match(tmp_path: Path) -> None:
    rates = {"cubic": [1.0, 3.0], "bbr": [5.0, 5.0]}
    tables = gather(*(make_run(n, rates, job="abc"[n // 2]) for n in range(5)))
    output = plot(tmp_path, tables, kind="flow_spread")
    said = "2 others match as well; the figure shows the one with the most runs, then the first by identifier."
    assert said in read(output, "caption.txt")
    assert pl.read_csv(output / "figure.csv")["run_id"].n_unique() == 2


def test_more_iterations_than_fit_are_left_out_and_said(tmp_path: Path) -> None:
    tables = gather(*(make_run(n, {"cubic": [1.0, 3.0], "bbr": [5.0, 5.0]}) for n in range(10)))
    for row in tables["runs"]:
        row["condition_id"] = "c"
    output = plot(tmp_path, tables, kind="flow_spread")
    # Two panels of 322 px hold 7 runs each.
    assert pl.read_csv(output / "figure.csv")["run_id"].n_unique() == 7
    assert "Left out: 6 later runs." in read(output, "caption.txt")


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("rtt_nominal_ms", 5.0, "RTT 5 ms"),
        ("rtt_nominal_ms", None, "RTT unknown"),
        ("rtt_min_ms", 5.25, "RTT min 5.25 ms"),
        ("nic_bps", 1e10, "sender's line 10 Gbit/s"),
        ("mtu_bytes", 9000, "MTU 9 kB"),
        ("duration_s", 10.0, "duration 10 s"),
        ("retransmit_ratio", 0.02, "retransmitted 2 %"),
        ("jain_ratio", 0.9, "Jain's index 0.9"),
        ("iteration", 3, "iteration 3"),
        ("is_cpu_bound", True, "is CPU bound: yes"),
        ("kernel", "6.1.0", "6.1.0"),
        ("kernel", None, "kernel unknown"),
    ],
)
def test_a_panel_by_any_column_has_its_name_and_its_unit(column: str, value: Any, shown: str) -> None:
    assert describe_panel((column, "loss_pct"), (value, 0.0)) == f"{shown}, no loss"
