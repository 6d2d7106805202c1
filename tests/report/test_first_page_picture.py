"""The first page's picture: the forest plot of pairs, in all of its layouts, or another figure."""

import math
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
from first_page_inputs import AHEAD, BOTH, CLOSE, ELSEWHERE, TITLES, make_cells, make_pairs

from ccreport.compare.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from ccreport.figures.kit.figure import Figure
from ccreport.figures.write import write_files
from ccreport.report.first_page.forest import draw_forest
from ccreport.report.first_page.forest_frame import NARROW, PAPER, WIDE, draw_stripes, write_top_ticks
from ccreport.report.first_page.rtts import NO_RTTS
from ccreport.report.fragments.first_page.pairs_picture import render_picture
from ccreport.report.markup.escape import escape_text
from ccreport.trace.pairs_figure import write_pairs_command


def list_marks(chart: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the layers of a kind of mark that stand at values, which those of the legend do not."""
    return [
        layer for layer in chart["layer"] if layer["mark"]["type"] == kind and "field" in layer["encoding"].get("y", {})
    ]


def list_texts(figure: Figure) -> list[dict[str, Any]]:
    return [layer for layer in figure.chart.to_dict(validate=False)["layer"] if layer["mark"]["type"] == "text"]


def test_a_mark_is_nearer_to_the_name_above_it_than_to_the_next():
    # Names are 8 px below the upper edges of their rows.
    assert NARROW.mark - 8 < NARROW.row + 8 - NARROW.mark


@pytest.mark.parametrize("layout", [WIDE, NARROW, PAPER])
def test_dots_bands_and_intervals_stand_at_their_ratios(layout: Any):
    pairs = make_pairs(AHEAD, ELSEWHERE, CLOSE)
    figure = draw_forest(pairs, TITLES, BOTH, layout, 2)
    assert figure.caption.endswith(" Not drawn: 2 pairs suspect in the paper.")
    assert figure.caption.startswith("Ratio of the arithmetic mean rates of BBR and CUBIC")
    chart = figure.chart.to_dict(validate=False)
    data = chart["datasets"]

    def rows(layer: dict[str, Any]) -> list[dict[str, Any]]:
        return list(data[layer["data"]["name"]])

    (band,) = list_marks(chart, "bar")
    # Half and twice of what is published.
    assert [(row["ratio"], row["ratio_high"]) for row in rows(band)] == [(4.0, 16.0), (12.9, 51.6), (0.5, 2.0)]
    own, published = (rows(layer) for layer in list_marks(chart, "point"))
    assert [row["ratio"] for row in published] == [8.0, 25.8, 1.0]
    assert [(row["ratio"], row["verdict"]) for row in own] == [
        (10.0, REPRODUCED),
        (1.0, NOT_REPRODUCED),
        (1.0, UNDECIDED),
    ]
    thin, thick, theirs = (rows(layer) for layer in list_marks(chart, "rule")[1:])
    known = pairs.drop_nulls("expected_low").select("expected_low", "expected_high").rows()
    assert [(row["ratio"], row["ratio_high"]) for row in theirs] == known
    assert [(row["ratio"], row["ratio_high"]) for row in thick] == [(8.0, 12.5), (0.99, 1.01), (0.99, 1.01)]
    assert all(outer["ratio"] < inner["ratio"] for outer, inner in zip(thin, thick, strict=True))
    # No two rows share a place, and all are in the plot.
    places = [row["y"] for row in own]
    assert places == sorted(set(places))
    assert places[-1] < chart["height"]
    assert figure.data.height == 3
    assert "Table I: by buffer: 1 reproduced." in figure.alternative


def test_verdicts_differ_in_shape_as_well_as_colour():
    chart = draw_forest(make_pairs(AHEAD), TITLES, BOTH, WIDE).chart.to_dict(validate=False)
    (own,) = (layer for layer in list_marks(chart, "point") if "shape" in layer["encoding"])
    assert len(set(own["encoding"]["shape"]["scale"]["range"])) == 3
    assert len(set(own["encoding"]["fill"]["scale"]["range"])) == 3


@pytest.mark.parametrize("layout", [WIDE, NARROW, PAPER])
def test_own_marks_and_intervals_are_below_those_of_the_paper_and_within_their_row(layout: Any):
    chart = draw_forest(make_pairs(AHEAD), TITLES, BOTH, layout).chart.to_dict(validate=False)
    own, published = (layer["mark"] for layer in list_marks(chart, "point"))
    assert published["fill"] == "white"
    # Own marks are the larger ones and drawn first: of their circles of 5.5 px the paper's ring of 3.1 px hides a part.
    radius, ring = (math.sqrt(mark["size"] / math.pi) for mark in (own, published))
    assert radius > 1.5 * ring
    assert own["yOffset"] - radius - published["yOffset"] > 0
    # Lines of intervals are below the marks, within the row.
    *offsets, of_paper = (layer["mark"]["yOffset"] for layer in list_marks(chart, "rule")[1:])
    assert of_paper == published["yOffset"]
    assert min(offsets) - 1.5 >= own["yOffset"] + radius - 0.5
    assert layout.mark + max(offsets) + 1.5 <= layout.row


def test_a_publication_without_spreads_has_no_intervals():
    cells = make_cells("table_1", "8 MB", REPRODUCED, (8.0, 7.0, 9.0), (10.0, 8.0, 12.5))
    known = ({}, {"expected_cv": None, "expected_low_bps": 1e9}, {"expected_cv": None})
    assert [
        make_pairs([row | spread for row in cells]).select("expected_low", "expected_high").row(0) for spread in known
    ] == [(7.0, 9.0), (7.0, 9.0), (None, None)]


def test_a_narrow_axis_has_ticks_between_its_numbers():
    pairs = make_pairs(make_cells("table_1", "8 MB", REPRODUCED, (0.5, 0.4, 0.6), (100.0, 80.0, 125.0)))
    chart = draw_forest(pairs, TITLES, BOTH, NARROW).chart.to_dict(validate=False)
    (band,) = list_marks(chart, "bar")
    axis = band["encoding"]["x"]["axis"]
    assert axis["values"] == [0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200]
    assert axis["labelExpr"].startswith("indexof([1, 10, 100], datum.value) < 0 ? ''")
    # Above the plot as well.
    ticks = [layer for layer in chart["layer"] if layer["encoding"].get("y", {}).get("value") == -1]
    assert [row["ratio"] for row in chart["datasets"][ticks[0]["data"]["name"]]] == axis["values"]


def test_text_on_paper_is_larger_and_the_axis_above_the_plot_only():
    chart = draw_forest(make_pairs(AHEAD), TITLES, BOTH, PAPER).chart.to_dict(validate=False)
    assert chart["config"]["text"]["fontSize"] == PAPER.text
    (band,) = list_marks(chart, "bar")
    assert band["encoding"]["x"]["axis"]["labels"] is False
    assert any(layer["mark"].get("text") == ["BBR’s rate over CUBIC’s"] for layer in chart["layer"])


def test_the_numbers_of_the_axis_are_above_the_plot_too():
    # An axis from 0.1 to 1000 over 495 px has 1 at a quarter.
    texts = [layer.to_dict(validate=False) for layer in write_top_ticks([1, 10], (0.1, 1000.0), WIDE)]
    assert [(text["mark"]["text"], text["encoding"]["x"]["value"]) for text in texts] == [
        (["1"], 123.8),
        (["10"], 247.5),
    ]
    assert all(text["encoding"]["y"]["value"] < 0 for text in texts)


def test_every_other_row_of_a_table_has_a_stripe_from_its_name_to_the_right_end():
    rows = pl.DataFrame({"table_name": ["a", "a", "a", "b"], "top": [26.0, 46.0, 66.0, 112.0]})
    chart = draw_stripes(rows, alt.Y("y:Q"), WIDE).to_dict(validate=False)
    (stripes,) = chart["datasets"].values()
    assert [(row["y"], row["y_low"]) for row in stripes] == [(26, 46), (66, 86), (112, 132)]
    assert (chart["encoding"]["x"], chart["encoding"]["x2"]) == ({"value": -325}, {"value": 495})


def test_without_pairs_the_picture_is_the_first_figure_that_has_data(tmp_path: Path):
    first_page, figures = tmp_path / "first_page", tmp_path / "figures"
    for folder in (first_page / "pairs", figures / "by_loss", figures / "by_rtt"):
        folder.mkdir(parents=True)
    for folder in (first_page / "pairs", figures / "by_loss"):
        (folder / "missing.txt").write_text("none\n")
    files = {"caption.txt": "Rate by RTT.\nDetails.", "alt.txt": "A chart", "figure.svg": '<svg width="9" height="6"/>'}
    for name, text in files.items():
        (figures / "by_rtt" / name).write_text(text)
    shown = render_picture(first_page, figures, ["by_loss", "by_rtt"], "")
    assert '<img src="figures/by_rtt/figure.svg" alt="A chart"' in shown
    assert "<figcaption>Rate by RTT&#46;</figcaption>" in shown
    assert "Details" not in shown
    # On paper it is among the figures.
    assert "typst" not in shown
    assert render_picture(first_page, figures, ["by_loss"], "") == ""


def test_the_picture_says_which_command_draws_it(tmp_path: Path):
    for name, layout in (("pairs", WIDE), ("pairs_narrow", NARROW), ("pairs_paper", PAPER)):
        (tmp_path / name).mkdir()
        write_files(draw_forest(make_pairs(AHEAD, AHEAD), TITLES, BOTH, layout), tmp_path / name)
    database = Path("results/mine/archive.duckdb")
    shown = render_picture(tmp_path, tmp_path, [], write_pairs_command(Path("/own/mine.yaml"), database))
    command = shown.partition('<details class="fold"><summary>Command</summary>')[2].partition("</details>")[0]
    said = ".venv/bin/python -m ccreport plot_reproduction --evaluation path/to/mine.yaml --reproduction "
    said += "results/mine/reproduction.parquet --database results/mine/archive.duckdb --output first_page"
    assert escape_text(said) in command
    # The PDF has its own, without the title, which the caption says.
    site, paper = shown.split('::: {.content-visible when-format="typst"}')
    assert "pairs_paper" not in site
    assert "](figures/pairs_paper/untitled.svg){#fig-pairs" in paper


def test_names_above_marks_have_a_strip_that_neither_marks_nor_the_line_at_equal_rates_enter():
    for layout, strip in ((WIDE, 0), (PAPER, 0), (NARROW, 16)):
        chart = draw_forest(make_pairs(AHEAD, AHEAD), TITLES, BOTH, layout).chart.to_dict(validate=False)
        (line,) = (layer for layer in list_marks(chart, "rule") if "y2" in layer["encoding"])
        above, below = chart["datasets"][line["data"]["name"]]
        assert below["y"] - above["y_low"] == strip
        (band,) = list_marks(chart, "bar")
        half_px = band["mark"]["height"] / 2
        middles = [row["y"] for row in chart["datasets"][band["data"]["name"]]]
        assert [middle - half_px >= row["y"] for middle, row in zip(middles, (above, below), strict=True)] == [True] * 2
        assert all(middle + half_px <= row["y_low"] for middle, row in zip(middles, (above, below), strict=True))
        # No halo, which would cut pieces out of what is drawn before it.
        assert not any("stroke" in layer["mark"] for layer in chart["layer"] if layer["mark"]["type"] == "text")


def test_below_the_name_of_a_table_are_the_round_trip_times_of_its_buckets():
    cells = ("1 flow, RTT < 30 ms", "1 flow, RTT ≥ 30 ms")
    pairs = make_pairs(AHEAD, *(make_cells("table_2", cell, REPRODUCED, (2, 1, 3), (2, 1, 3)) for cell in cells))
    rtts = pl.DataFrame(
        [("table_2", cells[0], [5.0, 9.0, 13.0]), ("table_2", cells[1], [41.0, 87.0, 109.0])],
        schema=NO_RTTS.schema,
        orient="row",
    )
    for layout in (WIDE, NARROW):
        figure = draw_forest(pairs, TITLES, BOTH, layout, rtts=rtts)
        assert "RTT < 30 ms: 5, 9, 13 ms; ≥ 30 ms: 41, 87, 109 ms" in figure.chart.to_json(ensure_ascii=False)
        assert "RTTs here that each bucket pools" in figure.caption
        plain = draw_forest(pairs, TITLES, BOTH, layout)
        assert "RTTs here" not in plain.caption
        assert figure.chart.height == plain.chart.height + 16
    # On paper, where a line costs more, they are beside it.
    figure, plain = (draw_forest(pairs, TITLES, BOTH, PAPER, rtts=known) for known in (rtts, NO_RTTS))
    assert figure.chart.height == plain.chart.height
    note = next(text for text in list_texts(figure) if text["mark"]["text"][0].startswith("RTT <"))
    (name,) = (text for text in list_texts(figure) if text["mark"]["text"] == ["Table II"])
    assert note["encoding"]["y"] == name["encoding"]["y"]
    assert note["encoding"]["x"]["value"] > name["encoding"]["x"]["value"] + 80
