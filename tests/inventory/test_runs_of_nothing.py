"""What becomes of files about a run that no file is the result of: joined to a test, rejected, or counted apart."""

import json
from pathlib import Path

import polars as pl
import pytest
from archives import JOB, iperf3_json, list_archive, write_archive
from builds import build

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.core.tables import read_table
from ccreport.ingest.batch import ingest_batch
from ccreport.ingest.iperf3.reader import read_client_output
from ccreport.measure.ledger import measure_ledger

START_S = 1795212600
HEADER = "State Recv-Q Send-Q Local Address:Port  Peer Address:Port\n"
MPSTAT_TEXT = """Linux 6.1.0 (sender)  11/20/26  _x86_64_  (1 CPU)

22:10:00     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
22:10:01     all   15.66    0.00    4.04    0.00    0.00    0.51    0.00    0.00    0.00   79.80
"""
MPSTAT_JSON = '{"sysstat": {"hosts": [{"statistics": [{"timestamp": "22:10:01", "cpu-load": []}]}]}}'


def result(port: int, start_s: int = START_S) -> str:
    """Return a whole iperf3 result of one flow from this port, at this time."""
    document = json.loads(iperf3_json())
    document["start"]["connected"][0]["local_port"] = port
    document["start"]["timestamp"]["timesecs"] = start_s
    return json.dumps(document)


def sample(port: int, seconds: float, segments: int, *, back: bool = False) -> str:
    """Return a socket's two lines with this many segments, below a stamp."""
    ends = f"10.0.0.1:{port} 10.0.0.2:5201"
    ends = " ".join(reversed(ends.split())) if back else ends
    facts = f"cubic rto:204 rtt:20/1 mss:1448 cwnd:10 segs_out:{segments} data_segs_out:{segments} retrans:0/1"
    return f"# {START_S + seconds:.6f}\nESTAB 0 0 {ends}\n\t {facts} rcv_space:14480 minrtt:19\n"


def files_of(archive: Path, work: Path) -> dict[str, RawFile]:
    return {file.path: file for manifest in list_archive(archive, work).values() for file in manifest.files}


def ingest(tmp_path: Path, files: dict[str, str]) -> dict[str, pl.DataFrame]:
    """Return samples, rejects of ss, and the ledger of an archive of one experiment; runs are named by suffixes."""
    root = write_archive(tmp_path / "raw", files)
    (experiment,) = list_archive(root, tmp_path / "w")
    tables, rejected = tmp_path / "tables", tmp_path / "rejected"
    manifest = tmp_path / "w/manifests" / f"{experiment}.json"
    ingest_batch(experiment, manifest, root, tables, rejected, [], ".*", "$request_time $bytes_sent")
    (tmp_path / "ids.txt").write_text(experiment)
    out = tmp_path / "raw_files.parquet", tmp_path / "rejects.parquet"
    measure_ledger(tmp_path / "ids.txt", tmp_path / "w/manifests", tables, rejected, *out)
    prefix = f"{experiment}."
    found = {
        "samples": read_table("samples", [tables / "samples" / f"{experiment}.parquet"]),
        "raw_files": read_table("raw_files", [out[0]]),
        "rejects": read_table("rejects", [out[1]]).filter(pl.col("reason") != "no_metadata"),
    }
    names = pl.col("run_id").str.strip_prefix(prefix).str.replace(r"-[0-9a-f]{10}$", "")
    return {name: frame.with_columns(names) for name, frame in found.items()}


def test_samples_and_loads_under_own_names_are_no_runs(tmp_path: Path) -> None:
    # Eight tests with their samples and loads were "20 runs".
    names = {f"t{i}.json": result(4000 + i, START_S + 100 * i) for i in range(8)}
    names |= {f"t{i}.ss": sample(4000 + i, 100 * i, 500) for i in range(8)}
    names |= {f"cpu{i}.txt": MPSTAT_TEXT for i in range(4)}
    (manifest,) = list_archive(write_archive(tmp_path / "raw", names), tmp_path / "w").values()
    assert len(manifest.runs) == 8
    rejected = [file for file in manifest.files if file.action == "rejected"]
    assert [(file.kind, file.reason, file.run_id) for file in rejected] == [("mpstat", "no_run", None)] * 4
    assert "mpstat-sender:<host>:<iteration>" in (rejected[0].message or "")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sockets.txt", HEADER + "ESTAB 0 0 10.0.0.1:4001 10.0.0.2:5201\n\t cubic mss:1448\n"),
        ("sockets.txt", sample(4001, 0, 500)),
        # Without header and stamps.
        ("sockets.txt", "ESTAB 0      0        10.0.0.1:4001    10.0.0.2:5201\n\t cubic mss:1448\n"),
        ("sockets.txt", "tcp   ESTAB 0 0 [2001:db8::1]:4001 [2001:db8::2]:http\n\t cubic mss:1448\n"),
        ("cpu.txt", MPSTAT_TEXT),
        ("cpu.json", MPSTAT_JSON),
        # The harness's names, where no test is.
        (f"{JOB}/mpstat-sender:10.0.0.2:1.json", MPSTAT_JSON),
        (f"{JOB}/pre-netem:10.0.0.2:1", "qdisc netem 1: dev r1 root delay 5ms\n"),
    ],
)
def test_what_is_of_no_run_is_rejected_with_what_to_do(tmp_path: Path, name: str, content: str) -> None:
    archive = write_archive(tmp_path / "raw", {name: content})
    (manifest,) = list_archive(archive, tmp_path / "w").values()
    (file,) = manifest.files
    assert (manifest.runs, file.action, file.reason, file.run_id) == ((), "rejected", "no_run", None)
    assert "<host>:<iteration>" in (file.message or "")


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("cpu.txt", MPSTAT_TEXT, "mpstat"),
        ("of/others/cpu.json", MPSTAT_JSON, "mpstat"),
        ("of/others/sockets.txt", sample(4001, 0, 500), "ss"),
    ],
)
def test_what_no_pattern_of_a_layout_takes_is_rejected_with_the_kind_to_add(
    tmp_path: Path, name: str, content: str, kind: str
) -> None:
    layout = "files: [{pattern: '(?P<run>t[0-9])[.]json'}]\n"
    files = files_of(
        write_archive(tmp_path / "raw", {"layout.yaml": layout, "t1.json": result(4009), name: content}), tmp_path / "w"
    )
    assert (files[name].action, files[name].reason) == ("rejected", "no_run")
    assert f"takes this {kind} file; add one with `kind: {kind}`" in (files[name].message or "")


def test_a_name_of_the_harness_is_mended_as_one_beside_a_layout(tmp_path: Path) -> None:
    name = f"{JOB}/mpstat-sender:10.0.0.2:1.json"
    files = {
        "layout.yaml": "files: [{pattern: '(?P<run>t[0-9])[.]json'}]\n",
        "t1.json": result(4009),
        name: MPSTAT_JSON,
    }
    told = files_of(write_archive(tmp_path / "raw", files), tmp_path / "w")
    assert "mpstat-sender:<host>:<iteration>" in (told[name].message or "")


def test_a_name_that_says_so_makes_samples_a_run(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw", {f"{JOB}/ss:10.0.0.2:1": sample(4001, 0, 500)})
    (manifest,) = list_archive(archive, tmp_path / "w").values()
    assert [run.suffix for run in manifest.runs] == ["10.0.0.2:1"]


def test_one_file_of_samples_is_joined_to_several_tests(tmp_path: Path) -> None:
    text = "".join([sample(4001, 0, 300), sample(4001, 1, 500), sample(4002, 200, 600)])
    # The control connection of b's test, and one of nobody.
    text += sample(4003, 200, 700) + sample(4003, 200, 700).replace("10.0.0.2:5201", "10.0.0.3:22")
    files = {"a.json": result(4001), "b.json": result(4002, START_S + 200), "log.txt": text}
    tables = ingest(tmp_path, files)
    samples = tables["samples"].sort("time_utc")
    assert samples.select("run_id", "local_port", "data_segments_out_count").rows() == [
        ("a", 4001, 300),
        ("a", 4001, 500),
        ("b", 4002, 600),
    ]
    assert tables["rejects"].select("path", "reason", "is_whole_file").rows() == [("log.txt", "no_run", False)]
    assert "1 connection of no test" in tables["rejects"]["message"][0]
    # Of two runs the ledger names none.
    assert tables["raw_files"].sort("path").select("run_id", "state").rows() == [
        ("a", "ingested"),
        ("b", "ingested"),
        (None, "ingested"),
    ]


def test_the_ledger_names_the_run_that_samples_were_joined_to(tmp_path: Path) -> None:
    tables = ingest(tmp_path, {"a.json": result(4001), "b.json": result(4002), "log.txt": sample(4002, 0, 300)})
    assert tables["raw_files"].filter(path="log.txt").select("run_id", "state").rows() == [("b", "ingested")]
    assert tables["rejects"].is_empty()


def test_one_connection_at_two_times_is_of_the_test_of_that_time(tmp_path: Path) -> None:
    # Both tests used --cport 4001.
    files = {"a.json": result(4001), "b.json": result(4001, START_S + 600)}
    tables = ingest(tmp_path, {**files, "1.txt": sample(4001, 0.5, 300), "2.txt": sample(4001, 600.5, 400)})
    assert tables["samples"].sort("run_id").select("run_id", "data_segments_out_count").rows() == [
        ("a", 300),
        ("b", 400),
    ]


@pytest.mark.parametrize(
    "text",
    [
        # Of another day, of the other host, of another connection, of two tests at once.
        sample(4001, 86400, 300),
        sample(4001, 0, 300, back=True),
        sample(4009, 0, 300),
        sample(4002, 0, 300) + sample(4002, 600, 400),
    ],
)
def test_what_is_not_clearly_of_one_test_is_rejected(tmp_path: Path, text: str) -> None:
    files = {"a.json": result(4001), "b.json": result(4002), "c.json": result(4002, START_S + 600), "log.txt": text}
    tables = ingest(tmp_path, files)
    assert tables["samples"].is_empty()
    assert tables["rejects"].select("path", "reason", "is_whole_file").rows() == [("log.txt", "no_run", True)]
    assert "ss:<host>:<iteration>" in tables["rejects"]["message"][0]


def test_samples_of_a_run_that_show_no_connection_of_its_test_are_told(tmp_path: Path) -> None:
    """A layout or a name may give the samples of one test to the run of another."""
    files = {"src-cmd:h:1": result(4001), "ss:h:1": sample(4001, 0, 300) + sample(4009, 1, 300)}
    files |= {"src-cmd:h:2": result(4002, START_S + 600), "ss:h:2": sample(4009, 600, 300)}
    tables = ingest(tmp_path, files)
    (told,) = tables["rejects"].select("path", "reason", "is_whole_file", "message").rows()
    assert told[1:3] == ("no_run", False)
    assert told[0].endswith("ss:h:2")
    assert told[3].startswith("no connection in it is one of its run's test")
    # Rows of them are in a table, and so the file counts as it did.
    assert tables["raw_files"].filter(path=told[0])["state"].to_list() == ["ingested"]


def test_samples_without_times_are_joined_where_one_test_has_the_connection(tmp_path: Path) -> None:
    text = sample(4001, 0, 300).partition("\n")[2] + sample(4002, 0, 300).partition("\n")[2]
    files = {"a.json": result(4001), "b.json": result(4002), "c.json": result(4002, START_S + 600), "log.txt": text}
    tables = ingest(tmp_path, files)
    assert tables["samples"].select("run_id", "data_segments_out_count", "time_utc").rows() == [("a", 300, None)]
    assert sorted(tables["rejects"]["reason"]) == ["no_run", "repaired"]


def test_a_test_is_sampled_by_one_file(tmp_path: Path) -> None:
    # `ss:<suffix>` is a's by its name, and of two other files the first is b's.
    files = {"src-cmd:a:1": result(4001), "ss:a:1": sample(4001, 0, 300), "b.json": result(4002)}
    tables = ingest(tmp_path, {**files, "1.txt": sample(4001, 0, 1) + sample(4002, 0, 2), "2.txt": sample(4002, 0, 3)})
    assert tables["samples"].sort("run_id").select("run_id", "data_segments_out_count").rows() == [
        ("a-1", 300),
        ("b", 2),
    ]


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("out.log", "[  5] local 10.0.0.1 port 4001 connected to 10.0.0.2 port 5201\n", "iperf3-text"),
        ("out.csv", "[  5] local 10.0.0.1 port 4001 connected to 10.0.0.2 port 5201\n", "iperf3-text"),
        ("iperf", "Client connecting to 10.0.0.2, TCP port 5001\n", "iperf2"),
        ("solaris.cap", "snoop\0\0\0\0\0\0\2\0\0\0\4", "capture"),
        ("x.json", '{\n  "id": "1",\n  "bytes_total": 9,\n  "duration_ms": 1,\n  "throughput_mbps": 8.0}', "xfr"),
    ],
)
def test_what_looks_like_a_measurement_and_is_not_read_is_counted_apart(
    tmp_path: Path, name: str, content: str, form: str
) -> None:
    found = files_of(write_archive(tmp_path / "raw", {name: content, "notes": "hello"}), tmp_path / "w")
    assert (found[name].format, found[name].action, found[name].rule) == (form, "ignored", "measurements_not_read")
    assert found["notes"].rule == "unknown_files_not_read"


def test_samples_that_a_command_printed_are_not_those_of_the_run(tmp_path: Path) -> None:
    files = {f"{JOB}/src-cmd:a:1": result(4001), f"{JOB}/post-src-cmd:a:1": sample(4001, 0, 1)}
    found = files_of(write_archive(tmp_path / "raw", {**files, f"{JOB}/ss:a:1": sample(4001, 0, 2)}), tmp_path / "w")
    assert found[f"{JOB}/post-src-cmd:a:1"].kind == "side-file"
    assert found[f"{JOB}/ss:a:1"].action == "ingest"


@pytest.mark.slow
def test_an_archive_without_any_test_says_so_at_the_end_of_the_build(tmp_path: Path) -> None:
    text = "[  5] local 10.0.0.1 port 4001 connected to 10.0.0.2 port 5201\n"
    archive = write_archive(tmp_path / "raw", {"a.log": text, "b.log": text, "cpu.txt": MPSTAT_TEXT})
    done = build("ingest", archive, tmp_path / "b")
    assert done.returncode == 0, done.output
    warnings = [line for line in done.output.splitlines() if line.startswith("warning: ")]
    assert "the archive holds no test" in warnings[0]
    assert "2 files look like measurements" in warnings[1]


def test_a_result_of_xfr_is_named() -> None:
    text = '{"id": "1", "bytes_total": 9, "duration_ms": 1, "throughput_mbps": 8.0, "streams": []}'
    with pytest.raises(RawFileError, match="a result of xfr"):
        read_client_output(text.encode())
