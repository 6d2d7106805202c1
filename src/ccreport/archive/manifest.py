"""Manifests: which raw files make up an experiment and its runs, as the inventory found them.

The manifests of a batch of experiments are in one JSON file.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RawFile:
    """One file of the archive as the inventory saw it; `action` is ingest, ignored or rejected."""

    raw_file_id: str
    path: str
    kind: str
    format: str | None
    size_bytes: int
    sha256: str
    action: str
    rule: str | None = None
    reason: str | None = None
    message: str | None = None
    run_id: str | None = None
    client_number: int | None = None
    side: str | None = None
    host: str | None = None
    cc: str | None = None


@dataclass(frozen=True)
class ManifestRun:
    """One run of an experiment and what the file-name suffix says about it (delays and limits as written there).

    `conditions` are columns of `runs` that a declared layout tells; None where the names are the harness's.
    """

    run_id: str
    suffix: str
    host: str | None
    iteration: int | None
    rtt_nominal_ms: float | None = None
    limit: int | None = None
    parameter_name: str | None = None
    parameter_value: str | None = None
    conditions: dict[str, str | int | float] | None = None


@dataclass(frozen=True)
class Manifest:
    """One experiment: a folder of the archive with its runs and files, sorted by path."""

    experiment_id: str
    session: str | None
    job: str | None
    runs: tuple[ManifestRun, ...]
    files: tuple[RawFile, ...]

    def files_for(self, rule: str) -> list[RawFile]:
        """Return the files that this ingest rule reads."""
        return [file for file in self.files if file.action == "ingest" and file.rule == rule]


def format_manifest(manifest: Manifest) -> str:
    """Return a manifest as JSON, in one line of ASCII."""
    return json.dumps(manifest, default=vars, sort_keys=True)


def write_formatted_manifests(manifests: Iterable[str], path: Path) -> None:
    """Write manifests of `format_manifest`."""
    path.write_text(f"[{', '.join(manifests)}]\n", encoding="ascii")


def write_manifests(manifests: Iterable[Manifest], path: Path) -> None:
    """Write manifests; the same ones give the same bytes."""
    write_formatted_manifests(map(format_manifest, manifests), path)


def read_manifest_facts(path: Path) -> list[dict[str, Any]]:
    """Return the manifests that `write_manifests` wrote as what JSON makes of them."""
    listed: list[dict[str, Any]] = json.loads(path.read_text(encoding="ascii"))
    return listed


def read_manifests(path: Path) -> list[Manifest]:
    """Return the manifests that `write_manifests` wrote."""
    return [make_manifest(facts) for facts in read_manifest_facts(path)]


def make_manifest(facts: dict[str, Any]) -> Manifest:
    """Return the manifest of what JSON made of `format_manifest`."""
    runs = tuple(ManifestRun(**run) for run in facts.pop("runs"))
    files = tuple(RawFile(**file) for file in facts.pop("files"))
    return Manifest(runs=runs, files=files, **facts)


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a file that has one."""
    (manifest,) = read_manifests(path)
    return manifest
