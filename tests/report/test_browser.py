"""The site in a real browser, from disk and from a server: that of a small made-up archive, or a built one.

The variable CCREPORT_SITE names the folder of the built one, CCREPORT_SCREENSHOTS one to keep pictures of all pages in.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pikepdf
import pytest
from archives import ROOT
from axe_playwright_python.sync_playwright import Axe
from browser import Loader, needs_chromium, needs_firefox, picture_in_firefox, serve, wait_until
from pdf_structure import find_faults
from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import Browser, Page, expect
from report_inputs import write_inputs, write_site_inputs

from ccreport.report.fragments.render import render_fragments
from ccreport.report.site.render import render_report

pytestmark = [pytest.mark.slow, needs_chromium]
DESK = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844}
TABLET = {"width": 768, "height": 1024}
PAGE_BYTES = 1_000_000
LONGEST_PX = 8_500
PAPER_PAGES = 35
# Pages whose parts are for the reader to compare.
TEXTS = ("tables",)
FIRST_VIEW_BYTES = 1_500_000
# What Firefox shows is compared at a 20th of the size: letters differ by up to 4 steps of grey, pages by 10, a page
# without its styles by 100.
SMALL = (70, 45)
GREYS = 8
SEEN_IN_FIREFOX = ("index", "figures_throughput", "tables", "claims", "methods", "explorer")
# Bytes of a page and of all that it loads by itself.
LOADED_BYTES = "performance.getEntries().reduce((sum, entry) => sum + (entry.encodedBodySize ?? 0), 0)"
# The pages of a section that are of its own.
OF_SECTIONS = ("index", "tables", "figures", "claims")
DECODE_IMAGES = "Promise.all([...document.images].map(image => { image.loading = 'eager'; return image.decode() }))"
# Of each element its left, top, right and bottom edge.
BOXES = """elements => elements.map(element => {
    const box = element.getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom];
})"""
LINKS = "[...document.links].map(link => link.href)"
LABELS = "[...document.querySelectorAll('[id]')].map(element => element.id)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("CCREPORT_SITE"):
        return Path(given).resolve(strict=True)
    folder = tmp_path_factory.mktemp("site")
    render_fragments(**write_inputs(folder), fragments=folder / "fragments")
    made = write_site_inputs(folder)
    render_report("embedded", ROOT / "reports", folder / "fragments", output=folder / "report", **made)
    return folder / "report"


@pytest.fixture(scope="module")
def built_site(site: Path) -> Path:
    if "CCREPORT_SITE" not in os.environ:
        pytest.skip("the made-up archive's report has no such table or figure; CCREPORT_SITE names a built one")
    return site


@pytest.fixture(scope="module")
def pages(site: Path) -> list[str]:
    """Return all pages, those of sections with their folder."""
    return sorted(str(page.relative_to(site)) for page in site.rglob("*.html"))


@pytest.fixture(scope="module")
def looked_at(site: Path, pages: list[str]) -> list[str]:
    """Return the pages that differ in kind: of those that are made alike, one or few."""
    cells = sorted((name for name in pages if "cells_" in name), key=lambda name: (site / name).stat().st_size)
    of_sections = [name for name in pages if "/" in name and Path(name).stem not in OF_SECTIONS]
    # Pages of cells have ten thousands of elements: the smallest speaks for them.
    return [name for name in pages if name not in cells[1:] and name not in of_sections]


@pytest.fixture(scope="module", params=["disk", "server"])
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    if request.param == "disk":
        yield site.as_uri()
        return
    with serve(site) as served:
        yield served


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=DESK)
    yield context.new_page()
    context.close()


# Loading


def test_pages_load_without_a_fault_and_fetch_nothing_from_elsewhere(address: str, pages: list[str], page: Page):
    faults: list[tuple[str, str]] = []
    asked: list[str] = []
    page.on("console", lambda message: faults.append((page.url, f"{message.type}: {message.text}")))
    page.on("pageerror", lambda error: faults.append((page.url, str(error))))
    page.on("requestfailed", lambda request: faults.append((page.url, f"failed: {request.url}")))
    page.on("response", lambda answer: faults.append((page.url, answer.url)) if answer.status >= 400 else None)
    page.on("request", lambda request: asked.append(request.url))
    loader = Loader(page)
    for name in pages:
        loader.load(f"{address}/{name}")
    assert faults == []
    assert [url for url in asked if not url.startswith((f"{address}/", "data:", "blob:"))] == []


INJECT = """
    const handled = document.createElement("img");
    handled.setAttribute("onerror", "window.pwned = 1");
    handled.src = "data:,";
    const inline = document.createElement("script");
    inline.textContent = "window.pwned = 2";
    const elsewhere = document.createElement("img");
    elsewhere.src = "http://127.0.0.1:9/pwned.png";
    const frame = document.createElement("iframe");
    frame.srcdoc = "<script>parent.pwned = 3</script>";
    const style = document.createElement("style");
    style.textContent = "body { display: none }";
    document.body.append(handled, inline, elsewhere, frame, style);
"""


def test_a_page_runs_no_script_that_got_into_it(address: str, looked_at: list[str], page: Page):
    dialogs: list[str] = []
    sent: list[str] = []
    # Chromium tells of a request that the policy refuses, as one that failed, and does not send it.
    page.on("response", lambda answer: sent.append(answer.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.add_init_script(
        "addEventListener('securitypolicyviolation', event => (window.refused ??= []).push(event.effectiveDirective))"
    )
    for name in looked_at:
        page.goto(f"{address}/{name}")
        assert page.evaluate("window.refused ?? []") == [], name
        page.evaluate(f"() => {{ {INJECT} }}")
        wait_until(page, "(window.refused ?? []).length >= 4")
        assert {"script-src-attr", "script-src-elem", "img-src", "style-src-elem"} <= set(page.evaluate("refused")), (
            name
        )
        assert page.evaluate("window.pwned ?? null") is None, name
        assert page.locator("body").is_visible(), name
    assert dialogs == []
    assert not [url for url in sent if "127.0.0.1:9" in url]


def test_pages_are_small(site: Path, pages: list[str], page: Page):
    with serve(site) as served:
        loaded = {}
        for name in pages:
            page.goto(f"{served}/{name}")
            loaded[name] = page.evaluate(LOADED_BYTES)
    # Of the figures only those near the top are loaded before a reader scrolls.
    assert loaded.pop("explorer.html") <= FIRST_VIEW_BYTES
    assert {name: size for name, size in loaded.items() if size > PAGE_BYTES} == {}
    assert max((site / name).stat().st_size for name in pages) <= PAGE_BYTES


def test_every_link_of_the_site_leads_somewhere(address: str, pages: list[str], page: Page):
    links: set[tuple[str, str]] = set()
    labels: dict[str, set[str]] = {}
    for name in pages:
        page.goto(f"{address}/{name}")
        labels[name] = set(page.evaluate(LABELS))
        links |= {(name, link) for link in page.evaluate(LINKS) if link.startswith(f"{address}/")}
    broken = []
    for name, link in sorted(links):
        url = urlsplit(link)
        target = unquote(url.path.removeprefix(urlsplit(address).path).lstrip("/"))
        # A label with = is the state of the explorer.
        if target in labels and url.fragment and "=" not in url.fragment:
            broken += [] if unquote(url.fragment) in labels[target] else [(name, link)]
    # Not all at once: a folder that is served answers each, and a file is there or not.
    for link in sorted({link.partition("#")[0].partition("?")[0] for _, link in links}):
        if link.startswith("file:"):
            broken += [] if Path(unquote(urlsplit(link).path)).is_file() else [("", link)]
        else:
            broken += [] if page.request.head(link).ok else [("", link)]
    assert broken == []


# Using


def test_tabs_by_mouse_and_by_keyboard(address: str, page: Page):
    page.goto(f"{address}/tables.html")
    tabset = page.locator(".tabset").first
    tabs, panels = tabset.get_by_role("tab"), tabset.locator("[role=tabpanel]")
    assert tabs.count() >= 2

    def state() -> list[tuple[str | None, bool]]:
        return [(tabs.nth(i).get_attribute("aria-selected"), panels.nth(i).is_visible()) for i in range(2)]

    assert state() == [("true", True), ("false", False)]
    tabs.nth(1).click()
    assert state() == [("false", False), ("true", True)]
    page.keyboard.press("Home")
    assert state() == [("true", True), ("false", False)]
    page.keyboard.press("ArrowRight")
    assert state() == [("false", False), ("true", True)]
    assert tabs.nth(1).evaluate("tab => tab === document.activeElement")
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    assert state() == [("true", True), ("false", False)]


def test_menus_open_one_at_a_time_by_keyboard_and_lead_to_pages(address: str, page: Page):
    page.goto(f"{address}/index.html")
    menus = page.locator("details.menu")
    assert menus.count() >= 4
    menus.nth(0).locator("summary").focus()
    page.keyboard.press("Enter")
    menus.nth(2).locator("summary").focus()
    page.keyboard.press("Space")
    assert [menus.nth(i).evaluate("menu => menu.open") for i in range(3)] == [False, False, True]
    page.keyboard.press("Escape")
    assert not menus.nth(2).evaluate("menu => menu.open")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ledger.html")


def test_a_menu_is_on_the_screen_of_a_phone(site: Path, page: Page):
    page.set_viewport_size(PHONE)
    page.goto((site / "index.html").as_uri())
    menus = page.locator("details.menu")
    assert not menus.first.is_visible()
    page.get_by_text("Menu", exact=True).click()
    for i in range(menus.count()):
        menus.nth(i).locator("summary").click()
        box = menus.nth(i).locator("ul").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        # Titles of other reports are long: one is below the other.
        reports = menus.nth(i).locator('a[href$="/index.html"]').all()
        assert len({report.evaluate("link => link.getBoundingClientRect().x") for report in reports}) <= 1
        # Open, it lies over the menus of the next line.
        menus.nth(i).locator("summary").click()


def test_contents_are_folded_up_below_the_title_on_a_phone(site: Path, page: Page):
    page.goto((site / "methods.html").as_uri())
    assert page.locator("#TOC").is_visible()
    assert not page.locator(".contents").is_visible()
    page.set_viewport_size(PHONE)
    assert not page.locator("#TOC").is_visible()
    link = page.locator(".contents a").first
    assert not link.is_visible()
    page.locator(".contents summary").click()
    assert link.is_visible()
    # Wide tables take the room beside them until there is enough for both.
    page.goto((site / "tables.html").as_uri())
    for width, is_beside in ((1400, False), (1900, True)):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator("#TOC").is_visible() is is_beside
        assert page.locator(".contents-row").is_visible() is not is_beside
        assert not page.locator(".contents").is_visible()
    page.set_viewport_size({"width": 1400, "height": 900})
    page.locator(".contents-row a", has_text="Table II:").click()
    assert page.url.endswith("#table-table-2-testbed")


def test_maps_of_conditions_are_side_by_side_and_their_text_beside_stripes(built_site: Path, page: Page):
    page.goto((built_site / "conditions.html").as_uri())
    (_, top, right, _), (beside, at, *_) = page.locator("main > section:has(.maps)").evaluate_all(BOXES)[:2]
    assert (at, beside > right) == (top, True)
    for width in (DESK["width"], PHONE["width"]):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        boxes = page.locator(".maps > .table-scroll")
        # But for the lines at the edges of the outermost fields.
        assert boxes.evaluate_all("boxes => boxes.every(box => box.scrollWidth <= box.clientWidth + 2)")
        # How far the text of a field is from its left edge, where the stripes are.
        room = """fields => fields.map(field => {
            const texts = document.createTreeWalker(field, NodeFilter.SHOW_TEXT);
            const text = document.createRange();
            const lefts = [];
            while (texts.nextNode()) {
                text.selectNodeContents(texts.currentNode);
                lefts.push(...[...text.getClientRects()].filter(box => box.width > 0).map(box => box.left));
            }
            const band = parseFloat(getComputedStyle(field).backgroundSize.split(", ")[1]);
            return Math.min(...lefts) - field.getBoundingClientRect().left - band;
        })"""
        assert min(page.locator(".condition-map .undecided").evaluate_all(room)) >= 0


def test_a_link_to_a_section_opens_its_closed_part(address: str, page: Page):
    page.goto(f"{address}/dictionary.html")
    fold = page.locator("#table-runs details.fold")
    assert not fold.locator("table").is_visible()
    page.goto(f"{address}/dictionary.html#table-runs")
    assert fold.locator("table").is_visible()


def test_tables_of_text_need_no_scrolling_on_a_phone(site: Path, page: Page):
    page.set_viewport_size(PHONE)
    page.goto((site / "methods.html").as_uri())
    table = page.locator("table.of-text").first
    assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
    # Each cell says which column it is of.
    cell = table.locator("tbody td").nth(1)
    head = table.locator("thead th").nth(1).text_content()
    assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") == f'"{head}: "'


@pytest.mark.parametrize("name", ["figures_throughput", "figures_testbed"])
def test_a_phone_shows_all_of_a_figure_and_a_turn_or_a_tap_enlarges_it(built_site: Path, page: Page, name: str):
    page.set_viewport_size(PHONE)
    page.goto((built_site / f"{name}.html").as_uri())
    boxes = page.locator(".figure-scroll:has(img)")
    assert boxes.evaluate_all("boxes => boxes.every(box => box.scrollWidth <= box.clientWidth)")
    link, image = boxes.first.locator("a"), boxes.first.locator("img")
    said = "box => getComputedStyle(box, '::before').content"
    assert "Tap to enlarge" in boxes.first.evaluate(said)
    page.set_viewport_size({"width": 844, "height": 390})
    shown = "images => images.map(image => image.clientWidth / image.getAttribute('width'))"
    assert min(boxes.locator("img").evaluate_all(shown)) >= 0.9
    assert link.get_attribute("aria-expanded") is None
    page.set_viewport_size(PHONE)
    # The keys enlarge it, too, to the size it was drawn in; its box scrolls and is a stop of the Tab key, not the page.
    for enlarge in (lambda: link.click(position={"x": 50, "y": 60}), lambda: link.press("Enter")):
        enlarge()
        expect(link).to_have_attribute("aria-expanded", "true")
        assert image.evaluate("image => image.clientWidth === Number(image.getAttribute('width'))")
        expect(boxes.first).to_have_js_property("tabIndex", 0)
        assert boxes.first.evaluate("box => box.scrollWidth > box.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert "tap again" in boxes.first.evaluate(said)
        enlarge()
        expect(link).to_have_attribute("aria-expanded", "false")
        assert boxes.first.evaluate("box => box.scrollWidth === box.clientWidth && box.scrollLeft === 0")
    # Wherever it was tapped, its left edge with the axis is in sight.
    link.click(position={"x": 300, "y": 60})
    expect(link).to_have_attribute("aria-expanded", "true")
    assert boxes.first.evaluate("box => box.scrollLeft") == 0


@pytest.mark.parametrize("name", ["figures", "evaluations"])
def test_a_thumbnail_s_edge_is_dark_on_a_dark_page(built_site: Path, page: Page, tmp_path: Path, name: str):
    page.emulate_media(color_scheme="dark")
    page.goto((built_site / f"{name}.html").as_uri())
    page.locator(".gallery img").first.screenshot(path=tmp_path / "thumbnail.png")
    with Image.open(tmp_path / "thumbnail.png") as picture:
        assert max(picture.convert("L").getpixel((place, 2)) for place in range(20, picture.width - 20)) < 40


def test_without_scripts_a_tap_opens_a_figure_s_drawing(built_site: Path, browser: Browser):
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto((built_site / "figures_testbed.html").as_uri())
    page.locator(".figure-scroll a").first.click()
    page.wait_for_url("**/figures/*/figure.svg")
    context.close()


def test_on_a_phone_the_paper_s_numbers_and_ours_are_in_sight_together(built_site: Path, page: Page):
    page.set_viewport_size(PHONE)
    page.goto((built_site / "reproduction.html").as_uri())
    for table in page.locator(".beside table").all():
        for name in ("Paper", "Here"):
            head = table.locator("thead th").get_by_text(name, exact=True).first
            box = head.bounding_box()
            assert box["x"] + box["width"] <= PHONE["width"]
        assert not table.locator("thead .less").first.is_visible()


def test_rows_named_by_many_columns_have_numbers_in_sight_on_a_phone(built_site: Path, page: Page):
    page.set_viewport_size(PHONE)
    page.goto((built_site / "tables.html").as_uri())
    for box in page.locator(".names-above").all():
        row = box.locator("tbody tr:has(td + td)").first
        names, numbers = (row.locator(f"td.gt_{side}:visible").evaluate_all(BOXES) for side in ("left", "right"))
        assert max(bottom for *_, bottom in names) <= min(top for _, top, _, _ in numbers) + 1
        assert sum(right <= PHONE["width"] for _, _, right, _ in numbers) >= 4
        # On one line, each below its heading.
        heads = box.locator("thead th.gt_right:visible").evaluate_all(BOXES)
        assert max(top for _, top, _, _ in numbers) < min(bottom for *_, bottom in numbers)
        assert [right for _, _, right, _ in heads] == pytest.approx([right for _, _, right, _ in numbers], abs=1)


@pytest.mark.parametrize("name", ["tables", "reproduction"])
def test_tables_of_the_publication_need_no_scrolling_on_a_phone_held_either_way(
    built_site: Path, page: Page, name: str
):
    page.goto((built_site / f"{name}.html").as_uri())
    boxes = page.locator(".stacked")
    assert boxes.count() >= 3
    for width, height in ((390, 844), (768, 1024), (844, 390)):
        page.set_viewport_size({"width": width, "height": height})
        assert boxes.evaluate_all("boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).length") == 0, width
        # No number covers another, and each is on the page's screen.
        for row in boxes.last.locator("tbody tr:has(td)").all():
            cells = row.locator("td").evaluate_all(BOXES)
            shown = [cell for cell in cells if cell[2] > cell[0]]
            assert max(right for _, _, right, _ in shown) <= width
            assert [pair for pair in combinations(shown, 2) if _intersect(*pair)] == [], width


def test_on_a_phone_a_mean_has_its_interval_and_cv_below_it(built_site: Path, page: Page):
    page.set_viewport_size(PHONE)
    page.goto((built_site / "tables.html").as_uri())
    numbers = page.locator("#tbl-table-2-testbed tbody tr:has(td)").first.locator(".gt_right").evaluate_all(BOXES)
    assert len(numbers) == 12
    for mean, interval, cv in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        assert mean[0] == interval[0] == cv[0]
        assert mean[3] <= interval[1] + 1
        assert interval[3] <= cv[1] + 1
    assert "Turn" not in page.locator("#tbl-table-2-testbed figcaption").evaluate(
        "caption => getComputedStyle(caption, '::after').content"
    )


def test_the_name_of_a_group_stays_in_sight_where_a_table_scrolls_sideways(built_site: Path, page: Page):
    page.set_viewport_size(PHONE)
    page.goto((built_site / "tables.html").as_uri())
    box = page.locator(".table-scroll:has(.gt_group_heading):not(.stacked)").first
    box.evaluate("box => box.scrollTo(400, 0)")
    label = box.locator(".gt_group_heading > span").first
    assert label.evaluate("label => label.getBoundingClientRect().left") >= 0


def test_on_a_phone_the_first_screen_has_an_answer_and_what_it_is_measured_on_follows(built_site: Path, page: Page):
    page.set_viewport_size(PHONE)
    page.goto((built_site / "index.html").as_uri())
    top = "element => element.getBoundingClientRect().top"
    # All of the first answer's table.
    table = page.locator(".answer li").first.locator(".matrix").bounding_box()
    assert table["y"] + table["height"] <= PHONE["height"]
    box = page.locator(".answer .table-scroll").first
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    about, picture = (page.locator(name).first.evaluate(top) for name in (".callout", ".forest"))
    assert page.locator(".answer").first.evaluate(top) < about < picture
    page.locator('.jumps a[href="#results"]').click()
    assert page.locator(".answer").first.evaluate(top) < 100


def test_long_lists_of_the_first_page_are_closed_on_a_phone_only(site: Path, page: Page, browser: Browser):
    address = (site / "index.html").as_uri()
    page.set_viewport_size(PHONE)
    page.goto(address)
    folds, own = page.locator("details.on-phone"), page.locator("#measured details.on-phone")
    assert folds.count() >= 4
    assert folds.evaluate_all("folds => folds.some(fold => fold.open)") is False
    assert own.locator("summary").is_visible()
    # A link to the section opens it.
    page.goto(f"{address}#measured")
    assert own.locator("p").first.is_visible()
    page.set_viewport_size({"width": 1400, "height": 900})
    page.wait_for_function("[...document.querySelectorAll('details.on-phone')].every(fold => fold.open)")
    assert not own.locator("summary").is_visible()
    # Without scripts nothing closes them.
    context = browser.new_context(java_script_enabled=False, viewport=PHONE)
    unscripted = context.new_page()
    unscripted.goto(address)
    assert unscripted.locator("#measured details.on-phone p").first.is_visible()
    context.close()


def test_search_from_the_header_finds_a_section_and_leads_to_it(address: str, page: Page):
    page.goto(f"{address}/index.html")
    field = page.get_by_role("searchbox", name="Search this report")
    field.fill("retransmit ratio")
    field.press("Enter")
    page.wait_for_url("**/search.html?q=retransmit*ratio")
    assert "found" in page.locator("#search-count").inner_text()
    # It is a section of the methods.
    found = page.locator("#search-results a", has_text="Retransmits").first
    assert page.locator("#search-results mark").first.inner_text().lower() in ("retransmit", "ratio")
    found.click()
    page.wait_for_url("**#*")
    label = urlsplit(page.url).fragment
    assert page.locator(f"[id='{unquote(label)}']").is_visible()


@pytest.mark.parametrize(
    ("words", "leads_to"),
    [
        ("ledger", "ledger.html"),
        ("Data dictionary", "dictionary.html"),
        ("COLLECTION", "collection.html"),
        ("figures", "figures.html"),
        ("Table II raw file", "tables.html#table-table-2-testbed"),
        ("BBR vs CUBIC", "index.html"),
        ("which kernel", "index.html#measured"),
        ("how is retransmit ratio defined", "methods.html#sec-retransmits"),
        ("raw data of one cell", "tables.html"),
    ],
)
def test_search_ranks_what_is_asked_for_first(address: str, page: Page, words: str, leads_to: str):
    page.goto(f"{address}/search.html?q={words}")
    assert page.locator("#search-results a").first.get_attribute("href") == leads_to


def test_search_ranks_sections_with_all_numbers_before_those_of_other_numbers(address: str, page: Page):
    page.goto(f"{address}/search.html?q=0.01 %25 loss 80 ms")
    found = page.locator("#search-results li").all_inner_texts()[:5]
    assert len(found) == 5
    assert all(re.search(r"(?<![\d.])0\.01(?!\d)", text) for text in found)


def test_words_that_the_index_leaves_out_change_nothing(address: str, page: Page):
    found = []
    for words in ("coefficient variation", "the coefficient of variation"):
        page.goto(f"{address}/search.html?q={words}")
        found.append(page.locator("#search-results a").evaluate_all("links => links.map(link => link.href)"))
    assert found[0]
    assert found[0] == found[1]


def test_search_for_what_is_not_there_and_for_what_looks_like_markup(address: str, page: Page):
    page.goto(f"{address}/search.html?q=zzqqx")
    assert page.locator("#search-count").inner_text() == "0 sections found."
    for words in ("<img src=x onerror=alert(1)>", "table:~+-*^", "[", "*", "   "):
        page.locator("#search-words").fill(words)
        assert page.locator("#search-results img").count() == 0
    assert page.locator("#search-count").inner_text() == ""


def test_the_theme_is_the_systems_until_it_is_chosen_and_stays_chosen(address: str, page: Page):
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    page.emulate_media(color_scheme="light")
    page.goto(f"{address}/index.html")
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert light == "rgb(255, 255, 255)" != dark
    button = page.locator("#theme")
    # The page hears of the system's change a moment later.
    expect(button).to_have_text("Light")
    button.click()
    assert page.evaluate(ground) == light
    page.goto(f"{address}/methods.html")
    assert page.evaluate(ground) == light
    expect(page.locator("#theme")).to_have_text("Dark")


def test_the_first_tab_stop_skips_to_the_content(address: str, page: Page):
    page.goto(f"{address}/tables.html")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    assert skip.evaluate("link => link === document.activeElement")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_without_scripts_everything_is_there(site: Path, browser: Browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "tables.html").as_uri())
    panels = page.locator("[role=tabpanel]")
    assert all(panels.nth(i).is_visible() for i in range(panels.count()))
    assert not page.locator("#theme").is_visible()
    context.close()


def test_print_shows_all_tabs_and_no_navigation(site: Path, page: Page):
    page.goto((site / "tables.html").as_uri())
    page.emulate_media(media="print")
    panels = page.locator("[role=tabpanel]")
    assert all(panels.nth(i).is_visible() for i in range(panels.count()))
    assert not page.get_by_role("navigation").first.is_visible()
    assert not page.locator("[role=tablist]").first.is_visible()


def test_all_counts_of_verdicts_are_in_sight_on_a_phone(built_site: Path, page: Page):
    page.set_viewport_size(PHONE)
    page.goto((built_site / "reproduction.html").as_uri())
    counts = page.get_by_role("region", name="Pairs by table").first.locator("td.number")
    assert counts.last.get_attribute("data-head") == "Suspect"
    assert all(right <= PHONE["width"] for _, _, right, _ in counts.evaluate_all(BOXES))


def test_on_paper_signs_of_verdicts_are_seen_without_their_grounds(built_site: Path, page: Page):
    page.emulate_media(media="print")
    page.goto((built_site / "index.html").as_uri())
    signs = page.locator(".square").evaluate_all("signs => signs.map(sign => getComputedStyle(sign).color)")
    assert signs
    assert "rgb(255, 255, 255)" not in signs


def test_on_paper_the_first_figure_is_on_the_first_page(site: Path, page: Page):
    # A4 without margins of 12 mm, at 96 px to the inch.
    page.set_viewport_size({"width": 703, "height": 1032})
    page.emulate_media(media="print")
    below = {}
    for path in sorted(site.glob("figures_*.html")):
        page.goto(path.as_uri())
        page.evaluate(DECODE_IMAGES)
        below[path.name] = page.locator("figure.fig").first.bounding_box()
    assert below
    assert [name for name, box in below.items() if box and box["y"] + box["height"] > 1032] == []


# Looking


def test_no_page_is_longer_than_a_reader_scrolls(site: Path, pages: list[str], page: Page):
    long = {}
    for name in pages:
        page.goto((site / name).as_uri())
        height = page.evaluate("document.documentElement.scrollHeight")
        if height > LONGEST_PX and Path(name).stem not in TEXTS:
            long[name] = height
    assert long == {}


@pytest.fixture(params=["report", "supplement"])
def paper(site: Path, request: pytest.FixtureRequest) -> Path:
    if not (site / "report.pdf").read_bytes().startswith(b"%PDF"):
        pytest.skip("the made-up archive's report has no PDF; CCREPORT_SITE names a built one")
    return site / f"{request.param}.pdf"


def test_the_report_on_paper_has_at_most_35_pages(paper: Path):
    if paper.stem == "report":
        with pikepdf.open(paper) as opened:
            assert len(opened.pages) <= PAPER_PAGES


def test_the_tags_of_the_pdf_say_what_everything_is(paper: Path):
    assert find_faults(paper) == []


@pytest.mark.skipif(not shutil.which("pdftoppm"), reason="pdftoppm (poppler-utils) is not installed")
def test_no_page_of_the_pdf_is_half_empty(paper: Path, tmp_path: Path):
    subprocess.run(["pdftoppm", "-gray", "-r", "20", str(paper), str(tmp_path / "page")], check=True)
    filled = []
    for picture in sorted(tmp_path.glob("*.pgm"))[:-1]:
        with Image.open(picture) as page:
            # Between header and footer.
            box = page.crop((0, page.height // 16, page.width, page.height * 15 // 16)).point(lambda grey: 255 - grey)
            filled.append(found[3] / box.height if (found := box.getbbox()) else 0)
    assert [(number, share) for number, share in enumerate(filled, 1) if share < 0.5] == []


def test_the_first_page_of_the_pdf_has_the_conclusion_and_contents(paper: Path):
    words = subprocess.run(["pdftotext", "-l", "3", str(paper), "-"], capture_output=True, text=True, check=True).stdout
    first, second, _ = words.split("\f", 2)
    assert "Contents" in first
    if paper.stem == "report":
        # All of them: dots lead to the numbers of pages.
        assert ". . . ." in first
        assert ". . . ." not in second
        assert first.index("BBR or CUBIC?") < first.index("Contents")
        assert "How to cite" in words
        assert "How to verify" in words


def test_no_page_scrolls_sideways_on_a_phone_or_a_tablet(site: Path, pages: list[str], page: Page):
    wide = {}
    for name in pages:
        page.goto((site / name).as_uri())
        for viewport in (PHONE, TABLET):
            page.set_viewport_size(viewport)
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > viewport["width"]:
                wide[name] = width
    assert wide == {}


def test_claims_beside_a_figure_are_one_below_the_other_and_wide_enough_to_read(
    built_site: Path, pages: list[str], page: Page
):
    most = 0
    for name in pages:
        if not Path(name).stem.startswith("figures"):
            continue
        page.goto((built_site / name).as_uri())
        for width in (1200, 1400, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            for section in page.locator("section:has(.paper-says)").all():
                chart, claims = (section.locator(part).evaluate_all(BOXES) for part in ("figure.fig", ".paper-says"))
                most = max(most, len(claims))
                overlaps = [pair for pair in combinations([*chart, *claims], 2) if _intersect(*pair)]
                assert overlaps == [], (name, width)
                assert min(right - left for left, _, right, _ in claims) >= 250, (name, width)
    assert most >= 2


def _intersect(one: list[float], other: list[float]) -> bool:
    return all(max(one[side], other[side]) < min(one[side + 2], other[side + 2]) for side in (0, 1))


def test_an_open_menu_is_on_the_screen_of_a_tablet(site: Path, page: Page):
    page.set_viewport_size(TABLET)
    page.goto((site / "index.html").as_uri())
    for menu in page.locator("details.menu").all():
        menu.locator("summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= TABLET["width"]
        assert menu.locator("ul").evaluate("list => list.getBoundingClientRect().x") >= 0


def test_axe_finds_nothing_on_any_page(site: Path, pages: list[str], page: Page):
    options: dict[str, dict[str, Any]] = {"light": {"resultTypes": ["violations"]}}
    # The dark theme changes colours alone; the light one is checked by all rules.
    options["dark"] = options["light"] | {"runOnly": ["color-contrast", "link-in-text-block"]}
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    violations = []
    for name in pages:
        page.goto((site / name).as_uri())
        grounds = set()
        for scheme, chosen in options.items():
            page.emulate_media(color_scheme=scheme)
            grounds.add(page.evaluate(ground))
            found = Axe().run(page, options=chosen)
            violations += [
                (name, scheme, violation["id"], violation["nodes"][0]["html"][:200], len(violation["nodes"]))
                for violation in found.response["violations"]
            ]
        assert len(grounds) == 2, name
    assert violations == []


@pytest.mark.parametrize(
    ("name", "viewport", "scheme"), [("desk", DESK, "light"), ("desk-dark", DESK, "dark"), ("phone", PHONE, "light")]
)
def test_every_kind_of_page_has_its_picture_taken(
    site: Path, looked_at: list[str], page: Page, tmp_path: Path, name: str, viewport: dict[str, int], scheme: str
):
    folder = Path(os.environ.get("CCREPORT_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=scheme)
    for shown in looked_at:
        page.goto((site / shown).as_uri())
        # Rejected where an image is broken.
        page.evaluate(DECODE_IMAGES)
        # Of what is longer than this nobody looks at the end in a picture.
        height = min(page.evaluate("document.documentElement.scrollHeight"), 12_000)
        clip = {"x": 0, "y": 0, "width": viewport["width"], "height": height}
        picture = folder / f"{shown.removesuffix('.html').replace('/', '-')}-{name}.png"
        page.screenshot(path=picture, full_page=True, clip=clip)
        assert picture.stat().st_size > 0


@needs_firefox
def test_firefox_shows_the_same_as_chromium(site: Path, page: Page, tmp_path: Path):
    differences = {}
    for name in SEEN_IN_FIREFOX:
        # A report without claims has no page of them.
        if not (site / f"{name}.html").exists():
            continue
        address = (site / f"{name}.html").as_uri()
        page.emulate_media(color_scheme="light")
        page.goto(address)
        page.screenshot(path=tmp_path / "chromium.png")
        picture = picture_in_firefox(address, (DESK["width"], DESK["height"]), tmp_path)
        shown = [_shrink(path) for path in (picture, tmp_path / "chromium.png")]
        differences[name] = ImageStat.Stat(ImageChops.difference(*shown)).mean[0]
    assert {"index", "tables", "methods", "explorer"} <= differences.keys()
    assert {name: difference for name, difference in differences.items() if difference > GREYS} == {}


def _shrink(picture: Path) -> Image.Image:
    with Image.open(picture) as image:
        return image.convert("L").resize(SMALL, Image.Resampling.BOX)
