"""SQL of evaluation files that the database refuses: said in one line, with the name that is meant."""

import re
from collections.abc import Iterable
from typing import Final

import duckdb

from ccreport.core.declared_files import DeclarationError
from ccreport.core.schema_problems import Place, format_place, guess_near

# Binder Error: Referenced column "rtt_m" not found in FROM clause!
KIND: Final = re.compile(r"^[A-Z]\w+ Error: ")
WORD: Final = re.compile(r'(?:column|name|Function with name|binding) "?([\w.]+)"?')
# Parser Error: syntax error at or near "check"; names such as this one are words of SQL.
RESERVED: Final = re.compile(r'syntax error at or near "([a-z]+)"$')
COLUMN: Final = re.compile(r'Referenced column "(\w+)" not found')
# Values list "r" does not have a column named "test_group"
MISSING: Final = re.compile(r'(?:Referenced column|have a column named) "(\w+)"')
# Table with name table_2 does not exist!
TABLE: Final = re.compile(r"Table with name (\w+) does not exist")
# Of all tables with a column, those that hold the most runs or flows come first.
FULLEST: Final = ("labelled_runs", "algorithm_runs", "flows", "samples")
TABLES_AT_MOST: Final = 3
# No function matches the given name and argument types 'sum(VARCHAR)'. · Type with name foo does not exist!
CALLED: Final = re.compile(r"(?:types '|Type with name )(\w+)")
# LINE 2: host = 'a' AND AND rtt_ms > 5)
#                        ^^^
LINE: Final = re.compile(r"^(LINE \d+: (?:\.\.\.)?)(.*)\n( *)(\^+)", re.MULTILINE)
TOKEN: Final = re.compile(r"\w+|[^\w\s]")
# Candidate bindings: "rtt_ms", "rttvar_ms" · Did you mean "runs"?
NAMES: Final = re.compile(r"(?:Candidate bindings:|Did you mean)(.*)")


def describe_refusal(error: duckdb.Error, connection: duckdb.DuckDBPyConnection | None = None) -> str:
    """Return what DuckDB says of SQL, in one line; with a connection also which of its tables have a missing column."""
    text = str(error)
    said = KIND.sub("", text.partition("\n")[0]).rstrip("!")
    known = [name for names in NAMES.findall(text) for name in re.findall(r'"([^"]+)"', names)]
    word = WORD.search(said)
    if reserved := RESERVED.search(said):
        return f"{said}; text takes single quotes ('{reserved[1]}'), a column of this name double ones"
    hint = _name_tables(connection, said) or _name_table(connection, said) if connection else ""
    if not hint and word:
        hint = guess_near(word[1], known)
    if not hint and (column := COLUMN.match(said)):
        hint = f"; if it is text, write '{column[1]}'"
    return f"{said}{hint}"


def _name_tables(connection: duckdb.DuckDBPyConnection, said: str) -> str:
    """Return which tables have a column that those of a query lack, or nothing."""
    if not (column := MISSING.search(said)):
        return ""
    query = "SELECT DISTINCT table_name FROM duckdb_columns() WHERE column_name = ?"
    held = {name for (name,) in connection.execute(query, [column[1]]).fetchall()}
    # Behind each published table is a view of its own runs.
    others = sorted(name for name in held if not name.startswith("all_") and not name.endswith("_runs"))
    tables = list(dict.fromkeys([*(name for name in FULLEST if name in held), *others]))[:TABLES_AT_MOST]
    return f"; {', '.join(f'`{name}`' for name in tables)} {'has' if len(tables) == 1 else 'have'} it" if tables else ""


def _name_table(connection: duckdb.DuckDBPyConnection, said: str) -> str:
    """Return the table whose name begins as that of a missing one, or nothing."""
    if not (table := TABLE.search(said)):
        return ""
    begun = connection.execute(
        "SELECT name FROM (SHOW TABLES) WHERE starts_with(name, ?) ORDER BY length(name), name LIMIT 1", [table[1]]
    ).fetchone()
    return f"; did you mean `{begun[0]}`?" if begun else ""


def refuse_sql(error: duckdb.Error, place: Place, said: str) -> DeclarationError:
    """Return the error of SQL at a place of a file: what it is, what DuckDB says of it, and at which word."""
    return DeclarationError(f"{said}: {describe_refusal(error)}", place, find_tokens(error))


def find_tokens(error: duckdb.Error) -> tuple[str, ...]:
    """Return the words and signs of SQL up to the one that DuckDB refuses, or that alone, as far as it says it."""
    text = str(error)
    if line := LINE.search(text):
        start, shown, blanks, carets = line.groups()
        return tuple(TOKEN.findall(shown[: len(blanks) + len(carets) - len(start)]))
    word = WORD.search(text) or CALLED.search(text)
    return tuple(TOKEN.findall(word[1])) if word else ()


def find_refused(
    connection: duckdb.DuckDBPyConnection, queries: Iterable[tuple[Place, str]]
) -> DeclarationError | None:
    """Return the error of the first place whose query is refused for itself, None where there is none."""
    for place, query in queries:
        try:
            connection.sql(query)
        except duckdb.CatalogException:
            # A view that it needs was not made any more.
            return None
        except duckdb.Error as error:
            return refuse_sql(error, place, f"{format_place(place)}: the database refuses it")
    return None
