"""The runs of a folder as a build would list them: of each, what its name says and what its files do."""

import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ccreport.adopt.contents import Content, Ends, Way
from ccreport.archive.direction import BOTH, FORWARD, PARAMETER, REVERSE
from ccreport.archive.layout import Layout
from ccreport.archive.layout_groups import format_value, sort_naturally
from ccreport.archive.manifest import Manifest, ManifestRun, make_manifest
from ccreport.archive.parameters import split_parameters
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.core.text import display_name
from ccreport.ingest.harness.jobmeta import read_jobmeta
from ccreport.ingest.harness.metadata import read_json_object
from ccreport.ingest.rejects import Rejects
from ccreport.inventory.experiment_listing import list_folder
from ccreport.inventory.index import FolderIndex
from ccreport.inventory.inventory import group_files

# Columns of `experiments` that are conditions, too.
OF_JOBS: Final = ("bottleneck_bps", "buffer_bytes", "limit_packets_count", "pacing_bps", "kernel", "queue_discipline")
FILES: Final = {"src-cmd": "iperf3", "dst-cmd": "server", "pre-netem": "netem"}


@dataclass
class Row:
    """One run: what its name says, and what its files do."""

    run: ManifestRun
    algorithms: set[str] = field(default_factory=set)
    # Of each file, the algorithm that its name or a table says.
    named_files: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    flows_count: int = 0
    start_s: float | None = None
    end_s: float | None = None
    # How long the longest of its tests was to take.
    asked_s: float = 0
    # Of each result, what its command was told: a rate for each flow, and a volume.
    paced_bps: list[float | None] = field(default_factory=list)
    volumes_bytes: list[float | None] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    connections: set[Ends] = field(default_factory=set)
    sampled: set[Ends] = field(default_factory=set)
    problems: list[tuple[str, str]] = field(default_factory=list)
    times: list[tuple[float, float]] = field(default_factory=list)
    # Of results, and of each sampled connection.
    result_rtts_ms: list[float] = field(default_factory=list)
    sampled_rtts_ms: dict[Ends, float] = field(default_factory=dict)
    loss_pct: float | None = None
    delay_ms: float | None = None
    # Conditions that recorded qdiscs tell.
    recorded: dict[str, float] = field(default_factory=dict)
    # What the job's jobmeta.json says, as the table `experiments` has it.
    job: Mapping[str, Any] = field(default_factory=dict)
    # Of each result, by its path.
    ways: dict[str, Mapping[bool, Way]] = field(default_factory=dict)

    @property
    def longest_gap_s(self) -> float:
        """Return the longest time between results of the run in which none of them measured, in s."""
        times = sorted(self.times)
        ends = itertools.accumulate((end_s for _, end_s in times), max)
        return max((start_s - end_s for (start_s, _), end_s in zip(times[1:], ends, strict=False)), default=0.0)

    @property
    def received_bps(self) -> float:
        """Return what was received per second, in the direction with more, or less where results did not overlap."""
        rates = [0.0]
        for is_reverse in (False, True):
            own = [way for ways in self.ways.values() if (way := ways.get(is_reverse)) is not None and way.received_s]
            rate_bps = sum(way.received_bytes * 8 / way.received_s for way in own)
            if len(own) > 1 and self.start_s is not None and self.end_s is not None:
                size_bits = sum(way.received_bytes * 8 for way in own)
                rate_bps = min(rate_bps, size_bits / max(self.end_s - self.start_s, 1))
            rates.append(rate_bps)
        return max(rates)

    def add(self, kind: str, content: Content, cc: str | None) -> None:
        """Take over what one file says."""
        self.kinds[kind] += 1
        if cc is not None:
            self.named_files.append((cc, frozenset(content.algorithms if kind == "src-cmd" else ())))
        if content.min_rtt_ms is not None and kind == "src-cmd":
            self.result_rtts_ms.append(content.min_rtt_ms)
        if kind == "pre-netem":
            self.loss_pct, self.delay_ms = content.loss_pct, content.delay_ms
            told = (content.rate_bps, content.buffer_bytes, content.buffer_packets)
            names = ("bottleneck_bps", "buffer_bytes", "limit_packets_count")
            self.recorded = {name: value for name, value in zip(names, told, strict=True) if value is not None}
        if kind == "ss":
            self.sampled |= content.ends
            self.sampled_rtts_ms |= content.min_rtts_ms
        if kind != "src-cmd":
            return
        self.connections |= content.ends
        self.algorithms.update(content.algorithms)
        self.flows_count += content.flows_count or 0
        self.asked_s = max(self.asked_s, content.asked_s or 0)
        self.paced_bps.append(content.pacing_bps)
        self.volumes_bytes.append(content.volume_bytes)
        if content.start_s is not None and content.end_s is not None:
            self.times.append((content.start_s, content.end_s))
        times = [time_s for time_s in (self.start_s, content.start_s) if time_s is not None]
        ends = [time_s for time_s in (self.end_s, content.end_s) if time_s is not None]
        self.start_s, self.end_s = min(times, default=None), max(ends, default=None)

    @property
    def min_rtt_ms(self) -> float | None:
        """Return the smallest RTT of the run's own connections, as a build has it: by their samples, else by results.

        Samples may be of other sockets, too. Of data that only come back there is none, as their sender is another.
        """
        if self.direction == REVERSE:
            return None
        own = [rtt_ms for ends, rtt_ms in self.sampled_rtts_ms.items() if ends in self.connections]
        return min(own or self.result_rtts_ms or self.sampled_rtts_ms.values(), default=None)

    @property
    def declared_rtt_ms(self) -> float | None:
        """Return the RTT that a name or a table declares, else jobmeta.json."""
        named_ms = self.run.rtt_nominal_ms
        return named_ms if named_ms is not None else self.job.get("rtt_nominal_ms")

    def read_rate(self, group: str) -> float:
        """Return a rate that a name or a table declares, else jobmeta.json, in bit/s; 0 where none does."""
        return float((self.run.conditions or {}).get(group) or self.job.get(group) or 0)

    @property
    def named(self) -> set[str]:
        """Return the algorithms that names or tables say."""
        return {name for name, _ in self.named_files}

    @property
    def said(self) -> list[tuple[str, frozenset[str]]]:
        """Return the algorithms that names or tables say of files, with those of their results, else of the run."""
        return [(name, algorithms or frozenset(self.algorithms)) for name, algorithms in self.named_files]

    @property
    def named_loss_pct(self) -> float | None:
        """Return the loss that names or tables say, in per cent."""
        named = (self.run.conditions or {}).get("loss_pct")
        return float(named) if named is not None else None

    @property
    def parameters(self) -> dict[str, str]:
        """Return the values of the swept parameters."""
        return split_parameters(self.run.parameter_name, self.run.parameter_value)

    @property
    def direction(self) -> str:
        """Return the direction of the data of all results together."""
        told = {is_reverse for ways in self.ways.values() for is_reverse in ways}
        return BOTH if len(told) > 1 else REVERSE if told == {True} else FORWARD

    @property
    def commanded(self) -> dict[str, float]:
        """Return the conditions that commands of results were told: a rate that all have, and the sum of volumes."""
        paced, volumes = (list(filter(None, values)) for values in (self.paced_bps, self.volumes_bytes))
        told = {"pacing_bps": paced[0]} if len({*self.paced_bps}) == 1 and paced else {}
        return told | ({"volume_bytes": sum(volumes)} if volumes and len(volumes) == len(self.volumes_bytes) else {})

    @property
    def condition(self) -> dict[str, object]:
        """Return what tells the condition of the run from those of others."""
        run = self.run
        told = {"cc": frozenset(self.algorithms or self.named), "flows": self.flows_count, "host": run.host}
        nominal = {"way": self.direction, "rtt_ms": run.rtt_nominal_ms, "limit": run.limit}
        # A test of a volume takes as long as it takes.
        lasting = {} if "volume_bytes" in self.commanded else {"asked_s": round(self.asked_s)}
        return told | nominal | lasting | self.commanded | (run.conditions or {}) | self.parameters

    def format(self) -> tuple[str, ...]:
        """Return the cells of the table; what nothing says is a dash."""
        run, conditions = self.run, self.run.conditions or {}
        told = {name: self.job[name] for name in OF_JOBS if self.job.get(name) is not None}
        way = {PARAMETER: self.direction} if self.direction != FORWARD else {}
        limit = {} if run.limit is None else {"limit_packets_count": run.limit}
        others = way | self.recorded | self.commanded | told | conditions | limit | self.parameters
        start = datetime.fromtimestamp(self.start_s, UTC).strftime("%Y-%m-%d %H:%M:%S") if self.start_s else "–"
        kinds = sorted((kind != "src-cmd", FILES.get(kind, kind), count) for kind, count in self.kinds.items())
        # As a build decides: recorded qdiscs before names before the job, and a measured RTT where none is declared.
        job_loss_pct = 0.0 if self.job.get("has_netem") else None
        losses = (self.loss_pct, conditions.get("loss_pct"), self.job.get("loss_pct"), job_loss_pct)
        loss_pct = next((loss for loss in losses if loss is not None), None)
        rtt_ms, measured_ms = self.declared_rtt_ms, self.min_rtt_ms
        measured = f"{measured_ms:.3g} measured" if measured_ms is not None else "–"
        files = [f"{kind}{f' × {count}' if count > 1 else ''}" for _, kind, count in kinds]
        return (
            run.suffix,
            ", ".join(sorted(self.algorithms or self.named)) or "–",
            str(self.flows_count or "–"),
            format_value(rtt_ms) if rtt_ms is not None else measured,
            format_value(loss_pct) if loss_pct is not None else "–",
            ", ".join(f"{name}={format_value(value)}" for name, value in others.items() if name != "loss_pct") or "–",
            start,
            self._format_duration(),
            ", ".join(files),
        )

    def _format_duration(self) -> str:
        """Return how long the run took, of how long it was to take where it broke off."""
        if self.start_s is None or self.end_s is None:
            return "–"
        lasted, asked = (f"{duration_s:.0f}" for duration_s in (self.end_s - self.start_s, self.asked_s))
        return lasted if float(lasted) >= float(asked) else f"{lasted} of {asked}"


def list_manifests(folder: Path, layout: Layout | None) -> list[Manifest]:
    """Return the experiments of a folder as a build would list them."""
    now_ns = time.time_ns()
    grouped = group_files(folder, layout)
    listed = [
        list_folder(place, files, FolderIndex({}, "", now_ns), has_layout=layout is not None)
        for place, files in grouped.items()
    ]
    return [make_manifest(json.loads(files.manifest)) for files in listed]


def read_job(manifest: Manifest, folder: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return what the jobmeta.json of an experiment says, and of what cannot be used its path and why."""
    row, rejected = dict[str, Any](), Rejects()
    for file in manifest.files:
        if file.kind == "jobmeta" and file.action == "ingest":
            try:
                (row,) = read_jobmeta(file, read_json_object(read_whole(folder / file.path)), manifest, rejected)
            except RawFileError as error:
                rejected.add_error(file, error)
    return row, [(told["path"], told["message"]) for told in rejected.rows]


def list_rows(manifest: Manifest, folder: Path, read: Callable[[Path], Content]) -> Iterable[Row]:
    """Return the runs of an experiment in the order in which people count; `read` returns what a file holds."""
    job, _ = read_job(manifest, folder)
    rows = {run.run_id: Row(run, job=job) for run in manifest.runs}
    for file in manifest.files:
        if file.run_id in rows and file.action != "rejected":
            content = read(folder / file.path)
            rows[file.run_id].add(file.kind, content, file.cc)
            rows[file.run_id].paths.append(display_name(file.path))
            if file.kind == "src-cmd":
                rows[file.run_id].ways[file.path] = content.ways
            if content.problem is not None and file.action == "ingest":
                rows[file.run_id].problems.append((display_name(file.path), content.problem))
    joined: list[tuple[str, str]] = []
    # Samples under any name are of the test in the same folder that has their connections.
    for file in manifest.files:
        if file.kind == "ss" and file.run_id is None and file.action == "ingest":
            content = read(folder / file.path)
            for other in manifest.files:
                is_test = other.kind == "src-cmd" and other.run_id in rows
                if is_test and other.run_id is not None and content.ends & read(folder / other.path).ends:
                    rows[other.run_id].add("ss", content, None)
                    if content.problem is not None and not any(file.path == path for path, _ in joined):
                        joined.append((file.path, content.problem))
                        rows[other.run_id].problems.append((display_name(file.path), content.problem))
    order = {name: number for number, name in enumerate(sort_naturally({row.run.suffix for row in rows.values()}))}
    return sorted(rows.values(), key=lambda row: order[row.run.suffix])
