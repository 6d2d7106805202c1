"""The explorer in a browser, from disk and from a web server that forbids what its page does not need: runs, charts."""

import re
from itertools import pairwise
from urllib.parse import quote

import pytest
from browser import needs_chromium
from explorer_page import ALL, Open, column, drawn, lines_of, rows_of
from explorer_site import FIRST, HOSTILE, HOSTILE_ID, SECOND
from playwright.sync_api import Page, expect

from ccreport.figures.kit.theme import STYLES

pytestmark = [pytest.mark.slow, needs_chromium]


def time_labels(page: Page) -> list[str]:
    return page.locator("#x-chart .rtt_group .role-axis-label text").all_text_contents()


@pytest.mark.parametrize("origin", ["file", "server"])
def test_a_run_is_picked_and_drawn_from_disk_and_from_a_server(open_page: Open, server: str, origin: str) -> None:
    page = open_page(base=server if origin == "server" else "")
    expect(page.locator("#x-count")).to_have_text(f"{ALL} of {ALL} runs")
    expect(page.locator("#x-tools")).to_be_hidden()
    rows_of(page).first.click()
    assert drawn(page) == "rate:2 retransmits:2 cwnd:2 rtt:2"
    for panel in ("rate", "retransmits", "cwnd", "rtt"):
        expect(lines_of(page, panel)).to_have_count(2)
    expect(page.locator("#x-legend")).to_contain_text("CUBIC: 3.5 Mbit/s")
    assert f"run={quote(FIRST)}" in page.url


def test_two_runs_are_compared_per_flow(open_page: Open) -> None:
    page = open_page()
    for i in (0, 1):
        rows_of(page).nth(i).locator("input").click()
    page.locator("[name=x-by][value=flow]").check()
    # 2 runs of 2 flows.
    expect(page.locator("#x-chart")).to_have_attribute("data-lines", "rate:4 retransmits:4 cwnd:4 rtt:4")
    expect(lines_of(page, "rate")).to_have_count(4)
    assert [text[0] for text in page.locator("#x-picked li").all_inner_texts()] == ["A", "B"]
    assert rows_of(page).evaluate_all("rows => rows.filter(row => row.ariaSelected === 'true').length") == 2
    page.get_by_label("Remove run A").click()
    expect(page.locator("#x-picked li")).to_have_count(1)


def test_dragging_over_the_strip_zooms_every_panel(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    drawn(page)
    assert time_labels(page)[0] == "0.0"
    plot = page.locator("#x-chart .overview_group .background").first.bounding_box()
    assert plot is not None
    # The last rate, in the middle of its bin, is of 1.75 s: the middle of the strip is 0.875 s.
    middle = plot["y"] + plot["height"] / 2
    page.mouse.move(plot["x"] + plot["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] - 1, middle, steps=4)
    page.mouse.up()
    expect(page.locator("#x-from")).to_have_value("0.875")
    expect(page.locator("#x-whole")).to_be_enabled()
    assert "t=0.875-1.7" in page.url
    assert float(time_labels(page)[0]) >= 0.875
    page.click("#x-whole")
    expect(page.locator("#x-from")).to_have_value("")
    assert "t=" not in page.url


def test_the_time_shown_can_be_typed(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    drawn(page)
    page.fill("#x-from", "0.5")
    page.fill("#x-until", "1")
    page.press("#x-until", "Enter")
    expect(page.locator("#x-chart .rtt_group .role-axis-label text").first).to_have_text(re.compile(r"^(0\.[5-9]|1)"))
    assert "t=0.5-1" in page.url
    # The other way round they are the same times.
    page.fill("#x-from", "1.25")
    page.press("#x-from", "Enter")
    expect(page.locator("#x-until")).to_have_value("1.25")
    expect(page.locator("#x-from")).to_have_value("1")
    assert "t=1-1.25" in page.url


def test_a_link_restores_what_was_shown(open_page: Open) -> None:
    page = open_page(f"#run={SECOND}&run={FIRST}&by=flow&t=0.5-1.5&mode=both&sort=-rtt_ms&rtt_min=5")
    assert drawn(page) == "rate:4 retransmits:4 cwnd:4 rtt:4"
    assert column(page, "RTT") == ["80", "10"]
    expect(page.locator("#x-mode")).to_have_value("both")
    # From before there was a choice of values.
    expect(page.locator("#x-rtt")).to_have_value("range")
    expect(page.locator("#x-rtt_min")).to_have_value("5")
    expect(page.locator("#x-from")).to_have_value("0.5")
    expect(page.locator("[name=x-by][value=flow]")).to_be_checked()
    assert "iteration 2" in page.locator("#x-picked li").first.inner_text()


def test_back_leads_to_the_run_before(open_page: Open) -> None:
    page = open_page()
    for i in (0, 1):
        rows_of(page).nth(i).click()
        expect(page.locator("#x-picked")).to_contain_text(f"iteration {i + 1}")
    page.go_back()
    expect(page.locator("#x-picked")).to_contain_text("iteration 1")
    page.go_back()
    expect(page.locator("#x-picked li")).to_have_count(0)
    expect(page.locator("#x-chart svg")).to_have_count(0)


def test_a_link_to_what_is_not_there_says_so(open_page: Open) -> None:
    page = open_page("#run=elsewhere&sort=nonsense&page=99&rtt_min=low&t=9-1")
    expect(page.locator("#x-message")).to_have_text("Not in this archive: elsewhere")
    # What no control can show does not filter; the page is the last there is.
    expect(page.locator("#x-count")).to_have_text(f"{ALL} of {ALL} runs")
    expect(page.locator("#x-page")).to_have_text("Page 2 of 2")


def test_names_of_the_archive_are_text_everywhere(open_page: Open) -> None:
    page = open_page(f"#run={quote(HOSTILE_ID, safe='')}&by=flow")
    assert drawn(page) == "rate:1 retransmits:1 cwnd:1 rtt:1"
    assert HOSTILE in page.locator("#x-picked").inner_text()
    assert page.locator("#x-job option").nth(1).text_content() == HOSTILE
    page.fill("#x-find", "<SCRIPT>")
    expect(rows_of(page)).to_have_count(1)
    page.locator("#x-chart .rate_group .mark-symbol path").first.hover(force=True)
    expect(page.locator("#vg-tooltip-element")).to_contain_text(HOSTILE)
    assert page.locator("script:not([src])").count() == 0


def test_a_run_that_was_not_observed_says_what_is_missing(open_page: Open) -> None:
    page = open_page("#run=e2.h1-1-20ms-cc")
    expect(page.locator("#x-missing")).to_have_text("Not recorded: throughput, retransmits, congestion window, RTT.")
    expect(page.locator("#x-chart svg")).to_have_count(0)


def test_at_most_six_runs_are_picked(open_page: Open) -> None:
    page = open_page()
    for i in range(7):
        rows_of(page).nth(i).locator("input").click()
    expect(page.locator("#x-picked li")).to_have_count(6)
    expect(page.locator("#x-message")).to_have_text("At most 6 runs are shown at once.")
    expect(rows_of(page).nth(6).locator("input")).not_to_be_checked()


def test_runs_differ_in_dash_and_by_letters_and_algorithms_by_colour(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}&run={SECOND}")
    assert drawn(page) == "rate:4 retransmits:4 cwnd:4 rtt:4"
    # Two algorithms of each run.
    names = ["stroke", "stroke-dasharray", "stroke-width"]
    get = "(lines, names) => lines.map(line => names.map(name => line.getAttribute(name)))"
    looks = lines_of(page, "rate").evaluate_all(get, names)
    assert len({colour for colour, *_ in looks}) == 2
    assert len({(dash, width) for _, dash, width in looks}) == 2
    assert len({tuple(look) for look in looks}) == 4
    letters = page.locator("#x-chart .rate_group .mark-text.role-mark text")
    assert sorted(letters.all_text_contents()) == ["A", "A", "B", "B"]
    # None is over another, though the lines of both runs end at the same values.
    tops = sorted(letters.evaluate_all("letters => letters.map(letter => letter.getBoundingClientRect().top)"))
    assert all(below - above > 9 for above, below in pairwise(tops))
    samples = page.locator("#x-picked .x-sample line").evaluate_all(get, ["stroke-dasharray", "stroke-width"])
    assert samples == [["1 0", "2.6"], ["9 4", "2"]]
    assert {(dash.replace(",", " "), width) for _, dash, width in looks} == {(dash, width) for dash, width in samples}
    # A dash is a run's, so the legend of algorithms has none.
    legend = page.locator("#x-legend .x-sample line").evaluate_all(get, ["stroke-dasharray"])
    assert legend == [["1 0"], ["1 0"]]


def test_the_swatch_of_a_run_has_the_colour_of_its_only_algorithm(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}&run=e2.h1-1-20ms-cc")
    get = "samples => samples.map(sample => sample.style.getPropertyValue('--light'))"
    assert page.locator("#x-picked .x-sample").evaluate_all(get) == ["", STYLES["cubic"].colour]


def test_an_rpc_test_is_named_in_place_of_flows_and_a_rate(open_page: Open) -> None:
    page = open_page()
    name = """reason => {
        const column = value => ({ value: () => value, show: () => String(value) });
        const values = { cc_list: "", flows_count: 0, rtt_ms: 40, loss_pct: null, loss_pattern: null, iteration: 1 };
        const known = { ...values, uncounted_reason: reason, suspect_rules: null, state: "not counted" };
        const columns = new Map(Object.entries(known).map(([key, value]) => [key, column(value)]));
        const list = { columns, algorithms: new Map() };
        return [ccreportExplorer.nameRun(list, 0), ccreportExplorer.describeState(list, 0)];
    }"""
    rpc = "RPC test (netperf): no bulk rate"
    assert page.evaluate(name, rpc) == ["RPC test (netperf), RTT 40 ms, iteration 1", rpc]
    assert page.evaluate(name, "no rate") == ["0 flows, RTT 40 ms, iteration 1", "not counted: no rate"]


def test_more_than_three_runs_have_small_panels_in_place_of_strengths(open_page: Open) -> None:
    plain = [f"e2.h1-{i}-20ms-cc" for i in (1, 2)]
    page = open_page("#" + "&".join(f"run={run_id}" for run_id in (FIRST, *plain)))
    assert drawn(page) == "rate:2 retransmits:2 cwnd:2 rtt:2"
    samples = page.locator("#x-picked .x-sample line")
    dashes = samples.evaluate_all("lines => lines.map(line => line.getAttribute('stroke-dasharray'))")
    # The line rate is dotted.
    assert dashes == ["1 0", "9 4", "8 3 2 3"]
    expect(page.locator("#x-chart .rate_group")).to_have_count(1)
    rows_of(page).nth(1).locator("input").click()
    # Four runs of which two were observed, with two flows each.
    expect(page.locator("#x-chart")).to_have_attribute("data-lines", "rate:4 retransmits:4 cwnd:4 rtt:4")
    for letter, count in {"A": 2, "B": 0, "C": 0, "D": 2}.items():
        expect(lines_of(page, f"rate_{letter}")).to_have_count(count)
    expect(page.locator("#x-picked .x-sample")).to_have_count(0)


def test_a_suspect_run_says_by_which_rules_and_leads_to_its_raw_files(open_page: Open) -> None:
    page = open_page(f"#run={SECOND}")
    words = "suspect: drops outside the declared path; a gap between samples of ss"
    expect(rows_of(page).nth(1)).to_contain_text(words)
    expect(rows_of(page).nth(0)).not_to_contain_text("suspect")
    card = page.locator("#x-picked li")
    expect(card).to_contain_text(words)
    expect(card.get_by_role("link", name="raw files")).to_have_attribute("href", "ledger_files.html#job-e1")
    expect(card.get_by_role("link", name="what makes a run suspect")).to_have_attribute("href", "ledger.html#suspects")
    page.fill("#x-find", "kernel_drops")
    expect(rows_of(page)).to_have_count(1)


def test_throughput_above_the_line_rate_is_explained_beside_the_chart(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    drawn(page)
    expect(page.locator("#x-rate_note")).to_contain_text("handed to its socket")
    page.click("#x-clear")
    expect(page.locator("#x-rate_note")).to_be_hidden()


def test_flows_of_an_algorithm_are_added_up_or_averaged_bin_by_bin(open_page: Open) -> None:
    flows = [
        {"cc": "cubic", "name": "flow 1", "rate": [0.25, [1, None, 3]], "rtt": [0, [10, 20]]},
        {"cc": "cubic", "name": "flow 2", "rate": [0.75, [5, 7]], "rtt": [0.5, [40]]},
    ]
    collect = """([key, combine, by, flows]) =>
        ccreportExplorer.collectLines([{ bin_s: 0.5, flows }], { key, combine }, by).map(line => line.points)"""
    page = open_page()
    # 0.25 s: 1. 0.75 s: nothing and 5. 1.25 s: 3 + 7.
    assert page.evaluate(collect, ["rate", "sum", "algorithm", flows]) == [[[0.25, 1], [0.75, 5], [1.25, 10]]]
    # 0.5 s: (20 + 40) / 2.
    assert page.evaluate(collect, ["rtt", "mean", "algorithm", flows]) == [[[0, 10], [0.5, 30]]]
    assert page.evaluate(collect, ["rate", "sum", "flow", flows])[0] == [[0.25, 1], [0.75, None], [1.25, 3]]


def test_a_time_after_the_end_shows_the_whole_run(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}&t=50-60")
    drawn(page)
    expect(page.locator("#x-from")).to_have_value("")
    assert time_labels(page)[0] == "0.0"
