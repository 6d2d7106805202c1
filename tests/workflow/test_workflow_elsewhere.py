"""The whole workflow on an archive that lies elsewhere: on nginx and in S3, on loopback."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from archives import iperf3_json, list_plain, write_archive
from builds import SUMMARIES, add_run, build, check_golden, find_own, read_results
from web_servers import NGINX, S3_SERVER, run_nginx, run_s3

from ccreport.archive.pack import pack_folder
from ccreport.storage.copy import copy_files

pytestmark = pytest.mark.slow


def follow_changes(address: str, archive: Path, folder: Path, publish: Callable[[], object]) -> None:
    """Build the tables of an archive elsewhere: first, again, with one run more, all as of the archive on disk."""
    first = build("tables", address, folder)
    assert first.returncode == 0, first.output
    assert first.jobs["fetch_archive"] == 1
    check_golden(first.results)
    # The place is asked, and nothing else is done.
    assert build("tables", address, folder).jobs == {"fetch_archive": 1}

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
    assert gone.jobs == {"fetch_archive": 1}
    assert "as they were fetched at" in gone.output


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian's package nginx-light)")
def test_results_of_an_archive_on_disk_are_never_taken_for_one_elsewhere(tmp_path: Path) -> None:
    for place, flows in (("here", 1), ("there", 2)):
        runs = {f"2026-11-2{number}:22:10/both_p2/src-cmd:h:1": iperf3_json() for number in range(flows)}
        write_archive(tmp_path / place, runs)
    assert build("ingest", tmp_path / "here", tmp_path).jobs["ingest_batch"] == 1
    with run_nginx(tmp_path / "there", tmp_path / "nginx") as port:
        address = f"http://127.0.0.1:{port}/"
        fetched = build("ingest", address, tmp_path)
        assert fetched.returncode == 0, fetched.output
        assert read_results(fetched.results, "tests").height == 2
        build("ingest", address, tmp_path)
        assert build("ingest", address, tmp_path).jobs == {"fetch_archive": 1}
    assert read_results(build("ingest", tmp_path / "here", tmp_path).results, "tests").height == 1
    nobody = build("ingest", f"http://127.0.0.1:{port}/", tmp_path / "new")
    assert nobody.returncode == 1
    build("ingest", tmp_path / "here", tmp_path / "new")
    assert build("ingest", f"http://127.0.0.1:{port}/", tmp_path / "new").returncode == 1


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian's package nginx-light)")
def test_parts_may_be_elsewhere(tmp_path: Path) -> None:
    parts = {}
    for place, day in (("there/a", 20), ("there/b", 21), ("here/c", 22)):
        files = write_archive(tmp_path / place, {f"2026-11-{day}:22:10/both_p2/src-cmd:h:1": iperf3_json()})
        parts[place] = tmp_path / f"{place}.tar.zst"
        pack_folder(files, parts[place], None)
        shutil.rmtree(files)
    with run_nginx(tmp_path / "there", tmp_path / "nginx") as port:
        address = f"http://127.0.0.1:{port}"
        named = [f"{address}/a.tar.zst", f"{address}/b.tar.zst", str(parts["here/c"])]
        listed = build("ingest", named, tmp_path)
        assert listed.returncode == 0, listed.output
        assert read_results(listed.results, "tests").height == 3
        # Whether anything changed there is asked in each build.
        assert build("ingest", named, tmp_path).jobs == {"fetch_archive": 1}
        # Their folder is one of parts, which shows when it was fetched.
        folder = build("ingest", [f"{address}/", str(tmp_path / "here")], tmp_path / "folder")
        assert folder.returncode == 0, folder.output
        single = build("ingest", f"{address}/", tmp_path / "single")
        assert single.returncode == 0, single.output
    raw_files = [read_results(one.results, "raw_files").sort("path") for one in (listed, folder)]
    assert raw_files[0].height == 3
    assert raw_files[0].equals(raw_files[1])
    assert read_results(single.results, "raw_files").height == 2


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
