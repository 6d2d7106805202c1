"""How a layout is read, from `layout.yaml` of an archive, from another file or from config.yaml, and what it may hold.

All that is wrong with it ends in one message with the name of the file, the line, the key, and what to type instead.
"""

import csv
import difflib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from ccreport.archive.layout import IGNORED, NAME, WHOLE, Layout, Pattern
from ccreport.archive.layout_groups import KINDS, OF_FILES, check_group, find_group, find_separator, read_value
from ccreport.archive.layout_table import FILE_COLUMN, RUN_COLUMN, check_header, check_keys, find_repeated, read_row
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.declared_files import (
    DeclarationError,
    find_line_of_text,
    find_other_kind,
    parse_declared,
    read_text,
    show_path,
)
from ccreport.core.identifiers import short_hash
from ccreport.core.schema_problems import find_problem, format_place, guess_near, guess_path

# (P<cc> · (<cc>
UNNAMED: Final = re.compile(r"(?<!\\)\(P?<(\w+)>")
# (?!calibration) · (?<=run)
LOOK_AROUND: Final = re.compile(r"(?<!\\)\(\?<?[=!]")
WITHOUT_LOOK_AROUND: Final = (
    "write what may be there, as (?:cubic|bbr), or name the files that this pattern must not take under `ignore` or in "
    "a pattern before it: the first that fits counts"
)
# (?P=cc) · \1
BACK_REFERENCE: Final = re.compile(r"(?<!\\)(?:\(\?P=|\\[1-9])")
# One megabyte is a layout of tens of thousands of patterns; each is tried on each path.
LIMIT_BYTES: Final = 2**20
TABLE_LIMIT_BYTES: Final = 2**28


class Source(NamedTuple):
    """Where a layout was read: its name in messages, its text (None within config.yaml) and the folder of its table.

    That of an archive is not trusted, and its table is read from the archive only.
    """

    name: str
    text: str | None
    folder: Path
    is_trusted: bool

    def fail(self, path: Iterable[str | int], problem: str) -> DeclarationError:
        """Return an error about the value at a path of keys, which for one in config.yaml is its `place` there."""
        place = tuple(path)
        said = f"{format_place(place)}: {problem}" if place else problem
        if self.text is None:
            return DeclarationError(f"archive.layout: {said}", ("archive", "layout", *place))
        shown = show_path(self.folder / self.name)
        return DeclarationError(f"{shown}:{find_line_of_text(self.text, place) or 1}: {said}")


def split_archive(given: Any) -> tuple[str | list[str], str]:
    """Return the place or places of `archive` in the configuration, and its layout: a path, JSON, or an empty text."""
    layout = None
    if isinstance(given, dict):
        given, layout = given["path"], given.get("layout")
    text = layout if isinstance(layout, str) else json.dumps(layout, sort_keys=True) if layout else ""
    return given, text


def check_layout(given: str) -> str:
    """Return a hash of a configured layout and its table, an empty text where none is; raise DeclarationError."""
    if not given:
        return ""
    if not given.startswith("{") and not Path(given).exists():
        problem = f"archive.layout: {given} does not exist{guess_path(Path(given))}"
        raise DeclarationError(problem, ("archive", "layout"))
    return open_layout(given, Path())[1]


def open_layout(given: str, root: Path) -> tuple[Layout | None, str]:
    """Return the layout of an archive and a hash of all that it is made of; None and an empty text where it has none.

    `given` is the path of a file or, where it begins with a brace, the layout itself as JSON; where it is empty,
    `layout.yaml` in the root of the archive is read if there is one, and if it is not some other program's. Raise
    DeclarationError.
    """
    path = root / NAME
    if not given and (path.is_symlink() or not path.is_file()):
        return None, ""
    declared, source = read_declaration(given) if given else _read_file(path, is_trusted=False)
    if not source.is_trusted and not _is_layout(declared):
        return None, ""
    layout, table = _build(declared, source)
    return layout, short_hash(json.dumps([declared, table], sort_keys=True), 32)


def _is_layout(declared: Any) -> bool:
    """Tell whether a file called as layouts are is one: some key of it is one of theirs, or nearly."""
    known = load_yaml(SCHEMAS / "layout.schema.yaml")["properties"]
    return isinstance(declared, dict) and any(difflib.get_close_matches(str(key), known, 1) for key in declared)


def read_declaration(given: str) -> tuple[Any, Source]:
    """Return what a configured layout declares, and where it was read."""
    if given.startswith("{"):
        return json.loads(given), Source("archive.layout", None, Path(), is_trusted=True)
    return _read_file(Path(given), is_trusted=True)


def _read_file(path: Path, *, is_trusted: bool) -> tuple[Any, Source]:
    """Return what the YAML of a layout holds, and where it was read; raise DeclarationError where it is not YAML."""
    shown = show_path(path)
    if path.is_file() and path.stat().st_size > LIMIT_BYTES:
        problem = f"larger than {LIMIT_BYTES} bytes; put what differs from file to file into `table`"
        raise DeclarationError(f"{shown}: {problem}")
    text = read_text(path)
    source = Source(path.name, text, path.parent, is_trusted=is_trusted)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            problem = "anchors and aliases (& and *) are not read; write out what they stand for"
            raise DeclarationError(f"{shown}: {problem}")
    except yaml.YAMLError:
        # `parse_declared` says where.
        pass
    try:
        # Keys become texts, and what is neither text nor number is an error.
        return json.loads(json.dumps(parse_declared(text, shown))), source
    except (RecursionError, ValueError, TypeError) as error:
        raise DeclarationError(f"{shown}: this is not YAML of texts and numbers: {error}") from error


def load_layout(path: Path) -> Layout:
    """Return the layout of a file in the folder of its archive, whose table is one of the files there."""
    return _build(*_read_file(path, is_trusted=False))[0]


def load_table(folder: Path, name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV that a layout in a folder could name; raise DeclarationError where none could."""
    return _read_rows(Source(NAME, None, folder, is_trusted=False), name, (), {})[1]


def _build(declared: Any, source: Source) -> tuple[Layout, list[dict[str, str]]]:
    _check_schema(declared, source)
    ignored = [Pattern(f"ignore.{number}", text, IGNORED) for number, text in enumerate(declared.get("ignore", []))]
    files = [_read_pattern(number, pattern, source) for number, pattern in enumerate(declared.get("files", []))]
    ignored_columns = declared.get("ignore_columns", [])
    scale = _read_scale(declared, (), source)
    if scale and "table" not in declared:
        raise source.fail(("scale",), "this is about columns of a `table`; write it below the pattern with the group")
    header, rows = _read_rows(source, declared["table"], ignored_columns, scale) if "table" in declared else ([], [])
    names = {*header, *(name for pattern in files for name in _check_expression(pattern, source))}
    for pattern in ignored:
        _check_expression(pattern, source)
    groups = {find_group(name)[0] for name in names}
    runs_by = tuple(find_group(name)[0] for name in declared.get("runs_by", ()))
    for position, name in enumerate(runs_by):
        if name not in groups or name in OF_FILES:
            others = ", ".join(sorted(groups - OF_FILES - {FILE_COLUMN})) or "none"
            raise source.fail(
                ("runs_by", position), f"no pattern has a group `{name}` that tells runs apart; there are: {others}"
            )
    by_file = FILE_COLUMN in rows[0] if rows else False
    column = FILE_COLUMN if by_file else RUN_COLUMN
    keyed = {
        row[column]: {name: read_value(name, text) for name, text in row.items() if name != FILE_COLUMN and text}
        for row in rows
    }
    tables = (keyed, {}) if by_file else ({}, keyed)
    patterns = (*ignored, *files)
    # The archive's own table is one of its files.
    table = "" if source.is_trusted else declared.get("table", "")
    told = (frozenset(groups - {FILE_COLUMN}), table, frozenset(names), source.text or "")
    return Layout(source.name, patterns, *tables, runs_by, *told), rows


def _read_pattern(number: int, declared: Mapping[str, Any], source: Source) -> Pattern:
    for name, given in declared.get("set", {}).items():
        path = ("files", number, "set", name)
        if problem := check_group(name):
            raise source.fail(path, problem)
        try:
            read_value(name, given)
        except ValueError as error:
            raise source.fail(path, str(error)) from None
    factors = _read_scale(declared, ("files", number), source)
    kind = KINDS[declared["kind"]] if "kind" in declared else None
    return Pattern(f"files.{number}", declared["pattern"], kind, declared.get("set", {}), factors)


def _read_scale(declared: Mapping[str, Any], place: tuple[str | int, ...], source: Source) -> dict[str, float]:
    """Return the factors that a pattern, or the layout for its table, has at a place; raise DeclarationError."""
    factors = {}
    for name, given in declared.get("scale", {}).items():
        path = (*place, "scale", name)
        if problem := check_group(name):
            raise source.fail(path, problem)
        try:
            # 1e6 is a text to YAML.
            factors[name] = float(given)
        except ValueError:
            raise source.fail(path, f"{given!r} is not a number") from None
    return factors


def _check_expression(pattern: Pattern, source: Source) -> list[str]:
    """Return the groups that a pattern tells, as written; raise DeclarationError for a wrong or misspelt one."""
    import polars as pl  # noqa: PLC0415 (as in `layout`)

    key, number = pattern.place.split(".")
    place = (key, int(number)) if key == "ignore" else (key, int(number), "pattern")
    if unnamed := UNNAMED.search(pattern.expression):
        raise source.fail(place, f"`{unnamed[0]}` does not begin a group; write `(?P<{unnamed[1]}>`")
    try:
        for expression in (pattern.expression, WHOLE.format(pattern.expression)):
            groups = pl.Series([""]).str.extract_groups(expression).struct.fields
            pl.Series([""]).str.contains(expression)
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().rpartition("\n")[2].removeprefix("error: ")
        hint = _hint_at_expression(pattern.expression)
        raise source.fail(place, f"'{pattern.expression}' is not a regular expression ({reason}){hint}") from None
    names = [name for name in groups if not name.isdigit()]
    for name in names:
        if problem := check_group(name):
            raise source.fail(place, problem)
    if strangers := sorted(set(pattern.factors) - set(names)):
        problem = f"the pattern has no group `{strangers[0]}`; for a column of the table, write `scale` beside `table`"
        raise source.fail((key, int(number), "scale", strangers[0]), problem)
    names = sorted({*names, *pattern.constants})
    if twice := find_repeated([find_group(name)[0] for name in names]):
        raise source.fail(place, f"the pattern says `{twice}` twice, in two units")
    return names


def _hint_at_expression(expression: str) -> str:
    """Return what to write in place of what linear time does not allow, or of a pattern as shells have it."""
    if LOOK_AROUND.search(expression):
        return f"; {WITHOUT_LOOK_AROUND}"
    if BACK_REFERENCE.search(expression):
        return "; write `[^/]+` for what says again what a group has"
    # *_ss.txt
    start, star, rest = expression.partition("*")
    return f"; write `.*{re.escape(rest)}`" if star and not start else ""


def _check_schema(declared: Any, source: Source) -> None:
    if not isinstance(declared, dict):
        raise source.fail((), "this is not a layout; begin with `files:` and a list of `- pattern: '…'`")
    if problem := find_problem(declared, load_yaml(SCHEMAS / "layout.schema.yaml")):
        other = find_other_kind(declared, "layout", show_path(source.folder / source.name))
        raise source.fail((), other) if other else source.fail(problem.culprit, problem.text)


def _read_rows(
    source: Source, name: str, ignored: Collection[str], scale: Mapping[str, float]
) -> tuple[list[str], list[dict[str, str]]]:
    """Return the columns of a layout's table but for ignored ones, and its rows by group; raise DeclarationError.

    `scale` has factors of columns.
    """
    path = source.folder / name
    shown = show_path(path)
    try:
        if not source.is_trusted and not path.resolve().is_relative_to(source.folder.resolve()):
            raise source.fail(("table",), f"{name} leads out of the layout's folder; put the CSV beside it")
        if path.stat().st_size > TABLE_LIMIT_BYTES:
            raise source.fail(("table",), f"{name} is larger than {TABLE_LIMIT_BYTES} bytes")
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True, delimiter=find_separator(stream))
            header = list(reader.fieldnames or ())
            if not header:
                raise DeclarationError(f"{shown} is empty; its first line has to name its columns")
            for position, column in enumerate(ignored):
                if column not in header:
                    raise source.fail(
                        ("ignore_columns", position), f"{name} has no column `{column}`{guess_near(column, header)}"
                    )
            for column in scale:
                if column not in header:
                    raise source.fail(("scale", column), f"{name} has no column `{column}`{guess_near(column, header)}")
            kept = [column for column in header if column not in ignored]
            check_header(kept, shown)
            lines = ((reader.line_num, row) for row in reader)
            numbered = [(line, read_row(row, ignored, scale, f"{shown}:{line}")) for line, row in lines]
    except OSError as error:
        raise source.fail(("table",), f"{shown} cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise DeclarationError(f"{shown}: this is not text in UTF-8; save it as UTF-8") from error
    except csv.Error as error:
        raise DeclarationError(f"{shown}: this is not CSV: {error}") from error
    check_keys(numbered, FILE_COLUMN if FILE_COLUMN in header else RUN_COLUMN, shown)
    return kept, [row for _, row in numbered]
