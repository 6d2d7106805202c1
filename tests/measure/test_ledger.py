from pathlib import Path

import pytest
from archives import JOB, list_archive, write_archive

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


def test_a_strict_build_says_a_reason_of_several_files_once(tmp_path: Path) -> None:
    root = write_archive(tmp_path / "raw", {f"{JOB}/src-cmd:h:{number}": "" for number in range(1, 13)})
    (experiment,) = list_archive(root, tmp_path)
    manifest = tmp_path / "manifests" / f"{experiment}.json"
    tables, rejects = tmp_path / "tables", tmp_path / "rejects"
    ingest_batch(experiment, manifest, root, tables, rejects, [], ".*", "$request_time $bytes_sent")
    (tmp_path / "ids.txt").write_text(experiment)
    out = tmp_path / "raw_files.parquet", tmp_path / "rejects.parquet"
    measure_ledger(tmp_path / "ids.txt", tmp_path / "manifests", tables, rejects, *out)
    with pytest.raises(
        LedgerError,
        match=rf"^strict is set, .* 1 line more in this log:\n  12 files, such as {JOB}/src-cmd:h:1: empty: ",
    ) as failed:
        list_rejects(out[1], tmp_path / "accepted.txt")
    assert not (tmp_path / "accepted.txt").exists()
    assert str(failed.value).count(": empty: ") == 1
