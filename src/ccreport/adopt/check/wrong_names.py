"""Algorithms, numbers of flows, rates and kinds of files that layouts, names or tables say, and files contradict."""

import difflib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from ccreport.adopt.rows import FILES, Row
from ccreport.archive.layout import Layout
from ccreport.archive.layout_groups import OTHER_UNITS, find_group, format_value
from ccreport.archive.manifest import Manifest
from ccreport.core.algorithms import FIRST_BBR, KNOWN, name_algorithm
from ccreport.core.schema_problems import guess_near
from ccreport.core.text import count_things, display_name

# Of a misspelt name; somebody's own word for an algorithm is less like it.
CLOSE: Final = 0.8
# Measured rates over declared ones: what is more is another path, or another unit.
LARGEST_RATIO: Final = 1.05
OTHER_UNIT: Final = 10
# As a sentence has them → the groups, and whether each flow has that rate.
RATES: Final = {"bottleneck": ("bottleneck_bps", False), "pacing rate": ("pacing_bps", True)}
BY_NAMES: Final = "by its name or its row of the table"


def find_wrong_names(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield runs whose files are said to be of another algorithm than their results are of, and what to know of it.

    A word that is not an algorithm's name, beside results of one only, which no other word names, is somebody's own,
    unless it is nearly that one's name.
    """
    meant: dict[str, set[str]] = defaultdict(set)
    called: dict[str, set[str]] = defaultdict(set)
    for name, algorithms in (said for row in rows for said in row.said):
        meant[name].update(algorithms)
        for algorithm in algorithms:
            called[algorithm].add(name)
    own = {
        name for name, told in meant.items() if not name_algorithm(name) and [called[one] for one in told] == [{name}]
    }
    for row in rows:
        wrong: dict[str, set[str]] = defaultdict(set)
        for name, algorithms in row.said:
            known = {algorithm.lower() for algorithm in algorithms}
            known |= FIRST_BBR if known & FIRST_BBR else set()
            if known and name not in own and name.lower() not in known:
                wrong[name].update(algorithms)
        for name, told in sorted(wrong.items()):
            counted = ", ".join(sorted(told))
            yield row.run.suffix, f"{name} {BY_NAMES}, {counted} by its results, which count."
        for name in sorted({name for name, _ in row.said if name.lower() not in called} - wrong.keys()):
            if (hint := _doubt(name, meant[name])) is not None:
                yield row.run.suffix, f"{name} {BY_NAMES} is not a known algorithm{hint}"


def _doubt(name: str, told: Collection[str]) -> str | None:
    """Return what to say of a name that no algorithm has, where results of its files tell none, or one that is near."""
    if name_algorithm(name):
        return None
    if told:
        near = difflib.get_close_matches(name.lower(), told, 1, CLOSE)
        return f"; did you mean `{near[0]}`?" if near else None
    return guess_near(name, KNOWN) or "."


def find_wrong_counts(rows: Sequence[Row], layout: Layout) -> Iterator[tuple[str, str]]:
    """Yield runs whose results are said to have another number of flows than they, or all of the run, have."""
    told = layout.read_paths([path for row in rows for path in row.ways])
    for row in rows:
        counts = {path: max((way.flows_count for way in ways.values()), default=0) for path, ways in row.ways.items()}
        total = sum(counts.values())
        for path, count in counts.items():
            values = told[path].values if path in told else {}
            said = values.get("flows", layout.by_run.get(str(values.get("run")), {}).get("flows"))
            if said is not None and count and said not in (count, total):
                counted = count_things(int(said), "flow")
                yield row.run.suffix, f"{counted} {BY_NAMES}, {total} by its results, which count."
                break


def find_wrong_kinds(layout: Layout, manifests: Iterable[Manifest]) -> Iterator[str]:
    """Yield of which kind files are that a layout says to be of another."""
    files = [file for manifest in manifests for file in manifest.files if file.action == "ingest"]
    told = layout.read_paths([file.path for file in files])
    wrong: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for file in files:
        declared = told[file.path].kind if file.path in told else None
        if declared is not None and declared != file.kind:
            fitting = (own for own in layout.patterns if own.kind == declared and any(layout.fit(own, [file.path])))
            place = next(map(layout.locate, fitting), layout.name)
            wrong[place, declared, file.kind].append(display_name(file.path))
    for (place, *kinds), paths in wrong.items():
        declared, kind = (FILES.get(kind, kind) for kind in kinds)
        others = f" and {count_things(len(paths) - 1, 'more file')}" if len(paths) > 1 else ""
        are = "are" if others else "is"
        yield f"{place}: the `kind` is {declared}; {paths[0]}{others} {are} {kind} by content, which counts."


def doubt_rates(rows: Iterable[Row], layout: Layout | None) -> Iterator[str]:
    """Yield how many runs received more than their declared bottleneck, or pacing, lets through, and its unit."""
    rows = [row for row in rows if row.received_bps]
    for word, (group, is_of_flow) in RATES.items():
        declared = [(row.read_rate(group), row.flows_count if is_of_flow else 1, row.received_bps) for row in rows]
        known = [(rate_bps, flows, received_bps) for rate_bps, flows, received_bps in declared if rate_bps]
        ratios = [received_bps / (rate_bps * flows) for rate_bps, flows, received_bps in known]
        count = sum(ratio > LARGEST_RATIO for ratio in ratios)
        if count:
            rate_bps, _, received_bps = known[ratios.index(max(ratios))]
            said = f"{count} of {count_things(len(known), 'run')} measured more, such as {_format_rate(received_bps)}"
            guess = _guess_unit(group, ratios, layout)
            yield f"A {word} of {_format_rate(rate_bps)} is declared; {said}: {guess}?"


def _guess_unit(group: str, ratios: Sequence[float], layout: Layout | None) -> str:
    """Return which unit of a group would fit what was measured, where it is much more than was declared."""
    factors = {group: 1.0} | {name: factor for name, (meant, factor) in OTHER_UNITS.items() if meant == group}
    written = [name for name in (layout.names if layout is not None else ()) if find_group(name)[0] == group]
    for name, factor in factors.items():
        if len(written) == 1 and min(ratios) > OTHER_UNIT:
            larger = factor / factors[written[0]]
            if larger >= max(ratios) / LARGEST_RATIO:
                return f"`{name}` in place of `{written[0]}`"
    return "was it set on the path that they took"


def _format_rate(rate_bps: float) -> str:
    """Return a rate in the unit in which it has few digits: 1 Mbit/s."""
    for unit, factor in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if rate_bps >= factor:
            return f"{format_value(float(f'{rate_bps / factor:.3g}'))} {unit}"
    return f"{format_value(rate_bps)} bit/s"
