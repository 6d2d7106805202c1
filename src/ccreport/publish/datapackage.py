"""`datapackage.json`: every table of a release with its columns, types, units, bounds, keys, bytes and hash.

Data Package 2.0, https://datapackage.org/standard/data-package/ and https://datapackage.org/standard/table-schema/. The
standard has no property for units: a field has `unit` as an own one, as UCUM or plain words, and `source` and
`reference` beside it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ccreport.core.tables import Column, TableSchema, load_schema
from ccreport.publish import PACKAGE, WHOLE
from ccreport.publish.declaration import Release
from ccreport.publish.keys import TYPED_TABLES, list_foreign_keys
from ccreport.storage.sums import hash_file

PROFILES: Final = "https://datapackage.org/profiles/2.0"
FIELD_TYPES: Final = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "timestamp": {"type": "datetime"},
    "map": {"type": "array"},
}
# 2026-11-20T22:10:00.000000+0000, as polars writes it
CSV_TIME: Final = "%Y-%m-%dT%H:%M:%S.%f%z"
FORMATS: Final = {"parquet": "application/vnd.apache.parquet", "csv": "text/csv"}
COMPARED: Final = ("reproduction", "claims")


def write_package(release: Path, declared: Release, evaluations: dict[str, dict[str, Any]]) -> None:
    """Write the descriptor of a release's tables; `evaluations` are the declarations by name."""
    package = {
        "$schema": f"{PROFILES}/datapackage.json",
        "name": f"ccreport-{next(iter(evaluations))}".lower(),
        **({"id": f"https://doi.org/{declared.doi}"} if declared.doi else {}),
        "title": declared.title,
        "description": declared.description,
        "version": declared.version,
        "created": f"{declared.moment:%Y-%m-%dT%H:%M:%SZ}",
        "contributors": [{"title": creator.name, "roles": ["creator"]} for creator in declared.creators],
        "licenses": [describe_license(declared.license)],
        "resources": list(_list_resources(release, evaluations)),
    }
    (release / PACKAGE).write_text(json.dumps(package, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def describe_license(license_id: str) -> dict[str, str]:
    """Return a licence by its SPDX identifier, and where its text is."""
    return {"name": license_id, "path": f"https://spdx.org/licenses/{license_id}.html"}


def _list_resources(release: Path, evaluations: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for table in TYPED_TABLES:
        yield _describe_table(release, table, table, f"tables/{table}/{WHOLE}.parquet", is_typed=True)
    for name, declared in evaluations.items():
        places = {table: f"evaluations/{name}/tables/{table}" for table in declared["tables"]}
        places |= {table: f"evaluations/{name}/{table}" for table in COMPARED}
        for table, place in places.items():
            for kind in FORMATS:
                resource = f"{name}.{table}".lower() + (".parquet" if kind == "parquet" else "")
                yield _describe_table(release, table, resource, f"{place}.{kind}", is_typed=False)


def _describe_table(release: Path, table: str, name: str, place: str, *, is_typed: bool) -> dict[str, Any]:
    schema = load_schema(table)
    kind = place.rpartition(".")[2]
    return {
        "name": name,
        "path": place,
        "type": "table",
        "title": schema.grain,
        "description": schema.description,
        "format": kind,
        "mediatype": FORMATS[kind],
        **({"encoding": "utf-8"} if kind == "csv" else {}),
        "bytes": (release / place).stat().st_size,
        "hash": f"sha256:{hash_file(release / place)}",
        "schema": describe_schema(schema, kind, list_foreign_keys(table) if is_typed else []),
    }


def describe_schema(schema: TableSchema, kind: str, foreign_keys: list[tuple[tuple[str, ...], str]]) -> dict[str, Any]:
    """Return a table's schema for a file of a kind (`parquet`, `csv`), with keys as `list_foreign_keys` has them."""
    keys = [
        {"fields": list(columns), "reference": {"resource": other, "fields": list(columns)}}
        for columns, other in foreign_keys
    ]
    return {
        "$schema": f"{PROFILES}/tableschema.json",
        "fields": [_describe_field(column, kind) for column in schema.columns],
        "missingValues": [""],
        "primaryKey": list(schema.key),
        **({"foreignKeys": keys} if keys else {}),
    }


def _describe_field(column: Column, kind: str) -> dict[str, Any]:
    bounds = {"minimum": column.min, "maximum": column.max, "enum": list(column.enum) if column.enum else None}
    # An integer's bound as a number with a fraction is none of its type.
    whole = {
        key: int(bound) if column.type == "int" and isinstance(bound, float) else bound for key, bound in bounds.items()
    }
    constraints = {"required": True if not column.nullable and column.type != "map" else None, **whole}
    stated = {key: fact for key, fact in constraints.items() if fact is not None}
    is_text_time = column.type == "timestamp" and kind == "csv"
    return {
        "name": column.name,
        **FIELD_TYPES[column.type],
        **({"format": CSV_TIME} if is_text_time else {}),
        **column.metadata,
        **({"constraints": stated} if stated else {}),
    }
