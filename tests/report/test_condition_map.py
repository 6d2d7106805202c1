"""The heat map of conditions: where a comparison is, its shade, and the runs that it leads to."""

import html
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ccreport.explorer.palette import find_contrast, lighten
from ccreport.figures.kit.theme import STYLES
from ccreport.report.fragments.condition_map import (
    choose_colours,
    choose_shade,
    render_condition_map,
    split_question,
)


def compare(question: str, ratio: float | None, **facts: Any) -> dict[str, Any]:
    return {
        "table_name": "table_2",
        "measure": "goodput_bps",
        "question": question,
        "first_algorithm": "BBR",
        "second_algorithm": "CUBIC",
        "verdict": "undecided",
        "ahead_algorithm": None,
        "effect_mean_ratio": ratio,
        "effect_low_ratio": None,
        "effect_high_ratio": None,
        "tests_count": 3,
        "first_runs_count": 5,
        "second_runs_count": 5,
        "first_mean": 3.0,
        "second_mean": 2.0,
        **facts,
    }


def test_a_field_says_only_what_differs_from_the_others() -> None:
    equal = {"verdict": "equal within ±5 %", "measure": "retransmit_ratio", "first_mean": 0.0, "second_mean": 0.0}
    rows = [
        compare("a", 1.6),
        # Arithmetic and geometric means have one ratio, 1.5.
        compare("b", 1.5),
        compare("c", 1.5, second_runs_count=4),
        compare("d", None, **equal),
    ]
    shown = render_condition_map(pl.DataFrame(rows), {}, rows_at_most=4)
    assert 'title="a&#44; BBR over CUBIC&#58; undecided"' in shown
    assert "Ratio of the geometric means of BBR over CUBIC, with its" in shown
    assert "The algorithms have 5 runs each in a field that gives no n." in shown
    assert "1&#46;60&nbsp;?<br><small>mean ratio 1&#46;50</small></a>" in shown
    assert "1&#46;50&nbsp;?</a>" in shown
    assert "1&#46;50&nbsp;?<br><small>n 5&#44; 4</small></a>" in shown
    assert ">both 0</a>" in shown
    assert "More has: [BBR]{.shade-3 .of-bbr}, [CUBIC]{.shade-3 .of-cubic}" in shown


def test_too_few_runs_are_named_as_the_reason() -> None:
    few = [compare(name, 4.0, first_runs_count=2, second_runs_count=2) for name in ("a", "b")]
    shown = render_condition_map(pl.DataFrame(few), {}, rows_at_most=4)
    assert "undecided, as a verdict needs 3 runs of each algorithm. Below" in shown
    assert "95 &#37; interval" not in shown
    shown = render_condition_map(pl.DataFrame([*few, compare("c", 4.0)]), {}, rows_at_most=4)
    assert "undecided. Below" in shown
    assert "with its 95 &#37; interval" in shown


def read_rows(shown: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", shown.replace("&#37;", "%").replace("&#46;", ".").replace("&#44;", ","))
    return [[re.sub(r"<[^>]+>", "", cell) for cell in re.split(r"</t[hd]>", row)[:-1]] for row in rows]


@pytest.mark.parametrize(
    ("ratio", "shade"),
    [
        (1.0, "shade-equal"),
        (1.049, "shade-equal"),
        (1.05, "shade-1 of-bbr2"),
        (1.5, "shade-2 of-bbr2"),
        (3.0, "shade-3 of-bbr2"),
        # 1 / 0.5 = 2
        (0.5, "shade-2 of-cubic"),
        (0.1, "shade-3 of-cubic"),
        (0.0, ""),
        (None, ""),
    ],
)
def test_shades_are_as_far_from_one_on_either_side(ratio: float | None, shade: str) -> None:
    assert choose_shade(compare("a", ratio), {"BBR": "bbr2", "CUBIC": "cubic"}) == shade


def test_a_group_has_the_colour_of_the_version_that_the_archive_holds() -> None:
    members = {"BBR": ["bbr3", "bbr2", "bbr"], "CUBIC": ["cubic"]}
    assert choose_colours(["BBR", "CUBIC"], members, {"bbr2", "cubic"}) == {"BBR": "bbr2", "CUBIC": "cubic"}
    others = choose_colours(["old", "new", "CUBIC"], {}, ())
    assert others["CUBIC"] == "cubic"
    assert len(set(others.values())) == 3


def mix(first: str, second: str, share: int) -> str:
    """Return a colour of so many per cent of the first and the rest of the second, as `color-mix` in sRGB does."""
    pairs = zip(*([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (first, second)), strict=True)
    return "#" + "".join(f"{round((share * one + (100 - share) * other) / 100):02x}" for one, other in pairs)


@pytest.mark.parametrize(("place", "ink", "paper"), [(0, "#1b222c", "#ffffff"), (1, "#e3e7ec", "#13171d")])
def test_fields_have_the_colours_of_figures_and_text_on_them_can_be_read(place: int, ink: str, paper: str) -> None:
    style = (Path(__file__).parents[2] / "reports/styles.css").read_text(encoding="utf-8")
    found = {
        name: ends for name, *ends in re.findall(r"\.of-(\w+) \{\s+--algorithm: light-dark\((\S+), (\S+)\)", style)
    }
    assert found == {cc: [own.colour, lighten(own.colour)] for cc, own in STYLES.items()}
    # Words in these colours, of which the palest are darkened, can be read on the page.
    darkened = re.search(r"((?:\.of-\w+,\n)*\.of-\w+) \{\s+--of-text: .*var\(--algorithm\) (\d+)%, var\(--ink", style)
    assert darkened
    names, share = re.findall(r"of-(\w+)", darkened[1]), int(darkened[2])
    for name, ends in found.items():
        written = mix(ends[place], ink, share) if name in names else ends[place]
        assert find_contrast(written, paper) >= 4.5, name
    parts = [int(part) for part in re.findall(r"var\(--algorithm\) (\d+)%, var\(--paper", style)]
    assert len(parts) == 3
    for ends in found.values():
        for part in parts:
            assert find_contrast(mix(ends[place], paper, part), ink) >= 4.5


def test_a_question_is_a_row_and_a_column() -> None:
    assert split_question("no loss, 1 flow, RTT < 30 ms") == ("no loss, 1 flow", "RTT < 30 ms")
    assert split_question("h, RTT 40 ms, 0 % loss") == ("h, 0 % loss", "RTT 40 ms")
    assert split_question("buffer 25 kB, 16 flows") == ("buffer 25 kB, 16 flows", "Ratio")


def test_each_comparison_is_a_field_that_leads_to_its_runs() -> None:
    asked = pl.DataFrame(
        [
            compare("no loss, RTT < 30 ms", 1.02, verdict="equal within ±5 %"),
            compare("no loss, RTT ≥ 30 ms", 2.5, ahead_algorithm="BBR", verdict="BBR faster")
            | {"effect_low_ratio": 2.1, "effect_high_ratio": 2.97},
            compare("1 % loss, RTT ≥ 30 ms", None),
            compare("no loss, RTT < 30 ms", 0.2, measure="retransmit_ratio"),
        ]
    )
    shown = render_condition_map(asked, {"table_2": "Table II"}, rows_at_most=3)
    assert read_rows(shown[: shown.index("#map-retransmit-ratio")]) == [
        ["Table II", "RTT &#60; 30 ms", "RTT ≥ 30 ms"],
        ["no loss", "≈ 1.02mean ratio 1.50", "2.50 2.10–2.97mean ratio 1.50"],
        ["1 % loss", "not tested", "no ratio&nbsp;?mean ratio 1.50"],
    ]
    assert '<td class="number shade-2 of-bbr"><a href="cells_comparisons.html#cell-2"' in shown
    assert "<strong>2&#46;50</strong>" in shown
    assert "<small>2&#46;10–2&#46;97</small>" in shown
    assert "BBR faster" in shown
    # The fourth has no page of its runs.
    assert "#cell-4" not in shown
    assert (
        '<td class="number shade-3 of-cubic undecided">0&#46;200&nbsp;?<br>'
        "<small>mean ratio 1&#46;50</small></td>" in shown
    )
    assert '±5 &#37;. ?[&#160;and stripes]{.content-visible when-format="html"}: undecided. Below, where' in shown


def test_of_three_algorithms_each_row_says_which_two_it_compares() -> None:
    asked = pl.DataFrame(
        [
            compare(f"1 flow, RTT {rtt} ms", 2.0, first_algorithm=first, second_algorithm=second)
            for first, second in (("BBR", "CUBIC"), ("BBR", "Reno"))
            for rtt in (100, 20)
        ]
    ).with_columns(measure=pl.lit("goodput_per_flow_bps"))
    shown = html.unescape(render_condition_map(asked, {}, 9))
    assert "## Goodput per flow {" in shown
    assert re.findall(r'<th scope="row">(.*?)</th>', shown) == [
        f"1 flow<br><small>BBR over {name}</small>" for name in ("CUBIC", "Reno")
    ]
    assert re.findall(r'<th scope="col">(RTT.*?)</th>', shown) == ["RTT 20 ms", "RTT 100 ms"]


def test_the_page_says_why_a_field_is_open_whose_interval_excludes_one() -> None:
    rows = [
        compare("a", 0.3, effect_low_ratio=0.2, effect_high_ratio=0.7),
        compare("b", 0.9, effect_low_ratio=0.7, effect_high_ratio=1.2),
    ]
    shown = render_condition_map(pl.DataFrame(rows), {}, rows_at_most=3)
    assert "1 field has a ? although the interval excludes 1" in shown
    assert "corrected (Holm) for all questions about a table (up to 3)" in shown
    assert "although" not in render_condition_map(pl.DataFrame(rows[1:]), {}, rows_at_most=3)


def test_without_comparisons_there_is_no_map() -> None:
    assert render_condition_map(pl.DataFrame(schema={"measure": pl.String}), {}, rows_at_most=9) == ""


def test_the_heading_of_a_bucket_says_the_round_trip_times_that_it_pools() -> None:
    asked = pl.DataFrame([compare("no loss, RTT ≥ 30 ms", 1.6), compare("no loss, RTT 20 ms", 1.6)])
    rtts = pl.DataFrame({"table_name": "table_2", "question": asked["question"], "rtts_ms": [[80.0, 88.0], [20.0]]})
    shown = html.unescape(render_condition_map(asked, {}, 3, rtts))
    assert '<th scope="col">RTT ≥ 30 ms<br><small>here 80, 88 ms</small></th>' in shown
    assert '<th scope="col">RTT 20 ms</th>' in shown
