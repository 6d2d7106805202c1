"""Archives in parts: what a part is, what all together are, and what is done again when one comes or goes."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from archives import SS, iperf3_json, list_archive, write_archive

from ccreport.archive.harness_layout import Folder
from ccreport.archive.manifest import Manifest
from ccreport.archive.pack import pack_folder
from ccreport.archive.parts import find_raw_folder, list_parts, number_names, open_archive
from ccreport.archive.unpack import ArchiveError
from ccreport.inventory import experiment_listing

FILES = {
    f"2026-11-20:22:1{number}/{job}/{name}": text
    for number in range(3)
    for job in ("both_p2", "cubic_p1")
    for name, text in (("ss:h:1", SS), ("src-cmd:h:1", iperf3_json()))
}


def pack(path: Path, files: Mapping[str, str | bytes], root: str = "") -> Path:
    """Write a packed file, its members below a folder `root` if given."""
    folder = path.with_name(f"{path.name}.files")
    pack_folder(write_archive(folder, files), path, 5, root)
    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    folder.rmdir()
    return path


def pack_sessions(folder: Path, files: Mapping[str, str | bytes] = FILES) -> dict[str, Path]:
    """Write a packed file for each session, half of them in a folder that is named as the part is."""
    folder.mkdir(exist_ok=True)
    parts = {}
    for number, session in enumerate(sorted({path.partition("/")[0] for path in files})):
        own = {path: content for path, content in files.items() if path.startswith(f"{session}/")}
        parts[session] = pack(folder / f"part{number}.tar.zst", own, f"part{number}" if number % 2 else "")
    return parts


def read_links(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the inode of each file below a folder, and the time of its last change, by its path from there."""
    found = {str(path.relative_to(folder)): path.stat() for path in folder.rglob("*") if path.is_file()}
    return {path: (status.st_ino, status.st_ctime_ns) for path, status in found.items()}


def test_a_list_and_a_folder_of_parts_are_listed_as_the_one_folder_of_all(tmp_path: Path) -> None:
    whole = list_archive(write_archive(tmp_path / "raw", FILES), tmp_path / "w0")
    parts = list(pack_sessions(tmp_path / "sample").values())
    (tmp_path / "sample/README.md").write_text("what these are")
    assert list_archive(parts, tmp_path / "w1") == whole
    assert list_archive(tmp_path / "sample", tmp_path / "w2") == whole
    # Parts may be folders, and folders of parts.
    own = {path: content for path, content in FILES.items() if path.startswith("2026-11-20:22:10/")}
    mixed = [write_archive(tmp_path / "own", {f"wrapping/{path}": own[path] for path in own}), *parts[1:]]
    assert list_archive(mixed, tmp_path / "w3") == whole
    facts = [json.loads((tmp_path / f"w{number}/archive.json").read_text()) for number in range(4)]
    assert len({one["sha256"] for one in facts}) == 1
    assert [one["name"] for one in facts] == ["raw", "part0.tar.zst and 2 more", "sample", "own and 2 more"]
    sums = [{"name": part.name, "sha256": hashlib.sha256(part.read_bytes()).hexdigest()} for part in parts]
    assert [one.get("parts") for one in facts] == [None, sums, sums, [{"name": "own", "sha256": None}, *sums[1:]]]


@pytest.mark.parametrize(
    ("beside", "is_of_parts"),
    [
        (["README", "README.md", "LICENSE", "CITATION.cff", "SHA256SUMS", "a.tar.zst.sha256", ".gitattributes"], True),
        (["b.zip", "c.TGZ"], True),
        (["src-cmd:h:1"], False),
        (["notes.txt"], False),
        (["folder/x"], False),
    ],
)
def test_a_folder_of_parts_holds_packed_files_and_what_describes_them(
    tmp_path: Path, beside: list[str], *, is_of_parts: bool
) -> None:
    folder = write_archive(tmp_path / "raw", dict.fromkeys(["a.tar.zst", *beside], ""))
    packed = sorted(folder / name for name in ("a.tar.zst", "b.zip", "c.TGZ") if (folder / name).exists())
    assert list_parts([folder]) == (packed if is_of_parts else [folder])
    assert find_raw_folder([folder], tmp_path / "u") == (tmp_path / "u" if is_of_parts else folder)


def test_a_folder_that_only_describes_is_no_folder_of_parts(tmp_path: Path) -> None:
    folder = write_archive(tmp_path / "raw", {"README.md": ""})
    assert list_parts([folder]) == [folder]


def test_a_part_that_comes_or_goes_leaves_the_links_of_others(tmp_path: Path) -> None:
    parts = pack_sessions(tmp_path / "sample")
    unpacked = tmp_path / "results/archive"
    first, *others = parts.values()
    open_archive(others, unpacked)
    before = read_links(unpacked)
    open_archive([tmp_path / "sample"], unpacked)
    after = read_links(unpacked)
    assert after.keys() == FILES.keys()
    assert {path: after[path] for path in before} == before
    # As hard links, which take no room.
    assert {(unpacked / path).stat().st_nlink for path in FILES} == {2}
    first.unlink()
    open_archive([tmp_path / "sample"], unpacked)
    assert read_links(unpacked) == before
    assert not any(unpacked.rglob("2026-11-20:22:10"))
    assert sorted(path.name for path in (tmp_path / "results/parts").iterdir() if path.is_dir()) == [
        "part1.tar.zst",
        "part2.tar.zst",
    ]


def test_a_part_that_is_another_now_is_unpacked_again(tmp_path: Path) -> None:
    parts = pack_sessions(tmp_path / "sample")
    unpacked = tmp_path / "results/archive"
    open_archive([tmp_path / "sample"], unpacked)
    before = read_links(unpacked)
    own = {path: content for path, content in FILES.items() if path.startswith("2026-11-20:22:11/")}
    pack(parts["2026-11-20:22:11"], own | {"2026-11-20:22:11/both_p2/ss:h:1": "changed"})
    open_archive([tmp_path / "sample"], unpacked)
    assert (unpacked / "2026-11-20:22:11/both_p2/ss:h:1").read_text() == "changed"
    after = read_links(unpacked)
    assert {path for path in before if after[path] == before[path]} == FILES.keys() - own.keys()


@pytest.mark.parametrize("can_link", [True, False])
def test_a_folder_in_a_list_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_link: bool) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    if not can_link:
        monkeypatch.setattr("os.link", refuse)
    own = {path: content for path, content in FILES.items() if path.startswith("2026-11-20:22:10/")}
    folder = write_archive(tmp_path / "own", own)
    parts = [folder, *list(pack_sessions(tmp_path / "sample").values())[1:]]
    unpacked = tmp_path / "results/archive"
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("/etc/hostname")
    assert sorted(open_archive(parts, unpacked).left_out) == ["link", "pipe"]
    before = read_links(unpacked)
    open_archive(parts, unpacked)
    assert read_links(unpacked) == before
    # Another content of the same size, in another file of the old date.
    path = folder / "2026-11-20:22:10/both_p2/ss:h:1"
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    path.unlink()
    path.write_text(SS.replace("Recv", "recv"))
    os.utime(path, ns=times)
    (folder / "2026-11-20:22:10/cubic_p1/ss:h:1").unlink()
    open_archive(parts, unpacked)
    assert (unpacked / "2026-11-20:22:10/both_p2/ss:h:1").read_text().startswith("# 1795215547.905306\nState recv-Q")
    assert before.keys() - read_links(unpacked).keys() == {"2026-11-20:22:10/cubic_p1/ss:h:1"}
    assert {file.name for file in folder.iterdir()} == {"2026-11-20:22:10", "link", "pipe"}


def test_two_parts_may_have_one_file_and_not_two_of_one_path(tmp_path: Path) -> None:
    path = "2026-11-20:22:10/both_p2/ss:h:1"
    first = pack(tmp_path / "first.tar.zst", {path: SS, "notes": "same"})
    second = pack(tmp_path / "second.tar.zst", {path: SS, "notes": "same", "more": "x"}, "wrapping")
    opened = open_archive([first, second], tmp_path / "w/archive")
    assert read_links(opened.root).keys() == {path, "notes", "more"}
    pack(second, {path: SS.replace("Recv", "recv"), "notes": "same", "more": "x"}, "wrapping")
    with pytest.raises(ArchiveError, match=rf"first.tar.zst and second.tar.zst have different files {path}; leave"):
        open_archive([first, second], tmp_path / "w/archive")


def test_a_file_where_another_part_has_a_folder_is_an_error(tmp_path: Path) -> None:
    first = pack(tmp_path / "first.tar.zst", {"a/b": "x", "c": "x"})
    second = pack(tmp_path / "second.tar.zst", {"a/b/d": "x", "e": "x"})
    with pytest.raises(ArchiveError, match=r"a/b is a file in first.tar.zst and a folder in second.tar.zst"):
        open_archive([first, second], tmp_path / "w/archive")


def test_what_is_being_collected_in_two_folders_is_no_conflict(tmp_path: Path) -> None:
    folders = [
        write_archive(tmp_path / name, {".partial/slot-1/attempt.json": name, f"2026-11-20:22:1{name}/a/ss:h:1": SS})
        for name in "12"
    ]
    opened = open_archive(folders, tmp_path / "w/archive")
    assert len(read_links(opened.root)) == 3


def test_a_damaged_part_is_named_and_the_others_stay(tmp_path: Path) -> None:
    parts = pack_sessions(tmp_path / "sample")
    broken = parts["2026-11-20:22:11"]
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(ArchiveError, match=r"part1\.tar\.zst is not a readable tarball or zip .*fetch it again"):
        open_archive([tmp_path / "sample"], tmp_path / "w/archive")
    with pytest.raises(ArchiveError, match=r"part9\.tar\.zst does not exist"):
        open_archive([tmp_path / "sample/part9.tar.zst"], tmp_path / "w/archive")


def test_parts_of_one_name_are_told_apart(tmp_path: Path) -> None:
    assert number_names(["a", "b", "a", "2-a", "a"]) == ["a", "b", "2-a", "2-2-a", "3-a"]
    for name in "12":
        (tmp_path / name).mkdir()
    parts = [pack(tmp_path / name / "x.tar.zst", {f"2026-11-20:22:1{name}/a/ss:h:1": SS}) for name in "12"]
    opened = open_archive(parts, tmp_path / "w/archive")
    assert list(opened.parts) == ["x.tar.zst", "2-x.tar.zst"]
    assert len(read_links(opened.root)) == 2


def test_one_packed_file_and_parts_take_each_other_s_place(tmp_path: Path) -> None:
    single = pack(tmp_path / "single.tar.zst", {"2026-11-20:22:19/a/ss:h:1": SS, "b/empty": ""})
    parts = list(pack_sessions(tmp_path / "sample").values())
    unpacked = tmp_path / "results/archive"
    for given, expected in (([single], {"2026-11-20:22:19/a/ss:h:1", "b/empty"}), (parts, FILES.keys())) * 2:
        assert read_links(open_archive(given, unpacked).root).keys() == expected


def test_only_experiments_of_a_part_that_changed_are_listed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files that are old enough to be known, without waiting for it.
    monkeypatch.setattr("ccreport.inventory.index.RACY_NS", -(10**12))
    parts = pack_sessions(tmp_path / "sample")
    made: list[str] = []
    make_manifest = experiment_listing._make_manifest

    def note_making(folder: Folder, *arguments: Any, **options: Any) -> Manifest:
        made.append(str(folder.session))
        return make_manifest(folder, *arguments, **options)

    monkeypatch.setattr(experiment_listing, "_make_manifest", note_making)
    first, second, third = parts.values()
    for given, sessions in (
        ([first, second], ["2026-11-20:22:10"] * 2 + ["2026-11-20:22:11"] * 2),
        ([first, second], []),
        ([first, second, third], ["2026-11-20:22:12"] * 2),
        ([first, third], []),
    ):
        made.clear()
        list_archive(given, tmp_path / "w")
        assert made == sessions


def test_a_layout_beside_parts_does_not_hide_what_is_in_them(tmp_path: Path) -> None:
    pack_sessions(tmp_path / "sample")
    (tmp_path / "sample/layout.yaml").write_text("files: [{pattern: '(?P<run>part.)[.]tar[.]zst'}]\n")
    with pytest.raises(ArchiveError, match=r"layout.yaml is beside packed files, and says nothing of what is in them"):
        list_archive(tmp_path / "sample", tmp_path / "w1")


def test_packed_files_below_a_folder_are_no_archive_of_results(tmp_path: Path) -> None:
    pack_sessions(write_archive(tmp_path / "outer", {"notes.txt": "x", "inner/notes.txt": "x"}) / "inner")
    with pytest.raises(ArchiveError, match=r"not one of its files .* is a result"):
        list_archive(tmp_path / "outer", tmp_path / "w1")
