"""Archives and results in S3: a real server of its protocol (versitygw) on loopback."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import fsspec
import polars as pl
import pytest
import requests
from archives import list_plain, save_table, write_archive
from obstore.fsspec import FsspecStore
from web_servers import S3_SERVER, Fault, FaultyProxy, busy, cut, damage, run_proxy, run_s3, shorten

from ccreport.publish.store import list_table_files, store_results
from ccreport.storage import transfer
from ccreport.storage.copy import copy_files, read_there
from ccreport.storage.fetch import fetch_archive
from ccreport.storage.places import StorageError
from ccreport.summarise.database import connect

pytestmark = pytest.mark.skipif(S3_SERVER is None, reason="versitygw is not installed (make s3server compiles it)")

LONG = bytes(range(256)) * 4000
FILES = {"2026-11-20:22:10/both_p2/src-cmd:10.2.3.4:1:10.0ms": LONG, "x&y <b>.json": b"{}", "top.log": b"top"}


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    (tmp_path / "s3/archive").mkdir(parents=True)
    with run_s3(tmp_path / "s3") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield variables


@pytest.fixture
def proxy(bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    monkeypatch.setattr(transfer, "FIRST_WAIT_S", 0.01)
    with run_proxy(int(bucket["AWS_ENDPOINT_URL"].rpartition(":")[2])) as proxy:
        yield proxy


def fetch(address: str, folder: Path) -> str:
    """Fetch an archive; return what is then known of it."""
    fetch_archive([address], [folder], folder / "facts.json", folder / "log.txt", offline=False)
    return (folder / "facts.json").read_text(encoding="utf-8")


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("bucket")
def test_a_copy_is_fetched_again_the_same_and_only_changes_move(tmp_path: Path) -> None:
    source = write_archive(tmp_path / "source", dict(FILES))
    planned = copy_files(list_plain(source), "s3://archive/a/b", dry_run=True)
    assert (planned.written, planned.unchanged) == (tuple(sorted(FILES)), ())
    assert copy_files(list_plain(source), "s3://archive/a/b").written == tuple(sorted(FILES))
    assert read_there("s3://archive/a/b", "none") is None
    again = copy_files(list_plain(source), "s3://archive/a/b")
    assert (again.written, again.unchanged) == ((), tuple(sorted(FILES)))
    fetch("s3://archive/a/b", tmp_path / "fetched")
    assert read_files(tmp_path / "fetched/files") == FILES
    facts = fetch("s3://archive/a/b", tmp_path / "fetched")
    (source / "top.log").write_bytes(b"pot")
    (source / "x&y <b>.json").unlink()
    changed = copy_files(list_plain(source), "s3://archive/a/b")
    assert (changed.written, changed.others) == (("top.log",), ("x&y <b>.json",))
    assert fetch("s3://archive/a/b", tmp_path / "fetched") != facts
    copy_files(list_plain(source), "s3://archive/a/b", prune=True)
    fetch("s3://archive/a/b", tmp_path / "fetched")
    assert read_files(tmp_path / "fetched/files") == read_files(source)


def test_a_dropped_transfer_goes_on(proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_files(list_plain(write_archive(tmp_path / "source", dict(FILES))), "s3://archive/a")
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    proxy.faults["/archive/a/top.log"] = [cut(1)]
    fetch("s3://archive/a", tmp_path / "fetched")
    assert read_files(tmp_path / "fetched/files") == FILES


@pytest.mark.usefixtures("bucket")
def test_a_published_checksum_is_compared(tmp_path: Path) -> None:
    sums = f"{hashlib.sha256(b'else').hexdigest()}  top.log\n"
    copy_files(list_plain(write_archive(tmp_path / "source", {"top.log": "top", "SHA256SUMS": sums})), "s3://archive/a")
    with pytest.raises(StorageError, match="is published; the file or the list of checksums is damaged"):
        fetch("s3://archive/a", tmp_path / "fetched")


@pytest.mark.usefixtures("bucket")
def test_wrong_credentials_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(StorageError, match="the store refuses these credentials; check AWS_ACCESS_KEY_ID"):
        fetch("s3://archive/a", tmp_path / "fetched")


def test_stored_tables_are_read_there_by_duckdb_and_polars(bucket: dict[str, str], tmp_path: Path) -> None:
    names = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(4000)]
    runs = save_table("runs", [{"run_id": name} for name in names], tmp_path / "tables/runs/one.parquet")
    database = tmp_path / "archive.duckdb"
    with connect(database, read_only=False) as connection:
        connection.execute(f"CREATE VIEW runs AS FROM read_parquet(['{runs}'])")
    assert list_table_files(database) == {"runs": [runs]}
    facts, log = tmp_path / "stored.json", tmp_path / "log.txt"
    store_results(database, tmp_path, "s3://archive/results", facts, log, dry_run=False, prune=False)
    assert json.loads(facts.read_text())["files_count"] == 2
    assert "'s3://archive/results/tables/runs/one.parquet'" in (tmp_path / "s3/archive/results/views.sql").read_text()
    options = {
        "aws_access_key_id": bucket["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": bucket["AWS_SECRET_ACCESS_KEY"],
        "aws_endpoint_url": bucket["AWS_ENDPOINT_URL"],
        "aws_region": bucket["AWS_REGION"],
        "aws_allow_http": "true",
    }
    table = pl.scan_parquet("s3://archive/results/tables/runs/*.parquet", storage_options=options).collect()
    assert table.get_column("run_id").to_list() == sorted(names)
    fsspec.register_implementation("s3", FsspecStore, clobber=True)
    store = fsspec.filesystem("s3", client_options={"allow_http": True})
    with duckdb.connect() as connection:
        connection.register_filesystem(store)
        count = connection.execute("SELECT count(*) FROM 's3://archive/results/tables/runs/one.parquet'").fetchall()
    assert count == [(4000,)]


def put(variables: dict[str, str], key: str) -> int:
    """Write an empty object of a key that may end with a slash, which the library cannot; return the status."""
    host, now = variables["AWS_ENDPOINT_URL"].removeprefix("http://"), datetime.now(UTC)
    day, stamp, digest = f"{now:%Y%m%d}", f"{now:%Y%m%dT%H%M%SZ}", hashlib.sha256(b"").hexdigest()
    signed = "host;x-amz-content-sha256;x-amz-date"
    facts = f"host:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{stamp}\n"
    request = f"PUT\n/{key}\n\n{facts}\n{signed}\n{digest}"
    scope = f"{day}/{variables['AWS_REGION']}/s3/aws4_request"
    secret = f"AWS4{variables['AWS_SECRET_ACCESS_KEY']}".encode()
    for part in scope.split("/"):
        secret = hmac.digest(secret, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    proof = hmac.digest(secret, text.encode(), "sha256").hex()
    who = f"AWS4-HMAC-SHA256 Credential={variables['AWS_ACCESS_KEY_ID']}/{scope}, SignedHeaders={signed}"
    headers = {"x-amz-date": stamp, "x-amz-content-sha256": digest, "Authorization": f"{who}, Signature={proof}"}
    return requests.put(f"http://{host}/{key}", headers=headers, timeout=10).status_code


def test_marks_of_folders_are_no_files(bucket: dict[str, str], tmp_path: Path) -> None:
    files = FILES | {"empty.log": b""}
    copy_files(list_plain(write_archive(tmp_path / "source", dict(files))), "s3://archive/a")
    assert [put(bucket, f"archive/{key}") for key in ("a/", "a/none/", "a/2026-11-20%3A22%3A10/")] == [200] * 3
    fetch("s3://archive/a", tmp_path / "fetched")
    assert read_files(tmp_path / "fetched/files") == files
    assert "Left out: s3://archive/a/none marks a folder" in (tmp_path / "fetched/log.txt").read_text()


def for_bodies(fault: Fault) -> Fault:
    """Leave answers without a body as they are."""
    return lambda head, body: fault(head, body) if body else head + body


def test_wrong_bytes_are_fetched_once_more_and_then_named(
    proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_files(list_plain(write_archive(tmp_path / "source", dict(FILES))), "s3://archive/a")
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    # Nor is a body of which the store says that it is whole.
    proxy.faults["/archive/a/top.log"] = [for_bodies(damage()), for_bodies(shorten(1))]
    fetch("s3://archive/a", tmp_path / "fetched")
    assert read_files(tmp_path / "fetched/files") == FILES
    proxy.faults["/archive/a/top.log"] = [for_bodies(damage())] * 2
    with pytest.raises(StorageError, match=r"s3://archive/a/top\.log is not what its ETag says"):
        fetch("s3://archive/a", tmp_path / "other")
    assert "top.log" not in read_files(tmp_path / "other/files")


def test_etags_of_a_store_that_encrypts_by_itself_are_no_checksums(
    proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_files(list_plain(write_archive(tmp_path / "source", dict(FILES))), "s3://archive/a")
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    monkeypatch.setenv("AWS_SERVER_SIDE_ENCRYPTION", "aws:kms")
    proxy.faults["/archive/a/top.log"] = [for_bodies(damage())]
    fetch("s3://archive/a", tmp_path / "fetched")
    assert len([path for path, _ in proxy.requests if path.endswith("top.log")]) == 1


@pytest.mark.parametrize("fault", [cut(200), busy(503, None), busy(429, None)])
@pytest.mark.parametrize("place", ["listing", "object"])
def test_a_store_that_breaks_off_or_is_busy_is_asked_again(
    proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, place: str
) -> None:
    copy_files(list_plain(write_archive(tmp_path / "source", dict(FILES))), "s3://archive/a")
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    listing = "/archive?list-type=2&prefix=a%2F"
    path = listing if place == "listing" else "/archive/a/x%26y%20%3Cb%3E.json"
    proxy.faults[path] = [fault]
    fetch("s3://archive/a", tmp_path / "fetched")
    assert read_files(tmp_path / "fetched/files") == FILES
    assert proxy.faults[path] == [], {asked for asked, _ in proxy.requests}


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize("name", ["a.tar.gz.sha256", "SHA256SUMS"])
def test_the_checksum_of_a_packed_archive_is_looked_for_beside_it(tmp_path: Path, name: str) -> None:
    copy_files(list_plain(write_archive(tmp_path / "source", {"a.tar.gz": LONG})), "s3://archive/b")
    fetch("s3://archive/b/a.tar.gz", tmp_path / "fetched")
    assert read_files(tmp_path / "fetched/files") == {"a.tar.gz": LONG}
    sums = {name: f"{hashlib.sha256(b'else').hexdigest()}  a.tar.gz\n"}
    copy_files(list_plain(write_archive(tmp_path / "sums", sums)), "s3://archive/b")
    with pytest.raises(StorageError, match="is published; the file or the list of checksums is damaged"):
        fetch("s3://archive/b/a.tar.gz", tmp_path / "other")
