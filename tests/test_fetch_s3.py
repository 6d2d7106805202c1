"""Archives and results in S3: a real server of its protocol (versitygw) on loopback."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import fsspec
import polars as pl
import pytest
from obstore.fsspec import FsspecStore
from support import list_plain, save_table, write_archive
from web_servers import S3_SERVER, FaultyProxy, cut, run_proxy, run_s3

from ccreport.database import connect
from ccreport.storage import transfer
from ccreport.storage.copy import copy_files
from ccreport.storage.fetch import ask_archive, fetch_archive
from ccreport.storage.places import StorageError
from ccreport.store import list_table_files, store_results

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


def fetch(address: str, folder: Path) -> None:
    fetch_archive(address, folder, folder / "facts.json", folder / "log.txt", offline=False)


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("bucket")
def test_a_copy_is_fetched_again_the_same_and_only_changes_move(tmp_path: Path) -> None:
    source = write_archive(tmp_path / "source", dict(FILES))
    planned = copy_files(list_plain(source), "s3://archive/a/b", dry_run=True)
    assert (planned.written, planned.unchanged) == (tuple(sorted(FILES)), ())
    assert copy_files(list_plain(source), "s3://archive/a/b").written == tuple(sorted(FILES))
    again = copy_files(list_plain(source), "s3://archive/a/b")
    assert (again.written, again.unchanged) == ((), tuple(sorted(FILES)))
    fetch("s3://archive/a/b", tmp_path / "fetched")
    assert read_files(tmp_path / "fetched/files") == FILES
    before, _ = ask_archive("s3://archive/a/b", tmp_path / "fetched", 4, is_offline=False)
    (source / "top.log").write_bytes(b"pot")
    (source / "x&y <b>.json").unlink()
    changed = copy_files(list_plain(source), "s3://archive/a/b")
    assert (changed.written, changed.others) == (("top.log",), ("x&y <b>.json",))
    assert ask_archive("s3://archive/a/b", tmp_path / "fetched", 4, is_offline=False)[0] != before
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
