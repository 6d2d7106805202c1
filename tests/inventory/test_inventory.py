import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from archives import JOB, SS, iperf3_json, list_archive, list_batches, write_archive

from ccreport.archive.harness_layout import Folder
from ccreport.archive.manifest import Manifest, RawFile, read_manifest
from ccreport.archive.unpack import ArchiveError
from ccreport.inventory import experiment_listing
from ccreport.inventory.index import InventoryIndex, Look


def inventory(archive: Path, work: Path) -> dict[str, RawFile]:
    return {file.path: file for manifest in list_archive(archive, work).values() for file in manifest.files}


def test_every_file_is_listed_with_kind_and_rule(tmp_path: Path) -> None:
    names = {
        f"{JOB}/jobmeta.json": ("{}", "jobmeta", "ingest", "ingest_metadata"),
        f"{JOB}/10.0.0.2-meta.json": ("{}", "host-meta", "ingest", "ingest_metadata"),
        f"{JOB}/src-cmd:10.0.0.2:1": (iperf3_json(), "src-cmd", "ingest", "ingest_iperf3"),
        f"{JOB}/src-cmd-2:10.0.0.2:1": ('{"event":"start","data":{}}\n', "src-cmd", "ingest", "ingest_iperf3"),
        f"{JOB}/ss:10.0.0.2:1": (SS, "ss", "ingest", "ingest_ss"),
        f"{JOB}/mpstat-sender:10.0.0.2:1.json": ('{"sysstat": {}}', "mpstat", "ingest", "ingest_mpstat"),
        f"{JOB}/pre-netem:10.0.0.2:1": ("qdisc netem 1: dev r1 root", "pre-netem", "ingest", "ingest_metadata"),
        f"{JOB}/pre-netem:10.0.0.2:2": ("", "pre-netem", "ignored", "empty_netem_logs_not_read"),
        f"{JOB}/tcpdump:10.0.0.2:1": (b"\xd4\xc3\xb2\xa1" + bytes(20), "tcpdump", "ingest", "ingest_captures"),
        f"{JOB}/tcpdump-log:10.0.0.2:1": ("3 packets captured", "tcpdump-log", "ingest", "ingest_captures"),
        f"{JOB}/dst-cmd:10.0.0.2:1": (iperf3_json(), "dst-cmd", "ignored", "server_side_not_read"),
        f"{JOB}/xtraffic:10.0.0.2:1": (iperf3_json(), "xtraffic", "ignored", "background_traffic_not_read"),
        f"{JOB}/post-src-cmd:10.0.0.2:1": ("done", "side-file", "ignored", "side_files_not_read"),
        f"{JOB}/ss:10.0.0.2:1.json": ('{"a": 1}', "derived", "ignored", "derived_files_not_read"),
        f"{JOB}/host.prom": ("# HELP x", "statexec", "ignored", "statexec_not_read"),
        f"{JOB}/plot.png": (b"\x89PNG", "derived", "ignored", "derived_files_not_read"),
        f"{JOB}/notes": ("hello", "unknown", "ignored", "unknown_files_not_read"),
        "20210802_bost_10g.dat": ('[["h", "both", 16, "cubic", 1, "0", 0, 9]]', "results", "ingest", "ingest_metadata"),
    }
    found = inventory(
        write_archive(tmp_path / "raw", {path: facts[0] for path, facts in names.items()}), tmp_path / "w"
    )
    assert {path: (file.kind, file.action, file.rule) for path, file in found.items()} == {
        path: facts[1:] for path, facts in names.items()
    }
    assert json.loads((tmp_path / "w/archive.json").read_text())["files_count"] == len(names)


def test_content_decides_where_name_and_content_disagree(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw", {f"{JOB}/ss:h:1": iperf3_json(), f"{JOB}/odd name": SS})
    found = inventory(archive, tmp_path / "w")
    assert found[f"{JOB}/ss:h:1"].kind == "src-cmd"
    # Whose samples these are, the reader finds out.
    odd = found[f"{JOB}/odd name"]
    assert (odd.kind, odd.action, odd.run_id) == ("ss", "ingest", None)


def test_an_item_counts_once_raw_first(tmp_path: Path) -> None:
    files = {
        f"{JOB}/src-cmd:h:1": iperf3_json(),
        f"{JOB}/src-cmd:h:1.json": iperf3_json(),
        f"{JOB}/src-cmd:h:1.fixed.json": iperf3_json(),
        f"{JOB}/src-cmd:h:2.gz": gzip.compress(iperf3_json().encode()),
        f"{JOB}/src-cmd:h:3": "",
        f"{JOB}/src-cmd:h:3.json": iperf3_json(),
    }
    found = inventory(write_archive(tmp_path / "raw", files), tmp_path / "w")
    assert {path.rsplit("/", 1)[1] for path, file in found.items() if file.action == "ingest"} == {
        "src-cmd:h:1",
        "src-cmd:h:2.gz",
        "src-cmd:h:3.json",
    }
    assert {file.rule for file in found.values() if file.action == "ignored"} == {"copies_not_read"}


def test_files_of_a_large_archive_are_told_apart(tmp_path: Path) -> None:
    # Two of 410,000 paths of a synthesised archive, whose SHA-256 begin with the same 40 bits.
    paths = (
        "2026-01-14:19:42/both_p2_3214/src-cmd:10.201.1.2:20",
        "2026-01-13:22:31/bbr3_p2_3009/mpstat-sender:10.201.1.2:8:burst:16.json",
    )
    assert len({hashlib.sha256(path.encode()).hexdigest()[:10] for path in paths}) == 1
    found = inventory(write_archive(tmp_path / "raw", dict.fromkeys(paths, "{}")), tmp_path / "w")
    assert len({found[path].raw_file_id for path in paths}) == 2


def test_a_second_file_that_claims_a_run_is_rejected_and_named(tmp_path: Path) -> None:
    files = {f"{JOB}/ss:h:1": SS, f"{JOB}/old/ss:h:1": SS}
    second = inventory(write_archive(tmp_path / "raw", files), tmp_path / "w")[f"{JOB}/old/ss:h:1"]
    assert (second.action, second.reason) == ("rejected", "duplicate_run")
    assert second.message is not None
    assert "ss:h:1 already is this run's ss" in second.message


def test_links_and_pipes_are_rejected_not_followed(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw", {f"{JOB}/ss:h:1": SS})
    (archive / JOB / "ss:h:2").symlink_to("/etc/hostname")
    (archive / JOB / "folder").symlink_to("/etc")
    os.mkfifo(archive / JOB / "pipe")
    found = inventory(archive, tmp_path / "w")
    assert {path.rsplit("/", 1)[1] for path, file in found.items() if file.reason == "not_a_file"} == {
        "ss:h:2",
        "folder",
        "pipe",
    }


def test_hostile_names_are_listed_as_data(tmp_path: Path) -> None:
    names = ["$(touch pwned)", 'quote".<script>', "new\nline", "blank \u00fc", "star*[a]?"]
    archive = write_archive(tmp_path / "raw", {f"2026-11-20:22:10/{name}/ss:h:1": SS for name in names})
    manifests = list_archive(archive, tmp_path / "w")
    assert len(manifests) == len(names)
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") for name in manifests
    )
    assert {manifest.job for manifest in manifests.values()} == {*names} - {"new\nline"} | {"new\\nline"}
    assert not (tmp_path / "pwned").exists()


def test_a_name_that_is_no_utf8_is_listed(tmp_path: Path) -> None:
    folder = write_archive(tmp_path / "raw", {f"{JOB}/ss:h:1": SS}) / JOB
    (folder / os.fsdecode(b"ss:\xff:2")).write_text(SS)
    runs = next(iter(list_archive(tmp_path / "raw", tmp_path / "w").values())).runs
    assert {run.host for run in runs} == {"h", "\\xff"}


def test_only_what_changed_is_written_otherwise(tmp_path: Path) -> None:
    # Each file is larger than 10 bytes, so that each experiment is a batch of its own.
    mib = 10 / 2**20
    files = {"2026-11-20:22:10/a/ss:h:1": SS, "2026-11-20:22:10/b/ss:h:1": SS, "2026-11-20:22:10/c/ss:h:1": SS}
    archive = write_archive(tmp_path / "raw", files)
    first = list_batches(archive, tmp_path / "w", mib)
    assert list(first.values()) == [[name] for name in first]
    before = {path.stem: path.read_bytes() for path in (tmp_path / "w/batches").iterdir()}
    gone = next(name for name in first if "-c-" in name)
    stale = write_archive(tmp_path / "w/tables", {f"runs/{gone}.parquet": "", "raw_files/archive.parquet": ""})
    write_archive(archive, {"2026-11-20:22:10/b/ss:h:2": SS, "2026-11-20:22:10/d/ss:h:1": SS})
    (archive / "2026-11-20:22:10/c/ss:h:1").unlink()
    second = list_batches(archive, tmp_path / "w", mib)
    after = {path.stem: path.read_bytes() for path in (tmp_path / "w/batches").iterdir()}
    assert set(after) == set(second)
    changed = {name for name in second if after[name] != before.get(name)}
    assert {read_manifest(tmp_path / f"w/batches/{name}.json").job for name in changed} == {"b", "d"}
    assert {read_manifest(tmp_path / f"w/batches/{name}.json").job for name in second} == {"a", "b", "d"}
    # A glob over the tables finds no batch that is gone.
    assert [str(path.relative_to(stale)) for path in stale.glob("*/*")] == ["raw_files/archive.parquet"]


def test_a_file_is_read_again_only_if_it_may_have_changed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    long_after = time.time_ns() + 3600 * 10**9

    def recall(code: str = "code") -> Look | None:
        known = InventoryIndex(tmp_path / "index", code, long_after).open_folder("")
        return known.recall("a", (tmp_path / "a").stat())

    look = Look(3, "0" * 64, "ss")
    for now_ns, known in ((time.time_ns(), None), (long_after, look)):
        # What was written within the last seconds may be written once more without another time.
        index = InventoryIndex(tmp_path / "index", "code", now_ns)
        index.open_folder("").note("a", (tmp_path / "a").stat(), look)
        index.write()
        assert recall() == known
    # Another version of what reads a file may see another kind.
    assert recall("other code") is None
    # Another content of the same size, with the old date put back.
    status = (tmp_path / "a").stat()
    (tmp_path / "a").write_text("two")
    os.utime(tmp_path / "a", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert recall() is None


def _add(job: Path) -> None:
    (job / "ss:h:2").write_text(SS)


def _remove(job: Path) -> None:
    (job / "src-cmd:h:1").unlink()


def _rewrite(job: Path) -> None:
    (job / "ss:h:1").write_text(iperf3_json())


def _link(job: Path) -> None:
    (job / "ss:h:1").rename(job.parent / "elsewhere")
    (job / "ss:h:1").symlink_to("../elsewhere")


def _name_destination(job: Path) -> None:
    (job / "jobmeta.json").write_text('{"dst": "h:1"}')


@pytest.mark.parametrize("change", [_add, _remove, _rewrite, _link, _name_destination])
def test_an_experiment_that_changed_is_listed_as_if_it_were_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    # Files that are old enough to be known, without waiting for it.
    monkeypatch.setattr("ccreport.inventory.index.RACY_NS", -(10**12))
    names = {"ss:h:1": SS, "src-cmd:h:1": iperf3_json(), "ss:h:1:2": SS, "jobmeta.json": "{}"}
    files = {f"2026-11-20:22:10/{job}/{name}": text for job in "ab" for name, text in names.items()}
    archive = write_archive(tmp_path / "raw", files)
    first = list_archive(archive, tmp_path / "w")
    made: list[str] = []
    make_manifest = experiment_listing._make_manifest

    def note_making(folder: Folder, *arguments: Any, **options: Any) -> Manifest:
        made.append(str(folder.job))
        return make_manifest(folder, *arguments, **options)

    monkeypatch.setattr(experiment_listing, "_make_manifest", note_making)
    assert list_archive(archive, tmp_path / "w") == first
    assert made == []
    change(archive / "2026-11-20:22:10/b")
    again = list_archive(archive, tmp_path / "w")
    assert "b" in made
    assert "a" not in made
    assert again != first
    assert again == list_archive(archive, tmp_path / "afresh")


def test_settings_of_a_job_are_parameters_of_its_runs(tmp_path: Path) -> None:
    settings = {"net.ipv4.tcp_rmem": "1 2 3", "offloads": "on"}
    # As they were recorded before RPCs beside bulk flows had a setting.
    bulk, rpc = ({"number": 1, "command": command} for command in ("iperf3 -c h", "netperf -H h -t TCP_RR -- -r 9,1"))
    clients = [bulk, rpc | {"number": 2, "congestion_control": "bbr", "flows_count": 2}]
    jobs = {
        "none": ({}, "h:1"),
        "some": ({"settings": settings}, "h:1"),
        "swept": ({"settings": settings, "param_name": "beta"}, "h:1:beta:512"),
        "rpc": ({"clients": clients}, "h:1"),
        "some_rpc": ({"settings": settings, "clients": clients}, "h:1"),
        "said_rpc": ({"settings": {"rpc": "some"}, "clients": clients}, "h:1"),
        "rpc_alone": ({"clients": clients[1:]}, "h:1"),
    }
    files = {
        f"2026-11-20:22:10/{job}/{name}": text
        for job, (facts, suffix) in jobs.items()
        for name, text in ((f"src-cmd:{suffix}", iperf3_json()), ("jobmeta.json", json.dumps(facts)))
    }
    manifests = list_archive(write_archive(tmp_path / "raw", files), tmp_path / "w")
    found = {
        manifest.job: (run.parameter_name, run.parameter_value)
        for manifest in manifests.values()
        for run in manifest.runs
    }
    assert found == {
        "none": (None, None),
        "some": ("net.ipv4.tcp_rmem, offloads", "1 2 3, on"),
        "swept": ("beta, net.ipv4.tcp_rmem, offloads", "512, 1 2 3, on"),
        "rpc": ("rpc", "2 bbr of 9 B"),
        "some_rpc": ("net.ipv4.tcp_rmem, offloads, rpc", "1 2 3, on, 2 bbr of 9 B"),
        "said_rpc": ("rpc", "some"),
        "rpc_alone": (None, None),
    }


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_a_tarball_is_read_as_its_folder(tmp_path: Path, ending: str) -> None:
    archive = write_archive(tmp_path / "raw", {f"{JOB}/ss:h:1": SS, f"{JOB}/src-cmd:h:1": iperf3_json()})
    packed = tmp_path / f"raw.tar{ending}"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:" + ending.removeprefix(".").replace("zst", "")) as members:
        members.add(archive, arcname="wrapping")
    plain = buffer.getvalue()
    packed.write_bytes(zstandard.compress(plain) if ending == ".zst" else plain)
    assert list_archive(packed, tmp_path / "w1") == list_archive(archive, tmp_path / "w2")
    facts = [json.loads((tmp_path / work / "archive.json").read_text()) for work in ("w1", "w2")]
    assert facts[0] | {"name": ""} == facts[1] | {"name": ""}


def test_a_zip_is_read_as_its_folder(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw", {f"{JOB}/ss:h:1": SS})
    with zipfile.ZipFile(tmp_path / "raw.zip", "w") as members:
        members.write(archive / JOB / "ss:h:1", f"{JOB}/ss:h:1")
    assert list_archive(tmp_path / "raw.zip", tmp_path / "w1") == list_archive(archive, tmp_path / "w2")


def test_a_member_that_leads_out_is_left_out_and_rejected(tmp_path: Path) -> None:
    packed = tmp_path / "raw.tar"
    with tarfile.open(packed, "w") as members:
        for name in ("../escaped", "/absolute", f"{JOB}/ss:h:1"):
            member = tarfile.TarInfo(name)
            member.size = len(SS)
            members.addfile(member, io.BytesIO(SS.encode()))
        link = tarfile.TarInfo(f"{JOB}/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        members.addfile(link)
    found = inventory(packed, tmp_path / "w")
    assert {path for path, file in found.items() if file.action == "rejected"} == {
        "../escaped",
        "/absolute",
        f"{JOB}/link",
    }
    assert not (tmp_path / "w/escaped").exists()


def test_a_damaged_archive_is_an_error_that_says_so(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw", {f"{JOB}/ss:h:1": os.urandom(200_000)})
    with tarfile.open(tmp_path / "raw.tar.gz", "w:gz") as members:
        members.add(archive, arcname="raw")
    whole = (tmp_path / "raw.tar.gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        ArchiveError, match=r"cut\.tar\.gz is not a readable tarball or zip .*ends early.*fetch it again"
    ):
        list_archive(tmp_path / "cut.tar.gz", tmp_path / "w")
    assert not (tmp_path / "w/archive").exists()


def test_an_archive_without_files_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raw").mkdir()
    said = f"^{tmp_path}/raw holds no files; name another archive by `make report ARCHIVE=path`"
    with pytest.raises(ArchiveError, match=said):
        list_archive(tmp_path / "raw", tmp_path / "w")
    monkeypatch.chdir(tmp_path / "raw")
    with pytest.raises(ArchiveError, match=r"^\. holds no files"):
        list_archive(Path(), tmp_path / "w")


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        (["x.txt"], "x.txt"),
        (["notes/README", "plot.png", "table.csv"], "notes/README, …"),
        ([".hidden"], ".hidden"),
        # A layout that names none of them does not make them anything.
        (["x.txt", "layout.yaml"], "x.txt"),
        (["layout.yaml"], "layout.yaml"),
    ],
)
def test_an_archive_of_files_that_are_none_of_ours_is_an_error(tmp_path: Path, files: list[str], shown: str) -> None:
    texts = dict.fromkeys(files, "hello\n") | {"layout.yaml": "ignore: ['.*\\.log']\n"}
    folder = write_archive(tmp_path / "of mine", {name: texts[name] for name in files})
    advice = f"`python -m ccreport adopt '{folder}'` says what is missing"
    said = f"of mine: not one of its files ({shown}) is a result or a log that is read; {advice}"
    with pytest.raises(ArchiveError, match=re.escape(said)):
        list_archive(folder, tmp_path / "w")
    with tarfile.open(tmp_path / "raw.tar", "w") as members:
        members.add(folder, arcname="raw")
    with pytest.raises(ArchiveError, match=re.escape("raw.tar: not one of its files (")):
        list_archive(tmp_path / "raw.tar", tmp_path / "w")


@pytest.mark.parametrize(
    "files",
    [
        {f"{JOB}/src-cmd:h:1": "hello"},
        {f"{JOB}/ss:h:1": ""},
        {f"{JOB}/ping:h:1": "hello"},
        {f"{JOB}/jobmeta.json": "{"},
        {"whole.json": iperf3_json(), "x.txt": "hello"},
        {"cut.json": iperf3_json()[:300]},
        {"text.txt": "Connecting to host h, port 5201\n[  5] local 10.0.0.1 port 1 connected to 10.0.0.2 port 5201\n"},
        {"layout.yaml": "files: [{pattern: 'run(?P<run>.)', kind: iperf3}]", "run1": ""},
        {"layout.yaml": "ignore: ['x.*']", "x.txt": "hello"},
    ],
)
def test_an_archive_with_a_broken_or_unread_file_is_listed(tmp_path: Path, files: dict[str, str]) -> None:
    assert list_archive(write_archive(tmp_path / "raw", files), tmp_path / "w")
