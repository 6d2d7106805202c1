"""Where schemas are, how they and other declarations are read, and what a schema says of a value that is to be written.

Apart from `ccreport.core.tables`, whose libraries take longer to import than Snakemake takes to read all rules.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

# Beside the folder of the package, as `evaluations` is.
SCHEMAS: Final = Path(__file__).resolve().parents[3] / "schemas"
# The queries of published tables, and what they share, each by the name of its table or view.
SQL: Final = Path(__file__).resolve().parents[1] / "sql"
QUERIES: Final = {path.stem: path for path in sorted(SQL.glob("*/*.sql"))}

SENTENCE_END: Final = re.compile(r"\. (?=[A-Z])")
BOUNDS: Final = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "up to", "exclusiveMaximum": "below"}


def load_yaml(path: Path) -> Any:
    """Return what a YAML file holds, read by the compiled parser where there is one: an evaluation takes 0.1 s else."""
    with path.open(encoding="utf-8") as stream:
        return yaml.load(stream, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (both are safe)


def read_query(name: str) -> str:
    """Return the SQL of a published table, of a view, or of macros."""
    return QUERIES[name].read_text(encoding="utf-8")


def name_query(name: str) -> str:
    """Return the file of a query as a path from the top level: src/ccreport/sql/edge/edge_values.sql."""
    return f"src/ccreport/sql/{QUERIES[name].relative_to(SQL)}"


def list_tables() -> list[str]:
    """Return the names of all declared tables, sorted."""
    return sorted(path.stem for path in (SCHEMAS / "tables").glob("*.yaml"))


def read_meaning(schema: Mapping[str, Any]) -> str:
    """Return the first sentence of what a schema says of a value; no text where it says nothing."""
    return SENTENCE_END.split(schema.get("description", ""))[0].removesuffix(".")


def name_bounds(schema: Mapping[str, Any]) -> str:
    """Return what numbers a schema allows: from 1 up to 16, or from 0 on."""
    named = [f"{word} {schema[key]}" for key, word in BOUNDS.items() if key in schema]
    return " ".join(named if len(named) > 1 or "minimum" not in schema else [*named, "on"])


def number_place(value: Any, place: Iterable[str | int]) -> Iterator[int]:
    """Yield how many items or keys are in front of each step to a place."""
    for step in place:
        yield list(value).index(step) if isinstance(value, dict) else int(step)
        value = value[step]


def mend_items(value: Any, schema: Mapping[str, Any]) -> str:
    """Return how to write a list of groups that a schema wants: as its example, or a text as the one key they need."""
    items = schema.get("items", {})
    if examples := items.get("examples"):
        return f"; write each item as `- {{{', '.join(f'{key}: {item}' for key, item in examples[0].items())}}}`"
    needed = items.get("required", ())
    return f"; write [{{{needed[0]}: {value}}}]" if isinstance(value, str) and len(needed) == 1 else ""


def mend_nothing(types: Collection[str], schema: Mapping[str, Any]) -> str:
    """Return what to write behind or below a key that has nothing: items, keys, or a value."""
    (kind, *others) = types
    keys = schema.get("required") or list(schema.get("properties", ()))
    if kind == "array" and not others:
        key = next(iter(schema.get("items", {}).get("required", ())), None)
        advice = (
            f"write its items below it, each from `- {key}: …` on" if key else "write its items in brackets: [a, b]"
        )
    elif kind == "object" and not others:
        named = (
            f"its keys below it, indented, such as `{keys[0]}: …`" if keys else "names below it, indented: `NAME: …`"
        )
        advice = f"write {named}"
    else:
        advice = "write a value"
    return f"; {advice}{', or leave the key out' if 'default' in schema else ''}"
