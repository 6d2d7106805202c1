"""A sweep in the user-mode kernel, killed for real at several moments, and what is left of it then."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from user_kernel import needs_kernel

CAMPAIGN = """\
title: Two runs of two seconds
testbed:
  engine: user-mode-kernel
  clock: real
  memory_mib: 256
  retries_count: 3
  calibration: {packets_count: 1000, on_failure: warn}
sessions:
  - label: main
    hostname: sender
    jobs:
      - name: cubic_p1
        congestion_control: cubic
        duration_s: 2
        iterations_count: 2
        sender_mbps: 10
        rtt_ms: 10
"""
LIMIT_S = 60.0

pytestmark = [pytest.mark.slow, needs_kernel("iperf3", "mpstat", "ethtool")]


def wait_until(happened: Callable[[], bool], command: subprocess.Popen[str] | None = None) -> None:
    last = time.monotonic() + LIMIT_S
    while not happened():
        assert command is None or command.poll() is None, command.communicate()[1]
        assert time.monotonic() < last, "it did not happen in time"
        time.sleep(0.02)


def read_stat(process: int) -> list[str] | None:
    """Return the fields of /proc/<pid>/stat behind the name, null for a process that is gone or only not yet buried."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields


def list_descendants(process: int) -> list[int]:
    """Return the processes below one, the nearest first."""
    stats = {int(path.name): read_stat(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    found = [process]
    for one in found:
        found += [child for child, stat in stats.items() if stat and int(stat[1]) == one]
    return found[1:]


def name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def list_temporary() -> set[Path]:
    """Return what a sweep may have left where temporary files are."""
    return {path for folder in ("/tmp", "/dev/shm") for path in Path(folder).glob("ccreport*")}  # noqa: S108


def is_under_way(archive: Path, number: int) -> bool:
    journals = [json.loads(path.read_text()) for path in archive.glob(".partial/slot-*/attempt.json")]
    return any(told["attempt"]["attempt"] == number for told in journals)


@pytest.fixture
def start() -> Iterator[Callable[[Path, Path], subprocess.Popen[str]]]:
    """Give what starts a sweep; one that a failed test leaves behind is ended."""
    started: list[subprocess.Popen[str]] = []

    def start_command(campaign: Path, archive: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "ccreport", "collect", "--campaign", str(campaign), "--archive", str(archive)]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start_command
    for command in started:
        command.kill()
        command.wait()
        if command.stderr is not None:
            command.stderr.close()


def test_killed_and_resumed(tmp_path: Path, start: Callable[[Path, Path], subprocess.Popen[str]]) -> None:
    # A comma, a quote, a blank and letters beyond ASCII are all in what the user-mode kernel mounts.
    archive, campaign = tmp_path / "an archive, the reviewer's – größer", tmp_path / "two.yaml"
    campaign.write_text(CAMPAIGN)
    temporary = list_temporary()

    # The command itself, while its first run is under way.
    command = start(campaign, archive)
    wait_until(lambda: is_under_way(archive, 1), command)
    below = list_descendants(command.pid)
    assert any(name_of(process).startswith("linux") for process in below)
    command.kill()
    command.communicate()
    wait_until(lambda: not any(read_stat(process) for process in below))
    assert not list(archive.glob("2*/cubic_p1/*:1"))

    # The kernel, which the command survives.
    command = start(campaign, archive)
    wait_until(lambda: is_under_way(archive, 2), command)
    kernel = next(process for process in list_descendants(command.pid) if name_of(process).startswith("linux"))
    below = list_descendants(command.pid)
    goes_first = os.geteuid() == 0 and len(os.sched_getaffinity(0)) > 1
    assert os.sched_getscheduler(kernel) == (os.SCHED_RR if goes_first else os.SCHED_OTHER)
    os.kill(kernel, signal.SIGKILL)
    _, told = command.communicate(timeout=LIMIT_S)
    assert command.returncode == 0, told
    wait_until(lambda: not any(read_stat(process) for process in below))

    (session,) = archive.glob("2*")
    attempts = [json.loads(line) for line in (session / "attempts.jsonl").read_text().splitlines()]
    kept = ("completed", "cpu_bound")
    outcomes = ["kept" if one["outcome"] in kept else one["outcome"] for one in attempts]
    assert outcomes == ["interrupted", "failed", "kept", "kept"]
    assert [one["attempt"] for one in attempts] == [1, 2, 3, 1]
    runs = [one["run"] for one in attempts[2:]]
    for run in runs:
        assert json.loads((session / f"cubic_p1/src-cmd:{run}").read_text())["end"]["sum_sent"]["bytes"] > 0
        assert (session / f"cubic_p1/ss:{run}").read_text().startswith("# ")
    files = sorted(path.name for path in (session / "cubic_p1").iterdir())
    items = [f"{item}:{run}" for item in ("kernel-drops", "post-netem", "pre-netem", "src-cmd", "ss") for run in runs]
    items += [f"mpstat-sender:{run}.json" for run in runs]
    assert files == sorted([*items, "jobmeta.json", "10.201.1.2-meta.json"])
    assert [path.name for path in (archive / ".partial").iterdir()] == ["lock"]
    assert list_temporary() <= temporary

    # Nothing is missing now, so nothing is started.
    assert start(campaign, archive).communicate(timeout=LIMIT_S)[1] == ""
