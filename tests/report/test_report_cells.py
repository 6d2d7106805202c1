import html
import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import write_yaml
from condition_runs import build_database
from explained_runs import FACTS, raw_file
from test_summarise import EVALUATION, gather, run, summarise

from ccreport.__main__ import main
from ccreport.core.declarations import load_yaml
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import load_schema
from ccreport.report.fragments.cell_rows.raw_files import render_raw_files, shorten
from ccreport.report.fragments.cell_rows.section import render_numbers, write_command
from ccreport.report.fragments.cells import count_runs_at_most, render_page, trace_cells
from ccreport.summarise.database import connect
from ccreport.summarise.grids.links import cell_href
from ccreport.summarise.grids.plain_numbers import list_numbers, name_column, round_value
from ccreport.trace.find_table import show_database
from ccreport.trace.raw_files import ReadFiles
from ccreport.trace.rows.load_trace import load_trace

NASTY = '"><script>alert(1)</script> {{< include x >}} ```\n# heading'


def build(folder: Path, tables: dict[str, list[dict[str, Any]]]) -> Path:
    """Return the folder of pages of an archive, made from rows of its tables."""
    database = build_database(folder, tables)
    for table in load_yaml(EVALUATION)["tables"]:
        summarise(table, database)
    trace_cells(EVALUATION, database, folder, folder / "cells")
    return folder / "cells"


def archive(job: str = "j") -> dict[str, list[dict[str, Any]]]:
    facts = FACTS | {"job": job}
    tables = gather(
        *(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a", **facts) for n, rate in ((1, 9.0), (2, 11.0))),
        run(3, {"cubic": 5.0, "bbr": 35.0}, rtt_ms=10.0, condition_id="f", loss_pct=0.1, **facts),
    )
    return tables | {"raw_files": [raw_file(f"1/{job}", "r1"), raw_file("meta.json", None)]}


@pytest.mark.slow
def test_every_link_of_a_table_leads_to_the_section_of_its_row(tmp_path: Path) -> None:
    cells = build(tmp_path, archive())
    for table in load_yaml(EVALUATION)["tables"]:
        page = (cells / f"cells_{table}.qmd").read_text()
        linked = set(re.findall(r'href="([^"]+)"', (tmp_path / f"{table}.html").read_text()))
        numbers = re.findall(r"^## .*\{#cell-(\d+)\}$", page, re.MULTILINE)
        assert linked == {cell_href(table, int(number)) for number in numbers}
        rows = pl.read_parquet(tmp_path / f"{table}.parquet").height
        assert [int(number) for number in numbers] == list(range(1, rows + 1))


@pytest.mark.slow
def test_of_a_long_table_the_first_rows_are_shown_and_traced(tmp_path: Path) -> None:
    declared = load_yaml(EVALUATION)
    for table in ("jobs", "table_2_testbed"):
        declared["tables"][table]["rows_at_most"] = 1
    evaluation = tmp_path / "evaluation.yaml"
    write_yaml(evaluation, declared)
    database = build_database(tmp_path, archive(), evaluation)
    rows, shown = {}, {}
    for table in declared["tables"]:
        summary, shown[table] = summarise(table, database, evaluation)
        rows[table] = summary.height
    trace_cells(evaluation, database, tmp_path, tmp_path / "cells")
    sections = {table: (tmp_path / f"cells/cells_{table}.qmd").read_text().count("{#cell-") for table in rows}
    assert rows["jobs"] > 1
    assert f"The first 1 of {rows['jobs']} rows; the CSV file has all of them." in shown["jobs"]
    assert set(re.findall(r'href="([^"]+)"', shown["jobs"])) == {cell_href("jobs", 1)}
    # A table of cells has a place for each.
    assert sections == rows | {"jobs": 1}
    assert rows["table_2_testbed"] > 1


@pytest.mark.slow
def test_a_section_has_its_numbers_runs_command_and_links_to_files(tmp_path: Path) -> None:
    page = (build(tmp_path, archive()) / "cells_table_2_testbed.qmd").read_text()
    section = html.unescape(page[page.index("{#cell-1}") : page.index("{#cell-2}")])
    text = re.sub(r"<[^>]+>", " ", section)
    # (9 + 11) / 2 Mbit/s
    assert " 10.00 " in text
    assert " Goodput mean (Mbit/s) " in text
    assert "<dt>Goodput low" not in section
    assert "Goodput basis" not in section
    # A key has its words and unit, as in the published table.
    assert "\n## no loss · " in html.unescape(page)
    assert re.search(r"10\.0\.0\.2\s+10\s+0\s+11\.00\s+j, iteration 2, session s", text)
    # Of r2 the archive has no file.
    assert '<li><a href="ledger_files.html#job-e">1/</a><br><code>j</code></li>' in section
    assert 'href="explorer.html#run=r2" title="r2"' in section
    assert "Query&#58; src&#47;ccreport&#47;sql&#47;testbed&#47;table&#95;2&#95;testbed&#46;sql</summary>" in page
    assert "GROUP BY ALL" in page


@pytest.mark.slow
def test_a_page_says_once_what_its_numbers_mean(tmp_path: Path) -> None:
    page = (build(tmp_path, archive()) / "cells_comparisons.qmd").read_text()
    told = html.unescape(page[page.index("What the numbers mean") : page.index("{#cell-1}")])
    section = page[page.index("{#cell-1}") :]
    headings = {html.unescape(heading) for heading in re.findall("<dt>(.+?)</dt>", section)}
    explained = set(re.findall(r"^- \*\*(.+?)\*\*: .", told, re.MULTILINE))
    assert {"Verdict", "Ratio", "Sets of conditions", "Both in the same run?"} <= headings <= explained
    assert "the geometric mean over the strata" in told
    # The ends of intervals are within the numbers.
    assert not any("low" in heading.lower() for heading in explained)
    assert "[data dictionary](dictionary.qmd#table-comparisons)" in told


@pytest.mark.slow
def test_numbers_of_a_quantity_have_its_unit(tmp_path: Path) -> None:
    page = html.unescape((build(tmp_path, archive()) / "cells_comparisons.qmd").read_text())
    assert " · Goodput (Mbit/s) · " in page
    compared = pl.read_parquet(tmp_path / "comparisons.parquet").row(0, named=True)
    assert compared["measure"] == "goodput_bps"
    assert f"<dt>First mean</dt><dd>{compared['first_mean'] / 1e6:.4g}" in page


@pytest.mark.slow
def test_of_a_comparison_the_table_has_its_title_and_values_of_runs_have_the_measures_unit(tmp_path: Path) -> None:
    page = html.unescape((build(tmp_path, archive()) / "cells_comparisons.qmd").read_text())
    assert "· Table II ·" in page or "Table II · Goodput" in page
    # Not 35000000.
    assert '<th scope="col" class="number">Goodput (Mbit/s)</th>' in page
    assert '<td class="number">35.00</td>' in page
    assert "Value" not in page


@pytest.mark.slow
def test_a_page_of_runs_leads_back_to_its_table(tmp_path: Path) -> None:
    page = (build(tmp_path, archive()) / "cells_table_2_testbed.qmd").read_text()
    assert "above: tables.qmd" in page
    assert "[the table](tables.qmd#table-table-2-testbed)" in page


def test_an_interval_stands_with_its_number_and_what_has_no_value_is_left_out() -> None:
    rates = {"rate_mean_bps": 5e7, "rate_low_bps": 4e7, "rate_high_bps": 6.25e7}
    others = {"rate_cv": 0.5, "rate_low_cv": None, "rate_high_cv": None, "difference_mean": None, "runs_count": 3}
    shown = html.unescape(render_numbers(rates | others))
    assert re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", shown) == [
        ("Rate mean (Mbit/s)", "50.00 (40.00 to 62.50)"),
        ("Rate CV (%)", "50.00"),
        ("Runs", "3"),
    ]


def test_the_interval_of_a_mean_is_not_that_of_a_number_beside_it() -> None:
    told = ("3.000", "2.000 (1.000 to 4.000)")
    for ratio in ("retransmit", "retransmit_rpc"):
        row = {f"{ratio}_ratio": 0.03, f"{ratio}_mean_ratio": 0.02}
        shown = list_numbers(row | {f"{ratio}_low_ratio": 0.01, f"{ratio}_high_ratio": 0.04})
        assert tuple(text for _, text in shown) == told


@pytest.mark.slow
def test_what_none_of_a_row_s_runs_has_is_not_told_of_them(tmp_path: Path) -> None:
    with connect(build_database(tmp_path, archive())) as connection:
        assert "jitter_mean_ms" in load_trace(connection, "jobs").shown
    page = html.unescape((build(tmp_path, archive()) / "cells_jobs.qmd").read_text())
    section = page[page.index("{#cell-1}") : page.index("{#cell-2}")].partition("Made of")[2]
    assert "Rate (Mbit/s)" in section
    assert "Jitter mean" not in section


@pytest.mark.slow
def test_the_command_of_a_section_prints_its_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = build(tmp_path, archive())
    for table in ("table_2_testbed", "jobs", "retransmits", "cpu"):
        declared = load_evaluation(EVALUATION)["tables"][table]
        page = html.unescape((cells / f"cells_{table}.qmd").read_text())
        for row in pl.read_parquet(tmp_path / f"{table}.parquet").iter_rows(named=True):
            database = tmp_path / "archive.duckdb"
            command = write_command(table, row, declared | {"database": database})
            assert command in page
            # The page does not say where on a machine the results are.
            assert main(shlex.split(command.replace(str(show_database(database)), str(database)))[3:]) == 0
            printed = dict(re.findall(r"^  (\S.*?)  +(\S.*)$", capsys.readouterr().out, re.MULTILINE))
            key = load_schema(table).key
            numbers = dict(list_numbers({name: value for name, value in row.items() if name not in key}))
            assert numbers
            assert {name: printed[name] for name in numbers} == numbers


def test_a_number_is_said_once_and_rates_have_the_unit_of_the_table() -> None:
    row = {"rate_mean_bps": 9.6131e9, "rate_low_bps": 9.61309e9, "rate_high_bps": 9.61311e9}
    cvs = {"rate_cv": 0.02, "rate_cv_low": None, "rate_cv_high": None, "rate_within_cv": 0.02}
    gigabits = (1e9, "Gbit/s")
    assert list_numbers(row | cvs, rates=gigabits) == [("Rate mean (Gbit/s)", "9.613"), ("Rate CV (%)", "2.000")]
    # An interval that can be told from its number, and a CV within conditions that is less than the whole.
    told = list_numbers(row | {"rate_low_bps": 9e9} | cvs | {"rate_within_cv": 0.01})
    assert [shown for _, shown in told] == ["9613 (9000 to 9613)", "2.000", "1.000"]


@pytest.mark.slow
def test_names_of_the_archive_are_text(tmp_path: Path) -> None:
    page = (build(tmp_path, archive(NASTY)) / "cells_jobs.qmd").read_text()
    assert "<script>" not in page
    assert "{{<" not in page
    assert "\n# heading" not in page
    assert "alert(1)" in html.unescape(page)


@pytest.mark.slow
def test_a_page_that_would_be_too_large_lists_the_first_runs_only(tmp_path: Path) -> None:
    build(tmp_path, archive())
    declared = load_evaluation(EVALUATION)["tables"]["table_2_testbed"]
    summary = pl.read_parquet(tmp_path / "table_2_testbed.parquet")
    with connect(tmp_path / "archive.duckdb") as connection:
        trace = load_trace(connection, "table_2_testbed")
    whole = render_page(trace, summary, declared)
    assert render_page(trace, summary, declared, largest=len(whole.encode())) == whole
    assert "too many runs" not in whole
    assert "too many runs" in render_page(trace, summary, declared, largest=len(whole.encode()) - 1)

    shortest = render_page(trace, summary, declared, largest=1000)
    assert "too many runs to list all of them" in shortest
    assert "The first 1 of 2 runs" in html.unescape(shortest)
    assert shortest.count("explorer.html#run=") == 3
    assert shortest.count("ccreport explain") == 3


@pytest.mark.slow
def test_a_long_table_has_pages_that_lead_to_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("ccreport.report.fragments.cells", "ccreport.summarise.grids.links"):
        monkeypatch.setattr(f"{module}.ROWS_PER_PAGE", 2)
    cells = build(tmp_path, archive())
    first, second = ((cells / f"cells_table_2_testbed{part}.qmd").read_text() for part in ("", "-2"))
    assert [re.findall(r"\{#cell-(\d+)\}", page) for page in (first, second)] == [["1", "2"], ["3"]]
    lines = r"Lines of the table from {}no loss[^\]*]*{} · from {}0\.1 % loss[^\]*]*{}"
    linked = [rf"\]\(cells_table_2_testbed{part}\.qmd\)" for part in ("", "-2")]
    assert re.search(lines.format(r"\*\*", r"\*\*", r"\[", linked[1]), html.unescape(first))
    assert re.search(lines.format(r"\[", linked[0], r"\*\*", r"\*\*"), html.unescape(second))
    linked = re.findall(r'href="([^"]+)"', (tmp_path / "table_2_testbed.html").read_text())
    assert set(linked) == {f"cells_table_2_testbed{end}" for end in (".html#cell-1", ".html#cell-2", "-2.html#cell-3")}


@pytest.mark.parametrize(
    ("column", "value", "name", "shown"),
    [
        ("rate_mean_bps", 51_509_697.959, "Rate mean (Mbit/s)", "51.51"),
        ("retransmit_ratio", 1.463831e-05, "Retransmitted (%)", "0.001464"),
        ("rtt_ms", 10.0, "RTT (ms)", "10"),
        ("size_bytes", 1_234_567, "Size (bytes)", "1,234,567"),
        ("rate_cv", 0.0, "Rate CV (%)", "0"),
        ("rate_cv", 4.028e-6, "Rate CV (%)", "< 0.01"),
        ("is_paired", False, "Both in the same run?", "no"),
        ("runs_count", 20, "Runs", "20"),
    ],
)
def test_numbers_are_rounded_and_have_their_unit(column: str, value: Any, name: str, shown: str) -> None:
    assert (name_column(column), round_value(column, value)) == (name, shown)


@pytest.mark.slow
def test_what_is_behind_a_row_is_closed_until_it_is_looked_for(tmp_path: Path) -> None:
    page = (build(tmp_path, archive()) / "cells_table_2_testbed.qmd").read_text()
    # One for each row, those of the numbers' meaning and of the query, and the raw files of the one run that has some.
    assert page.count('<details class="fold">') == page.count("</details>") == page.count("{#cell-") + 3
    # The numbers of the row are seen, its runs and files are not.
    section = html.unescape(page[page.index("{#cell-1}") : page.index("{#cell-2}")])
    assert section.index("10.00") < section.index('<details class="fold">') < section.index("explorer.html")


@pytest.mark.slow
def test_a_row_says_which_suspect_runs_it_would_have_and_why(tmp_path: Path) -> None:
    tables = archive()
    tables["suspects"] = [
        {"run_id": "r2", "suspect_rule": "kernel_drops", "observed": 3.0, "bound": 0.0, "bound_unit": "events"}
    ]
    cells = build(tmp_path, tables)
    page = html.unescape((cells / "cells_table_2_testbed.qmd").read_text())
    first, others = page[page.index("{#cell-1}") : page.index("{#cell-2}")], page[page.index("{#cell-2}") :]
    told = re.sub(r"<[^>]+>", "", first)
    assert "1 suspect run of the same conditions is left out: r2 (kernel_drops: 3 events, the bound is 0)." in told
    assert first.index("left out") < first.index("Made of 1 run")
    assert "left out" not in others


@pytest.mark.slow
def test_what_a_comparison_found_stands_before_how_it_was_tested(tmp_path: Path) -> None:
    page = html.unescape((build(tmp_path, archive()) / "cells_comparisons.qmd").read_text())
    section = page[page.index("{#cell-1}") :].partition("{#cell-2}")[0]
    found, runs = section.partition("<summary>Made of")[::2]
    runs, details = runs.partition("<summary>Test details</summary>")[::2]
    # What a link to the row opens is the first fold, its runs.
    assert "explorer.html" in runs
    assert "Made of" not in details
    headings = [re.findall("<dt>(.+?)</dt>", part) for part in (found, details)]
    assert headings[0][0] == "Verdict"
    assert {"Runs of first", "Runs of second"} <= {*headings[0]}
    assert {"Sets of conditions", "Both in the same run?"} <= {*headings[1]}
    assert not {*headings[0]} & {*headings[1]}


def test_raw_files_of_a_run_are_as_a_shell_writes_them_below_the_folder_of_the_job() -> None:
    assert shorten(["ss:h:1:9ms", "a.json", "src-cmd:h:1:9ms", "x:h:2"]) == ["{ss,src-cmd}:h:1:9ms", "x:h:2", "a.json"]
    rows = [("d/j/ss:h:1", "r1"), ("d/j/cpu:h:1", "r1"), ("d/j/ss:h:2", "r2"), ("d/j/meta.json", None)]
    files = pl.DataFrame(rows, ["path", "run_id"], orient="row").with_columns(
        experiment_id=pl.lit("e"), sha256=pl.lit("")
    )
    runs = pl.DataFrame({"run_id": ["r1", "r2"], "experiment_id": "e", "result_path": None})
    fold, listed, _ = render_raw_files(runs, ReadFiles(files))
    assert "Raw files of 2 runs" in fold
    shown = html.unescape(listed)
    assert (
        '<li><a href="ledger_files.html#job-e">d/j/</a><br><code>{ss,cpu}:h:1</code><br><code>ss:h:2</code></li>'
        in shown
    )
    assert render_raw_files(runs, ReadFiles(files.clear())) == []


@pytest.mark.parametrize(("rows_count", "runs_count"), [(0, 2775), (1, 2775), (100, 25), (660, 1), (10_000, 1)])
def test_rows_share_what_a_page_may_hold(rows_count: int, runs_count: int) -> None:
    # (2,500,000 / 100 - 2,000) / 900 = 25.6
    assert count_runs_at_most(rows_count, 2_500_000) == runs_count


@pytest.mark.slow
def test_an_empty_archive_has_pages_without_sections(tmp_path: Path) -> None:
    cells = build(tmp_path, {})
    pages = sorted(cells.iterdir())
    assert [page.stem for page in pages] == sorted(f"cells_{table}" for table in load_evaluation(EVALUATION)["tables"])
    for page in pages:
        assert "The archive has no run for this table." in page.read_text()
        assert "{#cell-" not in page.read_text()


@pytest.mark.slow
def test_pages_of_tables_that_are_no_longer_declared_go(tmp_path: Path) -> None:
    build(tmp_path, {})
    stale = tmp_path / "cells" / "cells_gone.qmd"
    stale.write_text("gone")
    trace_cells(EVALUATION, tmp_path / "archive.duckdb", tmp_path, tmp_path / "cells")
    assert not stale.exists()
