"""SQL of evaluation files that the database refuses: said in one line, with the name that is meant."""

import json
import re
from collections.abc import Iterable
from typing import Final

import duckdb

from ccreport.core.declarations import list_tables
from ccreport.core.declared_files import DeclarationError
from ccreport.core.schema_problems import Place, format_place, guess_near
from ccreport.summarise.refusals.columns import describe_other_column
from ccreport.summarise.refusals.numbers import LINE, SYNTAX, name_compared, name_number

# Binder Error: Referenced column "rtt_m" not found in FROM clause!
KIND: Final = re.compile(r"^[A-Z]\w+ Error: ")
WORD: Final = re.compile(r'(?:column|name|Function with name|binding) "?([\w.]+)"?')
# Parser Error: syntax error at or near "check"; names such as this one are words of SQL.
RESERVED: Final = re.compile(r'syntax error at or near "([a-z]+)"$')
KEYWORDS: Final = ("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "USING", "DISTINCT", "UNION")
BEFORE_BY: Final = ("GROUP", "ORDER")
# COPY FROM runs TO 'x.csv'
UNENCLOSED: Final = re.compile(r"\s*COPY\s+((?:FROM|SELECT|WITH)\b.*?)\s+TO\b", re.IGNORECASE | re.DOTALL)
# No function matches the given name and argument types 'avg(DOUBLE[])'.
OF_MANY: Final = re.compile(r"types '(avg|sum)\((STRUCT\(.*|.*\[\])\)'")
# … 'avg(VARCHAR)', and below it among others: avg(x DOUBLE, /) -> DOUBLE; year takes dates alone
NUMBERS_OF_TEXT: Final = re.compile(r"types '(\w+)\(VARCHAR\)'.*\t\1\(\w+ (?:DOUBLE|DECIMAL)", re.DOTALL)
# Column "flow" does not exist on left side of join
UNSHARED: Final = re.compile(r'Column "(\w+)" does not exist on \w+ side of join')
# Copy Function with name "xlsx" is not in the catalog, but it exists in the excel extension.
OTHER_FORMAT: Final = "Copy Function with name"
# Functions that people look for, and what they are in SQL.
SPELT: Final = {"cv": "stddev(x) / avg(x), the coefficient of variation of x"}
COLUMN: Final = re.compile(r'Referenced column "([^"]+)" not found')
UNTERMINATED: Final = re.compile("unterminated quoted|unterminated string")
# LINE 2: mode = 'both AND rtt_ms > 5: without another quote behind it
OPENED: Final = re.compile(r"(['\"])\w[\w.-]*(?=[^'\"\n]*\n *\^)")
# Values list "r" does not have a column named "test_group"
MISSING: Final = re.compile(r'(?:Referenced column|have a column named) "(\w+)"')
# Table "m" does not have a column named "algoritm", of a query that has FROM measured AS m
OF_TABLE: Final = re.compile(r'"(\w+)" does not have a column')
ALIASED: Final = r'\b(?:FROM|JOIN)\s+"?(\w+)"?\s+(?:AS\s+)?"?{}\b'
# … to INT32 when casting from source column host · Cannot compare values of type VARCHAR and type INTEGER_LITERAL
OF_TEXT: Final = re.compile(r"casting from source column (\w+)$")
TWO_TYPES: Final = re.compile(r"Cannot compare values of type VARCHAR and type (?:INTEGER|DECIMAL)")
# What word processors make of quotes.
CURLY_QUOTES: Final = "‘’‚‛“”„`´"
# Table with name table_2 does not exist!
TABLE: Final = re.compile(r"Table with name (\w[^/]*?) does not exist")
# Of all tables with a column, one with a row for each run comes first: joined, it counts nothing twice.
FULLEST: Final = ("runs", "labelled_runs", "measured", "algorithm_runs", "flows", "samples")
TABLES_AT_MOST: Final = 3
# Of a table with few columns all are named.
FEW_COLUMNS: Final = 20
# FROM raw_files · JOIN "flows"
ASKED: Final = re.compile(r'\b(?:FROM|JOIN)\s+"?(\w+)', re.IGNORECASE)
# No function matches the given name and argument types 'sum(VARCHAR)'. · Type with name foo does not exist!
CALLED: Final = re.compile(r"(?:types '|Type with name )(\w+)")
# NOT both
IN_CAPITALS: Final = re.compile(r"\b[A-Z]{2,}\b")
NAME: Final = re.compile(r"\w")
TOKEN: Final = re.compile(r"\w+|[^\w\s]")
# Candidate bindings: "rtt_ms", "rttvar_ms" · Candidate tables: "m" · Did you mean "runs"?
NAMES: Final = re.compile(r"(?:Candidate (?:bindings|tables):|Did you mean)(.*)")
# Tables of the database's own.
DUCKDB_S_OWN: Final = ("duckdb_", "pg_", "sqlite_")
# loss_pct = 0,1
COMMA: Final = re.compile(r"(\d+)\s*,\s*(\d+)")
# Unimplemented type for cast (TUPLE(BOOLEAN, INTEGER) -> BOOLEAN), of a condition that is loss_pct = 0,01
LIST: Final = "Unimplemented type for cast (TUPLE("
# A condition is in parentheses of ours, of which the second begins a line.
CLOSED: Final = re.compile(r"^LINE \d+: \).*\n {8,}\^$", re.MULTILINE)
# column "host" must appear in the GROUP BY clause or must be part of an aggregate function.
UNGROUPED: Final = "must appear in the GROUP BY clause"
# Cannot access file "/etc/passwd" - file system operations are disabled by configuration
OTHER_FILE: Final = re.compile('Cannot access (?:file|directory) "[^"]+"')
# Rates are in bit/s everywhere: goodput_mbps is goodput_bps / 1e6.
OTHER_RATE: Final = re.compile(r"(\w+_)([kmg])(bps)", re.IGNORECASE)
TIMES: Final = {"k": "1e3", "m": "1e6", "g": "1e9"}
# STRUCT(run_id VARCHAR, flow_id VARCHAR, …)
ROW_TYPE: Final = re.compile(r"STRUCT\(.*\)")
NO_TABLE: Final = re.compile(r'Referenced table "\w+" not found$')


def describe_refusal(
    error: duckdb.Error,
    connection: duckdb.DuckDBPyConnection | None = None,
    query: str = "",
    condition: str = "",
    view: str = "",
) -> str:
    """Return what DuckDB says of SQL, in one line; with a connection also which of its tables have a missing column.

    `query` is the SQL, with what a file says in lines by itself, and `condition` the part of it that a file says;
    that is over the columns of `view`, where it is known.
    """
    text = str(error)
    said = KIND.sub("", text.partition("\n")[0]).rstrip("!")
    names = re.findall(r'"([^"]+)"', "".join(NAMES.findall(text)))
    known = [name for name in names if not name.startswith(DUCKDB_S_OWN)]
    word = WORD.search(said)
    if said.startswith(LIST):
        number = COMMA.search(condition or query)
        advice = f"a number has a decimal point: {number[1]}.{number[2]}" if number else "join conditions by AND or OR"
        return f"a comma makes a list of the condition; {advice}"
    if condition and said == f'{SYNTAX} ")"' and CLOSED.search(text) and condition.count("(") == condition.count(")"):
        return f"the condition breaks off behind `{TOKEN.findall(condition)[-1]}`; complete it"
    if other := OTHER_FILE.match(said):
        return f"{other[0]}; SQL of an evaluation reads the tables of its archive, not other files"
    if SYNTAX in said and (unenclosed := UNENCLOSED.match(query)):
        return f"{said}; write COPY ({unenclosed[1]}) TO 'file.csv'"
    if meant := _guess_keyword(error) or name_number(text):
        return f"{said}{meant}"
    if said.startswith(OTHER_FORMAT):
        return f"{said.partition(',')[0]}; name a file that ends in .csv, .json or .parquet"
    if of_text := NUMBERS_OF_TEXT.search(text):
        column = re.search(rf"\b{of_text[1]}\s*\(\s*([\w.]+)\s*\)", query, re.IGNORECASE)
        return f"{said.partition('. ')[0]}; {f'`{column[1]}` is text, ' if column else ''}{of_text[1]} takes numbers"
    if connection and (unshared := UNSHARED.match(said)):
        return f"{said}{_name_shared(connection, unshared[1], query)}"
    if of_many := OF_MANY.search(said):
        shown = ROW_TYPE.sub("STRUCT(…)", said.partition(". ")[0])
        return f"{shown}; {_name_mean(*of_many.groups())}"
    if UNGROUPED in said:
        return f"{said.rstrip('.')}; put GROUP BY ALL at the end"
    if (of_text := OF_TEXT.search(said)) or TWO_TYPES.match(said):
        return f"{said}; {f'`{of_text[1]}` holds text, which' if of_text else 'text'} takes single quotes"
    if as_number := name_compared(said, text):
        return f"{said}{as_number}"
    if said == f'{SYNTAX} ","' and (number := COMMA.search(text)):
        return f"{said}; a number has a decimal point: {number[1]}.{number[2]}"
    if SYNTAX in said and (open_count := (condition or query).count("(") - (condition or query).count(")")):
        return f"{said}; {'a closing' if open_count > 0 else 'an opening'} parenthesis is missing"
    if connection and SYNTAX in said and len(find_tokens(error)) == 1:
        return f"{said}; a query begins with SELECT or FROM, as FROM runs; `sql` alone lists the tables"
    if reserved := RESERVED.search(said):
        return f"{said}; text takes single quotes ({_quote(reserved[1], query)}), a column of this name double ones"
    absent = COLUMN.match(said)
    # What is in double quotes, or in those of word processors, was meant as text.
    is_column = absent and f'"{absent[1]}"' not in query and absent[1] == absent[1].strip(CURLY_QUOTES)
    elsewhere = describe_other_column(absent[1], view) if absent and is_column and not connection else ""
    if elsewhere and view in list_tables():
        return f"{said}{elsewhere}"
    hint = (_name_tables(connection, said, query) or _name_table(connection, said)) if connection else ""
    if hint and TABLE.search(said):
        return f"{said}{hint}"
    if word and word[1] in SPELT:
        hint = f"; write {SPELT[word[1]]}"
    elif word and (rate := OTHER_RATE.fullmatch(word[1])) and rate[1] + rate[3] in known:
        hint = f"; rates are in bit/s: {rate[1]}{rate[3]} / {TIMES[rate[2].lower()]}"
    elif word and (of_own := _name_longer(word[1], known) or ("" if hint else guess_near(word[1], known))):
        hint = of_own + hint.removeprefix(of_own)
    if missing := MISSING.search(said):
        # Behind a question "it" would be the name that is meant.
        hint = re.sub(r"\?; (.* (?:has|have)) it$", rf"? \1 `{missing[1]}`", hint)
    if absent and (not hint or f"\n{absent[1]}\n" in query):
        listed = _name_list(connection, query) if not hint and is_column else ""
        hint += elsewhere or f"{' I' if hint else '; i'}f it is text, write {_quote(absent[1], query)}{listed}"
    hint = f"; the query reads {', '.join(known)}" if NO_TABLE.match(said) and known else hint
    if UNTERMINATED.match(said):
        opened = OPENED.search(text)
        hint = f"; close the quote: {opened[0]}{opened[1]}" if opened else "; a quote is missing, or one too many"
    return f"{said}{hint}"


def _name_list(connection: duckdb.DuckDBPyConnection | None, query: str) -> str:
    """Return where the columns of a query's only table are listed."""
    asked = {*ASKED.findall(query)}
    listed = f"; DESCRIBE {min(asked)} lists its columns" if len(asked) == 1 else ""
    return listed if connection else "; the page Data dictionary lists the columns"


def _name_longer(word: str, known: Iterable[str]) -> str:
    """Return the only column of a query's own tables that has a word as its end or beginning: suspect_rule for rule."""
    longer = [name for name in known if name.startswith(f"{word}_") or name.endswith(f"_{word}")]
    return f"; did you mean `{longer[0]}`?" if len(longer) == 1 else ""


def _quote(word: str, query: str) -> str:
    """Return a word as text in SQL; with more quotes where it is all that the file says, as YAML takes one pair off."""
    word = word.strip(CURLY_QUOTES)
    alone = re.search(rf"\n((?:\w+ )*{word}(?: \w+)*)\n", query)
    return f"\"'{alone[1]}'\"" if alone and not IN_CAPITALS.search(alone[1]) else f"'{word}'"


def _guess_keyword(error: duckdb.Error) -> str:
    """Return which word of SQL is meant by the one before that at which DuckDB lost track, or by a first one."""
    tokens = find_tokens(error)[-2:] if SYNTAX in str(error) else ()
    words = [word for word in tokens if word.isalpha()]
    if len(tokens) > 1 and tokens[0].upper() in BEFORE_BY and NAME.match(tokens[1]):
        return f"; write {tokens[0].upper()} BY {tokens[1]}"
    return guess_near(words[0], KEYWORDS) if words and words[0].upper() not in KEYWORDS else ""


def _name_shared(connection: duckdb.DuckDBPyConnection, word: str, query: str) -> str:
    """Return by which column the tables of a query can be joined, where it names one that they do not share."""
    tables = list(dict.fromkeys(ASKED.findall(query)))
    having = (
        "SELECT column_name FROM duckdb_columns() WHERE table_name IN (SELECT unnest(?)) "
        "GROUP BY ALL HAVING count(DISTINCT table_name) = ? ORDER BY min(column_index)"
    )
    shared = [name for (name,) in connection.execute(having, [tables, len(tables)]).fetchall()]
    listed = f"; these tables share {', '.join(shared)}" if shared else "; these tables share no column"
    return _name_longer(word, shared) or guess_near(word, shared) or listed


def _name_mean(function: str, kind: str) -> str:
    """Return how to write a mean or a sum of what is not a number."""
    if kind.endswith("[]"):
        return f"of a list take list_{function}(…)"
    of_runs = "of such runs take mean_of(list(…)), or avg of a number as goodput_bps"
    return of_runs if kind.startswith("STRUCT(run ") else "it takes numbers"


def _name_tables(connection: duckdb.DuckDBPyConnection, said: str, query: str) -> str:
    """Return the columns of a query's only table, if these are few, and which tables have one that it lacks."""
    if not (column := MISSING.search(said)):
        return ""
    # A temporary view hides one of the database.
    own = "SELECT column_name FROM duckdb_columns() WHERE table_name = ? GROUP BY ALL ORDER BY min(column_index)"
    (asked, *others) = dict.fromkeys(ASKED.findall(query)) or [""]
    if of_table := OF_TABLE.search(said):
        aliased = re.search(ALIASED.format(of_table[1]), query, re.IGNORECASE)
        asked, others = aliased[1] if aliased else of_table[1], []
    columns = [name for (name,) in connection.execute(own, [asked]).fetchall()] if not others else []
    is_short = 0 < len(columns) <= FEW_COLUMNS
    of_own = guess_near(column[1], columns) if is_short or of_table else ""
    of_own = of_own or (_name_longer(column[1], columns) if of_table else "")
    if is_short and not of_own:
        of_own = f"; `{asked}` has {', '.join(columns)}"
    having = "SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal AND column_name = ?"
    held = {name for (name,) in connection.execute(having, [column[1]]).fetchall()}
    # Behind each published table is a view of its own runs.
    holding = sorted(name for name in held if not name.startswith("all_") and not name.endswith("_runs"))
    tables = list(dict.fromkeys([*(name for name in FULLEST if name in held), *holding]))[:TABLES_AT_MOST]
    listed = ", ".join(f"`{name}`" for name in tables)
    return f"{of_own}; {listed} {'has' if len(tables) == 1 else 'have'} it" if tables else of_own


def _name_table(connection: duckdb.DuckDBPyConnection, said: str) -> str:
    """Return the table whose name begins as that of a missing one, or nothing."""
    if not (table := TABLE.search(said)):
        return ""
    begun = connection.execute(
        "SELECT name FROM (SHOW TABLES) WHERE starts_with(name, ?) ORDER BY length(name), name LIMIT 1", [table[1]]
    ).fetchall()
    return f"; did you mean `{begun[0][0]}`?" if begun else ""


def refuse_sql(error: duckdb.Error, place: Place, said: str, query: str = "") -> DeclarationError:
    """Return the error of SQL at a place of a file: what it is, what DuckDB says of it, and at which word."""
    return DeclarationError(f"{said}: {describe_refusal(error, query=query)}", place, find_tokens(error))


def refuse_list(connection: duckdb.DuckDBPyConnection, condition: str) -> None:
    """Raise duckdb.Error where a condition is a list, as by a decimal comma, which else is refused of rows only."""
    (parsed,) = connection.execute("SELECT json_serialize_sql(?)", [f"SELECT (\n{condition}\n)"]).fetchall()[0]
    for statement in json.loads(parsed).get("statements", []):
        if statement["node"].get("select_list", [{}])[0].get("function_name") == "row":
            raise duckdb.ConversionException(f"Conversion Error: {LIST}")


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
            # Some faults are of values that rows have.
            connection.execute(f"CREATE OR REPLACE TEMP TABLE tried AS {query}")
        except duckdb.Error as error:
            return refuse_sql(error, place, f"{format_place(place)}: the database refuses it", query)
    return None
