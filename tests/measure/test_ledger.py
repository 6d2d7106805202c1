import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from archives import JOB, list_archive, save_table, write_archive

from ccreport.core.tables import read_table
from ccreport.ingest.batch import ingest_batch
from ccreport.measure.ledger import LedgerError, list_rejects, measure_ledger


def test_two_readers_may_reject_parts_of_one_file(tmp_path: Path) -> None:
    # Without jobmeta.json the first file of the folder stands for it, and this one has a defect of its own, too.
    text = "THROUGHPUT=5\nDIRECTION=Send|Recv\nP99_LATENCY=x\n"
    root = write_archive(tmp_path / "raw", {"rep-1/a.txt": text, "elsewhere/none/notes.txt": "x"})
    listed = list_archive(root, tmp_path)
    (experiment,) = (name for name, manifest in listed.items() if manifest.files_for("ingest_rpc"))
    manifest = tmp_path / "manifests" / f"{experiment}.json"
    tables, rejects = tmp_path / "tables", tmp_path / "rejects"
    ingest_batch(experiment, manifest, root, tables, rejects, [], ".*", "$request_time $bytes_sent")
    (tmp_path / "ids.txt").write_text(experiment)
    out = tmp_path / "raw_files.parquet", tmp_path / "rejects.parquet"
    measure_ledger(tmp_path / "ids.txt", tmp_path / "manifests", tables, rejects, *out)
    found = read_table("rejects", [out[1]])
    assert found.select("reason", "part_number").rows() == [("no_metadata", 0), ("malformed_record", 1)]
    assert read_table("raw_files", [out[0]])["state"].to_list() == ["ingested"]


@pytest.mark.parametrize(
    ("attempts", "is_within", "why"),
    [
        ((), False, "; a sweep stops where its calibration fails: rtt 41.0 ms where 40.0 was set (session {session})"),
        (
            ("no such setting", "no such setting", None),
            False,
            "; attempts at runs failed: 2 attempts, such as a/h:1: no such setting; a/h:3: failed",
        ),
        ((), True, ""),
    ],
)
def test_an_archive_without_any_run_says_what_its_sweep_says(
    attempts: Sequence[str | None], is_within: bool, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = JOB.partition("/")[0]
    probe = {"quantity": "rtt", "host": "h", "nominal": 40, "measured": 41, "unit": "ms", "method": "ping"}
    probe |= {"packets_count": 40, "lost_count": 0, "low": 39.5, "high": 40.5, "is_within": is_within, "conditions": ""}
    lines = [
        {"run": f"h:{number}", "job": "a", "attempt": 1, "outcome": "failed", "message": message}
        for number, message in enumerate(attempts, 1)
    ]
    files = {
        "session.json": json.dumps({"campaign": "small", "label": "main"}),
        "calibration.json": json.dumps({"measurements": [probe]}),
        "a/jobmeta.json": json.dumps({"name": "a"}),
    } | ({"attempts.jsonl": "".join(f"{json.dumps(line)}\n" for line in lines)} if lines else {})
    root = write_archive(tmp_path / "raw", {f"{session}/{name}": text for name, text in files.items()})
    names = sorted(list_archive(root, tmp_path))
    tables, rejects = tmp_path / "tables", tmp_path / "rejects"
    for name in names:
        manifest = tmp_path / "manifests" / f"{name}.json"
        ingest_batch(name, manifest, root, tables, rejects, [], ".*", "$request_time $bytes_sent")
    (tmp_path / "ids.txt").write_text("\n".join(names))
    out = tmp_path / "raw_files.parquet", tmp_path / "rejects.parquet"
    measure_ledger(tmp_path / "ids.txt", tmp_path / "manifests", tables, rejects, *out)
    said = capsys.readouterr().err
    assert said.startswith("warning: the archive holds no test: ")
    assert said.endswith(f"says what became of each file{why.format(session=session)}\n")


def test_a_strict_build_says_a_reason_of_several_files_once(tmp_path: Path) -> None:
    root = write_archive(
        tmp_path / "raw", {f"{JOB}/src-cmd:h:{number}": "" for number in range(1, 13)} | {f"{JOB}/src-cmd:h:0": "{"}
    )
    (experiment,) = list_archive(root, tmp_path)
    manifest = tmp_path / "manifests" / f"{experiment}.json"
    tables, rejects = tmp_path / "tables", tmp_path / "rejects"
    ingest_batch(experiment, manifest, root, tables, rejects, [], ".*", "$request_time $bytes_sent")
    (tmp_path / "ids.txt").write_text(experiment)
    out = tmp_path / "raw_files.parquet", tmp_path / "rejects.parquet"
    measure_ledger(tmp_path / "ids.txt", tmp_path / "manifests", tables, rejects, *out)
    with pytest.raises(
        LedgerError,
        match=rf"^strict is set, .* 1 line more in this log\n  12 files, such as {JOB}/src-cmd:h:1: empty: ",
    ) as failed:
        list_rejects(out[1], tmp_path / "accepted.txt")
    assert not (tmp_path / "accepted.txt").exists()
    assert str(failed.value).count(": empty: ") == 1


def test_a_path_that_nothing_declares_is_no_fault_of_a_file(tmp_path: Path) -> None:
    rows = [{"raw_file_id": "f", "reason": "no_metadata", "message": "nothing declares it", "is_whole_file": False}]
    rejects = tmp_path / "rejects.parquet"
    save_table("rejects", [row | {"part_number": 0} for row in rows], rejects)
    list_rejects(rejects, tmp_path / "accepted.txt")
    assert (tmp_path / "accepted.txt").exists()
    save_table("rejects", [row | {"part_number": 0, "is_whole_file": True} for row in rows], rejects)
    with pytest.raises(LedgerError, match="nothing declares it"):
        list_rejects(rejects, tmp_path / "accepted.txt")
