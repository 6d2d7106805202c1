"""Figures and tables by the numbers that a report shows: which is `Figure S6`, and where its data are."""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from ccreport.core.declared_files import find_line, show_path
from ccreport.core.errors import InputError
from ccreport.core.evaluation import load_evaluation, resolve_evaluation
from ccreport.core.schema_problems import find_near, guess_near
from ccreport.core.text import EXHIBIT_NUMBER, count_things, display_name
from ccreport.figures.exhibits import NUMBER, Exhibit, find_number, list_exhibits
from ccreport.figures.select.declaration import RUNS, FigureDeclaration, choose_view, read_declaration
from ccreport.summarise.database import quote_name
from ccreport.summarise.open_results import is_outdated, open_results
from ccreport.trace.claims.checked_runs import SHOWN
from ccreport.trace.claims.judged import list_claims, list_verdicts
from ccreport.trace.find_table import find_databases, find_evaluation, list_tables
from ccreport.trace.origins.sources import show_query
from ccreport.trace.raw_files import load_files_by_algorithm
from ccreport.trace.rows.left_out import list_suspects
from ccreport.trace.rows.select_rows import name_row
from ccreport.trace.shown_runs import show_files, show_runs

# What is known by its number.
KINDS: Final = ("table", "figure", "claim")
IS_NUMBER: Final = re.compile(EXHIBIT_NUMBER, re.IGNORECASE)


def find_exhibit(place: Path, name: str, evaluation: str = "") -> tuple[Path, Exhibit] | None:
    """Return the database and the exhibit of a figure's name, or of the number of a figure or table in a report.

    `evaluation` is the name or file of the evaluation that declares it, else that of the build.
    None for what is a table's or claim's name, or the beginning of one. Raise InputError for what is nearly a figure's.
    """
    databases = find_databases(place)
    known = [name for database in databases for name in (*list_tables(database), *list_claims(database))]
    if any(other.startswith(name) for other in known):
        return None
    figures: list[str] = []
    for database in databases:
        exhibits = list_declared(database, evaluation)
        found = _choose(exhibits, name)
        if found and found.is_ours and name.isdecimal() and list_claims(database):
            found = None
        if found:
            return database, found
        figures += exhibits.keys() - {*known}
    number = NUMBER.sub("", name)
    # A number alone may be that of a claim, one such as S99 not.
    called = match.lastgroup if (match := NUMBER.match(name)) else None
    if (kind := called or ("figure" if number[:1] in ("S", "s") else None)) and IS_NUMBER.fullmatch(number):
        own = list_declared(databases[0], evaluation).values()
        of_figures = {exhibit.number for exhibit in own if exhibit.is_figure}
        # By its number alone a figure is meant.
        numbers: dict[bool, list[str]] = {False: [], True: []}
        for one in own:
            if one.is_figure == (kind == "figure"):
                numbers[one.is_missing].append(one.number if one.is_figure else call_table(one, of_figures))
        shown, without = (", ".join(numbers[is_missing]) for is_missing in (False, True))
        if shown:
            evaluation = databases[0].resolve().parent.name
            told = f"{shown}, and without data {without}" if without else shown
            raise InputError(f"the report on {evaluation} has no {name}; its {kind}s are {told}")
    word, _, behind = map(str.strip, name.partition(" "))
    if (meant := find_near(word, KINDS)) and word.casefold() not in KINDS and IS_NUMBER.fullmatch(behind):
        raise InputError(f"no published table, claim or figure `{name}`; did you mean `{meant} {behind}`?")
    if find_near(name, figures) and not find_near(name, known):
        raise InputError(f"no published table, claim or figure `{name}`{guess_near(name, figures)}")
    return None


def call_table(table: Exhibit, of_figures: Collection[str | None]) -> str:
    """Return by what a table is asked for: its number, with the word where a figure has the same."""
    return f"Table {table.number}" if table.number in of_figures else str(table.number)


def has_namesake(database: Path, figure: Exhibit, evaluation: str = "") -> bool:
    """Tell whether a table has the number of a figure."""
    own = list_declared(database, evaluation).values()
    return figure.number is not None and any(one.number == figure.number and not one.is_figure for one in own)


def has_exhibit(database: Path, name: str) -> bool:
    """Return whether the evaluation of a database has an exhibit of a name or number."""
    return _choose(list_declared(database), name) is not None


def _choose(exhibits: Mapping[str, Exhibit], name: str) -> Exhibit | None:
    return exhibits.get(name) or exhibits.get(find_number(exhibits.values(), name) or "")


def list_declared(database: Path, evaluation: str = "") -> dict[str, Exhibit]:
    """Return the tables and figures of an evaluation by name, else of that of a database; none where it has moved."""
    try:
        path = resolve_evaluation(evaluation) if evaluation else find_evaluation(database)
        declared = load_evaluation(path)
    except InputError:
        if evaluation:
            raise
        return {}
    tables = {table.name: table for table in list_exhibits(declared["tables"], database.parent / "summaries")}
    figures = list_exhibits(declared["figures"], database.parent / "figures")
    # A table's name is that of the table.
    return {one.name if one.name not in tables else one.heading: one for one in figures} | tables


def describe_all(place: Path, kind: str = "") -> str:
    """Return the tables, figures and claims of all evaluations at a place, or one kind, the configured one first.

    Of those that are older than the last reading of an archive, beside others, only the names are said.
    """
    found = find_databases(place)
    current = [database for database in found if not is_outdated(database)] or found
    parts: list[str] = []
    for database in current:
        name, declared = database.resolve().parent.name, list_declared(database)
        tables = {table: declared[table].title if table in declared else "" for table in list_tables(database)}
        if kind in ("", "table"):
            parts += [f"{name}, tables:", *_align(tables.items()), ""]
        if kind in ("", "figure") and (figures := [exhibit for exhibit in declared.values() if exhibit.is_figure]):
            own = {exhibit.name: exhibit.heading for exhibit in figures}
            parts += [f"{name}, figures:", *_align(own.items()), ""]
        if kind in ("", "claim") and (verdicts := list_verdicts(database)):
            numbered = [(f"{number} {claim}", verdict) for number, claim, verdict in verdicts]
            parts += [f"{name}, claims:", *_align(numbered), ""]
    if older := [database.resolve().parent.name for database in found if database not in current]:
        parts += [f"Older than the last reading of an archive: {', '.join(older)}; a build makes them anew.", ""]
    return "\n".join(map(display_name, parts[:-1]))


def _align(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each row of two texts, the second below one another, on one line each."""
    listed = [(first, " ".join(second.split())) for first, second in rows]
    width = max((len(first) for first, _ in listed), default=0)
    return [f"  {first:{width}}  {second}".rstrip() for first, second in listed]


def describe_figure(database: Path, figure: Exhibit, evaluation_asked: str = "", *, is_full: bool = False) -> str:
    """Return the text on a figure: title, caption, where its data and its declaration are, and its runs and files.

    Of many runs and raw files the first are listed, unless the text `is_full`.
    """
    evaluation = resolve_evaluation(evaluation_asked) if evaluation_asked else find_evaluation(database)
    folder = database.parent / "figures" / figure.name
    captions = (folder / name for name in ("caption.txt", "missing.txt"))
    caption = next((path.read_text(encoding="utf-8") for path in captions if path.is_file()), "not drawn yet\n")
    declared = f"{show_path(evaluation)}:{find_line(evaluation, ('figures', figure.name))}"
    command = f"plot_figure --evaluation {show_path(evaluation)} --figure {figure.name} --database {database}"
    lines = [
        f"{database.resolve().parent.name}, {' '.join(figure.heading.split())} ({figure.name})",
        *(f"  {line}" for line in caption.splitlines()),
        "",
        f"Data: {folder / 'figure.csv'}" if (folder / "figure.csv").is_file() else "Data: none",
        f"Declared: {declared}",
        f"Drawn by: python -m ccreport {command} --output {figure.name}",
        *_describe_source(database, read_declaration(evaluation, figure.name), is_full=is_full),
    ]
    return "\n".join(map(display_name, lines))


def _describe_source(database: Path, figure: FigureDeclaration, *, is_full: bool) -> list[str]:
    """Return lines on the table whose cells a figure draws, else on its runs."""
    if figure.table and figure.table in list_tables(database):
        return _describe_cells(database, figure, is_full=is_full)
    return _describe_runs(database, figure, is_full=is_full)


def _describe_cells(database: Path, figure: FigureDeclaration, *, is_full: bool) -> list[str]:
    """Return lines on the cells that a figure draws: of which table, how to ask for a cell's runs, and the queries."""
    query = f"FROM {quote_name(figure.table)} WHERE ({figure.where}\n)"
    with open_results(database) as connection:
        rows = connection.sql(query).pl()
        height = connection.sql(f"FROM {quote_name(figure.table)}").pl().height
    if rows.is_empty():
        return ["", f"Cells: none of {figure.table}"]
    command = f'explain {figure.table} --row "{name_row(figure.table, rows.row(0, named=True))}"'
    return [
        "",
        f"Made of the cells of {figure.table}: {rows.height:,} of its {count_things(height, 'row')}",
        f"Runs, raw files and SQL of a cell, such as the first: python -m ccreport {command} --database {database}",
        "",
        f"SQL of the figure: {' '.join(query.split())}",
        *show_query(figure.table, is_full=is_full),
    ]


def _describe_runs(database: Path, figure: FigureDeclaration, *, is_full: bool) -> list[str]:
    """Return lines on the runs that meet a figure's condition, and some panel's; none of a figure of other things."""
    if choose_view(figure.kind, figure.table) != RUNS:
        return []
    # As figures select them; a condition may end with a comment.
    panels = " OR ".join(f"({panel['where']}\n)" for panel in figure.panels) or "TRUE"
    among = f"WITH figure_runs AS (FROM {RUNS} WHERE ({figure.where}\n)) FROM figure_runs WHERE"
    query = f"{among} is_counted AND ({panels})"
    with open_results(database) as connection:
        runs = connection.sql(query).pl().sort(*SHOWN, nulls_last=True)
        others = connection.sql(f"{among} is_suspect AND NOT is_counted AND ({panels})").pl()["run_id"].sort()
        suspects = ["", "Left out as suspect:", *list_suspects(connection, others)] if others.len() else []
        files = load_files_by_algorithm(connection)
    listed = show_runs("Runs that meet its condition", runs, SHOWN, is_full=is_full) if runs.height else ["Runs: none"]
    shown = show_files(runs, files, database.parent.parent / "archive", is_full=is_full) if runs.height else []
    return ["", *listed, *suspects, *shown, "", f"SQL: {' '.join(query.split())}"]
