"""A folder to build in that is like a checkout, with results, locks and notes of its own, and faults there."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from archives import ROOT

LINKED = (
    "benchmarks",
    "environment.yml",
    "evaluations",
    "reports",
    "rules",
    "schemas",
    "src",
    "workflow",
    "campaigns",
    "CITATION.cff",
)
TARGET = "tables"
# Notes of times, and the database, which has paths.
NOT_COMPARED = ("inventory.jsonl", "archive.duckdb", ".snakemake_timestamp", ".set_backs.txt")
# A busy machine takes many times what a quiet one does.
LIMIT_S = 900.0
# Read by each shell of a job: of `python` with the command named in the file `killed` the process is killed at its n-th
# file that is whole, or at its end, once.
FAULT = """\
python() {
  if [ "$1 $2 $3" != "-m ccreport $(cat killed 2>/dev/null)" ]; then
    command python "$@"
    return
  fi
  rm killed
  command python - "$@" <<'END'
import os, pathlib, runpy, signal, sys
rename, names = pathlib.Path.replace, []
def replace(path, target):
    names.append(target)
    if len(names) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(path, target)
pathlib.Path.replace = replace
sys.argv = sys.argv[2:]
try:
    runpy.run_module("ccreport", run_name="__main__")
finally:
    os.kill(os.getpid(), signal.SIGKILL)
END
}
"""


class Checkout:
    """A folder with the sources by links, an archive `raw`, and results that a build makes in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        self.said = folder / "said.txt"

    def set_up(self, archive: Path) -> None:
        self.folder.mkdir()
        for name in LINKED:
            (self.folder / name).symlink_to(ROOT / name)
        shutil.copy(ROOT / "config.yaml", self.folder)
        shutil.copytree(archive, self.folder / "raw", copy_function=shutil.copy2)
        (self.folder / "fault.sh").write_text(FAULT)

    def copy(self, folder: Path) -> "Checkout":
        """Copy all of it, times included, as if all had happened there."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Checkout(folder)

    def start(
        self, *options: str, target: str = TARGET, said: Path | None = None, **values: object
    ) -> subprocess.Popen[bytes]:
        """Start a build as a user would, with values of the configuration; what it says goes into a file."""
        config = ["archive=raw", "evaluation=esnet-dtn", "explanations=", "sections=[]", "packet_runs=[]"]
        config += [f"{name}={value}" for name, value in values.items()]
        command = [sys.executable, "-m", "snakemake", "--cores", "2", *options, target, "--config", *config]
        environment = os.environ | {"BASH_ENV": str(self.folder / "fault.sh")}
        with (said or self.said).open("wb") as output:
            return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=output, stderr=output)

    def build(self, *options: str, target: str = TARGET, **values: object) -> tuple[int, str]:
        """Build; return the exit code and what was said."""
        code = self.start(*options, target=target, **values).wait(LIMIT_S)
        return code, self.said.read_text()

    def read_results(self) -> dict[str, str]:
        """Return the SHA-256 of every result but notes of times and the database, which has paths."""
        return {
            str(path.relative_to(self.results)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.results.rglob("*")
            if path.is_file()
            and path.name not in ("inventory.jsonl", "archive.duckdb", ".snakemake_timestamp", ".set_backs.txt")
        }


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it started, as an operating system does that is out of memory or switched off."""
    parent = psutil.Process(process.pid)
    parent.suspend()
    for one in (*parent.children(recursive=True), parent):
        one.send_signal(signal.SIGKILL)
    process.wait()


def wait_until(happened: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait for something that a build does; raise where the build ends without it."""
    last = time.monotonic() + LIMIT_S
    while not happened():
        if process.poll() is not None or time.monotonic() > last:
            raise RuntimeError("the build ended, and that never happened")
        time.sleep(0.01)
