"""`python -m ccreport adopt FOLDER`: a layout for a folder of somebody's files, or the runs that one gives.

Files are read and never changed, copied or renamed; only the layout is written.
"""

import json
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from ccreport.adopt.check.layout_faults import has_unfitting, has_unusable, list_untested
from ccreport.adopt.check.run_table import describe_runs
from ccreport.adopt.contents import Content, read_content
from ccreport.adopt.joined import describe_joined, find_joined, join_sessions
from ccreport.adopt.named_runs import name_runs
from ccreport.adopt.patterns import ProposedPattern
from ccreport.adopt.proposal import DECLARED, Proposal, propose_layout, settle_unnamed
from ccreport.adopt.repairs import leave_out_cutting, repair, settle_runs
from ccreport.adopt.rivals import Ignored, find_copies, find_later, find_others
from ccreport.adopt.rows import list_manifests, list_rows
from ccreport.adopt.tables import ENDING, describe_ignored, describe_unmatched, find_table
from ccreport.archive.harness_layout import SESSION, join_path, split_name, walk_files
from ccreport.archive.layout import NAME, Layout
from ccreport.archive.layout_groups import NUMBERS
from ccreport.archive.parts import find_layout_beside_parts, is_in_parts
from ccreport.archive.read_layout import load_layout
from ccreport.core.declarations import SCHEMAS
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import guess_path
from ccreport.core.text import count_things, display_name, write_report_command
from ccreport.inventory.kinds import ITEMS
from ccreport.storage.writable import check_file

HEAD = """\
# yaml-language-server: $schema={schema}
# What the names of these files say, proposed by `ccreport adopt`: read it, correct it, then look at the runs with
#   python -m ccreport adopt {folder} --check
# A pattern fits a whole path below this folder, or all of it behind a slash. Groups: run, job, iteration, cc, rtt_ms
# (owd_ms), loss_pct (loss_ratio), flows, flow, host, sender_host, side, kind, bottleneck_bps, buffer_bytes,
# limit_packets_count, pacing_bps, mtu_bytes, queue_discipline, kernel; any other group is a parameter of the sweep.
# Files say themselves what they know.
"""

ONE_JOB: Final = "Folders here tell kinds of files or repetitions apart; being of one job, they are not conditions."
SEVERAL_JOBS: Final = "Names of several schemes say the same of different runs: each scheme is a job."


def adopt(folder: Path, /, *, check: bool, layout: Path = Path(NAME)) -> int:
    """Propose a layout for a folder of files of any names, and write it there as `layout.yaml`; nothing else changes.

    `folder` has the files, at any depth. With `check` nothing is written: the table of runs that the layout gives is
    printed, with what is missing and how to record it. `layout` is the path of the layout from the folder. Returns 1
    where a file is rejected, or nothing of it can be read, as it is empty or breaks off, and where a row of the
    layout's table fits no file, or a pattern fits none while files have none, or no file is a run, or a run has no
    result of a test while others have one.
    """
    if not folder.exists():
        raise InputError(f"{folder} does not exist{guess_path(folder)}")
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder; put files by themselves into one, or unpack an archive, and give the folder"
        )
    if not any(entry.is_file() for _, entry in walk_files(folder)):
        raise InputError(f"{folder} has no files")
    if is_in_parts([folder]) or find_layout_beside_parts(folder) is not None:
        raise InputError(_explain_packed(folder))
    place = folder / layout
    if check:
        declared = load_layout(place) if place.exists() or layout != Path(NAME) else None
        status = _show_runs(folder, declared)
        above = folder.resolve().parent / NAME
        if declared is None and above.is_file():
            advice = f"python -m ccreport adopt {shlex.quote(str(folder.parent))} --check"
            print(f"The folder above has a {NAME}, which is not read here: {advice}")
        for hint in _hint_at_tables(folder, declared):
            print(hint)
        return status
    if place.exists():
        raise InputError(f"{place} exists; look at its runs with --check, or delete it to have one proposed anew")
    check_file(place, "--layout")
    contents = _read_contents(folder)
    proposal = _propose(contents)
    table, mistakes = find_table(folder, contents, proposal)
    if table is not None and (named := name_runs(proposal, table)) is not None:
        proposal = replace(named, table=table.name, ignored_columns=table.notes)
    elif table is not None:
        mistakes.append(describe_unmatched(table))
    proposal, cut = leave_out_cutting(proposal)
    mistakes += cut
    for mistake in mistakes:
        print(mistake)
    if proposal.patterns or proposal.table is not None:
        proposal = settle_unnamed(proposal, contents)
        place.write_text(_write_layout(folder, place, proposal), encoding="utf-8")
        if proposal.table is not None:
            proposal = settle_runs(proposal, load_layout(place), contents)
            place.write_text(_write_layout(folder, place, proposal), encoding="utf-8")
        print(f"{place}: {_sum_up(proposal)}. The runs that it gives:\n")
        status = _show_runs(folder, load_layout(place))
        for ignored in proposal.ignored:
            print(f"Ignored: {ignored.describe()}.")
        if proposal.ignored_columns:
            print(f"{describe_ignored(proposal)}.")
        if proposal.joined:
            print(f"{describe_joined(proposal.joined)}.")
        if proposal.has_open_delays:
            print(proposal.ask_of_delays())
        if doubt := proposal.ask_of_flows():
            print(doubt)
        _say_next(folder)
        return status
    count = sum(content.kind == "iperf3" for content in contents.values())
    if not count:
        raise InputError(_explain_nothing(folder, contents))
    results = f"each of its {count} results as a run" if count > 1 else "its one result as a run"
    print(f"The names in {folder} say nothing of runs: it needs no layout, and is read without one, {results}.")
    print("To say more, write a layout with a `table`, a CSV with a row a file.\n")
    status = _show_runs(folder, None)
    _say_next(folder)
    return status


def _say_next(folder: Path) -> None:
    print(f"\nFor the report: {write_report_command(folder, SCHEMAS.parent)}")


def _propose(contents: Mapping[str, Content]) -> Proposal:
    """Return a proposal in which each run has one file of a kind, where it takes one."""
    later = [*find_copies(contents), *find_later(contents)]
    used = _leave_out(contents, later)
    proposal = propose_layout(used)
    if others := find_others(proposal.patterns, used):
        used = _leave_out(used, others)
        proposal = propose_layout(used)
    if joined := find_joined(proposal.patterns, used):
        rest = {path: content for path, content in used.items() if path not in joined}
        without = propose_layout(rest)
        if not any(own.fits(path) for own in without.patterns for path in joined):
            used, proposal = rest, replace(join_sessions(without, joined), joined=tuple(joined))
    return replace(repair(proposal, used), ignored=(*later, *others))


def _leave_out(contents: Mapping[str, Content], ignored: Iterable[Ignored]) -> dict[str, Content]:
    left_out = {path for rivals in ignored for path in rivals.paths}
    return {path: content for path, content in contents.items() if path not in left_out}


def _show_runs(folder: Path, layout: Layout | None) -> int:
    """Print the runs that a layout gives, and return 1 where it gives none, or a file or a part of it is of no use."""
    manifests = list_manifests(folder, layout)
    read = cache(read_content)
    print("\n".join(describe_runs(folder, manifests, layout, read)))
    rows = [row for manifest in manifests for row in list_rows(manifest, folder, read)]
    is_wrong = has_unusable(folder, manifests, read) or has_unfitting(layout, manifests)
    return int(not rows or is_wrong or bool(list_untested(rows)))


def _hint_at_tables(folder: Path, layout: Layout | None) -> list[str]:
    """Return what to do for a CSV to be the table of a layout that has none, as where its columns have other names."""
    if layout is not None and layout.table:
        return []
    contents = _read_contents(folder)
    told = layout.read_paths([*contents]) if layout is not None else {}
    used = {path: content for path, content in contents.items() if path not in told or told[path].ignored_by is None}
    if not any("/" not in path and path.lower().endswith(ENDING) for path in used):
        return []
    table, hints = find_table(folder, used, proposal := _propose(used))
    if table is None:
        return hints
    if table.runs and name_runs(proposal, table) is None:
        return [*hints, describe_unmatched(table)]
    has_runs = layout is None or not table.runs or "run" in layout.groups
    anew = f"delete {NAME} and run `adopt` again, which writes a layout with the table"
    todo = f"add `table: {table.name}`" if has_runs else anew
    return [*hints, f"{table.name} says what its rows are about, and no layout names it: {todo}."]


def _sum_up(proposal: Proposal) -> str:
    counted = sum(pattern.count for pattern in proposal.patterns)
    kinds = f"{count_things(len(proposal.patterns), 'kind')} of file names ({count_things(counted, 'file')})"
    parts = [kinds] if proposal.patterns else []
    return " and ".join([*parts, *([f"the table {proposal.table}"] if proposal.table is not None else [])])


def _read_contents(folder: Path) -> dict[str, Content]:
    """Return what each file holds, by its path as it is shown, but for hidden ones and those of the test harness."""
    contents = {}
    for place, entry in walk_files(folder):
        item = split_name(entry.name)
        is_item = item is not None and item.item in ITEMS
        is_known = is_item or entry.name == "jobmeta.json" or entry.name.startswith(".")
        if is_known or any(SESSION.fullmatch(part) for part in place.parts):
            continue
        if entry.is_file(follow_symlinks=False):
            contents[display_name(join_path(place, entry.name))] = read_content(Path(entry.path))
    return contents


def _explain_packed(folder: Path) -> str:
    """Return that a folder holds packed files, and what to do."""
    layout = find_layout_beside_parts(folder)
    delete = f"; {layout} says nothing of what is in them, and no build takes it there: delete it" if layout else ""
    return (
        f"{folder} holds packed files, which a build unpacks by itself{delete}; to see their runs, or to have a layout "
        f"proposed, unpack them all into one folder, and give that. A layout for packed files is named in config.yaml: "
        "`archive: {path: …, layout: …}`"
    )


def _explain_nothing(folder: Path, contents: Mapping[str, Content]) -> str:
    if not contents:
        return f"{folder} has no files but the test harness's, whose names are known: it needs no layout"
    sampled = next((path for path, content in contents.items() if content.kind == "ss"), None)
    also = (
        f"; `python -m ccreport ingest ss {shlex.quote(str(folder / sampled))}` prints its samples" if sampled else ""
    )
    return (
        f"no file in {folder} is a result of a tool that is read; record one with iperf3 -c HOST -J > run1.json{also}"
    )


def _write_layout(folder: Path, place: Path, proposal: Proposal) -> str:
    # An editor takes the path as one from the file that it is in.
    schema = os.path.relpath(SCHEMAS / "layout.schema.yaml", place.parent.resolve())
    lines = [HEAD.format(schema=schema, folder=shlex.quote(str(folder)))]
    if proposal.table is not None:
        lines += ["# Its rows say more of a file, or of a run, than the names.\n"]
        lines += [f"# {describe_ignored(proposal)}.\n"] if proposal.ignored_columns else []
        lines += [f"table: {_quote(proposal.table)}\n"]
    if proposal.ignored_columns:
        names = ", ".join(name if _is_plain(name) else _quote(name) for name in proposal.ignored_columns)
        lines += [f"ignore_columns: [{names}]\n"]
    if proposal.has_open_losses:
        lines += [
            "# Are losses in per cent? No name and no qdisc says it. If not, write loss_ratio for each loss_pct.\n"
        ]
    lines += [f"# {proposal.ask_of_delays()}\n"] if proposal.has_open_delays else []
    lines += [f"# {doubt}\n"] if (doubt := proposal.ask_of_flows()) else []
    lines += ["files:\n"] if proposal.patterns else []
    for one in proposal.patterns:
        lines += _write_files_of(one, proposal.list_constants(one))
    lines += ["ignore:\n"] if proposal.ignored else []
    for ignored in proposal.ignored:
        lines += [f"  # {ignored.describe()}\n", f"  - {_quote(ignored.expression)}\n"]
    if proposal.job is not None:
        lines += [f"# {ONE_JOB}\n"]
    elif any("job" in own.constants for own in proposal.patterns):
        lines += [f"# {SEVERAL_JOBS}\n"]
    if proposal.runs_by:
        lines += ["# Groups that all kinds of files have: files that agree in these are of one run.\n"]
        lines += [f"runs_by: [{', '.join(proposal.runs_by)}]\n"]
    if proposal.joined:
        lines += [f"# {describe_joined(proposal.joined)}.\n"]
    if unnamed := [path for path in proposal.unnamed if path != proposal.table]:
        lines += ["# Of these no name says more than that they are there:\n"]
        lines += [f"#   {path}\n" for path in unnamed[:20]]
        if len(unnamed) > 20:
            lines += [f"#   and {len(unnamed) - 20} more\n"]
    return "".join(lines)


def _write_files_of(one: ProposedPattern, constants: Mapping[str, str]) -> list[str]:
    example = one.paths[0]
    lines = [f"  # {count_things(one.count, f'{one.kind} file')}, such as {example}\n"]
    lines += [f"  - pattern: {_quote(one.write_pattern())}\n"]
    if one.kind in DECLARED or not one.is_loose:
        lines += [f"    kind: {one.kind}\n"]
    if constants:
        values = {
            name: text if name in NUMBERS or _is_plain(text) else _quote(text) for name, text in constants.items()
        }
        lines += [f"    set: {{{', '.join(f'{name}: {text}' for name, text in values.items())}}}\n"]
    if one.factors:
        factors = ", ".join(f"{group}: {factor:g}".replace("e+0", "e") for group, factor in one.factors.items())
        lines += [f"    scale: {{{factors}}}\n"]
    return lines


def _is_plain(text: str) -> bool:
    """Tell whether a text is the same as a YAML scalar without quotes: `second`, but neither 2 nor on."""
    return text.isalnum() and yaml.safe_load(text) == text


def _quote(text: str) -> str:
    """Return a text as a YAML scalar: in single quotes, in which only these are doubled, where it is all printable."""
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)
