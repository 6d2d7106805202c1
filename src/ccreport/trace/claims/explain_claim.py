"""What the verdict on a claim follows from: its checks with values and bounds, their queries, and their runs."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.compare.claim_verdicts import name_check, name_verdict, show_units
from ccreport.compare.claim_wording import (
    explain_verdict,
    introduce_note,
    name_bounds,
    name_lack,
    show_interval,
    sum_up_checks,
)
from ccreport.core.declarations import read_query
from ccreport.core.declared_files import find_line, show_path
from ccreport.core.errors import InputError
from ccreport.core.evaluation import CLAIMS, list_evaluations, load_evaluation, resolve_evaluation
from ccreport.core.schema_problems import guess_near
from ccreport.core.text import display_name
from ccreport.summarise.database import quote_name, read_files
from ccreport.summarise.grids.grid import INTERVAL, show_given
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.summarise.open_database import fetch_rows
from ccreport.summarise.open_results import REBUILD, open_results
from ccreport.trace.claims.checked_runs import LISTED, MEASURED, SHOWN, find_runs, join_runs, parse_query
from ccreport.trace.claims.compared_means import describe_cvs, describe_parts
from ccreport.trace.claims.deciding_rows import NOTHING, Deciding, describe_deciding
from ccreport.trace.claims.judged import list_claims
from ccreport.trace.find_table import find_databases, find_evaluation, list_published, list_tables
from ccreport.trace.raw_files import load_files_by_algorithm
from ccreport.trace.rows.left_out import describe_suspects
from ccreport.trace.shown_runs import show_files, show_runs

WORD: Final = re.compile(r"\w+")
# claim 2, claim five, claim mismatch_both
SPELT: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
NUMBERED: Final = re.compile(rf"claims?[ _]*(\d+|(?:{'|'.join(SPELT)})\b)", re.IGNORECASE)
CALLED: Final = re.compile(r"claim\s+", re.IGNORECASE)
# What the words that queries of checks are written with stand for.
WORDS: Final = {
    "measured": "a row for each run and algorithm of steady tests that count",
    "rate": "goodput, or throughput where no receiver reports (x; y is 1)",
    "share": "the rate over the line rate (x; y is 1)",
    "retransmits": "retransmitted segments (x) and sent segments (y)",
    "mean_of": "of the rows of a list, the sum of their x over the sum of their y: their mean where y is 1",
    "quotient_of": "mean_of of the first list over that of the second",
    "quotient_of_quotients": "the first quotient over the second",
    "difference_of": "the mean of x over y of the first list's rows less that of the second's",
    "nearness": "the first over the geometric mean of the other two: below 1 it is nearer to the second",
    "share_of": "the first count over the second",
    "cv_quotient": "the mean coefficient of variation of the first list over that of the second",
    "rate_cells": "the cells of Table II that runs fall into, each with the rates of its conditions (strata)",
    "pooled_cvs": "the coefficient of variation of a cell, over all its runs",
    "within_cvs": "the coefficients of variation of a cell's conditions",
}


def find_claim(place: Path, name: str) -> tuple[Path, str] | None:
    """Return the database and the whole name of a claim, by its name or the beginning of one; None for tables' names.

    Of the first database a claim is also known by its number, "claim 2". Raise InputError where several claims begin
    so, for what is nearly the name of a claim and not that of a table, for a number that no claim has, and for a claim
    of an evaluation that comes with ccreport whose tables are not built yet.
    """
    databases = find_databases(place)
    called = CALLED.match(name)
    if (number := _read_number(name)) is not None:
        names = list_claims(databases[0])
        if not 1 <= number <= len(names):
            raise InputError(f"no claim {number}; there are {len(names)}")
        return databases[0], names[number - 1]
    name = name[called.end() :] if called else name
    found = [(database, claim) for database in databases for claim in list_claims(database)]
    if exact := next((one for one in found if one[1] == name), None):
        return exact
    if not called and any(table.startswith(name) for database in databases for table in list_tables(database)):
        return None
    fitting = [one for one in found if one[1].startswith(name)] or list(_find_said(databases, name))
    if len(fitting) > 1:
        raise InputError(f"several claims fit `{name}`: {', '.join(claim for _, claim in fitting)}")
    if not fitting and (hint := guess_near(name, [claim for _, claim in found])):
        raise InputError(f"no published table and no claim `{name}`{hint}")
    declaring = next((database for database in databases if name in _list_declared(database)), None)
    if not fitting and declaring is not None:
        evaluation = declaring.resolve().parent.name
        raise InputError(f"claim `{name}` of {evaluation} is not judged yet; `make report` does it")
    return fitting[0] if fitting else None


def _find_said(databases: Sequence[Path], words: str) -> Iterator[tuple[Path, str]]:
    """Yield each claim that was judged and whose text has some words, more than one, next to one another."""
    wanted = " ".join(words.casefold().split())
    for database in databases if " " in wanted else ():
        with contextlib.suppress(InputError):
            declared = load_evaluation(find_evaluation(database))[CLAIMS]
            for claim in list_claims(database):
                if wanted in " ".join(declared.get(claim, {"text": ""})["text"].casefold().split()):
                    yield database, claim


def has_claim(database: Path, claim: str, name: str) -> bool:
    """Return whether the evaluation of a database has a claim, or one of the same number if that was its `name`."""
    claims = list_claims(database)
    return number <= len(claims) if (number := _read_number(name)) is not None else claim in claims


def _read_number(name: str) -> int | None:
    """Return the number of `claim 5` or `claim five`; None for what is not a claim's number."""
    if not (numbered := NUMBERED.fullmatch(name)):
        return None
    word = numbered[1].casefold()
    return int(word) if word.isdecimal() else SPELT.index(word) + 1


def _list_declared(database: Path) -> list[str]:
    """Return the claims of the evaluation of a database, if it comes with ccreport."""
    name = database.resolve().parent.name
    return list(load_evaluation(resolve_evaluation(name))[CLAIMS]) if name in list_evaluations() else []


def describe_claim(database: Path, claim: str, evaluation: str = "", *, is_full: bool = False) -> str:
    """Return the text on a claim; `evaluation` is the file or name of its evaluation, else that which was built.

    Of many runs and raw files the first are listed, unless the text `is_full`. Raise InputError where the file is not
    known, or makes no such claim any more.
    """
    path = resolve_evaluation(evaluation) if evaluation else find_evaluation(database)
    declared = load_evaluation(path)[CLAIMS].get(claim)
    if declared is None:
        raise InputError(f"{show_path(path)} makes no claim `{claim}` any more; {REBUILD}")
    judged = pl.read_parquet(database.parent / f"{CLAIMS}.parquet").filter(pl.col("claim") == claim)
    rows = list(show_units(judged.sort("check_number"), {claim: declared}).iter_rows(named=True))
    own = f"{database.resolve().parent.name}, claim {rows[0]['claim_number']}, {claim}"
    lines = [f"{own}: {name_verdict(rows, declared)}", f"  {declared['text']} ({declared['source']})"]
    if summed := sum_up_checks(rows, declared):
        lines.append(f"  {summed}")
    if rows[0]["about_archive"] is not None:
        lines.append(f"  {introduce_note(rows[0]['claim_verdict'])}: {rows[0]['about_archive']}")
    queries = [check["sql"] for check in declared["checks"]]
    with open_results(database) as connection:
        _prepare(connection, database.resolve().parent / "summaries")
        found = [find_runs(connection, query) for query in queries]
        words = {word for query in queries for word in WORD.findall(query)}
        tables = [table for table in list_published(connection) if table in words]
        checked = []
        for row, check, (selected, is_exact) in zip(rows, declared["checks"], found, strict=True):
            query = check["sql"]
            plain, deciding = None, NOTHING
            if row["value"] is not None and "extreme" in check:
                parsed = parse_query(connection, query)
                deciding = describe_deciding(connection, parsed, check["extreme"], tables, len(queries))
            elif row["value"] is not None and len(queries) > 1:
                plain = _measure_plainly(connection, query, row)
            parts = describe_parts(connection, query) if row["value"] is not None else None
            checked.append((selected | deciding.runs, f"{query} {deciding.which} {deciding.ends}"))
            lines += [
                "",
                *_show_check(row, check, len(selected), is_exact=is_exact, plain=plain, parts=parts, deciding=deciding),
                *describe_cvs(connection, query),
            ]
        runs = join_runs(connection, checked)
        left_out = describe_suspects(connection, runs)
        files = load_files_by_algorithm(connection)
    if told := [f"  {word}: {meaning}" for word, meaning in WORDS.items() if word in words]:
        lines += ["", "Words of the queries:", *told]
    if not runs.is_empty():
        columns = ("checks", *SHOWN, *MEASURED)
        lines += ["", *show_runs("Runs of the checks", runs, columns, is_full=is_full), *left_out]
        lines += show_files(runs, files, database.parent.parent / "archive", is_full=is_full)
    if tables:
        lines += ["", f"Published tables, whose rows are explained by their names: {', '.join(tables)}"]
    lines += ["", f"SQL: {show_path(path)}:{find_line(path, (CLAIMS, claim))}"]
    return "\n".join(map(display_name, "\n".join(lines).split("\n")))


def _show_check(
    row: Mapping[str, Any],
    check: Mapping[str, Any],
    runs_count: int,
    *,
    is_exact: bool,
    plain: str | None = None,
    parts: str | None = None,
    deciding: Deciding = NOTHING,
) -> list[str]:
    """Return the lines of one of a claim's checks; `runs_count` runs are behind its number, or only read.

    `check` is what the evaluation declares of it. `deciding` is which row has the value, where that is the extreme of
    several. `plain` is the interval that the query gives, where that which judges is wider; `parts` are what it is
    computed from.
    """
    lack = name_lack(row, check)
    if row["value"] is None and runs_count and is_exact:
        lack = "nothing to compare its runs with"
    needed = f" (at least {row['minimum_runs_count']:,} needed)"
    counted = f"{row['runs_count']:,}{'' if row['value'] is None and row['runs_count'] else needed}"
    if deciding.rows_count > 1:
        counted += ", the fewest of any row"
    elif runs_count > row["runs_count"] and not is_exact:
        counted += f"; the query reads {runs_count:,}, listed below"
    elif runs_count > row["runs_count"]:
        counted += f", the fewest of what is compared; {runs_count:,} in all"
    if deciding.runs:
        counted += f"; listed below: the {len(deciding.runs):,} of the rows named above"
    interval = show_interval(row)
    if interval and plain:
        interval = f"{plain} by the query; {interval} judges, so that all checks hold at once with 95 %"
    if interval and deciding.ends:
        interval += f": {deciding.ends}"
    facts = {
        "here": None if row["value"] is None else show_plain(row["value"]),
        "which": deciding.which or None,
        "from": parts,
        INTERVAL: interval,
        "paper": None if row["paper_value"] is None else show_given(row["paper_value"]),
        "accepted": name_bounds(row["at_least"], row["at_most"]),
        "because": explain_verdict(row),
        "runs": counted,
    }
    return [
        f"Check {row['check_number']}, {row['check']}: {name_check(row, check)}{f' ({lack})' if lack else ''}",
        *(f"  {name:{len(INTERVAL)}}  {fact}" for name, fact in facts.items() if fact is not None),
        *(f"    {s}" for s in check["sql"].strip().split("\n")),
    ]


def _measure_plainly(connection: duckdb.DuckDBPyConnection, query: str, row: Mapping[str, Any]) -> str | None:
    """Return the interval that a check's query gives, in the unit of the check's row; None where it gives none."""
    names, rows = fetch_rows(connection, query)
    if len(rows) != 1:
        return None
    own = rows[0][0] if isinstance(rows[0][0], dict) else dict(zip(names, rows[0], strict=True))
    if not own.get("value") or own.get("low") is None or own.get("high") is None:
        return None
    factor = row["value"] / float(own["value"])
    return show_interval({end: factor * float(own[end]) for end in ("low", "high")})


def _prepare(connection: duckdb.DuckDBPyConnection, summaries: Path) -> None:
    """Give the queries what they may name beside the database's own: published tables, and the macros of claims."""
    for path in sorted(summaries.glob("*.parquet")):
        connection.execute(f"CREATE TEMP VIEW {quote_name(path.stem)} AS {read_files([path])}")
    connection.execute(read_query(CLAIMS) + LISTED)
