"""List and read an archive while Python's audit events are watched: `python -m hostile.watched ARCHIVE WORK`.

Prints a JSON object: `events` (processes, connections, and files written outside of the work folder), `opened` (files
read), and how many raw files were `ingested` and how many rows of `rejected` came out.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from archives import list_archive
from fuzz.targets import SETTINGS

from ccreport.core.table_folder import TableFolder
from ccreport.ingest.readers import READERS
from ccreport.ingest.reading import read_experiment

STARTS = ("subprocess.", "os.exec", "os.posix_spawn", "os.system", "os.spawn", "os.fork", "pty.")
CONNECTS = ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto", "urllib.")
CHANGES = (
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.chown",
    "os.truncate",
)


def read_watched(archive: Path, work: Path) -> dict[str, Any]:
    """List and read an archive, and return what happened."""
    # Compiling and caching the readers is before.
    for module in ("ss.file", "captures.file", "edge.dump_file"):
        importlib.import_module(f"ccreport.ingest.{module}")
    from ccreport.ingest.captures.file import compile_capture_reader  # noqa: PLC0415
    from ccreport.ingest.ss.file import compile_reader  # noqa: PLC0415

    compile_capture_reader()
    compile_reader()
    events: list[str] = []
    opened: list[str] = []
    # numba looks for compiled code beside the package, others for their data.
    inside = (str(work), os.devnull)

    def is_inside(name: str) -> bool:
        return os.path.abspath(name).startswith(inside) or "__pycache__" in name  # noqa: PTH100 (a Path opens nothing)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith((*STARTS, *CONNECTS)):
            events.append(f"{event} {arguments!r}"[:200])
        elif event == "open":
            path, mode, flags = arguments
            name = os.fsdecode(path) if isinstance(path, str | bytes) else ""
            is_written = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) or (
                isinstance(mode, str) and set(mode) & set("wxa+")
            )
            if is_written and name and not os.path.abspath(name).startswith(inside) and "__pycache__" not in name:  # noqa: PTH100
                events.append(f"write {name}")
            elif name:
                opened.append(name)
        elif event in CHANGES:
            name = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes | os.PathLike) else ""
            if not is_inside(name):
                events.append(f"{event} {name}")

    sys.addaudithook(watch)
    counted = _read_all(archive, work)
    return {"events": events, "opened": opened, **counted}


def _read_all(archive: Path, work: Path) -> dict[str, int]:
    listed = list_archive(archive, work)
    ingested = rejected = 0
    for manifest in listed.values():
        for reader in READERS:
            files = manifest.files_for(reader.rule)
            if files:
                tables = TableFolder(work / "tables" / manifest.experiment_id / reader.name)
                read_experiment(reader, manifest, _root(work), tables.folder, SETTINGS)
                refused = tables.read("rejects").filter("is_whole_file").height
                rejected += refused
                ingested += len(files) - refused
    return {"ingested": ingested, "rejected": rejected}


def _root(work: Path) -> Path:
    return work / "archive"


if __name__ == "__main__":
    print(json.dumps(read_watched(Path(sys.argv[1]), Path(sys.argv[2]).absolute())))
