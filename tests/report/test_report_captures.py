"""The page of captures: its list, and which exhibits stand on it."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from archives import make_table, save_table
from report_inputs import NASTY, write_inputs

from ccreport.figures.exhibits import list_exhibits
from ccreport.report.archive_fragments.captures import render_captures
from ccreport.report.fragments.render import render_fragments

COUNTS = {"frames_count": 1200, "tcp_packets_count": 1190, "other_packets_count": 7, "fragments_count": 2}
CAPTURE = {"raw_file_id": "c1", "run_id": "run0", "malformed_packets_count": 1, "is_cut": True} | COUNTS
RUN = {"run_id": "run0", "job": "capture_p1", "host": "10.0.0.2", "iteration": 2}


def render(captures: list[dict[str, Any]], logs: list[dict[str, Any]]) -> list[list[str]]:
    """Return the cells of the list, as text."""
    tables = (("captures", captures), ("capture_logs", logs), ("runs", [RUN]))
    html = render_captures(*(make_table(table, rows) for table, rows in tables))
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in html.split("<tr>")]
    return [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in rows if row]


def test_a_capture_is_listed_with_its_run_and_the_log_of_tcpdump() -> None:
    logs = [{"raw_file_id": "l1", "run_id": "run0", "kernel_drops_count": 5}]
    (row, total) = render([CAPTURE], logs)
    assert row == ["capture&#95;p1", "10&#46;0&#46;0&#46;2", "2", "1,200", "1,190", "7", "2", "1", "5", "yes"]
    assert total == ["All", "", "", "1,200", "1,190", "7", "2", "1", "5", "1"]


def test_drops_that_no_log_tells_are_unknown_and_not_none() -> None:
    (row, total) = render([CAPTURE | {"is_cut": False}], [])
    assert row[-2:] == ["–", "no"]
    assert total[-2:] == ["–", "0"]


def test_a_capture_of_an_unknown_run_is_listed_by_its_identifier() -> None:
    (row, _) = render([CAPTURE | {"run_id": NASTY[1]}], [])
    assert row[0] == "&#34;&#62;&#60;script&#62;alert&#40;1&#41;&#60;&#47;script&#62;"
    assert row[1:3] == ["–", "–"]


def test_exhibits_of_captures_are_known_by_kind_and_name() -> None:
    figures = {"f1": {"title": "a", "kind": "time_sequence"}, "f2": {"title": "b", "kind": "throughput_over_time"}}
    # Their page comes last.
    assert [(one.name, one.is_of_captures) for one in list_exhibits(figures)] == [("f2", False), ("f1", True)]
    tables = {"witnesses": {"title": "a"}, "jobs": {"title": "b"}}
    assert [(one.name, one.is_of_captures) for one in list_exhibits(tables)] == [("jobs", False), ("witnesses", True)]


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Any]:
    """Return inputs whose evaluation also declares a figure of a capture, and the table `witnesses`."""
    inputs = write_inputs(tmp_path)
    with duckdb.connect(inputs["database"]) as connection:
        connection.execute("CREATE VIEW witnesses_runs AS FROM labelled_runs")
    evaluation = inputs["evaluation"].read_text(encoding="utf-8")
    evaluation = evaluation.replace("tables:\n", "tables:\n  witnesses: {title: Three witnesses}\n")
    evaluation += "  plot_capture: {kind: loss_episodes, title: Episodes, where: 'TRUE'}\n"
    inputs["evaluation"].write_text(evaluation, encoding="utf-8")
    (inputs["summaries"] / "witnesses.html").write_text("<table></table>\n", encoding="utf-8")
    (inputs["summaries"] / "witnesses.csv").write_text("number\n", encoding="utf-8")
    folder = inputs["figures"] / "plot_capture"
    folder.mkdir()
    (folder / "missing.txt").write_text("no packets", encoding="utf-8")
    return inputs


def read_fragments(inputs: dict[str, Any], folder: Path) -> dict[str, str]:
    render_fragments(**inputs, fragments=folder)
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}


def test_captures_have_a_page_of_their_own(inputs: dict[str, Any], tmp_path: Path) -> None:
    save_table("captures", [CAPTURE], inputs["tables"] / "captures" / "e1.parquet")
    fragments = read_fragments(inputs, tmp_path / "fragments")
    assert "tbl-captures" in fragments["captures_list.md"]
    assert "{{< include fragments/table_witnesses.md >}}" in fragments["witnesses.md"]
    assert "{{< include fragments/figure_plot_capture.md >}}" in fragments["captures.md"]
    # No exhibit stands on two pages: its label may be there once only.
    assert "witnesses" not in fragments["tables.md"]
    assert "plot_capture" not in fragments["figures.md"]
    assert "plot_one" in fragments["figures.md"]


@pytest.mark.parametrize(("count", "is_printed"), [(40, True), (41, False)])
def test_on_paper_a_long_table_of_captures_is_a_sentence(
    inputs: dict[str, Any], tmp_path: Path, count: int, is_printed: bool
) -> None:
    save_table("captures", [CAPTURE], inputs["tables"] / "captures" / "e1.parquet")
    (inputs["summaries"] / "witnesses.csv").write_text("number\n" + "1\n" * count, encoding="utf-8")
    fragments = read_fragments(inputs, tmp_path / "fragments")
    assert "<table>" in fragments["table_witnesses.md"]
    assert ("table_witnesses_supplement.md" not in fragments) is is_printed
    if not is_printed:
        said = "Its 41 rows are on the website and in its file `tables/witnesses.csv`."
        assert said in fragments["table_witnesses_supplement.md"]
        assert "<table>" not in fragments["table_witnesses_supplement.md"]


def test_an_archive_without_captures_says_so_in_one_line(inputs: dict[str, Any], tmp_path: Path) -> None:
    fragments = read_fragments(inputs, tmp_path / "fragments")
    assert fragments["captures_list.md"] == "This archive holds no packet captures.\n"
    assert fragments["witnesses.md"].strip() == fragments["captures.md"].strip() == ""
    # What needs them is named behind the others.
    assert "[Episodes]{#figure-plot-capture}: no packets\n" in fragments["figures.md"]
    assert "1 table has no rows in this archive: [Three witnesses]{#table-witnesses}." in fragments["tables.md"]
