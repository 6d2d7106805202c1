"""Our style sheets and script on a page as Quarto writes it, without Quarto: its DOM, Bootstrap, rules of its theme.

The page is written here, after those that Quarto 1.6 and 1.9 make; Bootstrap is the one that MkDocs brings.
"""

import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import needs_chromium, wait_until
from playwright.sync_api import Browser, Page

from ccreport.report.markup.blocks import BLOCKS_SCRIPT
from ccreport.report.markup.content_security import hash_handlers, make_quarto_policy, set_policy
from ccreport.report.site.quarto import HEAD, STYLES

pytestmark = [pytest.mark.slow, needs_chromium]

ROOT = Path(__file__).parents[2]
HEIGHT = 844
WIDTHS = (390, 1100, 1400)
BOOTSTRAP = "themes/mkdocs/css/bootstrap.min.css"
# What the theme adds to Bootstrap and our sheet must beat: colours of a light page, and boxes as wide as their words.
THEME = """
html { font-size: 17px }
h1, h2 { color: inherit }
code { white-space: pre }
pre { color: #000 }
.navbar { background-color: #517699 }
.navbar-container { width: 100% }
.navbar-brand { overflow: hidden; text-overflow: ellipsis }
.navbar-brand-container { max-width: calc(100% - 115px); min-width: 0; display: flex; margin-right: 1em }
.nav-footer { background-color: #fff; color: #757575; text-align: center }
.nav-footer a { color: #757575 }
.sidebar nav[role=doc-toc] > ul a { border-left: 1px solid #e9ecef; color: inherit }
.sidebar nav[role=doc-toc] ul > li > a.active { color: #2761e3 !important }
.callout.callout-style-default { border-left: 5px solid; border-top: 1px solid #dee2e6 }
div.callout-note.callout-style-default > .callout-header { background-color: #e9f2fc }
.callout-body-container { flex-grow: 1 }
p code:not(.sourceCode), li code:not(.sourceCode) { background-color: #f8f9fa; color: #7d12ba }
.sourceCode { overflow: visible }
div.sourceCode { background-color: rgba(233, 236, 239, .65); overflow: auto }
code span.kw { color: #003b4f }
pre > code.sourceCode > span, div.sourceCode pre.sourceCode, div.sourceCode > pre > code > span { color: #003b4f }
details > summary { color: #6c757d }
figcaption, caption, .header-section-number { color: #5a6570 }
.page-columns .column-page table { background: #fff }
table.gt_table { width: 100%; font-size: 1em; color: var(--quarto-body-color) }
:root { --quarto-body-color: #212529; --quarto-border-color: #dee2e6 }
@media (min-width: 992px) {
  #quarto-content { display: grid; grid-template-columns:
    [page-start] 1fr [body-content-start] minmax(500px, 1060px) [body-content-end] 145px 1fr [page-end] }
  main { grid-column: body-content-start / body-content-end } .margin-sidebar { grid-column: 3; grid-row: 1 }
  main.column-page { grid-column: page-start / body-content-end }
}
"""
TOGGLE = "if (window.quartoToggleHeadroom) { window.quartoToggleHeadroom(); }"
TITLE = "BBRv2 and CUBIC over long paths with random loss, measured again"
LONG = "results/tables/throughput_by_condition_and_algorithm_with_intervals.parquet"
MENU = """<li class="nav-item dropdown"><a class="nav-link dropdown-toggle" href="#" role="button">
<span class="menu-text">{}</span></a><ul class="dropdown-menu"><li><a class="dropdown-item" href="#">Page</a></li></ul>
</li>"""
MENUS = "".join(map(MENU.format, ("Report", "Results", "Explore", "Audit", "Docs", "Other evaluations")))
ICON = '<li class="nav-item compact"><a class="nav-link" href="#" aria-label="{0}"><i class="bi bi-{1}"></i></a></li>'
ICONS = ICON.format("PDF", "file-earmark-pdf") + ICON.format("Search", "search")
CALLOUT = """<div class="callout callout-style-default callout-note callout-titled">
<div class="callout-header d-flex align-content-center"><div class="callout-icon-container"></div>
<div class="callout-title-container flex-fill">Query: <code>{0}</code></div>
<div class="callout-btn-toggle d-inline-block border-0 py-1 ps-1 pe-0 float-end"><i>toggle</i></div></div>
<div class="callout-body-container callout-body">{1}</div></div>"""
CODE = f"""<div class="sourceCode"><pre class="sourceCode sh code-with-copy"><code class="sourceCode bash">
<span id="cb1-1"><span class="kw">for</span> file in {LONG} {LONG}</span></code></pre></div>"""
CELLS = "".join(f"<td>{LONG[:18]}_{n}</td>" for n in range(7))
HEADS = "".join(f"<th>Column {n}</th>" for n in range(7))
ROWS = f"<thead><tr>{HEADS}</tr></thead><tbody><tr>{CELLS}</tr><tr>{CELLS}</tr></tbody>"
PUBLISHED = f"""<div class="table-scroll" role="region" aria-label="Published" tabindex="0">
<table class="gt_table published"><caption>In Mbit/s</caption>{ROWS}</table></div>"""
CLAIM = '<div class="paper-says says-{}"><p>The paper: 16 flows at 0.01 % loss are faster under BBR.</p></div>'
CLAIMS = f"""<div class="claims-beside">{CLAIM.format("holds")}{CLAIM.format("fails")}</div>
<div class="tabset-margin-container"></div><div class="panel-tabset"><figure class="float fig">
<div class="figure-scroll"><img alt="" width="739" height="600"></div>
<figcaption>Figure 4: 16 flows.</figcaption></figure></div>"""
FILLER = "<p>Goodput is what arrived.</p>" * 40
PAGE = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{TITLE}</title>
<link rel="stylesheet" href="bootstrap.min.css"><link rel="stylesheet" href="theme.css">
<!-- sheets --></head>
<body class="nav-fixed quarto-light"><header id="quarto-header" class="headroom fixed-top">
<nav class="navbar navbar-expand-lg" data-bs-theme="dark"><div class="navbar-container container-fluid">
<div class="navbar-brand-container mx-auto"><a class="navbar-brand" href="#"><span class="navbar-title">{TITLE}</span>
</a></div>
<button class="navbar-toggler" type="button" aria-label="Toggle navigation" onclick="{TOGGLE}">
<span class="navbar-toggler-icon"></span></button>
<div class="collapse navbar-collapse" id="navbarCollapse"><ul class="navbar-nav navbar-nav-scroll me-auto">{MENUS}</ul>
<ul class="navbar-nav navbar-nav-scroll ms-auto">{ICONS}</ul></div>
<div class="quarto-navbar-tools"></div></div></nav></header>
<div id="quarto-content" class="quarto-container page-columns" style="padding-top: 70px">
<div id="quarto-margin-sidebar" class="sidebar margin-sidebar"><nav id="TOC" role="doc-toc" class="toc-active">
<h2 id="toc-title">On this page</h2><ul class="collapse"><li><a href="#sec-one" class="nav-link active">Pages</a></li>
<li><a href="#sec-two" class="nav-link">Tables</a><ul class="collapse"><li><a href="#sec-three"
class="nav-link">More</a></li></ul></li></ul></nav></div>
<main class="content column-page" id="quarto-document-content"><h1 class="title">Methods</h1>
<section id="sec-one" class="level2"><h2 class="anchored"><span
class="header-section-number">1</span> File <code>{LONG}</code></h2>
<p>See <code>{LONG}</code> and <a href="#sec-two">tables</a>.</p>{CODE}
{CALLOUT.format(LONG, f"<p>Read <code>{LONG}</code>.</p>{CODE}")}</section>
<section id="sec-two" class="level2"><h2 class="anchored">Tables</h2>
<details><summary>More</summary></details>
<ul class="nav nav-tabs" role="tablist"><li class="nav-item" role="presentation">
<a class="nav-link" href="#x" role="tab">Query</a></li></ul><table class="caption-top table">{ROWS}</table>
{PUBLISHED}<p id="after">Below it.</p>{FILLER}</section>
<section id="sec-three" class="level2"><h2 class="anchored">More</h2>{FILLER}</section>
<section id="sec-figure" class="level2"><h2 class="anchored">Figure 4</h2>{CLAIMS}</section>
<section id="sec-fold" class="level2"><h2 class="anchored">Folded</h2>
<details class="fold"><summary>7 columns</summary>{PUBLISHED}</details></section></main></div>
<footer class="footer"><div class="nav-footer"><div class="nav-footer-center"><p>Made by ccreport.
<a href="report.pdf">This report as PDF</a></p></div></div></footer></body></html>"""
SHEETS = ("styles.css", "quarto.css")
LINK = '<link rel="stylesheet" href="{}">'
# Of the page, the bar and its menus.
GROUNDS = {
    "light": ["rgb(255, 255, 255)", "rgb(20, 48, 79)", "rgb(244, 246, 248)"],
    "dark": ["rgb(19, 23, 29)", "rgb(12, 22, 34)", "rgb(28, 34, 42)"],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "bootstrap.min.css").write_bytes(files("mkdocs").joinpath(BOOTSTRAP).read_bytes())
    (folder / "theme.css").write_text(THEME, encoding="utf-8")
    for file in (ROOT / "reports/styles.css", STYLES, BLOCKS_SCRIPT):
        (folder / file.name).write_bytes(file.read_bytes())
    for name, sheets, head in (("ours", SHEETS, HEAD), ("theirs", SHEETS[:1], "")):
        text = PAGE.replace("<!-- sheets -->", "".join(map(LINK.format, sheets)) + head)
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    set_policy(folder, make_quarto_policy([], hash_handlers(PAGE)))
    return folder


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    # Bootstrap scrolls slowly where motion is allowed.
    context = browser.new_context(viewport={"width": 1400, "height": HEIGHT}, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def show(page: Page, site: Path, width: int, label: str = "", name: str = "ours") -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.goto(f"{(site / name).as_uri()}.html{label}")


def edges(page: Page, selector: str) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of the first box, in pixels of the window."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


@pytest.mark.parametrize("width", [992, 1100, 1250, 1400, 1509])
def test_the_whole_bar_is_on_the_screen_and_the_title_has_room(site: Path, page: Page, width: int):
    show(page, site, width)
    links = page.locator("#navbarCollapse .nav-link")
    boxes = [links.nth(i).bounding_box() for i in range(links.count())]
    assert len(boxes) == 8
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    left, _, right, _ = edges(page, ".navbar-title")
    assert right - left >= 200
    # Nor is a word of it cut.
    assert page.locator(".navbar-brand").evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize("width", [1400, 1920])
def test_claims_beside_a_figure_are_one_below_the_other(site: Path, page: Page, width: int):
    show(page, site, width, "#sec-figure")
    _, _, chart, _ = edges(page, "#sec-figure .figure-scroll")
    left, top, right, first = edges(page, ".says-holds")
    _, second, _, _ = edges(page, ".says-fails")
    assert chart <= left < right - 200
    assert edges(page, "#sec-figure h2")[3] <= top < first <= second
    # The figure begins beside the first of them, not below them all.
    assert edges(page, "#sec-figure .panel-tabset")[1] <= top + 1


def test_pages_of_any_width_begin_at_one_left_edge(site: Path, page: Page):
    show(page, site, 1400)
    wide = edges(page, "main h1")[0]
    page.locator("main").evaluate("main => main.classList.remove('column-page')")
    assert edges(page, "main h1")[0] == wide


def test_the_contents_of_a_wide_page_are_a_row_of_links_and_its_gallery_is_as_wide_as_the_page(site: Path, page: Page):
    show(page, site, 1400)
    page.locator("main h1").evaluate("(title, toc) => title.after(document.getElementById(toc))", "TOC")
    title, first, second = (
        edges(page, f"#TOC {name}") for name in ("#toc-title", "li >> nth=0 >> a", "li >> nth=1 >> a")
    )
    assert abs(title[1] - first[1]) < 8
    assert abs(first[1] - second[1]) < 8
    assert title[3] - title[1] < 35
    page.locator("#sec-fold").evaluate("section => section.insertAdjacentHTML('beforeend', '<ul class=gallery></ul>')")
    left, _, right, _ = edges(page, "#sec-fold")
    assert edges(page, ".gallery")[2] - edges(page, ".gallery")[0] == right - left


def test_on_a_phone_the_title_is_whole_and_the_bar_low(site: Path, page: Page):
    show(page, site, 390)
    assert page.locator(".navbar-brand").evaluate("box => box.scrollWidth <= box.clientWidth")
    _, top, _, bottom = edges(page, "#quarto-header")
    assert bottom - top <= 110


@pytest.mark.parametrize("width", WIDTHS)
def test_the_contents_are_there_without_the_theme_s_module(site: Path, page: Page, width: int):
    show(page, site, width)
    entries = page.locator("#TOC a")
    assert [entries.nth(i).is_visible() for i in range(3)] == [True] * 3


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("label", ["sec-two", "sec-three"])
def test_a_link_leads_to_a_heading_below_the_bar(site: Path, page: Page, width: int, label: str):
    show(page, site, width, f"#{label}")
    _, _, _, bar = edges(page, "#quarto-header")
    _, top, _, _ = edges(page, f"#{label} h2")
    assert bar <= top < HEIGHT / 2


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_makes_the_page_scroll_sideways(site: Path, page: Page, width: int):
    show(page, site, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('main :is(table.table, h2, .callout)')].filter(box => "
    assert page.evaluate(f"{wide} box.getBoundingClientRect().right > innerWidth).length") == 0


def test_letters_of_tables_on_a_phone_are_as_small_as_under_the_embedded_renderer(site: Path, page: Page):
    show(page, site, 390)
    size = page.locator("#sec-two .table-scroll > table").evaluate(
        "table => parseFloat(getComputedStyle(table).fontSize)"
    )
    assert 13 <= size <= 14


def test_there_is_space_below_a_table_that_scrolls(site: Path, page: Page):
    show(page, site, 390)
    assert edges(page, "#after")[1] - edges(page, ".table-scroll")[3] >= 12


def test_a_link_to_a_folded_section_opens_it(site: Path, page: Page):
    table = page.locator("#sec-fold table")
    show(page, site, 1400, "#sec-fold")
    assert table.is_visible()
    show(page, site, 1400)
    assert not table.is_visible()
    # Now from within the page.
    show(page, site, 1400, "#sec-fold")
    assert table.is_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_boxes_that_scroll_are_stops_of_the_tab_key_and_no_others(site: Path, page: Page, width: int):
    show(page, site, width, "#sec-fold")
    boxes = "[...document.querySelectorAll('main :is(.table-scroll, div.sourceCode, table.table)')]"
    wait_until(page, f"{boxes}.every(box => box.hasAttribute('tabindex'))")
    stops = page.evaluate(f"{boxes}.map(box => [box.scrollWidth > box.clientWidth, box.tabIndex === 0])")
    assert [scrolls for scrolls, _ in stops] == [is_stop for _, is_stop in stops]
    # The first is code, too long for any of these windows.
    assert stops[0] == [True, True]
    assert page.locator("main pre[tabindex]").count() == 0


def test_no_browser_asks_for_an_icon_that_is_not_there(site: Path, page: Page):
    show(page, site, 1400)
    assert page.locator("head link[rel=icon]").get_attribute("href") == "data:,"


def test_the_icons_of_the_bar_need_no_font(site: Path, page: Page):
    show(page, site, 1400)
    for icon in ("file-earmark-pdf", "search"):
        drawn = page.locator(f".bi-{icon}").evaluate(
            "icon => (({maskImage, width}) => [maskImage, width])(getComputedStyle(icon, '::before'))"
        )
        assert drawn[0].startswith('url("data:image/svg+xml,')
        assert float(drawn[1].removesuffix("px")) > 15


def test_without_our_sheet_the_page_has_these_faults(site: Path, page: Page):
    show(page, site, 390, name="theirs")
    assert page.evaluate("document.documentElement.scrollWidth") > 390
    assert not page.locator("#TOC a").first.is_visible()
    show(page, site, 390, "#sec-three", "theirs")
    assert edges(page, "#sec-three h2")[1] < edges(page, "#quarto-header")[3]


def test_the_button_of_the_bar_works_under_the_policy_and_no_other_handler(page: Page, tmp_path: Path):
    text = PAGE.replace("</main>", '<img src="data:," onerror="window.pwned = 1"></main>')
    (tmp_path / "policy.html").write_text(text, encoding="utf-8")
    set_policy(tmp_path, make_quarto_policy([], hash_handlers(PAGE)))
    page.add_init_script(
        "window.quartoToggleHeadroom = () => { window.toggled = true };"
        "addEventListener('securitypolicyviolation', event => (window.refused ??= []).push(event.effectiveDirective))"
    )
    show(page, tmp_path, 390, name="policy")
    page.get_by_role("button", name="Toggle navigation").click()
    assert page.evaluate("window.toggled") is True
    wait_until(page, "(window.refused ?? []).includes('script-src-attr')")
    assert page.evaluate("window.pwned ?? null") is None
    assert page.evaluate("window.refused.filter(directive => directive === 'script-src-attr').length") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_readable_in_both_themes(site: Path, page: Page, tmp_path: Path, width: int, scheme: str):
    page.emulate_media(color_scheme=scheme)
    show(page, site, width)
    parts = "['body', '.navbar', '.dropdown-menu'].map(part => document.querySelector(part))"
    assert page.evaluate(f"{parts}.map(part => getComputedStyle(part).backgroundColor)") == GROUNDS[scheme]
    found = Axe().run(page, options={"runOnly": ["color-contrast"]})
    nodes = [node for violation in found.response["violations"] for node in violation["nodes"]]
    assert [(node["html"][:80], node["any"][0]["message"]) for node in nodes] == []
    folder = Path(os.environ.get("CCREPORT_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"quarto-theme-{width}-{scheme}.png")
