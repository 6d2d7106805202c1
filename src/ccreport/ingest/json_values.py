"""Parsed JSON of unknown content: its types, and access that expects the objects and lists of a known format."""

from operator import itemgetter
from typing import Final, TypeAlias, cast

from ccreport.archive.raw_file import RawFileError

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, Json]

QUOTE_CHARACTERS: Final = 200


def quote(text: str) -> str:
    """Return the beginning of a text of unknown origin as one printable line."""
    line = " ".join(text[: 2 * QUOTE_CHARACTERS].split())
    printable = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)
    return printable if len(printable) <= QUOTE_CHARACTERS else printable[: QUOTE_CHARACTERS - 1] + "…"


def as_text(value: str) -> str:
    """Return a string of a document as valid Unicode: what was not UTF-8 in it is escaped."""
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def get_object(parent: JsonObject, key: str) -> JsonObject:
    """Return the object under a key, an empty one if there is no such key; raise RawFileError for anything else."""
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise wrong_type(key, value, "an object")
    return value


def get_objects(parent: JsonObject, key: str) -> list[JsonObject]:
    """Return the list of objects under a key, an empty one if there is no such key; raise RawFileError otherwise."""
    values = parent.get(key, [])
    if not isinstance(values, list):
        raise wrong_type(key, values, "a list")
    if set(map(type, values)) - {dict}:
        other = next(value for value in values if not isinstance(value, dict))
        raise wrong_type(f"{key}[]", other, "an object")
    return cast("list[JsonObject]", values)


def get_values(objects: list[JsonObject], key: str, default: Json = None) -> list[Json]:
    """Return the value of a key in each of many objects, the default in those that have no such key."""
    try:
        return list(map(itemgetter(key), objects))
    except KeyError:
        return [parent.get(key, default) for parent in objects]


def wrong_type(key: str, value: Json, expected: str) -> RawFileError:
    """Return the error for a value that has another JSON type than the tool ever writes there."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    actual = names.get(type(value), "a number")
    message = (
        f"`{key}` is {actual} where {expected} belongs; this is not output of iperf3 or pscheduler, rerun the test"
    )
    return RawFileError("unexpected_structure", message)
