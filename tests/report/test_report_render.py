import base64
import hashlib
import os
import re
import shutil
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from archives import make_table, write_yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_inputs import NASTY, write_inputs, write_site_inputs

from ccreport.__main__ import COMMANDS
from ccreport.core.declarations import load_yaml
from ccreport.report.archive_fragments.collection import render_collection
from ccreport.report.archive_fragments.suspects import render_suspects
from ccreport.report.fragments.render import render_fragments
from ccreport.report.markup.blocks import render_callout, render_float, render_table, render_tabs, text, verbatim
from ccreport.report.markup.escape import escape_text, show_text
from ccreport.report.site.links import PageError, check_links, read_links
from ccreport.report.site.quarto import HEAD
from ccreport.report.site.render import render_report
from ccreport.report.site.sections import SHARED_PAGES
from ccreport.report.site.without_quarto import render_embedded
from ccreport.trace.uses import SCHEMA as USES

SOURCES = Path(__file__).parents[2] / "reports"
# The menus of the navbar and their pages.
MENUS = {
    "Results": ("index", "tables", "figures", "conditions"),
    "Explore": ("explorer", "captures"),
    "Audit": ("ledger", "collection", "provenance", "changes", "methods", "dictionary"),
    "Docs": (
        "docs",
        "tutorial",
        "own_archive",
        "evaluations",
        "collect",
        "elsewhere",
        "cluster",
        "publish",
        "configuration",
        "commands",
        "performance",
    ),
}
PAGES = tuple(page for pages in MENUS.values() for page in pages)
# Pages that the navbar does not list: the field in the header and numbers in tables lead to them.
OTHERS = ("cells_table_of_ours", "figures_throughput", "ledger_files", "search")
FIGURE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
# Keys and kinds of values of _quarto.yml, from Quarto's own schemas (quarto-cli: src/resources/schema).
QUARTO_KEYS = {
    "project.type": str,
    "search": bool,
    "project.output-dir": str,
    "project.render": list,
    "project.resources": list,
    "lang": str,
    "engine": str,
    "website.title": str,
    "website.search": bool,
    "website.navbar.left": list,
    "website.navbar.right": list,
    "website.page-footer": str,
    "format.html.theme": str,
    "format.html.css": str,
    "format.html.grid.body-width": str,
    "format.html.grid.margin-width": str,
    "format.html.toc": bool,
    "format.html.toc-depth": int,
    "format.html.toc-title": str,
    "format.html.html-math-method": str,
    "format.html.html-table-processing": str,
}


class Page(HTMLParser):
    """What of a page is seen: all text, that below the heading of the page, that of cells; and the tags."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.body = ""
        self.cells: list[str] = []
        self.spans: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")
        if tag == "span":
            self.spans.append("")

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "script" not in self.open and "style" not in self.open:
            self.text += data
            self.body += data if "main" in self.open and not {"h1", "nav"} & {*self.open} else ""
            if "td" in self.open:
                self.cells[-1] += data
            if "span" in self.open:
                self.spans[-1] += data

    @property
    def lines(self) -> list[str]:
        return [line.strip(" ") for line in self.body.split("\n") if line.strip()]

    def find(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [found for name, found in self.tags if name == tag and wanted.items() <= found.items()]


def make_project(folder: Path, body: str, **files: str) -> Path:
    """Return a project with one page `index.qmd` of this body, and other files by name."""
    project = folder / "project"
    shutil.rmtree(project, ignore_errors=True)
    shutil.rmtree(folder / "site", ignore_errors=True)
    (project / "figures").mkdir(parents=True)
    shutil.copyfile(SOURCES / "styles.css", project / "styles.css")
    site = load_yaml(SOURCES / "_quarto.yml")
    site["website"]["navbar"] = {"left": [{"text": "Summary", "href": "index.qmd"}]}
    site["project"]["resources"] = ["figures/*"]
    write_yaml(project / "_quarto.yml", site)
    (project / "_variables.yml").write_text("name: plain\ndeep:\n  inner:\n    number: '3&#46;5'\n", encoding="utf-8")
    (project / "index.qmd").write_text(f"---\ntitle: A page\n---\n\n{body}\n", encoding="utf-8")
    (project / "figures" / "one.svg").write_text(FIGURE, encoding="utf-8")
    for name, content in files.items():
        (project / f"{name}.md").write_text(content, encoding="utf-8")
    return project


def render(folder: Path, body: str, **files: str) -> Page:
    render_embedded(make_project(folder, body, **files), folder / "site")
    return Page((folder / "site" / "index.html").read_text(encoding="utf-8"))


def render_fault(folder: Path, body: str, **files: str) -> str:
    with pytest.raises(PageError) as caught:
        render(folder, body, **files)
    return str(caught.value)


def render_whole(renderer: str, fragments: Path, output: Path) -> None:
    folder = fragments.parent
    render_site(renderer, fragments, output, explorer=[folder / "explorer"])


def render_site(
    renderer: str, fragments: Path, output: Path, explorer: list[Path], sections: list[Path] | None = None
) -> None:
    folder = fragments.parent
    inputs = {name: folder / name for name in ("cells", "performance", "reference")}
    files = [folder / name for name in ("report.pdf", "supplement.pdf", "reproduction.csv", "claims.csv")]
    render_report(
        renderer,
        SOURCES,
        fragments,
        folder / "summaries",
        explorer=explorer,
        # The shared page of these is the report's alone, as the explorer.
        changes=[folder / "changes.md"] if explorer else [],
        files=files,
        sections=sections or [],
        kept=output.with_name("converted"),
        output=output,
        figures=[folder / "figures", folder / "first_page"],
        **inputs,
    )


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all that a report is rendered from, which takes seconds to make."""
    folder = tmp_path_factory.mktemp("inputs")
    render_fragments(**write_inputs(folder), fragments=folder / "fragments")
    write_site_inputs(folder)
    return folder


@pytest.fixture
def fragments(tmp_path: Path, inputs: Path) -> Path:
    """Return a copy of the fragments for one test, with the other inputs beside them."""
    shutil.copytree(inputs, tmp_path / "inputs")
    return tmp_path / "inputs" / "fragments"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, inputs: Path) -> dict[str, Page]:
    folder = tmp_path_factory.mktemp("report")
    render_whole("embedded", inputs / "fragments", folder / "report")
    return {page.stem: Page(page.read_text(encoding="utf-8")) for page in (folder / "report").glob("*.html")}


# The pages as they are


def test_every_page_is_made(report: dict[str, Page]):
    # No two conditions are compared here, so there is no map of them.
    assert sorted(report) == sorted({*PAGES, *OTHERS} - {"conditions"})
    for name, page in report.items():
        assert len(page.find("h1")) == 1
        assert page.find("html", lang="en")
        assert page.find("a", class_="skip", href="#content")
        assert [link["href"] for link in page.find("a", aria_current="page")] == (
            [f"{name}.html"] if name in PAGES else []
        )
        assert bool(page.find("form", action="search.html", aria_label="This report")) == (name != "search")
        assert page.find("a", href="report.pdf")


def test_pages_hold_no_script_style_or_handler_of_their_own(report: dict[str, Page]):
    for page in report.values():
        assert all(script["src"] for script in page.find("script"))
        assert not page.find("style")
        assert not [name for _, given in page.tags for name in given if name.startswith("on")]
        policy = page.find("meta", http_equiv="Content-Security-Policy")[0]["content"] or ""
        assert "script-src 'self';" in policy


def test_names_of_an_archive_show_literally_and_do_nothing(report: dict[str, Page]):
    listed = report["ledger"].cells
    for name in NASTY:
        assert show_text(name) in listed
        assert show_text(f"cut off: {name}") in listed
    # Two scripts are the template's own; the search, the explorer and pages of long tables load more.
    with_scripts = {name for name, page in report.items() if len(page.find("script")) > 2}
    assert with_scripts == {"search", "explorer", "tables", "captures"}
    assert not report["ledger"].find("b")
    assert "root:x:" not in report["ledger"].text


def test_titles_and_captions_show_literally(report: dict[str, Page]):
    assert "Table II: *M*, $x$ & {{< y >}}" in report["tables"].text
    assert 'Figure\xa01: to "host" <b> {{< x >}} at 40 ms' in report["figures_throughput"].text
    assert report["figures_throughput"].find("img")[0]["alt"] == 'Lines of "cubic" & bbr, {#x}'
    assert "BBR & CUBIC" in report["index"].text


def test_a_figure_is_below_its_title_and_leads_to_the_picture_that_has_it(report: dict[str, Page]):
    page = report["figures_throughput"]
    assert page.find("img")[0]["src"] == "figures/plot_one/untitled.svg"
    assert "figures/plot_one/figure.svg" in [link.get("href") for link in page.find("a")]


def test_the_assumptions_and_the_dictionary_are_there(report: dict[str, Page]):
    assert "raw_file.py" in report["methods"].text
    assert "retransmit_ratio" in report["dictionary"].text
    assert "It has all columns of algorithm_runs, and these:" in " ".join(report["dictionary"].text.split())
    assert {"table_3_paths", "sender_speed, path_class"} <= set(report["evaluations"].cells)


def test_the_reference_has_every_key_and_command(report: dict[str, Page]):
    schema = load_yaml(SOURCES.parent / "schemas/config.schema.yaml")
    for key in (*set(schema["properties"]) - {"release", "report", "edge", "pathvars"}, "release.creators[].name"):
        assert key in report["configuration"].cells, key
    sections = {tag.get("id") for tag in report["commands"].find("section")}
    assert {f"command-{name.replace('_', '-')}" for name in COMMANDS} <= sections
    # batch_mib of config.yaml; --layout of `adopt`
    assert "integer: 1 to 16" in report["configuration"].cells
    assert {"--layout", "layout.yaml", "--dry-run, --no-dry-run"} <= set(report["commands"].cells)


def test_a_menu_works_without_script_and_says_where_one_is(report: dict[str, Page]):
    for name, current in (("index", "Results"), ("methods", "Audit"), ("tutorial", "Docs")):
        menus = report[name].find("details", class_="menu")
        assert len(menus) == len(MENUS)
        # Of those with one name a browser opens one at a time.
        assert all(menu["name"] == "pages" and "open" not in menu for menu in menus)
        summaries = [tag for tag in report[name].find("summary") if tag.get("class") in (None, "current")]
        marked = [menu for menu, tag in zip(MENUS, summaries, strict=False) if tag.get("class") == "current"]
        assert marked == [current]


def test_the_pdf_is_an_icon_with_a_name_and_the_title_leads_to_the_first_page(report: dict[str, Page]):
    for page in report.values():
        (icon,) = page.find("a", class_="icon")
        assert (icon["href"], icon["aria-label"]) == ("report.pdf", "This report as PDF")
        assert page.find("a", href="index.html")


@pytest.mark.slow
def test_without_a_former_release_no_menu_leads_to_its_changes(tmp_path: Path, fragments: Path):
    (fragments.parent / "changes.md").write_text("", encoding="utf-8")
    render_whole("embedded", fragments, tmp_path / "report")
    index = Page((tmp_path / "report/index.html").read_text(encoding="utf-8"))
    assert not index.find("a", href="changes.html")
    changes = Page((tmp_path / "report/changes.html").read_text(encoding="utf-8"))
    assert "names no release that was published before" in changes.body


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(tmp_path: Path, fragments: Path):
    (fragments.parent / "summaries" / "stale.csv").write_text("not declared", encoding="utf-8")
    sites = []
    for name in ("one", "two"):
        render_whole("embedded", fragments, tmp_path / name)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        sites.append({str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files})
    assert sites[0] == sites[1]
    # Those of the performance page are tested where they are made.
    others = [name for name in sites[0] if not name.startswith("figures/performance_")]
    others = [name for name in others if name.startswith(("figures/", "tables/")) or name.endswith((".js", ".pdf"))]
    assert others == [
        "blocks.js",
        "explorer/charts.js",
        "explorer/explorer.js",
        "explorer/list.js",
        "explorer/query.js",
        "explorer/runs/run0.js",
        "explorer/runs.js",
        "explorer/save.js",
        "explorer/scatter.js",
        "explorer/sorted.js",
        "explorer/table.js",
        "figures/plot_one/figure.svg",
        "figures/plot_one/untitled.svg",
        "lunr.js",
        "report.pdf",
        "search.js",
        "search_documents.js",
        "site.js",
        "supplement.pdf",
        "tables/table_2_testbed.csv",
        "tables/table_2_testbed.tex",
        "tables/table_of_ours.csv",
        "tables/table_of_ours.tex",
        "tables.js",
    ]
    assert not list(tmp_path.glob("*.work"))


@given(st.lists(st.text(), min_size=1, max_size=60))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_out_as_it_went_in(tmp_path: Path, names: list[str]):
    table = render_table(("Text", "Code"), [[text(name), verbatim(name)] for name in names], title="Names")
    paragraphs = "\n\n".join(f"[{escape_text(name)}]{{.shown}}" for name in names)
    page = render(tmp_path, f"{render_float('tbl-x', table, 'Names')}\n\n{paragraphs}")
    shown = [show_text(name) for name in names]
    assert page.cells == [cell for name in shown for cell in (name, name)]
    assert page.spans == shown


# Each feature of Quarto that the pages use


def test_includes_and_variables(tmp_path: Path):
    # As in Quarto, the path of an include inside an include counts from the page.
    page = render(
        tmp_path,
        "{{< include outer.md >}}\nafter {{< var deep.inner.number >}} and {{< var name >}}",
        outer="before\n\n{{< include inner.md >}}\n",
        inner="*within*",
    )
    assert page.lines == ["before", "within", "after 3.5 and plain"]
    assert page.find("em")


def test_tables_and_figures_are_referred_to_by_their_numbers(tmp_path: Path):
    table = render_float("tbl-b", render_table(("h",), [[text("x")]], title="t"), "Second *table*.", "2")
    other = table.replace("tbl-b number=2", "tbl-a number=1")
    page = render(
        tmp_path,
        f"See @tbl-b, [@fig-a; @tbl-a] and @sec-two.\n\n{other}\n{table}\n\n"
        '![First figure.](figures/one.svg){#fig-a fig-alt="A square." number=1}\n\n'
        '::: {#fig-b}\n\n![](figures/one.svg){fig-alt="A square."}\n\nSecond figure.\n\n:::\n\n'
        "## One\n\n### Below\n\n## Two {#sec-two}\n",
    )
    assert "See Table\xa02, Figure\xa01, Table\xa01 and Section\xa02." in page.text
    assert "Table\xa02: Second table." in page.text
    assert "Figure\xa01: First figure." in page.text
    # What is given no number has none, as each page would count from 1.
    assert "\nSecond figure." in page.text
    assert page.find("a", href="#tbl-b", class_="quarto-xref")
    assert [image["alt"] for image in page.find("img")] == ["A square.", "A square."]
    captions = re.findall(r"<(figcaption|table|img)", (tmp_path / "site" / "index.html").read_text(encoding="utf-8"))
    # A table's caption is above it, a figure's below.
    assert captions == ["figcaption", "table"] * 2 + ["img", "figcaption"] * 2


def test_sections_are_numbered_where_the_page_says_so(tmp_path: Path):
    project = make_project(tmp_path, "## One\n\n### In\n\n## Two {#sec-two}\n\nSee @sec-two.\n")
    page = project / "index.qmd"
    page.write_text(
        page.read_text(encoding="utf-8").replace("title:", "number-sections: true\ntitle:"), encoding="utf-8"
    )
    render_embedded(project, tmp_path / "site")
    shown = Page((tmp_path / "site" / "index.html").read_text(encoding="utf-8"))
    assert shown.lines == ["1 One", "1.1 In", "2 Two", "See Section\xa02."]


@pytest.mark.parametrize("kind", ["note", "tip", "warning", "important", "caution"])
def test_callouts(tmp_path: Path, kind: str):
    page = render(
        tmp_path,
        f"::: {{.callout-{kind}}}\n\nplain\n\n:::\n\n"
        f'::: {{.callout-{kind} title="A `b`"}}\n\ntitled\n\n:::\n\n'
        f"{render_callout(kind, 'By heading', 'body')}",
    )
    assert page.lines == [
        kind.capitalize(),
        "plain",
        "A b",
        "titled",
        "By heading",
        "body",
    ]
    assert len(page.find("div", class_=f"callout callout-{kind}")) == 3
    # A callout's title is not a section: the contents do not list it.
    assert not page.find("a", href="#by-heading")


def test_tabsets(tmp_path: Path):
    page = render(tmp_path, render_tabs([("First", "::: {.callout-note}\n\none\n\n:::\n"), ("Second", "two\n")]))
    tabs, panels = page.find("button", role="tab"), page.find("div", role="tabpanel")
    assert [tab["aria-controls"] for tab in tabs] == [panel["id"] for panel in panels] == ["tabset-1-1", "tabset-1-2"]
    assert [panel["aria-labelledby"] for panel in panels] == [tab["id"] for tab in tabs]
    # Without script the list of tabs stays away and all panels show.
    assert page.find("div", role="tablist")[0].keys() == {"role", "hidden"}


def test_contents_links_and_formulas(tmp_path: Path):
    page = render(
        tmp_path,
        "## One $x^2$ {#one}\n\n[here](index.qmd#one) [there](https://example.org/a.qmd)\n\n$$ \\frac{1}{n} $$\n",
    )
    assert page.find("nav", id="TOC")
    links = [link["href"] for link in page.find("a")]
    # The last leads back to the top of a long page.
    assert links[-4:] == ["#one", "index.html#one", "https://example.org/a.qmd", "#content"]
    assert page.find("math", display="block")
    assert not page.find("script", src="x")


# What is wrong is said, with file and line (the body starts at line 5)


def test_an_undefined_variable(tmp_path: Path):
    assert render_fault(tmp_path, "one\n{{< var deep.none >}}") == "index.qmd:6: no such variable: deep.none"
    assert render_fault(tmp_path, "{{< var deep >}}") == "index.qmd:5: no such variable: deep"


def test_a_missing_or_circular_include(tmp_path: Path):
    assert render_fault(tmp_path, "{{< include gone.md >}}") == "index.qmd:5: no such file to include: gone.md"
    fault = render_fault(tmp_path, "{{< include a.md >}}", a="\n{{< include a.md >}}")
    assert fault == "a.md:2: this includes itself: a.md"


def test_a_shortcode_that_is_not_supported(tmp_path: Path):
    assert render_fault(tmp_path, "x {{< meta title >}}").startswith("index.qmd:5: no such shortcode: {{< meta")


def test_a_dangling_reference_in_an_include(tmp_path: Path):
    fault = render_fault(tmp_path, "{{< include a.md >}}\n\n@fig-gone", a="one\n\nSee @tbl-gone.")
    assert fault.startswith("a.md:3: ")
    assert "dangling: tbl-gone\ndangling: fig-gone" in fault


def test_a_label_that_is_given_twice(tmp_path: Path):
    figure = '![c](figures/one.svg){#fig-a fig-alt="x"}\n\n'
    assert "twice: fig-a" in render_fault(tmp_path, figure * 2)


def test_a_float_without_caption_and_an_image_without_alternative_text(tmp_path: Path):
    assert "no caption: tbl-a" in render_fault(tmp_path, "::: {#tbl-a}\n\nx\n\n:::\n")
    fault = render_fault(tmp_path, "\n![c](figures/one.svg){#fig-a}")
    assert fault.startswith("index.qmd:6: ")
    assert "no fig-alt: figures/one.svg" in fault


def test_a_div_that_is_left_open(tmp_path: Path):
    assert render_fault(tmp_path, "one\n\n::: {.callout-note}\n\ntwo").startswith("index.qmd:7: ")


def test_a_float_goes_by_the_number_that_it_is_given(tmp_path: Path):
    numbered = '![One.](figures/one.svg){#fig-a fig-alt="x" number=S3}'
    table = render_float("tbl-b", render_table(("h",), [[text("x")]], title="t"), "Second.", "II")
    page = render(tmp_path, f"{numbered}\n\n{table}\n\nSee @fig-a and @tbl-b.")
    shown = " ".join(page.text.split())
    assert "Figure S3: One." in shown
    assert "Table II: Second." in shown
    assert "See Figure S3 and Table II." in shown
    assert page.find("img")[0].get("number") is None


def test_a_figure_stands_in_a_box_and_waits_where_its_size_is_known(tmp_path: Path):
    page = render(
        tmp_path,
        '![One.](figures/one.svg){#fig-a fig-alt="x" width=9 height=9 number=1}\n\n'
        '![Two "lines": all. More.](figures/one.svg){#fig-b fig-alt="x"}',
    )
    assert [image.get("loading") for image in page.find("img")] == ["lazy", None]
    boxes = page.find("div", class_="figure-scroll", role="region", tabindex="0")
    assert [box["aria-label"] for box in boxes] == ["Figure 1", "Figure: Two “lines”"]
    # A reader whose screen is small opens the drawing itself.
    assert [link["href"] for link in page.find("a") if link["href"].endswith(".svg")] == ["figures/one.svg"] * 2


def test_a_page_says_whether_it_has_contents(tmp_path: Path):
    project = make_project(tmp_path, "## One\n")
    page = project / "index.qmd"
    source = page.read_text(encoding="utf-8")
    page.write_text(source.replace("title:", "toc: false\ntitle:"), encoding="utf-8")
    render_embedded(project, tmp_path / "site")
    assert 'id="TOC"' not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_a_percentage_is_on_one_line_and_code_is_as_it_is(tmp_path: Path):
    body = render(tmp_path, "Within (±5 % in 14), 0.1 % loss, 40 ms. `7 % 2`").body
    assert "Within (±5\N{NO-BREAK SPACE}% in 14), 0.1\N{NO-BREAK SPACE}% loss, 40 ms. 7 % 2" in body


def test_a_link_to_a_state_of_the_explorer_is_no_link_to_a_label(tmp_path: Path):
    page = render(tmp_path, "[x](index.qmd#run=a&by=flow)")
    assert page.find("a", href="index.html#run=a&by=flow")


def test_the_pages_of_an_archive_with_an_interrupted_attempt_and_no_suspect_lead_to_each_other(tmp_path: Path):
    attempt = {"session": "2026-11-29:08:16", "job": "cubic_p1", "suffix": "h:1:10.0ms", "run_id": "r0"}
    ends = [attempt | {"line_number": n, "attempt_outcome": end} for n, end in ((1, "interrupted"), (2, "completed"))]
    attempts, runs = make_table("attempts", ends), make_table("runs", [{"run_id": "r0"}])
    sessions, calibrations, suspects = (make_table(name, []) for name in ("sessions", "calibrations", "suspects"))
    fragments = {
        "collection": render_collection(sessions, calibrations, attempts, runs),
        "suspects": render_suspects(suspects, runs, attempts, pl.DataFrame(schema=USES)),
    }
    project = make_project(tmp_path, "Nothing.", **fragments)
    for page, fragment in (("collection", "collection"), ("ledger", "suspects")):
        source = (SOURCES / f"{page}.qmd").read_text(encoding="utf-8")
        headings = [line for line in source.splitlines() if line.startswith("## ")]
        body = [f"---\ntitle: {page}\n---", *headings, f"{{{{< include {fragment}.md >}}}}"]
        (project / f"{page}.qmd").write_text("\n\n".join(body) + "\n", encoding="utf-8")
    render_embedded(project, tmp_path / "site")
    rendered = (tmp_path / "site/collection.html").read_text(encoding="utf-8")
    assert 'href="ledger.html#suspects"' in rendered
    assert "No run is suspect." in (tmp_path / "site/ledger.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["gone.html", "index.qmd#gone", "#gone", "figures/gone.svg"])
def test_a_link_that_leads_nowhere(tmp_path: Path, target: str):
    assert "this link leads nowhere" in render_fault(tmp_path, f"[x]({target})")


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//cdn.example/x.css">',
        "<style>@import url('https://fonts.example/css?family=Lato');</style>",
    ],
)
def test_a_page_that_fetches_from_elsewhere(tmp_path: Path, tag: str):
    with pytest.raises(PageError, match=r"index\.html:2: fetched from elsewhere"):
        check_links(tmp_path, {"index.html": read_links(f"<p>x</p>\n{tag}")})


# Which renderer


def make_fake_quarto(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "bin" / "quarto"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")


@pytest.mark.slow
def test_auto_takes_the_embedded_renderer_and_says_so(
    tmp_path: Path, fragments: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    # Nor where there is a Quarto.
    make_fake_quarto(tmp_path, "exit 1", monkeypatch)
    render_whole("auto", fragments, tmp_path / "report")
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "with the embedded renderer and pandoc" in message
    assert "embedded renderer" in (tmp_path / "report" / "provenance.html").read_text(encoding="utf-8")


def test_quarto_that_is_not_there_is_advised(tmp_path: Path, fragments: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PageError, match=r"set report\.renderer to `auto` or `embedded`"):
        render_whole("quarto", fragments, tmp_path / "report")
    with pytest.raises(PageError, match="no such renderer: latex"):
        render_whole("latex", fragments, tmp_path / "report")


# What it was called with is left beside it; a page is its source below a head.
FAKE = r"""[ "$1" = --version ] && echo 1.9.38 && exit
called=$(mktemp -d "${0%/*}/called.XXXXXX"); env | sort >"$called/env"; echo "$@" >"$called/arguments"; cp ./* "$called"
mkdir -p _site/site_libs && echo 'own()' >_site/site_libs/nav.js
mkdir -p _site/site_libs/bootstrap && echo >_site/site_libs/bootstrap/bootstrap-icons.css
head="<html><head><meta charset='utf-8'>@HEAD@</head>"
icons='<link href="site_libs/bootstrap/bootstrap-icons.css" rel="stylesheet">'
for page in *.qmd; do { echo "$head$icons"; cat "$page"; } >"_site/${page%.qmd}.html"; done
"""


def list_calls(folder: Path) -> list[Path]:
    """Return the folders that the fake Quarto left, one for each call."""
    return sorted((folder / "bin").glob("called.*"))


def read_settings(call: Path) -> dict[str, Any]:
    settings: dict[str, Any] = load_yaml(call / "_quarto.yml")
    return settings


def test_quarto_is_run_in_an_environment_of_its_own(tmp_path: Path, fragments: Path, monkeypatch: pytest.MonkeyPatch):
    make_fake_quarto(tmp_path, FAKE, monkeypatch)
    monkeypatch.setenv("QUARTO_PROFILE", "other")
    monkeypatch.setenv("QUARTO_SHARE_PATH", "/conda/share/quarto")
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.chdir(tmp_path)
    render_whole("quarto", fragments, Path("report"))
    # Two processors share the pages.
    calls = list_calls(tmp_path)
    pages = [sorted(path.stem for path in call.glob("*.qmd")) for call in calls]
    assert len(pages) == 2
    assert {*pages[0], *pages[1]} == {"without-archive", *(page.stem for page in Path("report").glob("*.html"))}
    assert not {*pages[0]} & {*pages[1]}
    homes = set()
    for call in calls:
        made = {path.stem: path.read_text(encoding="utf-8") for path in call.iterdir()}
        assert made["arguments"] == "render .\n"
        assert "SECRET" not in made["env"]
        assert "QUARTO_PROFILE" not in made["env"]
        assert "QUARTO_SHARE_PATH=/conda/share/quarto" in made["env"]
        homes |= {line for line in made["env"].splitlines() if line.startswith("HOME=")}
        settings = read_settings(call)
        assert settings["website"]["title"] == "BBR & CUBIC"
        assert settings["format"]["html"]["css"] == ["styles.css", "quarto.css"]
        assert [one["path"] for one in settings["format"]["html"]["filters"]] == ["floats.lua", "percentages.lua"]
        assert settings["format"]["html"]["include-in-header"] == {"text": HEAD}
        assert sorted(settings["project"]["render"]) == sorted(f"{path.stem}.qmd" for path in call.glob("*.qmd"))
    assert homes == {f"HOME={tmp_path}/report.work/home-{number}" for number in (0, 1)}
    assert (tmp_path / "report/site_libs/nav.js").exists()
    # A font of which the style sheet has what pages show.
    assert not [*(tmp_path / "report/site_libs").rglob("*icons*")]
    assert "bootstrap-icons" not in (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert (tmp_path / "report/quarto.css").exists()
    assert (tmp_path / "report/blocks.js").exists()


def test_quarto_renders_only_pages_that_changed(tmp_path: Path, fragments: Path, monkeypatch: pytest.MonkeyPatch):
    make_fake_quarto(tmp_path, FAKE, monkeypatch)
    render_whole("quarto", fragments, tmp_path / "report")
    first = {path.name: path.read_bytes() for path in (tmp_path / "report").glob("*.html")}
    for call in list_calls(tmp_path):
        shutil.rmtree(call)
    render_whole("quarto", fragments, tmp_path / "report")
    assert list_calls(tmp_path) == []
    assert {path.name: path.read_bytes() for path in (tmp_path / "report").glob("*.html")} == first
    with (fragments / "ledger.md").open("a", encoding="utf-8") as ledger:
        ledger.write("\nOne more.\n")
    render_whole("quarto", fragments, tmp_path / "report")
    (call,) = list_calls(tmp_path)
    assert [path.name for path in call.glob("*.qmd")] == ["ledger.qmd"]
    assert "One more." in (tmp_path / "report/ledger.html").read_text(encoding="utf-8")
    assert (tmp_path / "report/site_libs/nav.js").exists()


def test_finished_html_does_not_pass_through_quarto(tmp_path: Path, fragments: Path, monkeypatch: pytest.MonkeyPatch):
    make_fake_quarto(tmp_path, FAKE, monkeypatch)
    block = "<table id='own'><tr><td>finished</td></tr></table>"
    with (fragments / "ledger.md").open("a", encoding="utf-8") as ledger:
        ledger.write(f"\n```{{=html}}\n{block}\n```\n\n[a](methods.qmd#x) [b](https://elsewhere.invalid/methods.qmd)\n")
    render_whole("quarto", fragments, tmp_path / "report")
    assert not any(block in page.read_text(encoding="utf-8") for page in (tmp_path / "bin").glob("called.*/*.qmd"))
    page = (tmp_path / "report/ledger.html").read_text(encoding="utf-8")
    assert page.count(block) == 1
    # A link to a page that another Quarto renders.
    assert "[a](methods.html#x) [b](https://elsewhere.invalid/methods.qmd)" in page
    assert not any(".qmd" in yaml.safe_dump(read_settings(call)["website"]) for call in list_calls(tmp_path))


def test_what_is_for_the_pdf_alone_does_not_pass_through_quarto(
    tmp_path: Path, fragments: Path, monkeypatch: pytest.MonkeyPatch
):
    make_fake_quarto(tmp_path, FAKE, monkeypatch)
    printed = '::: {.content-visible when-format="typst"}\n\n{{< include fragments/print.md >}}\n\n:::\n'
    (fragments / "print.md").write_text("::: {.note}\n\nIn print.\n\n:::\n\nIn print too.\n", encoding="utf-8")
    with (fragments / "ledger.md").open("a", encoding="utf-8") as ledger:
        ledger.write(f"\nBefore it.\n\n{printed}\nBehind it.\n")
    render_whole("quarto", fragments, tmp_path / "report")
    page = (tmp_path / "report/ledger.html").read_text(encoding="utf-8")
    assert "In print" not in page
    assert re.search(r"Before it\.\s+Behind it\.", page)


def test_quartos_pages_allow_only_the_scripts_that_a_page_without_an_archive_has(
    tmp_path: Path, fragments: Path, monkeypatch: pytest.MonkeyPatch
):
    script = FAKE.replace("@HEAD@", "<script>own()</script>") + "echo '<script>alert(1)</script>' >> _site/index.html"
    make_fake_quarto(tmp_path, script, monkeypatch)
    render_whole("quarto", fragments, tmp_path / "report")
    assert not (tmp_path / "report" / "without-archive.html").exists()
    index = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    # printf 'own()' | openssl dgst -sha256 -binary | base64
    own = base64.b64encode(hashlib.sha256(b"own()").digest()).decode()
    assert f"script-src 'self' 'sha256-{own}';" in index
    assert index.count("sha256-") == 1
    assert index.index("charset") < index.index("Content-Security-Policy") < index.index("<script>")


def test_quartos_failure_shows_its_message(tmp_path: Path, fragments: Path, monkeypatch: pytest.MonkeyPatch):
    script = '[ "$1" = --version ] && echo 1.9.38 && exit\necho "ERROR: bad YAML in index.qmd" >&2; exit 1'
    make_fake_quarto(tmp_path, script, monkeypatch)
    with pytest.raises(PageError, match=r"`quarto render \.` failed:\nERROR: bad YAML in index\.qmd"):
        render_whole("quarto", fragments, tmp_path / "report")


def test_a_quarto_that_is_too_old_is_refused(tmp_path: Path, fragments: Path, monkeypatch: pytest.MonkeyPatch):
    make_fake_quarto(tmp_path, "echo 1.3.450", monkeypatch)
    with pytest.raises(PageError, match=r"Quarto 1\.3\.450 cannot be used; install 1\.4 or newer"):
        render_whole("quarto", fragments, tmp_path / "report")


@pytest.mark.skipif(shutil.which("quarto") is None, reason="Quarto is not installed; its pages cannot be checked here")
def test_real_quarto_renders_the_same_pages(tmp_path: Path, fragments: Path, report: dict[str, Page]):
    render_whole("quarto", fragments, tmp_path / "report")
    captioned = re.compile(r"(?:Figure|Table)\xa0\w+:")
    for name, embedded in report.items():
        source = (tmp_path / "report" / f"{name}.html").read_text(encoding="utf-8")
        page = Page(source)
        assert captioned.findall(page.text) == captioned.findall(embedded.text)
        assert page.cells == embedded.cells
        links = {(link["href"] or "").removeprefix("./") for link in page.find("a") if "href" in link}
        # They lead to what ours do, but for the one that skips the menus.
        assert {link["href"] for link in embedded.find("a")} - links == {"#content"}
        assert "?var:" not in source
        assert "?@" not in source
        assert not re.search(r"(?:src|<link[^>]*href)=\"(?:https?:)?//", source)
        # What every page of ours has in its head, below the policy.
        assert source.index("Content-Security-Policy") < source.index(HEAD) < source.index("</head>")
    for style in (tmp_path / "report").rglob("*.css"):
        assert not re.search(r"(?:@import|url\()[\s\"'(url]*(?:https?:)?//", style.read_text(encoding="utf-8"))
    ledger = Page((tmp_path / "report" / "ledger.html").read_text(encoding="utf-8"))
    assert {show_text(name) for name in NASTY} <= set(ledger.cells)
    assert (tmp_path / "report" / "explorer" / "runs" / "run0.js").exists()
    assert '"ledger.html","rejects"' in (tmp_path / "report" / "search_documents.js").read_text(encoding="utf-8")


# What cannot be tried without Quarto or a browser


def test_only_known_keys_of_quarto_are_used():
    def walk(value: object, path: str = "") -> dict[str, object]:
        if isinstance(value, dict):
            return {key: leaf for name, inner in value.items() for key, leaf in walk(inner, f"{path}.{name}").items()}
        return {path.lstrip("."): value}

    site = walk(load_yaml(SOURCES / "_quarto.yml"))
    assert {name: type(value) for name, value in site.items()} == QUARTO_KEYS
    assert site["format.html.html-math-method"] == "mathml"
    assert site["format.html.html-table-processing"] == "none"
    assert site["engine"] == "markdown"
    # A menu of Quarto's has a text and no address of its own.
    assert all(entry.keys() == {"text", "menu"} for entry in site["website.navbar.left"])
    listed = {entry["text"]: [one["href"] for one in entry["menu"]] for entry in site["website.navbar.left"]}
    # The site of these tests compares with nothing, so that it lacks two pages.
    assert [listed["Results"].pop() for _ in range(2)] == ["claims.qmd", "reproduction.qmd"]
    assert listed == {menu: [f"{page}.qmd" for page in pages] for menu, pages in MENUS.items()}
    assert all(entry.keys() == {"icon", "aria-label", "href"} for entry in site["website.navbar.right"])
    assert [entry["href"] for entry in site["website.navbar.right"]] == ["report.pdf", "search.qmd"]


def test_pages_hold_no_executable_cell_and_have_a_title():
    for page in SOURCES.glob("*.qmd"):
        source = page.read_text(encoding="utf-8")
        assert not re.search(r"^```+\{\w", source, flags=re.MULTILINE)
        assert yaml.safe_load(source.split("---")[1])["title"]
        # An include is found only on a line of its own.
        for line in source.split("\n"):
            assert ("include" not in line) or "{{<" not in line or re.fullmatch(r"\{\{< include \S+ >\}\}", line)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast(scheme: str):
    # WCAG 2.2 AA: 4.5 for text.
    style = (SOURCES / "styles.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colours = {name: light if scheme == "light" else dark for name, light, dark in pairs}

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        light, dark = sorted((luminance(colours[one]), luminance(colours[other])), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    assert contrast("header-ink", "header") >= 4.5
    for ink in ("ink", "faint", "link", "note", "tip", "warning", "important", "caution"):
        for ground in ("paper", "panel"):
            assert contrast(ink, ground) >= 4.5, (ink, ground)


# Sections


@pytest.mark.slow
def test_a_section_is_a_site_in_the_reports_that_shares_its_explorer_and_documentation(tmp_path: Path, fragments: Path):
    section = tmp_path / "other" / "section"
    section.parent.mkdir()
    render_site("embedded", fragments, section, explorer=[])
    explorer = [fragments.parent / "explorer"]
    render_site("embedded", fragments, tmp_path / "report", explorer=explorer, sections=[section])
    site = tmp_path / "report"
    pages = {path.name for path in site.glob("*.html")}
    assert {path.name for path in (site / "other").glob("*.html")} == pages - {
        f"{name}.html" for name in (*SHARED_PAGES, "ledger_files")
    }
    index = Page((site / "index.html").read_text(encoding="utf-8"))
    links = {link["href"] for link in index.find("a")}
    assert "other/index.html" in links
    assert {tag.get("id") for tag in index.find("section")} >= {"other-evaluations"}
    assert [tag.get("class") for tag in index.find("details", name="pages")] == ["menu"] * (len(MENUS) + 1)
    own = Page((site / "other" / "index.html").read_text(encoding="utf-8"))
    links = {link["href"] for link in own.find("a")}
    assert {"../index.html", "../explorer.html", "../docs.html", "../tutorial.html", "../dictionary.html"} <= links
    assert "explorer.html" not in links
    assert not (site / "other" / "explorer").exists()
    for page in (site / "other").glob("*.html"):
        for link in Page(page.read_text(encoding="utf-8")).find("a"):
            path = link["href"].partition("#")[0].partition("?")[0]
            assert "://" in path or (page.parent / path).exists(), (page.name, link["href"])


def test_a_report_without_sections_has_no_list_of_them(report: dict[str, Page]):
    assert "other-evaluations" not in {tag.get("id") for tag in report["index"].find("section")}
