"""Figures by topic: which page each is on, the gallery of thumbnails, and what has no data."""

import html
import re
from dataclasses import replace
from pathlib import Path

from ccreport.figures.exhibits import Exhibit, find_number, has_rows, list_exhibits
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.select.declaration import CAPTURE_KINDS
from ccreport.figures.topics import OTHERS, TOPICS
from ccreport.report.fragments.absent_exhibits import (
    describe_empty_tables,
    describe_missing_figures,
    leave_out_foreign,
)
from ccreport.report.fragments.gallery_pages.gallery import FIGURES_AT_MOST, list_pages, render_gallery
from ccreport.report.site.links import lead_to_figures

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="150"/>'


def make_figures(count: int) -> list[Exhibit]:
    return [Exhibit(f"f{number}", f"Figure {number}") for number in range(1, count + 1)]


def test_every_kind_of_figure_has_one_topic() -> None:
    kinds = [kind for _, _, own in TOPICS for kind in own]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) == set(BUILDERS) - CAPTURE_KINDS


def test_figures_keep_their_order_within_a_topic_and_a_long_topic_has_even_pages() -> None:
    figures = make_figures(17)
    kinds = dict.fromkeys((figure.name for figure in figures), "throughput_over_time") | {
        "f2": "topology",
        "f3": "of another program",
    }
    pages = list_pages(figures, kinds)
    # 15 figures in pages of at most 5.
    assert [(page.name, page.title, len(page.figures)) for page in pages] == [
        ("figures_testbed", "The testbed", 1),
        ("figures_throughput", "Throughput over time, 1 of 3", 5),
        ("figures_throughput_2", "Throughput over time, 2 of 3", 5),
        ("figures_throughput_3", "Throughput over time, 3 of 3", 5),
        ("figures_others", OTHERS[1], 1),
    ]
    assert FIGURES_AT_MOST == 5
    numbered = list_pages([replace(figure, number=f"S{place}") for place, figure in enumerate(figures)], kinds)
    assert [page.title for page in numbered] == [
        "The testbed",
        *(f"Throughput over time: Figures {part}" for part in ("S0 to S6", "S7 to S11", "S12 to S16")),
        OTHERS[1],
    ]
    shown = [figure.name for page in pages for figure in page.figures]
    assert shown == ["f2", "f1", *(f"f{number}" for number in range(4, 18)), "f3"]


def test_a_thumbnail_leads_to_its_figure_and_keeps_the_label_that_claims_link_to(tmp_path: Path) -> None:
    figures = tmp_path / "figures"
    for name in ("f1", "f2"):
        (figures / name).mkdir(parents=True)
    (figures / "f1/figure.svg").write_text(SVG)
    (figures / "f1/thumbnail.png").write_bytes(b"")
    (figures / "f2/missing.txt").write_text("no <run> at 40 ms\n")
    declared = {name: {"kind": "cwnd_over_time"} for name in ("f1", "f2")}
    render_gallery([Exhibit("f1", "One & <all>"), Exhibit("f2", "None")], declared, figures, tmp_path)
    gallery = (tmp_path / "gallery.md").read_text()
    assert re.findall(r'<li id="(.*?)"><a href="(.*?)"><img src="(.*?)"', gallery) == [
        ("figure-f1", "figures_hosts.html#figure-f1", "figures/f1/thumbnail.png")
    ]
    assert "<all>" not in gallery
    assert "[None]{#figure-f2}: no &#60;run&#62; at 40 ms" in gallery
    page = (tmp_path / "figures_hosts.qmd").read_text()
    assert "{#figure-f1}" in page
    assert "{{< include fragments/figure_f1.md >}}" in page
    assert "f2" not in page
    # The search leaves out what a `nav` holds.
    assert page.index("<nav ") < page.index("[All figures](figures.qmd)") < page.index("</nav>") < page.index("## ")


def test_figures_that_need_the_same_are_one_sentence(tmp_path: Path) -> None:
    reasons = {
        "a": "The archive has no captures. The condition: has_capture",
        "b": "The archive has no captures. The condition: has_capture AND job LIKE 'x. y'",
        "c": "The archive has no run that this figure would show. The condition: FALSE",
        "d": " ".join(f"Panel ({one}), X, is left out: no run matches its condition." for one in "ab"),
        "e": "All 2 runs that match have the same RTT: there is nothing to compare.",
        # It needs the same, and has another reason.
        "f": "Of 3 runs that match, none counts (interrupted, or without a bulk transfer).",
    }
    for name, reason in reasons.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "missing.txt").write_text(f"{reason}\n")
    declared = {name: {"needs": "captures"} if name in "abf" else {} for name in reasons}
    said = describe_missing_figures([Exhibit(name, name.upper()) for name in reasons], declared, tmp_path)
    assert html.unescape(said).splitlines()[2] == (
        "2 figures need captures: [A]{#figure-a}; [B]{#figure-b}. "
        "2 figures need runs that match their conditions: [C]{#figure-c}; [D]{#figure-d}. "
        f"[E]{{#figure-e}}: {reasons['e']} [F]{{#figure-f}}: {reasons['f']}"
    )
    # What is not drawn has no number of ours, and keeps that of the publication.
    numbered = [
        Exhibit("e", "E", number="S44", is_figure=True, is_ours=True),
        Exhibit("f", "F", number="9", is_figure=True),
    ]
    said = html.unescape(describe_missing_figures(numbered, declared, tmp_path))
    assert "[E]{#figure-e}: All 2 runs" in said
    assert "[Figure 9: F]{#figure-f}: Of 3 runs" in said
    assert describe_missing_figures([], declared, tmp_path) == ""


def test_tables_without_rows_are_one_sentence(tmp_path: Path) -> None:
    for name, text in {"full": "n\n1\n", "bare": "n\n", "void": "n\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    tables = [Exhibit(name, name.title()) for name in ("full", "bare", "void")]
    empty = [table for table in tables if not has_rows(table.name, tmp_path)]
    said = describe_empty_tables(empty)
    assert said.splitlines()[2] == "2 tables have no rows in this archive: [Bare]{#table-bare}; [Void]{#table-void}."
    assert describe_empty_tables([]) == ""


def test_tables_of_records_that_the_archive_has_none_of_are_not_named() -> None:
    names = ("completion", "rpc_load", "edge_histograms", "rpc_latency")
    empty = [Exhibit(name, name) for name in names]
    claims = {"fast": {"shown_in": ["rpc_latency"]}}
    assert [table.name for table in leave_out_foreign(empty, claims)] == ["completion", "rpc_latency"]


def test_figures_without_data_leave_no_gap_in_the_numbers(tmp_path: Path) -> None:
    for name in ("window", "packets", "figure_2"):
        (tmp_path / name).mkdir()
    for name in ("window", "figure_2"):
        (tmp_path / name / "missing.txt").write_text("no samples", encoding="utf-8")
    declared = {
        "window": {"kind": "cwnd_over_time", "title": "Window"},
        "packets": {"kind": "time_sequence", "title": "Packets"},
        "figure_2": {"kind": "rate_by_rtt", "title": "Published"},
    }
    numbers = {figure.name: figure.number for figure in list_exhibits(declared, tmp_path)}
    # A publication's keeps its own.
    assert numbers == {"figure_2": "2", "packets": "S1", "window": "S2"}


def test_our_own_numbers_ascend_in_the_order_of_the_gallery() -> None:
    declared = {
        "run": {"kind": "cwnd_over_time", "title": "Window"},
        "packets": {"kind": "time_sequence", "title": "Packets"},
        "figure_2": {"kind": "rate_by_rtt", "title": "Published"},
        "rates": {"kind": "rate_by_rtt", "title": "Rates"},
        "testbed": {"kind": "topology", "title": "Testbed"},
    }
    figures = list_exhibits(declared)
    assert [(figure.name, figure.number) for figure in figures] == [
        ("figure_2", "2"),
        ("testbed", "S1"),
        ("rates", "S2"),
        ("run", "S3"),
        # On the page of captures.
        ("packets", "S4"),
    ]
    pages = list_pages(figures[:-1], {name: facts["kind"] for name, facts in declared.items()})
    assert [figure.number for page in pages for figure in page.figures] == ["S1", "2", "S2", "S3"]


def test_a_title_that_begins_with_a_publication_s_number_gives_it_to_its_exhibit() -> None:
    titles = {
        "table_2_testbed": "Table A: rates",
        "means": "Table S1: means",
        "jobs": "Lossy jobs",
        "stability": "Figure 4: x",
    }
    tables = list_exhibits({name: {"title": title} for name, title in titles.items()})
    assert [(table.name, table.number, table.is_ours) for table in tables] == [
        ("table_2_testbed", "A", False),
        ("means", "S1", False),
        # Not one that a title has.
        ("jobs", "S2", True),
        ("stability", "S3", True),
    ]
    declared = {
        "rates": {"kind": "rate_by_rtt", "title": "Figure 3a: Rates"},
        "figure_2": {"kind": "rate_by_rtt", "title": "Figure 2: Named twice"},
        "more": {"kind": "rate_by_rtt", "title": "Table 4: of a figure"},
    }
    figures = list_exhibits(declared)
    assert [(figure.number, figure.heading) for figure in figures] == [
        ("3a", "Figure 3a: Rates"),
        ("2", "Figure 2: Named twice"),
        ("S1", "Figure S1: Table 4: of a figure"),
    ]
    assert [find_number(figures, wanted) for wanted in ("3A", "Figure 3a", "s1")] == ["rates", "rates", "more"]
    assert find_number(tables, "Table A") == "table_2_testbed"


def test_links_to_figures_lead_past_their_thumbnails(tmp_path: Path) -> None:
    (tmp_path / "fragments").mkdir()
    (tmp_path / "figures_rates.qmd").write_text("## Figure 4: A {#figure-figure-4}\n")
    (tmp_path / "index.qmd").write_text("[all](figures.qmd), [one](figures.qmd#figure-figure-4)\n")
    (tmp_path / "fragments/claims.md").write_text("[gone](figures.qmd#figure-figure-5)\n")
    lead_to_figures(tmp_path)
    assert (tmp_path / "index.qmd").read_text() == "[all](figures.qmd), [one](figures_rates.qmd#figure-figure-4)\n"
    assert (tmp_path / "fragments/claims.md").read_text() == "[gone](figures.qmd#figure-figure-5)\n"


def test_figures_and_tables_without_a_publication_have_numbers_of_the_whole_report(tmp_path: Path) -> None:
    declared = {
        "run": {"kind": "cwnd_over_time", "title": "Window"},
        "rates": {"kind": "rate_by_rtt", "title": "Rates"},
    }
    figures = list_exhibits(declared)
    assert [(figure.name, figure.heading) for figure in figures] == [
        ("rates", "Figure 1: Rates"),
        ("run", "Figure 2: Window"),
    ]
    for name, text in {"bare": "n\n", "means": "n\n1\n", "jobs": "n\n1\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    tables = list_exhibits({name: {"title": name.title()} for name in ("bare", "means", "jobs")}, tmp_path)
    # What no page shows leaves no gap.
    assert [(table.name, table.number) for table in tables] == [("means", "1"), ("jobs", "2"), ("bare", "3")]
