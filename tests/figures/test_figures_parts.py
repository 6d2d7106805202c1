"""Parts of figures: theme, places of labels, ticks, words, and the choice of runs."""

import math
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import altair as alt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccreport.figures.kit import theme
from ccreport.figures.kit.label_placement import CHARACTER_PX, cover_label, list_bar_points, place_labels
from ccreport.figures.kit.series_styles import style_series
from ccreport.figures.kit.ticks import choose_ticks, round_up_step
from ccreport.figures.run import chart
from ccreport.figures.run.panel import FlowRates, PanelRuns
from ccreport.figures.run.rate_plot import find_scale_top, is_exceeded, place_rules
from ccreport.figures.select.declaration import (
    ALIKE,
    FigureDeclaration,
    choose_rate,
    select_condition_runs,
    summarise_algorithms,
)
from ccreport.figures.select.throughput_series import FigureTables, bin_rows, choose_bins, place_rows
from ccreport.figures.throughput.draw import Panel, Scales, Texts, _place_line_rates
from ccreport.figures.throughput.strip import MARKERS, NAME_PX, STRIP_GAP_PX, CountAxis, draw_strip, fit_count_axis
from ccreport.figures.wording.captions import (
    FigureFacts,
    name_runs,
    write_alternative,
    write_caption,
    write_panels_caption,
)
from ccreport.figures.wording.runs import (
    DrawnAlgorithm,
    DrawnRun,
    describe_runs,
    format_rate,
    format_ratio,
    format_significant,
    join_names,
    wrap_title,
    write_band,
    write_choice,
    write_notes,
)
from ccreport.summarise.grids.settings import choose_rate_unit

COMMON = ("cubic", "bbr", "bbr2", "bbr3")


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb as WCAG 2.2 defines it."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_logarithmic_axis_has_a_tick_at_each_power_of_ten_around_the_values() -> None:
    axis = chart.fit_log_axis("Window", pl.Series([26.0, 22_000.0]))
    assert (axis.title, axis.ticks, axis.is_log) == ("Window, log scale", [10.0, 100.0, 1e3, 1e4, 1e5], True)
    assert chart.fit_log_axis("Window", pl.Series([10.0])).ticks == [10.0, 100.0]


def test_the_axis_of_retransmits_is_logarithmic_where_a_burst_would_flatten_all_else() -> None:
    def count(*counts: float) -> pl.DataFrame:
        return pl.DataFrame({"retransmits_count": counts}, schema={"retransmits_count": pl.Float64})

    # The median of 1, 2, 3, 60 is 2.5; zeros do not count, and the panel with the burst decides for all.
    assert fit_count_axis([count(0, 0, 1, 2, 3, 50), count(8)]) == CountAxis([0.0, 20.0, 40.0, 60.0])
    assert fit_count_axis([count(8), count(0, 0, 1, 2, 3, 60)]) == CountAxis([0.0, 10.0, 100.0], is_log=True)
    assert fit_count_axis([count(1, 1, 30_000)]) == CountAxis([0.0, 10.0, 1e3, 1e5], is_log=True)
    assert fit_count_axis([count(0), count()]) is None


@pytest.mark.parametrize(("counts", "said"), [([0.0, 0.0], "no retransmits"), ([], "no retransmits recorded")])
def test_a_strip_without_retransmits_says_so(counts: list[float], said: str) -> None:
    points = pl.DataFrame({"cc": "bbr", "time_s": 1.0, "retransmits_count": pl.Series(counts, dtype=pl.Float64)})
    layers = draw_strip(points, CountAxis([0.0, 10.0], is_log=True), "Segments", 250, {})
    assert [layer.mark.text for layer in layers] == [["Segments"], [said]]


def test_common_algorithms_are_distinct_in_grey_and_by_dash_and_marker() -> None:
    for one, other in combinations(COMMON, 2):
        lightnesses = [116 * luminance(theme.STYLES[cc].colour) ** (1 / 3) - 16 for cc in (one, other)]
        assert abs(lightnesses[0] - lightnesses[1]) >= 13, (one, other)
    for attribute in ("colour", "dash", "marker"):
        assert len({getattr(theme.STYLES[cc], attribute) for cc in COMMON}) == len(COMMON)


@pytest.mark.parametrize("colour", [*(style.colour for style in theme.STYLES.values()), theme.OTHER_COLOUR])
def test_colours_are_seen_on_white(colour: str) -> None:
    assert 1.05 / (luminance(colour) + 0.05) >= 3


def test_house_theme_is_the_theme() -> None:
    assert alt.theme.active == "ccreport"
    assert theme.style_of("bbr").colour == theme.style_of("bbr1").colour
    assert theme.style_of("x\ny").name == "x\\ny"


def test_no_two_algorithms_have_one_name_or_look() -> None:
    with theme.call_algorithms({"bbr2": "BBR", "cubic": "Loss"}):
        assert [theme.style_of(cc).name for cc in ("bbr2", "bbr", "cubic", "BBR")] == [
            "BBR",
            "bbr",
            "Loss",
            "BBR (kernel)",
        ]
        assert style_series(["bbr", "BBR", "Loss"]) == {"Loss": "cubic", "bbr": "bbr", "BBR": "bbr2"}
    # Nothing says which version it is.
    assert style_series(["bbr", "BBR", "CUBIC"]) == {"CUBIC": "cubic", "bbr": "bbr", "BBR": "bbr2"}
    assert theme.order_algorithms(["vegas", "bbr", "cubic", "ax"]) == ["cubic", "bbr", "ax", "vegas"]


def test_a_bottlenecks_rate_is_not_called_a_line_rate() -> None:
    runs = [{"bottleneck_bps": 2e7, "nic_bps": 1e9}, {"bottleneck_bps": None, "nic_bps": 1e8}]
    panel: Any = SimpleNamespace(drawn=[SimpleNamespace(run=run) for run in runs])
    assert PanelRuns.line_rates_bps.fget(panel) == {2e7: "bottleneck rate", 1e8: "line rate"}


def place_line_rate(lowest: list[float], highest: list[float]) -> tuple[float, float] | None:
    """Return the place of the name of a line rate of 10, at a height of 60 px of 360, over lines and bands of 30 s."""
    times = [30.0 * place / (len(lowest) - 1) for place in range(len(lowest))]
    lines = pl.DataFrame({"cc": ["bbr"] * len(times), "time_s": times, "rate_bps": lowest})
    band = lines.select("cc", "time_s", rate_min_bps=pl.Series(lowest), rate_max_bps=pl.Series(highest))
    points = pl.DataFrame(schema={"cc": pl.String, "time_s": pl.Float64, "retransmits_count": pl.Int64})
    panel = Panel(lines, points, band, Texts([], [], {}, "", "", None, []), {10.0: "line rate", 99.0: "line rate"})
    ((y_px, (name, place)),) = _place_line_rates(panel, Scales(1.0, 30.0, [0.0, 12.0], None, 360)).items()
    assert (y_px, name) == (pytest.approx(60), "line rate")
    return place


def test_the_name_of_the_line_rate_keeps_clear_of_lines_and_bands() -> None:
    right = place_line_rate([5.0] * 4, [6.0] * 4)
    assert right is not None
    assert right[0] > 600
    # A band over the rule in the last two thirds; a line along it leaves room above.
    left = place_line_rate([5.0, 5.0, 8.0, 8.0], [6.0, 6.0, 11.5, 11.5])
    assert left is not None
    assert left[0] < 670 * 2 / 3
    above = place_line_rate([9.9] * 4, [10.0] * 4)
    assert above is not None
    assert above[1] < 60
    assert place_line_rate([8.0] * 4, [11.5] * 4) is None


def test_label_stands_above_its_line_at_the_right_end() -> None:
    # A line at 200 px, 9 px a character: BBR is 27 px wide; 4 px away and 16 px high, its middle is at 200 − 4 − 8.
    places = place_labels({"bbr": "BBR"}, {"bbr": [(0, 200), (600, 200)]}, [], 600, 300)
    assert places == {"bbr": (587.5, 188)}


def test_label_avoids_points_and_stands_below_where_it_must() -> None:
    above = [(x, 188.0) for x in range(0, 601, 20)]
    assert place_labels({"bbr": "BBR"}, {"bbr": [(0, 200), (600, 200)]}, above, 600, 300) == {"bbr": (587.5, 212)}


@pytest.mark.parametrize("name", ["A", "CUBIC", "bottleneck rate"])
def test_label_is_not_printed_over_a_longer_name(name: str) -> None:
    # Above the line is a name of 135 px, so wide that a short one would fit between its ends and middle.
    line = {"a": [(0.0, 200.0), (600.0, 200.0)]}
    taken = cover_label("bottleneck rate", (532.0, 184.0))
    ((x, y),) = place_labels({"a": name}, line, taken, 600, 212).values()
    assert y == 188
    assert x + len(name) * CHARACTER_PX / 2 <= 532 - 15 * CHARACTER_PX / 2


def test_names_of_two_rules_close_to_each_other_do_not_cover_each_other() -> None:
    placed = place_rules({100.0: "bottleneck rate", 104.0: "line rate"}, [], 600, 300)
    (first, one), (second, other) = placed.values()
    assert one
    assert other
    assert abs(one[1] - other[1]) >= 16 or abs(one[0] - other[0]) >= (len(first) + len(second)) * CHARACTER_PX / 2


def test_label_crosses_no_bar_between_its_ends() -> None:
    # A bar from 20 to 280 px of height at 150 px, behind a line at 150 px that goes on to either side.
    line = {"a": [(0.0, 150.0), (300.0, 150.0)]}
    points = list_bar_points([(250.0, 280.0)], [(250.0, 20.0)])
    ((x, _),) = place_labels({"a": "BBRv2 median"}, line, points, 300, 300).values()
    half = len("BBRv2 median") * CHARACTER_PX / 2
    assert x + half <= 250
    ((bare, _),) = place_labels({"a": "BBRv2 median"}, line, [points[0], points[-1]], 300, 300).values()
    assert bare + half > 250


def test_label_without_a_free_place_is_left_out() -> None:
    # Lines 10 px apart: each label would be as near to the other line.
    lines = {"bbr": [(0.0, 150.0), (600.0, 150.0)], "cubic": [(0.0, 160.0), (600.0, 160.0)]}
    names = {"bbr": "BBR", "cubic": "CUBIC"}
    places = place_labels(names, lines, [], 600, 300)
    assert places["bbr"][1] < 150
    assert places["cubic"][1] > 160
    assert place_labels(names, lines, [(x, y) for x in range(0, 601, 9) for y in range(0, 301, 9)], 600, 300) == {}
    assert place_labels({"bbr": "BBR"}, {"bbr": []}, [], 600, 300) == {}


def test_a_line_beyond_that_of_a_label_does_not_push_it_away() -> None:
    # CUBIC is 3 px above BBR, and each name is 4 px from its own line, on the side away from the other.
    lines = {"bbr": [(0.0, 153.0), (600.0, 153.0)], "cubic": [(0.0, 150.0), (600.0, 150.0)]}
    names = {"bbr": "BBR", "cubic": "CUBIC"}
    assert place_labels(names, lines, [], 600, 300) == {"bbr": (587.5, 165), "cubic": (578.5, 138)}
    # Lines that look like one keep their names apart from both.
    lines["bbr"] = [(0.0, 151.0), (600.0, 151.0)]
    assert place_labels(names, lines, [], 600, 300) == {}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(0, 300), min_size=2, max_size=30),
    st.lists(st.floats(0, 300), min_size=2, max_size=30),
    st.lists(st.tuples(st.floats(0, 600), st.floats(0, 300)), max_size=20),
)
def test_labels_cover_nothing(one: list[float], other: list[float], points: list[tuple[float, float]]) -> None:
    lines = {
        key: [(600 * number / (len(heights) - 1), y) for number, y in enumerate(heights)]
        for key, heights in (("a", one), ("b", other))
    }
    for key, (x, y) in place_labels({"a": "CUBIC", "b": "BBR"}, lines, points, 600, 300).items():
        half = {"a": 22.5, "b": 13.5}[key]
        assert half <= x <= 600 - half + 1
        assert 8 <= y <= 292
        for px, py in [*lines["a"], *lines["b"], *points]:
            assert abs(px - x) >= half - 1 or abs(py - y) >= 8


@pytest.mark.parametrize(
    ("maximum", "expected"),
    [
        (46.2, [0, 10, 20, 30, 40, 50]),
        (80, [0, 10, 20, 30, 40, 50, 60, 70, 80]),
        (0.93, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, [0, 1, 2, 3, 4]),
        (152, [0, 20, 40, 60, 80, 100, 120, 140, 160]),
    ],
)
def test_ticks(maximum: float, expected: list[float]) -> None:
    assert choose_ticks(maximum) == pytest.approx(expected)


@given(st.floats(1e-9, 1e12))
def test_ticks_hold_the_maximum_and_are_four_to_eight(maximum: float) -> None:
    ticks = choose_ticks(maximum)
    assert ticks[0] == 0
    assert ticks[-1] >= maximum * (1 - 1e-9)
    assert 4 <= len(ticks) - 1 <= 8


@pytest.mark.parametrize(
    ("size", "expected"), [(0, 1), (0.3, 1), (1.2, 2), (2.2, 5), (22, 50), (874 / 8, 200), (9.9, 10)]
)
def test_steps_of_counts_are_whole(size: float, expected: float) -> None:
    assert round_up_step(size, smallest=1.0) == expected


@pytest.mark.parametrize(
    ("number", "digits", "expected"),
    [
        (23.44, 3, "23.4"),
        (9.999, 3, "10.0"),
        (1234.5, 3, "1,230"),
        (0.0401, 3, "0.0401"),
        (0, 3, "0"),
        (0.00123, 2, "0.0012"),
    ],
)
def test_significant_digits(number: float, digits: int, expected: str) -> None:
    assert format_significant(number, digits) == expected


def test_rates_and_ratios() -> None:
    assert [choose_rate_unit(rate) for rate in (9.8e9, 1e9, 999e6, 2e3, 0)] == [
        "Gbit/s",
        "Gbit/s",
        "Mbit/s",
        "kbit/s",
        "kbit/s",
    ]
    assert format_rate(40e6, "Gbit/s") == "0.0400 Gbit/s"
    assert format_rate(None, "Gbit/s") == "unknown"
    assert [format_ratio(ratio) for ratio in (0.00012, 0.113, 0.0, None)] == ["0.012 %", "11 %", "0 %", "unknown"]
    assert [join_names(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


def make_run(**changes: Any) -> dict[str, Any]:
    run = {"run_id": "r/1", "condition_id": "r", "iteration": 1, "mode": "both", "sender_host": "bost-dtn.es.net"}
    run |= {"host": "sac-rpt1.es.net", "flows_count": 16, "rtt_ms": 61.02, "rtt_nominal_ms": None, "loss_pct": None}
    return dict.fromkeys(ALIKE) | run | changes


def make_drawn(**changes: Any) -> DrawnRun:
    return DrawnRun(make_run(**changes), runs_count=5, is_declared=False)


CUBIC = DrawnAlgorithm("cubic", 1e9, 0.001)
BBR2 = DrawnAlgorithm("bbr2", 4e9, None)


def test_conditions_in_one_line() -> None:
    assert describe_runs(["cubic", "bbr2"], [make_drawn()], overlapped=True) == (
        "CUBIC and BBRv2, 16 flows, both — bost-dtn.es.net to sac-rpt1.es.net, RTT 61 ms"
    )
    assert describe_runs(["cubic", "bbr2"], [make_drawn(rtt_source="ss")], overlapped=True).endswith(
        "to sac-rpt1.es.net, smallest RTT 61 ms"
    )
    unlike = [make_drawn(flows_count=1, rtt_ms=10.0), make_drawn(flows_count=8, rtt_ms=80.0, sender_host=None)]
    assert describe_runs(["cubic", "bbr2"], unlike, overlapped=False) == (
        "CUBIC and BBRv2, 1 and 8 flows, alone — bost-dtn.es.net to sac-rpt1.es.net, RTT 10 and 80 ms"
    )
    unknown = make_drawn(sender_host=None, flows_count=None, rtt_ms=None)
    assert describe_runs(["cubic"], [unknown], overlapped=False) == ("CUBIC, alone — to sac-rpt1.es.net, RTT unknown")
    assert wrap_title("short — one") == ["short — one"]
    assert wrap_title(f"{'a' * 60} — {'b' * 60}") == ["a" * 60, "b" * 60]


def test_band_names_the_other_iterations() -> None:
    single = DrawnRun(make_run(), 1, is_declared=False)
    assert write_band([single]) is None
    assert write_band([DrawnRun(make_run(), 2, is_declared=False)]) == "the other iteration"
    assert write_band([make_drawn(), single, make_drawn()]) == "range of the other 4 iterations"


def test_the_key_says_by_what_a_run_is_chosen() -> None:
    assert write_choice([DrawnRun(make_run(), 2, is_declared=False)]) == "line: the run closest to the mean"
    assert write_choice([DrawnRun(make_run(), 2, is_declared=True)]) is None
    assert write_choice([DrawnRun(make_run(), 1, is_declared=False)]) is None


def make_qdiscs(*rows: tuple[str, float | None, float | None, float | None, int | None]) -> pl.DataFrame:
    """Return the qdiscs of a run from (qdisc, delay and jitter in ms, loss in percent, limit in packets)."""
    schema = {
        "qdisc": pl.String(),
        "delay_ms": pl.Float64(),
        "delay_jitter_ms": pl.Float64(),
        "loss_pct": pl.Float64(),
        "limit_packets_count": pl.Int64(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


@pytest.mark.parametrize(
    ("qdiscs", "changes", "expected"),
    [
        # qdisc netem 80fc: dev r0 root refcnt 2 limit 200000 delay 5ms / … limit 10000 delay 5ms loss 0.00100001%
        (
            make_qdiscs(
                ("noqueue", None, None, None, None),
                ("netem", 5, None, None, 200000),
                ("netem", 5, None, 0.00100001, 10000),
            ),
            {},
            ["netem: delay 5 ms each way, loss 0.001 %, limit 10,000 packets"],
        ),
        (
            make_qdiscs(("netem", 44, 1, None, 1000)),
            {},
            ["netem: delay 44 ms one way, jitter 1 ms, no loss, limit 1,000 packets"],
        ),
        (
            make_qdiscs(("netem", 5, None, None, None), ("netem", 7.5, 0, 1, None)),
            {},
            ["netem: delays 5 ms and 7.5 ms, loss 1 %"],
        ),
        (
            # Ports for three paths, each way.
            make_qdiscs(*(("netem", delay, None, None, None) for delay in (5, 20, 50, 5, 20, 50))),
            {},
            ["netem: delays 5 ms, 20 ms and 50 ms, no loss"],
        ),
        (
            make_qdiscs(),
            {
                "rtt_nominal_ms": 10.0,
                "loss_pct": 0.01,
                "buffer_bytes": 62500,
                "bottleneck_bps": 5e7,
                "background_udp_bps": 5e6,
            },
            [
                "as declared: RTT 10 ms, loss 0.01 %",
                "port buffer 62.5 kB, bottleneck 50 Mbit/s, background UDP 5 Mbit/s",
            ],
        ),
        (
            make_qdiscs(),
            {"rtt_nominal_ms": 9.0, "loss_pct": 0.0, "buffer_bytes": 64_000_000, "bottleneck_bps": 1e10},
            ["as declared: RTT 9 ms, loss 0 %", "port buffer 64 MB, bottleneck 10 Gbit/s"],
        ),
        (
            make_qdiscs(),
            {"buffer_bytes": 100_000, "bottleneck_bps": 2e7, "queue": "fq_codel with ECN"},
            ["port buffer 100 kB, bottleneck 20 Mbit/s, queue fq_codel with ECN"],
        ),
        # A real path: nothing was configured, nothing is said.
        (make_qdiscs(("fq", None, None, None, 10000)), {}, []),
    ],
)
def test_notes_on_the_path(qdiscs: pl.DataFrame, changes: dict[str, Any], expected: list[str]) -> None:
    assert write_notes(qdiscs, make_run(**changes)) == expected


def make_facts(*algorithms: DrawnAlgorithm, **changes: Any) -> FigureFacts:
    facts: dict[str, Any] = {
        "declaration": declare(),
        "drawn": [make_drawn()],
        "algorithms": algorithms,
        "rate": "goodput",
        "unit": "Gbit/s",
        "rate_bin_s": 1.0,
        "count_bin_s": 0.5,
        "sources": {"ss", "iperf3"},
        "left_out_count": 0,
        "notes": [],
    }
    return FigureFacts(**facts | changes)


def declare(**changes: Any) -> FigureDeclaration:
    declared = {"name": "f", "kind": "throughput_over_time", "title": "t", "overlapped": True, "where": "true"}
    return FigureDeclaration(**declared | changes)


@pytest.mark.parametrize(
    ("algorithms", "message"),
    [
        ([CUBIC, BBR2], "BBRv2 had 4.00 times the goodput of CUBIC in the run shown."),
        ([CUBIC, DrawnAlgorithm("bbr", 1.04e9, 0.1)], "The means of CUBIC and BBR are less than 5 % apart."),
        ([DrawnAlgorithm("cubic", 0.0, None), BBR2], "CUBIC had none."),
        (
            [DrawnAlgorithm("cubic", 1e9, None, 1), DrawnAlgorithm("bbr", 2e9, None, 2)],
            "BBR had 2.00 times the goodput of CUBIC in the run shown, with 2 flows beside 1.",
        ),
        (
            [DrawnAlgorithm("cubic", 1e9, None, 2), DrawnAlgorithm("bbr", 1.04e9, None, 1)],
            "The means of CUBIC and BBR are less than 5 % apart, with 1 flow of BBR beside 2 of CUBIC.",
        ),
    ],
)
def test_alternative_states_who_had_more(algorithms: list[DrawnAlgorithm], message: str) -> None:
    assert message in write_alternative(make_facts(*algorithms))


def test_alternative_of_one_algorithm_compares_nothing() -> None:
    assert "times" not in write_alternative(make_facts(CUBIC))


def test_caption_says_what_was_left_out_and_who_counted() -> None:
    caption = write_caption(make_facts(CUBIC, BBR2, left_out_count=2, notes=["netem: x", "y"]))
    assert "counted by ss and iperf3." in caption
    assert (
        "2 others match as well; the figure shows the one with the most runs, then the first by identifier." in caption
    )
    assert caption.endswith("Path: netem: x; y.")


def test_rates_above_the_bottlenecks_are_explained_where_nothing_is_folded_away() -> None:
    # Acknowledgements that catch up, 1.3 times as fast as the bottleneck; one 3 % above it is within its rule.
    assert is_exceeded({1e10: "bottleneck rate"}, 1.3e10)
    assert not is_exceeded({1e10: "bottleneck rate"}, 1.03e10)
    assert not is_exceeded({}, 1.3e10)
    above = make_facts(CUBIC, BBR2, rate_source="ss", is_exceeded=True)
    within = make_facts(CUBIC, BBR2, rate_source="ss")
    for caption in (write_caption(above), write_panels_caption({"a": within, "b": above}, {})):
        shown, folded = caption.split("\n")
        assert "A line above the dotted one is not faster delivery" in shown
        assert "faster delivery" not in folded
    assert "faster delivery" not in write_caption(within)


def test_close_means_are_not_called_equal_in_what_is_never_folded_away() -> None:
    near = make_facts(CUBIC, DrawnAlgorithm("bbr", 1.04e9, 0.1))
    for caption in (write_caption(near), write_panels_caption({"a": near, "b": near}, {})):
        shown = caption.split("\n")[0]
        assert "less than 5 % apart" in shown
        assert shown.count("Means that close need not be equal: their intervals decide.") == 1
    assert "need not be equal" not in write_caption(make_facts(CUBIC, BBR2))


def test_markers_at_the_top_of_the_strip_keep_clear_of_its_name() -> None:
    # A circle of the largest area and its stroke, against half the height of the name's letters.
    area, stroke = MARKERS[0][1:]
    assert math.sqrt(area / math.pi) + stroke / 2 < NAME_PX - theme.TEXT_PX / 2 - 2
    assert NAME_PX + theme.TEXT_PX / 2 + 4 < STRIP_GAP_PX


def test_a_line_rate_within_reach_of_the_rates_is_drawn() -> None:
    line_rates_bps = {1e10: "bottleneck rate"}
    assert find_scale_top(line_rates_bps, 6e9) == 1.04e10
    assert find_scale_top(line_rates_bps, 2e9) == 2e9
    assert FlowRates(pl.DataFrame(), "ss", 1.0).title == "Acknowledged"


def make_matching(*rows: dict[str, Any]) -> pl.DataFrame:
    runs = [make_run(run_id=f"{row['condition_id']}/{number}", **row) for number, row in enumerate(rows)]
    types = {"rtt_nominal_ms": pl.Float64(), "loss_pct": pl.Float64(), "buffer_bytes": pl.Int64()}
    return pl.DataFrame(runs, schema_overrides=types)


def choose_conditions(matching: pl.DataFrame, **changes: Any) -> set[str]:
    return set(select_condition_runs(matching, declare(**changes))["condition_id"])


def test_overlapped_takes_the_condition_with_most_runs_then_the_first() -> None:
    rows = [{"condition_id": condition} for condition in ("b", "b", "a", "c", "c")]
    matching = make_matching(*rows, *({"condition_id": "alone", "mode": "cubic"} for _ in range(9)))
    assert choose_conditions(matching) == {"b"}
    assert select_condition_runs(matching, declare()).height == 2
    # A declared run goes before the number of runs.
    assert choose_conditions(matching, run="a/2") == {"a"}


def test_separate_runs_are_of_like_conditions() -> None:
    # CUBIC has the most runs at 80 ms. Of BBR's conditions the one at 80 ms is like it, though another has more runs
    # and one the same RTT with another number of flows.
    matching = make_matching(
        *({"condition_id": "cubic-80", "mode": "cubic", "rtt_ms": 80.0} for _ in range(3)),
        {"condition_id": "bbr-80", "mode": "bbr", "rtt_ms": 80.0},
        *({"condition_id": "bbr-10", "mode": "bbr", "rtt_ms": 10.0} for _ in range(2)),
        *({"condition_id": "a-bbr-80-p1", "mode": "bbr", "rtt_ms": 80.0, "flows_count": 1} for _ in range(2)),
        {"condition_id": "both-80", "rtt_ms": 80.0},
    )
    assert choose_conditions(matching, overlapped=False) == {"cubic-80", "bbr-80"}
    assert choose_conditions(matching, overlapped=False, run="bbr-10/5") == {"cubic-80", "bbr-10"}
    assert choose_conditions(matching.filter(pl.col("mode") == "none"), overlapped=False) == set()


def make_flows(*rows: dict[str, Any]) -> pl.DataFrame:
    common = {
        "run_id": "r",
        "client_number": 1,
        "cc": "bbr",
        "start_offset_s": 0.0,
        "sender_s": 10.0,
        "receiver_s": 10.0,
    }
    rates = {"throughput_bps": 11.0, "goodput_bps": 10.0, "retransmits_count": 1, "segments_count": 100.0}
    flows = [common | rates | {"flow_id": str(number)} | row for number, row in enumerate(rows)]
    return pl.DataFrame(flows, infer_schema_length=None)


def test_means_of_an_algorithm_are_sums_and_ratios_sum_over_sum() -> None:
    # (1 + 30) / (100 + 900), not the mean of 0.01 and 0.0333.
    flows = make_flows({}, {"retransmits_count": 30, "segments_count": 900.0})
    assert summarise_algorithms(flows, "goodput").rows() == [("r", "bbr", 2, 20.0, 0.031)]
    assert summarise_algorithms(flows, "throughput")["rate_bps"].to_list() == [22.0]


def test_mean_of_flows_one_after_another_is_over_the_time_of_both() -> None:
    # 10 bit/s for 10 s from 0 s and for 5 s from 15 s: 150 bit in 20 s.
    flows = make_flows({}, {"client_number": 2, "start_offset_s": 15.0, "receiver_s": 5.0})
    assert summarise_algorithms(flows, "goodput")["rate_bps"].to_list() == pytest.approx([7.5])


def test_unknown_means_stay_unknown() -> None:
    flows = make_flows({"cc": None, "goodput_bps": None, "retransmits_count": None})
    unknown = flows.cast({"goodput_bps": pl.Float64(), "retransmits_count": pl.Int64(), "cc": pl.String()})
    assert summarise_algorithms(unknown, "goodput").rows() == [("r", "unknown", 1, None, None)]


def test_rate_is_the_senders_where_a_receiver_did_not_report() -> None:
    assert choose_rate(declare(), make_flows({})) == "goodput"
    assert choose_rate(declare(rate="throughput"), make_flows({})) == "throughput"
    assert choose_rate(declare(rate="goodput"), make_flows({}, {"goodput_bps": None})) == "throughput"


def test_samples_after_the_end_are_counted_and_not_drawn() -> None:
    # The test lasts 1 s, ss goes on to 3 s, and sees 1 retransmit until 1.5 s and 5 until 2.5 s.
    seconds = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    samples = pl.DataFrame({"run_id": "r", "flow_id": "0", "connection_number": 0, "time_utc": seconds}).with_columns(
        pl.from_epoch(pl.col("time_utc") * 1_000_000, time_unit="us"),
        retransmits_ss_count=pl.Series([0, 1, 2, 2, 2, 7, 7]),
        acked_bytes=pl.lit(None, pl.Int64),
    )
    intervals = pl.DataFrame(
        {
            "run_id": "r",
            "flow_id": "0",
            "start_s": [0.0, 0.5],
            "end_s": [0.5, 1.0],
            "is_omitted": False,
            "interval_bps": 8.0,
        }
    ).with_columns(retransmits_iperf3_count=pl.lit(1))
    tables = FigureTables(make_matching({"condition_id": "c"}), make_flows({}), intervals, samples, make_qdiscs())
    placed = place_rows(tables, ["r"])
    series = bin_rows(placed, *choose_bins([placed]))
    assert series.points.select("time_s", "retransmits_count").rows() == [(0.25, 0), (0.75, 1)]
    assert series.late_count == 6
    assert series.time_end_s == 1.0
    assert series.band.is_empty()


@pytest.mark.parametrize(
    ("directions", "expected"),
    [
        ([None], "vm to far"),
        (["forward"], "vm to far"),
        (["reverse"], "far to vm"),
        (["both"], "vm and far, both directions"),
        (["forward", "reverse"], "between vm and far"),
    ],
)
def test_the_ends_of_a_path_are_in_the_direction_of_the_data(directions: list[str | None], expected: str) -> None:
    facts = {"sender_host": "vm", "host": "far", "flows_count": 1, "rtt_ms": 20.0}
    runs = [
        facts | {"parameter_name": "beta, direction" if told else None, "parameter_value": told and f"717, {told}"}
        for told in directions
    ]
    drawn = [DrawnRun(run, 1, is_declared=False) for run in runs]
    assert describe_runs(["cubic"], drawn, overlapped=False) == f"CUBIC, 1 flow, alone — {expected}, RTT 20 ms"


def test_hosts_of_emulated_paths_are_told_apart_from_their_conditions() -> None:
    emulated = make_drawn(is_emulated=True)
    assert describe_runs(["cubic"], [emulated], overlapped=False).endswith("alone — emulated path, RTT 61 ms")
    assert name_runs([emulated])[-1] == "Emulated hosts: bost-dtn.es.net to sac-rpt1.es.net"
    # One of which some are real has their names where it always had.
    mixed = [emulated, make_drawn()]
    assert describe_runs(["cubic"], mixed, overlapped=False).endswith("— bost-dtn.es.net to sac-rpt1.es.net, RTT 61 ms")
    assert not any("Emulated" in sentence for sentence in name_runs(mixed))
    back = make_drawn(is_emulated=True, parameter_name="direction", parameter_value="reverse")
    assert "— emulated path, receiver to sender, RTT" in describe_runs(["cubic"], [back], overlapped=False)
