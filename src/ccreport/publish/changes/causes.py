"""Why a result of a release may differ from that of another: what changed of all that it is made of.

That is: raw files, keys of the configuration, parts of the evaluation's declaration, and the code of the rules on the
way to it, which is read from the imports of each release's own `code/`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ccreport.core.declarations import name_query
from ccreport.core.evaluation import CLAIMS, SHARED_QUERIES
from ccreport.publish.changes.change import ABSENT, Change
from ccreport.publish.changes.differences import Exhibit, ReleaseFolder
from ccreport.rebuild.imports import list_imports

RULE_MODULES: Final = {
    "list_raw_files": "ccreport.inventory.inventory",
    "ingest_batch": "ccreport.ingest.batch",
    "measure_batch": "ccreport.measure.batch",
    "list_views": "ccreport.summarise.database",
    "summarise_tables": "ccreport.summarise.summarise",
    "compare_tables": "ccreport.compare.reproduction",
    "judge_claims": "ccreport.compare.claims",
    "plot_figures": "ccreport.figures.write",
}
COMMON: Final = ("list_raw_files", "ingest_batch", "measure_batch", "list_views")
RULES: Final = {
    "cells": (*COMMON, "summarise_tables"),
    **dict.fromkeys(("claims", "checks", "verdicts"), (*COMMON, "summarise_tables", "judge_claims")),
    "pairs": (*COMMON, "summarise_tables", "compare_tables"),
    "figure": (*COMMON, "plot_figures"),
}
# Parts of a declaration that everything of an evaluation is made with; others are named by table, figure or claim.
SHARED_PARTS: Final = ("algorithms", "labels", "rtt_bucket_edges_ms", "edge")
# By these a published pair or cell is judged.
BOUNDS: Final = ("consistent_within_factor", "equal_within_pct")
PARTS: Final = {
    "cells": "tables",
    **dict.fromkeys(("claims", "checks", "verdicts"), "claims"),
    "pairs": "reproduction",
    "figure": "figures",
}
NAMED_FILES: Final = 3
# Characters; a longer one, such as SQL, is read in the evaluations themselves.
VALUES_AT_MOST: Final = 120
# Keys of the configuration that reach the tables; others say where things are, what comes beside them, or how to build.
CAUSES: Final = frozenset({"edge", "include_cpu_bound", "include_interrupted", "include_suspect", "packet_runs"})
# Where the archive and the evaluation are says nothing about what they hold.
PLACES: Final = frozenset({"archive", "evaluation"})


def list_kinds(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the keys that were added, removed and changed, each sorted."""
    return {
        "added": sorted(new.keys() - old.keys()),
        "removed": sorted(old.keys() - new.keys()),
        "changed": sorted(key for key in old.keys() & new.keys() if old[key] != new[key]),
    }


def list_config(old: ReleaseFolder, new: ReleaseFolder) -> list[Change]:
    """Return the keys of the configuration that differ, with their values, but for those that only name places."""
    keys = sorted((old.config.keys() | new.config.keys()) - PLACES)
    pairs = ((key, str(old.config.get(key, ABSENT)), str(new.config.get(key, ABSENT))) for key in keys)
    return [Change(key, was, is_now) for key, was, is_now in pairs if was != is_now]


def list_rules(old: ReleaseFolder, new: ReleaseFolder) -> dict[str, list[str]]:
    """Return the files of code that differ, by the rules that run them."""
    changed = {path for paths in list_kinds(_get_code(old), _get_code(new)).values() for path in paths}
    return {rule: sorted(changed & (_list_code(old, rule) | _list_code(new, rule))) for rule in RULE_MODULES}


def _get_code(side: ReleaseFolder) -> dict[str, str]:
    return {path: sha256 for path, sha256 in side.files.items() if path.startswith("code/")}


def _get_query(side: ReleaseFolder, name: str) -> str | None:
    """Return the hash of a query, wherever a version of the program has it."""
    return next((sha256 for path, sha256 in _get_code(side).items() if Path(path).name == name), None)


def _list_code(side: ReleaseFolder, rule: str) -> set[str]:
    package = (side.folder / "code/src/ccreport").resolve()
    try:
        modules = list_imports(RULE_MODULES[rule], package)
    except (ModuleNotFoundError, SyntaxError):
        modules = []
    code = {f"code/src/ccreport/{path.relative_to(package).as_posix()}" for path in modules}
    if rule == "list_views":
        code |= {f"code/{name_query(name)}" for name in SHARED_QUERIES}
    if rule == "judge_claims":
        code.add(f"code/{name_query(CLAIMS)}")
    return code


def list_causes(exhibit: Exhibit, old: ReleaseFolder, new: ReleaseFolder, rules: Mapping[str, list[str]]) -> list[str]:
    """Return in words what changed of all that a result is made of; `rules` is what `list_rules` returned."""
    raw = list_kinds(old.raw, new.raw)
    causes = [f"raw files: {', '.join(f'{len(paths)} {kind}' for kind, paths in raw.items() if paths)}"]
    causes = causes if any(raw.values()) else []
    keys = [change.where for change in list_config(old, new) if change.where in CAUSES]
    causes += [f"configuration: {', '.join(keys)}"] if keys else []
    if parts := list(_list_parts(exhibit, old, new)):
        causes.append(f"declaration: {', '.join(parts)}")
    for rule in RULES[exhibit.kind]:
        paths = list(rules[rule])
        query = f"{exhibit.name}.sql"
        if rule == "summarise_tables" and exhibit.kind == "cells" and _get_query(old, query) != _get_query(new, query):
            paths.append(query)
        if paths:
            more = f" and {len(paths) - NAMED_FILES} more" if len(paths) > NAMED_FILES else ""
            causes.append(f"code of {rule}: {', '.join(Path(path).name for path in paths[:NAMED_FILES])}{more}")
    return causes or ["nothing that this release holds; perhaps other versions of libraries"]


def _list_parts(exhibit: Exhibit, old: ReleaseFolder, new: ReleaseFolder) -> Iterator[str]:
    before, after = (side.evaluations[exhibit.evaluation] for side in (old, new))
    yield from (part for part in SHARED_PARTS if before.get(part) != after.get(part))
    part = PARTS[exhibit.kind]
    old_ones, new_ones = (side.get(part, {}) for side in (before, after))
    names = [exhibit.name] if exhibit.kind in ("cells", "figure") else sorted(old_ones.keys() | new_ones.keys())
    for name in names:
        was, is_now = old_ones.get(name), new_ones.get(name)
        if exhibit.kind in ("cells", "figure") and was and is_now:
            yield from (f"{part}.{name}.{change}" for change in _list_keys(was, is_now))
        elif was != is_now:
            yield f"{part}.{name}"
    if exhibit.kind == "pairs":
        yield from (part for part in BOUNDS if before.get(part) != after.get(part))
        expected = f"evaluations/{exhibit.evaluation}/expected/"
        files = (
            {path: sha256 for path, sha256 in side.files.items() if path.startswith(expected)} for side in (old, new)
        )
        yield from (f"expected/{Path(path).name}" for paths in list_kinds(*files).values() for path in paths)


def _list_keys(was: Mapping[str, Any], is_now: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a declaration that differ, in their order, with both values where these are short."""
    for key in dict.fromkeys([*was, *is_now]):
        if was.get(key) != is_now.get(key):
            values = f"{was.get(key, ABSENT)} -> {is_now.get(key, ABSENT)}"
            yield f"{key} ({values})" if len(values) <= VALUES_AT_MOST else key
