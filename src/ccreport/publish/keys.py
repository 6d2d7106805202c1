"""Foreign keys of the typed tables: which columns name a row of which other table, by how the tables are made."""

from pathlib import Path
from typing import Final

from ccreport.core.declarations import SCHEMAS
from ccreport.core.tables import load_schema
from ccreport.measure import ARCHIVE_TABLES, EXPERIMENT_TABLES

# Raw files and rejects may name a run of which no file could be read as a test's; an attempt may have failed.
RUNLESS: Final = frozenset({"raw_files", "rejects", "attempts"})
# Streams with what was measured of each; samples and captures also show control connections, which are not flows.
OF_FLOWS: Final = frozenset({"streams", "intervals"})
PARTS: Final = {
    "packet_intervals": ("packet_flows", ("raw_file_id", "flow_id", "connection_number", "direction")),
    "rpc_samples": ("rpc_tests", ("raw_file_id", "test_number")),
    "rpc_histograms": ("rpc_tests", ("raw_file_id", "test_number")),
}
TYPED_TABLES: Final = (*EXPERIMENT_TABLES, *ARCHIVE_TABLES)


def list_foreign_keys(table: str, schemas: Path = SCHEMAS) -> list[tuple[tuple[str, ...], str]]:
    """Return (columns, table in which the columns of the same names are the key) for a typed table.

    A row in which one of the columns is null names no other row.
    """
    columns = load_schema(table, schemas).polars
    keys: list[tuple[tuple[str, ...], str]] = []
    if "raw_file_id" in columns and table != "raw_files":
        keys.append((("raw_file_id",), "raw_files"))
    if "run_id" in columns and table not in RUNLESS | {"runs"}:
        keys.append((("run_id",), "runs"))
    if table in OF_FLOWS:
        keys.append((("run_id", "flow_id"), "flows"))
    if table in PARTS:
        other, shared = PARTS[table]
        keys.append((shared, other))
    return keys
