"""Results copied elsewhere for others to query: tables, published tables, and a file of views over both.

`views.sql` names each file of a table by its full address, so that what an earlier build left there is not read too. It
is for a DuckDB with its extension httpfs; `read_parquet` of any of the addresses works by itself, in polars too.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Final

from ccreport.measure import ARCHIVE_TABLES, EXPERIMENT_TABLES
from ccreport.storage.copy import copy_files
from ccreport.storage.places import StorageError, is_remote
from ccreport.storage.progress import LOG, log_into
from ccreport.summarise.database import connect, quote_name, quote_text

# read_parquet(main.list_value('results/tables/runs/a.parquet', 'results/tables/runs/b''s.parquet'))
PATH: Final = re.compile(r"'((?:[^']|'')+\.parquet)'")


def store_results(
    database: Path, summaries: Path, target: str, facts: Path, log: Path, *, dry_run: bool, prune: bool
) -> None:
    """Copy the tables of a database, published tables and views over both to a place: what is new or changed, compared.

    `facts` becomes a JSON object: target, files_count, size_bytes, and the paths that only the target has. Raise
    StorageError where that does not work.
    """
    if not target:
        raise StorageError("nowhere to store results; set `store_results` in config.yaml, such as s3://bucket/prefix")
    with log_into(log), tempfile.TemporaryDirectory() as folder:
        tables = list_table_files(database)
        files = {f"tables/{table}/{path.name}": path for table, paths in tables.items() for path in paths}
        files |= {f"summaries/{path.name}": path for path in summaries.glob("*.parquet")}
        views = Path(folder) / "views.sql"
        views.write_text(write_views(sorted(files), target), encoding="utf-8")
        files["views.sql"] = views
        copied = copy_files(files, target, dry_run=dry_run, prune=prune)
        sizes = sum(path.stat().st_size for path in files.values())
        for path in copied.written:
            LOG.info("%s %s", "Would write" if dry_run else "Written", path)
        for path in copied.others if dry_run or prune else ():
            LOG.info(
                "%s %s", "Would delete" if dry_run and prune else "Deleted" if prune else "Not of this build", path
            )
        LOG.info("%s: %d written, %d unchanged", target, 0 if dry_run else len(copied.written), len(copied.unchanged))
        others = [] if prune else list(copied.others)
        about = {"target": target, "files_count": len(files), "size_bytes": sizes, "others": others}
    facts.parent.mkdir(parents=True, exist_ok=True)
    facts.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def list_table_files(database: Path) -> dict[str, list[Path]]:
    """Return the files that the views of a database read, by table."""
    with connect(database) as connection:
        views = dict(connection.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall())
    return {
        table: sorted(_read_literal(text) for text in PATH.findall(views[table]))
        for table in (*EXPERIMENT_TABLES, *ARCHIVE_TABLES)
        if table in views
    }


def _read_literal(text: str) -> Path:
    """Return the path that an SQL literal of a view means, in which patterns are escaped."""
    return Path(re.sub(r"\[([\[*?])\]", r"\1", text.replace("''", "'")))


def write_views(paths: list[str], target: str) -> str:
    """Return the SQL that makes a view of each table and published table, over files below an address."""
    root = target if is_remote(target) else str(Path(target).resolve())
    files: dict[str, list[str]] = {}
    for path in paths:
        _, _, rest = path.partition("/")
        files.setdefault(rest.split("/")[0].removesuffix(".parquet"), []).append(f"{root.rstrip('/')}/{path}")
    statements = []
    for name, addresses in sorted(files.items()):
        listed = ",\n  ".join(quote_text(address) for address in addresses)
        statements.append(f"CREATE OR REPLACE VIEW {quote_name(name)} AS FROM read_parquet([\n  {listed}\n]);\n")
    return "".join(statements)
