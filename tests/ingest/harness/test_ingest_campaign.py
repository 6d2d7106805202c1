"""What `collect` writes about a session: tables, defects, and what becomes of the other files of its layout."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import list_archive, write_archive
from readings import read_files

from ccreport.core.tables import load_schema
from ccreport.measure.clients import find_branching, list_clients, summarise_clients
from ccreport.report.archive_fragments.collection import _tell_fate, render_collection
from ccreport.report.markup.escape import escape_text

SESSION = "2026-11-20:22:10"
SUFFIX = "10.201.1.2:1:10.0ms"
ABOUT = {
    "campaign": "small",
    "title": "A small campaign",
    "label": "first",
    "engine": "user-mode-kernel",
    "kernel": "6.1.176",
    "started_utc": "2026-11-20T22:10:05Z",
    "cores_count": 1,
    "memory_bytes": 2**29,
    "tools": {"ss": "6.1.0", "iperf3": "3.12"},
    "planned_runs_count": 2,
    "expected_s": 24,
}
RTT = {"quantity": "rtt", "host": "10.201.1.2", "nominal": 10, "measured": 10.2, "unit": "ms", "method": "ping"}
RTT |= {"packets_count": 20, "lost_count": 0, "low": 9.5, "high": 10.5, "is_within": True, "conditions": "no loss"}
CALIBRATION = {"measured_utc": "2026-11-20T22:10:06Z", "capacity_bps": 250e6, "measurements": [RTT]}
TRY = {"run": SUFFIX, "job": "cubic_p2", "attempt": 1, "started_utc": "2026-11-20T22:10:10Z", "elapsed_s": 12.5}
TRY |= {"outcome": "completed", "message": None, "fingerprint": "ab12"}
FAILED = TRY | {"outcome": "failed", "message": "iperf3 ended with 1", "elapsed_s": 3.5}
EDGE_PATHS = r"(?:(?:.*/)?(?P<machine>[^/]+)/)?(?P<label>[^/]+)/[^/:]+(?::(?P<time>.+))?"
DUMP = (
    "State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n"
    "ESTAB 0 0 10.202.1.2:43802 10.201.1.2:5201 uid:0 ino:1 sk:1a cgroup:/\n"
    "\t bbr wscale:7,7 rto:204 rtt:10.1/0.1 mss:1448 cwnd:10 bytes_sent:100000 segs_out:80 data_segs_out:70 minrtt:10\n"
)
NSTAT = "# 1795211411.5\n#kernel\nTcpRetransSegs                  11                 0.0\n"


def write_session(folder: Path, **files: str | bytes) -> Path:
    texts: dict[str, str | bytes] = {
        "session.json": json.dumps(ABOUT),
        "calibration.json": json.dumps(CALIBRATION),
        "attempts.jsonl": "".join(f"{json.dumps(one)}\n" for one in (FAILED, TRY | {"attempt": 2})),
        "campaign.yaml": "title: A small campaign\n",
    }
    return write_archive(folder, {f"{SESSION}/{name}": content for name, content in (texts | files).items()})


def ingest(root: Path, work: Path) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    (experiment,) = (name for name, manifest in list_archive(root, work).items() if manifest.job is None)
    tables = read_files("campaign", work / f"manifests/{experiment}.json", root, work)
    return tables, tables.pop("rejects")


def test_a_session_s_files_become_rows(tmp_path: Path) -> None:
    tables, rejects = ingest(write_session(tmp_path / "raw"), tmp_path)
    assert rejects.is_empty()
    session = tables["sessions"].row(0, named=True)
    assert (session["session"], session["engine"], session["planned_runs_count"]) == (SESSION, "user-mode-kernel", 2)
    assert session["started_utc"] == datetime(2026, 11, 20, 22, 10, 5, tzinfo=UTC)
    assert session["tools"] == [{"key": "iperf3", "value": "3.12"}, {"key": "ss", "value": "6.1.0"}]
    assert session["declaration"] == "title: A small campaign\n"
    measured = tables["calibrations"].select("measured_quantity", "measured_value", "calibration_unit", "is_within")
    assert measured.rows() == [("rtt", 10.2, "ms", True), ("capacity", 250e6, "bit/s", None)]
    tries = tables["attempts"].select("suffix", "job", "attempt_number", "attempt_outcome", "attempt_message")
    assert tries.rows() == [
        (SUFFIX, "cubic_p2", 1, "failed", "iperf3 ended with 1"),
        (SUFFIX, "cubic_p2", 2, "completed", None),
    ]


def test_a_try_names_its_run(tmp_path: Path) -> None:
    root = write_session(tmp_path / "raw")
    write_archive(root, {f"{SESSION}/cubic_p2/src-cmd:{SUFFIX}": "x", f"{SESSION}/cubic_p2/10.201.1.2-meta.json": "{}"})
    listed = list_archive(root, tmp_path)
    (run,) = (run for manifest in listed.values() for run in manifest.runs)
    assert set(ingest(root, tmp_path)[0]["attempts"]["run_id"]) == {run.run_id}


def test_values_of_a_wrong_type_are_left_out_and_rejected(tmp_path: Path) -> None:
    about = ABOUT | {
        "cores_count": "two",
        "memory_bytes": 2**64,
        "kernel": 6,
        "tools": {"ss": 1},
        "started_utc": "soon",
    }
    measured = {"measurements": [RTT | {"is_within": "yes", "low": 10.3}, {"quantity": "speed"}, 7]}
    files = {"session.json": json.dumps(about), "calibration.json": json.dumps(measured)}
    tables, rejects = ingest(write_session(tmp_path / "raw", **files), tmp_path)
    session = tables["sessions"].row(0, named=True)
    assert [session[name] for name in ("cores_count", "memory_bytes", "kernel", "started_utc")] == [None] * 4
    assert session["tools"] == []
    # 10.2 lies below 10.3.
    assert tables["calibrations"]["is_within"].to_list() == [False]
    assert not rejects["is_whole_file"].any()
    reasons = rejects["reason"].value_counts().sort("reason").rows()
    # Five values of session.json, the verdict and the quantity that is none; two measurements that are none.
    assert reasons == [("bad_metadata", 7), ("malformed_record", 2)]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("session.json", "", "empty"),
        ("session.json", '{"campaign": "sm', "not_json"),
        ("session.json", "[]", "unexpected_structure"),
        ("session.json", '{"cores_count": ' + "9" * 5000 + "}", "not_json"),
        ("calibration.json", "{}", "no_measurement"),
        ("calibration.json", '{"capacity_bps": 1e999, "measurements": {}}', "no_measurement"),
        ("attempts.jsonl", " \n", "empty"),
        ("attempts.jsonl", '{"run": "x"}\n[1]\n{', "no_measurement"),
    ],
)
def test_a_broken_file_is_rejected_as_a_whole(name: str, content: str, reason: str, tmp_path: Path) -> None:
    tables, rejects = ingest(write_session(tmp_path / "raw", **{name: content}), tmp_path)
    whole = rejects.filter("is_whole_file")
    assert whole.select("path", "reason").rows() == [(f"{SESSION}/{name}", reason)]
    assert [table.is_empty() for table in tables.values()].count(True) == 1


def test_a_killed_process_leaves_a_line_cut(tmp_path: Path) -> None:
    content = json.dumps(FAILED) + "\n" + json.dumps(TRY)[:40]
    tables, rejects = ingest(write_session(tmp_path / "raw", **{"attempts.jsonl": content}), tmp_path)
    assert tables["attempts"]["attempt_outcome"].to_list() == ["failed"]
    assert rejects.select("reason", "line_number", "is_whole_file").rows() == [("truncated_json", 2, False)]


def test_no_damage_raises(tmp_path: Path) -> None:
    odd = ["9" * 30, "-1", "null", '"\\ud800"', "[[", "1e999", "NaN", '{"a":{}}', "\0", '"2026-13-99"', "true"]
    for number in range(40):
        files: dict[str, str | bytes] = {}
        for name, whole in (("session.json", ABOUT), ("calibration.json", CALIBRATION), ("attempts.jsonl", TRY)):
            text = json.dumps(whole)
            start = number * len(text) // 40
            files[name] = text[:start] + odd[number % len(odd)] + text[start + number % 9 :]
        root = write_session(tmp_path / f"raw{number}", **files)
        tables, rejects = ingest(root, tmp_path / f"work{number}")
        # Each file is in a table or rejected as a whole, and never both.
        rejected = rejects.filter("is_whole_file").height
        assert rejected + sum(not table.is_empty() for table in tables.values()) == 3


def test_the_other_files_of_a_collected_archive(tmp_path: Path) -> None:
    job = f"{SESSION}/cubic_p2"
    expected = {
        f"{SESSION}/session.json": ("session", "ingest_campaign"),
        f"{SESSION}/campaign.yaml": ("campaign", "declarations_shown_only"),
        f"{job}/src-cmd:{SUFFIX}": ("src-cmd", "ingest_iperf3"),
        f"{job}/post-netem:{SUFFIX}": ("side-file", "side_files_not_read"),
        f"{job}/ping:{SUFFIX}": ("side-file", "side_files_not_read"),
        f"{job}/pre-src-cmd:{SUFFIX}": ("side-file", "side_files_not_read"),
        f"{job}/nstat:{SUFFIX}": ("nstat", "ingest_nstat"),
        f"{job}/session.json": ("unknown", "unknown_files_not_read"),
        f".partial/{job}/ss:{SUFFIX}": ("unfinished", "unfinished_not_read"),
        f".partial/{SESSION}/session.json": ("unfinished", "unfinished_not_read"),
    }
    contents = {f"{SESSION}/session.json": json.dumps(ABOUT), f"{job}/nstat:{SUFFIX}": NSTAT}
    contents[f"{job}/src-cmd:{SUFFIX}"] = '{"start":{"connected":[]'
    root = write_archive(tmp_path / "raw", {path: contents.get(path, "x\n") for path in expected})
    (root / ".partial" / "pipe").symlink_to("nowhere")
    listed = list_archive(root, tmp_path)
    found = {file.path: file for manifest in listed.values() for file in manifest.files}
    assert found.pop(".partial/pipe").rule == "unfinished_not_read"
    assert {path: (file.kind, file.rule) for path, file in found.items()} == expected
    # What is unfinished is neither a session nor a run.
    assert {manifest.session for manifest in listed.values()} == {SESSION, None}
    (run,) = (run for manifest in listed.values() for run in manifest.runs)
    assert found[f"{job}/nstat:{SUFFIX}"].run_id == run.run_id


def test_an_archive_of_unfinished_runs_alone_has_no_runs(tmp_path: Path) -> None:
    root = write_archive(tmp_path / "raw", {f".partial/{SESSION}/job/src-cmd:{SUFFIX}": "x"})
    (manifest,) = list_archive(root, tmp_path).values()
    assert (manifest.session, manifest.runs, manifest.files[0].rule) == (None, (), "unfinished_not_read")


def test_dumps_and_counters_of_a_job_are_read_beside_its_runs(tmp_path: Path) -> None:
    job = f"{SESSION}/many"
    run = {f"{job}/src-cmd:{SUFFIX}": '{"start":{"connected":[]', f"{job}/nstat:{SUFFIX}": NSTAT}
    dumps = {f"{job}/edge/{label}/ss-neit:1795211{n}05": DUMP for n, label in enumerate(("bbr", "mixed"), start=4)}
    root = write_archive(tmp_path / "raw", run | dumps)
    ((experiment, manifest),) = list_archive(root, tmp_path).items()
    assert (manifest.job, len(manifest.runs)) == ("many", 1)
    path = tmp_path / f"manifests/{experiment}.json"
    tables = read_files("edge", path, root, tmp_path, edge_paths=EDGE_PATHS)
    connections = tables["connections"]
    # The label of the path is only where ss says nothing of the algorithm.
    assert connections.select("machine", "label", "cc").rows() == [("edge", "bbr", "bbr"), ("edge", "mixed", "bbr")]
    assert tables["rejects"].is_empty()
    counters = read_files("nstat", path, root, tmp_path, edge_paths=EDGE_PATHS)["machine_counters"]
    columns = ("run_id", "machine", "label", "cc", "counter", "counter_value_count")
    assert counters.select(columns).rows() == [(manifest.runs[0].run_id, None, None, None, "TcpRetransSegs", 11)]


def conditions(rtt_nominal_ms: float | None) -> pl.DataFrame:
    return pl.DataFrame({"run_id": ["r"], "host": ["near"], "rtt_nominal_ms": [rtt_nominal_ms]})


def test_the_round_trip_time_of_a_client_is_that_of_its_destination() -> None:
    declared: list[dict[str, Any]] = [
        {"number": 1, "host": "near", "rtt_ms": 5.0, "congestion_control": "bbr", "start_s": 0.0},
        {"number": 2, "host": "far", "rtt_ms": 50.0, "congestion_control": "bbr", "start_s": 2.5},
        {"number": 3, "congestion_control": "cubic", "start_s": 1.0},
    ]
    clients = list_clients(conditions(10.0), json.dumps(declared))
    # The name of the run says what its own path has, whatever the job's metadata say for all of its runs.
    assert clients.select("client_number", "rtt_nominal_ms", "client_cc").rows() == [
        (1, 10.0, "bbr"),
        (2, 50.0, "bbr"),
        (3, 10.0, "cubic"),
    ]
    assert summarise_clients(clients).rows() == [("r", 2.5)]
    assert find_branching(clients).to_list() == ["r"]
    assert find_branching(list_clients(conditions(10.0), json.dumps(declared[::2]))).is_empty()
    assert list_clients(conditions(None), json.dumps(declared))["rtt_nominal_ms"].to_list() == [5.0, 50.0, None]


def test_of_a_number_for_several_hosts_a_run_has_that_to_its_own() -> None:
    declared = [{"number": 1, "host": host, "rtt_ms": rtt} for host, rtt in (("far", 50.0), ("near", 5.0))]
    clients = list_clients(conditions(None), json.dumps(declared))
    assert clients.select("client_host", "rtt_nominal_ms").rows() == [("near", 5.0)]


def test_the_page_counts_tries_and_hours(tmp_path: Path) -> None:
    failed = RTT | {"quantity": "loss", "unit": "%", "measured": 2.0, "is_within": False}
    rate = RTT | {"quantity": "rate", "unit": "bit/s", "measured": 9.9e9, "low": 9.603e9, "high": 1.0197e10}
    calibration = json.dumps(CALIBRATION | {"measurements": [RTT, failed, rate]})
    tables, _ = ingest(write_session(tmp_path / "raw", **{"calibration.json": calibration}), tmp_path)
    runs = pl.DataFrame(schema=load_schema("runs").polars)
    page = render_collection(tables["sessions"], tables["calibrations"], tables["attempts"], runs)
    # 12.5 + 3.5 s are 0.0044 h.
    # No run has samples of mpstat, so that nobody knows which were CPU-bound.
    assert (
        '<td class="number">2</td><td class="number">1</td><td class="number"><span class="none">–</span></td>' in page
    )
    assert "1 of 3 outside their bounds" in page
    assert escape_text("9,603 to 10,197") in page
    assert page.index("<strong>outside</strong>") < page.index("within</td>")
    for shown in ("failed, completed", "a user-mode kernel, 1 core, 512 MiB", "title: A small campaign"):
        assert escape_text(shown) in page


def test_a_run_after_a_failed_try_is_called_suspect() -> None:
    # A try that its user broke off says nothing of the next.
    fates = [_tell_fate(tries, is_held=True) for tries in (["failed", "completed"], ["interrupted", "completed"])]
    assert fates == ["yes, suspect", "yes"]


def test_the_page_says_plainly_what_ccreport_did_not_collect() -> None:
    empty = [
        pl.DataFrame(schema=load_schema(table).polars) for table in ("sessions", "calibrations", "attempts", "runs")
    ]
    page = render_collection(*empty)
    assert "was not collected by ccreport" in page
    assert "netem" not in page
