"""Why a result of a release may differ from that of another: what changed of all that it is made of.

That is: raw files, keys of the configuration, parts of the evaluation's declaration, and the code of the rules on the
way to it, which is read from the imports of each release's own `code/`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from ccreport.core.declarations import name_query
from ccreport.core.evaluation import CLAIMS, SHARED_QUERIES
from ccreport.publish import EXPLANATIONS
from ccreport.publish.changes.change import ABSENT, Change
from ccreport.publish.changes.declared_parts import list_own_queries, list_parts
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
    **dict.fromkeys(("cells", "flips"), (*COMMON, "summarise_tables")),
    **dict.fromkeys(("claims", "checks", "verdicts"), (*COMMON, "summarise_tables", "judge_claims")),
    "pairs": (*COMMON, "summarise_tables", "compare_tables"),
    "figure": (*COMMON, "plot_figures"),
}
NAMED_FILES: Final = 3
# Of raw files; more are counted here, and named by themselves.
NAMED_RAW: Final = 5
# Keys of the configuration that reach the tables; others say where things are, what comes beside them, or how to build.
CAUSES: Final = frozenset({"edge", "include_cpu_bound", "include_interrupted", "include_suspect", "packet_runs"})
# Where the archive and the evaluation are says nothing about what they hold.
PLACES: Final = frozenset({"archive", "evaluation"})
OF_ANOTHER: Final = "left out: they explain another archive"


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
    pairs = ((key, _show_setting(key, old, new), _show_setting(key, new, old)) for key in keys)
    return [Change(key, was, is_now) for key, was, is_now in pairs if was != is_now]


def _show_setting(key: str, side: ReleaseFolder, other: ReleaseFolder) -> str:
    """Return the value of a key, of sections their names in an order of their own: it is not that of anything shown."""
    value = side.config.get(key, ABSENT)
    if key == "explanations" and value is None and _explains_another(other, side):
        return f"null ({OF_ANOTHER})"
    if key != "sections" or not isinstance(value, list):
        # As config.yaml has it: null and true, not None and True.
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return ", ".join(sorted(Path(str(place)).stem for place in value)) or "none"


def _explains_another(explained: ReleaseFolder, side: ReleaseFolder) -> bool:
    """Tell whether the explanations of one release are of another archive than another release has."""
    path, archive = explained.folder / EXPLANATIONS, side.folder / "raw/archive.json"
    if not path.is_file() or not archive.is_file():
        return False
    sha256 = yaml.safe_load(path.read_text(encoding="utf-8"))["archive_sha256"]
    return bool(sha256 != json.loads(archive.read_text(encoding="utf-8"))["sha256"])


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
    causes = list(describe_raw(list_kinds(old.raw, new.raw)))
    keys = [change.where for change in list_config(old, new) if change.where in CAUSES]
    causes += [f"configuration: {', '.join(keys)}"] if keys else []
    causes += [f"declaration: {part}" for part in list_parts(exhibit, old, new)]
    for rule in RULES[exhibit.kind]:
        paths = list(rules[rule])
        if rule == "summarise_tables":
            queries = (f"{table}.sql" for table in list_own_queries(exhibit, old, new))
            paths += [query for query in queries if _get_query(old, query) != _get_query(new, query)]
        if paths:
            more = f" and {len(paths) - NAMED_FILES} more" if len(paths) > NAMED_FILES else ""
            causes.append(f"code of {rule}: {', '.join(Path(path).name for path in paths[:NAMED_FILES])}{more}")
    return causes or ["nothing that this release holds; perhaps other versions of libraries"]


def describe_raw(kinds: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield which raw files differ, a few by name, many as counts; `kinds` is what `list_kinds` returned."""
    is_named = sum(map(len, kinds.values())) <= NAMED_RAW
    told = (
        f"{kind} {', '.join(paths)}" if is_named else f"{len(paths)} {kind}" for kind, paths in kinds.items() if paths
    )
    if any(kinds.values()):
        yield f"raw files: {(' · ' if is_named else ', ').join(told)}"
