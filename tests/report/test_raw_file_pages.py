"""Where a report lists the raw files behind its runs: each file once, on a page that cells and figures lead to."""

import html
from pathlib import Path

import polars as pl
import pytest

import ccreport.trace.raw_files as module
from ccreport.report.archive_fragments.raw_file_pages import link_jobs, render_file_pages
from ccreport.trace.raw_files import ReadFiles


def make_files(*rows: tuple[str, str, str | None]) -> ReadFiles:
    """Return files by job, path and run; the digest of a file repeats the first letter of its path."""
    columns = {"experiment_id": pl.String, "path": pl.String, "run_id": pl.String}
    return ReadFiles(pl.DataFrame(rows, columns, orient="row").with_columns(sha256=pl.col("path").str.head(1)))


@pytest.fixture
def files() -> ReadFiles:
    return make_files(
        ("b.x", "jobmeta.json", None), ("b.x", "ss-1", "r1"), ("a", "iperf-2", "r2"), ("b.x", "iperf-1", "r1")
    )


def test_files_are_listed_by_job_and_run_as_sha256sum_reads_them(files: ReadFiles, tmp_path: Path) -> None:
    render_file_pages(files, tmp_path)
    page = html.unescape((tmp_path / "ledger_files.qmd").read_text())
    assert page.index("## a {#job-a}") < page.index("# run r2\ni  iperf-2") < page.index("## b.x {#job-b-x}")
    assert "# run r1\ni  iperf-1\ns  ss-1\n# all runs of b.x\nj  jobmeta.json<" in page
    assert [path.name for path in tmp_path.iterdir()] == ["ledger_files.qmd"]


def test_many_files_are_on_several_pages_and_links_lead_to_the_right_one(
    files: ReadFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILES_PER_PAGE", 1)
    render_file_pages(files, tmp_path)
    assert files.pages == {"a": 1, "b.x": 2}
    assert "{#job-b-x}" in (tmp_path / "ledger_files_2.qmd").read_text()
    assert "{#job-b-x}" not in (tmp_path / "ledger_files.qmd").read_text()
    assert link_jobs(["a", "b.x", "none"], files) == (
        '<a href="ledger_files.html#job-a">a</a>, <a href="ledger_files_2.html#job-b-x">b&#46;x</a>'
    )


def test_an_archive_of_which_nothing_was_read_has_a_page(tmp_path: Path) -> None:
    render_file_pages(make_files(), tmp_path)
    assert "{#job-" not in (tmp_path / "ledger_files.qmd").read_text()
