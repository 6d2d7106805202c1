"""What the files of one experiment are: of each its kind, the run that it belongs to, and what shall become of it.

A folder whose files all are as they were in the former listing keeps the manifest that it had then.
"""

import contextlib
import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ccreport.archive.harness_layout import Folder, Suffix, strip_copy_endings
from ccreport.archive.manifest import Manifest, ManifestRun, RawFile
from ccreport.archive.raw_file import read_head
from ccreport.core.identifiers import short_hash
from ccreport.core.text import display_name
from ccreport.inventory.formats import PACKED, recognise_format
from ccreport.inventory.index import FolderIndex, Listed, Look
from ccreport.inventory.kinds import (
    CLAIMING_KINDS,
    COPY_RULE,
    JOB_KINDS,
    LAYOUT_RULE,
    NO_RUN,
    RUN_KINDS,
    TEST_KINDS,
    decide_kind,
    explain_no_run,
    rule_of_kind,
)
from ccreport.inventory.names import FileName, HarnessNames, ListedFile, read_meta_host

# As many as nobody can find two paths for that have the same: files of all experiments are told apart by nothing else.
FILE_DIGITS = 32
NOT_A_FILE = "this is a link, a device or a pipe, which no rule follows; copy the file itself into the archive"
PACKED_AMONG_OTHERS = (
    "this is a packed file, which is not opened among other files; unpack it here and take it away, or give packed "
    "files by themselves: one, a list of them, or a folder of nothing else"
)
TWO_CLAIM_ONE = "{other} already is this run's {kind}; remove one of the two, or give it another iteration number"
UNCLEAR: dict[str, Any] = {"action": "rejected", "rule": None, "reason": "unclear_name", "run_id": None}
# A file's place in its run: kind, run, client and side; of one about all runs of a job, kind and host.
Item = tuple[str, str | None, int | None, str | None]
CLIENT_FORMATS = frozenset({"iperf3", "iperf3-stream", "pscheduler"})
TWO_DECLARED = (
    "{other} already is this run's {kind}; give the layout a group that tells the two apart: `job` for tests of "
    "different patterns (`set: {{job: NAME}}` below one), `iteration` or `run` for repetitions, `flow` for flows that "
    "began together (`set: {{flow: first}}` below a pattern without the word), `side` for the two hosts of a run; call "
    "a `run` of several runs `session`, or add `runs_by`"
)
TWO_OF_JOB = (
    "{other} already is this job's {kind}, and a job takes one (of each host); remove one of the two, or let a layout "
    "name the second under `ignore`, or give it the `job` that it is about"
)
# Of files beside tests that are told apart.
TWO_BESIDE = (
    "{other} already is this run's {kind}, and a run takes one; where both are of one run, as from before and after "
    "the test, name the second under `ignore` of the layout; else give it a group that tells the runs apart"
)
OF_SIDES = "; of sender and receiver it takes one each: write `set: {{side: receiver}}` below the pattern of the latter"


def list_folder(folder: Folder, files: list[ListedFile], known: FolderIndex, *, has_layout: bool = False) -> Listed:
    """Return an experiment as listed: its files, by their paths below the root, and its manifest.

    `has_layout` tells that the user declares one, in which a pattern can say what a file is.
    """
    former = known.recall_folder(folder.experiment_id, [(file.path, file.entry) for file in files])
    if former is not None:
        return former
    listed = Listed.of(_make_manifest(folder, files, known, has_layout=has_layout))
    known.note_folder(listed)
    return listed


def _make_manifest(folder: Folder, files: list[ListedFile], known: FolderIndex, *, has_layout: bool) -> Manifest:
    names = HarnessNames(folder, (file.entry for file in files))
    declared = {file.path for file in files if file.declared is not None}
    runs: dict[str, ManifestRun] = {}
    listed = []
    for file in files:
        raw_file, suffix = _look_at(file, file.declared or names.read(file.entry.name), folder, known)
        if suffix is not None and raw_file.run_id is not None and raw_file.kind in CLAIMING_KINDS:
            runs.setdefault(raw_file.run_id, _make_run(raw_file.run_id, suffix))
        listed.append(raw_file)
    has_client_output = any(file.kind == "src-cmd" and file.action == "ingest" for file in listed)
    about = {"has_client_output": has_client_output, "has_layout": has_layout}
    listed = [_place(file, runs, is_declared=file.path in declared, **about) for file in listed]
    return Manifest(
        folder.experiment_id,
        folder.session,
        folder.job,
        tuple(runs[run_id] for run_id in sorted(runs)),
        tuple(_settle_rivals(listed, declared)),
    )


def _place(
    file: RawFile, runs: Mapping[str, ManifestRun], *, is_declared: bool, has_client_output: bool, has_layout: bool
) -> RawFile:
    """Return a file without a run that it alone would be, rejected where it says nothing without one.

    Samples of sockets may still be those of a test in the same folder, whose connections the reader knows.
    """
    # A snapshot of counters is a run's if the run has other files; names of edge networks look the same.
    if file.kind == "nstat" and file.run_id not in runs:
        return replace(file, run_id=None)
    is_placed = file.run_id in runs or (file.kind == "ss" and has_client_output)
    if is_placed or file.action != "ingest" or file.kind not in NO_RUN:
        return file
    is_untaken = has_layout and not is_declared and file.run_id is None
    message = explain_no_run(file.kind, is_declared=is_declared, is_untaken=is_untaken)
    return replace(file, action="rejected", rule=None, reason="no_run", message=message, run_id=None, client_number=1)


def _make_run(run_id: str, suffix: Suffix) -> ManifestRun:
    return ManifestRun(
        run_id,
        display_name(suffix.text),
        suffix.host,
        suffix.iteration,
        suffix.rtt_nominal_ms,
        suffix.limit,
        suffix.parameter_name,
        suffix.parameter_value,
        dict(suffix.conditions) if suffix.conditions is not None else None,
    )


def _look_at(file: ListedFile, name: FileName, folder: Folder, known: FolderIndex) -> tuple[RawFile, Suffix | None]:
    path, entry = file.path, file.entry
    raw_file_id = short_hash(path, FILE_DIGITS)
    if name.kind == "unfinished":
        return _unfinished(raw_file_id, path, entry), None
    if not entry.is_file(follow_symlinks=False):
        return reject(raw_file_id, path, "not_a_file", NOT_A_FILE), None
    try:
        look = _read_file(path, entry, known)
    except OSError as error:
        message = f"the file cannot be read ({error.strerror}); check its permissions and the disk"
        return reject(raw_file_id, path, "unreadable", message), None
    content = look.content
    kind = decide_kind(_correct_kind(name, content), content)
    action, rule = rule_of_kind(kind, content)
    if name.ignored_by is not None:
        kind, action, rule = name.kind, "ignored", f"{LAYOUT_RULE}{name.ignored_by}"
    suffix = name.run
    if suffix is None and kind in TEST_KINDS:
        # ASSUME: a test's result outside the harness's naming is a run of its own, named by the file.
        suffix = Suffix(strip_copy_endings(entry.name)[0], None, None)
    client_number, side = name.find_place(kind)
    raw_file = RawFile(
        raw_file_id=raw_file_id,
        path=path,
        kind=kind,
        format=content if content != "results" else "json",
        size_bytes=look.size_bytes,
        sha256=look.sha256,
        action=action,
        rule=rule,
        run_id=folder.run_id(suffix.text) if suffix is not None else None,
        client_number=client_number,
        side=side,
        host=(name.host or read_meta_host(entry.name)) if kind == "host-meta" else None,
        cc=name.cc,
    )
    if name.problem is not None:
        return replace(raw_file, **UNCLEAR, message=name.problem), None
    if content == PACKED and name.ignored_by is None and name.kind != "unfinished":
        rejected = replace(raw_file, action="rejected", rule=None, reason="unexpected_structure", run_id=None)
        return replace(rejected, message=PACKED_AMONG_OTHERS), None
    return raw_file, suffix


def _correct_kind(name: FileName, content: str) -> str:
    """Return the kind that a name says; what a layout puts on the receiver's side is not how the sender saw it."""
    if not name.is_declared or name.side != "receiver":
        return name.kind
    if content in CLIENT_FORMATS:
        return "dst-cmd"
    return "side-file" if content == "ss" else name.kind


def _unfinished(raw_file_id: str, path: str, entry: os.DirEntry[str]) -> RawFile:
    """Return a file of a run that is still being collected, which may change or go at any time, as empty then."""
    size_bytes, sha256 = 0, hashlib.sha256().hexdigest()
    if entry.is_file(follow_symlinks=False):
        with contextlib.suppress(OSError):
            size_bytes, sha256, _ = _read_bytes(Path(entry.path))
    action, rule = rule_of_kind("unfinished", "")
    return RawFile(raw_file_id, path, "unfinished", None, size_bytes, sha256, action, rule)


def reject(raw_file_id: str, path: str, reason: str, message: str) -> RawFile:
    """Return a file that no reader is to see, with the reason of `rejects.yaml` and what its user can do."""
    return RawFile(
        raw_file_id, path, "unknown", None, 0, hashlib.sha256().hexdigest(), "rejected", reason=reason, message=message
    )


def _read_file(path: str, entry: os.DirEntry[str], known: FolderIndex) -> Look:
    """Return what the index knows of a file, else what reading it tells; raise OSError if it cannot be read."""
    status = entry.stat(follow_symlinks=False)
    look = known.recall(path, status)
    if look is None:
        size_bytes, sha256, head = _read_bytes(Path(entry.path))
        look = Look(size_bytes, sha256, recognise_format(head))
        known.note(path, status, look)
    return look


def _read_bytes(path: Path) -> tuple[int, str, bytes]:
    """Return size, SHA-256 and the first decompressed bytes of a file; raise OSError if it cannot be read."""
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        size_bytes = stream.tell()
    return size_bytes, sha256, read_head(path)


def _settle_rivals(files: list[RawFile], declared: Collection[str]) -> Iterable[RawFile]:
    """Choose one file for each item of a run: the raw one before its copies, the first path before another."""
    ranked = sorted(files, key=_rank)
    chosen: dict[Item, RawFile] = {}
    settled = {}
    tests = [item for file in files if file.kind in TEST_KINDS and (item := _find_item(file)) is not None]
    mixed = {item[1] for item, count in Counter(tests).items() if count > 1}
    for file in ranked:
        item = _find_item(file)
        if item is None or chosen.setdefault(item, file) is file:
            settled[file.path] = file
            continue
        first = chosen[item]
        if strip_copy_endings(file.path)[0] == strip_copy_endings(first.path)[0]:
            settled[file.path] = replace(file, action="ignored", rule=COPY_RULE)
        else:
            words = _choose_words(file, mixed, is_declared=file.path in declared)
            message = words.format(other=display_name(first.path), kind=file.kind)
            settled[file.path] = replace(file, action="rejected", rule=None, reason="duplicate_run", message=message)
    return [settled[file.path] for file in files]


def _find_item(file: RawFile) -> Item | None:
    """Return the place in a run, or in a job, that a file alone can have; None where others can have it as well."""
    if file.action == "ingest" and file.kind in JOB_KINDS:
        return file.kind, None, None, file.host
    is_of_run = file.action == "ingest" and file.kind in RUN_KINDS and file.run_id is not None
    return (file.kind, file.run_id, file.client_number, file.side) if is_of_run else None


def _choose_words(file: RawFile, mixed: Collection[str | None], *, is_declared: bool) -> str:
    """Return what to say of a file whose place another has; `mixed` are the runs with several tests in one place."""
    if file.kind in JOB_KINDS:
        return TWO_OF_JOB
    if not is_declared:
        return TWO_CLAIM_ONE
    return TWO_DECLARED if file.run_id in mixed else TWO_BESIDE + (OF_SIDES if file.kind == "mpstat" else "")


def _rank(file: RawFile) -> tuple[bool, int, int, str]:
    name = file.path.rpartition("/")[2]
    endings = strip_copy_endings(name)[1]
    # An empty raw file says nothing, so a copy of it that does is read in its place.
    return (file.format == "empty", file.path.count("/"), len(endings), file.path)
