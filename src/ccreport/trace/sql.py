"""Queries over the database of results, typed by people."""

import contextlib
import io
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import duckdb

from ccreport.core.declarations import read_query
from ccreport.core.errors import InputError
from ccreport.core.evaluation import CLAIMS
from ccreport.core.text import display_name
from ccreport.summarise.database import QueryError, quote_name, read_files
from ccreport.summarise.open_results import asking_from, open_results
from ccreport.summarise.refused_sql import TABLE, describe_refusal
from ccreport.summarise.view_columns import describe_columns, list_closed
from ccreport.trace.find_table import (
    find_databases,
    find_elsewhere,
    find_results,
    is_own,
    list_published,
    note_unconfigured,
)
from ccreport.trace.queries.absent_files import describe_absent_file
from ccreport.trace.queries.absent_values import describe_absent_values
from ccreport.trace.queries.copy_target import refuse_target
from ccreport.trace.queries.pooled_columns import describe_pooled

# A published table is there twice: as it was published, and as the view that it is made by.
TABLES: Final = "SELECT DISTINCT name FROM (SHOW TABLES) ORDER BY name"
MEANS: Final = """\
Columns: sql "DESCRIBE measured". Means by condition, of which a job is one on each path:
  sql "SELECT job, rtt_ms, algorithm, count(goodput_bps), avg(goodput_bps) \
FROM measured GROUP BY ALL ORDER BY ALL\""""
# What to ask of a table, if it is there; of the published ones that are there, one is an example.
EXAMPLE: Final = "table_2_testbed_runs"
GUIDE: Final = (
    ("runs", "runs            a row for each run"),
    ("labelled_runs", "labelled_runs   the same with labels, what makes a run suspect, and whether it counts then"),
    ("algorithm_runs", "algorithm_runs  a row for each run and algorithm"),
    ("measured", "measured        the same of all steady tests that count, those of several tables together"),
    (EXAMPLE, "<table>_runs    exactly those of a published table, such as {}: take these to compare with its rows"),
    ("reproduction", "reproduction    published numbers beside those here, with verdicts"),
    ("claims", "claims          the checks of claims"),
    ("measured", MEANS),
)
# What people type for these.
SHOWN: Final = ("SHOW TABLES", "PRAGMA SHOW_TABLES", "SHOW", "DESCRIBE")
WRITES: Final = frozenset(
    getattr(duckdb.StatementType, name)
    for name in ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "EXPORT", "ATTACH")
)
# EXPLAIN ANALYZE runs what it explains.
COPIES: Final = (duckdb.StatementType.COPY, duckdb.StatementType.EXPLAIN)
# What DESCRIBE gives: of views and tables without constraints only the first two tell anything.
DESCRIBED: Final = ["column_name", "column_type", "null", "key", "default", "extra"]
EMPTY: Final = "the query is empty; without one, sql lists the tables"
READ_ONLY: Final = "the database is read only, as a build makes it; save an answer with COPY (SELECT …) TO 'file.csv'"
# What only turns out to write as it is run, such as IMPORT DATABASE.
ATTACHED: Final = "attached in read-only mode"
LISTED: Final = "; `sql` without a query lists the tables"
FILE: Final = re.compile(r"\S+\.sql")
MEANINGS: Final = "The report's page Dictionary has units, sources and whole meanings; the files of schemas/ too."
NAME: Final = re.compile(r"\w+")
SENTENCE_END: Final = re.compile(r"(?:\.|;)(?:\s|$)")
# Cannot open file "/nope/x.csv": No such file or directory
QUOTED: Final = re.compile(r'"([^"]+)"')
# COPY … TO '/dev/stdout', of which `head` reads the first lines only
BROKEN_PIPE: Final = "Broken pipe"
LONG_TYPE: Final = re.compile(r"\(.*\)", re.DOTALL)
# Meanings are not made narrower than this.
LEAST_WIDTH: Final = 30
# Near 0 there are as many digits behind zeros.
ROUNDED: Final = (
    "CASE WHEN {0} = 0 OR NOT isfinite({0}) THEN {0}"
    " ELSE round({0}, greatest(0, 5 - floor(log10(abs({0})))::INTEGER)) END AS {0}"
)
# DuckDB shows so many more rows than asked for rather than say that they are left out.
NEVER_LEFT_OUT: Final = 3
# Where the output is not a terminal, nothing is left out.
WIDE: Final = 100_000


def sql(query: str = TABLES, /, database: Path | None = None, rows: int = 100) -> None:
    """Print what a query over the results gives as a table, from any folder; without a query, which tables there are.

    Ask `measured` for means, by all that conditions differ in (sharing, flows_count, rtt_ms, loss_pct, buffer_bytes):
    it has a row for each run and algorithm of steady tests that count, of several tables together; `algorithm_runs` has
    those of all runs, `runs` a row for each run. `query` is DuckDB's SQL, such as `FROM runs LIMIT 5`. `database` is an
    evaluation's, or a folder of results, where the configured evaluation goes before others; without it, the folder
    that config.yaml names. At most so many `rows` are shown, and six digits of a number that is not whole; `COPY
    (SELECT …) TO 'file.csv'` saves all of them; files that the query names are found from the current folder.
    """
    if not query.strip(" ;\n"):
        raise InputError(EMPTY)
    if FILE.fullmatch(query):
        raise InputError(f'`{query}` is not a query, and sql reads none from files; type sql "$(cat {query})"')
    if rows < 1:
        raise InputError(f"--rows {rows} would show nothing; COUNT(*) in the query counts rows")
    width = shutil.get_terminal_size((WIDE, 0)).columns
    place = find_databases(find_results(database), is_any=True)[0]
    folder, called_in = place.resolve().parent, Path.cwd()
    note_unconfigured(database)
    with open_results(place) as connection, asking_from(called_in, connection):
        _add_views(connection, folder)
        # The program's own variables are no tables.
        connection.execute("SET python_enable_replacements = false")
        try:
            if query.strip(" ;\n").upper() in SHOWN:
                query = TABLES
            statements = connection.extract_statements(query)
            if not statements:
                raise QueryError(EMPTY)
            if len(statements) > 1:
                raise QueryError("there is more than one statement; only one is shown at a time")
            if statements[0].type in WRITES:
                raise QueryError(READ_ONLY)
            if statements[0].type in COPIES:
                refuse_target(query, called_in, place)
            if statements[0].type == duckdb.StatementType.COPY:
                # The standard output may be what the rows went to.
                (count,) = connection.execute(query).fetchone() or (0,)
                print(f"{count:,} row{'' if count == 1 else 's'} written", file=sys.stderr)
                return
            # A statement that gives no rows has none to show.
            found: duckdb.DuckDBPyRelation | None = connection.sql(query)
            if found is None:
                return
            if found.columns == DESCRIBED:
                for line in _describe(found.fetchall(), query, width):
                    print(display_name(line))
                return
            guide = _list_guide(connection) if query == TABLES else []
            hints = [*describe_absent_values(connection, query), *describe_pooled(connection, query)]
            shown = _show(_round(found), rows, width)
        except duckdb.IOException as error:
            if BROKEN_PIPE in str(error):
                raise BrokenPipeError from error
            # Of the results' own files, unless the query names the file.
            if str(folder.parent) in str(error) and not any(path in query for path in QUOTED.findall(str(error))):
                raise
            told = describe_absent_file(error, query, called_in, folder.parent.parent)
            raise QueryError(told or describe_refusal(error)) from error
        except duckdb.Error as error:
            if told := describe_absent_file(error, query, called_in, folder.parent.parent):
                raise QueryError(told) from error
            lacking = TABLE.search(str(error))
            if lacking and (elsewhere := find_elsewhere(lacking[1], place)):
                raise QueryError(f"{place.parent.name} has no table {lacking[1]}{elsewhere}") from error
            if ATTACHED in str(error):
                raise QueryError(READ_ONLY) from error
            told = describe_refusal(error, connection, query)
            if lacking and ";" not in told:
                told += LISTED if is_own(place) else f"; {place} has no tables of ccreport{LISTED}"
            raise QueryError(told) from error
    # A terminal obeys what a name of the archive may contain.
    print("\n".join(map(display_name, shown.splitlines())))
    for hint in hints:
        print(display_name(hint))
    for line in guide:
        print(line)


def _add_views(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Give a connection what is made with a database, and so is not in it, and the tables as they were published."""
    for path in sorted((*folder.glob("*.parquet"), *folder.glob("summaries/*.parquet"))):
        connection.execute(f"CREATE TEMP VIEW {quote_name(path.stem)} AS {read_files([path])}")
    # A check of a claim can be tried as it is written, unless the database is of no evaluation.
    with contextlib.suppress(duckdb.CatalogException):
        connection.execute(read_query(CLAIMS))


def _list_guide(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return lines on what to ask of the tables that there are."""
    names = {name for (name,) in connection.execute(TABLES).fetchall()}
    own = [f"{name}_runs" for name in list_published(connection)]
    example = EXAMPLE if EXAMPLE in own else next(iter(own), "")
    return [line.format(example) for table, line in GUIDE if (example if table == EXAMPLE else table) in names]


def _round(found: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return rows with six significant digits of numbers; of whole numbers, and of the whole part of others, all."""
    if len(set(found.columns)) < len(found.columns):
        return found
    shown = [
        ROUNDED.format(quote_name(name)) if str(kind) == "DOUBLE" else quote_name(name)
        for name, kind in zip(found.columns, found.types, strict=True)
    ]
    return found.project(", ".join(shown))


def _show(found: duckdb.DuckDBPyRelation, rows: int, width: int) -> str:
    """Return so many rows at most as a table, and how many there are."""
    count = len(found.limit(rows + NEVER_LEFT_OUT + 1))
    is_cut_here = rows < count <= rows + NEVER_LEFT_OUT
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        (found.limit(rows) if is_cut_here else found).show(max_width=width, max_rows=rows)
    return f"{shown.getvalue()}{count} rows ({rows} shown)" if is_cut_here else shown.getvalue()


def _describe(columns: Sequence[tuple[str, ...]], query: str, width: int) -> Iterator[str]:
    """Yield lines of so many characters at most on the columns that DESCRIBE gives: name, type, and what each means."""
    meanings, closed = describe_columns(*NAME.findall(query)[1:][-1:]), list_closed()
    # What a list of runs is of is longer than its meaning.
    told = [(name, LONG_TYPE.sub("(…)", kind)) for name, kind, *_ in columns]
    widths = [max(map(len, texts)) for texts in zip(*told, strict=True)]
    indent = sum(widths) + 4
    for name, kind in told:
        whole = meanings.get(name, "").removesuffix(".")
        meaning = whole if name in closed else SENTENCE_END.split(whole)[0]
        start = f"{name:{widths[0]}}  {kind:{widths[1]}}  "
        lines = textwrap.wrap(meaning, max(width - indent, LEAST_WIDTH)) or [""]
        yield f"{start}{lines[0]}".rstrip()
        yield from (" " * indent + line for line in lines[1:])
    yield MEANINGS
