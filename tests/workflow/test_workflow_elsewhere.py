"""The whole workflow on an archive that lies elsewhere: on nginx and in S3, on loopback."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support import list_plain
from web_servers import NGINX, S3_SERVER, run_nginx, run_s3

from ccreport.storage.copy import copy_files
from workflow import SUMMARIES, add_run, build, check_golden, find_own


def follow_changes(address: str, archive: Path, folder: Path, publish: Callable[[], object]) -> None:
    """Build the tables of an archive elsewhere: first, again, with one run more, all as of the archive on disk."""
    first = build("tables", address, folder)
    assert first.returncode == 0, first.output
    assert first.jobs["fetch_archive"] == 1
    check_golden(first.results)
    assert not build("tables", address, folder).jobs

    add_run(archive)
    publish()
    added = build("tables", address, folder)
    assert added.returncode == 0, added.output
    assert [added.jobs[rule] for rule in ("fetch_archive", "list_raw_files", "ingest_batch")] == [1, 1, 1]
    (log,) = (folder / "logs/ingest_batch").glob("*.txt")
    assert log.read_text().strip() == "read 1 of 9 experiments, kept 8"
    on_disk = build("tables", archive, folder / "disk")
    for name in SUMMARIES:
        table = f"summaries/{name}.parquet"
        assert (find_own(added.results) / table).read_bytes() == (find_own(on_disk.results) / table).read_bytes(), name


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian's package nginx-light)")
def test_an_archive_on_a_web_server_is_built_as_one_on_disk(raw: Path, tmp_path: Path) -> None:
    archive = Path(shutil.copytree(raw, tmp_path / "archive"))
    with run_nginx(archive, tmp_path / "nginx") as port:
        address = f"http://127.0.0.1:{port}/"
        follow_changes(address, archive, tmp_path, lambda: None)
    gone = build("tables", address, tmp_path)
    assert gone.returncode == 0, gone.output
    assert not gone.jobs
    assert "as they were fetched at" in gone.output


@pytest.mark.skipif(S3_SERVER is None, reason="versitygw is not installed (make s3server compiles it)")
def test_an_archive_in_s3_is_built_as_one_on_disk(raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Path(shutil.copytree(raw, tmp_path / "archive"))
    (tmp_path / "s3/archive").mkdir(parents=True)
    with run_s3(tmp_path / "s3") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

        def publish() -> None:
            copy_files(list_plain(archive), "s3://archive/raw")

        publish()
        follow_changes("s3://archive/raw", archive, tmp_path, publish)
