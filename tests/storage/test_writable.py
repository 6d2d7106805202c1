"""Places that cannot be written: refused by every command in one line, before its work, and left as they are."""

from pathlib import Path

import pytest

from ccreport.__main__ import main
from ccreport.core.errors import InputError
from ccreport.storage.writable import check_file, check_folder

# Files of the kernel: not even root makes others beside them.
NOWHERE = "/proc/x"


def test_what_can_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("kept")
    check_file(there, "--output")
    check_file(tmp_path / "new", "--output")
    check_folder(tmp_path / "a/b", "--output")
    assert there.read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_a_folder_that_is_nearly_the_one_that_is_meant_is_named(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    with pytest.raises(InputError, match=r"resluts does not exist; did you mean `.*/results`\?"):
        check_file(tmp_path / "resluts/page.html", "--html")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--archive", ["collect", "--campaign", "quick", "--archive", NOWHERE, "--dry-run"]),
        ("--archive", ["collect", "--campaign", "quick", "--archive", NOWHERE]),
        ("--summary", ["collect", "--campaign", "quick", "--archive", "{}", "--summary", f"{NOWHERE}/s.json"]),
        ("--output", ["compare_kernels", "comparisons/hystart.yaml", "--archive", "{}", "--output", NOWHERE]),
        ("--output", ["ingest", "mpstat", "{}/file", "--output", f"{NOWHERE}.csv"]),
        ("--output", ["ingest", "mpstat", "{}/file", "--output", NOWHERE]),
        ("--output", ["export", "run", "--output", f"{NOWHERE}.csv"]),
        ("--layout", ["adopt", "{}", "--layout", NOWHERE]),
        ("--target", ["upload", "--release", "{}", "--target", NOWHERE]),
    ],
)
def test_each_command_says_it_before_its_work(
    option: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main([word.format(tmp_path) for word in words]) != 0
    printed = capsys.readouterr()
    assert printed.err.startswith(f"ccreport: {option}: {NOWHERE}")
    assert " cannot be written: " in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
