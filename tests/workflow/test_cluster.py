"""Builds through a real Slurm of one node, with the profile that users call, while memory and Slurm's daemons fail."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from archives import ROOT
from builds import build
from one_node_slurm import OneNodeSlurm, find_missing, run_cluster
from synthesised import make

PROFILE = ROOT / "workflow/profiles/slurm"
LIMIT_S = 900.0
MISSING = find_missing()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"Slurm is not installed: {', '.join(MISSING)}"),
]

GREEDY = """\
rule greedy:
    output: "greedy.txt"
    log: "logs/greedy.txt"
    shell: "python greedy.py {resources.mem_mb} > {output} 2> {log}"
"""
# 1,000 MB are the profile's default for a first try, 2,000 MB for the second.
HOLD_1200_MB = "import sys, time; held = bytes(range(100)) * 12_000_000; time.sleep(12); print(sys.argv[1], len(held))"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneNodeSlurm]:
    with run_cluster(tmp_path_factory.mktemp("cluster") / "slurm") as running:
        yield running


def start(cluster: OneNodeSlurm, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start Snakemake in a folder, with the profile."""
    path = f"{Path(sys.executable).parent}:{cluster.environment['PATH']}"
    return subprocess.Popen(
        ["snakemake", "--profile", str(PROFILE), *arguments],
        cwd=folder,
        env=cluster.environment | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_until(happened: Callable[[], bool]) -> None:
    last = time.monotonic() + LIMIT_S
    while not happened():
        assert time.monotonic() < last, "it did not happen in time"
        time.sleep(0.2)


def is_written_down(cluster: OneNodeSlurm) -> bool:
    """Tell, within six seconds, whether slurmctld has on disk all jobs that it knows; others are lost with it.

    It writes within five seconds of what it is told, and not where it is told nothing.
    """
    asked, jobs = time.time(), cluster.ask("squeue", "--noheader", "--format=%i")
    last = time.monotonic() + 6
    while time.monotonic() < last and cluster.job_state.stat().st_mtime <= asked:
        time.sleep(0.05)
    return cluster.ask("squeue", "--noheader", "--format=%i") == jobs != ""


def read_files(folder: Path, *patterns: str) -> dict[str, bytes]:
    files = [path for pattern in patterns for path in folder.glob(pattern) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_job_that_ran_out_of_memory_gets_more(cluster: OneNodeSlurm, tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(GREEDY)
    (tmp_path / "greedy.py").write_text(HOLD_1200_MB)
    said, _ = start(cluster, tmp_path, "greedy").communicate(timeout=LIMIT_S)
    assert (tmp_path / "greedy.txt").read_text().split() == ["2000", "1200000000"], said
    # The log of the try that failed is kept, where the message says; the other one's is not.
    [log] = (tmp_path / "logs/slurm/rule_greedy").glob("*.log")
    assert str(log) in said
    assert re.search(r"exceeded memory limit|oom", log.read_text(), re.IGNORECASE)


def test_slurm_gives_the_same_bytes_though_its_daemons_are_killed(cluster: OneNodeSlurm, tmp_path: Path) -> None:
    archive = make(tmp_path / "archive", 40).folder
    alone = build("report", archive, tmp_path / "alone", explanations="")
    assert alone.returncode == 0, alone.output
    values = [f"archive={archive}", "evaluation=esnet-dtn", "explanations=", "sections=[]"]
    values += ["report={renderer: embedded}"]
    places = f"pathvars={{results: {tmp_path}/slurm/results, logs: {tmp_path}/slurm/logs}}"
    command = start(cluster, ROOT, "--nolock", "report", f"--slurm-logdir={tmp_path}/logs", "--config", *values, places)
    wait_until(lambda: command.poll() is not None or (tmp_path / "slurm/results/batches.txt").exists())
    wait_until(lambda: command.poll() is not None or " RUNNING" in cluster.ask("squeue", "--format=%i %T"))
    wait_until(lambda: command.poll() is not None or is_written_down(cluster))
    cluster.kill("slurmctld")
    cluster.kill("slurmd")
    # So long that a question in that time gets no answer: commands of Slurm wait 10 s for one.
    time.sleep(25)
    cluster.start_controller()
    cluster.start_node()
    said, _ = command.communicate(timeout=LIMIT_S)
    assert command.returncode == 0, said
    made = ["tables/**/*", "esnet-dtn/summaries/*", "report/**/*"]
    expected = read_files(alone.results, *made)
    found = read_files(tmp_path / "slurm/results", *made)
    assert len(expected) > 50
    assert [name for name in sorted({*expected, *found}) if expected.get(name) != found.get(name)] == []
