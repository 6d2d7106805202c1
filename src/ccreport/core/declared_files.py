"""Files that people write (configuration, evaluations, campaigns, explanations): read, checked, and what is wrong said.

Each fault is one line: the file, the line in it, the key, and what to type instead.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import Place, find_problem, format_place, guess_path

LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
NO_COLON: Final = "could not find expected ':'"
NO_COLON_SAID: Final = "a key without a colon and a blank behind it"
# What libyaml was reading, and what then is the fault in nearly every case.
OPENED: Final = {
    "while parsing a flow sequence": "a bracket that is not closed, or no comma between two items",
    "while parsing a flow mapping": "a brace that is not closed, or no comma between two keys",
    "while scanning a quoted scalar": "a quote that is not closed",
}
PLAIN: Final = {
    "did not find expected <document start>": "a bracket or brace too many, or a text behind one, which needs quotes",
    "found unknown escape character": "a backslash in double quotes; write the text in single quotes",
    "mapping values are not allowed in this context": (
        "indented deeper than the line above, or a colon within a text, which then needs quotes"
    ),
    "did not find expected '-' indicator": (
        "not indented as its list's items; indent it as the text behind the `- ` above, or begin it with `- `"
    ),
    "did not find expected key": "not indented as the lines above, or a quote or bracket too many or too few before it",
}
MERGED: Final = "tag:yaml.org,2002:merge"
DATED: Final = "tag:yaml.org,2002:timestamp"
# What files of each schema are called, and what takes them.
KINDS: Final = {
    "campaign": ("a campaign", "`python -m ccreport collect --campaign {}`"),
    "comparison": ("a comparison", "`python -m ccreport compare_kernels {}`"),
    "config": ("a configuration", "`snakemake --configfile {}`"),
    "evaluation": ("an evaluation", "`evaluation: {}` in config.yaml"),
    "explanations": ("a file of explanations", "`explanations: {}` in config.yaml"),
    "layout": ("a layout", "`layout: {}` of `archive` in config.yaml"),
}
# What takes a file of one kind where one of another is wanted, if not that above: `collect` refuses some campaigns.
TAKEN_BY: Final = {("campaign", "comparison"): "`campaign: {}` in a comparison"}


class DeclarationError(InputError):
    """A file that people write breaks its schema, contradicts itself, or names what does not exist.

    `place` are the keys and numbers that lead to what is wrong, as far as that is known. `tokens` are words and signs
    of the text there, the last of which is wrong.
    """

    def __init__(self, problem: str, place: Place = (), tokens: Sequence[str] = ()) -> None:
        super().__init__(problem)
        self.place = place
        self.tokens = tokens


def load_declared(path: Path, kind: str) -> dict[str, Any]:
    """Return a file with the defaults of `schemas/<kind>.schema.yaml` filled in.

    Raise DeclarationError where it cannot be read, is not YAML, says a key twice or breaks the schema.
    """
    schema = load_yaml(SCHEMAS / f"{kind}.schema.yaml")
    declared: dict[str, Any] = read_declared(path)
    if declared is None:
        raise DeclarationError(f"{show_path(path)} is empty")
    if problem := find_problem(declared, schema):
        raise blame_kind(path, declared, kind) or blame(path, DeclarationError(str(problem), problem.culprit))
    fill_defaults(declared, schema)
    return declared


def read_declared(path: Path) -> Any:
    """Return what a YAML file holds; raise DeclarationError where it cannot be read, is no YAML or says a key twice."""
    return parse_declared(read_text(path), show_path(path))


def read_text(path: Path) -> str:
    """Return the text of a file; raise DeclarationError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DeclarationError(f"{show_path(path)} does not exist{guess_path(path)}") from error
    except IsADirectoryError as error:
        raise DeclarationError(f"{show_path(path)} is a folder; name a file in it") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise DeclarationError(f"{show_path(path)}: cannot be read: {reason}") from error


def parse_declared(text: str, name: str) -> Any:
    """Return what the YAML of the file of this name holds; raise DeclarationError where it is none or repeats a key."""
    node = None
    try:
        loader = LOADER(text)
        node = loader.get_single_node()
        value = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise _explain(name, text, error) from error
    except ValueError as error:
        raise _explain_date(name, node, error) from error
    if node is not None and (repeated := next(_list_repeated(node), None)):
        key, first, second = repeated
        raise DeclarationError(f"{name}:{second}: `{key}` is also in line {first}; delete one of them")
    return value


def _explain_date(name: str, node: yaml.Node | None, error: ValueError) -> DeclarationError:
    """Return which value below a node is read as a date and is none, and its key: release.date: 2026-02-30."""
    for place, scalar in _list_scalars(node):
        try:
            yaml.safe_load(scalar.value if scalar.tag == DATED else "")
        except ValueError as fault:
            key = f"{format_place(place)}: " if place else ""
            said = f"{key}`{scalar.value}` is not a date: {fault}"
            return DeclarationError(f"{name}:{scalar.start_mark.line + 1}: {said}")
    return DeclarationError(f"{name}: {error}")


def _list_scalars(node: yaml.Node | None, place: Place = ()) -> Iterator[tuple[Place, yaml.ScalarNode]]:
    """Yield all keys and values of a node, each with the keys and numbers that lead to it."""
    if isinstance(node, yaml.ScalarNode):
        yield place, node
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _list_scalars(item, (*place, number))
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _list_scalars(key, place)
            yield from _list_scalars(value, (*place, key.value) if isinstance(key, yaml.ScalarNode) else place)


def _explain(name: str, text: str, error: yaml.YAMLError) -> DeclarationError:
    """Return what keeps a text from being YAML, with its line."""
    reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
    mark, lines = getattr(error, "problem_mark", None), text.splitlines()
    context = (getattr(error, "context", None) or "").partition(" at ")[0]
    if plain := OPENED.get(context, NO_COLON_SAID if reason == NO_COLON else ""):
        # Missed where the next line begins, or at the end.
        mark, reason = getattr(error, "context_mark", mark), plain
    reason = PLAIN.get(reason, reason)
    if mark is None:
        return DeclarationError(f"{name}: not YAML: {reason}")
    # What is not closed is missed behind the last line.
    number = max(1, min(mark.line + 1, len(lines)))
    if first := _find_first_key(lines[:number]):
        number, reason = first, NO_COLON_SAID
    if lines and lines[number - 1].startswith("\t"):
        reason = "a tab in front; indent by blanks"
    return DeclarationError(f"{name}:{number}: not YAML: {reason}")


def _find_first_key(lines: Sequence[str]) -> int | None:
    """Return the line of a group's first key if it lacks its colon, which YAML misses at the last of these lines."""
    written = [number for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    *before, first, missed = ["", "x:", *(lines[number - 1].rstrip() for number in written)]
    has_colon = not first or first.endswith(":") or ": " in first or first.lstrip().startswith("- ")
    is_first = bool(before) and before[-1].endswith(":") and _count_blanks(first) <= _count_blanks(missed)
    return written[-2] if is_first and not has_colon and not missed.lstrip().startswith("-") else None


def _count_blanks(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _list_repeated(node: yaml.Node) -> Iterator[tuple[str, int, int]]:
    """Yield each key that a mapping has twice, with both lines; YAML's parsers take the last and say nothing."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _list_repeated(item)
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and key.tag != MERGED:
                if key.value in lines:
                    yield key.value, lines[key.value], line
                lines[key.value] = line
            yield from _list_repeated(value)


def blame(path: Path, error: DeclarationError) -> DeclarationError:
    """Return an error with the file, and the line in it, in front of what it says."""
    line = find_line(path, error.place, error.tokens)
    return type(error)(f"{show_path(path)}:{line}: {error}" if line else f"{show_path(path)}: {error}", error.place)


def blame_kind(path: Path, declared: Any, wanted: str) -> DeclarationError | None:
    """Return an error with the file in front where its content is of another kind than wanted, None where it is not."""
    other = find_other_kind(declared, wanted, show_path(path))
    return DeclarationError(f"{show_path(path)}: {other}") if other else None


def find_other_kind(declared: Any, wanted: str, name: str) -> str | None:
    """Return what to say of the content of the file of this name if most of its keys are of another kind than wanted.

    None where they are not.
    """
    if not isinstance(declared, dict):
        return None
    counts = {
        kind: sum(key in load_yaml(SCHEMAS / f"{kind}.schema.yaml")["properties"] for key in declared) for kind in KINDS
    }
    kind = max(counts, key=counts.__getitem__)
    if counts[kind] == counts[wanted]:
        return None
    (noun, reader), (wanted_noun, _) = KINDS[kind], KINDS[wanted]
    reader = TAKEN_BY.get((kind, wanted), reader)
    return f"this is {noun}, not {wanted_noun}; {reader.format(name)} takes it"


def find_line(path: Path, place: Place, tokens: Sequence[str] = ()) -> int | None:
    """Return the line, from 1, of a place in a YAML file, or of the last part of it that the file has; None if none.

    With `tokens` it is the line of the last of these words and signs, where they are found below the place.
    """
    try:
        return find_line_of_text(path.read_text(encoding="utf-8"), place, tokens)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None


def find_line_of_text(text: str, place: Place, tokens: Sequence[str] = ()) -> int | None:
    """Return what `find_line` does, of the text of a file; raise YAMLError where it is no YAML."""
    node = yaml.compose(text, Loader=LOADER)
    line = None
    for part in place:
        found = _step(node, part)
        if found is None:
            break
        line, node = found
    if node is None or line is None:
        return line
    below = text[node.start_mark.index : node.end_mark.index]
    # The program may have put words of its own in front of what the file says.
    for first in range(len(tokens)):
        pattern = r"\s*".join(rf"\b{token}\b" if token[0].isalnum() else re.escape(token) for token in tokens[first:])
        if match := re.search(pattern, below):
            return node.start_mark.line + 1 + below[: match.end()].count("\n")
    return line


def find_scalar(path: Path, place: Place) -> str | None:
    """Return the value at a place of a YAML file as it is written there, None where it is not there or not a scalar."""
    node = yaml.compose(read_text(path), Loader=LOADER)
    for part in place:
        _, node = _step(node, part) or (0, None)
    return node.value if isinstance(node, yaml.ScalarNode) else None


def _step(node: yaml.Node | None, part: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line + 1, node.value[part]
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key.start_mark.line + 1, value
    return None


def show_path(path: Path) -> str:
    """Return a path as a user would type it: relative where it is below the folder of the call."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else str(path)


def fill_defaults(value: Any, schema: dict[str, Any]) -> None:
    """Set what a value does not say to the defaults of its schema, in place and at all depths."""
    if isinstance(value, list):
        for item in value:
            fill_defaults(item, schema.get("items", {}))
    if not isinstance(value, dict):
        return
    for name, declared in schema.get("properties", {}).items():
        if "default" in declared:
            value.setdefault(name, declared["default"])
    additional = schema.get("additionalProperties")
    for name, item in value.items():
        declared = schema.get("properties", {}).get(name, additional)
        if isinstance(declared, dict):
            fill_defaults(item, declared)
