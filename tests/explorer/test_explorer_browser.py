"""The explorer in a browser, from disk and from a web server that forbids what its page does not need."""

import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, urlsplit

import duckdb
import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import needs_chromium
from explorer_site import (
    FIRST,
    HOSTILE,
    HOSTILE_ID,
    PLAIN_COUNT,
    SECOND,
    empty_database,
    export_database,
    write_claims,
    write_database,
    write_site,
)
from playwright.sync_api import Browser, Locator, Page, expect

from ccreport.core.tables import write_table
from ccreport.explorer.palette import lighten
from ccreport.explorer.script import write_call
from ccreport.figures.kit.theme import STYLES

ALL = PLAIN_COUNT + 3
# What the first run was.
NAME = "BBRv1 and CUBIC, 2 flows, RTT 10 ms, loss 0 %, iteration 1, session 2026-11-20:22:10"
# No inline script, no eval, no other host. Vega gives its elements styles.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:"

# What `make sql` adds.
ENGINE = Path(sys.prefix, "share/ccreport/sql.js")
needs_engine = pytest.mark.skipif(not ENGINE.exists(), reason="needs the SQL engine: make sql")

pytestmark = [pytest.mark.slow, needs_chromium]

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    return write_site(write_database(folder), folder)


class Handler(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    with serve(site) as address:
        yield address


@contextmanager
def serve(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site))) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


@pytest.fixture
def open_page(browser: Browser, site: Path) -> Iterator[Open]:
    """Open the page with a hash; afterwards fail on any complaint of the browser and any request to another host."""
    complaints: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_(hash_: str = "", base: str = "", width: int = 1400, scheme: str = "light", of: Path = site) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{base or of.as_uri()}/explorer.html{hash_}")
        expect(page.locator("#explorer")).to_be_visible()
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
    assert {urlsplit(url).hostname for url in requests} <= {None, "", "127.0.0.1"}


def rows_of(page: Page) -> Locator:
    return page.locator("#x-table tbody tr")


def column(page: Page, label: str) -> list[str]:
    headers = [text.split()[0] if text else "" for text in page.locator("#x-table thead th").all_inner_texts()]
    return rows_of(page).locator(f"td:nth-child({headers.index(label) + 1})").all_inner_texts()


def drawn(page: Page) -> str | None:
    expect(page.locator("#x-chart svg")).to_be_visible()
    return page.locator("#x-chart").get_attribute("data-lines")


def lines_of(page: Page, panel: str) -> Locator:
    return page.locator(f"#x-chart .{panel}_group .mark-line path:not([d=''])")


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


def test_at_most_six_runs_are_picked(open_page: Open) -> None:
    page = open_page()
    for i in range(7):
        rows_of(page).nth(i).locator("input").click()
    expect(page.locator("#x-picked li")).to_have_count(6)
    expect(page.locator("#x-message")).to_have_text("At most 6 runs are shown at once.")
    expect(rows_of(page).nth(6).locator("input")).not_to_be_checked()


def test_runs_differ_in_strength_and_by_letters_and_algorithms_by_colour_and_dash(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}&run={SECOND}")
    assert drawn(page) == "rate:4 retransmits:4 cwnd:4 rtt:4"
    # Two algorithms of each run.
    names = ["stroke", "stroke-dasharray", "stroke-width"]
    get = "(lines, names) => lines.map(line => names.map(name => line.getAttribute(name)))"
    looks = lines_of(page, "rate").evaluate_all(get, names)
    assert len({(colour, dash) for colour, dash, _ in looks}) == 2
    assert len({width for *_, width in looks}) == 2
    assert len({tuple(look) for look in looks}) == 4
    letters = page.locator("#x-chart .rate_group .mark-text.role-mark text")
    assert sorted(letters.all_text_contents()) == ["A", "A", "B", "B"]
    # None is over another, though the lines of both runs end at the same values.
    tops = sorted(letters.evaluate_all("letters => letters.map(letter => letter.getBoundingClientRect().top)"))
    assert all(below - above > 9 for above, below in pairwise(tops))
    (*widths,) = page.locator("#x-picked .x-sample line").evaluate_all(get, ["stroke-width"])
    assert widths == [["2.6"], ["1.5"]]


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
    expect(page.locator("#x-picked .x-sample")).to_have_count(3)
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
    assert set(column(page, "Mode")) == {"CUBIC"}
    page.select_option("#x-mode", "both")
    assert set(column(page, "Mode")) == {"BBRv1 + CUBIC"}
    assert page.locator("#x-mode option").all_text_contents() == ["all", "both", "CUBIC alone", "unknown"]


def test_a_run_with_loss_in_bursts_is_not_listed_like_one_with_random_loss(open_page: Open) -> None:
    page = open_page(f"#find=bursts&run={SECOND}")
    assert column(page, "Loss") == ["0.1\nbursts"]
    expect(page.locator("#x-picked")).to_contain_text("loss 0.1 % in bursts")


def test_decimal_points_of_a_column_are_below_each_other(open_page: Open) -> None:
    page = open_page("#find=job_e")
    digit, point = "\u2007", "\u2008"
    texts = ["10", "9.6", "1,234.25", "–", "1e-7"]
    aligned = [f"10{point}{digit * 2}", f"9.6{digit}", "1,234.25", "–", f"1e-7{point}{digit * 2}"]
    assert page.evaluate("texts => ccreportExplorer.alignPoints(texts)", texts) == aligned
    assert page.evaluate("texts => ccreportExplorer.alignPoints(texts)", ["1", "20", "–"]) == ["1", "20", "–"]
    # Losses of 0 % and 0.1 %.
    assert set(column(page, "Loss")) >= {f"0{point}{digit}", "0.1\nbursts"}


def test_a_column_has_the_same_decimals_but_for_what_they_would_hide(open_page: Open) -> None:
    page = open_page()
    show = """values => {
        const column = { key: "rate_bps", isText: false, decimals: null, values };
        const decimals = ccreportExplorer.chooseDecimals(column, values.map((_, row) => row));
        return values.map(value => ccreportExplorer.showFixed(value, decimals));
    }"""
    assert page.evaluate(show, [9.6, 9.31, 9.774, 0.0874, 0.0043]) == ["9.600", "9.310", "9.774", "0.087", "0.0043"]
    assert page.evaluate(show, [12.34, 0.00092, 0]) == ["12.34", "0.00092", "0.00"]
    assert page.evaluate(show, [1200, 3]) == ["1,200", "3"]


def test_a_card_has_the_digits_of_the_list(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    show = """values => {
        const column = { key: "retransmit_ratio", isText: false, decimals: null, values, value: row => values[row] };
        return values.map((_, row) => ccreportExplorer.showAmong(column, row, values.map((_, other) => other)));
    }"""
    assert page.evaluate(show, [0.009459, 9.69, 1.5]) == ["0.0095", "9.690", "1.500"]
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


def test_the_list_is_as_wide_as_its_frame(open_page: Open) -> None:
    page = open_page(width=1400)
    assert page.locator("#x-scroll").evaluate("box => box.clientWidth - box.firstElementChild.offsetWidth") == 0


def test_throughput_above_the_line_rate_is_explained_beside_the_chart(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    drawn(page)
    expect(page.locator("#x-rate_note")).to_contain_text("handed to its socket")
    page.click("#x-clear")
    expect(page.locator("#x-rate_note")).to_be_hidden()


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


def test_without_an_engine_the_page_offers_no_sql(open_page: Open) -> None:
    page = open_page()
    expect(page.locator("#x-runs")).to_be_visible()
    expect(page.locator("#x-sql")).to_be_hidden()


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
    texts = {"texts": [""], "index": [0] * 4}
    listed = {"count": 4, "heads": texts, "middles": texts, "tails": list("abcd"), "scripts": {}, "files": texts}
    listed |= {"states": texts, "columns": columns, "algorithms": [], "exhibits": [], "paper": {}, "rate": {}}
    ask = """packed => {
        const list = ccreportExplorer.unpackList(packed);
        const rows = list.sort("-deviation_z");
        return [rows, rows.map(row => ccreportExplorer.isOutlier(list, row)), list.columns.get("deviation_z").show(1)];
    }"""
    assert page.evaluate(ask, listed) == [[1, 3, 0, 2], [True, True, False, False], "−5.0"]


@needs_engine
@pytest.mark.parametrize("origin", ["file", "server"])
def test_each_question_gets_the_answer_of_duckdb(open_page: Open, tmp_path: Path, origin: str) -> None:
    database, claims = write_database(tmp_path), write_claims(tmp_path)
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE VIEW claims AS FROM read_parquet('{claims}')")
    of = write_site(database, tmp_path, partial(export_database, published=[claims], engine=[ENGINE]))
    with serve(of) as address:
        page = open_page(of=of, base=address if origin == "server" else "")
        page.locator("#x-sql summary").click()
        questions = page.evaluate("ccreportExplorer.questions")
        assert len(questions) == 5
        assert page.evaluate("window.ccreportSql === undefined")
        for question in questions:
            page.select_option("#x-question", label=question["label"])
            page.click("#x-sql_form button")
            with duckdb.connect(str(database), read_only=True) as connection:
                expected = connection.sql(question["query"])
                rows, names = expected.fetchall(), expected.columns
            said = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
            expect(page.locator("#x-sql_said")).to_have_text(said)
            assert page.locator("#x-sql_table th").all_inner_texts() == names
            shown = [text.split("\t") for text in page.locator("#x-sql_table tbody tr").all_inner_texts()]
            assert shown == [[show(value) for value in row] for row in rows]
        page.fill("#x-query", "SELECT nothing FROM runs")
        page.click("#x-sql_form button")
        expect(page.locator("#x-sql_said")).to_contain_text("nothing")


def show(value: object) -> str:
    """Return a value as the page shows it: numbers to 4 significant digits, with commas from 1,000 on."""
    if value is None:
        return "–"
    if isinstance(value, str | bool):
        return str(value)
    rounded = float(f"{float(str(value)):.4g}")
    return f"{rounded:,.0f}" if rounded.is_integer() else f"{rounded:,}"


def points_of(page: Page) -> Locator:
    """The points of the scatter plot, without the rings of suspect and of picked runs."""
    return page.locator("#x-points .mark-symbol path[fill]:not([fill=transparent])")


def test_a_box_drawn_over_the_scatter_plot_filters_the_list(open_page: Open) -> None:
    page = open_page()
    # By rate and deviation: the hostile run has neither.
    expect(points_of(page)).to_have_count(ALL - 1)
    expect(page.locator("#x-points path[stroke='#c77700']")).to_have_count(1)
    plot = page.locator("#x-points .background").first.bounding_box()
    assert plot is not None
    # An axis from 1 to 60 Mbit/s and 10 px beyond either: from just left of 30 to its end, whatever the deviation.
    thirty = 10 + (plot["width"] - 20) * 29 / 59
    page.mouse.move(plot["x"] + thirty - 2, plot["y"] + plot["height"] - 1)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] + 20, plot["y"] - 20, steps=4)
    page.mouse.up()
    expect(page.locator("#x-count")).to_have_text(f"31 of {ALL} runs")
    assert {float(rate) >= 30 for rate in column(page, "Rate")} == {True}
    assert "box=" in page.url
    page.click("#x-reset")
    expect(page.locator("#x-count")).to_have_text(f"{ALL} of {ALL} runs")
    assert "box=" not in page.url


def test_points_at_an_edge_are_whole(open_page: Open) -> None:
    page = open_page()
    expect(points_of(page)).to_have_count(ALL - 1)
    plot = page.locator("#x-points .background").first.bounding_box()
    assert plot is not None
    # The farthest are at the ends of what is measured: 10 px from the edges, half a ring.
    boxes = [point.bounding_box() for point in points_of(page).all()]
    top = min(box["y"] for box in boxes if box)
    right = max(box["x"] + box["width"] for box in boxes if box)
    assert top > plot["y"]
    assert right < plot["x"] + plot["width"]


def test_a_link_restores_the_box_and_the_measures(open_page: Open) -> None:
    page = open_page("#x=rtt_ms&y=rate_bps&box=5~30~0~23")
    # RTTs of 10 (24 Mbit/s) and 20 ms (1 to 60 Mbit/s).
    expect(page.locator("#x-count")).to_have_text(f"23 of {ALL} runs")
    expect(page.locator("#x-x")).to_have_value("rtt_ms")
    expect(page.locator("#x-points")).to_have_attribute("aria-label", "Runs by RTT (ms) and Rate (Mbit/s)")
    page.select_option("#x-y", "loss_pct")
    expect(page.locator("#x-count")).to_have_text(f"{ALL} of {ALL} runs")
    expect(page.locator("#x-points")).to_have_attribute("aria-label", "Runs by RTT (ms) and Loss (%)")
    assert "y=loss_pct" in page.url


def test_filters_narrow_the_points_and_a_point_shows_its_run(open_page: Open) -> None:
    page = open_page("#find=h1-7-")
    expect(points_of(page)).to_have_count(1)
    points_of(page).click(force=True)
    expect(page.locator("#x-picked")).to_contain_text("iteration 7")
    # The point and the ring around it.
    expect(page.locator("#x-points .mark-symbol path")).to_have_count(2)


def test_values_about_zero_with_a_long_tail_have_a_symmetric_logarithmic_axis(open_page: Open) -> None:
    page = open_page()
    spec = """values => {
        const column = values => ({ label: "z", unit: "", value: row => values[row], show: String, values });
        const keys = ["x", "y", "job", "host", "iteration", "cc_list", "state"];
        const columns = new Map(keys.map(key => [key, column(values)]));
        const inks = { light: { ink: "#000" }, dark: { ink: "#fff" } };
        const list = { count: 0, columns, algorithms: new Map(), paper: inks };
        const view = { axes: ["x", "y"], box: null, width: 300, isDark: false };
        const { spec } = ccreportExplorer.describeScatter(list, view);
        const { scale, axis } = spec.layer.find(layer => layer.params).encoding.y;
        return [scale.type, axis.values ?? null];
    }"""
    # The median distance is 0.5, the farthest 200; the upper quartile of the distances is 1.
    assert page.evaluate(spec, [-0.5, 0, 0.5, 1, 200]) == ["symlog", [0, 1, 10, 100]]
    assert page.evaluate(spec, [-1, 0, 2, 3]) == ["linear", None]
    assert page.evaluate(spec, [1, 1000]) == ["log", None]


@pytest.mark.parametrize("origin", ["file", "server"])
def test_the_listed_runs_are_saved_as_csv(open_page: Open, server: str, origin: str) -> None:
    page = open_page("#find=h1-7-", base="" if origin == "file" else server)
    with page.expect_download() as saved:
        page.click("#x-save")
    header, row = Path(saved.value.path()).read_text(encoding="utf-8").splitlines()
    assert saved.value.suggested_filename == "runs.csv"
    assert header.startswith("Run,Mode,Flows,RTT (ms),Loss (%),Iteration")
    assert "Rate (Mbit/s)" in header
    assert row.startswith("e2.h1-7-20ms-cc,cubic,1,20,0,7,")


def test_a_saved_file_holds_no_formula_of_the_archive(open_page: Open) -> None:
    page = open_page()
    with page.expect_download() as saved:
        page.evaluate("""ccreportExplorer.saveCsv("f", ["a", "b", "c"], [["=1+1", 'say "x", y', -3]])""")
    assert Path(saved.value.path()).read_bytes() == b"""a,b,c\r\n'=1+1,"say ""x"", y",-3\r\n"""


def test_a_search_finds_the_names_that_figures_give_algorithms(open_page: Open) -> None:
    page = open_page("#find=BBRv1")
    expect(page.locator("#x-count")).to_have_text(f"2 of {ALL} runs")
    assert "BBRv1" in page.locator("#x-cc option").all_text_contents()


def test_a_tap_on_a_run_leads_to_its_chart_on_a_phone(open_page: Open) -> None:
    page = open_page(width=390)
    heads = [head.split()[0] for head in page.locator("#x-table thead button").all_inner_texts()]
    assert heads[:8] == ["Mode", "Flows", "RTT", "Loss", "Rate", "Session", "Deviation", "Job"]
    # What a run was and its rate are in sight without a swipe.
    rate = page.locator("#x-table thead th", has_text="Rate").bounding_box()
    assert rate is not None
    assert rate["x"] + rate["width"] <= 390
    expect(page.locator(".x-keys")).to_be_hidden()
    rows_of(page).first.click()
    drawn(page)
    page.wait_for_timeout(300)
    assert page.locator("#x-view").evaluate("view => Math.abs(view.getBoundingClientRect().top)") < 30
    expect(page.locator("#x-chart svg")).to_be_in_viewport()


def test_filters_are_folded_up_on_a_phone_and_say_how_many_are_set(open_page: Open) -> None:
    page = open_page("#mode=both&rtt=10", width=390)
    expect(page.locator("#x-mode")).to_be_hidden()
    fold = page.locator("#x-fold summary")
    expect(fold).to_have_text("Filters (2 set)")
    fold.click()
    page.select_option("#x-mode", "")
    expect(fold).to_have_text("Filters (1 set)")
    page.set_viewport_size({"width": 1400, "height": 900})
    expect(fold).to_be_hidden()
    expect(page.locator("#x-mode")).to_be_visible()


def test_on_a_phone_the_scatter_plot_is_drawn_when_it_is_opened(open_page: Open) -> None:
    page = open_page(width=390)
    expect(page.locator("#x-points")).to_be_hidden()
    page.locator("#x-scatter summary").click()
    expect(points_of(page)).to_have_count(ALL - 1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_chart_keeps_its_own_label(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    drawn(page)
    chart = page.locator("#x-chart")
    expect(chart).to_have_attribute("role", "img")
    expect(chart).to_have_attribute("aria-label", re.compile(f"^Throughput .* over time, per algorithm, of A: {NAME}$"))


def test_a_chart_that_is_shown_late_has_its_full_width(open_page: Open) -> None:
    page = open_page()
    page.evaluate("document.querySelector('main').style.display = 'none'")
    page.evaluate(f"location.hash = 'run={FIRST}'")
    expect(page.locator("#x-chart")).to_have_attribute("aria-busy", "true")
    page.evaluate("document.querySelector('main').style.display = ''")
    drawn(page)
    widths = "[...document.querySelectorAll('#x-chart, #x-chart svg')].map(element => element.clientWidth)"
    room, chart = page.evaluate(widths)
    assert chart >= 0.9 * room > 300


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_no_violation_and_no_sideways_scroll(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(f"#run={FIRST}&run={SECOND}&sort=job", width=width, scheme=scheme)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page, options={"preload": False}).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in found] == []


@pytest.mark.parametrize("width", [840, 1024, 1120, 1280, 1350])
def test_the_list_needs_no_scrolling_at_middle_widths(open_page: Open, width: int) -> None:
    for state in ("", f"#run={FIRST}"):
        page = open_page(state, width=width)
        expect(rows_of(page).first).to_be_visible()
        boxes = "[document.documentElement, document.getElementById('x-scroll')]"
        assert page.evaluate(f"{boxes}.map(box => box.scrollWidth > box.clientWidth)") == [False, False]
        # What a run was, and how fast, is always there.
        heads = [head.split()[0] for head in page.locator("#x-table thead button:visible").all_inner_texts()]
        assert heads[:8] == ["Mode", "Flows", "RTT", "Loss", "Iteration", "Session", "Rate", "Deviation"]


def test_a_run_is_named_by_what_it_was_and_its_job_in_small(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    card = page.locator("#x-picked .x-name")
    expect(card).to_have_text(re.compile(f"^{NAME}.*job_e1"))
    expect(card.locator("small")).to_contain_text("job_e1")
    expect(rows_of(page).first.locator("input")).to_have_attribute("aria-label", f"Pick {NAME}, job_e1")


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


def test_a_change_of_theme_redraws_in_its_colours(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}")
    drawn(page)
    cubic = lines_of(page, "rate").first
    expect(cubic).to_have_attribute("stroke", STYLES["cubic"].colour)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    expect(cubic).to_have_attribute("stroke", lighten(STYLES["cubic"].colour))


def test_a_script_that_is_missing_is_named(browser: Browser, site: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(site, tmp_path / "site")
    (copy / "explorer/runs" / f"{FIRST}.js").unlink()
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{copy.as_uri()}/explorer.html#run={FIRST}")
    expect(page.locator("#x-message")).to_have_text(f"Could not be loaded: explorer/runs/{FIRST}.js")
    context.close()


def test_a_time_after_the_end_shows_the_whole_run(open_page: Open) -> None:
    page = open_page(f"#run={FIRST}&t=50-60")
    drawn(page)
    expect(page.locator("#x-from")).to_have_value("")
    assert time_labels(page)[0] == "0.0"


def test_more_values_than_a_call_takes_arguments_are_drawn(open_page: Open, site: Path, tmp_path: Path) -> None:
    # 200 flows of 800 bins: 160,000 values, where Chromium's stack has room for some 120,000.
    flow = {"cc": "cubic", "totals": [None] * 6, "rate": [0.25, [1] * 800]}
    flows = [flow | {"name": f"flow {number}"} for number in range(200)]
    changed = shutil.copytree(site, tmp_path / "site")
    write_call(changed / f"explorer/runs/{FIRST}.js", "loadRun", FIRST, {"bin_s": 0.5, "flows": flows})
    page = open_page(f"#run={FIRST}&by=flow", of=changed)
    expect(page.locator("#x-chart canvas")).to_be_visible(timeout=60_000)
    assert page.locator("#x-chart").get_attribute("data-lines") == "rate:200"


def test_a_run_of_too_many_flows_says_so(open_page: Open, site: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(site, tmp_path / "site")
    left_out = {"bin_s": 0.5, "flows": [], "flows_count": 1_000_000}
    write_call(changed / f"explorer/runs/{FIRST}.js", "loadRun", FIRST, left_out)
    page = open_page(f"#run={FIRST}", of=changed)
    expect(page.locator("#x-missing")).to_have_text("Run A has 1,000,000 flows, too many to be drawn here.")


def test_an_archive_without_runs_shows_an_empty_table(open_page: Open, tmp_path: Path) -> None:
    page = open_page(of=write_site(empty_database(tmp_path), tmp_path))
    expect(page.locator("#x-count")).to_have_text("0 of 0 runs")


def test_without_scripts_the_page_says_where_the_numbers_are(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/explorer.html")
    assert "needs scripts" in (page.locator("noscript").text_content() or "")
    expect(page.locator("#explorer")).to_be_hidden()
    context.close()
