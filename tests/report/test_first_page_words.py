"""The first page's words around its findings: what was measured, names of conditions, and how it is cited."""

import html
from pathlib import Path

import duckdb
import polars as pl
import pytest
from archives import ROOT
from first_page_inputs import (
    make_comparisons,
)

from ccreport.core.declarations import load_yaml
from ccreport.report.archive_fragments.provenance import cite_archive
from ccreport.report.first_page.pairs import call_conditions
from ccreport.report.first_page.rtts import NO_RTTS, name_rtts, read_rtts
from ccreport.report.fragments.first_page.condition_phrases import add_bracket, phrase_conditions
from ccreport.report.fragments.first_page.figures_asked import ask_figures
from ccreport.report.fragments.first_page.jumps import render_jumps
from ccreport.report.fragments.first_page.rate_findings import describe_leads
from ccreport.report.fragments.first_page.software import add_licence, describe_release, list_authors, render_bibtex
from ccreport.report.markup.escape import escape_text


def test_below_the_title_is_what_was_measured_with_links_to_the_parts_of_the_page():
    facts = {"most": "3 runs", "bottlenecks": "10 Gbit/s", "rtt": "5 ms", "losses": "unknown", "kernels": "6.1"}
    said = render_jumps(facts, 0, 0, has_claims=True)
    assert (
        "The archive: 3 runs; bottlenecks of 10 Gbit/s; RTT 5 ms; Linux 6.1; no files rejected. On this page: [Results]"
        in said
    )
    assert "[Claims](#verdicts)" in said
    said = render_jumps(facts, 1, 2, has_claims=False)
    assert "1 file rejected; 2 runs left out of all means. On" in said
    assert "Claims" not in said


def test_the_first_page_leads_to_throughput_over_time_where_figures_have_it(tmp_path: Path):
    (tmp_path / "figure_2").mkdir()
    declared = {"figures": {"figure_2": {"kind": "throughput_over_time", "title": "One flow"}}}
    topic = "[What happens second by second](figures.qmd#topic-throughput-over-time)?"
    assert topic in ask_figures(declared, tmp_path)
    (tmp_path / "figure_2/missing.txt").write_text("none\n")
    assert "[What happens second by second](figures.qmd)?" in ask_figures(declared, tmp_path)


def test_the_first_page_has_the_questions_that_figures_declare(tmp_path: Path):
    (tmp_path / "lone").mkdir()
    facts = {"kind": "throughput_over_time", "title": "One flow", "question": "What does *loss* do"}
    asked = ask_figures({"figures": {"lone": facts}}, tmp_path)
    assert "- [What does &#42;loss&#42; do](figures.qmd#figure-lone)?\n" in asked
    # Whoever writes the question mark gets no second one.
    assert ask_figures({"figures": {"lone": facts | {"question": "What does *loss* do? "}}}, tmp_path) == asked
    (tmp_path / "lone/missing.txt").write_text("none\n")
    assert "loss" not in ask_figures({"figures": {"lone": facts}}, tmp_path)


def test_first_seconds_are_asked_for_where_a_test_goes_on(tmp_path: Path):
    (tmp_path / "lone").mkdir()
    declared = {"figures": {"lone": {"kind": "throughput_over_time", "title": "One flow", "until_s": 20}}}
    for caption, is_asked in (("Rates over the whole test; only the first 20 s are drawn.", True), ("Rates.", False)):
        (tmp_path / "lone/caption.txt").write_text(caption)
        assert ("How does a test start" in ask_figures(declared, tmp_path)) is is_asked


def test_labels_and_algorithms_are_called_as_the_evaluation_shows_them():
    cases = [{"value": "esnet", "shown": "ESnet"}, {"value": "non-esnet", "shown": "non-ESnet"}]
    labels = {
        "path_class": {"cases": cases},
        "sender_speed": {"cases": [{"value": "40g", "shown": "40G"}, {"value": "10g"}]},
    }
    declared = {"labels": labels, "algorithms": {"BBRv2": {"members": ["bbr2"]}}, "algorithm_names": {}, "tables": {}}
    cells = ["40g sender, esnet, both", "10g sender, non-esnet, both", "140g, my esnet", "both BBRv2 and bbr"]
    named = call_conditions(pl.DataFrame({"table_name": "table_3_paths", "cell": cells}), declared)
    assert named["cell"].to_list() == [
        "40G sender, ESnet, both",
        "10g sender, non-ESnet, both",
        "140g, my esnet",
        "both BBRv2 and BBR",
    ]


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        (
            "40G sender, ESnet, both, 16 flows, RTT < 30 ms",
            "with 16 flows of both algorithms together from a 40G sender (ESnet) at RTT < 30 ms",
        ),
        (
            "100G sender, testbed, 100G to 10G, alone, 1 flow, RTT ≥ 30 ms",
            "with 1 flow alone from a 100G sender (testbed, 100G to 10G) at RTT ≥ 30 ms",
        ),
        ("no loss, both, RTT < 30 ms", "with flows of both algorithms together with no loss at RTT < 30 ms"),
        ("buffer 8 MB, 0.1 % loss", "at 0.1 % loss with a buffer of 8 MB"),
        ("host, 10 flows, both bbr and cubic", "with 10 flows of bbr and cubic together (host)"),
        ("", ""),
    ],
)
def test_conditions_are_phrases_of_a_sentence(name: str, phrase: str):
    assert phrase_conditions(name) == phrase


def test_a_bucket_is_followed_by_the_round_trip_times_that_it_pools_here():
    assert phrase_conditions("RTT < 30 ms", "5, 9 ms") == "at RTT < 30 ms (here 5, 9 ms)"
    assert phrase_conditions("no loss", "5, 9 ms") == "with no loss"
    assert phrase_conditions("RTT 20 ms", "20 ms") == "at RTT 20 ms"
    # Those who share a path share one of these.
    sharing = "40G sender, ESnet, both, RTT < 30 ms"
    assert phrase_conditions(sharing, "5, 9, 13 ms") == "sharing a path of 5–13 ms from a 40G sender (ESnet)"
    told = phrase_conditions("16 flows, both bbr and cubic, RTT < 30 ms", "9 ms")
    assert told == "with 16 flows of bbr and cubic sharing a path of 9 ms"
    rtts = [("comparisons", f"0.1 % loss, {n} flows, RTT ≥ 30 ms", [80.0, 88.0][: n + 1]) for n in range(3)]
    rtts.append(("comparisons", "no loss, RTT ≥ 30 ms", [300.0]))
    known = pl.DataFrame(rtts, schema=NO_RTTS.schema, orient="row")
    faster = [("BBR faster", name, 5.0) for _, name, _ in rtts[:3]]
    (answer,) = describe_leads(make_comparisons(*faster, ("undecided", "no loss, RTT < 30 ms", 1.0)), known)
    assert " At RTT ≥ 30 ms (here 80, 88 ms) BBR has 5.00 times CUBIC’s" in html.unescape(answer)


def test_words_join_the_bracket_that_ends_a_phrase():
    phrase = escape_text(phrase_conditions("RTT < 30 ms", "5, 9 ms"))
    assert html.unescape(add_bracket(phrase, "up to 3 times")) == "at RTT < 30 ms (here 5, 9 ms; up to 3 times)"
    assert add_bracket("with no loss", "up to 3 times") == "with no loss (up to 3 times)"
    rtts = [("comparisons", f"0.1 % loss, {n} flows, RTT ≥ 30 ms", [80.0]) for n in range(4)]
    known = pl.DataFrame(rtts, schema=NO_RTTS.schema, orient="row")
    verdicts = ("BBR faster", "BBR faster", "CUBIC faster", "CUBIC faster", "BBR faster")
    names = [*(name for _, name, _ in rtts), "no loss, 9 flows"]
    asked = [(verdict, name, 0.5 if verdict[0] == "C" else 5.0) for verdict, name in zip(verdicts, names, strict=True)]
    said = html.unescape(" ".join(describe_leads(make_comparisons(*asked), known)))
    assert ") (" not in said
    assert "RTT ≥ 30 ms (here 80 ms; " in said


def test_round_trip_times_are_those_of_runs_that_count(tmp_path: Path):
    database = tmp_path / "archive.duckdb"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE runs (run_id VARCHAR)")
    assert read_rtts(database, {}).equals(NO_RTTS)
    with duckdb.connect(database) as connection:
        connection.execute("""
            CREATE VIEW comparisons_runs AS
            SELECT 'table_3_paths' AS table_name, 'esnet, RTT ≥ 30 ms' AS question, * FROM (VALUES
                (80.2::DOUBLE, 80.0::DOUBLE, TRUE), (88.04, NULL, TRUE), (300.0, 300.0, FALSE), (NULL, NULL, TRUE)
            ) AS runs(rtt_ms, rtt_nominal_ms, is_counted)
        """)
    labels = {"path_class": {"cases": [{"value": "esnet", "shown": "ESnet"}]}}
    found = read_rtts(database, {"labels": labels, "algorithms": {}, "algorithm_names": {}, "tables": {}})
    assert found["question"].to_list() == ["ESnet, RTT ≥ 30 ms"]
    assert name_rtts(found, found) == "80, 88 ms"
    assert name_rtts(found, found.clear()) == ""


SAMPLE_SHA256 = load_yaml(ROOT / "archive/explanations.yaml")["archive_sha256"]
RELEASE = {"version": "1", "doi": None, "creators": [], "raw": "archive", "title": None, "date": None, "license": None}


def test_a_report_has_an_entry_for_bibtex_with_the_authors_of_its_software(tmp_path: Path):
    citation = tmp_path / "CITATION.cff"
    citation.write_text("authors: [{name: A & B}, {family-names: Doe, given-names: Jo}]\n", encoding="utf-8")
    authors = list_authors(RELEASE, citation, SAMPLE_SHA256)
    days = "2025-12-31 to 2026-01-02"
    entry = html.unescape(render_bibtex(RELEASE, authors, "100 % {x}", days, "ab" * 32))
    assert "@misc{ccreport-abababab," in entry
    assert "  author = {{A \\& B} and {" in entry
    assert "  title = {{100 \\% \\{x\\}}}," in entry
    assert "  year = {2026}," in entry
    assert "  version = {1}," in entry
    assert "doi" not in entry
    assert "year" not in html.unescape(render_bibtex(RELEASE, authors, "T", "unknown", "ab" * 32))
    released = RELEASE | {"doi": "10.5281/zenodo.1", "creators": [{"name": "C. D."}], "title": "Ours"}
    entry = html.unescape(render_bibtex(released, list_authors(released, citation, "ab" * 32), "T", days, "ab" * 32))
    assert "  title = {{Ours}}," in entry
    assert "  author = {{C. D.}}," in entry
    assert "  doi = {10.5281/zenodo.1}," in entry
    # The release's CITATION.cff has its day.
    dated = RELEASE | {"date": "2027-05-01"}
    assert "  year = {2027}," in html.unescape(render_bibtex(dated, [], "T", days, "ab" * 32))
    assert html.unescape(describe_release(dated, [], "T")["name"]) == ", release 1 of the data of 2027-05-01"


def test_a_report_is_cited_by_its_releases_version_doi_and_creators(tmp_path: Path):
    citation = tmp_path / "CITATION.cff"
    citation.write_text("authors: [{name: A & B}]\n", encoding="utf-8")
    assert describe_release(RELEASE, list_authors(RELEASE, citation, SAMPLE_SHA256), "A & B") == {
        "authors": "A &#38; B",
        "by": "A &#38; B: ",
        "title": "A &#38; B",
        "name": ", release 1 of the data",
        "contents": "The release's `CITATION.cff` says the same, and its folder `raw` has the raw archive. ",
    }
    released = RELEASE | {
        "version": "2.0",
        "doi": "10.5281/a(b)",
        "creators": [{"name": "C"}],
        "raw": "manifest",
        "license": "MIT",
    }
    said = describe_release(released, list_authors(released, citation, "ab" * 32), "T")
    assert (said["authors"], said["by"]) == ("C", "C: ")
    # A sentence begins with it.
    assert describe_release(RELEASE, ["the group"], "T")["by"] == "The group: "
    assert html.unescape(said["name"]) == (
        ", release 2.0 of the data, [https://doi.org/10.5281/a(b)](https://doi.org/10.5281/a%28b%29)"
    )
    assert html.unescape(said["contents"]).startswith("The data's licence is MIT. ")
    assert "`raw` has the list of the raw files" in said["contents"]


def test_the_licence_is_the_declared_one_or_that_of_the_sample(tmp_path: Path):
    citation = tmp_path / "CITATION.cff"
    citation.write_text("license: BSD-3-Clause\n", encoding="utf-8")
    assert add_licence(RELEASE, citation, SAMPLE_SHA256) == RELEASE | {"license": "BSD-3-Clause"}
    assert add_licence(RELEASE, citation, "ab" * 32) == RELEASE
    own = RELEASE | {"license": "CC0-1.0"}
    assert add_licence(own, citation, SAMPLE_SHA256) == own


def test_own_measurements_are_not_said_to_be_by_the_authors_of_ccreport(tmp_path: Path):
    citation = tmp_path / "CITATION.cff"
    citation.write_text("authors: [{name: A}]\n", encoding="utf-8")
    authors = list_authors(RELEASE, citation, "ab" * 32)
    said = describe_release(RELEASE, authors, "T")
    assert said["authors"] == said["by"] == ""
    assert "`release.creators`" in said["contents"]
    assert "CITATION.cff" not in said["contents"]
    assert "author" not in render_bibtex(RELEASE, authors, "T", "unknown", "ab" * 32)


def test_an_archive_on_the_web_is_a_link_and_one_of_this_machine_a_name():
    places = ["https://example.org/a b.zip", "/home/somebody/own.zip"]
    cited = cite_archive({"archive": places}, {"sha256": "ab", "name": "own.zip"})
    assert html.unescape(cited["place"]) == ("[https://example.org/a b.zip](https://example.org/a%20b.zip), own.zip")
