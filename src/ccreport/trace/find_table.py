"""Where results and their published tables are: in the database of which evaluation, and by which whole name."""

import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb

from ccreport.core.declarations import QUERIES, SCHEMAS
from ccreport.core.declared_files import read_declared, show_path
from ccreport.core.errors import InputError
from ccreport.core.evaluation import (
    AUTO,
    SAMPLE,
    choose_evaluation,
    choose_sections,
    list_evaluations,
    resolve_evaluation,
)
from ccreport.core.schema_problems import find_near, guess, guess_near
from ccreport.summarise.database import connect
from ccreport.summarise.open_database import NAME_OWN
from ccreport.summarise.open_results import is_outdated, open_results
from ccreport.trace.absent_tables import describe_column, describe_run, describe_view
from ccreport.workflow_fixes.build_lock import describe_build

DATABASE: Final = "archive.duckdb"
CONFIG: Final = "config.yaml"
SECTIONS: Final = "sections.txt"
RESULTS: Final = Path("results")


def find_results(asked: Path | None = None) -> Path:
    """Return the place asked for, or else the results folder that the configuration names.

    The configuration is that of the current folder, else the checkout's; the folder may be relative, and so is found in
    either. Raise InputError where the configuration cannot be read.
    """
    if asked is not None:
        return asked
    path = next((path for path in (Path(CONFIG), SCHEMAS.parent / CONFIG) if path.is_file()), None)
    declared = read_declared(path) if path else None
    places = declared.get("pathvars") if isinstance(declared, dict) else None
    return Path(str(places.get("results") or RESULTS)) if isinstance(places, dict) else RESULTS


def show_database(database: Path) -> Path:
    """Return the path of a database as pages name it: of results elsewhere they do not say where on a machine."""
    return Path("path/to/results", *database.parts[-2:]) if database.is_absolute() else database


def name_folder(database: Path) -> str:
    """Return the option by which commands that pages print are about the results with a database; none of the usual."""
    folder = show_database(database).parent.parent
    return "" if folder == RESULTS else f" --database {shlex.quote(str(folder))}"


def name_evaluation(evaluation: Path, database: Path) -> str:
    """Return the options by which commands on pages are about an evaluation and its results."""
    name = evaluation.stem if evaluation.stem in list_evaluations() else f"path/to/{evaluation.name}"
    return f"--evaluation {shlex.quote(name)}{name_folder(database)}"


def note_unconfigured(asked: Path | None) -> None:
    """Say on stderr what `describe_unconfigured` does."""
    if told := describe_unconfigured(asked):
        print(told, file=sys.stderr)


def describe_unconfigured(asked: Path | None) -> str | None:
    """Return a line where no place was asked and results of another than the configured evaluation answer, else null.

    Raise InputError where there is no database.
    """
    if asked is not None:
        return None
    databases = find_databases(find_results())
    first = databases[0].parent
    configured = _read_configured(first.parent)
    if configured is None or configured == first.name or databases[0].name != DATABASE:
        return None
    is_there = any(database.parent.name == configured for database in databases)
    why = "is older than the last reading of an archive" if is_there else "is not built"
    return f"note: {first} is asked first, as the configured evaluation `{configured}` {why}; --database names others"


def find_databases(place: Path, *, is_any: bool = False) -> list[Path]:
    """Return the database at a place, or those of a folder of results, that of the configured evaluation first.

    Databases that are older than the last reading of an archive come last. A relative folder that does not exist is
    searched for in the checkout, too. Raise InputError where there is no database, or, unless it may be `is_any`, where
    that at the place is of something else.
    """
    if place.is_file():
        if not (is_any or is_own(place)):
            raise InputError(f"{place} has no tables of ccreport; {NAME_OWN}")
        return [place]
    for folder in (place, SCHEMAS.parent / place):
        if found := sorted({*folder.glob(DATABASE), *folder.glob(f"*/{DATABASE}")}):
            configured, sections = _read_configured(folder), _read_sections(folder)
            ranked = [
                (is_outdated(database), name != configured, name in sections, database)
                for database, name in ((database, database.parent.name) for database in found)
            ]
            return [database for *_, database in sorted(ranked)]
    results = find_results()
    evaluations = {database.parent.name: str(database.parent) for database in results.glob(f"*/{DATABASE}")}
    near = find_near(place.name, evaluations)
    known = f"--database names another: {', '.join(sorted(evaluations.values()))}" if evaluations else ""
    meant = (
        f"did you mean `{evaluations[near]}`?"
        if near
        else known or describe_build(results) or "`make report` builds one"
    )
    raise InputError(f"no database at {place}; {meant}")


def is_own(database: Path) -> bool:
    """Tell whether a database is of results, which all have a table of runs."""
    with connect(database) as connection:
        return bool(connection.execute("SELECT 1 FROM (SHOW TABLES) WHERE name = 'runs'").fetchall())


def find_elsewhere(table: str, database: Path) -> str:
    """Return what to put behind a table that a database lacks: the evaluations of the same results that have it."""
    others = (other for other in sorted(database.parent.parent.glob(f"*/{DATABASE}")) if other != database)
    folders = [other.parent for other in others if table in (*list_tables(other), *_list_views(other))]
    if not folders:
        return f"; no evaluation that was built here declares `tables.{table}`" if table in QUERIES else ""
    names = ", ".join(folder.name for folder in folders)
    having = f"evaluation {names} has" if len(folders) == 1 else f"evaluations {names} have"
    return f"; the {having} it: --database {' or '.join(map(show_path, folders))}"


def _read_sections(results: Path) -> set[str]:
    """Return the evaluations that are sections of a report beside its own, as far as a build said which."""
    path = results / SECTIONS
    return set(path.read_text(encoding="utf-8").split()) if path.is_file() else set()


def _read_configured(results: Path) -> str | None:
    """Return the evaluation that the configuration beside a folder of results names, or that its archive has."""
    found = _read_config(results)
    return _choose_configured(*found) if found else None


def _read_config(results: Path) -> tuple[Mapping[str, Any], Path] | None:
    """Return the configuration beside a folder of results, else that of the checkout, and its folder."""
    for path in (results.resolve().parent / CONFIG, Path(CONFIG), SCHEMAS.parent / CONFIG):
        if path.is_file():
            declared = read_declared(path)
            return (declared, path.parent) if isinstance(declared, dict) else None
    return None


def _choose_configured(declared: Mapping[str, Any], folder: Path) -> str:
    name = declared.get("evaluation", AUTO)
    return Path(str(name)).stem if name != AUTO else choose_evaluation(_list_archives(declared, folder))


def find_archives(results: Path) -> list[Path]:
    """Return the archive, or its parts, that the configuration beside a folder of results names."""
    found = _read_config(results)
    return _list_archives(*found) if found else []


def _list_archives(declared: Mapping[str, Any], folder: Path) -> list[Path]:
    archive = declared.get("archive", SAMPLE)
    place = archive.get("path") if isinstance(archive, dict) else archive
    return [folder / part for part in (place if isinstance(place, list) else [place]) if isinstance(part, str | Path)]


def advise_build(name: str, place: Path) -> str:
    """Return what builds the results of an evaluation that a place lacks, by what the configuration says."""
    declared, folder = _read_config(place) or ({}, place)
    main = _choose_configured(declared, folder)
    sections = declared.get("sections")
    if sections is None:
        sections = choose_sections(_list_archives(declared, folder), main)
    if name == main or name in (Path(str(section)).stem for section in sections):
        return f"`make report` builds them{'' if name == main else ', if the archive has data of their kind'}"
    return f"for these, set `evaluation: {name}` in {CONFIG}, or name it there under `sections`, then `make report`"


def find_database(place: Path, name: str) -> Path:
    """Return the database at a place, or in a folder of results that of the evaluation with a table of this name.

    `name` may be the beginning of one. Of several evaluations with such a table the configured one is taken. Raise
    InputError where there is no database, no such table, or where several have it and none of them is configured.
    """
    found = find_databases(place)
    if len(found) == 1:
        return found[0]
    tables = {database: list_tables(database) for database in found}
    fitting = [database for database in found if any(table.startswith(name) for table in tables[database])]
    if not fitting:
        known = {table for names in tables.values() for table in names}
        views = {view for database in found for view in _list_views(database)}
        with open_results(found[0]) as connection:
            of_run = describe_run(connection, name)
        hint = (
            of_run
            or describe_view(name, views)
            or describe_column(name)
            or guess_near(name, known)
            or _name_evaluation(name, found)
            or ", claim or figure of this name; `explain` alone lists all, and --database names other results"
        )
        raise InputError(f"no published table `{name}`{hint}")
    current = [database for database in fitting if not is_outdated(database)] or fitting
    if len(current) > 1 and fitting[0].parent.name != _read_configured(fitting[0].parent.parent):
        several = ", ".join(map(str, current))
        raise InputError(f"several evaluations have a table `{name}`; name one by --database: {several}")
    return fitting[0]


def _name_evaluation(name: str, databases: Iterable[Path]) -> str:
    near = find_near(name, [database.parent.name for database in databases])
    return f"; of the evaluation {near} all is listed by `explain --evaluation {near}`" if near else ""


def find_evaluation(database: Path) -> Path:
    """Return the file of the evaluation that a database was built by; raise InputError where it has moved since."""
    whole = database.resolve()
    with connect(whole) as connection:
        query = "SELECT comment FROM duckdb_tables() WHERE table_name = 'algorithms' AND comment IS NOT NULL"
        built: list[str] = [path for (path,) in connection.execute(query).fetchall()]
    # The path is from the folder that the build was called in, which is around the results.
    places = (folder / path for path in built for folder in whole.parents)
    if found := next((place for place in places if place.is_file()), None):
        return found
    name = whole.parent.name
    if name not in list_evaluations():
        problem = f"{built[0]} is gone" if built else f"{name} does not come with ccreport"
        raise InputError(f"the evaluation {problem}; name its file by --evaluation")
    return resolve_evaluation(name)


def resolve_built(name: str, place: Path) -> Path:
    """Return the file of an evaluation by name or path; one from elsewhere may be named by its folder of the results.

    Raise InputError where there is no such file.
    """
    built = [folder / name / DATABASE for folder in (place, SCHEMAS.parent / place)]
    if name not in list_evaluations() and (database := next(filter(Path.is_file, built), None)) is not None:
        return find_evaluation(database)
    return resolve_evaluation(name)


def list_tables(database: Path) -> list[str]:
    """Return the published tables of a database, by its path."""
    with connect(database) as connection:
        return list_published(connection)


def _list_views(database: Path) -> set[str]:
    with connect(database) as connection:
        return _list_names(connection)


def _list_names(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return what `sql` can ask of a database and of what was made with it, beside published tables."""
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    return {view for (view,) in views} | {made.stem for made in _find_path(connection).parent.glob("*.parquet")}


def _find_path(connection: duckdb.DuckDBPyConnection) -> Path:
    query = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    ((path,),) = connection.execute(query).fetchall()
    return Path(path)


def list_published(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the published tables of a database, sorted."""
    # Queries over very many rows are stored as tables.
    query = "SELECT view_name FROM duckdb_views() UNION ALL SELECT table_name FROM duckdb_tables()"
    views = {view for (view,) in connection.execute(query).fetchall()}
    return sorted(view for view in views if f"{view}_runs" in views and view in QUERIES)


def find_table(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the published table of a name or of the beginning of one; raise InputError where none or several fit."""
    tables = list_published(connection)
    fitting = [table for table in tables if table == name] or [table for table in tables if table.startswith(name)]
    if len(fitting) > 1:
        raise InputError(f"several tables begin with `{name}`: {', '.join(fitting)}")
    if not fitting:
        of_run, of_view = describe_run(connection, name), describe_view(name, _list_names(connection))
        elsewhere = find_elsewhere(name, _find_path(connection)) if name in QUERIES else ""
        hint = of_run or of_view or elsewhere or describe_column(name) or guess(name, tables)
        raise InputError(f"no published table `{name}`{hint}")
    return fitting[0]


def describe_others(place: Path, database: Path, what: str, has: Callable[[Path], bool]) -> str:
    """Return a line on the other databases at a place that have what was asked for, such as `claim 2`; else no text."""
    folders = " or ".join(str(other.parent) for other in find_databases(place) if other != database and has(other))
    return f"Other evaluations have `{what}`, too; ask by --database {folders}\n" if folders else ""
