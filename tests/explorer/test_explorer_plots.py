"""The scatter plot, questions in SQL and saved files of the explorer, phones, themes, and archives without runs."""

import re
import shutil
import sys
from functools import partial
from pathlib import Path

import duckdb
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import needs_chromium
from explorer_page import ALL, NAME, Open, column, drawn, lines_of, rows_of, serve, show
from explorer_site import (
    FIRST,
    SECOND,
    empty_database,
    export_database,
    write_claims,
    write_database,
    write_site,
)
from playwright.sync_api import Browser, Locator, Page, expect

from ccreport.explorer.palette import lighten
from ccreport.explorer.script import write_call
from ccreport.figures.kit.theme import STYLES

# What `make sql` adds.
ENGINE = Path(sys.prefix, "share/ccreport/sql.js")
needs_engine = pytest.mark.skipif(not ENGINE.exists(), reason="needs the SQL engine: make sql")
pytestmark = [pytest.mark.slow, needs_chromium]


def test_decimal_points_of_a_column_are_below_each_other(open_page: Open) -> None:
    page = open_page("#find=job_e")
    digit, point = "\u2007", "\u2008"
    texts = ["10", "9.6", "1,234.25", "–", "1e-7"]
    aligned = [f"10{point}{digit * 2}", f"9.6{digit}", "1,234.25", "–", f"1e-7{point}{digit * 2}"]
    assert page.evaluate("texts => ccreportExplorer.alignPoints(texts)", texts) == aligned
    assert page.evaluate("texts => ccreportExplorer.alignPoints(texts)", ["1", "20", "–"]) == ["1", "20", "–"]
    # Losses of 0 % and 0.1 %.
    assert set(column(page, "Loss")) >= {f"0{point}{digit}", "0.1\nbursts"}


def test_without_an_engine_the_page_offers_no_sql(open_page: Open) -> None:
    page = open_page()
    expect(page.locator("#x-runs")).to_be_visible()
    expect(page.locator("#x-sql")).to_be_hidden()


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
        page.fill("#x-query", "SELECT * FROM rnus")
        page.click("#x-sql_form button")
        expect(page.locator("#x-sql_said")).to_contain_text("Available tables: claims, flows, runs.")
        page.fill("#x-query", "SELECT nothing FROM runs")
        page.click("#x-sql_form button")
        expect(page.locator("#x-sql_said")).to_contain_text("nothing")


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


def test_a_box_without_runs_says_so_and_can_be_removed(open_page: Open) -> None:
    page = open_page("#box=1e6~2e6~1e6~2e6")
    expect(page.locator("#x-none")).to_have_text("No run is within the box that is drawn over the plot. Remove the box")
    page.click("#x-none button")
    expect(page.locator("#x-count")).to_have_text(f"{ALL} of {ALL} runs")
    expect(page.locator("#x-none")).to_be_hidden()


@pytest.mark.parametrize(("value", "domain"), [("0.01", [0.005, 0.015]), ("0", [0, 1]), ("80", [40, 120])])
def test_an_axis_of_one_value_is_around_it(open_page: Open, value: str, domain: list[float]) -> None:
    look = """value => {
        const column = { key: "loss_pct", label: "Loss", unit: "%", values: [value, value, 1] };
        const columns = new Map([["loss_pct", column]]);
        const list = { count: 3, columns, algorithms: new Map(), paper: { light: {} } };
        for (const key of ["cc_list", "state"]) list.columns.set(key, { value: () => null });
        const look = { axes: ["loss_pct", "loss_pct"], width: 300, isDark: false, rows: [0, 1] };
        return ccreportExplorer.describeScatter(list, look).spec.layer[0].encoding.x.scale.domain;
    }"""
    assert open_page().evaluate(look, float(value)) == domain


def test_on_a_phone_the_algorithm_stays_in_sight_of_a_list_scrolled_sideways(open_page: Open) -> None:
    page = open_page(width=390)
    page.locator("#x-table th[data-key=deviation_z] button, #x-table th[data-key=rate_bps] button").first.click()
    page.locator("#x-scroll").evaluate("box => box.scrollTo(200, 0)")
    box, cell, head = (
        page.locator(name).first.bounding_box()
        for name in ("#x-scroll", "td[data-key=cc_list]", "th[data-key=cc_list]")
    )
    assert box
    assert cell
    assert head
    assert head["x"] == cell["x"]
    # Beside what picks the row: nothing is seen between them.
    pick = page.locator("td.x-pick").first.bounding_box()
    assert pick
    assert pick["x"] + pick["width"] - 4 <= cell["x"] <= pick["x"] + pick["width"] + 0.5
    # In front of the cells that pass below it.
    over = "cell => { const { left, top } = cell.getBoundingClientRect(); const [x, y] = [left + 3, top + 3];"
    assert page.locator("td[data-key=cc_list]").first.evaluate(
        over + " return document.elementFromPoint(x, y) === cell }"
    )


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
    # Values that were set, 0 among them, are apart.
    assert page.evaluate(spec, [0, 0, 0, 0.001, 0.01, 1]) == ["symlog", [0, 0.001, 0.01, 0.1, 1]]


@pytest.mark.parametrize("origin", ["file", "server"])
def test_the_listed_runs_are_saved_as_csv(open_page: Open, server: str, origin: str) -> None:
    page = open_page("#find=h1-7-", base="" if origin == "file" else server)
    with page.expect_download() as saved:
        page.click("#x-save")
    header, row = Path(saved.value.path()).read_text(encoding="utf-8").splitlines()
    assert saved.value.suggested_filename == "runs.csv"
    assert header.startswith("Run,Algorithms,Mode,Flows,RTT (ms),Loss (%),Bottleneck (Mbit/s),Buffer (MB),Iteration")
    assert "Rate (Mbit/s)" in header
    assert row.startswith("e2.h1-7-20ms-cc,cubic,cubic,1,20,0,,,7,")


def test_a_saved_file_holds_no_formula_of_the_archive(open_page: Open) -> None:
    page = open_page()
    with page.expect_download() as saved:
        page.evaluate("""ccreportExplorer.saveCsv("f", ["a", "b", "c"], [["=1+1", 'say "x", y', -3]])""")
    assert Path(saved.value.path()).read_bytes() == b"""a,b,c\r\n'=1+1,"say ""x"", y",-3\r\n"""


def test_a_tap_on_a_run_leads_to_its_chart_on_a_phone(open_page: Open) -> None:
    page = open_page(width=390)
    heads = [head.split()[0] for head in page.locator("#x-table thead button").all_inner_texts()]
    assert heads[:8] == ["Algorithms", "Flows", "RTT", "Loss", "Rate", "Session", "Deviation", "Job"]
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
