"""Tables that the explorer's page asks by SQL: Parquet in base64, as scripts, which a page from disk may load too.

The engine is a bundle of packages that `make sql` makes; without it there are no such tables, and the page says how to
ask on the command line.
"""

import base64
import tempfile
from pathlib import Path
from typing import Final

import duckdb

from ccreport.core.atomic_files import replace_text
from ccreport.core.tables import load_schema
from ccreport.explorer.script import write_call

# Views of the database; beside them are the tables that an evaluation publishes.
VIEWS: Final = ("runs", "flows", "suspects", "sessions", "hosts")
# A browser decodes this much in about a second; a larger table is asked on the command line.
BYTES_AT_MOST: Final = 20_000_000


def write_sql(
    connection: duckdb.DuckDBPyConnection, published: list[Path], engine: list[Path], output: Path
) -> dict[str, list[str]]:
    """Write sql.js and tables/<name>.js into the folder `output`; return the columns of each table, {} without engine.

    `published` are tables as Parquet files, each named after its file; `engine` is the bundle, or nothing. The scripts'
    files are compressed with Snappy, which the page's reader has built in.
    """
    folder = output / "tables"
    for old in (output / "sql.js", *folder.glob("*.js")):
        old.unlink(missing_ok=True)
    if not engine:
        return {}
    folder.mkdir(exist_ok=True)
    replace_text(output / "sql.js", engine[0].read_text(encoding="utf-8"))
    known = {name for (name,) in connection.sql("SELECT view_name FROM duckdb_views()").fetchall()}
    tables = {path.stem: connection.read_parquet(str(path)) for path in published} | {
        name: connection.sql(f"FROM {name} ORDER BY {', '.join(load_schema(name).key)}")
        for name in known.intersection(VIEWS)
    }
    columns = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, rows in sorted(tables.items()):
            path = Path(temporary) / f"{name}.parquet"
            rows.write_parquet(str(path), compression="snappy")
            if path.stat().st_size <= BYTES_AT_MOST:
                write_call(folder / f"{name}.js", "loadTable", name, base64.b64encode(path.read_bytes()).decode())
                columns[name] = rows.columns
    return columns
