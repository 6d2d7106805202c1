"""Texts for people: what is said of several files is one line."""

from ccreport.core.text import count_alike


def test_a_message_about_several_files_is_said_once() -> None:
    said = [("b.json", "empty"), ("a.json", "cut short"), ("c.json", "empty"), ("b.json", "empty")]
    assert count_alike(said) == ["2 files, such as b.json: empty", "a.json: cut short"]
