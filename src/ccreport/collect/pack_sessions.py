"""The command `pack_sessions`: finished sessions of a collected archive as files that are kept and published.

The same files give the same bytes: members are sorted, have the times of their files to the second, and no owner. A
folder of such files is an archive in parts.
"""

import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import zstandard

from ccreport.archive.pack import list_files, pack_folder
from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.sessions import JOURNAL, PARTIAL, SESSION, is_complete, read_json
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import guess_path
from ccreport.storage.sums import hash_file
from ccreport.storage.writable import check_folder

# Packed once, then kept and fetched often.
LEVEL: Final = 19


def pack_sessions(archive: Path, target: Path, session: Sequence[str] = ()) -> None:
    """Pack each finished session of a collected archive into a file of its own, `<label>.tar.zst` below `target`.

    `archive` is the archive's folder. `target` is the folder of the packed files. `session` has the labels of the
    sessions to pack; without it all are packed. A session is finished when every run that its `campaign.yaml` declares
    is complete. A packed file is replaced only by one that has all of its runs. Raise InputError where a label is
    unknown or is that of two sessions, where a file of its name has other runs, and, after the others are packed, where
    a session is not finished.
    """
    if archive.is_file():
        raise InputError(f"{archive} is a file; name the folder of a campaign's archive")
    if not archive.is_dir():
        raise InputError(f"{archive} does not exist{guess_path(archive)}")
    folders = _find_folders(archive)
    if not folders:
        raise InputError(f"{archive} has no session that `collect` made; name the folder of a campaign's archive")
    if target.resolve().is_relative_to(archive.resolve()):
        beside = archive.with_name(f"{archive.resolve().name}-packed")
        raise InputError(f"--target {target} is the archive {archive}, or in it; write `--target {beside}`")
    labels = sorted(session or folders)
    if unknown := [label for label in labels if label not in folders]:
        known = ", ".join(sorted(folders))
        raise InputError(f"{archive} has no session {', '.join(unknown)}; its sessions are: {known}")
    for label in labels:
        if len(folders[label]) > 1:
            *others, last = (folder.name for folder in folders[label])
            names, have = f"{', '.join(others)} and {last}", "both have" if len(others) == 1 else "all have"
            raise InputError(f"{names} {have} the label {label}; keep only one of them in this archive")
    for label in labels:
        if (packed := target / f"{label}.tar.zst").exists() and not _holds_part(packed, *folders[label]):
            raise InputError(
                f"{packed} has other runs than {folders[label][0]}; name another --target, or move it away"
            )
    check_folder(target, "--target")
    target.mkdir(parents=True, exist_ok=True)
    refused = []
    for label in labels:
        (folder,) = folders[label]
        if missing := _find_missing(folder):
            refused.append(f"{label} ({folder.name}): {missing}")
            continue
        packed = target / f"{label}.tar.zst"
        pack_folder(folder, packed, None, root=folder.name, level=LEVEL)
        print(f"{packed}: {len(list_files(folder))} files, {packed.stat().st_size} bytes, {hash_file(packed)}")
    if refused:
        raise InputError(f"not finished and not packed: {'; '.join(refused)}; the same `collect` command finishes it")


def _find_folders(archive: Path) -> dict[str, list[Path]]:
    """Return the folders of an archive's sessions by their labels."""
    found: dict[str, list[Path]] = {}
    for path in sorted(archive.glob(f"*/{SESSION}")):
        found.setdefault(str(read_json(path)["label"]), []).append(path.parent)
    return found


def _holds_part(packed: Path, session: Path) -> bool:
    """Tell whether a packed file has nothing but files of a session, those of runs with the same bytes.

    What is not of a run, such as the ledger of attempts, grows with a session. No file of a run is written twice.
    """
    try:
        with (
            packed.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as stream,
            tarfile.open(fileobj=stream, mode="r|") as members,
        ):
            return all(_is_same(member, members, session) for member in members)
    except (tarfile.TarError, zstandard.ZstdError, OSError):
        return False


def _is_same(member: tarfile.TarInfo, members: tarfile.TarFile, session: Path) -> bool:
    path = session.parent / member.name
    if not (member.name.startswith(f"{session.name}/") and path.is_file()):
        return False
    # src-cmd:10.201.1.2:1:20.0ms
    is_of_run = ":" in path.name
    return not is_of_run or (content := members.extractfile(member)) is None or content.read() == path.read_bytes()


def _find_missing(session: Path) -> str:
    """Return in words what a session lacks, or an empty text where it is finished."""
    told = read_json(session / SESSION)
    journals = session.parent.glob(f"{PARTIAL}/*/{JOURNAL}")
    if any(json.loads(journal.read_text(encoding="utf-8"))["session"] == session.name for journal in journals):
        return "a run of it is being made, or was when `collect` was stopped"
    plan = plan_campaign(load_campaign(session / "campaign.yaml"), told["campaign"])
    runs = [run for run in plan.runs if run.session == told["label"]]
    missing = [run for run in runs if not is_complete(session, run)]
    if not runs:
        return "its campaign.yaml declares no run of it"
    return f"{len(missing)} of {len(runs)} runs are missing, the first is {missing[0].key}" if missing else ""
