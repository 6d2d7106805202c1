"""What breaks a schema, in words that say what to type instead."""

import contextlib
import difflib
import importlib
import itertools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ccreport.core.declarations import mend_items, mend_nothing, name_bounds, number_place, read_meaning
from ccreport.core.text import complete_name, count_things, hint_at_letters
from ccreport.core.units import mend_base, mend_number

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

Place = tuple[str | int, ...]

SUMS: Final = "SHA256SUMS"
FOLDER_OF_RELEASE: Final = "name the folder of a release"
PLACES_OF_RELEASE: Final = "name the folder, the .tar.zst or the address of a release"
MAKES_RELEASE: Final = "`snakemake --cores 8 publish` makes one"
# What a release has beside its SHA256SUMS, as a damaged one has still in part.
KNOWN_BY: Final = ("datapackage.json", "ro-crate-metadata.json", "CITATION.cff", "tables", "evaluations")
# Names of files are short and many: those of another folder are not meant.
CLOSE_BEGINNING: Final = 0.8
# What YAML takes for true or false.
BOOLEANS: Final = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}
NOTHING: Final = "nothing behind the {}"
IN_QUOTES: Final = "put the condition in quotes, as between braces a comma ends it"
CLOSE_PATH: Final = 0.75
HERE: Final = Path()
# https://doi.org/10.5281/zenodo.1
BEFORE_DOI: Final = re.compile(r"(https?://[^/]+/|doi:)\s*(?=10\.)")
KINDS: Final = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "a group of keys",
    "null": "null",
}


@dataclass(frozen=True)
class Problem:
    """What is wrong with a value: by which keys of the whole it is found, whose line shows it, and what, in words."""

    place: Place
    culprit: Place
    text: str
    whole: Any

    def __str__(self) -> str:
        return f"{format_place(self.place, self.whole)}: {self.text}" if self.place else self.text


def find_problem(value: Any, schema: dict[str, Any]) -> Problem | None:
    """Return how a value breaks a schema of ours, None where it does not.

    Not by `jsonschema.validate`, which would check the schema as well: that takes most of its time.
    """
    # Loading it takes longer than starting Python, and most commands check nothing.
    jsonschema = importlib.import_module("jsonschema")
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker(["date"]))

    def rank(error: "ValidationError") -> tuple[Any, ...]:
        # Of two at the same depth, the first in the file counts.
        depth, _, *others = jsonschema.exceptions.relevance(error)
        return depth, [-number for number in number_place(value, error.absolute_path)], *others

    error = jsonschema.exceptions.best_match(validator.iter_errors(value), rank)
    if error is None:
        return None
    place: Place = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        unknown = min((key for key in error.instance if key not in known), key=str)
        # YAML takes {renderer:embedded} for a key without a value.
        before, _, behind = str(unknown).partition(":")
        if before in known and behind:
            missing = f"; a blank is missing behind its colon: write {{{before}: {behind}}}"
            return Problem(place, (*place, str(unknown)), f"`{unknown}` is not a key{missing}", value)
        # {when: least(a, b) > 1} has a key `b) > 1`.
        if error.instance[unknown] is None and any(sign in str(unknown) for sign in "()<>='"):
            return Problem(place, (*place, str(unknown)), f"`{unknown}` is not a key; {IN_QUOTES}", value)
        # A key that is there as well is not the one that is meant.
        within = [key for key, facts in known.items() if unknown in facts.get("properties", ())]
        near = guess_near(str(unknown), known.keys() - error.instance.keys())
        near = near or _mend_open_list(unknown, error.instance, known) or guess(str(unknown), known)
        meant = f"; did you mean `{within[0]}: {{{unknown}: …}}`?" if within else near
        return Problem(place, (*place, str(unknown)), f"`{unknown}` is not a key{meant}", value)
    culprit = (*place, error.instance) if "propertyNames" in error.schema_path else place
    return Problem(place, culprit, _describe(error), value)


def _mend_open_list(unknown: Any, group: Mapping[Any, Any], known: Mapping[str, Any]) -> str:
    """Return how to write a list whose brackets are missing: YAML takes {rtt_ms: 10, 20} for a key 20 without value."""
    keys = list(group)
    before = next((key for key in keys[keys.index(unknown) :: -1] if key in known), None)
    behind = keys[keys.index(before) + 1 :] if before and "array" in known[before].get("type", ()) else []
    words = list(itertools.takewhile(lambda key: key not in known and group[key] is None, behind))
    if before is None or unknown not in words or not isinstance(group[before], str | int | float):
        return ""
    return f"; write `{before}: [{', '.join(map(str, (group[before], *words)))}]`"


def format_place(place: Place, whole: Any = None) -> str:
    """Return the keys that lead to a value as one text, such as `sessions.0.label`.

    A check of a claim goes by its name where the `whole` that the keys are of has it: claims.slow, check `mean rate`.
    """
    match place, whole:
        case ("claims", claim, "checks", number, *keys), {"claims": dict(claims)}:
            with contextlib.suppress(KeyError, IndexError, TypeError):
                if isinstance(name := claims[claim]["checks"][number]["name"], str):
                    # A check has one query, and what is said of that is said of the check.
                    return ", ".join([f"claims.{claim}", f"check `{name}`", *map(str, keys if keys != ["sql"] else ())])
    return ".".join(map(str, place))


def guess(word: str, known: Iterable[str]) -> str:
    """Return what to put behind a refused word: the known one that is meant, else all that there are."""
    names = sorted(map(str, known))
    return guess_near(word, names) or (f"; there are {', '.join(names)}" if names else "; there are none")


def guess_near(word: str, known: Iterable[str]) -> str:
    """Return what to put behind a refused word: the known one that is meant, or nothing."""
    near = find_near(word, known)
    return f"; did you mean `{near}`?" if near else ""


def find_near(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is meant by one, in whichever case of letters, or None."""
    # Of two that differ in their case alone, the last counts: that of the word's own case.
    ranked = sorted(map(str, known), key=lambda name: (name.isupper() == word.isupper(), name))
    names = {name.lower(): name for name in ranked}
    lower = word.lower()
    starts = [name for name in names if word and name.startswith(lower)]
    close = difflib.get_close_matches(lower, starts, n=1) or difflib.get_close_matches(lower, names, n=1)
    near = close or starts or [name for name in names if _begins_like(name, lower) or lower in name.split("_")]
    return names[near[0]] if near else None


def _begins_like(name: str, word: str) -> bool:
    """Tell whether a word is nearly the beginning of a longer name."""
    return bool(difflib.get_close_matches(word, [name[: len(word)]], n=1, cutoff=CLOSE_BEGINNING))


def find_release_problem(folder: Path) -> str | None:
    """Return why a folder is not that of a release; None where it is."""
    if not (folder / SUMS).is_file():
        return f"it has no {SUMS}" if folder.is_dir() else "it is not a folder"
    is_known = any((folder / name).exists() for name in KNOWN_BY)
    return None if is_known else f"it has {SUMS} and none of {', '.join(KNOWN_BY)}"


def guess_release(path: Path, otherwise: str = FOLDER_OF_RELEASE) -> str:
    """Ask for the release that is meant by a folder around it or by its packed file; return `otherwise` for none."""
    near = path.iterdir() if path.is_dir() else [path.with_name(path.name.partition(".tar.")[0])]
    found = sorted(folder for folder in near if folder != path and not find_release_problem(folder))
    return f"did you mean `{found[-1]}`?" if found else otherwise


def guess_path(path: Path, *, is_release: bool = False, base: Path = HERE) -> str:
    """Return what to put behind a path that is not there: the one that is meant, by what its folder has, or nothing.

    Where a release is meant no other folder is. `base` is the folder from which the path is seen.
    """
    meant = _find_near_path(base / path, is_release=is_release)
    return f"; did you mean `{meant.relative_to(base) if meant.is_relative_to(base) else meant}`?" if meant else ""


def _find_near_path(path: Path, *, is_release: bool) -> Path | None:
    missing = next((one for one in (path, *path.parents) if one.parent.is_dir() and not one.exists()), None)
    beside = sorted(missing.parent.iterdir()) if missing else []
    is_named = is_release and missing == path
    names = [one.name for one in beside if not (is_named and one.is_dir() and find_release_problem(one))]
    near = difflib.get_close_matches(missing.name, names, n=1, cutoff=CLOSE_PATH) if missing else []
    if not missing or not near:
        return None
    meant = missing.with_name(near[0])
    below = meant / path.relative_to(missing)
    if below == meant or below.exists():
        return below
    return _find_near_path(below, is_release=is_release) or meant


def guess_place(path: Path, setting: str | int) -> str:
    """Return what to put behind the path of a setting that is not there: the one that is meant, or nothing.

    Of a release also those beside it, or what to name: `former` takes a folder alone, `verify` also other places.
    """
    if setting not in ("former", "verify"):
        return guess_path(path)
    folders = (sums.parent for sums in path.expanduser().parent.glob(f"*/{SUMS}"))
    beside = sorted(folder.name for folder in folders if not find_release_problem(folder))
    listed = f"; {path.parent} has {', '.join(beside)}" if beside else ""
    kinds = FOLDER_OF_RELEASE if setting == "former" else PLACES_OF_RELEASE
    return guess_path(path, is_release=True) or listed or f"; {kinds}; {MAKES_RELEASE}"


def _describe(error: "ValidationError") -> str:
    value: Any = error.instance
    wanted: Any = error.validator_value
    schema: Any = error.schema
    key, most = _last_key(error), schema.get("maximum")
    shown = f"`{str(value).lower() if isinstance(value, bool) else value}`"
    match error.validator:
        case "type":
            types = [wanted] if isinstance(wanted, str) else wanted
            if types == ["object"] and isinstance(value, list) and "properties" not in schema:
                return f"this is a group of named {_last_key(error)}: give each a name (`name:` in place of the dash)"
            mended = mend_items(value, schema) or _mend(value, types, key, most) or _mend_group(value, schema)
            mended = mended or (mend_nothing(types, schema) if value is None else "")
            return f"{_name(value, shown)} is not {' or '.join(KINDS[kind] for kind in types)}{mended}"
        case "enum":
            choices = [str(choice) for choice in wanted if choice is not None]
            return f"{_name(value, shown)} is not one of its values{guess(str(value), choices)}"
        case "required":
            missing = next(key for key in wanted if key not in value)
            about = read_meaning(schema.get("properties", {}).get(missing, {}))
            return f"`{missing}` is missing{f': {about}' if about else ''}"
        case "minLength" | "minItems" | "minProperties" if not value:
            return "is empty"
        case "minItems" | "maxItems" | "minLength" | "maxLength":
            counted = count_things(len(value), "item" if isinstance(value, list) else "character")
            return f"has {counted}; write at {'least' if error.validator.startswith('min') else 'most'} {wanted}"
        case "uniqueItems":
            return f"`{next(item for item in value if value.count(item) > 1)}` is listed twice"
        case "pattern":
            if (doi := BEFORE_DOI.sub("", value)) != value and re.search(wanted, doi):
                return f"{shown} has more than it needs; write {_last_key(error)}: {doi}"
            examples = schema.get("examples", ())
            # 0000-0002-1825-0097 means what an example has in front of such a number, too.
            beginnings = (example[: example.rfind("/") + 1] for example in examples)
            near = (value.lower(), complete_name(value, examples), *(begin + value for begin in beginnings))
            meant = next((word for word in near if re.search(wanted, word)), "")
            about = f": {read_meaning(schema) or f'it does not match {wanted}'}{hint_at_letters(value, wanted)}"
            return f"{shown} is not allowed here{f'; did you mean `{meant}`?' if meant else about}"
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            kind = KINDS["integer" if "integer" in schema.get("type", "") else "number"]
            return f"{shown} is out of range; write {kind} {name_bounds(schema)}{mend_base(value, key, most)}"
        case "oneOf":
            ways = [" and ".join(f"`{key}`" for key in way["required"]) for way in wanted]
            return f"has more than it needs; write either {' or '.join(ways)}"
        case "dependentRequired":
            key, missing = next((key, other) for key in wanted for other in wanted[key] if other not in value)
            return f"`{key}` needs `{missing}` beside it"
        case "format":
            return f"{shown} is not a {wanted}"
    return error.message


def _last_key(error: "ValidationError") -> str:
    return next((part for part in reversed(error.absolute_path) if isinstance(part, str)), "values")


def _name(value: Any, shown: str) -> str:
    if value is None:
        return f"null, or {NOTHING.format('colon')},"
    return "a list" if isinstance(value, list) else "a group of keys" if isinstance(value, dict) else shown


def _mend_group(value: Any, schema: Mapping[str, Any]) -> str:
    """Return how to write a value by itself as the group that a schema wants: by the key that takes it, or by any."""
    keys: Mapping[str, Any] = schema.get("properties", {}) if isinstance(value, str | int | float) else {}
    for key, facts in keys.items():
        choices = [choice for choice in facts.get("enum", ()) if choice is not None]
        if near := find_near(str(value), choices):
            return f"; write {{{key}: {near}}}" + ("" if near == value else f", where there are {', '.join(choices)}")
    how = "{}, which takes each key's default" if value is True else f"{{KEY: {value}}}, KEY one of {', '.join(keys)}"
    return f"; write {how}" if keys else ""


def _mend(value: Any, types: list[str], key: str, most: float | None) -> str:
    """Return how to write a value of another type as one of the wanted types, up to `most`, where there is a way."""
    if "string" in types and isinstance(value, (bool, int, float, date)):
        return f"; put it in quotes: '{str(value).lower() if isinstance(value, bool) else value}'"
    if "boolean" in types and isinstance(value, str) and value.lower() in BOOLEANS:
        return f"; write it without quotes: {value.lower()}"
    if {*types} - {"null"} == {"array"} and isinstance(value, str | int | float):
        return "; an empty list is []" if str(value).lower() == "null" else f"; put it in brackets: [{value}]"
    if {*types} - {"null"} == {"array"} and isinstance(value, dict) and value:
        return f"; begin each item with a dash: `- {next(iter(value))}: …`"
    if isinstance(value, float) and "integer" in types and math.isfinite(value):
        return f"; write {math.ceil(value)}"
    if isinstance(value, str) and {"number", "integer"} & set(types):
        return mend_number(value, key, most, is_whole="number" not in types)
    if isinstance(value, str) and "boolean" in types:
        return guess_near(value, ("true", "false"))
    return ""
