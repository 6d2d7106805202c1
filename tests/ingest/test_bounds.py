"""The net under the readers: what breaks a schema is a reject, whatever the reader."""

import ast
import math
from pathlib import Path

import polars as pl
import pytest
from archives import JOB, iperf3_json, list_one, write_archive
from captures import Conversation, write_pcap
from own_files import MPSTAT
from readings import read_files

from ccreport.archive.manifest import RawFile, read_manifest
from ccreport.core.tables import Column, TableError, TableSchema, TableWriter, load_schema, write_table
from ccreport.ingest import bounds
from ccreport.ingest.bounds import Net
from ccreport.ingest.mpstat import reader
from ccreport.ingest.readers import READ_TABLES
from ccreport.ingest.rejects import Rejects

INGEST = Path(bounds.__file__).parent
GOOD = {
    "string": "a", "int": 1, "float": 1.0, "bool": True, "timestamp": 0, "map": [],
}  # fmt: skip
RUBBISH = {"int": -(2**62), "float": math.nan, "timestamp": 2**62}


def good_value(column: Column) -> object:
    """Return a value that the column allows."""
    return column.enum[0] if column.enum else GOOD[column.type]


def list_files(tmp_path: Path) -> list[RawFile]:
    archive = write_archive(tmp_path / "archive", {f"{JOB}/tcpdump:10.0.0.2:1": write_pcap(Conversation().packets)})
    return list(read_manifest(list_one(archive, tmp_path / "work")).files)


def find_rubbish(schema: TableSchema) -> tuple[str, object]:
    """Return a column and a value that its bounds forbid."""
    for column in schema.columns:
        if column.type == "float" or (column.type == "int" and column.min is not None):
            return column.name, RUBBISH[column.type]
    return next((c.name, None) for c in schema.columns if not c.nullable and c.name != "raw_file_id")


@pytest.mark.parametrize("table", READ_TABLES)
def test_rubbish_in_any_table_costs_its_row_only(tmp_path: Path, table: str) -> None:
    schema, files, rejected = load_schema(table), list_files(tmp_path), Rejects()
    name, value = find_rubbish(schema)
    good = {column.name: good_value(column) for column in schema.columns}
    frame = pl.DataFrame([good, good | {name: value}], schema=schema.polars)
    path = tmp_path / f"{table}.parquet"
    with pytest.raises(TableError):
        write_table(frame, table, path)
    write_table(frame, table, path, Net(rejected, files))
    assert pl.read_parquet(path).height == 1
    with TableWriter(table, path, Net(rejected, files)) as writer:
        writer.write(frame)
    assert pl.read_parquet(path).height == 1
    assert [row["reason"] for row in rejected.rows] == ["out_of_bounds"] * 2
    assert all(f"{table}: {name} " in row["message"] for row in rejected.rows)
    assert not any(row["is_whole_file"] for row in rejected.rows)


def test_rows_with_one_key_are_one_row(tmp_path: Path) -> None:
    schema, rejected = load_schema("cpu_samples"), Rejects()
    good = {column.name: good_value(column) for column in schema.columns}
    frame = pl.DataFrame([good, good], schema=schema.polars)
    write_table(frame, "cpu_samples", tmp_path / "t.parquet", Net(rejected, list_files(tmp_path)))
    assert pl.read_parquet(tmp_path / "t.parquet").height == 1
    assert "is repeated in 1 row; the first" in rejected.rows[0]["message"]


def test_a_reader_that_returns_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = write_archive(
        tmp_path / "archive",
        {f"{JOB}/mpstat-sender:10.0.0.2:1.json": '{"sysstat": {}}', f"{JOB}/src-cmd:10.0.0.2:1": iperf3_json()},
    )
    manifest = list_one(archive, tmp_path / "work")
    columns = load_schema("cpu_samples").columns

    def read(file: RawFile, *_: object) -> list[dict[str, object]]:
        good = {c.name: good_value(c) for c in columns} | {"raw_file_id": file.raw_file_id, "sample_number": 0}
        return [good, good | {"sample_number": 2**70}, good | {"sample_number": -1}, good | {"sample_number": "x"}]

    monkeypatch.setattr(reader, "_read_file", read)
    tables = read_files("mpstat", manifest, archive, tmp_path / "read")
    assert tables["cpu_samples"].height == 1
    assert tables["rejects"]["reason"].to_list() == ["out_of_bounds"] * 3
    assert not tables["rejects"]["is_whole_file"].any()


def test_a_file_of_which_no_row_is_left_is_rejected_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{JOB}/mpstat-{side}:10.0.0.2:1.json" for side in ("receiver", "sender")]
    test = {f"{JOB}/src-cmd:10.0.0.2:1": iperf3_json()}
    archive = write_archive(tmp_path / "archive", dict.fromkeys(names, MPSTAT) | test)
    manifest = list_one(archive, tmp_path / "work")
    good = {column.name: good_value(column) for column in load_schema("cpu_samples").columns}
    # Of both files, as if they were of one side.
    monkeypatch.setattr(reader, "_read_file", lambda file, *_: [good | {"raw_file_id": file.raw_file_id}])
    rejects = read_files("mpstat", manifest, archive, tmp_path / "read")["rejects"]
    assert rejects.select("path", "reason", "is_whole_file").rows() == [(names[1], "out_of_bounds", True)]


def test_no_reader_writes_a_table_without_the_net() -> None:
    # `edge/connections.py` writes rows again that passed the net before; rejects are what the net writes.
    allowed = {("edge/connections.py", "_mark_last"), ("ingest/rejects.py", "write")}
    for path in sorted(INGEST.rglob("*.py")):
        for function in (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)):
            for call in (n for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)):
                count = {"write_table": 4, "TableWriter": 3}.get(call.func.id, 0)
                assert len(call.args) >= count or (f"{path.parent.name}/{path.name}", function.name) in allowed, (
                    f"{path.name}:{call.lineno}"
                )


def test_a_table_without_rows_is_not_written(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "archive", {f"{JOB}/src-cmd:10.0.0.2:1": iperf3_json()})
    folder = tmp_path / "tables"
    rejects = read_files("iperf3", list_one(archive, tmp_path / "work"), archive, folder)["rejects"]
    assert rejects.is_empty()
    assert sorted(path.stem for path in folder.iterdir()) == ["intervals", "streams", "tests"]
