"""What is wrong with a layout, or of no use: patterns without a file, groups that keep files apart, unread files."""

import difflib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from ccreport.adopt.check.untaken import list_untaken
from ccreport.adopt.contents import Content
from ccreport.adopt.repairs import count_left_out
from ccreport.adopt.rows import FILES, Row
from ccreport.archive.layout import IGNORED, Layout
from ccreport.archive.manifest import Manifest, RawFile
from ccreport.core.text import count_things, display_name
from ccreport.inventory.kinds import MEASUREMENT_RULE, TEST_KINDS

TEST: Final = "src-cmd"
UNREAD_RULES: Final = ("unknown_files_not_read", MEASUREMENT_RULE)
# Names of runs are long, and many differ in a number only.
CLOSE: Final = 0.8
SHOWN: Final = 10


class Parted(NamedTuple):
    """A run without a test, those that it may be of, and groups that only one of it and the first has, or both."""

    row: Row
    tests: tuple[Row, ...]
    differing: frozenset[str]
    common: frozenset[str]


def describe_unlisted(layout: Layout, rows: Iterable[Row]) -> Iterator[str]:
    """Yield how many results, or runs, the table of a layout has no row for."""
    if not layout.table:
        return
    lacking = []
    for row in rows:
        told = layout.read_paths([*row.ways])
        runs = {str(one.values.get("run")) for one in told.values()}
        if told and not (layout.by_path.keys() & {*row.paths} or layout.by_run.keys() & runs):
            lacking.append(display_name(min(row.ways)) if layout.by_path else row.run.suffix)
    if lacking:
        counted = count_things(len(lacking), "result" if layout.by_path else "run")
        yield f"{layout.table} has no row for {counted}{', such as' if len(lacking) > 1 else ':'} {lacking[0]}."


def find_parted(layout: Layout, manifests: Iterable[Manifest], rows: Iterable[Row]) -> list[Parted]:
    """Return the runs without a test that agree with a run that has one in all groups that both have.

    Where another run has a test and all these kinds of files, a name is misspelt, and no group keeps files apart.
    """
    by_id = {row.run.run_id: row for row in rows}
    complete = [row.kinds.keys() for row in by_id.values() if row.kinds[TEST]]
    parted = []
    for manifest in manifests:
        keys = _read_keys(layout, manifest)
        tests = [run_id for run_id in keys if by_id[run_id].kinds[TEST]]
        for run_id in (run_id for run_id in keys if not by_id[run_id].kinds[TEST]):
            if any(by_id[run_id].kinds.keys() <= kinds for kinds in complete):
                continue
            own = keys[run_id]
            agreeing = [test for test in tests if _agree(own, keys[test])]
            if agreeing:
                first = keys[agreeing[0]].keys()
                owners = tuple(by_id[test] for test in agreeing)
                parted.append(
                    Parted(by_id[run_id], owners, frozenset(own.keys() ^ first), frozenset(own.keys() & first))
                )
    return parted


def _agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Tell whether two runs have a group in common, and the same in all that they have."""
    common = one.keys() & other.keys()
    return bool(common) and all(one[group] == other[group] for group in common)


def _read_keys(layout: Layout, manifest: Manifest) -> dict[str, dict[str, str]]:
    """Return of each run the groups by which its files are of it."""
    told = layout.read_paths([file.path for file in manifest.files])
    keys: dict[str, dict[str, str]] = defaultdict(dict)
    for file in manifest.files:
        if file.run_id is not None and file.action == "ingest" and file.path in told:
            keys[file.run_id] |= layout.tell_run(told[file.path].values)
    return keys


def describe_parted(layout: Layout, manifests: Iterable[Manifest], parted: Iterable[Parted]) -> Iterator[str]:
    """Yield by which groups alone files are of other runs than tests, and what to do."""
    alike: dict[tuple[frozenset[str], frozenset[str]], list[Parted]] = defaultdict(list)
    for pair in parted:
        alike[pair.differing, pair.common].append(pair)
    kinds_of = {file.path: file.kind for manifest in manifests for file in manifest.files}
    for (differing, common), own in alike.items():
        row, test = own[0].row, own[0].tests[0]
        kinds = " and ".join(sorted(FILES.get(kind, kind) for kind in row.kinds))
        without = f"{count_things(len(own), 'run')} of {kinds} without a test"
        yield f"{without} and those with one differ only in {' and '.join(sorted(differing))}, which not all have:"
        yield f"  {row.run.suffix}"
        yield f"  {test.run.suffix}"
        mended = replace(layout, runs_by=tuple(sorted(common)))
        if count_left_out(mended, kinds_of) > count_left_out(layout, kinds_of) - len(own):
            yield "Name what is the same in both by one group, with the same values, in all patterns."
            continue
        of_table = {group for told in (layout.by_path, layout.by_run) for groups in told.values() for group in groups}
        or_else = "Set these in the patterns of the others, too, or add to the layout:"
        yield "Add to the layout:" if differing <= of_table else or_else
        yield f"  runs_by: [{', '.join(mended.runs_by)}]"


def list_untested(rows: Iterable[Row]) -> list[Row]:
    """Return the runs that have no result of a test, where others have one."""
    rows = list(rows)
    untested = [row for row in rows if not row.kinds.keys() & TEST_KINDS]
    return untested if len(untested) < len(rows) else []


def describe_untested(
    layout: Layout | None, manifests: Iterable[Manifest], rows: Iterable[Row], parted: Iterable[Parted]
) -> Iterator[str]:
    """Yield which runs have no result of a test, the test that each is nearly called as, and which group differs."""
    joined = {pair.row.run.run_id for pair in parted}
    rows = [row for row in rows if row.run.run_id not in joined]
    tests = [row for row in rows if row.kinds.keys() & TEST_KINDS]
    if untested := list_untested(rows):
        misnamed = _find_misnamed(layout, manifests, tests, untested) if layout is not None else {}
        yield f"Without a result of a test ({count_things(len(untested), 'run')}):"
        for row in untested[:SHOWN]:
            kinds = " and ".join(sorted(FILES.get(kind, kind) for kind in row.kinds))
            _, _, meant = misnamed.get(row.run.run_id, ("", "", None))
            near, owner = meant or next(_find_near(row, tests), None), _find_owner(row, tests)
            hint = f"; is it of {near}?" if near else f"; its connections are those of {owner}" if owner else ""
            yield f"  {row.run.suffix}: {kinds}{hint}"
        if len(untested) > SHOWN:
            yield f"  and {len(untested) - SHOWN} more"
        for (group, right), count in Counter((group, right) for group, right, _ in misnamed.values()).items():
            written = (own for own in layout.patterns if f"(?P<{group}>" in own.expression) if layout else ()
            where = next((f" in {layout.locate(own)}" for own in written if layout), "")
            so = f"{count_things(count, 'run')} get one so"
            yield f"Call the group `{group}`{where} `{right}`, as that of tests is: {so}."
        unsaid = (_find_owner(row, tests) and not any(_find_near(row, tests)) for row in untested)
        if not misnamed and all(unsaid):
            yield "Without their pattern, samples beside their test are joined to it by these connections: delete it."


def _find_misnamed(
    layout: Layout, manifests: Iterable[Manifest], tests: Sequence[Row], untested: Iterable[Row]
) -> dict[str, tuple[str, str, str]]:
    """Return by run without a test its group that the one fitting test calls otherwise, that name, and the result."""
    keys = {run_id: own for manifest in manifests for run_id, own in _read_keys(layout, manifest).items()}
    misnamed = {}
    for run_id in (row.run.run_id for row in untested):
        own = keys.get(run_id, {})
        fitting = []
        for test in tests:
            other = keys.get(test.run.run_id, {})
            unknown, rest = own.keys() - other.keys(), other.keys() - own.keys()
            if len(unknown) == 1 and all(other[group] == own[group] for group in own.keys() - unknown):
                (group,) = unknown
                result = next(iter(_list_results(test)))
                fitting += [(group, right, result) for right in rest if other[right] == own[group]]
        if len(fitting) == 1:
            misnamed[run_id] = fitting[0]
    return misnamed


def _list_results(test: Row) -> list[str]:
    """Return the results of a run with a test, or all of its files where they are of other tools."""
    return [*map(display_name, test.ways)] or test.paths


def _find_owner(row: Row, tests: Iterable[Row]) -> str | None:
    """Return the one run with a test whose connections samples show."""
    owners = [test.run.suffix for test in tests if test.connections & row.sampled]
    return owners[0] if len(owners) == 1 else None


def _find_near(row: Row, tests: Sequence[Row]) -> Iterator[str]:
    """Yield the runs and results that are nearly called as a run without a test, first those that lack its files."""
    lacking = [test for test in tests if not test.kinds.keys() & row.kinds.keys()]
    yield from _find_close(row.run.suffix, {test.run.suffix: test.run.suffix for test in lacking})
    # Without its unit, a number is in another group, or in none.
    results = {path.rpartition(".")[0]: path for test in lacking for path in _list_results(test)}
    for path in row.paths:
        yield from _find_close(path.rpartition(".")[0], results)
    yield from _find_close(row.run.suffix, {test.run.suffix: test.run.suffix for test in tests})


def _find_close(name: str, shown: Mapping[str, str]) -> list[str]:
    return [shown[near] for near in difflib.get_close_matches(name, shown, 1, CLOSE)]


def join_parted(rows: Iterable[Row], parted: Iterable[Parted]) -> list[Row]:
    """Return the runs as they are meant: with the files of those that differ from them in nothing that both have."""
    meant = {row.run.run_id: row for row in rows}
    for pair in parted:
        other = meant.pop(pair.row.run.run_id, pair.row)
        for run_id in (test.run.run_id for test in pair.tests):
            meant[run_id] = _join(meant[run_id], other)
    return list(meant.values())


def _join(test: Row, other: Row) -> Row:
    """Return a run with a test with the files of another."""
    rtt_ms = test.run.rtt_nominal_ms if test.run.rtt_nominal_ms is not None else other.run.rtt_nominal_ms
    conditions = (other.run.conditions or {}) | (test.run.conditions or {})
    return replace(
        test,
        run=replace(test.run, rtt_nominal_ms=rtt_ms, conditions=conditions),
        kinds=test.kinds + other.kinds,
        sampled_rtts_ms=test.sampled_rtts_ms | other.sampled_rtts_ms,
    )


def has_unfitting(layout: Layout | None, manifests: Sequence[Manifest]) -> bool:
    """Tell whether a run may lack conditions: a row of the table is about no file, or a pattern while files have none.

    Patterns may be of files that others have, or be there to ignore some.
    """
    if layout is None:
        return False
    paths = [file.path for manifest in manifests for file in manifest.files]
    ignoring = {layout.describe(own) for own in layout.patterns if own.kind == IGNORED}
    unused = {*layout.list_unused(paths)} - ignoring
    patterns = {layout.describe(own) for own in layout.patterns}
    return bool(unused - patterns) or bool(unused and list_untaken(layout, manifests))


def has_unusable(folder: Path, manifests: Iterable[Manifest], read: Callable[[Path], Content]) -> bool:
    """Tell whether some file is rejected, or nothing of it can be read: it is empty, say, or breaks off."""
    files = [file for manifest in manifests for file in manifest.files]
    taken = (file for file in files if file.action == "ingest" or file.rule in UNREAD_RULES)
    return any(file.action == "rejected" for file in files) or any(read(folder / one.path).is_unusable for one in taken)


def put_results_first(said: Sequence[tuple[str, str]], files: Iterable[RawFile]) -> list[tuple[str, str]]:
    """Return messages about files with those on results first, and on files that end as results do: they are runs."""
    results = {display_name(file.path) for file in files if file.kind in TEST_KINDS}
    endings = {PurePosixPath(name).suffix for name in results}
    return sorted(said, key=lambda told: (told[0] not in results, PurePosixPath(told[0]).suffix not in endings))
