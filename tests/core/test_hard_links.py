"""Second names in place of copies: what they hold, where there can be none, and what a new file leaves them."""

from pathlib import Path

import pytest

from ccreport.core.hard_links import link_file, link_tree
from ccreport.explorer.script import replace_text


def test_a_tree_has_second_names_and_lacks_what_is_left_out(tmp_path: Path) -> None:
    source, target = tmp_path / "explorer", tmp_path / "report"
    (source / "runs").mkdir(parents=True)
    for name in ("runs.js", "runs/a.js", "runs/.fingerprints.json"):
        (source / name).write_text(name)
    link_tree(source, target, ".*")
    assert {path.relative_to(target).as_posix() for path in target.rglob("*.js*")} == {"runs.js", "runs/a.js"}
    assert (target / "runs/a.js").samefile(source / "runs/a.js")


def test_a_file_written_anew_leaves_the_report_what_it_held(tmp_path: Path) -> None:
    script, of_report = tmp_path / "a.js", tmp_path / "of_report.js"
    replace_text(script, "old")
    link_file(script, of_report)
    replace_text(script, "new")
    assert (script.read_text(), of_report.read_text()) == ("new", "old")


def test_where_a_file_can_have_one_name_only_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.link", refuse)
    (tmp_path / "a").write_text("text")
    link_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_text() == "text"
    assert not (tmp_path / "b").samefile(tmp_path / "a")
    assert (tmp_path / "b").stat().st_mtime_ns == (tmp_path / "a").stat().st_mtime_ns
