"""What the names of files say, as facts that are the same for every layout: the one place where names are read.

The test harness's layout is built in; a declared one (`ccreport.archive.layout`) takes its place for each path that it
tells something of. All that follows, from the manifest on, does not know which of them it was.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from ccreport.archive.harness_layout import (
    HOST_META_ENDING,
    Folder,
    Suffix,
    find_folder,
    parse_suffix,
    split_name,
)
from ccreport.archive.layout import Layout, Told
from ccreport.archive.layout_groups import CONDITIONS, KNOWN, OF_FILES, Value, format_value, sort_naturally
from ccreport.archive.parameters import join_parameters
from ccreport.core.text import display_name
from ccreport.inventory.job_names import read_job
from ccreport.inventory.kinds import ITEMS, PART_KINDS, kind_of_name, kind_of_place

CONTRADICTION: Final = (
    "{name} says that {group} is {value}, another file of the run {run} that it is {other}; correct the layout so that "
    "the two are of different runs{hint}, say the same, or one of them is under `ignore`"
)
# Where a `run` alone tells runs apart that differ in other groups as well; or `runs_by` does that is too short.
OF_SEVERAL_RUNS: Final = " (rename the group `run` to `session`, or add `runs_by: [{groups}]`)"
LONGER: Final = " (write `runs_by: [{groups}]`)"


@dataclass(frozen=True)
class FileName:
    """What the name of a file says: kind (`unknown` where it says none), run, and which part of the run it is.

    `problem` is what is wrong with it, `is_declared` tells that a layout of the user's says it, `ignored_by` is the
    pattern of that layout that ignores it.
    """

    kind: str
    run: Suffix | None = None
    client_number: int = 1
    side: str | None = None
    host: str | None = None
    cc: str | None = None
    problem: str | None = None
    is_declared: bool = False
    ignored_by: str | None = None

    def find_place(self, kind: str) -> tuple[int, str | None]:
        """Return which of a run's files of a kind it is, by its client and its side: of parts, flows have no own."""
        # ASSUME: mpstat output that does not say which host it is from is the sender's, where the harness runs.
        side = (self.side or "sender") if kind == "mpstat" else None
        return 1 if kind in PART_KINDS else self.client_number, side


class ListedFile(NamedTuple):
    """A file of the archive: its path below the root, its entry there, and what a declared layout says of it."""

    path: str
    entry: os.DirEntry[str]
    declared: FileName | None = None


class HarnessNames:
    """The names of one experiment's files, as the test harness writes them."""

    def __init__(self, folder: Folder, entries: Iterable[os.DirEntry[str]]) -> None:
        self._folder = folder
        job = read_job(entries)
        read = partial(parse_suffix, destinations=job.destinations, parameter=job.parameter, has_limits=job.has_limits)
        # Several files of a run have the same.
        self._read_suffix = cache(lambda text: job.complete(read(text)))

    def read(self, name: str) -> FileName:
        """Return what the name of a file says."""
        item = split_name(name)
        if item is not None and item.item not in ITEMS:
            item = None
        kind = kind_of_place(self._folder, name) or kind_of_name(name, item)
        host = read_meta_host(name) if kind == "host-meta" else None
        side = "receiver" if "receiver" in name else None
        if item is None:
            return FileName(kind, side=side, host=host)
        return FileName(kind, self._read_suffix(item.suffix), item.client_number, side, host)


def read_meta_host(name: str) -> str | None:
    """Return the host that the name of a file about one says, as the harness calls it."""
    return display_name(name.removesuffix(HOST_META_ENDING)) if name.endswith(HOST_META_ENDING) else None


def read_declared(
    layout: Layout, files: Mapping[str, PurePosixPath], wrapping: str = ""
) -> dict[str, tuple[Folder, FileName]]:
    """Return the experiment and the name's facts of each file that a layout tells something of, by path.

    `files` are the places of all files, by their paths below the root, which `wrapping` precedes for the layout.
    """
    runs: dict[tuple[Folder, str], dict[str, Told]] = defaultdict(dict)
    named: dict[str, tuple[Folder, FileName]] = {}
    for path, told in layout.read_paths(list(files), wrapping).items():
        folder = _find_experiment(told.values, files[path])
        if told.ignored_by is not None:
            named[path] = (folder, FileName("side-file", is_declared=True, ignored_by=told.ignored_by))
        elif told.problem is not None:
            named[path] = (folder, FileName("unknown", problem=told.problem, is_declared=True))
        else:
            runs[folder, layout.name_run(told.values)][path] = told
    if layout.table in files:
        named[layout.table] = (find_folder(files[layout.table]), FileName("layout", is_declared=True))
    for (folder, run), of_run in list(runs.items()):
        if _has_flows_of_several_runs(of_run.values()):
            del runs[folder, run]
            for path, told in of_run.items():
                runs[folder, layout.name_run(told.values, has_one_cc=True)][path] = told
    # Over all files, and only where a run contradicts itself.
    hint = cache(lambda: _hint_at_groups(layout, runs.values()))
    for (folder, run), of_run in runs.items():
        row = layout.by_run.get(str(next(iter(of_run.values())).values.get("run")), {})
        named |= {path: (folder, name) for path, name in _name_files(layout.name, run, row, of_run, hint).items()}
    return named


def _has_flows_of_several_runs(of_run: Iterable[Told]) -> bool:
    """Tell whether each flow of a run would have the same several algorithms, so that each of these has a run."""
    algorithms: dict[Value, set[Value]] = defaultdict(set)
    for told in of_run:
        if "flow" in told.values and "cc" in told.values:
            algorithms[told.values["flow"]].add(told.values["cc"])
    (first, *others) = algorithms.values() or [set()]
    return len(first) > 1 and all(other == first for other in others)


def _hint_at_groups(layout: Layout, runs: Iterable[Mapping[str, Told]]) -> str:
    """Return which groups tell all runs apart, where files that are of one so far differ in some."""
    differing = {
        group
        for of_run in runs
        for group in layout.groups
        if len({told.values[group] for told in of_run.values() if group in told.values}) > 1
    }
    usual = [name for name in ("run", "iteration") if name in layout.groups]
    more = differing - OF_FILES - ({"cc"} if "flow" in layout.groups else set())
    words = LONGER if layout.runs_by else OF_SEVERAL_RUNS
    return words.format(groups=", ".join([*(layout.runs_by or usual), *sorted(more)]))


def _find_experiment(values: Mapping[str, Value], place: PurePosixPath) -> Folder:
    """Return the experiment that a layout puts a file into: that of its session and job, else of its folder."""
    if "job" not in values and "session" not in values:
        return find_folder(place)
    session, job = (str(values[key]) if key in values else None for key in ("session", "job"))
    # Two slashes: the path of no folder.
    return Folder(f"//{session or ''}/{job or ''}", session, job)


def _name_files(
    name: str, run: str, row: Mapping[str, Value], of_run: Mapping[str, Told], hint: Callable[[], str]
) -> dict[str, FileName]:
    """Return the facts of a run's files: those of the run are the same for all, whichever file tells them.

    `name` is what messages call the layout, `hint` returns which groups tell runs apart that contradict each other.
    """
    facts: dict[str, Value] = dict(row)
    named: dict[str, FileName] = {}
    flows = sort_naturally({str(told.values["flow"]) for told in of_run.values() if "flow" in told.values})
    for path, told in sorted(of_run.items()):
        own = {key: value for key, value in told.values.items() if key not in ("flow", "side", "cc")}
        strife = next((key for key, value in own.items() if facts.get(key, value) != value and key not in row), None)
        if strife is not None:
            message = CONTRADICTION.format(
                name=display_name(path), group=strife, value=own[strife], run=run, other=facts[strife], hint=hint()
            )
            named[path] = FileName("unknown", problem=f"{name}: {message}", is_declared=True)
            continue
        facts = own | facts
        named[path] = FileName(
            told.kind or "unknown",
            client_number=flows.index(str(told.values["flow"])) + 1 if "flow" in told.values else 1,
            side=str(told.values["side"]) if "side" in told.values else None,
            host=str(own["host"]) if "host" in own else None,
            cc=str(told.values.get("cc", row.get("cc"))) if "cc" in told.values or "cc" in row else None,
            is_declared=True,
        )
    suffix = _make_suffix(run, facts)
    return {path: name if name.problem is not None else replace(name, run=suffix) for path, name in named.items()}


def _make_suffix(run: str, facts: Mapping[str, Value]) -> Suffix:
    names, values = join_parameters({key: format_value(facts[key]) for key in sorted(facts) if key not in KNOWN})
    iteration, limit, rtt = (facts.get(key) for key in ("iteration", "limit_packets_count", "rtt_ms"))
    return Suffix(
        text=run,
        host=str(facts["host"]) if "host" in facts else None,
        iteration=int(iteration) if iteration is not None else None,
        rtt_nominal_ms=float(rtt) if rtt is not None else None,
        limit=int(limit) if limit is not None else None,
        parameter_name=names,
        parameter_value=values,
        conditions=tuple(sorted((key, facts[key]) for key in facts if key in CONDITIONS)),
    )
