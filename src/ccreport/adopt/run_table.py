"""The runs that a layout makes of a folder, as a table, with what is missing of them and how to record it."""

import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ccreport.adopt.contents import Content, Ends
from ccreport.archive.layout import Layout
from ccreport.archive.layout_groups import format_value, sort_naturally
from ccreport.archive.manifest import Manifest, ManifestRun, make_manifest
from ccreport.core.text import count_things, display_name
from ccreport.inventory.experiment_listing import list_folder
from ccreport.inventory.index import FolderIndex
from ccreport.inventory.inventory import group_files
from ccreport.inventory.kinds import IGNORE_RULES, LAYOUT_RULE, MEASUREMENT_RULE

# Kinds of files that say more of a run: what is not known without them, and how they are recorded beside a test.
WANTED: Final = {
    "ss": (
        "retransmits and RTTs of each flow, congestion windows",
        'while :; do echo "# $(date +%s.%N)"; ss -tinm; sleep 0.5; done > NAME_ss.txt',
    ),
    "mpstat": ("whether a processor was the limit", "mpstat -P ALL -o JSON 1 > NAME_mpstat.json"),
    "tcpdump": (
        "completion times, and which segments were retransmitted",
        "tcpdump -i INTERFACE -s 128 -w NAME.pcap tcp{ports}",
    ),
}
FILES: Final = {"src-cmd": "iperf3", "dst-cmd": "server", "pre-netem": "netem"}
HEADER: Final = ("run", "algorithm", "flows", "RTT ms", "loss %", "other", "start (UTC)", "s", "files")
# Measured RTTs over declared ones that are delays in one direction: 2, less what rounds a name, more what queues add.
ONE_WAY: Final = (1.7, 2.5)
UNREAD_RULES: Final = ("unknown_files_not_read", MEASUREMENT_RULE)
# iperf3 says its start in whole seconds, and clients of one run may begin one after another.
GAP_S: Final = 10.0
# What overlaps by less may follow one another.
CLOCK_S: Final = 1.0
# Each line of messages about single files ends a list of so many.
SHOWN: Final = 10


@dataclass
class Row:
    """One run: what its name says, and what its files do."""

    run: ManifestRun
    algorithms: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    flows_count: int = 0
    start_s: float | None = None
    end_s: float | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    connections: set[Ends] = field(default_factory=set)
    sampled: set[Ends] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    times: list[tuple[float, float]] = field(default_factory=list)
    min_rtts_ms: list[float] = field(default_factory=list)

    @property
    def longest_gap_s(self) -> float:
        """Return the longest time between results of the run in which none of them measured, in s."""
        times = sorted(self.times)
        ends = itertools.accumulate((end_s for _, end_s in times), max)
        return max((start_s - end_s for (start_s, _), end_s in zip(times[1:], ends, strict=False)), default=0.0)

    def add(self, kind: str, content: Content, cc: str | None) -> None:
        """Take over what one file says."""
        self.kinds[kind] += 1
        if cc is not None:
            self.named.add(cc)
        if content.min_rtt_ms is not None:
            self.min_rtts_ms.append(content.min_rtt_ms)
        if kind == "ss":
            self.sampled |= content.ends
        if kind != "src-cmd":
            return
        self.connections |= content.ends
        self.algorithms.update(content.algorithms)
        self.flows_count += content.flows_count or 0
        if content.start_s is not None and content.end_s is not None:
            self.times.append((content.start_s, content.end_s))
        times = [time_s for time_s in (self.start_s, content.start_s) if time_s is not None]
        ends = [time_s for time_s in (self.end_s, content.end_s) if time_s is not None]
        self.start_s, self.end_s = min(times, default=None), max(ends, default=None)

    def format(self) -> tuple[str, ...]:
        """Return the cells of the table; what nothing says is a dash."""
        run, conditions = self.run, self.run.conditions or {}
        others = {name: value for name, value in conditions.items() if name != "loss_pct"}
        if run.parameter_name is not None:
            others |= dict(zip(run.parameter_name.split(", "), (run.parameter_value or "").split(", "), strict=False))
        start = datetime.fromtimestamp(self.start_s, UTC).strftime("%Y-%m-%d %H:%M:%S") if self.start_s else "–"
        lasted = f"{self.end_s - self.start_s:.0f}" if self.start_s is not None and self.end_s is not None else "–"
        kinds = sorted((kind != "src-cmd", FILES.get(kind, kind), count) for kind, count in self.kinds.items())
        files = [f"{kind}{f' × {count}' if count > 1 else ''}" for _, kind, count in kinds]
        return (
            run.suffix,
            ", ".join(sorted(self.algorithms or self.named)) or "–",
            str(self.flows_count or "–"),
            format_value(run.rtt_nominal_ms) if run.rtt_nominal_ms is not None else "–",
            format_value(conditions["loss_pct"]) if "loss_pct" in conditions else "–",
            ", ".join(f"{name}={format_value(value)}" for name, value in others.items()) or "–",
            start,
            lasted,
            ", ".join(files),
        )


def describe_runs(folder: Path, layout: Layout | None, read: Callable[[Path], Content]) -> list[str]:
    """Return the lines that `adopt --check` prints of a folder with a layout; `read` returns what a file holds."""
    manifests = list_manifests(folder, layout)
    rows = [row for manifest in manifests for row in _list_rows(manifest, folder, read)]
    lines = _format_table([HEADER, *(row.format() for row in rows)]) if rows else [_explain_nothing(manifests)]
    paths = [file.path for manifest in manifests for file in manifest.files]
    unused = layout.list_unused(paths) if layout is not None else []
    unused_lines = _list("Of the layout, this is about no file here:", unused)
    about_files = [*_describe_wrong(manifests, rows), *_describe_ignored(manifests), *unused_lines]
    return [*lines, "", *about_files, *_doubt_delays(rows), *_describe_missing(rows, manifests)]


def _explain_nothing(manifests: Iterable[Manifest]) -> str:
    """Return that no file is a run, and why where there are results of receivers."""
    rules = [file.rule for manifest in manifests for file in manifest.files]
    count = rules.count(IGNORE_RULES["dst-cmd"])
    if not count:
        return "No file here is a run."
    return (
        f"No file here is a run: {count_things(count, 'result')} of the receiving side (iperf3 -s). A run is known by "
        "its sender's result, which has the retransmits; record it with iperf3 -c HOST -J, and put it beside."
    )


def list_manifests(folder: Path, layout: Layout | None) -> list[Manifest]:
    """Return the experiments of a folder as a build would list them."""
    now_ns = time.time_ns()
    grouped = group_files(folder, layout)
    listed = [list_folder(place, files, FolderIndex({}, "", now_ns)) for place, files in grouped.items()]
    return [make_manifest(json.loads(files.manifest)) for files in listed]


def _list_rows(manifest: Manifest, folder: Path, read: Callable[[Path], Content]) -> Iterable[Row]:
    rows = {run.run_id: Row(run) for run in manifest.runs}
    for file in manifest.files:
        if file.run_id in rows and file.action != "rejected":
            content = read(folder / file.path)
            rows[file.run_id].add(file.kind, content, file.cc)
            if content.problem is not None:
                rows[file.run_id].problems.append(f"{display_name(file.path)}: {content.problem}")
    # Samples under any name are of the test in the same folder that has their connections.
    for file in manifest.files:
        if file.kind == "ss" and file.run_id is None and file.action == "ingest":
            ends = read(folder / file.path).ends
            for other in manifest.files:
                is_test = other.kind == "src-cmd" and other.run_id in rows
                if is_test and other.run_id is not None and ends & read(folder / other.path).ends:
                    rows[other.run_id].kinds["ss"] += 1
    order = {name: number for number, name in enumerate(sort_naturally({row.run.suffix for row in rows.values()}))}
    return sorted(rows.values(), key=lambda row: order[row.run.suffix])


def _format_table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _describe_wrong(manifests: Iterable[Manifest], rows: Sequence[Row]) -> Iterator[str]:
    """Yield what is wrong with single files, and where a name and a result contradict each other."""
    files = [file for manifest in manifests for file in manifest.files]
    rejected = [f"{display_name(file.path)}: {file.message}" for file in files if file.action == "rejected"]
    yield from _list("Not used:", rejected)
    yield from _list("Not read, or not as a whole:", [problem for row in rows for problem in row.problems])
    unread = [display_name(file.path) for file in files if file.rule in UNREAD_RULES]
    yield from _list("Not read, as nothing says what they are (`kind` in the layout does):", unread)
    yield from _describe_together(rows)
    first_of: dict[object, Row] = {}
    for row in rows:
        first = first_of.setdefault((row.start_s, frozenset(row.connections)), row)
        if first is not row and row.start_s is not None and row.connections:
            yield (
                f"{row.run.suffix}: the same test as {first.run.suffix}, by its start and its connections; "
                "delete one of the two; until then one of them is suspect, and in no mean."
            )
        known = {algorithm.lower() for algorithm in row.algorithms}
        strange = sorted(name for name in row.named if name.lower() not in known)
        if row.named and row.algorithms and strange:
            told = ", ".join(sorted(row.algorithms))
            yield f"{row.run.suffix}: its name says {', '.join(strange)}, its results say {told}, which counts."
        if row.longest_gap_s > GAP_S:
            yield (
                f"{row.run.suffix}: its results were measured one after another, {row.longest_gap_s:.0f} s apart; "
                "where they are repetitions, and not flows of one run, call what tells them apart `iteration`."
            )
        if row.sampled and row.connections and not row.sampled & row.connections:
            owners = [other.run.suffix for other in rows if other.connections & row.sampled]
            whose = f"those of {', '.join(owners[:3])}" if owners else "those of no test here"
            yield f"{row.run.suffix}: its ss samples show none of its connections, but {whose}; correct the layout."


def _describe_ignored(manifests: Iterable[Manifest]) -> Iterator[str]:
    """Yield how many files each pattern of the layout ignores."""
    rules = [file.rule for manifest in manifests for file in manifest.files if file.rule is not None]
    counted = Counter(rule.removeprefix(LAYOUT_RULE) for rule in rules if rule.startswith(LAYOUT_RULE))
    lines = [f"{pattern}: {count_things(count, 'file')}" for pattern, count in sorted(counted.items())]
    yield from _list("Ignored, by pattern of the layout:", lines)


def _doubt_delays(rows: Iterable[Row]) -> Iterator[str]:
    """Yield that declared RTTs may be delays in one direction, where all that were measured are about twice as long."""
    pairs = [(row.run.rtt_nominal_ms, min(row.min_rtts_ms)) for row in rows if row.min_rtts_ms]
    known = sorted((declared, measured) for declared, measured in pairs if declared)
    if known and all(ONE_WAY[0] <= measured / declared <= ONE_WAY[1] for declared, measured in known):
        declared, measured = known[0]
        yield (
            f"Names say {declared:g} ms, files measured {measured:.3g} ms: one-way delays? Then write "
            "`scale: {rtt_ms: 2}` below each pattern of the layout that has `rtt_ms`."
        )


def _describe_together(rows: Sequence[Row]) -> Iterator[str]:
    """Yield which runs were measured at the same time between the same hosts, so that they shared the path."""
    by_hosts: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        if row.start_s is not None and row.end_s is not None and row.connections:
            by_hosts[frozenset((local, remote) for local, _, remote, _ in row.connections)].append(row)
    pairs: list[str] = []
    for own in by_hosts.values():
        ordered = sorted(own, key=lambda row: (row.start_s or 0, row.run.suffix))
        for former, row in itertools.pairwise(ordered):
            shared_s = min(former.end_s or 0, row.end_s or 0) - (row.start_s or 0)
            if shared_s >= CLOCK_S and not former.connections & row.connections:
                pairs.append(f"{former.run.suffix} and {row.run.suffix}: {shared_s:.0f} s")
    yield from _list(
        "Measured at the same time between the same hosts; where they are flows of one run, call what tells them apart "
        "`flow`:",
        pairs,
    )


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"  {line}" for line in lines[:SHOWN])
        if len(lines) > SHOWN:
            yield f"  and {len(lines) - SHOWN} more"


def _describe_missing(rows: Sequence[Row], manifests: Iterable[Manifest]) -> Iterator[str]:
    """Yield what runs lack, what is not known without it, and how it is recorded or said."""
    for kind, (unknown, command) in WANTED.items():
        if lacking := [row for row in rows if not row.kinds[kind]]:
            yield f"{_count(lacking, rows)} no {kind} ({unknown}). Beside the next test, run:"
            yield f"  {command.replace('{ports}', _name_ports(lacking))}"
    has_jobmeta = any(file.kind == "jobmeta" for manifest in manifests for file in manifest.files)
    if has_jobmeta:
        return
    if lacking := [row for row in rows if row.run.rtt_nominal_ms is None]:
        yield f"{_count(lacking, rows)} no declared RTT; the smallest that is measured counts. Declare it by `rtt_ms`."
    if lacking := [row for row in rows if not ("loss_pct" in (row.run.conditions or {}) or row.kinds["pre-netem"])]:
        yield f"{_count(lacking, rows)} no declared loss: nothing says which loss the path was set to."
        yield "Say it by a group or a column `loss_pct`, or record the path:"
        yield "  tc -s qdisc > NAME_netem.txt    (with `kind: netem` in the layout)"


def _name_ports(rows: Sequence[Row]) -> str:
    """Return the filter of a capture for the ports that results name, none where they are many, else iperf3's own."""
    ports = sorted({port for row in rows for _, _, _, port in row.connections} - {0}) or [5201]
    return " port " + " or port ".join(map(str, ports)) if len(ports) <= SHOWN else ""


def _count(lacking: Sequence[Row], rows: Sequence[Row]) -> str:
    if len(lacking) == len(rows):
        return {1: "The run has", 2: "Both runs have"}.get(len(rows), f"All {len(rows)} runs have")
    names = ", ".join(row.run.suffix for row in lacking[:3]) + (", …" if len(lacking) > 3 else "")
    return f"{len(lacking)} of {len(rows)} runs ({names}) {'has' if len(lacking) == 1 else 'have'}"
