import json
from pathlib import Path

import pytest
from browser import needs_chromium
from playwright.sync_api import Browser, Page, expect

from ccreport.report.site.links import PageError
from ccreport.report.site.search import add_search, list_documents, write_search

PAGE = """<!DOCTYPE html><html><head><title>Not me</title></head><body><nav>Not this</nav>
<main><h1>The <em>page</em></h1><p>Be<em>fore</em>, <code>rtt_ms</code>.</p>
<section id="one" class="level2"><h2>One &amp; all</h2><p>First<br>line</p>
<table><tr><td>4.2</td><td>bbr</td></tr></table>
<section id="inner"><h3>Inner</h3><p>Deep.</p></section><p>After.</p>
<div role="tabpanel" id="tabset-1-1"><div class="tab-title">Tab</div><p>In a tab.</p></div></section>
<math><mi>x</mi><annotation>\\frac{x}{y}</annotation></math><script>not()</script><button>Not</button>
</main><footer>Not that</footer></body></html>"""


def write_page(folder: Path, source: str, name: str = "a.html") -> Path:
    (folder / name).write_text(source, encoding="utf-8")
    return folder


def test_each_section_has_its_own_text_and_the_page_what_stands_outside(tmp_path: Path):
    assert list_documents(write_page(tmp_path, PAGE)) == [
        ("a.html", "", "The page", "", "Before, rtt_ms. x"),
        ("a.html", "one", "The page", "One & all", "First line 4.2 bbr After. In a tab."),
        ("a.html", "inner", "The page", "Inner", "Deep."),
    ]


def test_a_section_is_named_without_its_number(tmp_path: Path):
    number = '<span class="header-section-number">22</span>'
    write_page(tmp_path, f'<main><h1>T</h1><section id="s"><h2>{number} Suspect runs</h2><p>a</p></section></main>')
    assert list_documents(tmp_path)[1] == ("a.html", "s", "T", "Suspect runs", "a")


def test_a_box_of_quarto_is_found_without_its_kind(tmp_path: Path):
    write_page(tmp_path, '<main><h1>T</h1><p><span class="screen-reader-only">Tip</span>All is well</p></main>')
    assert list_documents(tmp_path) == [("a.html", "", "T", "", "All is well")]


def test_pages_of_cells_and_the_search_page_are_not_searched(tmp_path: Path):
    for name in ("cells_table_2.html", "search.html"):
        write_page(tmp_path, PAGE, name)
    assert list_documents(tmp_path) == []


def test_lists_of_runs_behind_a_figure_are_not_searched(tmp_path: Path):
    runs = '<div aria-label="Runs of Figure 2"><div><table><tr><td>run-1</td></tr></table></div></div>'
    write_page(tmp_path, f"<main><h1>T</h1><div><p>before</p>{runs}<p>after</p></div></main>")
    assert list_documents(tmp_path) == [("a.html", "", "T", "", "before after")]


def test_queries_and_declarations_are_not_searched(tmp_path: Path):
    code = "<pre><code>SELECT rtt_ms -- of runs</code></pre>"
    write_page(tmp_path, f"<main><h1>T</h1><p>The query</p>{code}<p>of <code>rtt_ms</code></p></main>")
    assert list_documents(tmp_path) == [("a.html", "", "T", "", "The query of rtt_ms")]


def test_digests_are_shortened_and_a_long_section_is_cut(tmp_path: Path):
    write_page(tmp_path, f"<main><h1>T</h1><p>sha256 {'0a' * 32} of it</p></main>")
    assert list_documents(tmp_path) == [("a.html", "", "T", "", "sha256 0a0a0a0a0a0a… of it")]
    write_page(tmp_path, f"<main><h1>T</h1><p>{'word ' * 10_000}</p></main>")
    assert len(list_documents(tmp_path)[0][4]) == 11_500


def test_a_page_without_main_or_with_nothing_in_it_has_no_documents(tmp_path: Path):
    write_page(tmp_path, "<p>text</p>")
    write_page(tmp_path, "<main></main></section>", "b.html")
    assert list_documents(tmp_path) == []


def test_documents_are_a_script_that_holds_any_text(tmp_path: Path):
    write_search(write_page(tmp_path, '<main><h1>&lt;/script&gt; é\u2028</h1><p>"quoted" \\ text</p></main>'))
    script = (tmp_path / "search_documents.js").read_text(encoding="utf-8")
    assert script.startswith("const searchDocuments = [\n")
    rows = json.loads(script.removeprefix("const searchDocuments = ").rstrip().removesuffix(";"))
    assert rows == [["a.html", "", "</script> é", "", '"quoted" \\ text']]


def test_a_project_gets_the_library_with_its_licence(tmp_path: Path):
    add_search(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lunr.js", "search.js", "search_documents.js"]
    head = (tmp_path / "lunr.js").read_text(encoding="utf-8")[:500]
    assert "lunr - http://lunrjs.com" in head
    assert "@license MIT" in head


def test_without_the_library_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(PageError, match="install mkdocs"):
        add_search(tmp_path)


SEARCH_PAGE = """<!DOCTYPE html><html><body><main><input id="search-words"><p id="search-count"></p>
<ol id="search-results"></ol></main><script src="lunr.js"></script><script src="search_documents.js"></script>
<script src="search.js"></script></body></html>"""
SECTIONS = {
    "one": ("Figure 2: One flow, 0.001 % loss", "Of BBR at 80 ms."),
    "two": (
        "Figure S15: One flow, 0.01 % loss",
        "One flow. Many words come in between these and what follows at 80 ms.",
    ),
    "three": ("CPU load", "One table and 80 rows, 0.015 each."),
    "four": ("Who gets more when they share?", "BBR, at 0.01 % loss of one flow at 80 ms."),
    "five": ("What limited the flows", "Over time: the congestion window, the window of the receiver, and time again."),
    "six": ("Congestion window and RTT", "Over the test."),
}


@pytest.mark.slow
@needs_chromium
def test_most_of_the_words_are_in_the_heading_of_what_is_found_first(tmp_path: Path, browser: Browser):
    page = browser.new_page()
    sections = "".join(
        f'<section id="{key}"><h2>{head}</h2><p>{said}</p></section>' for key, (head, said) in SECTIONS.items()
    )
    write_page(tmp_path, f"<main><h1>Figures</h1>{sections}</main>")
    add_search(tmp_path)
    write_search(tmp_path)
    (tmp_path / "search.html").write_text(SEARCH_PAGE, encoding="utf-8")
    page.goto((tmp_path / "search.html").as_uri())
    page.fill("#search-words", "one flow 0.01 % 80 ms")
    found = page.locator("#search-results li")
    assert found.locator("a").all_inner_texts()[:2] == [SECTIONS["two"][0], SECTIONS["four"][0]]
    expect(found.filter(has_text="CPU load")).to_have_count(0)
    # A number is one word, and no part of another.
    expect(found.filter(has_text="Who gets").locator("mark", has_text="0.01")).to_have_text("0.01")
    # Half of the words in a heading tell more than all of them in a text.
    page.fill("#search-words", "congestion window over time")
    assert found.locator("a").all_inner_texts()[:2] == [SECTIONS["six"][0], SECTIONS["five"][0]]
    # What a reader may call it is found by what pages do.
    page.fill("#search-words", "starved")
    expect(found.locator("a").first).to_have_text(SECTIONS["four"][0])
    page.close()


def write_listed(folder: Path, name: str, *sections: tuple[str, str]) -> None:
    listed = "".join(
        f'<section id="s{n}"><h2>{head}</h2><p>{said}</p></section>' for n, (head, said) in enumerate(sections)
    )
    write_page(folder, f"<main><h1>Page {name}</h1>{listed}</main>", f"{name}.html")


def open_search(folder: Path, browser: Browser) -> Page:
    """Return the page of search over the pages of a folder."""
    add_search(folder)
    write_search(folder)
    write_page(folder, SEARCH_PAGE, "search.html")
    page = browser.new_page()
    page.goto((folder / "search.html").as_uri())
    return page


@pytest.mark.slow
@needs_chromium
def test_a_section_of_the_methods_goes_before_others_of_the_same_words_and_the_summary_before_other_text(
    tmp_path: Path, browser: Browser
):
    def write_sections(name: str, *sections: tuple[str, str]) -> None:
        write_listed(tmp_path, name, *sections)

    write_sections("tables", ("Table: mean and CV", "CV"), ("Rows", "Excluded."))
    write_sections(
        "methods",
        ("Cells, means and the coefficient of variation (CV)", "Of many words about cells."),
        ("Comparing two algorithms", "By intervals of the ratio."),
    )
    write_sections(
        "index", ("What was left out", "Of all runs that there are, some are excluded, and for what reason.")
    )
    write_sections(
        "collect", ("A kernel against a kernel", "How to."), ("Draw a tie between equal kernels", "Raw files.")
    )
    write_sections("collection", ("What was declared", "Of each machine its system."))
    write_sections("ledger", ("What became of every file", "Raw, and read."))
    page = open_search(tmp_path, browser)
    for words, first in {
        "kernel": "What was declared",
        "tie": "Comparing two algorithms",
        "draw": "Comparing two algorithms",
        "Equal": "Comparing two algorithms",
        "raw files": "What became of every file",
        "CV": "Cells, means and the coefficient of variation (CV)",
        "excluded": "What was left out",
        "omitted": "What was left out",
    }.items():
        page.fill("#search-words", words)
        expect(page.locator("#search-results a").first).to_have_text(first)
    page.close()


@pytest.mark.slow
@needs_chromium
def test_questions_lead_to_what_answers_them(tmp_path: Path, browser: Browser):
    write_listed(tmp_path, "collect", ("A kernel against a kernel", "Which kernel is faster."))
    write_listed(tmp_path, "collection", ("What was declared", "Kernels."))
    write_listed(
        tmp_path, "figures", ("Figure 4: BBRv2 and CUBIC, 80 ms, 0.01 % loss", "Retransmit ratio, raw data of a cell.")
    )
    write_listed(
        tmp_path, "index", ("Results", "BBR and CUBIC at 80 ms and 0.01 % loss."), ("What was measured", "One.")
    )
    write_listed(tmp_path, "methods", ("Losses", "A ratio."), ("Retransmits", "Their ratio is of segments."))
    write_listed(
        tmp_path,
        "tables",
        ("Table I", "BBR, CUBIC, 0.01 loss, 80 ms, 10G."),
        ("Table II", "BBR, CUBIC: 0.01 % loss, 80 ms"),
    )
    write_page(
        tmp_path, (tmp_path / "tables.html").read_text().replace("</h1>", "</h1><p>How to read.</p>"), "tables.html"
    )
    page = open_search(tmp_path, browser)
    for words, first in {
        # Tables call BBRv2 by its first name; a share is not a number of something else.
        "BBRv2 CUBIC 0.01% loss 80ms": ["Results", "Table II", "Figure 4: BBRv2 and CUBIC, 80 ms, 0.01 % loss"],
        "Figure 4 0.01% loss": ["Figure 4: BBRv2 and CUBIC, 80 ms, 0.01 % loss"],
        "which kernel": ["What was measured", "What was declared", "A kernel against a kernel"],
        "which kernel was used": ["What was measured"],
        "how is retransmit ratio defined": ["Retransmits"],
        "raw data of one cell": ["Page tables"],
        "which raw files are behind a number": ["Page tables"],
    }.items():
        page.fill("#search-words", words)
        assert page.locator("#search-results a").all_inner_texts()[: len(first)] == first, words
    page.close()
