"""Files and folders that are there whole or not at all."""

from pathlib import Path

import pytest

from ccreport.core.atomic_files import remove_folder, replace_file, replace_text, replaces_folder


@replaces_folder("output")
def fill(names: list[str], output: Path) -> int:
    """Write files, and fail at one without a name."""
    for name in names:
        if not name:
            raise ValueError(name)
        (output / name).write_text(name)
    return len(names)


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_replaced_when_all_is_in_it(tmp_path: Path) -> None:
    output = tmp_path / "above/output"
    assert fill(["a", "b"], output) == 2
    assert fill(["c"], output=output) == 1
    assert list_names(output) == ["c"]
    with pytest.raises(ValueError, match=r"^$"):
        fill(["d", ""], output)
    assert list_names(output) == ["c"]
    assert list_names(output.parent) == ["output"]
    assert fill.__doc__ == "Write files, and fail at one without a name."


def test_a_folder_that_is_removed_is_not_there_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    remove_folder(folder)
    fill(["a", "b"], folder)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    remove_folder(folder)
    assert list_names(tmp_path) == [".folder.gone"]


def test_a_text_that_is_written_anew_leaves_second_names_as_they_are(tmp_path: Path) -> None:
    path, second = tmp_path / "a.txt", tmp_path / "b.txt"
    replace_text(path, "one")
    second.hardlink_to(path)
    replace_text(path, "two")
    assert (path.read_text(), second.read_text(), list_names(tmp_path)) == ("two", "one", ["a.txt", "b.txt"])


def test_a_file_is_replaced_when_it_is_written_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "above/a.txt"
    with replace_file(path) as aside:
        aside.write_text("one")
        assert not path.exists()
    with pytest.raises(IsADirectoryError), replace_file(path) as aside:
        tmp_path.write_text("two")
    # What a killed job left is in nobody's way.
    aside.write_text("left")
    with replace_file(path) as aside:
        aside.hardlink_to(path)
    assert (path.read_text(), list_names(path.parent)) == ("one", ["a.txt"])
