"""What the metadata of a job say that names of its files are read with: where it went, what it swept and had set."""

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ccreport.archive.harness_layout import HOST_META_ENDING, Suffix
from ccreport.archive.parameters import join_parameters
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.archive.rpc_clients import PARAMETER, name_rpcs
from ccreport.core.text import display_name


@dataclass
class JobNames:
    """What the metadata of one job say that its file names are read with; `settings` hold for all runs of the job."""

    destinations: set[str] = field(default_factory=set)
    parameter: str | None = None
    has_limits: bool = False
    settings: dict[str, str] = field(default_factory=dict)

    def complete(self, suffix: Suffix) -> Suffix:
        """Return what a name says together with the job's settings, which are parameters as a swept one is."""
        named = {suffix.parameter_name: suffix.parameter_value or ""} if suffix.parameter_name else {}
        names, values = join_parameters(named | self.settings)
        return replace(suffix, parameter_name=names, parameter_value=values)


def read_job(entries: Iterable[os.DirEntry[str]]) -> JobNames:
    """Return what a job's metadata says about its file names; what cannot be read is `ingest_metadata`'s to reject."""
    job = JobNames()
    for entry in entries:
        if entry.name.endswith(HOST_META_ENDING):
            job.destinations.add(entry.name.removesuffix(HOST_META_ENDING))
        elif entry.name != "jobmeta.json":
            continue
        facts = _read_facts(Path(entry.path))
        hosts = facts.get("hosts")
        named = [facts, *(hosts if isinstance(hosts, list) else [])]
        for host in named:
            if isinstance(host, dict):
                names = [host.get(key) for key in ("alias", "dst")] + [
                    host.get("hostname") if host is not facts else None
                ]
                job.destinations.update(name for name in names if isinstance(name, str) and name)
        if isinstance(facts.get("param_name"), str):
            job.parameter = facts["param_name"]
        if isinstance(facts.get("settings"), dict):
            job.settings = {display_name(name): display_name(str(value)) for name, value in facts["settings"].items()}
        if rpcs := name_rpcs(facts.get("clients")):
            job.settings.setdefault(PARAMETER, display_name(rpcs))
        job.has_limits = job.has_limits or bool(facts.get("limit_sweep") or facts.get("limit_val_list"))
    return job


def _read_facts(path: Path) -> dict[str, Any]:
    with contextlib.suppress(RawFileError, ValueError, RecursionError):
        facts = json.loads(read_whole(path, limit_bytes=2**20))
        if isinstance(facts, dict):
            return facts
    return {}
