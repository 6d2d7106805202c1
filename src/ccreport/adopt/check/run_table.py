"""The runs that a layout makes of a folder, as a table, with what is wrong with them and what is missing."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from ccreport.adopt.check.layout_faults import (
    TEST,
    UNREAD_RULES,
    describe_parted,
    describe_unlisted,
    describe_untested,
    find_parted,
    join_parted,
    put_results_first,
)
from ccreport.adopt.check.missing import (
    ask_of_numbers,
    describe_missing,
    describe_repetitions,
    doubt_comparisons,
    doubt_jobs,
)
from ccreport.adopt.check.untaken import describe_untaken
from ccreport.adopt.check.wrong_names import doubt_rates, find_wrong_counts, find_wrong_kinds, find_wrong_names
from ccreport.adopt.contents import Content
from ccreport.adopt.rivals import advise_on_rivals
from ccreport.adopt.rows import Row, list_manifests, list_rows, read_job
from ccreport.archive.doubtful_rtts import describe_doubtful
from ccreport.archive.layout import Layout
from ccreport.archive.manifest import Manifest, RawFile
from ccreport.core.text import count_alike, count_things, display_name
from ccreport.inventory.kinds import IGNORE_RULES, LAYOUT_RULE

HEADER: Final = ("run", "algorithm", "flows", "RTT ms", "loss %", "other", "start (UTC)", "s", "files")
# Measured RTTs over declared ones that are delays in one direction: 2, less what rounds a name, more what queues add.
ONE_WAY: Final = (1.7, 2.5)
BELOW_PATTERNS: Final = "below each pattern of the layout that has `rtt_ms`"
# iperf3 says its start in whole seconds, and clients of one run may begin one after another.
GAP_S: Final = 10.0
# What overlaps by less may follow one another.
CLOCK_S: Final = 1.0
# Losses of a path are rarely less in per cent, and often as a ratio.
SMALL_LOSS_PCT: Final = 0.01
# Each line of messages about single files ends a list of so many.
SHOWN: Final = 10


def describe_runs(
    folder: Path, manifests: Sequence[Manifest], layout: Layout | None, read: Callable[[Path], Content]
) -> list[str]:
    """Return the lines that `adopt --check` prints of a folder with a layout; `read` returns what a file holds."""
    rows = _list_rows(folder, manifests, read)
    lines = _format_table([HEADER, *(row.format() for row in rows)]) if rows else [_explain_nothing(manifests)]
    parted = find_parted(layout, manifests, rows) if layout is not None else []
    meant = join_parted(rows, parted)
    # Stages of a run may change its path.
    steady = [row for row in meant if not row.job.get("stages_json")]
    return [
        *lines,
        "",
        *_describe_wrong(manifests, rows, layout, lambda file: read(folder / file.path)),
        *(f"{path}: {problem}" for manifest in manifests for path, problem in read_job(manifest, folder)[1]),
        *(count_alike(find_wrong_counts(rows, layout), "run") if layout is not None else []),
        *(find_wrong_kinds(layout, manifests) if layout is not None else []),
        *_describe_ignored(manifests),
        *(_describe_patterns(layout, manifests) if layout is not None else []),
        *(describe_unlisted(layout, rows) if layout is not None else []),
        *(describe_parted(layout, manifests, parted) if layout is not None else []),
        *describe_untested(layout, manifests, rows, parted),
        *_doubt_delays(rows, layout),
        *filter(None, [describe_doubtful((row.declared_rtt_ms, row.min_rtt_ms) for row in steady)]),
        *doubt_rates(steady, layout),
        *(_doubt_ratios(rows, layout) if layout is None or not _tells_losses(layout) else []),
        *_doubt_conditions(rows),
        *(doubt_comparisons(rows, layout) if layout is not None else []),
        *describe_repetitions(rows, layout, lambda tried: _list_rows(folder, list_manifests(folder, tried), read)),
        *(ask_of_numbers(rows, layout) if layout is not None else []),
        *doubt_jobs(manifests, rows),
        *describe_missing(meant, manifests, layout),
    ]


def _list_rows(folder: Path, manifests: Iterable[Manifest], read: Callable[[Path], Content]) -> list[Row]:
    return [row for manifest in manifests for row in list_rows(manifest, folder, read)]


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


def _format_table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _describe_wrong(
    manifests: Iterable[Manifest], rows: Sequence[Row], layout: Layout | None, read: Callable[[RawFile], Content]
) -> Iterator[str]:
    """Yield what is wrong with single files, and where a name and a result contradict each other."""
    files = [file for manifest in manifests for file in manifest.files]
    yield from _list("Not used:", list(_describe_rejected(files, layout, read)))
    problems = put_results_first([problem for row in rows for problem in row.problems], files)
    yield from _list("Not read, or not as a whole:", count_alike(problems))
    unknown = [file for file in files if file.rule in UNREAD_RULES]
    broken = [(display_name(file.path), str(read(file).problem)) for file in unknown if read(file).is_unusable]
    yield from _list(
        "Not read, and of no pattern that says what they are:", count_alike(put_results_first(broken, files))
    )
    unread = [display_name(file.path) for file in unknown if not read(file).is_unusable]
    yield from _list("Not read, as nothing says what they are (`kind` in the layout does):", unread)
    yield from _describe_together(rows)
    yield from count_alike(find_wrong_names(rows), "run")
    first_of: dict[object, Row] = {}
    for row in rows:
        first = first_of.setdefault((row.start_s, frozenset(row.connections)), row)
        if first is not row and row.start_s is not None and row.connections:
            yield (
                f"{row.run.suffix}: the same test as {first.run.suffix}, by its start and its connections; "
                "delete one of the two; until then it counts once at most."
            )
        if row.longest_gap_s > GAP_S:
            yield (
                f"{row.run.suffix}: its results were measured one after another, {row.longest_gap_s:.0f} s apart; "
                "where they are repetitions, and not flows of one run, call what tells them apart `iteration`."
            )
    yield from count_alike(_find_strange_samples(rows), "run")


def _find_strange_samples(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield the runs whose samples of sockets show none of their connections, and whose these are."""
    for row in rows:
        if row.sampled and row.connections and not row.sampled & row.connections:
            owners = [other.run.suffix for other in rows if other.connections & row.sampled]
            whose = f"those of {'; '.join(owners[:3])}" if owners else "those of no test here"
            yield row.run.suffix, f"its ss samples show none of its connections, but {whose}; correct the layout."


def _find_rivals(files: Sequence[RawFile]) -> Iterator[tuple[RawFile, RawFile]]:
    """Yield the tests that have the place of another in their run, each behind that one."""
    tests = [file for file in files if file.kind == TEST]
    used = {(file.run_id, file.client_number): file for file in tests if file.action == "ingest"}
    for file in tests:
        if file.reason == "duplicate_run" and (file.run_id, file.client_number) in used:
            yield used[file.run_id, file.client_number], file


def _describe_rejected(
    files: Sequence[RawFile], layout: Layout | None, read: Callable[[RawFile], Content]
) -> Iterator[str]:
    """Yield of each reason why files are not used what to do, with how many there are and the first of them."""
    by_reason: dict[str, list[tuple[RawFile, str]]] = defaultdict(list)
    # By the path of a test, and for files beside tests by the run.
    of_tests: dict[str, str] = {}
    for first, second in _find_rivals(files):
        if layout is not None:
            advice = advise_on_rivals(layout, (first.path, second.path), (read(first), read(second)))
            of_tests |= {second.path: advice, str(second.run_id): advice}
    for file in files:
        if file.action == "rejected":
            said, _, advice = (file.message or "").partition("; ")
            if file.reason == "duplicate_run":
                advice = of_tests.get(file.path) or of_tests.get(str(file.run_id)) or advice
            by_reason[advice or said].append((file, "; ".join(filter(None, (said, advice)))))
    for own in by_reason.values():
        told = f"{display_name(own[0][0].path)}: {own[0][1]}"
        yield told if len(own) == 1 else f"{count_things(len(own), 'file')}, such as {told}"


def _describe_ignored(manifests: Iterable[Manifest]) -> Iterator[str]:
    """Yield how many files each pattern of the layout ignores."""
    rules = [file.rule for manifest in manifests for file in manifest.files if file.rule is not None]
    counted = Counter(rule.removeprefix(LAYOUT_RULE) for rule in rules if rule.startswith(LAYOUT_RULE))
    lines = [f"{pattern}: {count_things(count, 'file')}" for pattern, count in sorted(counted.items())]
    yield from _list("Ignored, by pattern of the layout:", lines)


def _describe_patterns(layout: Layout, manifests: Sequence[Manifest]) -> Iterator[str]:
    """Yield which patterns fit files of others, and which fit none, with the files that none takes."""
    paths = [file.path for manifest in manifests for file in manifest.files]
    yield from _list("Of the layout, more than one pattern fits:", layout.list_shadowed(paths))
    if unused := layout.list_unused(paths):
        yield from _list("Of the layout, this is about no file here:", unused)
        yield from describe_untaken(layout, manifests)


def _doubt_delays(rows: Iterable[Row], layout: Layout | None) -> Iterator[str]:
    """Yield that declared RTTs may be delays in one direction, where all that were measured are about twice as long."""
    pairs = [(row.run.rtt_nominal_ms, row.min_rtt_ms) for row in rows]
    known = sorted((declared, measured) for declared, measured in pairs if declared and measured)
    if known and all(ONE_WAY[0] <= measured / declared <= ONE_WAY[1] for declared, measured in known):
        declared, measured = known[0]
        of_table = _is_in_table("rtt_ms", layout)
        who, where = ("The table says", "beside `table`") if of_table else ("Names say", BELOW_PATTERNS)
        yield (
            f"{who} {declared:g} ms, files measured {measured:.3g} ms: one-way delays? Then write "
            f"`scale: {{rtt_ms: 2}}` {where}."
        )


def _tells_losses(layout: Layout) -> bool:
    """Tell whether a layout says in which unit losses are."""
    return layout.converts_losses or layout.has_losses_in_per_cent


def _is_in_table(group: str, layout: Layout | None) -> bool:
    """Tell whether the table of a layout has a column for a group."""
    told = [*layout.by_path.values(), *layout.by_run.values()] if layout is not None else []
    return any(group in row for row in told)


def _doubt_ratios(rows: Sequence[Row], layout: Layout | None) -> Iterator[str]:
    """Yield that named losses may be ratios; a column of a table has its unit, unless qdiscs have another."""
    lossy = [row for row in rows if row.named_loss_pct]
    recorded = [row for row in lossy if row.loss_pct is not None]
    of_table = _is_in_table("loss_pct", layout)
    if _are_ratios(lossy) and (recorded or not of_table):
        row = max(recorded or lossy, key=lambda row: row.named_loss_pct or 0)
        also = f", qdiscs of {row.loss_pct:g} %" if recorded else ""
        said = f"{'The table says' if of_table else 'Names say'} a loss of {row.named_loss_pct:g} %{also}"
        yield f"{said}: ratios? Then write `loss_ratio` for `loss_pct` in the {'table' if of_table else 'layout'}."


def _are_ratios(lossy: Sequence[Row]) -> bool:
    """Tell whether all losses that names say are a hundredth of those of qdiscs, or without these very small."""
    recorded = [row for row in lossy if row.loss_pct is not None]
    if recorded:
        return all(_are_close((row.named_loss_pct or 0) * 100, row.loss_pct) for row in recorded)
    return bool(lossy) and all((row.named_loss_pct or 0) <= SMALL_LOSS_PCT for row in lossy)


def _doubt_conditions(rows: Sequence[Row]) -> Iterator[str]:
    """Yield where names and qdiscs contradict each other."""
    are_ratios = _are_ratios([row for row in rows if row.named_loss_pct])
    strife = []
    for row in rows:
        named_pct, rtt_ms = row.named_loss_pct, row.run.rtt_nominal_ms
        if named_pct is not None and not are_ratios and not _are_close(named_pct, row.loss_pct):
            strife.append(f"{row.run.suffix}: a loss of {named_pct:g} % by name, of {row.loss_pct:g} % by qdiscs")
        # Qdiscs of one direction delay by half, and names may say the delay of one direction.
        if rtt_ms is not None and not any(_are_close(rtt_ms * part, row.delay_ms) for part in (0.5, 1, 2)):
            strife.append(f"{row.run.suffix}: an RTT of {rtt_ms:g} ms by name, delays of {row.delay_ms:g} ms by qdiscs")
    yield from _list("A loss counts as qdiscs have it, an RTT as names do, which contradict each other here:", strife)


def _are_close(declared: float, recorded: float | None) -> bool:
    """Tell whether two numbers are the same but for rounding, or one is not known."""
    return recorded is None or math.isclose(declared, recorded, rel_tol=0.1)


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
