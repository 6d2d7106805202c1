import bz2
import gzip
import lzma
from functools import partial
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ccreport.archive import raw_file
from ccreport.archive.manifest import Manifest, ManifestRun, RawFile, read_manifest, write_manifests
from ccreport.archive.raw_file import RawFileError, iterate_blocks, read_whole
from ccreport.core.text import display_name
from ccreport.ingest.rejects import Rejects

TEXT = b"".join(b"line %d of a raw file\n" % number for number in range(20_000))
# bzip2 in blocks of 100 kB, so that the text has several.
COMPRESSORS = {
    "gz": gzip.compress,
    "bz2": partial(bz2.compress, compresslevel=1),
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_compressed_files_read_as_plain_ones(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "named without ending"
    path.write_bytes(COMPRESSORS[kind](TEXT))
    assert read_whole(path) == TEXT


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_members_one_after_the_other_are_one_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(COMPRESSORS[kind](TEXT[:1000]) + COMPRESSORS[kind](TEXT[1000:]))
    assert read_whole(path) == TEXT


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_a_file_that_ends_early_gives_what_came_and_says_where(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole = COMPRESSORS[kind](TEXT)
    path.write_bytes(whole[: len(whole) * 2 // 3])
    came: list[bytes] = []
    with pytest.raises(RawFileError, match="ends early; copy it again") as caught:
        came.extend(iterate_blocks(path))
    assert caught.value.reason == "truncated_compression"
    assert caught.value.offset == len(b"".join(came)) > 0
    assert TEXT.startswith(b"".join(came))


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_damage_is_told_from_an_early_end(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole = bytearray(COMPRESSORS[kind](TEXT))
    whole[len(whole) // 2 : len(whole) // 2 + 40] = bytes(40)
    path.write_bytes(whole)
    with pytest.raises(RawFileError) as caught:
        list(iterate_blocks(path))
    assert caught.value.reason == "corrupt_compression"


def test_a_file_that_is_gone_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(RawFileError, match="No such file") as caught:
        list(iterate_blocks(tmp_path / "gone"))
    assert caught.value.reason == "unreadable"


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(bytes(50_000_000)))
    with pytest.raises(RawFileError) as caught:
        read_whole(path, limit_bytes=1_000_000)
    assert caught.value.reason == "unpacks_too_large"


def test_what_has_too_many_values_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    # A bracket, two braces, a comma and two line ends.
    path.write_bytes(b'[{"a": 1}, {"b": 2}]\n\n' + bytes(20))
    monkeypatch.setattr(raw_file, "PIECES_LIMIT", 6)
    assert len(read_whole(path)) == 42
    monkeypatch.setattr(raw_file, "PIECES_LIMIT", 5)
    with pytest.raises(RawFileError, match="more than 5 lines and values in 42 bytes") as caught:
        read_whole(path)
    assert caught.value.reason == "unpacks_too_large"


@given(
    content=st.binary(max_size=300),
    magic=st.sampled_from([b"", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh9"]),
)
def test_no_bytes_raise_another_error(tmp_path_factory: pytest.TempPathFactory, content: bytes, magic: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(magic + content)
    try:
        whole = read_whole(path)
    except RawFileError as error:
        reason = error.reason
    else:
        reason = None
        assert magic or whole == content
    assert reason in (None, "truncated_compression", "corrupt_compression")


def test_names_become_valid_printable_text() -> None:
    assert display_name("plain ü.json") == "plain ü.json"
    assert display_name("new\nline\ttab") == "new\\nline\\ttab"
    assert display_name("bad\udcff") == "bad\\xff"


FILE = RawFile("id", "j/ss:h\udcff:1", "ss", "ss", 1, "0", "ingest", rule="ingest_ss", run_id="r")


def test_a_manifest_reads_back_and_is_written_the_same_again(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    manifest = Manifest("e", None, "j", (ManifestRun("r", "h:1", "h", 1),), (FILE,))
    write_manifests([manifest], path)
    assert read_manifest(path) == manifest
    before = path.read_bytes()
    write_manifests([manifest], path)
    assert path.read_bytes() == before
    assert manifest.files_for("ingest_ss") == [FILE]
    assert manifest.files_for("ingest_iperf3") == []


def test_rejects_of_one_file_are_numbered() -> None:
    rejects = Rejects()
    rejects.add(FILE, "malformed_record", "first", is_whole_file=False, line=3)
    rejects.add_error(FILE, RawFileError("truncated_text", "second", offset=70), is_whole_file=False)
    columns = ("part_number", "reason", "message", "path", "line_number", "byte_offset_bytes")
    assert rejects.frame().select(columns).rows() == [
        (0, "malformed_record", "first", "j/ss:h\\xff:1", 3, None),
        (1, "truncated_text", "second", "j/ss:h\\xff:1", None, 70),
    ]
