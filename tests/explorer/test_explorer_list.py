"""The list of runs in the explorer: filters, order, columns, digits and names."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import needs_chromium
from explorer_page import ALL, NAME, Open, column, drawn, rows_of
from explorer_site import FIRST, PLAIN_COUNT, SECOND, write_database, write_site
from playwright.sync_api import expect

from ccreport.core.tables import write_table

pytestmark = [pytest.mark.slow, needs_chromium]


@pytest.mark.parametrize(
    ("control", "value", "count"),
    [
        ("job", "job_e1", 2),
        ("host", "h2", PLAIN_COUNT),
        ("session", "2026-11-20:22:10", ALL - 1),
        ("mode", "both", 2),
        # The two runs of `both` and the 60 of CUBIC alone.
        ("cc", "cubic", PLAIN_COUNT + 2),
        ("cc", "bbr", 2),
        ("flows", "2", 2),
        ("exhibit", "published", 2),
        ("exhibit", "Figure 2", 1),
        ("state", "interrupted", 1),
    ],
)
def test_a_select_keeps_the_runs_it_names(open_page: Open, control: str, value: str, count: int) -> None:
    page = open_page()
    page.select_option(f"#x-{control}", value)
    expect(page.locator("#x-count")).to_have_text(f"{count} of {ALL} runs")
    page.click("#x-reset")
    expect(page.locator("#x-count")).to_have_text(f"{ALL} of {ALL} runs")


def test_ranges_and_words_narrow_together(open_page: Open) -> None:
    page = open_page()
    # RTTs: one of 10, one of 80, sixty of 20, one unknown, which no range takes in.
    page.select_option("#x-rtt", "range")
    page.fill("#x-rtt_min", "20")
    expect(page.locator("#x-count")).to_have_text(f"{PLAIN_COUNT + 1} of {ALL} runs")
    page.fill("#x-rtt_max", "20")
    expect(page.locator("#x-count")).to_have_text(f"{PLAIN_COUNT} of {ALL} runs")
    # h1-7-: the seventh iteration alone.
    page.fill("#x-find", "E2 h1-7-")
    expect(rows_of(page)).to_have_count(1)
    page.select_option("#x-loss", "range")
    page.fill("#x-loss_min", "0.05")
    expect(rows_of(page)).to_have_count(0)
    expect(page.locator("#x-none")).to_be_visible()
    # What is no longer shown does not filter.
    page.select_option("#x-loss", "")
    expect(page.locator("#x-loss_min")).to_be_hidden()
    expect(rows_of(page)).to_have_count(1)


def test_few_values_are_a_choice_and_many_a_range(open_page: Open) -> None:
    page = open_page("#rtt=80")
    expect(page.locator("#x-count")).to_have_text(f"1 of {ALL} runs")
    assert page.locator("#x-rtt option").all_inner_texts() == ["all", "10", "20", "80", "from – to"]
    expect(page.locator("#x-rtt_min")).to_be_hidden()
    page.select_option("#x-rtt", "20")
    expect(page.locator("#x-count")).to_have_text(f"{PLAIN_COUNT} of {ALL} runs")
    many = """count => {
        const values = Array.from({ length: count }, (_, value) => value);
        return ccreportExplorer.hasChoices({ exhibits: [], columns: new Map([["rtt_ms", { values }]]) }, "rtt");
    }"""
    assert [page.evaluate(many, count) for count in (0, 1, 16, 17)] == [False, True, True, False]


def test_a_measure_is_sorted_from_the_largest_and_unknown_ones_come_last(open_page: Open) -> None:
    page = open_page()
    header = page.locator("#x-table th", has_text="Rate")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    assert column(page, "Rate")[:3] == ["60", "59", "58"]
    page.click("#x-next")
    assert column(page, "Rate")[-2:] == ["1", "–"]
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "ascending")
    assert column(page, "Rate")[:3] == ["1", "2", "3"]
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") is None


@pytest.mark.parametrize("width", [1400, 390])
def test_a_link_to_a_run_shows_it_in_the_list_and_where_it_is_drawn(open_page: Open, width: int) -> None:
    page = open_page()
    page.click("#x-next")
    rows_of(page).last.locator("input").click()
    run = re.search(r"run=[^&]+", page.url)
    assert run is not None
    linked = open_page(f"#{run[0]}", width=width)
    drawn(linked)
    expect(linked.locator("#x-page")).to_have_text("Page 2 of 2")
    chosen = linked.locator("#x-table tr[aria-selected=true]")
    expect(chosen.locator("input")).to_be_checked()
    # Within the box that scrolls.
    assert chosen.evaluate(
        "row => { const [a, b] = [row, row.closest('#x-scroll')].map(e => e.getBoundingClientRect());"
        " return a.top >= b.top && a.bottom <= b.bottom }"
    )
    expect(linked.locator("#x-picked")).to_be_in_viewport()


def test_a_link_that_filters_by_what_no_run_has_leaves_no_run_and_says_so(open_page: Open) -> None:
    page = open_page("#cc=bbr9&session=other&flows=2")
    expect(page.locator("#x-count")).to_have_text(f"0 of {ALL} runs")
    expect(page.locator("#x-none")).to_have_text("No run has session = other. No run has cc = bbr9.")
    assert page.locator("#x-cc option:checked").inner_text() == "bbr9 (no run)"
    page.select_option("#x-session", "")
    expect(page.locator("#x-none")).to_have_text("No run has cc = bbr9.")
    page.evaluate("location.hash = 'cc=cubic&rtt=10&flows=3'")
    expect(page.locator("#x-none")).to_have_text("No run has flows = 3.")
    expect(page.locator("#x-filters option.x-absent")).to_have_count(1)
    page.select_option("#x-flows", "")
    page.fill("#x-find", "nothing like this")
    expect(page.locator("#x-none")).to_have_text("No run matches these filters.")


def test_the_table_is_usable_with_the_keyboard_alone(open_page: Open) -> None:
    page = open_page()
    rows_of(page).first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#x-picked")).to_contain_text("iteration 2")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(page.locator("#x-picked li")).to_have_count(2)
    page.keyboard.press("PageDown")
    expect(page.locator("#x-page")).to_have_text("Page 2 of 2")
    assert page.evaluate("document.activeElement.sectionRowIndex") == 0
    assert rows_of(page).evaluate_all("rows => rows.filter(row => row.tabIndex === 0).length") == 1


def test_fast_archives_have_gigabits_in_list_panel_legend_and_charts(open_page: Open, tmp_path: Path) -> None:
    database = write_database(tmp_path)
    runs = pl.read_parquet(tmp_path / "runs.parquet").with_columns(pl.col("goodput_bps", "throughput_bps") * 1000)
    write_table(runs, "runs", tmp_path / "runs.parquet")
    page = open_page(f"#run={FIRST}", of=write_site(database, tmp_path))
    drawn(page)
    assert page.locator("#x-table th", has_text="Rate").inner_text().split() == ["Rate", "Gbit/s"]
    expect(page.locator("#x-picked")).to_contain_text("24 Gbit/s")
    # The series are still of 4 Mbit/s, and of 3.5 at the receiver.
    expect(page.locator("#x-legend")).to_contain_text("CUBIC: 0.0035 Gbit/s")
    expect(page.locator("#x-chart")).to_have_attribute("aria-label", re.compile(r"^Throughput \(Gbit/s\)"))
    page.click("#x-flows_count")
    flow = page.locator("#x-flows_table tbody tr").first.inner_text().split("\t")
    assert flow[1:4] == ["CUBIC", "0.004", "0.0035"]
    assert "Mbit/s" not in page.locator("#explorer").inner_text()


def test_modes_have_the_names_that_figures_give_algorithms(open_page: Open) -> None:
    page = open_page("#mode=cubic")
    assert set(column(page, "Algorithms")) == {"CUBIC"}
    page.select_option("#x-mode", "both")
    assert set(column(page, "Algorithms")) == {"BBRv1 + CUBIC"}
    assert page.locator("#x-mode option").all_text_contents() == ["all", "both", "CUBIC alone", "unknown"]


def test_runs_are_filtered_by_the_bottleneck_and_buffer_that_were_set(open_page: Open) -> None:
    page = open_page()
    # Of the made-up archive nothing is known about them.
    assert page.locator("#x-bottleneck").is_hidden()
    columns = [{"key": name, "label": name, "unit": "", "texts": [], "index": []} for name in ("mode", "cc_list")]
    columns += [
        {"key": key, "label": key, "unit": unit, "decimals": None, "values": values}
        for key, unit, values in (
            ("bottleneck_bps", "Gbit/s", [10, 0.004, None]),
            ("buffer_bytes", "MB", [12, 0.05, None]),
            ("rtt_ms", "ms", [10, 10, 10]),
            ("loss_pct", "%", [0, 0, 0]),
        )
    ]
    ask = """packed => {
        const list = ccreportExplorer.unpackList(packed);
        const choices = ["bottleneck", "buffer"].map(name => ccreportExplorer.listChoices(list, name));
        return [choices, ccreportExplorer.filterRows(list, { bottleneck: "10", buffer: "12" }, "")];
    }"""
    choices = [[["0.004", "0.004 Gbit/s"], ["10", "10 Gbit/s"]], [["0.05", "0.05 MB"], ["12", "12 MB"]]]
    assert page.evaluate(ask, pack_list(columns, 3)) == [choices, [0]]


def test_a_run_with_loss_in_bursts_is_not_listed_like_one_with_random_loss(open_page: Open) -> None:
    page = open_page(f"#find=bursts&run={SECOND}")
    assert column(page, "Loss") == ["0.1\nbursts"]
    assert page.locator("#x-loss option").evaluate_all("options => options.map(option => option.value)") == [
        "",
        "0",
        "0.1 in bursts",
        "range",
    ]
    page.select_option("#x-loss", "0.1 in bursts")
    expect(rows_of(page)).to_have_count(1)
    expect(page.locator("#x-picked")).to_contain_text("loss 0.1 % in bursts")


@pytest.mark.parametrize(
    ("key", "decimals", "values", "shown"),
    [
        # Four digits of each, so that filters change none; zero is zero.
        ("rate_bps", None, [9.6, 0.0874, 0, 1234, None], ["9.600", "0.08740", "0", "1,234", "–"]),
        ("retransmits_count", 0, [1200, 3, 0], ["1,200", "3", "0"]),
        ("cpu", None, [12, 3], ["12", "3"]),
        ("jain_ratio", 3, [0.5, 0], ["0.500", "0"]),
        ("loss_pct", None, [0.001, 1.5], ["0.001", "1.5"]),
    ],
)
def test_a_number_has_the_same_digits_whichever_runs_are_listed(
    key: str, decimals: int | None, values: list[float | None], shown: list[str], open_page: Open
) -> None:
    page = open_page()
    columns = [{"key": name, "label": name, "unit": "", "texts": [], "index": []} for name in ("mode", "cc_list")]
    columns += [{"key": key, "label": key, "unit": "", "decimals": decimals, "values": values}]
    show = """([packed, key]) => {
        const list = ccreportExplorer.unpackList(packed);
        return packed.tails.map((_, row) => list.columns.get(key).show(row));
    }"""
    assert page.evaluate(show, [pack_list(columns, len(values)), key]) == shown


def pack_list(columns: list[dict[str, Any]], count: int) -> dict[str, Any]:
    texts = {"texts": [""], "index": [0] * count}
    listed = {"count": count, "heads": texts, "middles": texts, "tails": list("abcdefgh"[:count]), "scripts": {}}
    listed |= {"files": texts, "states": texts, "columns": columns, "algorithms": [], "exhibits": []}
    return listed | {"paper": {}, "rate": {}}


def test_a_card_has_the_digits_of_the_list(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    rate = rows_of(page).filter(has=page.locator("input:checked")).locator("td[data-key=rate_bps]").inner_text()
    expect(page.locator("#x-picked")).to_contain_text(f"{rate.strip()} Mbit/s")


def test_a_line_sums_up_the_rates_that_the_filters_leave(open_page: Open) -> None:
    page = open_page("#mode=cubic")
    # 1 to 60 Mbit/s; the interrupted run of all, whose mode is not known, has none.
    expect(page.locator("#x-rate")).to_have_text("Rate: mean 30.5, median 30.5 Mbit/s")
    page.fill("#x-find", "h1-7-")
    expect(page.locator("#x-rate")).to_have_text("Rate: mean 7.00, median 7.00 Mbit/s")
    page.fill("#x-find", "nothing")
    expect(page.locator("#x-rate")).to_be_empty()
    # Of several conditions, 4 Mbit/s and 10 Gbit/s, a mean says nothing.
    expect(open_page().locator("#x-rate")).to_be_empty()


def test_runs_of_a_condition_are_told_apart_by_their_sessions(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    drawn(page)
    cell = rows_of(page).first.locator("td[data-key=session]")
    expect(cell).to_be_visible()
    expect(cell).to_have_text("11-20 22:10")
    expect(cell).to_have_attribute("title", "2026-11-20:22:10")
    expect(page.locator("#x-picked .x-name")).to_contain_text("session 2026-11-20:22:10")


def test_a_list_that_goes_on_below_its_frame_says_so(open_page: Open) -> None:
    page = open_page()
    expect(page.locator("#x-rest")).to_have_text("50 runs on this page: scroll the list for the rest of them.")
    page.fill("#x-find", "h1-7-")
    expect(page.locator("#x-rest")).to_be_hidden()


def test_the_list_covers_no_line_above_it(open_page: Open) -> None:
    page = open_page()
    rows_of(page).first.click()
    drawn(page)
    page.locator("#x-rate").evaluate("line => { line.textContent = 'Rate: mean 30.5 Mbit/s. '.repeat(8); }")
    assert page.locator("#x-runs > .x-tools").evaluate("line => line.scrollHeight <= line.clientHeight")
    page.click("#x-next", timeout=5000)
    expect(page.locator("#x-page")).to_contain_text("Page 2")


def test_the_list_is_as_wide_as_its_frame(open_page: Open) -> None:
    page = open_page(width=1400)
    assert page.locator("#x-scroll").evaluate("box => box.clientWidth - box.firstElementChild.offsetWidth") == 0


@pytest.mark.parametrize("width", [1400, 1920])
def test_no_column_is_cut_beside_a_run_that_is_open(open_page: Open, width: int) -> None:
    page = open_page(width=width)
    heads = page.locator("#x-table th:visible")
    count = heads.count()
    rows_of(page).first.click()
    drawn(page)
    assert page.locator("#x-scroll").evaluate("box => box.scrollWidth <= box.clientWidth")
    assert 8 <= heads.count() < count
    page.click("#x-clear")
    expect(heads).to_have_count(count)


def test_columns_of_which_nothing_is_known_are_left_out(open_page: Open) -> None:
    heads = open_page().locator("#x-table th").all_inner_texts()
    assert any(head.startswith("Rate") for head in heads)
    # No run has processor loads.
    assert not any("CPU" in head for head in heads)


def test_the_flows_of_the_picked_runs_are_a_list_that_can_be_sorted(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    page.locator("#x-flows_count", has_text="Flows (2)").click()
    flows = page.locator("#x-flows_table tbody tr")
    assert flows.nth(0).inner_text().split("\t") == [
        *("flow 1 (port 4001)", "CUBIC", "4", "3.5", "1,234,567", "0.25", "12.35", "–")
    ]
    header = page.locator("#x-flows_table th", has_text="Throughput")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    expect(flows.first).to_contain_text("BBR")
    header.get_by_role("button").click()
    expect(flows.first).to_contain_text("CUBIC")
    rows_of(page).nth(1).locator("input").click()
    expect(page.locator("#x-flows_count")).to_have_text("Flows (4)")
    assert [text[0] for text in flows.all_inner_texts()] == ["A", "A", "B", "B"]
    page.click("#x-clear")
    expect(page.locator("#x-flows_list")).to_be_hidden()


def test_the_sentence_on_suspect_runs_filters_the_list(open_page: Open) -> None:
    page = open_page(width=1400)
    offered = page.locator("#x-state option").evaluate_all("options => options.map(option => option.value)")
    button = page.locator("#x-suspects")
    if "suspect" not in offered:
        expect(button).to_be_disabled()
        return
    button.click()
    expect(page.locator("#x-state")).to_have_value("suspect")
    assert "state=suspect" in page.url


def test_runs_are_sorted_by_how_far_they_deviate_either_way(open_page: Open) -> None:
    page = open_page()
    packed = {"texts": [], "index": []}
    columns = [{"key": key, "label": key, "unit": "", **packed} for key in ("mode", "cc_list")]
    columns += [{"key": "deviation_z", "label": "z", "unit": "", "decimals": 1, "values": [1.0, -5.0, None, 3.6]}]
    ask = """packed => {
        const list = ccreportExplorer.unpackList(packed);
        const rows = list.sort("-deviation_z");
        return [rows, rows.map(row => ccreportExplorer.isOutlier(list, row)), list.columns.get("deviation_z").show(1)];
    }"""
    assert page.evaluate(ask, pack_list(columns, 4)) == [[1, 3, 0, 2], [True, True, False, False], "−5.0"]


def test_a_search_finds_the_names_that_figures_give_algorithms(open_page: Open) -> None:
    page = open_page("#find=BBRv1")
    expect(page.locator("#x-count")).to_have_text(f"2 of {ALL} runs")
    assert "BBRv1" in page.locator("#x-cc option").all_text_contents()


@pytest.mark.parametrize("width", [840, 1024, 1120, 1280, 1350])
def test_the_list_needs_no_scrolling_at_middle_widths(open_page: Open, width: int) -> None:
    for state in ("", f"#run={FIRST}"):
        page = open_page(state, width=width)
        expect(rows_of(page).first).to_be_visible()
        boxes = "[document.documentElement, document.getElementById('x-scroll')]"
        assert page.evaluate(f"{boxes}.map(box => box.scrollWidth > box.clientWidth)") == [False, False]
        # What a run was, and how fast, is always there.
        heads = [head.split()[0] for head in page.locator("#x-table thead button:visible").all_inner_texts()]
        assert heads[:8] == ["Algorithms", "Flows", "RTT", "Loss", "Iteration", "Session", "Rate", "Deviation"]


def test_a_run_is_named_by_what_it_was_and_its_job_in_small(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    card = page.locator("#x-picked .x-name")
    expect(card).to_have_text(re.compile(f"^{NAME}.*job_e1"))
    expect(card.locator("small")).to_contain_text("job_e1")
    expect(rows_of(page).first.locator("input")).to_have_attribute("aria-label", f"Pick {NAME}, job_e1")
