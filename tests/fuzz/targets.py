"""What is fuzzed: for each reader a function of bytes, which must end with tables and rejects, whatever the bytes are.

A target does what the pipeline does with a file: it is listed as one of an archive, read, checked against the schemas
and written. A reader that raises anything but its declared error has a fault, and so has one whose rows break the
schema of its table, and one that makes neither a row nor a reject of a file.
"""

import atexit
import contextlib
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Final

import polars as pl
from archives import list_archive

from ccreport.archive.manifest import Manifest, ManifestRun, RawFile
from ccreport.collect.harness_ini.import_ini import import_harness_ini
from ccreport.core import tables as written
from ccreport.core.errors import InputError
from ccreport.core.tables import conform, load_schema, read_table
from ccreport.ingest.readers import find_reader
from ccreport.ingest.reading import Settings, read_experiment
from fuzz.seeds import SEEDS

CORPUS: Final = Path(__file__).parent / "corpus"
EDGE_PATHS: Final = r"(?:(?:.*/)?(?P<machine>[^/]+)/)?(?P<label>[^/]+)/[^/:]+(?::(?P<time>.+))?"
ACCESS_LOG_FORMAT: Final = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
    '"$http_user_agent" $request_time'
)
RUN: Final = "e.h-1"
# Names that bytes are made of are at most as long as Linux lets them be.
NAME_BYTES: Final = 255


@dataclass(frozen=True)
class Input:
    """What the pipeline knows of a file that is fuzzed: its reader, its kind, its path and its run."""

    reader: str
    kind: str
    path: str
    run_id: str | None = RUN


IPERF3: Final = Input("iperf3", "src-cmd", "2026-11-20:22:10/job/src-cmd:h:1")
INPUTS: Final = {
    "iperf3": IPERF3,
    "iperf3_stream": IPERF3,
    "iperf3_text": IPERF3,
    "pscheduler": IPERF3,
    "ss": Input("ss", "ss", "2026-11-20:22:10/job/ss:h:1"),
    "edge": Input("edge", "ss-neit", "tokyo/bbr/ss-neit:1795211351", None),
    "mpstat": Input("mpstat", "mpstat", "2026-11-20:22:10/job/mpstat-sender:h:1"),
    "jobmeta": Input("metadata", "jobmeta", "2026-11-20:22:10/job/jobmeta.json", None),
    "host_meta": Input("metadata", "host-meta", "2026-11-20:22:10/job/h-meta.json", None),
    "qdiscs": Input("metadata", "pre-netem", "2026-11-20:22:10/job/pre-netem:h:1"),
    "results": Input("metadata", "results", "results.dat", None),
    "capture": Input("captures", "tcpdump", "2026-11-20:22:10/job/tcpdump:h:1"),
    "capture_log": Input("captures", "tcpdump-log", "2026-11-20:22:10/job/tcpdump-log:h:1"),
    "netperf": Input("rpc", "netperf", "2026-11-20:22:10/job/netperf:h:1"),
    "flent": Input("rpc", "flent", "2026-11-20:22:10/job/flent:h:1"),
    "nginx": Input("nginx", "access-log", "tokyo/bbr/access.log", None),
    "nstat": Input("nstat", "nstat", "tokyo/bbr/nstat:1795211351", None),
    "session": Input("campaign", "session", "2026-11-20:22:10/session.json", None),
    "calibration": Input("campaign", "calibration", "2026-11-20:22:10/calibration.json", None),
    "attempts": Input("campaign", "attempts", "2026-11-20:22:10/attempts.jsonl", None),
}
SETTINGS: Final = Settings((RUN,), EDGE_PATHS, ACCESS_LOG_FORMAT)


@cache
def _work() -> Path:
    """Return a folder for the inputs and outputs of this process, which ends with it."""
    folder = tempfile.mkdtemp(prefix="ccreport-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def _list_one(name: str) -> Manifest:
    """Return the manifest of an archive with the one file of an input, which the inventory would write."""
    given = INPUTS[name]
    file = RawFile(
        "raw",
        given.path,
        given.kind,
        None,
        1,
        "0" * 64,
        "ingest",
        rule=find_reader(given.reader).rule,
        run_id=given.run_id,
        client_number=1,
        side="sender" if given.kind == "mpstat" else None,
        host="h" if given.kind == "host-meta" else None,
    )
    runs = (ManifestRun(RUN, "h:1", "h", 1),) if given.run_id else ()
    (_work() / "raw" / given.path).parent.mkdir(parents=True, exist_ok=True)
    return Manifest("e", "2026-11-20:22:10", "job", runs, (file,))


def read_file(name: str, data: bytes) -> None:
    """Read bytes as the file of one input; rows that the schemas forbid raise TableError."""
    reader, manifest, root = find_reader(INPUTS[name].reader), _list_one(name), _work() / "raw"
    (root / INPUTS[name].path).write_bytes(data)
    tables = (*reader.written, "rejects")
    paths = [_work() / f"{table}.parquet" for table in tables]
    for path in paths:
        path.unlink(missing_ok=True)
    with contextlib.redirect_stderr(io.StringIO()):
        read_experiment(reader, manifest, root, _work(), SETTINGS)
    rows = sum(_count_rows(table, path) for table, path in zip(tables, paths, strict=True))
    assert rows, "the file became neither a row nor a reject"


def _count_rows(table: str, path: Path) -> int:
    return _checked.pop(path, None) or (read_table(table, [path]).height if path.exists() else 0)


# The rows of tables that were checked and not written.
_checked: dict[Path, int] = {}


def write_nothing() -> None:
    """Let the readers check what they would write, and not write it, which is most of the time that they take."""

    def check_table(frame: pl.DataFrame, table: str, path: Path) -> None:
        _checked[path] = frame.height
        if frame.height:
            conformed = conform(frame, table)
            written._check_key(conformed, load_schema(table))
            conformed.to_arrow().cast(load_schema(table).arrow)

    for name in [name for name in sys.modules if name.startswith("ccreport.")]:
        if getattr(sys.modules[name], "write_table", None) is written.write_table:
            sys.modules[name].write_table = check_table  # type: ignore[attr-defined]


def import_ini(data: bytes) -> None:
    """Import bytes as an INI file of the harness."""
    ini, campaign = _work() / "sweep.ini", _work() / "campaign.yaml"
    ini.write_bytes(data)
    campaign.unlink(missing_ok=True)
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(InputError):
        import_harness_ini(ini, campaign=campaign)


def import_hosts(data: bytes) -> None:
    """Import an INI file of the harness with these bytes as its list of hosts, and as its profiles."""
    ini, campaign, hosts = _work() / "sweep.ini", _work() / "campaign.yaml", _work() / "hosts"
    ini.write_text("[a]\nenabled = true\nsrc-cmd = iperf3 -c {dst} -t 5 -J\n", encoding="utf-8")
    hosts.write_bytes(data)
    for option in ("hostlist", "profiles"):
        campaign.unlink(missing_ok=True)
        with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(InputError):
            import_harness_ini(ini, campaign=campaign, **{option: str(hosts)})


def list_names(data: bytes) -> None:
    """List an archive of files with these names, one a line, a folder where a name has a slash."""
    archive = _work() / "names"
    shutil.rmtree(archive, ignore_errors=True)
    archive.mkdir()
    wanted = 0
    for name in data.split(b"\n")[:20]:
        parts = [part[:NAME_BYTES] for part in name.split(b"/") if part not in (b"", b".", b"..")]
        target = Path(os.fsdecode(b"/".join([os.fsencode(archive), *parts])))
        with contextlib.suppress(OSError, ValueError):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(b"{}")
            wanted += 1
    _list(archive)


def unpack(data: bytes) -> None:
    """List the archive in one file that these bytes are; nothing may appear beside the folder of what is unpacked."""
    place = _work() / "unpack"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    archive = place / "archive"
    archive.write_bytes(data)
    _list(archive)
    assert {path.name for path in place.iterdir()} <= {"archive"}, "something was unpacked beside the archive"


def _list(archive: Path) -> None:
    shutil.rmtree(_work() / "listed", ignore_errors=True)
    with contextlib.suppress(InputError):
        assert all(manifest.files for manifest in list_archive(archive, _work() / "listed").values())


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    **{name: partial(read_file, name) for name in INPUTS},
    "harness_ini": import_ini,
    "harness_hosts": import_hosts,
    "names": list_names,
    "unpack": unpack,
}


def list_inputs(name: str) -> Iterator[bytes]:
    """Yield what a target begins with: real files and what earlier runs found."""
    finds: Iterable[Path] = sorted((CORPUS / name).glob("*")) if (CORPUS / name).is_dir() else ()
    return chain(SEEDS[name](), (find.read_bytes() for find in finds))
