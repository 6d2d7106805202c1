"""The keys of a campaign's file, as their schema declares them."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from ccreport.core.declarations import SCHEMAS
from ccreport.report.markup.blocks import NONE, Html, prose, render_table, verbatim

HEADER: Final = ("Key", "Values", "Default", "Meaning")
# What is longer may break anywhere.
LONG: Final = 24
Schema = dict[str, Any]


def render_campaign_keys() -> str:
    """Return one table of the keys of testbed and sessions, and one of the settings of jobs."""
    schema = yaml.safe_load((SCHEMAS / "campaign.schema.yaml").read_text(encoding="utf-8"))
    around = [*list_keys({"testbed": schema["properties"]["testbed"]})]
    session = schema["properties"]["sessions"]["items"]["properties"]
    around += list_keys({f"sessions[].{key}": session[key] for key in ("label", "hostname")})
    job = session["jobs"]["items"]["properties"]
    around += list_keys({f"sessions[].jobs[].{key}": job[key] for key in ("name", "for_each")})
    settings = [*list_keys(schema["properties"]["defaults"]["properties"])]
    required = prose("required")
    return (
        f"{render_keys(around, 'The testbed, sessions and names of jobs', required)}\n\n"
        f"Settings of jobs, which `defaults` of the campaign and of a session may hold, too:\n\n"
        f"{render_keys(settings, 'Settings of jobs', required)}"
    )


def list_keys(properties: Schema, above: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield every key that holds a value by its path, `[]` standing for the items of a list.

    A key that may hold a value or keys of its own is followed by these.
    """
    for key, schema in properties.items():
        path = f"{above}{key}"
        items = schema.get("items", {})
        if "properties" in schema:
            if schema.get("default", {}) != {}:
                yield path, schema
            yield from list_keys(schema["properties"], f"{path}.")
        elif "properties" in items:
            yield from list_keys(items["properties"], f"{path}[].")
        else:
            yield path, schema


def render_keys(keys: Iterable[tuple[str, Schema]], title: str, undefaulted: Html = NONE) -> str:
    """Return a table of keys by their paths; `undefaulted` is shown of a key that has no default."""
    rows = [
        [verbatim(path), _show_values(schema), _show_default(schema, undefaulted), prose(schema.get("description", ""))]
        for path, schema in keys
    ]
    return render_table(HEADER, rows, title=title)


def _show_values(schema: Schema) -> Html:
    if "enum" in schema:
        return prose(", ".join(str(value) for value in schema["enum"] if value is not None))
    kinds = schema.get("type", "")
    names = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    lowest, highest = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    if lowest is not None and highest is not None:
        mark = "above " if "exclusiveMinimum" in schema else ""
        return prose(f"{', '.join(names)}: {mark}{lowest:,} to {highest:,}")
    return prose(", ".join(names)) if names else NONE


def _show_default(schema: Schema, undefaulted: Html) -> Html:
    if "default" not in schema:
        return undefaulted if "type" in schema else NONE
    default = schema["default"]
    if default is None:
        return prose("null")
    shown = str(default).lower() if isinstance(default, bool) else str(default)
    return verbatim(shown, is_long=len(shown) > LONG)
