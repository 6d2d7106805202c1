from pathlib import Path

import polars as pl
from support import list_archive, write_archive

from ccreport.ingest.metadata import ingest_metadata
from ccreport.ingest.readers import INGESTED_TABLES, READERS
from ccreport.ingest.rpc import ingest_rpc
from ccreport.measure.ledger import measure_ledger
from ccreport.tables import load_schema, read_table, write_table


def write_empty(table: str, path: Path) -> Path:
    write_table(pl.DataFrame(schema=load_schema(table).polars), table, path)
    return path


def test_two_readers_may_reject_parts_of_one_file(tmp_path: Path) -> None:
    # Without jobmeta.json the first file of the folder stands for it, and this one has a defect of its own, too.
    text = "THROUGHPUT=5\nDIRECTION=Send|Recv\nP99_LATENCY=x\n"
    root = write_archive(tmp_path / "raw", {"rep-1/a.txt": text, "elsewhere/none/notes.txt": "x"})
    listed = list_archive(root, tmp_path)
    (experiment,) = (name for name, manifest in listed.items() if manifest.files_for("ingest_rpc"))
    manifest = tmp_path / "manifests" / f"{experiment}.json"
    tables, rejects = tmp_path / "tables", tmp_path / "rejects"
    paths = {table: write_empty(table, tables / table / f"{experiment}.parquet") for table in INGESTED_TABLES}
    notes = {name: write_empty("rejects", rejects / name / f"{experiment}.parquet") for name in READERS}
    ingest_rpc(manifest, root, paths["rpc_tests"], *(tmp_path / name for name in ("s", "h")), notes["ingest_rpc"])
    ingest_metadata(manifest, root, *(tmp_path / name for name in ("e", "d", "q", "r")), notes["ingest_metadata"])
    (tmp_path / "ids.txt").write_text(experiment)
    out = tmp_path / "raw_files.parquet", tmp_path / "rejects.parquet"
    measure_ledger(tmp_path / "ids.txt", tmp_path / "manifests", tables, rejects, *out, strict=False)
    found = read_table("rejects", [out[1]])
    assert found.select("reason", "part_number").rows() == [("no_metadata", 0), ("malformed_record", 1)]
    assert read_table("raw_files", [out[0]])["state"].to_list() == ["ingested"]
