"""Archives on a web server: nginx itself on loopback, and a proxy before it that breaks what it sends."""

import base64
import hashlib
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archives import write_archive
from web_servers import (
    NGINX,
    FaultyProxy,
    busy,
    cut,
    damage,
    declare,
    list_requests,
    promise,
    refuse,
    run_nginx,
    run_plain,
    run_proxy,
    shorten,
)

from ccreport.storage import transfer
from ccreport.storage.fetch import SPARE_BYTES, fetch_archive, open_source
from ccreport.storage.patience import Gate
from ccreport.storage.places import StorageError, is_packed, name_packed
from ccreport.storage.sources import RemoteFile, UnreachableError
from ccreport.storage.transfer import fetch_file

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian's package nginx-light)")

JOB = "2026-11-20:22:10/both_p2"
LONG = bytes(range(256)) * 4000
FILES: dict[str, str | bytes] = {
    f"{JOB}/src-cmd:10.2.3.4:1:10.0ms": LONG,
    f"{JOB}/x&y <b> 100%.json": "{}",
    f"{JOB}/ünï\nline's": "b",
    "top.log": "top",
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return write_archive(tmp_path / "root", FILES)


@pytest.fixture
def nginx(site: Path, tmp_path: Path) -> Iterator[int]:
    with run_nginx(site, tmp_path / "nginx") as port:
        yield port


@pytest.fixture
def proxy(nginx: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    monkeypatch.setattr(transfer, "FIRST_WAIT_S", 0.01)
    with run_proxy(nginx) as proxy:
        yield proxy


def fetch(address: str, folder: Path, *, offline: bool = False) -> dict[str, Any]:
    facts = folder / "facts.json"
    fetch_archive([address], [folder], facts, folder / "log.txt", offline=offline)
    (told,) = json.loads(facts.read_text())
    return dict(told)


def read_fetched(folder: Path) -> dict[str, bytes]:
    files = folder / "files"
    return {path.relative_to(files).as_posix(): path.read_bytes() for path in files.rglob("*") if path.is_file()}


def read_log(folder: Path) -> str:
    """Return what the last fetch into a folder said."""
    return (folder / "log.txt").read_text()


def as_bytes(files: dict[str, str | bytes]) -> dict[str, bytes]:
    return {path: value.encode() if isinstance(value, str) else value for path, value in files.items()}


@pytest.mark.parametrize("manner", ["", "json/", "rounded/"])
def test_an_index_is_fetched_whole_and_then_only_what_changed(
    nginx: int, site: Path, tmp_path: Path, manner: str
) -> None:
    address, folder = f"http://127.0.0.1:{nginx}/{manner}", tmp_path / "fetched"
    facts = fetch(address, folder)
    assert read_fetched(folder) == as_bytes(FILES)
    assert (facts["files_count"], facts["size_bytes"]) == (4, len(LONG) + 2 + 1 + 3)
    assert fetch(address, folder) == facts
    assert "0 files fetched, 4 unchanged, 0 removed" in read_log(folder)
    write_archive(site, {"new.log": "new", "top.log": "longer"})
    (site / JOB / "ünï\nline's").unlink()
    asked = len(list_requests(tmp_path / "nginx"))
    fetch(address, folder)
    expected = {**FILES, "new.log": "new", "top.log": "longer"}
    del expected[f"{JOB}/ünï\nline's"]
    assert read_fetched(folder) == as_bytes(expected)
    new = list_requests(tmp_path / "nginx")[asked:]
    assert sorted(one.rpartition("/")[2] for one in new if not one.endswith("/ 200")) == ["new.log 200", "top.log 200"]


def test_a_dropped_transfer_goes_on_where_it_broke_off(proxy: FaultyProxy, tmp_path: Path) -> None:
    path = f"/{JOB.replace(':', '%3A')}/src-cmd%3A10.2.3.4%3A1%3A10.0ms"
    proxy.faults[path] = [cut(400_000), cut(300_000)]
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)
    assert [asked for one, asked in proxy.requests if one == path] == [None, "400000-", "700000-"]
    assert proxy.open_most <= 4


def test_a_half_fetched_file_is_kept_for_the_next_call_and_is_never_seen(proxy: FaultyProxy, tmp_path: Path) -> None:
    path = f"/{JOB.replace(':', '%3A')}/src-cmd%3A10.2.3.4%3A1%3A10.0ms"
    proxy.faults[path] = [cut(1000)] + [cut(0)] * 4
    with pytest.raises(StorageError, match=r"broke off 5 times.*run again, 1000 bytes are kept"):
        fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert f"{JOB}/src-cmd:10.2.3.4:1:10.0ms" not in read_fetched(tmp_path / "fetched")
    assert "broke off" in (tmp_path / "fetched/log.txt").read_text()
    proxy.requests.clear()
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)
    assert [asked for one, asked in proxy.requests if one == path] == ["1000-"]
    assert not (tmp_path / "fetched/parts").exists()


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_left_alone_as_long_as_it_asks(proxy: FaultyProxy, tmp_path: Path, status: int) -> None:
    proxy.faults["/top.log"] = [busy(status, 1)]
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)
    assert f"The server is busy ({status}) and asks to wait 1 s" in (tmp_path / "fetched/log.txt").read_text()


def test_a_server_that_is_away_for_an_hour_is_not_waited_for(proxy: FaultyProxy, tmp_path: Path) -> None:
    proxy.faults["/"] = [busy(503, 3600)]
    with pytest.raises(StorageError, match="asks to come back in 3600 s"):
        fetch(f"{proxy.address}/", tmp_path / "fetched")


@pytest.mark.parametrize("fault", [shorten(2), promise(2)])
def test_a_wrong_length_is_seen_by_the_listed_size(proxy: FaultyProxy, tmp_path: Path, fault: Any) -> None:
    proxy.faults["/top.log"] = [fault]
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)
    shutil.rmtree(tmp_path / "fetched")
    # The first byte that is missing never comes.
    proxy.faults["/top.log"] = [fault, *[shorten(0)] * 4]
    with pytest.raises(StorageError, match=r"broke off 5 times .it has 2 bytes and is listed with 3"):
        fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert "top.log" not in read_fetched(tmp_path / "fetched")


@pytest.mark.parametrize("sums", ["SHA256SUMS", "top.log.sha256"])
def test_a_published_checksum_is_compared(proxy: FaultyProxy, site: Path, tmp_path: Path, sums: str) -> None:
    write_archive(site, {sums: f"{hashlib.sha256(b'top').hexdigest()}  top.log\n"})
    proxy.faults["/top.log"] = [damage()]
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    # The list is part of the archive, as it is where that lies on a disk.
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES) | {sums: (site / sums).read_bytes()}
    write_archive(site, {sums: f"{'0' * 64}  top.log\n"})
    with pytest.raises(StorageError, match=r"top.log has the SHA-256 [0-9a-f]{16}… and 0{16}… is published"):
        fetch(f"{proxy.address}/", tmp_path / "fetched")


def test_what_a_list_of_checksums_names_and_the_index_does_not_is_said(
    proxy: FaultyProxy, site: Path, tmp_path: Path
) -> None:
    write_archive(site, {"SHA256SUMS": f"{hashlib.sha256(b'top').hexdigest()}  top.log\n{'0' * 64}  gone.log\n"})
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert "Named in a list of checksums and not listed: 'gone.log'" in (tmp_path / "fetched/log.txt").read_text()


@pytest.mark.parametrize("header", ["Repr-Digest: sha-256=:{}:", "Digest: SHA-256={}"])
def test_a_digest_in_the_response_is_compared(proxy: FaultyProxy, tmp_path: Path, header: str) -> None:
    wrong = header.format(base64.b64encode(hashlib.sha256(b"else").digest()).decode())
    right = header.format(base64.b64encode(hashlib.sha256(b"top").digest()).decode())
    proxy.faults["/top.log"] = [declare(wrong), declare(right)]
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert "is not what the sha256 digest in its response says" in (tmp_path / "fetched/log.txt").read_text()
    assert proxy.faults["/top.log"] == []


def test_a_file_that_grows_after_it_was_listed_is_taken_as_it_is_then(
    proxy: FaultyProxy, site: Path, tmp_path: Path
) -> None:
    def grow(head: bytes, body: bytes) -> bytes:
        (site / "top.log").write_text("grown")
        return head + body

    proxy.faults["/"] = [grow]
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched")["top.log"] == b"grown"


def test_a_file_that_went_after_it_was_listed_is_an_error(proxy: FaultyProxy, site: Path, tmp_path: Path) -> None:
    def remove(head: bytes, body: bytes) -> bytes:
        (site / "top.log").unlink()
        return head + body

    proxy.faults["/"] = [remove]
    with pytest.raises(StorageError, match=r"top.log is not there .404.; check the address, or run again"):
        fetch(f"{proxy.address}/", tmp_path / "fetched")


def test_what_was_fetched_and_is_gone_here_is_fetched_again(nginx: int, tmp_path: Path) -> None:
    address, folder = f"http://127.0.0.1:{nginx}/", tmp_path / "fetched"
    facts = fetch(address, folder)
    (folder / "files/top.log").unlink()
    assert fetch(address, folder) == facts
    assert read_fetched(folder) == as_bytes(FILES)


@pytest.mark.slow
def test_nginx_limits_requests_and_is_obeyed(nginx: int, tmp_path: Path) -> None:
    fetch(f"http://127.0.0.1:{nginx}/slow/", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)
    assert any(one.endswith(" 429") for one in list_requests(tmp_path / "nginx"))


def test_what_was_fetched_is_taken_where_nobody_answers(site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "fetched"
    with run_nginx(site, tmp_path / "nginx") as port:
        address = f"http://127.0.0.1:{port}/"
        with pytest.raises(StorageError, match="has not been fetched whole; run once with a network"):
            fetch(address, folder, offline=True)
        facts = fetch(address, folder)
    assert fetch(address, folder) == facts
    assert re.search("cannot be reached.*taking its 4 files as they were fetched at 20", read_log(folder))
    assert fetch(address, folder, offline=True) == facts
    assert read_log(folder).startswith("Offline, so http")
    with pytest.raises(UnreachableError, match="Connection refused"):
        fetch(address, tmp_path / "others")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere/", "is not there .404."),
        ("private/", "is not for everybody .403.; put name and password for its host into ~/.netrc"),
        ("elsewhere/", "leads to another host, 127.0.0.2"),
        ("unprotected.tar", "leads to another host, 192.0.2.1"),
        ("top.log/", "is not there .404."),
    ],
)
def test_what_a_user_can_mend_is_said(nginx: int, tmp_path: Path, path: str, words: str) -> None:
    with pytest.raises(StorageError, match=words):
        fetch(f"http://127.0.0.1:{nginx}/{path}", tmp_path / "fetched")


def test_a_packed_archive_is_one_file(nginx: int, site: Path, tmp_path: Path) -> None:
    write_archive(site, {"a.tar.gz": LONG, "a.tar.gz.sha256": f"{hashlib.sha256(LONG).hexdigest()}  a.tar.gz\n"})
    address = f"http://127.0.0.1:{nginx}/a.tar.gz"
    assert (is_packed(address), name_packed(address)) == (True, "a.tar.gz")
    fetch(address, tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == {"a.tar.gz": LONG}
    fetch(address, tmp_path / "fetched")
    assert "0 files fetched, 1 unchanged, 0 removed" in read_log(tmp_path / "fetched")
    write_archive(site, {"a.tar.gz": LONG + b"x"})
    with pytest.raises(StorageError, match="is published; the file or the list of checksums is damaged"):
        fetch(address, tmp_path / "fetched")


@pytest.mark.parametrize("name", ["a.tar.gz.sha256", "SHA256SUMS", "sha256sum.txt"])
def test_the_checksum_of_a_packed_archive_is_looked_for_beside_it(
    nginx: int, site: Path, tmp_path: Path, name: str
) -> None:
    write_archive(site, {"a.tar.gz": LONG, name: f"{'0' * 64}  a.tar.gz\n"})
    with pytest.raises(StorageError, match="is published; the file or the list of checksums is damaged"):
        fetch(f"http://127.0.0.1:{nginx}/a.tar.gz", tmp_path / "fetched")


def test_a_packed_archive_may_be_kept_on_another_host(nginx: int, site: Path, tmp_path: Path) -> None:
    write_archive(site, {"a.tar.gz": LONG})
    fetch(f"http://127.0.0.1:{nginx}/kept/b.tar.gz", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == {"b.tar.gz": LONG}


@pytest.mark.parametrize("status", [403, 405])
def test_a_server_may_refuse_what_is_only_guessed(proxy: FaultyProxy, site: Path, tmp_path: Path, status: int) -> None:
    write_archive(site, {"a.tar.gz": LONG})
    for name in ("a.tar.gz.sha256", "SHA256SUMS", "sha256sum.txt"):
        proxy.faults[f"/{name}"] = [refuse(status)]
    # Nor need it know how to tell a size without sending the file.
    proxy.faults["/a.tar.gz"] = [refuse(405)]
    fetch(f"{proxy.address}/a.tar.gz", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == {"a.tar.gz": LONG}


@pytest.mark.parametrize("path", ["/", f"/{JOB.replace(':', '%3A')}/"])
@pytest.mark.parametrize("fault", [cut(150), shorten(150)])
def test_an_index_that_ends_in_its_middle_is_read_again_and_removes_nothing(
    proxy: FaultyProxy, tmp_path: Path, path: str, fault: Any
) -> None:
    proxy.faults[path] = [fault]
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)
    proxy.faults[path] = [fault] * 2
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    said = read_log(tmp_path / "fetched")
    assert re.search(r"/: the index broke off 2 times .*taking its 4 files as they were fetched at 20", said)
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert "0 files fetched, 4 unchanged, 0 removed" in read_log(tmp_path / "fetched")


@pytest.mark.parametrize(
    ("fault", "word"),
    [(busy(503, None), "stayed busy"), (busy(429, 3600), "come back in 3600 s"), (refuse(404), "is not there")],
)
def test_what_was_fetched_is_taken_with_a_word_where_the_index_cannot_be_had(
    proxy: FaultyProxy, tmp_path: Path, fault: Any, word: str
) -> None:
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    proxy.faults["/"] = [fault] * 4
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    said = read_log(tmp_path / "fetched")
    assert word in said
    assert "taking its 4 files as they were fetched at" in said


@pytest.mark.parametrize("wait", ["soon", "1.5", "-1", ""])
def test_a_wait_that_nobody_understands_is_an_ordinary_one(proxy: FaultyProxy, tmp_path: Path, wait: str) -> None:
    proxy.faults["/top.log"] = [busy(503, wait)]
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)


def test_what_a_server_asks_of_one_connection_holds_for_all_until_they_are_stopped() -> None:
    gate = Gate()
    gate.close(0.2)
    begin_s = time.monotonic()
    gate.pause()
    assert time.monotonic() - begin_s >= 0.15
    gate.close(600)
    threading.Timer(0.1, gate.stop).start()
    with pytest.raises(StorageError, match="stopped; run again"):
        gate.pause()
    assert time.monotonic() - begin_s < 60


def test_an_error_does_not_wait_for_what_waits(proxy: FaultyProxy, tmp_path: Path) -> None:
    proxy.faults["/top.log"] = [busy(503, 300)]
    proxy.faults[f"/{JOB.replace(':', '%3A')}/x%26y%20%3Cb%3E%20100%25.json"] = [refuse(410)]
    begin_s = time.monotonic()
    with pytest.raises(StorageError, match=r"is not there .410|stopped"):
        fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert time.monotonic() - begin_s < 100


@pytest.mark.parametrize("spelt", ["my archive", "my%20archive", "%6Dy%20archive", "x/../my archive"])
def test_an_address_may_be_spelt_in_any_way(nginx: int, site: Path, tmp_path: Path, spelt: str) -> None:
    write_archive(site, {"my archive/a.log": "a"})
    fetch(f"HTTP://127.0.0.1:{nginx}/{spelt}", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == {"a.log": b"a"}


def test_changes_are_seen_where_the_index_tells_names_only(site: Path, tmp_path: Path) -> None:
    with run_plain(site) as address:
        fetch(address, tmp_path / "fetched")
        assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)
        fetch(address, tmp_path / "fetched")
        assert "0 files fetched, 4 unchanged, 0 removed" in read_log(tmp_path / "fetched")
        (site / "top.log").write_text("longer")
        fetch(address, tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched")["top.log"] == b"longer"


def test_what_is_half_fetched_needs_no_room_twice(
    proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/{JOB.replace(':', '%3A')}/src-cmd%3A10.2.3.4%3A1%3A10.0ms"
    proxy.faults[path] = [cut(900_000)] + [cut(0)] * 4
    with pytest.raises(StorageError, match="900000 bytes are kept"):
        fetch(f"{proxy.address}/", tmp_path / "fetched")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=SPARE_BYTES + 200_000))
    fetch(f"{proxy.address}/", tmp_path / "fetched")
    assert read_fetched(tmp_path / "fetched") == as_bytes(FILES)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=SPARE_BYTES))
    with pytest.raises(StorageError, match=r"68 MB are needed, 67 MB to spare among them, and 67 MB are free"):
        fetch(f"{proxy.address}/", tmp_path / "other")


def test_bytes_of_a_version_that_nothing_tells_are_not_gone_on_with(
    proxy: FaultyProxy, site: Path, tmp_path: Path
) -> None:
    source = open_source(f"{proxy.address}/")
    file = RemoteFile("top.log", f"{proxy.address}/top.log", None, "")
    (tmp_path / "part").write_bytes(b"old")
    (site / "top.log").write_text("new and longer")
    fetch_file(source, file, tmp_path / "target", tmp_path / "part", lambda _: None, threading.Event())
    assert (tmp_path / "target").read_text() == "new and longer"
