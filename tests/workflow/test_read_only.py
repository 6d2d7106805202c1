"""Calls of Snakemake that only read the rules: they change no file and no time, and ask no server."""

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from archives import ROOT
from checkouts import LIMIT_S, Checkout
from synthesised import make

pytestmark = pytest.mark.slow

HOUR_S = 3600
READING = ["--list", "--dry-run", "--lint", "--dag", "--summary", "--rulegraph"]
# Sources, which a checkout of the tests has by links.
SOURCES = ("evaluations", "reports", "rules", "schemas", "src", "workflow")
# Whoever connects says so in a file; loaded by Python at its start.
TELLTALE = """\
import pathlib, socket
connect = socket.socket.connect
def tell(self, address):
    with pathlib.Path({path!r}).open("a") as told:
        print(address, file=told)
    return connect(self, address)
socket.socket.connect = tell
"""
# Parses the rules as Snakemake's command line does, and tells what is no longer as Snakemake has it.
COMPARE = """\
import sys
from snakemake.cli import main
from snakemake.jobs import Job
from snakemake.persistence.file import FilePersistence
import snakemake_executor_plugin_slurm as slurm
before = [dict(vars(each)) for each in (Job, FilePersistence, slurm, slurm.validation)]
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended.code
after = [dict(vars(each)) for each in (Job, FilePersistence, slurm, slurm.validation)]
print("PATCHED", [name for was, now in zip(before, after) for name in was if was[name] is not now.get(name)])
"""


def take_stock(*folders: Path) -> dict[str, tuple[int, int, str]]:
    """Return size, time and content of everything below folders, but for Snakemake's and Python's own notes."""
    found = {}
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            if {".snakemake", "__pycache__"} & set(path.parts) or path.name in ("said.txt", "connected.txt"):
                continue
            facts = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            # The checkout's own folder has Snakemake's in it.
            time_ns = 0 if path == folder else facts.st_mtime_ns
            found[str(path)] = (facts.st_size, time_ns, content)
    return found


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout in which tables were built, one of them, says its time, in the future."""
    folder = tmp_path_factory.mktemp("read")
    checkout = Checkout(folder / "checkout")
    checkout.set_up(make(folder / "archive", 4, seed=7, runs_per_job=2, bytes_per_run=5000).folder)
    code, said = checkout.build(target="results/esnet-dtn/summaries/table_2_testbed.csv")
    assert code == 0, said
    os.utime(checkout.results / "batches.txt", (time.time() + HOUR_S,) * 2)
    (checkout.folder / "site").mkdir()
    (checkout.folder / "site/sitecustomize.py").write_text(TELLTALE.format(path=str(checkout.folder / "connected.txt")))
    return checkout


def read(checkout: Checkout, *options: str, archive: str = "raw") -> str:
    """Call Snakemake in a checkout; return what it said."""
    # Behind --dag, a target would be read as the kind of graph.
    targets = [] if options[0] in ("--list", "--lint") else ["report"]
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *targets, *options]
    environment = os.environ | {"PYTHONPATH": str(checkout.folder / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    values = [f"archive={archive}", "explanations=", "packet_runs=[]"]
    done = subprocess.run(
        [*command, "--config", *values],
        cwd=checkout.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def count_requests(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder on loopback; give its address and the list of requests."""
    requests: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            requests.append(f"{self.requestline} {code} {size}")

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_reading_leaves_every_file_and_time_alone_and_asks_nobody(ahead: Checkout) -> None:
    folders = (ahead.folder, *(ROOT / name for name in SOURCES))
    before = take_stock(*folders)
    assert f"{ahead.results}/batches.txt" in before
    assert f"{ROOT}/rules/start.smk" in before
    with count_requests(ahead.folder / "raw") as (address, requests):
        for option in READING:
            said = read(ahead, option)
            read(ahead, option, archive=address)
            assert take_stock(*folders) == before, option
            if option == "--dry-run":
                # The times of results are set back in a build, which begins with the inventory.
                assert "checkpoint list_raw_files:" in said
        assert requests == []
        assert not (ahead.folder / "connected.txt").exists()
        # The server counts what a build asks.
        other = "{results: elsewhere, logs: elsewhere/logs}"
        code, said = ahead.build(target="elsewhere/fetched.json", archive=address, pathvars=other)
        assert code == 0, said
        assert len(requests) > 2


def test_parsing_patches_nothing(ahead: Checkout) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMPARE, "--list", "--config", "archive=raw", "explanations="],
        cwd=ahead.folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert "PATCHED []" in done.stdout, done.stdout + done.stderr
