"""SQL of evaluation files that the database refuses: said in one line, with the name that is meant."""

import re
from collections.abc import Iterable
from typing import Final

import duckdb

from ccreport.core.declared_files import DeclarationError
from ccreport.core.schema_problems import guess_near

# Binder Error: Referenced column "rtt_m" not found in FROM clause!
KIND: Final = re.compile(r"^[A-Z]\w+ Error: ")
WORD: Final = re.compile(r'(?:column|name|Function with name|binding) "?([\w.]+)"?')
# Parser Error: syntax error at or near "check"; names such as this one are words of SQL.
RESERVED: Final = re.compile(r'syntax error at or near "([a-z]+)"$')
COLUMN: Final = re.compile(r'Referenced column "(\w+)" not found')
# Candidate bindings: "rtt_ms", "rttvar_ms" · Did you mean "runs"?
NAMES: Final = re.compile(r"(?:Candidate bindings:|Did you mean)(.*)")


def describe_refusal(error: duckdb.Error) -> str:
    """Return what DuckDB says of SQL, in one line."""
    text = str(error)
    said = KIND.sub("", text.partition("\n")[0]).rstrip("!")
    known = [name for names in NAMES.findall(text) for name in re.findall(r'"([^"]+)"', names)]
    word = WORD.search(said)
    if reserved := RESERVED.search(said):
        return f"{said}; text takes single quotes ('{reserved[1]}'), a column of this name double ones"
    hint = guess_near(word[1], known) if word else ""
    if not hint and (column := COLUMN.match(said)):
        hint = f"; if it is text, write '{column[1]}'"
    return f"{said}{hint}"


def find_refused(
    connection: duckdb.DuckDBPyConnection, queries: Iterable[tuple[tuple[str, ...], str]]
) -> DeclarationError | None:
    """Return the error of the first place whose query is refused for itself, None where there is none."""
    for place, query in queries:
        try:
            connection.sql(query)
        except duckdb.CatalogException:
            # A view that it needs was not made any more.
            return None
        except duckdb.Error as error:
            return DeclarationError(f"{'.'.join(place)}: the database refuses it: {describe_refusal(error)}", place)
    return None
