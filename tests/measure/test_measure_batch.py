"""Batches: an experiment's tables as its measuring asks for them."""

from pathlib import Path

import polars as pl

from ccreport.core.tables import load_schema, read_table, write_table
from ccreport.measure.batch import TablesOfBatch
from ccreport.rebuild.batch_tables import BatchReader, BatchWriter, iterate_groups

HOSTS = pl.DataFrame({"experiment_id": ["e1", "e1"], "host": ["a", "b"], "raw_file_id": ["f1", "f2"]})


def test_only_a_table_that_is_scanned_becomes_a_file(tmp_path: Path) -> None:
    write_table(HOSTS, "hosts", tmp_path / "written.parquet")
    with BatchWriter("hosts", tmp_path / "hosts/first.parquet") as writer:
        writer.append("e0", "", [])
        writer.append("e1", "", iterate_groups(tmp_path / "written.parquet"))
    ingested = {"hosts": BatchReader(tmp_path / "hosts/first.parquet")}
    (tmp_path / "own").mkdir()
    tables = TablesOfBatch(tmp_path / "own", ingested, "e1")
    hosts = tables.read("hosts")
    assert (hosts.height, hosts["host"].to_list(), hosts.schema) == (2, ["a", "b"], load_schema("hosts").polars)
    assert not list(tables.folder.iterdir())
    assert read_table("hosts", [tables.place("hosts")]).equals(hosts)
    assert tables.place("flows") == tables.folder / "flows.parquet"
    none = TablesOfBatch(tmp_path / "own", ingested, "e0").read("hosts")
    assert (none.height, none.schema) == (0, load_schema("hosts").polars)
