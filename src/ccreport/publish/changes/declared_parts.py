"""Which parts of an evaluation's declaration a result rests on, and what of them two releases declare otherwise."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ccreport.publish.changes.change import show_value
from ccreport.publish.changes.differences import Exhibit, ReleaseFolder

# Everything of an evaluation rests on these; others are named by table, figure or claim.
SHARED: Final = ("algorithms", "labels", "rtt_bucket_edges_ms", "edge", "condition", "completion_bytes")
# By these a published pair or cell is judged, and what else single tables rest on.
BOUNDS: Final = ("consistent_within_factor", "equal_within_pct")
OF_TABLES: Final = {"comparisons": ("equal_within_pct",), "published_values": ("published", "consistent_within_factor")}
PARTS: Final = {
    **dict.fromkeys(("cells", "flips"), "tables"),
    **dict.fromkeys(("claims", "checks", "verdicts"), "claims"),
    "pairs": "reproduction",
    "figure": "figures",
}
# What is said of a table changes nothing that reads it.
WORDS: Final = frozenset(
    {"title", "note", "column_notes", "makes_section", "is_stored", "rows_at_most", "measures", "headings"}
)
# The view of the rows that a table has its values from: `stability_runs` of `stability`.
RUNS: Final = "_runs"
NAME: Final = re.compile(r"\w+")
# Characters; a longer one, such as SQL, is read in the evaluations themselves.
VALUES_AT_MOST: Final = 120
# Of one claim; of more the claim alone is named.
KEYS_AT_MOST: Final = 3
# Items of lists that are known by name: the checks of a claim, the cases of a label.
NAMED_BY: Final = ("name", "value")


def list_parts(exhibit: Exhibit, old: ReleaseFolder, new: ReleaseFolder) -> Iterator[str]:
    """Yield the keys of the declaration that a result rests on and that differ, with both values if these are short."""
    before, after = (side.evaluations[exhibit.evaluation] for side in (old, new))
    tables = _list_tables(exhibit, before) | _list_tables(exhibit, after)
    parts = [*SHARED, *(part for table in sorted(tables) for part in OF_TABLES.get(table, ()))]
    parts += BOUNDS if exhibit.kind == "pairs" else ()
    for key in dict.fromkeys(parts):
        yield from list_differences(key, before.get(key), after.get(key))
    part = PARTS[exhibit.kind]
    old_ones, new_ones = (side.get(part, {}) for side in (before, after))
    for name in sorted(_list_own(exhibit) & (old_ones.keys() | new_ones.keys())):
        found = list(list_differences(f"{part}.{name}", old_ones.get(name), new_ones.get(name)))
        is_long = part == "claims" and len(found) > KEYS_AT_MOST
        yield from [f"{part}.{name}"] if is_long else found
    for table in sorted(tables - (_list_own(exhibit) if part == "tables" else set())):
        was, is_now = (
            {key: value for key, value in side.get("tables", {}).get(table, {}).items() if key not in WORDS}
            for side in (before, after)
        )
        yield from list_differences(f"tables.{table}", was, is_now)
    if exhibit.kind == "pairs":
        yield from _list_expected(exhibit.evaluation, old, new)


def list_own_queries(exhibit: Exhibit, old: ReleaseFolder, new: ReleaseFolder) -> list[str]:
    """Return the tables that a result is or reads as they are published, which their own queries compute."""
    sides = (side.evaluations[exhibit.evaluation] for side in (old, new))
    return sorted({table for side in sides for table in _list_tables(exhibit, side, of_runs=False)})


def _list_own(exhibit: Exhibit) -> set[str]:
    """Return the names of the table, figure, claims or tables of published values whose values differ."""
    if exhibit.kind in ("cells", "flips", "figure"):
        return {exhibit.name}
    # "stability, mean CV, value" and "table_2_testbed, no loss, BBR"
    return {change.where.partition(", ")[0] for change in exhibit.changes}


def _list_tables(exhibit: Exhibit, declared: Mapping[str, Any], *, of_runs: bool = True) -> set[str]:
    """Return the tables that a result is or reads; with `of_runs` also those of which it reads the runs alone."""
    own: set[str] = _list_own(exhibit)
    tables: dict[str, Any] = declared.get("tables", {})
    if exhibit.kind == "figure":
        own = {declared.get("figures", {}).get(exhibit.name, {}).get("table", "")}
    elif PARTS[exhibit.kind] == "claims":
        claims = (declared.get("claims", {}).get(claim, {}) for claim in own)
        own = {word for claim in claims for check in claim.get("checks", ()) for word in NAME.findall(check["sql"])}
    read = own | {name.removesuffix(RUNS) for name in own if of_runs}
    read |= {asked for name in read & tables.keys() for asked in tables[name].get("questions", ())}
    return read & tables.keys()


def _list_expected(evaluation: str, old: ReleaseFolder, new: ReleaseFolder) -> Iterator[str]:
    """Yield the files of published values that differ."""
    folder = f"evaluations/{evaluation}/expected/"
    was, is_now = (
        {path: sha256 for path, sha256 in side.files.items() if path.startswith(folder)} for side in (old, new)
    )
    for path in sorted(was.keys() | is_now.keys()):
        if was.get(path) != is_now.get(path):
            yield f"expected/{Path(path).name}"


def list_differences(where: str, was: Any, is_now: Any) -> Iterator[str]:
    """Yield the keys below one of a declaration that differ, in their order, with both values where these are short."""
    if was == is_now:
        return
    old_items, new_items = _name_items(was), _name_items(is_now)
    if old_items is not None and new_items is not None:
        keys = dict.fromkeys([*old_items, *new_items])
        found = [list_differences(f"{where}.{key}", old_items.get(key), new_items.get(key)) for key in keys]
        below = [line for lines in found for line in lines]
        yield from below or [f"{where} (in another order)"]
        return
    values = " -> ".join(f"{value:.6g}" if isinstance(value, float) else show_value(value) for value in (was, is_now))
    yield f"{where} ({values})" if len(values) <= VALUES_AT_MOST else where


def _name_items(value: Any) -> Mapping[str, Any] | None:
    """Return what a value holds by name, None where its items have none."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return None
    for key in NAMED_BY:
        named = {str(item.get(key)): item for item in value if key in item}
        if value and len(named) == len(value):
            return named
    return None
