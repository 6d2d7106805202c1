"""Figures and tables by the numbers that a report shows: which is `Figure S6`, and where its data are."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ccreport.core.declared_files import find_line, show_path
from ccreport.core.errors import InputError
from ccreport.core.evaluation import load_evaluation
from ccreport.core.schema_problems import find_near, guess_near
from ccreport.core.text import display_name
from ccreport.figures.exhibits import NUMBER, Exhibit, find_exhibits, find_number
from ccreport.trace.find_table import find_databases, find_evaluation, list_claims, list_tables

# V, S12, 3a
IS_NUMBER: Final = re.compile(r"[A-Z]?\d+[a-z]?|[IVX]+", re.IGNORECASE)


def find_exhibit(place: Path, name: str) -> tuple[Path, Exhibit] | None:
    """Return the database and the exhibit of a figure's name, or of the number of a figure or table in a report.

    None for what is a table's or claim's name, or the beginning of one. Raise InputError for what is nearly a figure's.
    """
    databases = find_databases(place)
    known = [name for database in databases for name in (*list_tables(database), *list_claims(database))]
    if any(other.startswith(name) for other in known):
        return None
    figures: list[str] = []
    for database in databases:
        exhibits = _list_exhibits(database)
        if found := _choose(exhibits, name):
            return database, found
        figures += exhibits.keys() - {*known}
    if (match := NUMBER.match(name)) and (kind := match.lastgroup) and IS_NUMBER.fullmatch(NUMBER.sub("", name)):
        own = _list_exhibits(databases[0]).values()
        numbers = [exhibit.number for exhibit in own if exhibit.number and exhibit.is_figure == (kind == "figure")]
        if numbers:
            evaluation = databases[0].resolve().parent.name
            raise InputError(f"the report on {evaluation} has no {name}; its {kind}s are {', '.join(numbers)}")
    if find_near(name, figures) and not find_near(name, known):
        raise InputError(f"no published table, claim or figure `{name}`{guess_near(name, figures)}")
    return None


def has_exhibit(database: Path, name: str) -> bool:
    """Return whether the evaluation of a database has an exhibit of a name or number."""
    return _choose(_list_exhibits(database), name) is not None


def _choose(exhibits: Mapping[str, Exhibit], name: str) -> Exhibit | None:
    return exhibits.get(name) or exhibits.get(find_number(exhibits.values(), name) or "")


def _list_exhibits(database: Path) -> dict[str, Exhibit]:
    """Return the tables and figures of the evaluation of a database by name; none where its file has moved since."""
    try:
        evaluation = load_evaluation(find_evaluation(database))
    except InputError:
        return {}
    return {name: found for name, (_, found) in find_exhibits(evaluation, database.parent / "figures").items()}


def describe_figure(database: Path, figure: Exhibit) -> str:
    """Return the text on a figure: title, caption, and where its data and its declaration are."""
    evaluation = find_evaluation(database)
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
    ]
    return "\n".join(map(display_name, lines))
