"""Figures over conditions: their rows, means, axes and lines, by RTT, loss, flows and buffer."""

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from condition_figures import plot, read, read_means, sweep, texts_of
from condition_runs import gather, make_run

from ccreport.figures.conditions.rate import find_lightest, shade_colour
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.kit.axes import Position, choose_offset
from ccreport.figures.kit.small_multiples import join_points
from ccreport.figures.kit.value_axis import fit_value_axis
from ccreport.figures.select.declaration import FigureError
from ccreport.figures.wording.conditions import describe_panel

KINDS = (
    "rate_by_rtt",
    "rate_by_loss",
    "rate_by_flows",
    "rate_by_buffer",
    "rate_by_parameter",
    "rate_by_version",
    "flow_spread",
    "fairness_by_buffer",
    "topology",
)


def test_every_kind_is_known_to_the_evaluation_and_has_a_builder() -> None:
    assert set(KINDS) <= set(BUILDERS)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_run_the_message_repeats_the_condition(kind: str, tmp_path: Path) -> None:
    output = plot(tmp_path, gather(make_run(1, {"bbr": 1.0})), kind=kind, where="job = 'none'")
    assert [path.name for path in output.iterdir()] == ["missing.txt"]
    assert read(output, "missing.txt") == (
        "The archive has no run that this figure would show. The condition: job = 'none'\n"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_runs_that_do_not_count_are_not_drawn(kind: str, tmp_path: Path) -> None:
    output = plot(tmp_path, gather(make_run(1, {"bbr": 1.0}, is_counted=False)), kind=kind)
    assert read(output, "missing.txt").startswith("Of 1 run that matches, none counts")


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_condition_is_an_error(kind: str, tmp_path: Path) -> None:
    with pytest.raises(FigureError, match="refuses"):
        plot(tmp_path, gather(make_run(1, {"bbr": 1.0})), kind=kind, where="no_such_column > 1")


@pytest.mark.parametrize(
    ("kind", "column", "values", "reason"),
    [
        ("rate_by_rtt", "rtt_ms", (10.0,), "All 2 runs that match have the same RTT"),
        ("rate_by_loss", "loss_pct", (None,), "Of 2 runs that match, none has a known packet loss."),
        ("rate_by_buffer", "buffer_bytes", (None,), "Of 2 runs that match, none has a known buffer size."),
        ("rate_by_parameter", "parameter_value", ("4",), "All 2 runs that match have the same value of the parameter"),
    ],
)
def test_one_value_is_nothing_to_compare(
    kind: str, column: str, values: tuple[Any, ...], reason: str, tmp_path: Path
) -> None:
    assert read(plot(tmp_path, sweep(column, values), kind=kind), "missing.txt").startswith(reason)


def test_cells_have_the_means_and_intervals_of_the_tables(tmp_path: Path) -> None:
    # CUBIC 10, 12 and 11 at the first RTT: mean 11, standard error 1/√3 or 5.2486 %, t of 2 degrees of freedom 4.30265.
    third = (make_run(5 + n, {"cubic": 11.0 / n, "bbr": 32.0 / n}, rtt_ms=rtt) for n, rtt in ((1, 10.0), (2, 40.0)))
    output = plot(tmp_path, gather(sweep("rtt_ms", (10.0, 40.0)), *third), kind="rate_by_rtt")
    data = read_means(output)
    assert data.select("cc", "rtt_ms", "runs_count", "rate_mean_bps").rows() == [
        ("cubic", 10.0, 3, 11e6),
        ("cubic", 40.0, 3, 5.5e6),
        ("bbr", 10.0, 3, 32e6),
        ("bbr", 40.0, 3, 16e6),
    ]
    expected = (11e6 / math.exp(0.225831), 11e6 * math.exp(0.225831))
    assert data.select("rate_low_bps", "rate_high_bps").row(0) == pytest.approx(expected, rel=1e-4)


def test_runs_beside_other_competitors_are_panels_of_their_own(tmp_path: Path) -> None:
    losses = (0.0, 0.1, 1.0)
    beside_bbr2 = [
        make_run(10 * place + n, {"cubic": 10.0, "bbr2": 30.0}, loss_pct=loss, cc_list="bbr2,cubic")
        for place, loss in enumerate(losses)
        for n in range(5)
    ]
    beside_bbr = [
        make_run(100 + n, {"cubic": 90.0, "bbr": 30.0}, loss_pct=losses[0], cc_list="bbr,cubic") for n in range(3)
    ]
    output = plot(tmp_path, gather(*beside_bbr2, *beside_bbr), kind="rate_by_loss")
    # CUBIC's mean without loss is of its runs beside BBRv2 alone: what ran beside BBR has nothing to compare.
    means = pl.read_csv(output / "figure.csv").filter(cc="cubic").select("loss_pct", "runs_count", "rate_mean_bps")
    assert means.rows() == [(loss, 5, 10e6) for loss in losses]
    assert "2 panels left out, in which no two means differ only in packet loss." in read(output, "caption.txt")
    more = [make_run(200 + n, {"cubic": 60.0, "bbr": 3.0}, loss_pct=losses[1], cc_list="bbr,cubic") for n in range(3)]
    (folder := tmp_path / "more").mkdir()
    output = plot(folder, gather(*beside_bbr2, *beside_bbr, *more), kind="rate_by_loss")
    data = pl.read_csv(output / "figure.csv").filter(cc="cubic", loss_pct=0.0)
    assert data.select("beside", "rate_mean_bps").rows() == [("bbr,cubic", 90e6), ("bbr2,cubic", 10e6)]
    titles = [text for text in texts_of(output) if text.startswith("CUBIC, both CUBIC and ")]
    assert len(titles) == 2
    assert "CUBIC, both CUBIC and BBRv2" in titles


def test_the_data_has_each_run_that_is_drawn_as_a_dot(tmp_path: Path) -> None:
    data = pl.read_csv(plot(tmp_path, sweep("rtt_ms", (10.0, 40.0)), kind="rate_by_rtt") / "figure.csv")
    runs = data.filter(drawn_as="run").select("run_id", "cc", "rtt_ms", "rate_bps")
    assert runs.filter(cc="cubic").rows() == [
        ("r000", "cubic", 10.0, 10e6),
        ("r001", "cubic", 10.0, 12e6),
        ("r010", "cubic", 40.0, 5e6),
        ("r011", "cubic", 40.0, 6e6),
    ]
    assert runs.height == 8
    assert data["drawn_as"].to_list()[:4] == ["mean"] * 4


def test_a_single_run_has_no_interval(tmp_path: Path) -> None:
    tables = gather(make_run(1, {"bbr": 3.0}, rtt_ms=10.0), make_run(2, {"bbr": 2.0}, rtt_ms=20.0))
    output = plot(tmp_path, tables, kind="rate_by_rtt")
    assert read_means(output)["rate_low_bps"].null_count() == 2
    assert "No mean has an interval: each needs three runs at least." in read(output, "caption.txt")


def test_a_panel_of_a_single_value_is_left_out_where_others_compare(tmp_path: Path) -> None:
    single = make_run(50, {"bbr": 3.0}, rtt_ms=10.0, loss_pct=1.0)
    output = plot(tmp_path, gather(sweep("rtt_ms", (10.0, 40.0), loss_pct=0.0), single), kind="rate_by_rtt")
    assert "1 panel left out, in which no two means differ only in RTT." in read(output, "caption.txt")
    assert "1 % loss" not in texts_of(output)
    assert read_means(output)["runs_count"].sum() == 8


def test_throughput_takes_the_place_of_an_unknown_goodput(tmp_path: Path) -> None:
    tables = sweep("rtt_ms", (10.0, 40.0))
    tables["flows"][0]["goodput_bps"] = None
    output = plot(tmp_path, tables, kind="rate_by_rtt")
    # The sender's rates are twice the receiver's.
    assert read_means(output)["rate_mean_bps"].to_list() == [22e6, 11e6, 64e6, 32e6]
    assert "Mean throughput (Mbit/s)" in texts_of(output)


def test_runs_without_a_rate_are_no_figure(tmp_path: Path) -> None:
    tables = gather(make_run(1, {"bbr": 3.0}))
    tables["flows"][0] |= {"goodput_bps": None, "throughput_bps": None}
    assert (
        read(plot(tmp_path, tables, kind="rate_by_rtt"), "missing.txt")
        == "Of 1 run that matches, none has a throughput.\n"
    )


def test_each_loss_has_a_panel_with_the_same_scale(tmp_path: Path) -> None:
    tables = gather(
        *(
            make_run(10 * place + number, {"cubic": rate}, rtt_ms=rtt, loss_pct=loss)
            for place, loss in enumerate((0.0, 0.1, 1.0))
            for number, (rtt, rate) in enumerate([(10.0, 40.0 / (place + 1)), (20.0, 5.0)])
        )
    )
    output = plot(tmp_path, tables, kind="rate_by_rtt")
    texts = texts_of(output)
    assert [title for title in ("no loss", "0.1 % loss", "1 % loss") if title in texts] == [
        "no loss",
        "0.1 % loss",
        "1 % loss",
    ]
    specification = read(output, "figure.vl.json")
    domains = set(re.findall(r'"domain":\s*\[\s*0(?:\.0)?,\s*([\d.]+)\s*\]', specification))
    # Of the rates up to 40 Mbit/s, and of the RTTs up to 20 ms with room at the right.
    assert {float(domain) for domain in domains} == {50.0, 20.8}
    assert "All panels have the same scales." in read(output, "caption.txt")


def test_means_far_apart_are_on_a_logarithmic_axis(tmp_path: Path) -> None:
    runs = [make_run(10 * n, {"cubic": low, "bbr": 40.0}, rtt_ms=10.0 + n) for n, low in enumerate((1.5, 20.0))]
    plot(tmp_path, gather(*runs), kind="rate_by_rtt")
    assert "Mean goodput (Mbit/s), log scale" in texts_of(tmp_path / "out")
    # From below 1.5 to above 40.
    assert re.search(r'"domain":\s*\[\s*1(?:\.0)?,\s*56\.23\s*\]', read(tmp_path / "out", "figure.vl.json"))


@pytest.mark.parametrize(("means", "ticks"), [([2.0, 40.0], 0.0), ([2.0, 40.1], 1.0), ([0.0, 40.0], 0.0)])
def test_an_axis_begins_at_0_unless_means_are_more_than_20_times_apart_and_none_is_0(
    means: list[float], ticks: float
) -> None:
    assert fit_value_axis("Rate", pl.Series(means), [45.0]).ticks[0] == ticks


def test_a_logarithmic_axis_holds_the_lower_ends_of_intervals_that_are_not_far_below() -> None:
    means = pl.Series([2.0, 90.0])
    assert fit_value_axis("Rate", means, [], pl.Series([0.4, 80.0])).ticks[0] == 0.2
    # A twentieth of the least mean, below 0, and unknown: the bars get arrows.
    assert fit_value_axis("Rate", means, [], pl.Series([0.1, -3.0, None])).ticks[0] == 1.0


def test_a_logarithmic_axis_holds_each_single_value_that_is_drawn() -> None:
    means = pl.Series([2.0, 90.0])
    assert fit_value_axis("Rate", means, [], pl.Series([0.4]), 0.03).ticks[0] == 0.02
    # A run without any goodput has no logarithm.
    assert not fit_value_axis("Rate", means, [], None, 0.0).is_log


def test_no_run_is_below_the_frame_of_means_far_apart(tmp_path: Path) -> None:
    rates = ((1, 10.0, 0.4), (2, 10.0, 2.6), (3, 11.0, 20.0))
    runs = [make_run(n, {"cubic": low, "bbr": 40.0}, rtt_ms=rtt) for n, rtt, low in rates]
    plot(tmp_path, gather(*runs), kind="rate_by_rtt")
    # The mean of 1.5 alone would let the axis begin at 1; above the last tick, 50, there is room for a mark.
    assert re.search(r'"domain":\s*\[\s*0\.2,\s*59\.01\s*\]', read(tmp_path / "out", "figure.vl.json"))


def test_an_axis_of_many_powers_of_ten_has_no_ticks_between_them() -> None:
    axis = fit_value_axis("Rate", pl.Series([0.002, 90.0]), [])
    assert axis.ticks == [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
    assert [axis.part(value) for value in (0.0, 0.001, axis.most)] == pytest.approx([0.0, 0.0, 1.0])
    # A mark at the last tick is whole.
    assert 0.95 < axis.part(100.0) < 0.98


def test_means_are_joined_where_none_was_measured_between_and_two_are_no_line() -> None:
    assert join_points([1.0, 2.0], [1.0, 2.0], 0.1) == [None, None]
    assert join_points([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], 0.1) == [0, 0, 0]
    # 3 was measured elsewhere; 4.05 is where 4 is.
    assert join_points([1.0, 2.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 4.05, 5.0], 0.1) == [0, 0, 1, 1]
    assert join_points([1.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], 0.1) == [None, 1, 1]


def test_a_figure_draws_no_line_over_numbers_of_flows_that_a_panel_lacks(tmp_path: Path) -> None:
    measured = {10.0: (1, 16), 80.0: (1, 4, 16)}
    pairs = [(rtt, flows) for rtt, counts in measured.items() for flows in counts]
    runs = [make_run(n, {"bbr": 40.0}, rtt_ms=rtt, flows_count=flows) for n, (rtt, flows) in enumerate(pairs)]
    output = plot(tmp_path, gather(*runs), kind="rate_by_flows")
    marks = [
        layer["mark"]["type"]
        for panel in json.loads(read(output, "figure.vl.json"))["vconcat"][1]["hconcat"]
        for layer in panel["layer"]
    ]
    assert marks.count("line") == 1


def test_emulated_paths_are_named_as_such_and_their_hosts_below_the_figure(tmp_path: Path) -> None:
    runs = [make_run(n, {"cubic": 10.0}, rtt_ms=rtt, session="s") for n, rtt in enumerate((10.0, 40.0))]
    sessions = {"sessions": [{"experiment_id": "e", "session": "s"}]}
    output = plot(tmp_path, gather(*runs, sessions), kind="rate_by_rtt")
    shown, folded = read(output, "caption.txt").splitlines()
    assert "CUBIC, alone, 1 flow, no loss — 2 emulated paths; each mean: 1 run." in shown
    assert folded.endswith(" Emulated hosts: sender to 10.0.0.2.")
    assert "10.0.0.2" not in read(output, "figure.svg")
    # Several are counted; of paths of which some are real all have their names.
    for others, said in (({"session": "s"}, "3 emulated paths"), ({}, "sender to 10.0.0.2 and 10.0.0.3")):
        (folder := tmp_path / said).mkdir()
        more = make_run(2, {"cubic": 10.0}, rtt_ms=80.0, host="10.0.0.3", **others)
        assert f"no loss — {said};" in read(
            plot(folder, gather(*runs, more, sessions), kind="rate_by_rtt"), "caption.txt"
        )


def test_the_alternative_says_ends_and_largest_difference(tmp_path: Path) -> None:
    output = plot(tmp_path, sweep("rtt_ms", (10.0, 40.0)), kind="rate_by_rtt")
    # 32/11 = 2.909 at both RTTs: the first is named.
    assert read(output, "alt.txt") == (
        "Chart of mean goodput against RTT: CUBIC and BBRv1, both, 2 flows, no loss — sender to 10.0.0.2. "
        "From RTT 10 ms to RTT 40 ms: CUBIC 11.0 Mbit/s to 5.50 Mbit/s; BBRv1 32.0 Mbit/s to 16.0 Mbit/s. "
        "Farthest apart at RTT 10 ms: BBRv1 had 2.91 times the mean goodput of CUBIC.\n"
    )
    # A caption says it too, behind the conditions.
    shown, folded = read(output, "caption.txt").splitlines()
    assert shown.endswith("Farthest apart at RTT 10 ms: BBRv1 had 2.91 times the mean goodput of CUBIC.")
    assert folded.startswith("Mean goodput against RTT, summed over the flows of an algorithm. ")


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        (30.0, "Farthest apart at RTT 10 ms: CUBIC had 6.00 times the mean goodput of BBRv1, with 2 flows beside 1."),
        (5.1, "The means of CUBIC and BBRv1 are less than 5 % apart everywhere, of different numbers of flows."),
    ],
)
def test_means_of_more_flows_beside_fewer_say_so(rate: float, told: str, tmp_path: Path) -> None:
    runs = [make_run(n, {"cubic": [rate / 2, rate / 2], "bbr": 5.0}, rtt_ms=10.0 * n) for n in (1, 2)]
    output = plot(tmp_path, gather(*runs), kind="rate_by_rtt")
    assert told in read(output, "caption.txt")
    assert told in read(output, "alt.txt")


def test_queues_have_panels_of_their_own_and_equal_means_are_no_pair(tmp_path: Path) -> None:
    points = itertools.product((10.0, 40.0), ("fifo", "fq_codel"))
    runs = [
        make_run(number, {"cubic": 10.0, "bbr": 10.2}, rtt_ms=rtt_ms, queue_discipline=queue)
        for number, (rtt_ms, queue) in enumerate(points)
    ]
    output = plot(tmp_path, gather(*runs), kind="rate_by_rtt")
    assert set(read_means(output)["queue_discipline"]) == {"fifo", "fq_codel"}
    assert "Fq_codel, from RTT 10 ms to RTT 40 ms: CUBIC" in read(output, "alt.txt")
    assert "The means of CUBIC and BBRv1 are less than 5 % apart everywhere." in read(output, "caption.txt")


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (
            1.02,
            "less than 5 % apart wherever they can be compared; over RTT they go from 1.00 Mbit/s to 10.0 Mbit/s.",
        ),
        (3.0, "Farthest apart, where they can be compared, at"),
    ],
)
def test_a_comparison_says_that_not_all_means_can_be_compared(factor: float, said: str, tmp_path: Path) -> None:
    points = (("cubic", 10.0, 10.0), ("bbr", 10.0, 10.0 * factor), ("bbr", 40.0, 10.0), ("cubic", 80.0, 1.0))
    runs = [make_run(number, {cc: rate}, rtt_ms=rtt) for number, (cc, rtt, rate) in enumerate(points)]
    assert said in read(plot(tmp_path, gather(*runs), kind="rate_by_rtt"), "caption.txt")


def test_means_that_are_close_are_those_of_the_algorithms_that_can_be_compared(tmp_path: Path) -> None:
    points = (("cubic", 10.0, 1.0), ("cubic", 80.0, 1.0), ("bbr", 40.0, 9.7), ("bbr2", 40.0, 9.8))
    runs = [make_run(number, {cc: rate}, rtt_ms=rtt) for number, (cc, rtt, rate) in enumerate(points)]
    caption = read(plot(tmp_path, gather(*runs), kind="rate_by_rtt"), "caption.txt")
    assert "The means of BBRv1 and BBRv2 are less than 5 % apart wherever they can be compared" in caption


def test_symbols_of_equal_means_are_beside_each_other_as_far_as_places_allow(tmp_path: Path) -> None:
    runs = [
        make_run(n, {"cubic": 10.0, "bbr": 10.0, "bbr2": 10.0}, flows_count=flows) for n, flows in enumerate((3, 6))
    ]
    drawn = json.loads(read(plot(tmp_path, gather(*runs), kind="rate_by_flows"), "figure.vl.json"))
    panel = drawn["vconcat"][1]["hconcat"][0]
    symbols = [layer["data"] for layer in panel["layer"] if layer["mark"].get("fill") == "white"]
    rows = [drawn["datasets"][data["name"]] if "name" in data else data["values"] for data in symbols]
    # The axis of two places is two long.
    places = sorted(row["x"] / 2 * panel["width"] for own in rows for row in own)
    assert len(places) == 6
    assert min(after - before for before, after in itertools.pairwise(places)) > 8.9
    # Three places on 100 px, 40 px apart: a symbol is 9 px wide, and of four each has 8 px, twice that between places.
    position = Position("x", 0.0, 100.0, [])
    assert choose_offset([10.0, 50.0, 90.0, 50.5], position, 100, 3) == 9.0
    assert choose_offset([10.0, 50.0, 90.0], position, 100, 4) == 8.0
    assert choose_offset([10.0], position, 100, 5) == 9.0


def test_fairness_by_buffer_has_the_index_and_the_rates_of_each_size(tmp_path: Path) -> None:
    runs = [
        make_run(
            size,
            {"cubic": 10.0, "bbr": 10.0 * size},
            buffer_bytes=size * 10**6,
            queue_discipline="fq_codel",
            jain_ratio=1 / size,
        )
        for size in (1, 2)
    ]
    output = plot(tmp_path, gather(*runs), kind="fairness_by_buffer")
    assert "fq_codel" in read(output, "caption.txt")
    data = pl.read_csv(output / "figure.csv")
    assert data.filter(cc="bbr").sort("buffer_bytes")["rate_mean_bps"].to_list() == [10e6, 20e6]


def test_loss_has_a_line_per_rtt_and_a_panel_per_algorithm(tmp_path: Path) -> None:
    tables = gather(
        sweep("loss_pct", (0.0, 0.001, 1.0), rtt_ms=10.0),
        {
            name: [row | {"run_id": f"x{row['run_id']}"} | ({"rtt_ms": 80.0} if name == "runs" else {}) for row in rows]
            for name, rows in sweep("loss_pct", (0.0, 0.001, 1.0), rtt_ms=10.0).items()
        },
    )
    output = plot(tmp_path, tables, kind="rate_by_loss")
    texts = texts_of(output)
    for text in ("CUBIC", "BBRv1", "RTT 10 ms", "RTT 80 ms", "none", "0.001", "1", "Packet loss (%)"):
        assert text in texts
    data = pl.read_csv(output / "figure.csv")
    assert data.height == 2 * 2 * 3
    assert data["cc"].to_list()[0] == "cubic"
    assert "Category axis, not to scale." in read(output, "caption.txt")


def test_flows_are_categories_in_order(tmp_path: Path) -> None:
    output = plot(tmp_path, sweep("flows_count", (16, 2, 8)), kind="rate_by_flows")
    assert read_means(output).filter(cc="bbr")["flows_count"].to_list() == [2, 8, 16]
    texts = texts_of(output)
    assert [text for text in texts if text in ("2", "8", "16")][:3] == ["2", "8", "16"]


def test_buffers_are_multiples_of_the_bandwidth_delay_product(tmp_path: Path) -> None:
    # 40 Mbit/s over 20 ms are 100 kB.
    tables = sweep("buffer_bytes", (25_000, 100_000, 1_000_000), bottleneck_bps=40e6, rtt_ms=20.0)
    texts = texts_of(plot(tmp_path, tables, kind="rate_by_buffer"))
    for text in ("25 kB", "0.25 BDP", "100 kB", "1 BDP", "1 MB", "10 BDP"):
        assert text in texts


def test_buffers_of_several_paths_have_no_multiple(tmp_path: Path) -> None:
    tables = gather(
        *(
            make_run(n, {"bbr": 10.0}, buffer_bytes=size, bottleneck_bps=rate)
            for n, (size, rate) in enumerate([(1000, 1e6), (2000, 1e6), (1000, 2e6), (2000, 2e6)])
        )
    )
    texts = texts_of(plot(tmp_path, tables, kind="rate_by_buffer"))
    assert not [text for text in texts if "BDP" in text]
    assert "bottleneck 2 Mbit/s" in texts


def test_a_colour_goes_to_white_and_to_black() -> None:
    # Half of 0x80 to white: 128 + 127 · 0.5 = 191.5, rounded to even 192 = c0; to black 64 = 40.
    assert shade_colour("#800000", -0.5) == "#c08080"
    assert shade_colour("#800000", 0.5) == "#400000"


def test_a_colour_that_has_no_contrast_to_spare_gets_no_lighter() -> None:
    # Black half way to white is #808080, of luminance 0.216 and contrast 1.05/0.266 = 3.9; the orange has 3.0 itself.
    assert find_lightest("#000000") == -0.5
    assert find_lightest("#dd7a00") == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rate_by_rtt", "topology", "flow_spread"])
def test_the_same_rows_give_the_same_bytes(kind: str, tmp_path: Path) -> None:
    tables = gather(*(make_run(n, {"cubic": [1.0, 3.0 + n], "bbr": [5.0, 5.0]}, rtt_ms=10.0 + n % 2) for n in range(4)))
    first, second = (tmp_path / name for name in ("a", "b"))
    for folder in (first, second):
        folder.mkdir()
        plot(folder, tables, kind=kind)
    for path in (first / "out").iterdir():
        assert path.read_bytes() == (second / "out" / path.name).read_bytes(), path.name


def test_figures_of_many_runs_stay_small(tmp_path: Path) -> None:
    tables = gather(
        *(
            make_run(
                100 * place + n, {"cubic": 1.0 + n, "bbr": 70.0 - n}, rtt_ms=10.0 * (1 + n % 8), loss_pct=float(place)
            )
            for place in range(6)
            for n in range(64)
        )
    )
    output = plot(tmp_path, tables, kind="rate_by_rtt")
    assert (output / "figure.svg").stat().st_size < 300_000


def test_a_path_without_a_recorded_bottleneck_is_not_said_to_have_one() -> None:
    shown = describe_panel(("bottleneck_bps", "buffer_bytes", "rtt_ms"), (None, None, 20.0))
    assert shown == "RTT 20 ms"
    assert describe_panel(("bottleneck_bps", "queue_discipline"), (1e7, None)) == "bottleneck 10 Mbit/s"
    # Alone it tells the panel from the others.
    assert describe_panel(("bottleneck_bps", "queue_discipline"), (None, None)) == "no known bottleneck"


def test_a_queue_that_marks_packets_is_told_from_one_that_does_not() -> None:
    columns = ("queue_discipline", "has_queue_ecn")
    assert [describe_panel(columns, values) for values in (("fq_codel", True), ("fq_codel", False))] == [
        "fq_codel with ECN",
        "fq_codel",
    ]
    assert [describe_panel(columns[1:], (value,)) for value in (True, False)] == [
        "queue with ECN",
        "queue without ECN",
    ]


@pytest.mark.parametrize("kind", ["rate_by_loss", "rate_by_version"])
def test_the_caption_of_means_says_how_many_runs_are_left_out_as_suspect(kind: str, tmp_path: Path) -> None:
    runs = [make_run(n, {cc: 5.0}, loss_pct=n // 2 % 2 / 10) for n, cc in enumerate(["bbr", "bbr2"] * 4)]
    told = [" left out as suspect." in read(plot(tmp_path, gather(*runs), kind=kind), "caption.txt")]
    (tmp_path / "archive.duckdb").unlink()
    tables = gather(*runs) | {"suspects": [{"run_id": "r004", "suspect_rule": "sample_gap"}]}
    assert read(plot(tmp_path, tables, kind=kind), "caption.txt").endswith(" 1 run left out as suspect.\n")
    assert told == [False]
