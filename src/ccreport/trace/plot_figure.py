"""The command `plot_figure`: a figure of an evaluation drawn by hand, as it is declared or with changes."""

import contextlib
import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import duckdb

from ccreport.archive.parts import name_archive
from ccreport.archive.read_layout import split_archive
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.declared_files import blame, parse_declared, read_declared
from ccreport.core.errors import InputError
from ccreport.core.evaluation import EVALUATIONS, MEANS, SAMPLE, load_evaluation
from ccreport.core.schema_problems import find_problem
from ccreport.core.text import display_name
from ccreport.figures.exhibits import Exhibit, find_number, list_exhibits
from ccreport.figures.select.declaration import (
    KINDS_OF_KEY,
    RUNS,
    FigureDeclaration,
    FigureError,
    choose_view,
    list_untaken,
    read_declaration,
)
from ccreport.figures.select.queries import MissingFigure, UnknownRunError
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.table_cells import select_cells
from ccreport.figures.wording.runs import join_names
from ccreport.figures.write import FILES, draw_declaration
from ccreport.storage.writable import check_folder
from ccreport.summarise.database import quote_text
from ccreport.summarise.open_results import open_results
from ccreport.summarise.table_sources import list_own_labels
from ccreport.trace.find_table import CONFIG, RESULTS, find_databases, find_results, resolve_built
from ccreport.trace.pairs_figure import refuse_pairs
from ccreport.trace.queries.absent_values import describe_absent_values
from ccreport.trace.queries.other_runs import describe_other_runs

SUFFIXES: Final = {Path(name).suffix for name in FILES}
# Files of pictures that people ask for, and others.
OTHER_SUFFIXES: Final = {".eps", ".htm", ".html", ".jpeg", ".jpg", ".pdf"}
# "a = 1 AND b = 2", which SQL takes for the name of a column
QUOTED: Final = re.compile(r'"[^"]*[^\w"][^"]*"|\'[^\']*\'')
CONDITIONS: Final = ("where", "needs", "run")
# Keys whose change leaves a title true.
SAME_TITLE: Final = {"needs", "question", "until_s"}
# S99
NUMBERED: Final = re.compile(r"(fig(ure|\.)? *)?S?\d+", re.IGNORECASE)
# What a figure of a single run does not have.
ALONE: Final[dict[str, Any]] = {"panels": (), "panels_by": ()}


def plot_figure(
    figure: str, evaluation: Path, output: Path, database: Path | None = None, change: Sequence[str] = ()
) -> None:
    """Write a figure of the evaluation file into the folder `output`.

    `figure` is the figure's name in `evaluation`, or its number in the report, such as S6. `evaluation` is the
    evaluation's name or its file. `database` is the archive.duckdb whose runs are drawn, or a folder of results: of the
    evaluation there, or of the configured one where that has none; without it, the folder that config.yaml names.
    `output` is a folder, which gets figure.svg, untitled.svg (for pages, below a heading), figure.png (twice the size),
    thumbnail.png, figure.vl.json (Vega-Lite), figure.csv (the data drawn), caption.txt (a line, and where needed a
    second of details) and alt.txt (one line), both plain text. `change` has values of keys of the figure, such as
    title="Another title" until_s=30, in place of those in the evaluation; a run is drawn alone, without panels. The
    path of the drawing is printed. Where no run has data for the figure, why is said, and a figure in the folder stays.

    Raise FigureError for that, and where the declaration cannot be used.
    """
    is_given, database = database is not None, find_results(database)
    file = resolve_built(str(evaluation), database)
    if not database.is_file():
        # That of the configured evaluation comes first; where there is none, opening it says so.
        with contextlib.suppress(InputError):
            found = find_databases(database)
            database = next((own for own in found if own.parent.name == file.stem), found[0])
    if output.suffix.lower() in SUFFIXES | OTHER_SUFFIXES and not output.is_dir():
        raise InputError(f"--output names a folder, which gets all of {', '.join(sorted(SUFFIXES))}: {output.stem}")
    if output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; --output names a folder")
    check_folder(output, "--output")
    there = sorted(path.name for path in output.glob("[!.]*"))
    if there and not {*there} & {*FILES}:
        raise InputError(f"{output} holds other things, such as {there[0]}; --output names a figure's own folder")
    whole = load_evaluation(file)
    declared = whole["figures"]
    # The report's numbers leave those without data for last.
    exhibits = list_exhibits(declared, database.parent / "figures")
    name = find_number(exhibits, figure) or figure
    if name not in declared and NUMBERED.fullmatch(figure):
        raise InputError(f"no figure of {file.stem} has the number {figure}; {_list_numbers(exhibits)}")
    if name not in declared:
        refuse_pairs(name, database)
    changes = read_changes(change, declared.get(name, {}).get("kind"))
    if "kind" in changes:
        _say_what_is_left_out(declared.get(name, {}), changes)
    try:
        declaration = read_declaration(file, name, changes)
        place, folder, built = database.absolute(), output.absolute(), _write_build_command(file, database)
        naming = contextlib.nullcontext() if is_given else _naming(database)
        with open_results(database) as connection, Database(place) as opened, naming:
            if declaration.run is not None and "run" in changes and "where" not in changes:
                declaration = _follow_run(declaration, connection)
            _check_labels(declaration, connection, whole["labels"], built)
            try:
                draw_declaration(declaration, opened, folder)
            except MissingFigure as missing:
                raise _explain(declaration, missing, connection, whole) from missing
    except FigureError as error:
        if changes:
            raise
        raise blame(file, error) from error
    if not is_given and database.parent.name != file.stem:
        print(f"ccreport: {_name_database(database)}", file=sys.stderr)
    # A title is of the condition, and a run that meets it leaves it true.
    is_within = "run" in changes and declaration.where == declared[name]["where"]
    others = changes.keys() - SAME_TITLE - ({"run", *ALONE} if is_within else set())
    if others and "title" not in changes and declaration.title:
        kept = " ".join(declaration.title.split())
        problem = f"the title is still that of the declared figure, “{kept}”; change it too: --change title=…"
        print(f"ccreport: {display_name(problem)}", file=sys.stderr)
    print(output / FILES[0])


def _list_numbers(exhibits: Sequence[Exhibit]) -> str:
    """Return which numbers the figures of an evaluation have: those that the report shows, and those without data."""
    told = []
    for is_missing in (False, True):
        own = [exhibit for exhibit in exhibits if exhibit.is_missing == is_missing]
        printed = [exhibit.number for exhibit in own if not exhibit.is_ours]
        others = list(dict.fromkeys(exhibit.number for exhibit in own if exhibit.is_ours))
        told.append(join_names([*printed, *([" to ".join({others[0]: 0, others[-1]: 0})] if others else [])]))
    shown, without = told
    if not shown:
        return "the report shows none" if exhibits else "it declares none"
    return f"numbers are {shown}" + (f"; without data: {without}" if without else "")


@contextlib.contextmanager
def _naming(database: Path) -> Iterator[None]:
    """Name the database in what is wrong with a figure of its runs."""
    try:
        yield
    except FigureError as error:
        raise FigureError(f"{error}\nHere {_name_database(database)}", error.place, error.tokens) from error


def _name_database(database: Path) -> str:
    return display_name(f"the runs are those of {database}; for others give --database")


def _say_what_is_left_out(declared: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Say on stderr which keys of a declared figure its other kind does not take."""
    # What the file does not say is there with its default, which of `overlapped` is true.
    given = [key for key, value in declared.items() if (value is False if key == "overlapped" else value)]
    left_out = [key for key in list_untaken(declared, changes["kind"]) if key in given and key not in changes]
    if left_out:
        kept = "; the figure has only its own `where`" if "panels" in left_out else ""
        told = f"{changes['kind']} does not take {join_names(left_out)}, left out{kept}"
        print(f"ccreport: {display_name(told)}", file=sys.stderr)


def _follow_run(declaration: FigureDeclaration, connection: duckdb.DuckDBPyConnection) -> FigureDeclaration:
    """Return a figure with the condition of the run that it is to draw in place of one that this run does not meet.

    A run that is not given by its full name, or that there is not, is left to those who draw.
    """
    one = "SELECT mode FROM labelled_runs WHERE run_id = ?"
    run = connection.execute(one, [declaration.run]).fetchall()
    try:
        # A condition ends before the line does: it may close with a comment.
        is_met = connection.execute(f"{one} AND (\n{declaration.where}\n)", [declaration.run]).fetchall()
    except duckdb.Error:
        return declaration
    if not run or is_met:
        return declaration
    name = quote_text(str(declaration.run))
    of_run = f"condition_id = (SELECT condition_id FROM labelled_runs WHERE run_id = {name})"  # noqa: S608
    is_overlapped = run == [("both",)] if declaration.kind in KINDS_OF_KEY["overlapped"] else declaration.overlapped
    print(
        "ccreport: the run does not meet the figure's `where`; its condition takes the place of that", file=sys.stderr
    )
    return replace(declaration, where=of_run, overlapped=is_overlapped)


def _check_labels(
    declaration: FigureDeclaration, connection: duckdb.DuckDBPyConnection, labels: Iterable[str], command: str
) -> None:
    """Raise FigureError where a condition names a label of its evaluation by which the database was not built.

    `command` builds the evaluation.
    """
    view = choose_view(declaration.kind, declaration.table)
    # Cells of a table have its columns and, of some tables, labels of the runs that they are of.
    columns = "SELECT column_name FROM duckdb_columns() WHERE table_name IN (?, ?)"
    is_known = view == RUNS or declaration.table
    held = {name for (name,) in connection.execute(columns, [RUNS, view]).fetchall()} if is_known else {*labels}
    conditions = " ".join([declaration.where, *(str(panel["where"]) for panel in declaration.panels)])
    lacking = next((name for name in labels if name not in held and re.search(rf"\b{name}\b", conditions)), None)
    if lacking is not None:
        problem = (
            f"figure {declaration.name!r}: another evaluation made these results, which have no label `{lacking}`; "
            f"`{command}` makes them by this one, or write the label's condition in place of its name"
        )
        raise FigureError(problem, ("figures", declaration.name, "where"))


def _write_build_command(evaluation: Path, database: Path) -> str:
    """Return the command that builds an evaluation from the archive that a database is of, into the same results.

    It is for the checkout, and changes to it from another folder. Results have only the name of their archive, so that
    of another than the configured one stands behind `path/to/`.
    """
    checkout = SCHEMAS.parent
    declared = read_declared(checkout / CONFIG) if (checkout / CONFIG).is_file() else {}
    is_here = Path.cwd() == checkout
    start = "" if is_here else f"cd {shlex.quote(str(checkout))} && "
    file, results = (path if is_here else path.absolute() for path in (evaluation, database.parent.parent))
    is_ours = evaluation.resolve().parent == EVALUATIONS.resolve()
    settings = [f"evaluation={evaluation.stem if is_ours else file}"]
    if (facts := results / "archive.json").is_file():
        given, _ = split_archive(declared.get("archive", str(SAMPLE)))
        configured = name_archive([Path(place) for place in ([given] if isinstance(given, str) else given)])
        name = json.loads(facts.read_text(encoding="utf-8"))["name"]
        settings += [f"archive=path/to/{name}"] if name != configured else []
    usual = (declared.get("pathvars") or {}).get("results", RESULTS)
    if results.resolve() != (checkout / usual).resolve():
        settings.append(f"pathvars={{results: {results}}}")
    return f"{start}snakemake --cores 2 evaluation --config {shlex.join(settings)}"


def read_changes(given: Sequence[str], kind: str | None = None) -> dict[str, Any]:
    """Return the values of a figure's keys that are given as `key=value`.

    Raise InputError for what no figure has, with the keys that those of this kind take.
    """
    schema = load_yaml(SCHEMAS / "evaluation.schema.yaml")["properties"]["figures"]["additionalProperties"]
    changes: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--change takes key=value, such as until_s=30, and `{text}` is not that")
        if key in changes:
            raise InputError(f"--change {key}= is given twice; give it once")
        # A title may have a colon.
        is_text = schema["properties"].get(key, {}).get("type") == "string"
        if not value.strip():
            raise InputError(f"--change {key}= has no value; without it, the figure keeps that of the evaluation")
        if is_text and key in CONDITIONS and QUOTED.fullmatch(value):
            raise InputError(f"--change {key}={value}: leave out the inner quotes, as the shell takes the outer ones")
        changes[key] = value if is_text else parse_declared(value, f"--change {key}")
    kind = changes.get("kind", kind)
    taken = {
        key: facts
        for key, facts in schema["properties"].items()
        if key in changes or kind in KINDS_OF_KEY.get(key, {kind})
    }
    if problem := find_problem(changes, schema | {"required": [], "properties": taken}):
        raise InputError(f"--change {problem}")
    return ALONE | changes if "run" in changes else changes


def _explain(
    declaration: FigureDeclaration,
    missing: MissingFigure,
    connection: duckdb.DuckDBPyConnection,
    evaluation: Mapping[str, Any],
) -> FigureError:
    """Return why a figure is not drawn, with a line for each value that its conditions ask for and no row has."""
    view = choose_view(declaration.kind, declaration.table)
    if view == MEANS:
        labels = list_own_labels(evaluation["tables"].get(MEANS, {}), evaluation["labels"])
        view = f"({select_cells(MEANS, labels)})"
    conditions = [declaration.where, *(panel["where"] for panel in declaration.panels)]
    # A condition ends before the line does: it may close with a comment.
    queries = [f"FROM {view} WHERE (\n{condition}\n)" for condition in conditions]
    absent = dict.fromkeys(line for query in queries for line in describe_absent_values(connection, query))
    # Panels are left out one by one where the condition of them all is met by no run.
    is_whole = declaration.panels and not connection.execute(f"SELECT 1 {queries[0]} LIMIT 1").fetchall()
    whole = ["No run meets the figure's own `where`, which those of its panels are within."] if is_whole else []
    # Long names are told apart below one another.
    told = str(missing)
    if isinstance(missing, UnknownRunError):
        told = "\n  ".join([f"{missing.told}:", *missing.names])
        if " is none " in missing.told and (others := describe_other_runs(declaration, connection)):
            told += f"\n  {others}"
    lines = [*f"figure {declaration.name!r}: {told}".splitlines(), *whole, *absent]
    return FigureError("\n".join(map(display_name, lines)), ("figures", declaration.name, "where"))
