"""Which rule made what from what: Snakemake's own records of the files that a release was copied from.

Snakemake keeps a JSON record of each output below `.snakemake/metadata`, in a file that is named by the output's
path in URL-safe base64, in parts with `@` before all but the last where the name is too long for a file system. Of a
build whose records are elsewhere (a database, another machine) nothing is known here, and the release says only what it
holds.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from ccreport.core.evaluation import name_rule

RECORDS: Final = Path(".snakemake/metadata")
# Whoever waits for it reads the tables whose rows it counts.
LEDGER: Final = "tables/raw_files/archive.parquet"


@dataclass
class Action:
    """What one rule did for one evaluation, or for all (`evaluation` is empty): paths as the release has them."""

    rule: str
    evaluation: str
    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)


def list_actions(records: Path, results: Path, evaluations: list[str], raw: list[str]) -> list[Action]:
    """Return the actions that made the results of a build, sorted by rule; inputs and outputs only as far as released.

    `raw` has the names of the raw archive's files in the release, if it is there.
    """
    actions: dict[tuple[str, str], Action] = {}
    for output, rule, inputs in _read_records(records):
        released = place_result(output, results, evaluations)
        if released is None:
            continue
        parts = PurePosixPath(released).parts
        evaluation = parts[1] if parts[0] == "evaluations" else ""
        command = rule.removesuffix(name_rule("", evaluation)) if evaluation else rule
        action = actions.setdefault((command, evaluation), Action(command, evaluation))
        action.outputs.add(released)
        places = {_place_input(path, results, evaluations, raw) for path in inputs}
        action.inputs |= {place for place in places if place is not None}
    tables = {place for action in actions.values() for place in action.outputs if place.startswith("tables/")}
    for action in actions.values():
        if LEDGER in action.inputs:
            action.inputs |= tables
    return [actions[key] for key in sorted(actions)]


def _read_records(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (output, rule, inputs) of each record, sorted by output."""
    found = []
    for path in folder.rglob("*"):
        name = "".join(part.removeprefix("@") for part in path.relative_to(folder).parts)
        try:
            output = base64.urlsafe_b64decode(name).decode()
            record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        except (binascii.Error, ValueError):
            continue
        if record.get("rule") and Path(output).exists():
            found.append((output, str(record["rule"]), [str(path) for path in record.get("input") or ()]))
    yield from sorted(found)


def place_result(path: str, results: Path, evaluations: list[str]) -> str | None:
    """Return where a file or folder of the results is in a release, None if it is not part of it."""
    try:
        parts = Path(path).relative_to(results).parts
    except ValueError:
        return None
    if parts[0] == "tables" and len(parts) == 3:
        return f"tables/{parts[1]}/archive.parquet"
    if parts[0] in evaluations and len(parts) > 1:
        return _place_own("/".join(parts[1:]), f"evaluations/{parts[0]}")
    return {"report/index.html": "site/", "archive.json": "raw/archive.json"}.get("/".join(parts))


def _place_own(name: str, folder: str) -> str | None:
    if name == "figures":
        return f"{folder}/figures/"
    if name == "archive.duckdb":
        return f"{folder}/views.sql"
    if name.startswith("summaries/"):
        return f"{folder}/tables/"
    is_released = name.split(".", maxsplit=1)[0] in ("report", "supplement", "reproduction", "claims")
    return f"{folder}/{name}" if is_released else None


def _place_input(path: str, results: Path, evaluations: list[str], raw: list[str]) -> str | None:
    if (place := place_result(path, results, evaluations)) is not None:
        return place
    if Path(path).is_relative_to(results):
        # Manifests list the raw files; whatever else is between is made and used up within the build.
        return "raw/SHA256SUMS" if Path(path).is_relative_to(results / "manifests") else None
    is_code = path.startswith(("src/ccreport/", "schemas/", "reports/", "rules/"))
    if is_code:
        return f"code/{path}"
    if Path(path).suffix == ".yaml" and Path(path).stem in evaluations:
        return f"evaluations/{Path(path).stem}/{Path(path).stem}.yaml"
    return next((f"raw/{name}" for name in raw if Path(path).name == Path(name).name), None)


def shorten(paths: Iterable[str]) -> list[str]:
    """Return paths sorted, all of the code as one folder: which modules a rule runs is read from their imports."""
    return sorted({"code/" if path.startswith("code/") else path for path in paths})
