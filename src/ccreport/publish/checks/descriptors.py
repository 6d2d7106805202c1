"""`datapackage.json` and `ro-crate-metadata.json` of a release against its files and its schemas."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ccreport.core.tables import load_schema
from ccreport.core.text import count_things
from ccreport.publish import CRATE, PACKAGE, SUMS, WHOLE
from ccreport.publish.checks import FAULTS, Check, describe_fault
from ccreport.publish.datapackage import COMPARED, describe_schema
from ccreport.publish.keys import list_foreign_keys
from ccreport.storage.sums import hash_sums

SCHEMAS: Final = "code/schemas"
KINDS: Final = ("parquet", "csv")


def name_table(path: str) -> str | None:
    """Return the table that a file of a release holds, by its path; None where it is not a file of a table."""
    place = PurePosixPath(path)
    match place.parts:
        case ("tables", table, file) if file == f"{WHOLE}.parquet":
            return table
        case ("evaluations", _, "tables", _) if place.suffix[1:] in KINDS:
            return place.stem
        case ("evaluations", _, _) if place.stem in COMPARED and place.suffix[1:] in KINDS:
            return place.stem
    return None


def check_package(release: Path, there: Mapping[str, str]) -> Check:
    """Compare the Data Package with the files (`there`: SHA-256 by path) and with the schemas of the release."""
    try:
        resources = json.loads((release / PACKAGE).read_bytes())["resources"]
        failures = [fault for resource in resources for fault in _check_resource(release, resource, there)]
        named = [resource["path"] for resource in resources]
    except FAULTS as error:
        return Check(PACKAGE, failures=(_blame(PACKAGE, error, release),))
    tables = {path for path in there if name_table(path)}
    failures += [f"{path}: no resource of {PACKAGE}" for path in sorted(tables - set(named))]
    failures += [f"{path}: a resource twice" for path in sorted({path for path in named if named.count(path) > 1})]
    return Check(PACKAGE, count_things(len(named), "table"), tuple(failures))


def _check_resource(release: Path, resource: Mapping[str, Any], there: Mapping[str, str]) -> Iterator[str]:
    path = resource["path"]
    table = name_table(path)
    if path not in there or table is None:
        yield f"{path}: a resource of {PACKAGE} that is not there, or no table"
        return
    if resource["bytes"] != (release / path).stat().st_size or resource["hash"] != f"sha256:{there[path]}":
        yield f"{path}: other bytes than {PACKAGE} says"
    schema = load_schema(table, release / SCHEMAS)
    keys = list_foreign_keys(table, release / SCHEMAS) if path.startswith("tables/") else []
    # As JSON, which has no tuples.
    if resource["schema"] != json.loads(json.dumps(describe_schema(schema, path.rpartition(".")[2], keys))):
        yield f"{path}: {PACKAGE} describes its columns otherwise than {SCHEMAS}/tables/{table}.yaml"


def _blame(name: str, error: Exception, release: Path) -> str:
    fault = describe_fault(error, release)
    return fault if fault.startswith(f"{name}:") else f"{name}: {fault}"


def check_crate(release: Path, there: Mapping[str, str]) -> Check:
    """Compare the RO-Crate metadata with the files: each described once, with its size and sum."""
    try:
        graph = {entity["@id"]: entity for entity in json.loads((release / CRATE).read_bytes())["@graph"]}
        parts = [part["@id"] for part in graph["./"]["hasPart"]]
        failures = [fault for part in parts for fault in _check_part(release, graph[part], there)]
        failures += [
            f"{CRATE}: {name} names {end['@id']}, which it does not describe"
            for name, entity in graph.items()
            for end in (*entity.get("object", ()), *entity.get("result", ()))
            if end["@id"] not in graph
        ]
    except FAULTS as error:
        return Check(CRATE, failures=(_blame(CRATE, error, release),))
    folders = tuple(part for part in parts if part.endswith("/"))
    undescribed = {path for path in there if not path.startswith(folders)} - {*parts, CRATE, SUMS}
    failures += [f"{path}: not described in {CRATE}" for path in sorted(undescribed)]
    return Check(CRATE, f"{len(parts)} files and folders", tuple(failures))


def _check_part(release: Path, part: Mapping[str, Any], there: Mapping[str, str]) -> Iterator[str]:
    name = part["@id"]
    if name.endswith("/"):
        inside = {path: sha256 for path, sha256 in there.items() if path.startswith(name)}
        if hash_sums(inside) != part["sha256"]:
            yield f"{name}: other files than {CRATE} says"
    elif name not in there:
        yield f"{name}: described in {CRATE} and not there"
    elif part["sha256"] != there[name] or part["contentSize"] != str((release / name).stat().st_size):
        yield f"{name}: other bytes than {CRATE} says"
