"""Patches of Snakemake and its Slurm plugin: with which versions they are applied, and what they change."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from archives import ROOT

from ccreport.core.errors import InputError
from ccreport.workflow_fixes.build_lock import check_unlocked, lock_results
from ccreport.workflow_fixes.patches import SLURM, SNAKEMAKE, TRIED, apply_patches

LOCKED = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE))


@pytest.fixture
def slurm() -> ModuleType:
    """Return a plugin whose controller is down after its first answer."""
    answers = iter([300])
    plugin, plugin.validation = ModuleType("plugin"), ModuleType("validation")
    plugin.get_min_job_age = plugin.validation.get_min_job_age = lambda: next(answers, None)
    return plugin


class Persistence:
    """Records by name of output, as Snakemake's class keeps them."""

    def __init__(self) -> None:
        self.records: dict[str, Any] = {"out": SimpleNamespace(params=["1"])}
        self.records["out"].model_copy = lambda **_: SimpleNamespace(params=["1"], endtime=2e9)

    def metadata(self, output: str) -> Any:
        return self.records.get(output)

    def cleanup_metadata(self, output: str) -> None:
        self.records.pop(output, None)

    def _get_key(self, output: str) -> str:
        return output

    def _write_record(self, key: str, record: Any) -> None:
        self.records[key] = record


def make_job_class(persistence: Persistence) -> Any:
    """Return a class of jobs that are recorded however they ended, as Snakemake's are."""

    class Job:
        dag = SimpleNamespace(workflow=SimpleNamespace(persistence=persistence))
        output = ("out", "new")

        async def postprocess(self, *, error: bool = False) -> None:  # noqa: ARG002 (as Snakemake's is called)
            for output in self.output:
                persistence.records[output] = SimpleNamespace(params=["2"])

    return Job


class Scheduler:
    """Looks that are planned, as Snakemake's class plans them."""

    def __init__(self) -> None:
        self.planned: list[float] = []

    def _schedule_reevalutation(self, delay: float) -> None:
        self.planned.append(delay)


def make_scheduler_class() -> Any:
    """Return a class of schedulers of which no test has patched any."""
    return type("Patched", (Scheduler,), {})


@pytest.mark.parametrize("package", TRIED)
def test_the_locked_version_is_one_that_the_patches_were_tried_with(package: str) -> None:
    """Where this fails: read whether the program still has the faults, try the patches, and widen the range."""
    assert TRIED[package].has(LOCKED[package])


def test_a_range_ends_before_its_end() -> None:
    found = {release: TRIED[SNAKEMAKE].has(release) for release in ("9.26.1", "9.27.0", "9.27.12", "9.28.0", "10.27.1")}
    assert found == {"9.26.1": False, "9.27.0": True, "9.27.12": True, "9.28.0": False, "10.27.1": False}


@pytest.mark.parametrize("error", [False, True])
def test_only_a_job_that_succeeded_is_recorded(slurm: ModuleType, *, error: bool) -> None:
    persistence = Persistence()
    job_class = make_job_class(persistence)
    assert apply_patches(job_class, make_scheduler_class(), slurm) == ""
    asyncio.run(job_class().postprocess(error=error))
    expected = {"out": ["1"]} if error else {"out": ["2"], "new": ["2"]}
    assert {output: record.params for output, record in persistence.records.items()} == expected
    assert [slurm.get_min_job_age(), slurm.validation.get_min_job_age()] == [300, 300]


def test_what_is_put_back_of_a_failed_job_is_as_old_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: ModuleType
) -> None:
    monkeypatch.chdir(tmp_path)
    persistence = Persistence()
    job_class = make_job_class(persistence)
    record = job_class.postprocess

    async def put_back(self: Any, *, error: bool = False) -> None:
        await record(self, error=error)
        Path("out").write_text("before")

    job_class.postprocess = put_back
    apply_patches(job_class, make_scheduler_class(), slurm)
    Path("out").write_text("before")
    # The last is of a job that had replaced it before it failed, after the time of its record.
    for time_s, expected_s in ((1e9, 1e9), (3e9, 2e9)):
        persistence.records = Persistence().records
        os.utime("out", (time_s, time_s))
        asyncio.run(job_class().postprocess(error=True))
        assert Path("out").stat().st_mtime == expected_s
    asyncio.run(job_class().postprocess())
    assert Path("out").stat().st_mtime not in (1e9, 2e9)


def test_a_scheduler_plans_one_look_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr("ccreport.workflow_fixes.reevaluations.time.monotonic", lambda: now_s)
    scheduler_class = make_scheduler_class()
    apply_patches(make_job_class(Persistence()), scheduler_class, None)
    scheduler, other = scheduler_class(), scheduler_class()
    for now_s in (100.0, 100.2, 100.999, 101.0, 101.5):  # noqa: B007 (the clock reads it)
        scheduler._schedule_reevalutation(1)
    other._schedule_reevalutation(10)
    assert (scheduler.planned, other.planned) == ([1, 1], [10])


@pytest.mark.parametrize("seconds", ["2s", "0", "-1", "2.5"])
def test_seconds_that_are_none_are_refused(seconds: str, slurm: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCREPORT_SLURM_SECONDS", seconds)
    with pytest.raises(InputError, match=f"^CCREPORT_SLURM_SECONDS is '{seconds}' in the environment; write a whole "):
        apply_patches(make_job_class(Persistence()), make_scheduler_class(), slurm)


def test_outside_the_range_the_patches_are_skipped_with_one_warning(
    slurm: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_class = make_job_class(Persistence())
    before = (job_class.postprocess, slurm.get_min_job_age, slurm.validation.get_min_job_age)
    releases = {SNAKEMAKE: "9.28.0", SLURM: "3.0.1"}
    monkeypatch.setattr("ccreport.workflow_fixes.patches.version", releases.get)
    said = apply_patches(job_class, make_scheduler_class(), slurm)
    assert said.count("snakemake 9.28.0 and snakemake-executor-plugin-slurm 3.0.1") == 1
    assert (job_class.postprocess, slurm.get_min_job_age, slurm.validation.get_min_job_age) == before
    assert "plugin" not in apply_patches(job_class, make_scheduler_class(), None)


def test_a_results_folder_is_locked_until_its_build_ends(tmp_path: Path) -> None:
    held = lock_results(tmp_path / "results")
    with pytest.raises(InputError, match="another build writes into"):
        lock_results(tmp_path / "results")
    with pytest.raises(InputError, match="another build writes into"):
        check_unlocked(tmp_path / "results")
    lock_results(tmp_path / "other").close()
    held.close()
    check_unlocked(tmp_path / "results")
    check_unlocked(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    lock_results(tmp_path / "results").close()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="/file/results takes no files"):
        lock_results(tmp_path / "file/results")


def read_blocks(section: int, language: str) -> str:
    """Return the first fenced block of a language in a section of the reports."""
    text = (ROOT / "docs/snakemake-faults.md").read_text()
    return text.split(f"## {section} ", 1)[1].split(f"```{language}\n", 1)[1].split("```", 1)[0]


def call(folder: Path, *command: str) -> str:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=600, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_snakemake_records_a_failed_job_as_reported(tmp_path: Path) -> None:
    """Where this fails, Snakemake no longer has the fault: remove patch and report."""
    (tmp_path / "Snakefile").write_text(read_blocks(1, "python"))
    said = call(tmp_path, "bash", "-c", read_blocks(1, "sh"))
    assert "Error in rule a" in said
    assert "Nothing to be done" in said
    assert (tmp_path / "b.txt").read_text() == "1\n"


@pytest.mark.slow
def test_snakemake_locks_twice_as_reported(tmp_path: Path) -> None:
    assert call(tmp_path, sys.executable, "-c", read_blocks(2, "python")) == "both builds make out.txt\n"


@pytest.mark.slow
def test_snakemake_looks_too_often_as_reported(tmp_path: Path) -> None:
    said = call(tmp_path, sys.executable, "-c", read_blocks(5, "python"))
    assert int(said.rpartition("looks while a slow job waited: ")[2]) > 100
