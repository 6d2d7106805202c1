"""What the files of one experiment are: of each its kind, the run that it belongs to, and what shall become of it.

A folder whose files all are as they were in the former listing keeps the manifest that it had then.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path, PurePosixPath

from ccreport.archive import HOST_META_ENDING, Folder, Suffix, parse_suffix, split_name, strip_copy_endings
from ccreport.content import HEAD_BYTES, recognise_format
from ccreport.flow_identity import short_hash
from ccreport.inventory_index import FolderIndex, Listed, Look
from ccreport.job_names import read_job
from ccreport.kinds import COPY_RULE, RUN_KINDS, decide_kind, kind_of_name, kind_of_place, rule_of_kind
from ccreport.raw import Manifest, ManifestRun, RawFile, RawFileError, display_name, iterate_blocks

# As many as nobody can find two paths for that have the same: files of all experiments are told apart by nothing else.
FILE_DIGITS = 32
NOT_A_FILE = "this is a link, a device or a pipe, which no rule follows; copy the file itself into the archive"
TWO_CLAIM_ONE = "{other} already is this run's {kind}; remove one of the two, or give it another iteration number"


def list_folder(folder: Folder, files: list[tuple[str, os.DirEntry[str]]], known: FolderIndex) -> Listed:
    """Return an experiment as listed: its files, by their paths below the root, and its manifest."""
    former = known.recall_folder(folder.experiment_id, files)
    if former is not None:
        return former
    listed = Listed.of(_make_manifest(folder, files, known))
    known.note_folder(listed)
    return listed


def _make_manifest(folder: Folder, files: list[tuple[str, os.DirEntry[str]]], known: FolderIndex) -> Manifest:
    job = read_job(entry for _, entry in files)
    # Several files of a run have the same.
    read_suffix = cache(
        partial(parse_suffix, destinations=job.destinations, parameter=job.parameter, has_limits=job.has_limits)
    )
    runs: dict[str, ManifestRun] = {}
    listed = []
    for path, entry in files:
        raw_file, suffix = _look_at(path, entry, read_suffix, folder, known)
        if suffix is not None and raw_file.run_id is not None and raw_file.kind in RUN_KINDS:
            runs.setdefault(raw_file.run_id, _make_run(raw_file.run_id, suffix))
        listed.append(raw_file)
    # A snapshot of counters is a run's if the run has other files; names of edge networks look the same.
    listed = [
        replace(file, run_id=None) if file.kind == "nstat" and file.run_id not in runs else file for file in listed
    ]
    return Manifest(
        folder.experiment_id,
        folder.session,
        folder.job,
        tuple(runs[run_id] for run_id in sorted(runs)),
        tuple(_settle_rivals(listed)),
    )


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
    )


def _look_at(
    path: str,
    entry: os.DirEntry[str],
    read_suffix: Callable[[str], Suffix],
    folder: Folder,
    known: FolderIndex,
) -> tuple[RawFile, Suffix | None]:
    raw_file_id = short_hash(path, FILE_DIGITS)
    by_place = kind_of_place(folder, entry.name)
    if by_place == "unfinished":
        return _unfinished(raw_file_id, path, entry), None
    if not entry.is_file(follow_symlinks=False):
        return reject(raw_file_id, path, "not_a_file", NOT_A_FILE), None
    try:
        look = _read_file(path, entry, known)
    except OSError as error:
        message = f"the file cannot be read ({error.strerror}); check its permissions and the disk"
        return reject(raw_file_id, path, "unreadable", message), None
    item = split_name(entry.name)
    content = look.content
    kind = decide_kind(by_place or kind_of_name(entry.name, item), content)
    action, rule = rule_of_kind(kind, content)
    suffix = None
    if item is not None:
        suffix = read_suffix(item.suffix)
    elif kind in RUN_KINDS:
        # ASSUME: a data file outside the harness's naming is a run of its own, named by the file.
        suffix = Suffix(strip_copy_endings(entry.name)[0], None, None)
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
        client_number=item.client_number if item is not None else 1,
        side=_side_of(entry.name) if kind == "mpstat" else None,
        host=display_name(entry.name.removesuffix(HOST_META_ENDING)) if kind == "host-meta" else None,
    )
    return raw_file, suffix


def _unfinished(raw_file_id: str, path: str, entry: os.DirEntry[str]) -> RawFile:
    """Return a file of a run that is still being collected, which may change or go at any time, as empty then."""
    size_bytes, sha256 = 0, hashlib.sha256().hexdigest()
    if entry.is_file(follow_symlinks=False):
        with contextlib.suppress(OSError):
            size_bytes, sha256, _ = _read_bytes(Path(entry.path))
    action, rule = rule_of_kind("unfinished", "")
    return RawFile(raw_file_id, path, "unfinished", None, size_bytes, sha256, action, rule)


def _side_of(name: str) -> str:
    # ASSUME: mpstat output that does not say which host it is from is the sender's, where the harness runs.
    return "receiver" if "receiver" in name else "sender"


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
    head = b""
    with contextlib.suppress(RawFileError):  # a broken rest is for the ingest rule to report
        for block in iterate_blocks(path, HEAD_BYTES):
            head += block
            if len(head) >= HEAD_BYTES:
                break
    # One block may unpack to a hundred megabytes, which patterns are not to look through.
    return size_bytes, sha256, head[:HEAD_BYTES]


def _settle_rivals(files: list[RawFile]) -> Iterable[RawFile]:
    """Let one file stand for each item of a run: the raw one before its copies, the first path before another."""
    ranked = sorted(files, key=_rank)
    chosen: dict[tuple[object, ...], RawFile] = {}
    settled = {}
    for file in ranked:
        item = (file.kind, file.run_id, file.client_number, file.side)
        if file.action != "ingest" or file.kind not in RUN_KINDS or chosen.setdefault(item, file) is file:
            settled[file.path] = file
            continue
        first = chosen[item]
        if PurePosixPath(first.path).parent == PurePosixPath(file.path).parent:
            settled[file.path] = replace(file, action="ignored", rule=COPY_RULE)
        else:
            message = TWO_CLAIM_ONE.format(other=display_name(first.path), kind=file.kind)
            settled[file.path] = replace(file, action="rejected", rule=None, reason="duplicate_run", message=message)
    return [settled[file.path] for file in files]


def _rank(file: RawFile) -> tuple[bool, int, int, str]:
    name = file.path.rpartition("/")[2]
    endings = strip_copy_endings(name)[1]
    # An empty raw file says nothing, so a copy of it that does is read in its place.
    return (file.format == "empty", file.path.count("/"), len(endings), file.path)
