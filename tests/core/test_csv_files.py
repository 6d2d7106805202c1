"""CSV files that spreadsheet programs do not run, and that read back."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from archives import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from ccreport.core.csv_files import restore_text, write_csv


def cells(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", "＝1", "-"])
def test_a_text_that_would_run_is_shown(text: str, tmp_path: Path) -> None:
    write_csv(pl.DataFrame({"name": [text], "other": ["a-b=c"]}), tmp_path / "t.csv")
    assert cells(tmp_path / "t.csv") == [["name", "other"], [f"'{text}", "a-b=c"]]


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    numbers = pl.DataFrame({"x": [-1.5, None, 2.0], "n": [-1, 0, None], "b": [True, False, None]})
    frame = numbers.with_columns(text=pl.Series(["-1", "+2e3", ""]))
    write_csv(frame, tmp_path / "t.csv")
    assert cells(tmp_path / "t.csv")[1] == ["-1.5", "-1", "true", "-1"]
    assert_frame_equal(pl.read_csv(tmp_path / "t.csv", columns=["x", "n", "b"]), numbers)


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.from_regex(r"'{0,3}[=+@\t-][a-z0-9]*"), min_size=1)
)
@settings(deadline=None)
def test_any_text_reads_back_and_none_runs(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    write_csv(pl.DataFrame({"text": texts, "last": range(len(texts))}), path)
    written = [row[0] for row in cells(path)[1:]]
    assert [restore_text(text) for text in written] == texts
    for text in written:
        assert not text.startswith(("=", "@", "\t", "\r")), text


def test_every_csv_of_the_package_is_written_here() -> None:
    others = [path for path in (ROOT / "src").rglob("*.py") if ".write_csv(" in path.read_text(encoding="utf-8")]
    assert [path.parent.name + "/" + path.name for path in others] == ["core/csv_files.py"]
