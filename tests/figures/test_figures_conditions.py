import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from condition_runs import Rows, build_database, gather, make_run, write_evaluation

from ccreport.figures.conditions.rate import find_lightest, shade_colour
from ccreport.figures.conditions.topology_drawing import Box, Lane, draw_topology
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.kit.axes import Position, choose_offset, shorten
from ccreport.figures.kit.small_multiples import join_points
from ccreport.figures.kit.text import wrap_text
from ccreport.figures.kit.value_axis import fit_value_axis
from ccreport.figures.select.condition_cells import refuse_parts
from ccreport.figures.select.declaration import FigureError, read_declaration
from ccreport.figures.wording.conditions import describe_panel
from ccreport.figures.write import plot_declaration

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
HOSTILE = '"><script>x</script>\n{{< y >}}'


def plot(folder: Path, tables: Rows, **figure: Any) -> Path:
    database = folder / "archive.duckdb"
    if not database.exists():
        build_database(folder, tables)
    declaration = read_declaration(write_evaluation(folder, **figure), "f")
    plot_declaration(declaration, database, folder / "out")
    return folder / "out"


def read(output: Path, name: str) -> str:
    return (output / name).read_text(encoding="utf-8")


def read_means(output: Path) -> pl.DataFrame:
    return pl.read_csv(output / "figure.csv").filter(drawn_as="mean")


def texts_of(output: Path) -> list[str]:
    return re.findall(r">([^<>]+)</(?:text|tspan)>", read(output, "figure.svg"))


def sweep(column: str, values: tuple[Any, ...], **facts: Any) -> Rows:
    """Return two runs at each value: CUBIC with 10 and 12, BBR with 30 and 34 Mbit/s, over 1, 2, … by place."""
    return gather(
        *(
            make_run(
                10 * place + repeat,
                {"cubic": (10.0 + 2 * repeat) / (place + 1), "bbr": (30.0 + 4 * repeat) / (place + 1)},
                **{column: value},
                **facts,
            )
            for place, value in enumerate(values)
            for repeat in (0, 1)
        )
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
    assert re.search(r'"domain":\s*\[\s*1(?:\.0)?,\s*50(?:\.0)?\s*\]', read(tmp_path / "out", "figure.vl.json"))


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


def test_an_axis_of_many_powers_of_ten_has_no_ticks_between_them() -> None:
    axis = fit_value_axis("Rate", pl.Series([0.002, 90.0]), [])
    assert axis.ticks == [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
    assert [axis.part(value) for value in (0.0, 0.001, 100.0)] == pytest.approx([0.0, 0.0, 1.0])


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


def test_the_alternative_says_ends_and_largest_difference(tmp_path: Path) -> None:
    output = plot(tmp_path, sweep("rtt_ms", (10.0, 40.0)), kind="rate_by_rtt")
    # 32/11 = 2.909 at both RTTs: the first is named.
    assert read(output, "alt.txt") == (
        "Chart of mean goodput against RTT: CUBIC and BBRv1, both, 2 flows, no loss — sender to 10.0.0.2. "
        "From RTT 10 ms to RTT 40 ms: CUBIC 11.0 Mbit/s to 5.50 Mbit/s; BBRv1 32.0 Mbit/s to 16.0 Mbit/s. "
        "Farthest apart at RTT 10 ms: BBRv1 had 2.91 times the goodput of CUBIC.\n"
    )
    # A caption says it too, behind the conditions.
    shown, folded = read(output, "caption.txt").splitlines()
    assert shown.endswith("Farthest apart at RTT 10 ms: BBRv1 had 2.91 times the goodput of CUBIC.")
    assert folded.startswith("Mean goodput against RTT, summed over the flows of an algorithm. ")


def test_queues_have_panels_of_their_own_and_equal_means_are_no_pair(tmp_path: Path) -> None:
    points = itertools.product((10.0, 40.0), ("fifo", "fq_codel"))
    runs = [
        make_run(number, {"cubic": 10.0, "bbr": 10.2}, rtt_ms=rtt_ms, queue_discipline=queue)
        for number, (rtt_ms, queue) in enumerate(points)
    ]
    output = plot(tmp_path, gather(*runs), kind="rate_by_rtt")
    assert set(read_means(output)["queue_discipline"]) == {"fifo", "fq_codel"}
    assert "Fq_codel, from RTT 10 ms to RTT 40 ms: CUBIC" in read(output, "alt.txt")
    assert "The algorithms’ means are less than 5 % apart everywhere." in read(output, "caption.txt")


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1.02, "less than 5 % apart wherever they can be compared."),
        (3.0, "Farthest apart, where they can be compared, at"),
    ],
)
def test_a_comparison_says_that_not_all_means_can_be_compared(factor: float, said: str, tmp_path: Path) -> None:
    points = (("cubic", 10.0, 10.0), ("bbr", 10.0, 10.0 * factor), ("bbr", 40.0, 10.0), ("cubic", 80.0, 1.0))
    runs = [make_run(number, {cc: rate}, rtt_ms=rtt) for number, (cc, rtt, rate) in enumerate(points)]
    assert said in read(plot(tmp_path, gather(*runs), kind="rate_by_rtt"), "caption.txt")


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
    assert unknown == "no known bottleneck, sender's line 40 Gbit/s"


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
    axes = ("Mean goodput (Mbit/s)", "Retransmitted segments", "% of data segments (log scale)")
    for text in (*axes, "1.50", "9.00", "10", "1.0"):
        assert text in texts
    assert "BBRv1 beside CUBIC: BBRv1 9.00 Mbit/s and 10 % retransmitted; CUBIC 1.50 Mbit/s" in read(output, "alt.txt")


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
    assert "mean retransmit ratio, where every version ran so." in read(output, "caption.txt")
    # 9/8 = 1.125, rounded to even.
    found = "each mean: 1 run. Alone BBRv1 had 1.12 times the goodput of BBRv2.\n"
    assert found in read(output, "caption.txt")
    # Without a condition of both, each has its own.
    (tmp_path / "own").mkdir()
    output = plot(tmp_path / "own", gather(runs[0], runs[3]), kind="rate_by_version")
    assert pl.read_csv(output / "figure.csv")["runs_count"].to_list() == [1, 1]
    assert "each version in conditions of its own." in read(output, "caption.txt")


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


def make_testbed() -> Rows:
    paths = [("a", "10.0.0.1", 10.0, 0.0), ("a", "far.example.net", 80.0, 0.1), ("b", "10.0.0.1", 5.0, 0.0)]
    tables: dict[str, Any] = gather(
        *(
            make_run(
                n,
                {"bbr": 1.0},
                sender_host=sender,
                host=host,
                host_address="10.0.0.1",
                rtt_ms=rtt,
                loss_pct=loss,
                nic_bps=10e9,
                mtu_bytes=9000,
                kernel="5.10",
                bottleneck_bps=1e9 if sender == "b" else None,
            )
            for n, (sender, host, rtt, loss) in enumerate(paths)
        )
    )
    netem = {"raw_file_id": "q", "line_number": 1, "device": "e", "qdisc": "netem", "limit_packets_count": 10000}
    tables["qdiscs"] = [
        netem | {"run_id": f"r{n:03}", "delay_ms": rtt / 2, "loss_pct": loss}
        for n, (sender, _, rtt, loss) in enumerate(paths)
        if sender == "a"
    ]
    return tables


def test_the_topology_has_senders_paths_and_destinations(tmp_path: Path) -> None:
    output = plot(tmp_path, make_testbed(), kind="topology")
    shown, _, rest = read(output, "caption.txt").partition("\n")
    # As many as there are boxes, though two of them have the same address.
    assert (
        "3 runs between 2 senders and 3 destinations (of 2 names; each sender has its own), at RTTs of 5–80 ms."
        in shown
    )
    assert "an address under two of them need not be the same host" in rest
    texts = texts_of(output)
    for text in (
        "a",
        "interface 10 Gbit/s",
        "MTU 9,000 B",
        "Linux 5.10",
        "Network emulator (netem)",
        "delay 5–40 ms, loss none, 0.1 %",
        "limit 10,000 packets",
        "far.example.net",
        "10.0.0.1, RTT 80 ms, 1 run",
        "host without a name",
        "10.0.0.1, RTT 10 ms, 1 run",
        "b",
        "Network",
        "bottleneck 1 Gbit/s",
    ):
        assert text in texts
    assert pl.read_csv(output / "figure.csv").rows() == [
        ("a", "10.0.0.1", "10.0.0.1", 10.0, 10.0, 1),
        ("a", "far.example.net", "10.0.0.1", 80.0, 80.0, 1),
        ("b", "10.0.0.1", "10.0.0.1", 5.0, 5.0, 1),
    ]
    assert "From b, interface 10 Gbit/s" in read(output, "alt.txt")


def test_lines_of_a_box_break_at_a_comma_or_a_space_and_lose_nothing() -> None:
    sender = Box("a", ["interface 100 Mbit/s to 100 Gbit/s and more", "MTU 1,500 B"])
    chart = draw_topology("t", [Lane(sender, Box("b", []), [Box("c", [])])]).to_dict()
    texts = [layer["mark"]["text"] for layer in chart["layer"] if layer["mark"]["type"] == "text"]
    (lines,) = (text for text in texts if "MTU 1,500 B" in text)
    assert len(lines) == 3
    assert " ".join(lines) == "interface 100 Mbit/s to 100 Gbit/s and more MTU 1,500 B"


def test_a_topology_needs_a_destination(tmp_path: Path) -> None:
    output = plot(tmp_path, gather(make_run(1, {"bbr": 1.0}, host=None)), kind="topology")
    assert read(output, "missing.txt") == "Of 1 run that matches, none names its destination.\n"


def test_the_caption_of_a_topology_says_which_runs_and_destinations_it_does_not_show(tmp_path: Path) -> None:
    tables = gather(
        make_run(1, {"bbr": 1.0}, destinations_count=3),
        make_run(2, {"bbr": 1.0}, is_counted=False),
        make_run(3, {"bbr": 1.0}, host=None),
        make_run(4, {"bbr": 1.0}),
    )
    tables["suspects"] = [{"run_id": "r004", "suspect_rule": "sample_gap"}]
    shown, _, rest = read(plot(tmp_path, tables, kind="topology"), "caption.txt").partition("\n")
    assert shown.endswith(
        " 1 run between 1 sender and 1 destination, at RTTs of 10 ms; "
        "1 more run not counted (interrupted, or without a rate); 1 more run not counted (suspect); "
        "1 more run without a destination."
    )
    assert "1 run to several destinations at once: only the first is drawn." in rest
    assert "same host" not in rest


def test_many_destinations_are_counted(tmp_path: Path) -> None:
    tables = gather(*(make_run(n, {"bbr": 1.0}, host=f"h{n:02}", rtt_ms=1.0 + n) for n in range(15)))
    output = plot(tmp_path, tables, kind="topology")
    texts = texts_of(output)
    assert "and 3 more destinations" in texts
    assert "h11" in texts
    assert "h12" not in texts
    assert pl.read_csv(output / "figure.csv").height == 15


def test_hostile_names_of_hosts_are_only_text(tmp_path: Path) -> None:
    tables = gather(make_run(1, {"bbr": 1.0}, sender_host=HOSTILE, host=HOSTILE))
    output = plot(tmp_path, tables, kind="topology")
    assert "<script" not in read(output, "figure.svg")
    assert read(output, "alt.txt").count("\n") == 1


def test_a_long_name_is_cut_in_the_drawing() -> None:
    # A letter has 6.6 px: four fit into 28 px.
    assert shorten("abcdef", 28.0) == "abc…"
    chart = draw_topology("t", [Lane(Box("x" * 90, []), Box("p", []), [Box("y", ["z" * 90, "one, two"])])])
    marks = json.dumps(chart.to_dict())
    assert "x" * 30 not in marks
    assert "z" * 40 not in marks
    assert '"one, two"' in marks


def test_a_colour_goes_to_white_and_to_black() -> None:
    # Half of 0x80 to white: 128 + 127 · 0.5 = 191.5, rounded to even 192 = c0; to black 64 = 40.
    assert shade_colour("#800000", -0.5) == "#c08080"
    assert shade_colour("#800000", 0.5) == "#400000"


def test_a_colour_that_has_no_contrast_to_spare_gets_no_lighter() -> None:
    # Black half way to white is #808080, of luminance 0.216 and contrast 1.05/0.266 = 3.9; the orange has 3.0 itself.
    assert find_lightest("#000000") == -0.5
    assert find_lightest("#dd7a00") == 0.0


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
    assert shown == "no known bottleneck, no known buffer, RTT 20 ms"


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
