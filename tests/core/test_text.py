"""Texts for people: what is said of several files is one line."""

from pathlib import Path

import pytest

from ccreport.core.text import count_alike, write_report_command


def test_a_message_about_several_files_is_said_once() -> None:
    said = [("b.json", "empty"), ("a.json", "cut short"), ("c.json", "empty"), ("b.json", "empty")]
    assert count_alike(said) == ["2 files, such as b.json: empty", "a.json: cut short"]


def test_the_command_of_a_report_can_be_typed_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout, elsewhere = tmp_path / "my checkout", tmp_path / "elsewhere"
    for place, command in (
        (checkout, "make report ARCHIVE=raw/a"),
        (elsewhere, f"make -C '{checkout}' report ARCHIVE={elsewhere}/raw/a"),
    ):
        place.mkdir()
        monkeypatch.chdir(place)
        assert write_report_command(Path("raw/a"), checkout) == command
