"""Copies into a folder and onto a real WebDAV server, rclone's on loopback: only changes move, nothing is deleted."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from archives import list_plain, write_archive
from web_servers import RCLONE, run_webdav

from ccreport.storage.copy import copy_files, read_there, remove_files
from ccreport.storage.places import StorageError
from ccreport.storage.s3 import in_words

FILES = {"tables/runs.parquet": b"PAR1" * 1000, "a b&c.csv": b"x\n", "top.txt": b"top"}


@pytest.fixture(params=["folder", "webdav"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Return the address of a place, and the folder behind it."""
    if request.param == "folder":
        yield str(tmp_path / "target/release"), tmp_path / "target/release"
        return
    if RCLONE is None:
        pytest.skip("rclone is not installed")
    with run_webdav(tmp_path / "target") as address:
        yield f"{address}/release", tmp_path / "target/release"


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_new_folders_are_made_one_after_the_other(target: tuple[str, Path], tmp_path: Path) -> None:
    address, folder = target
    files = {f"{first}/{second}/{name}": b"x" for first in "abcdef" for second in "abcd" for name in "abc"}
    source = write_archive(tmp_path / "source", dict(files))
    assert copy_files(list_plain(source), address).written == tuple(sorted(files))
    assert read_files(folder) == files


def test_only_changes_move_and_nothing_is_deleted(target: tuple[str, Path], tmp_path: Path) -> None:
    address, folder = target
    source = write_archive(tmp_path / "source", dict(FILES))
    assert copy_files(list_plain(source), address, dry_run=True).written == tuple(sorted(FILES))
    assert not folder.exists() or not read_files(folder)
    assert copy_files(list_plain(source), address).written == tuple(sorted(FILES))
    assert read_files(folder) == FILES
    (source / "top.txt").write_bytes(b"pot")
    (source / "a b&c.csv").unlink()
    assert (read_there(address, "top.txt"), read_there(address, "none")) == (FILES["top.txt"], None)
    again = copy_files(list_plain(source), address)
    assert (again.written, again.unchanged) == (("top.txt",), ("tables/runs.parquet",))
    assert read_files(folder) == FILES | {"top.txt": b"pot"}
    for is_dry in (True, False):
        assert remove_files(["top.txt", "none"], address, dry_run=is_dry) == ["top.txt"]
        assert (folder / "top.txt").exists() == is_dry


@pytest.mark.skipif(RCLONE is None, reason="rclone is not installed")
def test_a_server_without_a_listing_cannot_tell_what_to_delete(tmp_path: Path) -> None:
    source = write_archive(tmp_path / "source", dict(FILES))
    with run_webdav(tmp_path / "target") as address, pytest.raises(StorageError, match="does not list what it has"):
        copy_files(list_plain(source), f"{address}/release", prune=True)
    assert read_files(tmp_path / "target") == {}


@pytest.mark.parametrize("status", [405, 501])
def test_a_server_that_only_gives_files_is_asked_once(status: int, tmp_path: Path) -> None:
    asked = []

    class Giving(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_error(404)

        def do_PUT(self) -> None:
            asked.append(self.path)
            self.send_error(status, explain="<p>not here</p>")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    source = write_archive(tmp_path / "source", dict(FILES))
    with ThreadingHTTPServer(("127.0.0.1", 0), Giving) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/release"
        with pytest.raises(StorageError) as error:
            copy_files(list_plain(source), address)
        server.shutdown()
    assert str(error.value) == f"{address}: the server takes no uploads ({status}); name a WebDAV folder"
    assert len(asked) == 1


def test_a_server_that_does_not_answer_is_not_called_a_store() -> None:
    said = "^http://127.0.0.1:1/a: no server answers; check the network and the address$"
    with pytest.raises(StorageError, match=said), in_words("http://127.0.0.1:1/a"):
        raise ValueError("error sending request")
