"""What runs lack, repetitions and comparisons among it, what is not known without it, how it is recorded or said."""

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ccreport.adopt.rows import Row
from ccreport.archive.layout import IGNORED, Layout
from ccreport.archive.layout_groups import OF_FILES, read_value, sort_naturally
from ccreport.archive.manifest import Manifest

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
# In names of parameters that may be the round-trip time, or the loss, of a path.
DELAYS: Final = frozenset({"delay", "owd", "oneway", "lat", "latency", "rtt", "ping"})
OF_DELAYS: Final = {"ms": "rtt_ms", "us": "rtt_us", "s": "rtt_s"}
ONE_WAY: Final = {unit: group.replace("rtt", "owd") for unit, group in OF_DELAYS.items()}
LOSSES: Final = frozenset({"loss", "losses", "lossrate", "drop", "drops", "droprate", "plr"})
OF_LOSSES: Final = {"pct": "loss_pct", "ratio": "loss_ratio"}
UNITS: Final = {
    **dict.fromkeys(("percent", "percentage", "prozent"), "pct"),
    **dict.fromkeys(("fraction", "prob", "probability"), "ratio"),
    "msec": "ms",
    "usec": "us",
    "sec": "s",
}
# What `adopt` calls numbers of which names say nothing.
BARE: Final = re.compile("number(?:_[0-9]+)?")
# Values of a group in a sentence.
SHOWN: Final = 10
# A filter of a capture names so many ports at most.
PORTS: Final = 10


def describe_missing(rows: Sequence[Row], manifests: Iterable[Manifest], layout: Layout | None) -> Iterator[str]:
    """Yield what runs lack, what is not known without it, and how it is recorded or said."""
    for kind, (unknown, command) in WANTED.items():
        if lacking := [row for row in rows if not row.kinds[kind]]:
            yield f"{_count(lacking, rows)} no {kind} ({unknown}). Beside the next test, run:"
            yield f"  {command.replace('{ports}', _name_ports(lacking))}"
    has_jobmeta = any(file.kind == "jobmeta" for manifest in manifests for file in manifest.files)
    if has_jobmeta:
        return
    if lacking := [row for row in rows if row.run.rtt_nominal_ms is None]:
        counts = "the smallest that was measured on a path counts"
        yield f"{_count(lacking, rows)} no declared RTT; {counts}. Declare it by `rtt_ms`."
        yield from _list_alike(lacking, layout, DELAYS, OF_DELAYS)
    if lacking := [row for row in rows if not ("loss_pct" in (row.run.conditions or {}) or row.kinds["pre-netem"])]:
        yield f"{_count(lacking, rows)} no declared loss: nothing says which loss the path was set to."
        yield from _list_alike(lacking, layout, LOSSES, OF_LOSSES)
        yield "Say it by a group or a column `loss_pct`, or record the path:"
        yield "  tc -s qdisc > NAME_netem.txt    (with `kind: netem` in the layout)"


def _list_alike(
    rows: Iterable[Row], layout: Layout | None, words: frozenset[str], groups: Mapping[str, str]
) -> Iterator[str]:
    """Yield of parameters with one of some words in their names what to call them; `groups` are by their unit."""
    columns = (
        {name for told in (layout.by_path, layout.by_run) for row in told.values() for name in row} if layout else {}
    )
    for name in sorted({name for row in rows for name in row.parameters}):
        group = _find_alike(name, words, groups)
        if group is None:
            continue
        one_way = find_one_way(name) if words is DELAYS else None
        also = f", or `{group.replace('rtt', 'owd')}` where it is one-way" if words is DELAYS and not one_way else ""
        word = "column" if name in columns else "group"
        yield f"Is it the {word} `{name}`? Then call that `{one_way or group}`{also}."


def _split_name(name: str) -> list[str]:
    return [part for part in re.split("[^a-z]+", name.lower().replace("%", "_pct")) if part]


def _find_alike(name: str, words: frozenset[str], groups: Mapping[str, str]) -> str | None:
    """Return what to call a parameter with one of some words in its name, by its unit, if it has one of these."""
    parts = _split_name(name)
    if not words.intersection(parts):
        return None
    return groups.get(UNITS.get(parts[-1], parts[-1]), next(iter(groups.values())))


def find_one_way(name: str) -> str | None:
    """Return the group for a column that is by its name of delays in one direction: owd_ms for one_way_delay_ms."""
    parts = _split_name(name)
    is_one_way = {"owd", "oneway"}.intersection(parts) or ("one", "way") in itertools.pairwise(parts)
    return _find_alike(name, DELAYS, ONE_WAY) if is_one_way else None


def find_loss(name: str) -> str | None:
    """Return the group for a column that is by its name of losses with their unit: loss_pct for `loss %`."""
    parts = _split_name(name)
    has_unit = bool(parts) and UNITS.get(parts[-1], parts[-1]) in OF_LOSSES
    return _find_alike(name, LOSSES, OF_LOSSES) if has_unit else None


def _name_ports(rows: Sequence[Row]) -> str:
    """Return the filter of a capture for the ports that results name, none where they are many, else iperf3's own."""
    ports = sorted({port for row in rows for _, _, _, port in row.connections} - {0}) or [5201]
    return " port " + " or port ".join(map(str, ports)) if len(ports) <= PORTS else ""


def _count(lacking: Sequence[Row], rows: Sequence[Row]) -> str:
    if len(lacking) == len(rows):
        return {1: "The run has", 2: "Both runs have"}.get(len(rows), f"All {len(rows)} runs have")
    # Names of runs may have commas themselves.
    names = "; ".join(row.run.suffix for row in lacking[:3]) + ("; …" if len(lacking) > 3 else "")
    return f"{len(lacking)} of {len(rows)} runs ({names}) {'has' if len(lacking) == 1 else 'have'}"


def describe_repetitions(
    rows: Sequence[Row], layout: Layout | None, list_runs: Callable[[Layout], list[Row]]
) -> Iterator[str]:
    """Yield that each condition has one run, and which parameters may count repetitions or only name runs.

    `list_runs` returns the runs of another layout, on which advice is tried.
    """
    conditions = [row.condition for row in rows]
    if len(rows) < 2 or len({frozenset(condition.items()) for condition in conditions}) < len(rows):
        return
    counted, named, naming = [], [], []
    for name in sorted({name for row in rows for name in row.parameters}):
        others = {frozenset(item for item in one.items() if item[0] != name) for one in conditions}
        texts = sort_naturally({row.parameters.get(name, "") for row in rows})
        words = {text.rstrip("0123456789") for text in texts}
        word = min(words) if len(words) == 1 else ""
        is_counted = _are_counted([text.removeprefix(word) for text in texts])
        listed = ", ".join(text or "none" for text in texts[:SHOWN]) + (", …" if len(texts) > SHOWN else "")
        asked = f"Is `{name}` ({listed}) a repetition? Then"
        if 2 * len(others) <= len(rows) and is_counted:
            counted.append(
                f"{asked} write `{word}(?P<iteration>[0-9]+)`." if word else f"{asked} name this group `iteration`."
            )
        elif 2 * len(others) <= len(rows) and name.startswith("variant"):
            advice = _name_repeated(name, rows, layout, list_runs) if layout is not None else None
            named += [f"{asked} {advice}."] if advice is not None else []
        elif name.startswith("variant") and len(others) < len(texts) == len(rows):
            naming.append(f"Is `{name}` ({listed}) only the name of each run? Then name this group `run`.")
    yield " ".join(
        ["Each condition has one run, so that nothing can be told from chance.", *(counted or named or naming)]
    )


def _name_repeated(
    name: str, rows: Sequence[Row], layout: Layout, list_runs: Callable[[Layout], list[Row]]
) -> str | None:
    """Return what to call a group of words that repetitions differ in, so that no file loses its run; None for nothing.

    Sockets that were sampled during tests of several sessions would be of none of these.
    """
    of_flows = {"cc"} if "flow" in layout.groups else set()
    usual = sorted(layout.groups - OF_FILES - {"session", "job", "run", name} - of_flows)
    others = [group for group in layout.runs_by or usual if group != name]
    advised = {"session": tuple(others) if layout.runs_by else (), "run": ("run", *others)}
    for group in (group for group in advised if group not in layout.groups):
        expressions = [own.expression.replace(f"(?P<{name}>", f"(?P<{group}>") for own in layout.patterns]
        patterns = [
            replace(own, expression=text) if own.kind != IGNORED else own
            for own, text in zip(layout.patterns, expressions, strict=True)
        ]
        groups = layout.groups - {name} | {group}
        runs = list_runs(replace(layout, patterns=tuple(patterns), groups=groups, runs_by=advised[group]))
        if sorted(_count_files(rows)) == sorted(_count_files(runs)):
            by = f", and add `runs_by: [{', '.join(advised[group])}]`" if advised[group] else ""
            return f"name this group `{group}`{by}"
    return None


def _count_files(rows: Iterable[Row]) -> Iterator[tuple[tuple[str, int], ...]]:
    for row in rows:
        yield tuple(sorted(row.kinds.items()))


def doubt_jobs(manifests: Iterable[Manifest], rows: Iterable[Row]) -> Iterator[str]:
    """Yield that folders may only count repetitions, where runs of different jobs differ in their iteration alone."""
    jobs = {run.run_id: manifest for manifest in manifests for run in manifest.runs}
    alike: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        alike[jobs[row.run.run_id].session, frozenset(row.condition.items())].append(row)
    repeated = [own for own in alike.values() if len(own) > 1]
    of_jobs = [{jobs[row.run.run_id].experiment_id for row in own} for own in repeated]
    are_counted = all(len({row.run.iteration for row in own} - {None}) == len(own) for own in repeated)
    if repeated and are_counted and all(len(ids) == len(own) for ids, own in zip(of_jobs, repeated, strict=True)):
        yield (
            f"Repetitions are in folders of their own, such as those of {repeated[0][0].run.suffix} and "
            f"{repeated[0][1].run.suffix}. A folder is a job, and a job has conditions of its own: write "
            "`set: {job: all}` below each pattern."
        )


def ask_of_numbers(rows: Iterable[Row], layout: Layout) -> Iterator[str]:
    """Yield of numbers that names have without a word or a unit how to say what they are."""
    values: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, value in row.parameters.items():
            values[name].add(value)
    for name, texts in sorted(values.items()):
        if BARE.fullmatch(name) and any(f"(?P<{name}>" in own.expression for own in layout.patterns):
            listed = ", ".join(sort_naturally(texts)[:SHOWN]) + (", …" if len(texts) > SHOWN else "")
            naming = "" if "run" in layout.groups else "; if only names of runs, `(?P<run>`"
            yield (
                f"What is `{name}` ({listed})? If RTTs in ms, write `(?P<rtt_ms>` for `(?P<{name}>` in the layout; if "
                f"losses in per cent, `(?P<loss_pct>`; if numbers of flows, `(?P<flows>`{naming}."
            )


def _are_counted(texts: Iterable[str]) -> bool:
    """Tell whether texts are numbers or letters in series, as those of repetitions."""
    try:
        numbers = [int(read_value("iteration", text)) for text in texts]
    except ValueError:
        return False
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def doubt_comparisons(rows: Sequence[Row], layout: Layout) -> Iterator[str]:
    """Yield that no two algorithms share a condition, where this is due to parameters that say the algorithm again.

    Algorithms that share a run are compared there.
    """
    told = [row for row in rows if row.condition["cc"]]
    again = _list_again(told) if all(len(row.algorithms or row.named) == 1 for row in told) else []
    if not again or _count_shared(told, ()) or not _count_shared(told, again):
        return
    named = " and ".join(f"`{name}`" for name in again)
    steps = " and ".join(_advise(name, layout) for name in again)
    differs, says = ("differs", "it only says") if len(again) == 1 else ("differ", "they only say")
    yield f"No two algorithms share a condition: {named} {differs} with `cc`. If {says} the algorithm again, {steps}."


def _count_shared(rows: Sequence[Row], without: Collection[str]) -> int:
    """Return how many conditions, but for the algorithm and some parameters, have runs of several algorithms."""
    algorithms: dict[object, set[object]] = defaultdict(set)
    for row in rows:
        rest = frozenset(item for item in row.condition.items() if item[0] not in ("cc", *without))
        algorithms[rest].add(row.condition["cc"])
    return sum(len(own) > 1 for own in algorithms.values())


def _list_again(rows: Sequence[Row]) -> list[str]:
    """Return the parameters of which each value is of one algorithm, and each algorithm of one value."""
    again = []
    for name in sorted({name for row in rows for name in row.parameters}):
        pairs = {(row.condition["cc"], row.parameters.get(name)) for row in rows}
        algorithms, values = ({pair[place] for pair in pairs} for place in (0, 1))
        if len(pairs) == len(algorithms) == len(values) > 1:
            again.append(name)
    return again


def _advise(name: str, layout: Layout) -> str:
    """Return how to take a parameter out of a layout."""
    if any(f"(?P<{name}>" in own.expression for own in layout.patterns):
        return f"write `(?:` for `(?P<{name}>` in the layout"
    if any(name in own.constants for own in layout.patterns):
        return f"take `{name}` out of `set` in the layout"
    return f"add `ignore_columns: [{name}]` to the layout"
