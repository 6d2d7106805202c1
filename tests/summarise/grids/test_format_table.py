import dataclasses
import re
from string import ascii_lowercase
from typing import Any

import polars as pl
import pytest

from ccreport.core.errors import InputError
from ccreport.core.tables import load_schema
from ccreport.summarise.grids.cells import lay_out_cells, lay_out_rows
from ccreport.summarise.grids.formats.html import format_html
from ccreport.summarise.grids.formats.latex import escape_latex, format_latex
from ccreport.summarise.grids.grid import (
    NARROW,
    Cell,
    Grid,
    count_decimals,
    format_ends,
    format_measured,
    format_probability,
    leave_out_narrow,
    pad_decimals,
)
from ccreport.summarise.grids.headings import (
    describe_shared,
    format_answer,
    format_name,
    name_quantities,
    name_text,
    write_heading,
)
from ccreport.summarise.grids.links import cell_href
from ccreport.summarise.grids.measures import head_rows
from ccreport.summarise.grids.shown_columns import ShownColumn, code_phrases, leave_out


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0000000135, "< 0.0001"), (0.0001, "0.000100"), (0.0273, "0.0273"), (1.0, "1.00"), (None, "–")],
)
def test_small_p_values_are_told_apart_no_further(value: float | None, shown: str) -> None:
    assert format_probability(value) == shown


def test_units_are_said_once_and_minus_is_a_minus_sign() -> None:
    rows = pl.DataFrame({"measure": ["retransmit_ratio", "goodput_per_flow_bps"], "first_mean": [0.01, 5e6]})
    assert name_quantities(rows).rows() == [("Retransmitted (%)", 1.0), ("Goodput per flow (Mbit/s)", 5.0)]
    assert format_measured(-50.1) == ("−50.1", "")


def test_a_number_near_zero_has_a_power_of_ten_where_no_interval_says_its_digits() -> None:
    assert format_measured(0.0000000367) == ("3.67×10⁻⁸", "")
    assert format_measured(0.0001) == ("0.000100", "")
    assert format_measured(0.00002, 0.00001, 0.00003) == ("0.000020", "0.000010–0.000030")
    assert escape_latex("3.67×10⁻⁸") == r"3.67$\times$10\textsuperscript{$-$}\textsuperscript{8}"


def test_what_all_rows_share_is_said_in_words() -> None:
    shared = {"beside": "bbr,cubic", "jain_mean_ratio": 0.5, "first_runs_count": 1}
    assert describe_shared(shared) == "All rows: both bbr and cubic, Jain's index, mean 0.5, runs of first 1."


NASTY = r"<b>&%$#_{}~^\ [x] *-- {{x^2}}"


@pytest.mark.parametrize(
    ("low", "high", "decimals"),
    [
        # Half width 0.36: its first digit, 3, is a tenth.
        (46.05, 46.77, 1),
        # 0.0136: the first digit is a 1, so the second is shown too, a thousandth; of 10.0136 that is one too many.
        (1.0, 1.0272, 3),
        (10.0, 10.0272, 2),
        # 0.00000065, as runs in virtual time differ.
        (9.8003769, 9.8003782, 3),
        # Around 0 the ends tell how large the number may be: 0.006.
        (-0.006, 0.006, 3),
        # 0.25: two digits again.
        (1.0, 1.5, 2),
        # 0.296 is 0.30 in two digits, so its first one is a 3.
        (1.0, 1.592, 1),
        # 0.0996 is 0.10 in two digits.
        (1.0, 1.1992, 2),
        # 7: whole numbers; 70: never fewer than those.
        (100, 114, 0),
        (100, 240, 0),
    ],
)
def test_digits_follow_the_half_width_of_the_interval(low: float, high: float, decimals: int) -> None:
    assert count_decimals((low + high) / 2, low, high) == decimals


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (46.77, "46.8"),
        (0.01385, "0.0138"),  # 0.01385 is a little less as a binary fraction
        (9.996, "10.0"),
        (1234.5, "1234"),
        (0.0, "0"),
        (-0.5, "−0.500"),
        (None, "–"),
    ],
)
def test_three_significant_digits_without_an_interval(value: float | None, text: str) -> None:
    assert format_measured(value) == (text, "")


def test_a_number_and_its_interval_have_as_many_decimals() -> None:
    assert format_measured(46.432, 46.054, 46.772) == ("46.4", "46.1–46.8")
    # An interval without width says nothing about the digits.
    assert format_measured(15.0, 15.0, 15.0) == ("15.0", "15.0–15.0")


def test_an_uneven_interval_has_the_digits_of_its_nearer_end() -> None:
    # 2.33 is 1.87 above its lower end: two digits. A whole 2 would have an interval from 0.
    assert format_measured(2.333, 0.459, 11.864) == ("2.3", "0.5–11.9")


def test_the_ends_of_a_cvs_interval_have_two_digits_each() -> None:
    assert format_ends(0.6, 0.0471, 1.2391) == "0.047–1.2"
    assert format_ends(9.0, 0.351, 23.4) == "0.35–23"
    # As narrow as in virtual time: the number is within.
    assert format_measured(1.5701, 1.5689, 1.5712)[0] == "1.570"
    assert format_ends(1.5701, 1.5689, 1.5712) == "1.569–1.571"
    assert format_ends(0.96084, 0.96082, 0.96086) == "0.9608–0.9609"
    assert format_ends(None, None, None) == ""


def cell(rows: str, bucket: str, algorithm: str, mean: float, half_width: float | None) -> dict[str, Any]:
    low, high = (None, None) if half_width is None else (mean - half_width, mean + half_width)
    names = {"test_group": rows, "flows_count": 16, "rtt_bucket": bucket, "algorithm": algorithm}
    rates = {"rate_mean_bps": mean, "rate_low_bps": low, "rate_high_bps": high}
    return (
        names
        | rates
        | {"rate_cv": 0.1, "rate_low_cv": 0.0482, "rate_high_cv": 1.239, "rate_within_cv": None, "runs_count": 5}
    )


DECLARED = {
    "title": "Table II: a & b",
    "rows": ["test_group", "flows_count"],
    "columns": ["rtt_bucket", "algorithm"],
    "headings": {"test_group": "Test"},
}
CELLS = pl.DataFrame(
    [
        cell("no loss", "far", "BBR", 40e6, 1e6),
        cell("some_loss", "near", "BBR", 30e6, 1e6),
        cell("some_loss", "near", "CUBIC", 10e6, 1e6),
        cell("some_loss", "far", "CUBIC", 20e6, None),
        cell("some_loss", "far", "BBR", 21e6, 1e6),
    ]
)


def test_intervals_are_marked_in_heads_and_cells_so_that_a_phone_can_do_without() -> None:
    html = format_html(lay_out_cells(CELLS, "table_2_testbed", DECLARED, []))
    assert html.count('<span class="less">95 % interval</span>') == 4
    assert re.search(r'<td[^>]*><span class="less">39\.0–41\.0[^<]*</span></td>', html)
    # Heads and cells of four columns, two rows.
    assert html.count('class="less"') == 4 + 2 * 4


# The second row of the summary.
AHEAD = {"rate_mean_bps": pl.Series([False, True, False, False, False])}


def test_cells_stand_by_row_and_column_with_dashes_where_there_is_none() -> None:
    grid = head_rows(lay_out_cells(CELLS, "table_2_testbed", DECLARED, []), DECLARED["headings"])
    assert (grid.stubs, grid.names) == (["Test", "Flows"], [["no loss", "16"], ["some_loss", "16"]])
    # Columns of one bucket stand side by side, though the rows name them in another order.
    assert grid.spanners == [[("far", 8), ("near", 8)], [("BBR", 4), ("CUBIC", 4), ("BBR", 4), ("CUBIC", 4)]]
    assert grid.headings[:4] == ["M", "95 % interval", "CV", "Runs"]
    assert [cell.text for cell in grid.cells[0][:4]] == ["40.0", "39.0–41.0", "10.0", "5"]
    assert grid.caption == "M: mean rate in Mbit/s, with its 95 % interval; CV in %."
    of_goodput = lay_out_cells(CELLS.with_columns(rate_basis=pl.lit("goodput")), "table_2_testbed", DECLARED, [])
    assert of_goodput.caption == "M: mean goodput in Mbit/s, with its 95 % interval; CV in %."
    # A tenth is the third digit of the largest.
    assert [[one.text for one in row[::4]] for row in grid.cells] == [
        ["40.0", "–", "–", "–"],
        ["21.0", "20.0", "30.0", "10.0"],
    ]
    assert [[one.number for one in row[::4]] for row in grid.cells] == [[1, None, None, None], [5, 4, 2, 3]]
    assert not any(one.is_better for row in grid.cells for one in row)


def test_the_rows_that_a_verdict_names_are_bold() -> None:
    grid = lay_out_cells(CELLS, "table_2_testbed", DECLARED, [], AHEAD)
    assert [one.text for row in grid.cells for one in row if one.is_better] == ["30.0"]
    assert grid.notes[-1].startswith("Bold: faster")


def test_rows_and_columns_that_do_not_tell_cells_apart() -> None:
    said = r"tables.table_2_testbed: rows .* and columns \[algorithm\] do not tell its cells apart; add .*`rtt_bucket`"
    with pytest.raises(InputError, match=said):
        lay_out_cells(CELLS, "table_2_testbed", DECLARED | {"columns": ["algorithm"]}, [])


def test_a_table_of_cells_without_any() -> None:
    grid = lay_out_cells(CELLS.clear(), "table_2_testbed", DECLARED, [])
    assert (grid.names, grid.cells, grid.headings) == ([], [], [])
    assert "<table" in format_html(grid)
    check_latex(format_latex(grid))


def test_a_row_list_has_intervals_behind_their_means_and_no_column_that_says_nothing() -> None:
    names = {
        "sender_speed": "10g",
        "path_class": "testbed",
        "test_group": "no loss",
        "sharing": "both",
        "flows_count": 16,
    }
    row = names | {
        "rtt_bucket": "RTT < 30 ms",
        "algorithm": "BBR",
        "retransmit_source": "ss",
        "runs_count": 3,
        "retransmits_count": 5,
        "segments_count": 1000.0,
        "retransmit_ratio": 0.005,
        "retransmit_mean_ratio": 0.0051,
        "retransmit_ratio_cv": None,
        "retransmit_low_ratio": 0.0045,
        "retransmit_high_ratio": 0.0057,
    }
    other = row | {
        "algorithm": "CUBIC",
        "retransmits_count": 13_000,
        "retransmit_ratio": 0.0065,
        "retransmit_mean_ratio": 0.0065,
        "retransmit_low_ratio": 0.006,
        "retransmit_high_ratio": 0.007,
    }
    schema = load_schema("retransmits")
    rows = pl.DataFrame([row, other], schema=schema.polars)
    grid = lay_out_rows(rows, schema, "T", [], {"retransmit_mean_ratio": pl.Series([True, False])})
    assert grid.stubs == ["Algorithm"]
    # What names both rows alike is said once, below them.
    shared = "All rows: sender speed 10g, path class testbed, test group no loss, sharing both, 16 flows, RTT bucket"
    assert f"{shared} RTT < 30 ms, retransmit source ss, 3 runs, segments 1,000." in grid.notes
    # Of a column without a value nothing is said.
    assert not any("CV of the runs' ratios" in note for note in grid.notes)
    headings = ["Retransmits", "Retransmitted (%)", "Retransmitted, mean of the runs' ratios (%)", "95 % interval"]
    assert grid.headings == headings
    # In per cent the half width of the mean is 0.06. Fewer retransmits are better.
    assert grid.cells[0][1:] == [
        Cell("0.500", number=1),
        Cell("0.51", number=1, is_better=True),
        Cell("0.45–0.57", number=1),
    ]
    assert [one.text for one in (grid.cells[0][0], grid.cells[1][0])] == ["5", "13,000"]
    assert not grid.cells[1][2].is_better
    assert grid.notes[-1] == "Bold: with fewer retransmits, by the verdict of the table of comparisons."


def test_a_column_of_the_numbers_of_an_earlier_one_is_left_out() -> None:
    def lay_out(rows: int) -> Grid:
        names = {"path_class": "testbed", "flows_count": 1, "rtt_bucket": "near", "runs_count": 2}
        loads = [{"mode": str(n), "cpu_sender_mean_pct": n / 3, "cpu_sender_busiest_pct": n / 3} for n in range(rows)]
        schema = load_schema("cpu")
        frame = pl.DataFrame([dict.fromkeys(schema.polars) | names | one for one in loads], schema=schema.polars)
        return lay_out_rows(frame, schema, "T", [])

    assert lay_out(3).headings == ["CPU sender mean (%)"]
    assert not any("CPU sender busiest" in note for note in lay_out(3).notes)
    # Of two rows that is chance.
    assert lay_out(2).headings == ["CPU sender mean (%)", "CPU sender busiest (%)"]


def test_sizes_of_packets_are_in_bytes() -> None:
    schema = load_schema("jobs")
    row = dict.fromkeys(schema.polars) | {"job": "a", "algorithm": "BBR", "runs_count": 1, "mss_bytes": 1448}
    grid = lay_out_rows(pl.DataFrame([row], schema=schema.polars), schema, "T", [])
    assert dict(zip(grid.headings, (cell.text for cell in grid.cells[0]), strict=True))["MSS (B)"] == "1,448"


def test_a_cv_is_in_per_cent() -> None:
    schema = load_schema("stability")
    names = {"rtt_bucket": "near", "rate_basis": "goodput", "cells_count": 12}
    rows = [
        names
        | {"algorithm": name, "cv_mean_cv": cv, "cv_within_mean_cv": cv / 2}
        | dict(zip(("cv_ratio", "cv_low_ratio", "cv_high_ratio"), ratio, strict=True))
        for name, cv, ratio in (("BBR", 0.0068, (None, None, None)), ("CUBIC", 0.0272, (4.0, 2.46, 6.504)))
    ]
    frame = pl.DataFrame([dict.fromkeys(schema.polars) | row for row in rows], schema=schema.polars)
    grid = lay_out_rows(frame.drop("rate_basis"), schema, "T", [])
    assert grid.headings == ["Mean CV (%)", "Mean CV within conditions (%)", "Ratio of mean CVs", "95 % interval"]
    assert [[one.text for one in row] for row in grid.cells] == [
        ["0.680", "0.340", "–", "–"],
        ["2.72", "1.36", "4.00", "2.5–6.5"],
    ]


def test_decimal_points_stand_below_each_other() -> None:
    digit, point = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
    assert pad_decimals(["47.36", "45", "–", "1.5", "1,000"]) == [
        *("", point + 2 * digit, "", digit, point + 2 * digit)
    ]
    assert pad_decimals(["0.0041–0.015", "0.1–1"]) == ["", point + 3 * digit]
    assert pad_decimals(["1", "20"]) == ["", ""]
    assert pad_decimals([]) == []


def test_an_interval_whose_ends_are_shown_as_one_number_is_left_out_with_a_note() -> None:
    intervals = ["9.613–9.613", "9.741–9.747", "−0.1–−0.1", "–"]
    grid = dataclasses.replace(
        make_grid("x"),
        names=[["x", str(n)] for n in range(4)],
        headings=["M", "95 % interval"],
        cells=[[Cell("9.613"), Cell(interval)] for interval in intervals],
    )
    shown = leave_out_narrow(grid)
    assert [own[1].text for own in shown.cells] == ["", "9.741–9.747", "", "–"]
    assert shown.notes == ["x", NARROW]
    wide = dataclasses.replace(grid, cells=grid.cells[1:2] + grid.cells[3:])
    assert leave_out_narrow(wide) == wide


def make_grid(text: str) -> Grid:
    return Grid(
        table="table_x",
        title=f"Table IV: {text}",
        stubs=[text, "Flows"],
        names=[[text, "1"], [text, text]],
        spanners=[[(text, 2)]],
        headings=["M", text],
        is_number=[True, False],
        cells=[[Cell("1.0", number=1, is_better=True), Cell(text)], [Cell("–"), Cell("3", number=2)]],
        notes=[text],
        caption=text,
    )


def test_html_shows_text_literally_and_links_each_number() -> None:
    html = format_html(make_grid(NASTY))
    assert "<b>" not in html
    assert "&amp;lt;" not in html
    assert (
        html.count("&lt;b&gt;&amp;%$#_{}") + html.count("&lt;b&gt;&amp;%$#_&#123;}") == 7
    )  # caption, group, name, spanner, heading, cell, note; the first stub is the group
    assert f'<a href="{cell_href("table_x", 1)}"><strong>1.0</strong></a>' in html
    assert re.findall(r'href="([^"]*)"', html) == ["cells_table_x.html#cell-1", "cells_table_x.html#cell-2"]
    assert 'class="gt_table published"' in html
    assert "<style" not in html


def test_a_heading_without_words_is_an_empty_cell_that_heads_nothing() -> None:
    levels = [[("upper", 2)], [("left", 1), ("right", 1)]]
    html = format_html(dataclasses.replace(make_grid("text"), spanners=levels))
    assert re.search(r'<td class="gt_center [^"]*" rowspan="1" colspan="1"></td>', html)
    assert not re.search(r"<td[^>]* scope=", html)


def test_each_row_of_the_summary_is_a_link_once() -> None:
    html = format_html(lay_out_cells(CELLS, "table_2_testbed", DECLARED, []))
    assert sorted(re.findall(r'href="([^"]*)"', html)) == [cell_href("table_2_testbed", n) for n in range(1, 6)]


def check_latex(text: str) -> None:
    """Check what pdflatex would stop at: environments, braces, and the number of columns of each row."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    bare = re.sub(r"\\.", "", body)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert body.isascii() or not set(re.sub(r"[À-ÿ]", "", body)) - {chr(code) for code in range(128)}
    alignment = re.search(r"@\{\}([lr]+)@\{\}", body)
    assert alignment is not None
    rows = [line for line in body.splitlines() if line.endswith(r" \\")]
    assert rows
    for row in rows:
        spans = [int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", row)]
        assert len(re.findall(r"(?<!\\)&", row)) + 1 + sum(spans) == len(alignment[1]), row


# Not padded like the numbers with tenths below it.
ABSENT = r" & --" * 4


def test_latex_is_a_booktabs_table_by_hand() -> None:
    grid = head_rows(lay_out_cells(CELLS, "table_2_testbed", DECLARED, ["Rate: goodput."], AHEAD), DECLARED["headings"])
    assert format_latex(grid).splitlines() == [
        r"% \usepackage{booktabs,pdflscape}",
        r"\begin{landscape}",
        r"\begin{table}",
        r"\centering",
        r"\scriptsize",
        r"\caption{A \& b. M: mean rate in Mbit/s, with its 95 \% interval; CV in \%.}",
        r"\label{tab:table-2-testbed}",
        r"\begin{tabular}{@{}llrrrrrrrrrrrrrrrr@{}}",
        r"\toprule",
        r" &  & \multicolumn{8}{c}{far} & \multicolumn{8}{c}{near} \\",
        r"\cmidrule(lr){3-10}\cmidrule(lr){11-18}",
        (
            r" &  & \multicolumn{4}{c}{BBR} & \multicolumn{4}{c}{CUBIC} & \multicolumn{4}{c}{BBR} & "
            r"\multicolumn{4}{c}{CUBIC} \\"
        ),
        r"\cmidrule(lr){3-6}\cmidrule(lr){7-10}\cmidrule(lr){11-14}\cmidrule(lr){15-18}",
        "Test & Flows" + r" & M & 95 \% interval & CV & Runs" * 4 + r" \\",
        r"\midrule",
        r"no loss & 16 & 40.0 & 39.0--41.0 & 10.0 & 5" + ABSENT * 3 + r" \\",
        (
            r"some\_loss & 16 & 21.0 & 20.0--22.0 & 10.0 & 5 & 20.0 & -- & 10.0 & 5 & "
            r"\textbf{30.0} & 29.0--31.0 & 10.0 & 5 & 10.0 & 9.0--11.0 & 10.0 & 5 \\"
        ),
        r"\bottomrule",
        r"\end{tabular}",
        (
            r"\par\smallskip{\footnotesize Rate: goodput. The CSV file has the intervals of the CVs, and the mean CVs "
            r"within single conditions. Bold: faster, by the verdict of the table of comparisons.\par}"
        ),
        r"\end{table}",
        r"\end{landscape}",
    ]


@pytest.mark.parametrize("text", [NASTY, "日本 é ≥ 30 – µs\n", "", "\\end{tabular}"])
def test_latex_of_any_text_stays_whole(text: str) -> None:
    check_latex(format_latex(make_grid(text)))


def test_a_table_longer_than_a_page_is_a_longtable() -> None:
    rows = [[str(n)] for n in range(46)]
    cells = [[Cell("1", number=n + 1)] for n in range(46)]
    grid = Grid("t", "t", ["N"], rows, [], ["Mean"], [True], cells, [])
    text = format_latex(grid)
    check_latex(text)
    assert text.startswith("% \\usepackage{booktabs,longtable}\n")
    assert r"45 & 1 \\" in text


def test_latex_escapes() -> None:
    assert escape_latex(r"&%$#_{}") == r"\&\%\$\#\_\{\}"
    assert escape_latex("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"
    assert escape_latex("RTT ≥ 30 ms, 1–2 < 3") == r"RTT $\geq$ 30 ms, 1--2 $<$ 3"
    assert escape_latex("a--b ---") == "a-{}-b -{}-{}-"
    assert escape_latex("[*] é 日 \x1b") == "{[}{*}{]} é U+65E5 U+001B"


def test_the_number_in_a_link_is_the_place_in_the_summary() -> None:
    grid = lay_out_cells(CELLS.reverse(), "table_2_testbed", DECLARED, [])
    shown = {one.number: one.text for row in grid.cells for one in row[::4] if one.number}
    assert shown == {1: "21.0", 2: "20.0", 3: "10.0", 4: "30.0", 5: "40.0"}


def test_headings_are_words_with_units() -> None:
    names = ("loss_pct", "rtt_nominal_ms", "rtt_mean_ms", "buffer_bytes", "buffer_bdp_ratio", "cc_list", "flows_count")
    assert [write_heading(name) for name in names] == [
        *("Loss (%)", "RTT (ms)", "RTT mean (ms)", "Buffer", "Buffer (BDP)", "Algorithms", "Flows")
    ]
    assert write_heading("latency_p99_ms") == "Latency 99 % (ms)"
    assert write_heading("algorithm") == "Algorithm"
    # Of a run and of one of its flows.
    assert [write_heading(name) for name in ("volume_bytes", "completion_bytes")] == [
        "Volume of all flows",
        "Completes a flow",
    ]


def test_values_that_name_rows_bring_their_units() -> None:
    given = {"bottleneck_bps": 50e6, "buffer_bytes": 62_500, "loss_pct": 0.0, "rtt_ms": 20.0, "host": None}
    assert [format_name(name, value) for name, value in given.items()] == ["50 Mbit/s", "62.5 kB", "0", "20", "–"]
    assert describe_shared(given) == "All rows: bottleneck 50 Mbit/s, buffer 62.5 kB, loss 0 %, RTT 20 ms, host –."
    assert describe_shared({}) == ""


def test_a_number_that_heads_several_rows_says_what_it_is() -> None:
    schema = load_schema("rpc_latency")
    row = dict.fromkeys(schema.polars) | {"repetitions_count": 2}
    rows = [row | {"rtt_nominal_ms": rtt, "load_count": load} for rtt, load in ((20.0, 1), (20.0, 2), (40.0, 1))]
    grid = lay_out_rows(pl.DataFrame(rows, schema=schema.polars), schema, "T", [])
    assert [names[0] for names in grid.names] == ["RTT 20 ms", "RTT 20 ms", "RTT 40 ms"]


def test_what_a_table_is_read_for_stays_in_its_rows() -> None:
    def column(heading: str, *, is_answer: bool = False) -> ShownColumn:
        return ShownColumn(heading, [Cell("BBR faster"), Cell("BBR faster")], is_number=False, is_answer=is_answer)

    kept, shared, _ = leave_out([column("Verdict", is_answer=True), column("Ahead")])
    assert [one.heading for one in kept] == ["Verdict"]
    assert shared == ["Ahead BBR faster"]


def test_long_texts_that_differ_in_numbers_only_are_letters_with_a_key() -> None:
    long = "offload aggregates, {0} B a packet; unexplained: iperf3 ended after {0}.5 s: it counts {0} to 9 B"
    coded, key = code_phrases(["all agree", *(long.format(number) for number in range(1, 20))]) or ([], [])
    assert coded == ["c"] + ["a, b*"] * 19
    assert key == [
        "a: offload aggregates, … B a packet",
        "b: iperf3 ended after … s: it counts … B",
        "c: all agree",
        "*: unexplained",
    ]
    assert code_phrases([long.format(1)]) is None
    assert code_phrases(["all agree"] * 30) is None
    assert code_phrases([f"{'very ' * 20}{letter}" for letter in ascii_lowercase]) is None


def test_answers_are_words() -> None:
    assert [format_answer(value) for value in (True, False, None)] == ["yes", "no", "–"]


def test_a_margin_stands_behind_its_sign() -> None:
    assert name_text("Equal within (±%)", "5.00") == "Equal within ±5 %"
    assert name_text("Pacing (Mbit/s)", "50.0") == "Pacing 50.0 Mbit/s"
