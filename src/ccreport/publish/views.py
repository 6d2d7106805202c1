"""`views.sql`: the views and macros of an evaluation's database as text, over a release's own tables.

A database file holds more than these and has other bytes each time; text can be read in any year. DuckDB exports its
catalogue in an order in which it cannot always be taken in again, so the order is found by trying.
"""

import contextlib
import tempfile
from pathlib import Path
from typing import Final

import duckdb

from ccreport.publish import WHOLE
from ccreport.summarise.database import QueryError, connect, list_views, quote_name, quote_text

HEAD: Final = """\
-- Views and macros over the tables of this release. In the release's folder, with DuckDB:
--   duckdb -init evaluations/{name}/views.sql
-- or con.execute(open("evaluations/{name}/views.sql").read()) from Python. Then: FROM runs;
"""


def write_views(release: Path, name: str, *, include_suspect: bool) -> None:
    """Write `views.sql` of an evaluation whose declaration and tables are in a release already.

    Suspect runs count if `include_suspect` is set.
    """
    folder = Path("evaluations", name)
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(release):
        place = Path(work)
        (place / "ids.txt").write_text(f"{WHOLE}\n", encoding="ascii")
        database = place / "archive.duckdb"
        list_views(
            place / "ids.txt", Path("tables"), folder / f"{name}.yaml", database, include_suspect=include_suspect
        )
        statements = _export(database, place / "export", folder)
        ordered = _order(statements)
        text = HEAD.format(name=name) + "".join(f"\n{statement.strip().rstrip(';')};\n" for statement in ordered)
        (folder / "views.sql").write_text(text, encoding="utf-8")


def _export(database: Path, export: Path, folder: Path) -> list[str]:
    """Return what creates the views, macros and small tables of a database; a stored table becomes a view.

    It is one of the published table's file, or of what made it, which is its comment.
    """
    with connect(database) as connection:
        connection.execute(f"EXPORT DATABASE {quote_text(str(export))}")
        query = "SELECT table_name, comment FROM duckdb_tables() WHERE table_name != 'algorithms' ORDER BY 1"
        stored = dict(connection.execute(query).fetchall())
        rows = connection.execute("FROM algorithms ORDER BY ALL").fetchall()
    parsed = duckdb.extract_statements((export / "schema.sql").read_text(encoding="utf-8"))
    left_out = ("CREATE TABLE", "COMMENT ON")
    statements = [statement.query for statement in parsed if not statement.query.lstrip().upper().startswith(left_out)]
    values = ", ".join(f"({quote_text(cc)}, {quote_text(algorithm)}, {rank})" for cc, algorithm, rank in rows)
    head = "CREATE VIEW algorithms AS SELECT cc, algorithm, rank::INTEGER AS algorithm_rank"
    empty = "(SELECT '', '', 0 WHERE FALSE)"
    statements.append(f"{head} FROM {f'(VALUES {values})' if rows else empty} AS named(cc, algorithm, rank)")
    for table, made_by in stored.items():
        file = folder / "tables" / f"{table}.parquet"
        query = f"FROM read_parquet({quote_text(str(file))})" if file.exists() else made_by
        statements.append(f"CREATE VIEW {quote_name(table)} AS {query}")
    return statements


def _order(statements: list[str]) -> list[str]:
    """Return statements in an order in which each finds what it names; raise QueryError where there is none."""
    ordered: list[str] = []
    with duckdb.connect() as connection:
        open_ones = list(statements)
        while open_ones:
            failed, fault = [], ""
            for statement in open_ones:
                try:
                    connection.execute(statement)
                    ordered.append(statement)
                except duckdb.Error as error:
                    failed.append(statement)
                    fault = str(error)
            if len(failed) == len(open_ones):
                raise QueryError(f"views.sql: {fault}")
            open_ones = failed
    return ordered
