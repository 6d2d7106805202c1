"""Batches of experiments: which these are, and that keeping rows of a batch leaves no trace."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from archives import list_batches, write_archive
from hypothesis import given
from synthesised import make

from ccreport.ingest.batch import ingest_batch
from ccreport.measure.batch import measure_batch
from ccreport.rebuild.batches import group_experiments

TARGET = 100
SIZES = st.dictionaries(st.text("abc", min_size=1, max_size=6), st.integers(0, 3 * TARGET // 2), max_size=40)


def changed(before: dict[str, list[str]], after: dict[str, list[str]]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


@given(SIZES)
def test_batches_are_all_experiments_in_order_and_a_large_one_is_alone(sizes: dict[str, int]) -> None:
    batches = group_experiments(sizes, TARGET)
    assert [one for experiments in batches.values() for one in experiments] == sorted(sizes)
    assert all(batches[name] == [name] for name, size in sizes.items() if size >= TARGET)


@given(SIZES, st.text("abc", min_size=1, max_size=6), st.integers(0, 3 * TARGET // 2))
def test_an_experiment_changes_only_its_neighbourhood(sizes: dict[str, int], name: str, size: int) -> None:
    # New or of another size: its own batch, what follows in it, and, where it was the last of it, the next.
    before, after = group_experiments(sizes, TARGET), group_experiments(sizes | {name: size}, TARGET)
    assert len(changed(before, after)) <= 3


def test_batches_have_the_size_asked_for_on_average() -> None:
    batches = group_experiments({f"e{number:05}": 10 for number in range(10_000)}, TARGET)
    # 1,000 are expected; the standard deviation of the sum of 10,000 dice of 1/10 is 30.
    assert 880 < len(batches) < 1120


def test_a_file_counts_as_4_kib_at_least(tmp_path: Path) -> None:
    names = [f"2026-11-20:22:10/both_p{job}/src-cmd:h:{number}" for job in range(3) for number in range(256)]
    archive = write_archive(tmp_path / "archive", dict.fromkeys(names, ""))
    # Each of the jobs is as large as a batch, and so one of its own.
    batches = list_batches(archive, tmp_path / "one", batch_mib=1)
    assert [len(experiments) for experiments in batches.values()] == [1, 1, 1]
    assert set(batches) == {experiment for (experiment,) in batches.values()}
    assert not set(batches) & set(list_batches(archive, tmp_path / "larger", batch_mib=1.01))


SETTINGS: dict[str, Any] = {"packet_runs": [], "edge_paths": "{}", "access_log_format": "$request_time $bytes_sent"}


def build(archive: Path, work: Path, *, include_interrupted: bool = False) -> dict[str, bytes]:
    """Read and measure all batches, and return the bytes of all tables and rejects."""
    for batch in list_batches(archive, work):
        listed = work / f"batches/{batch}.json"
        ingest_batch(batch, listed, archive, work / "tables", work / "rejects", **SETTINGS)
        flags = {"include_interrupted": include_interrupted, "include_cpu_bound": True}
        measure_batch(batch, listed, work / "tables", **flags)
    paths = [path for folder in ("tables", "rejects") for path in (work / folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(work)): path.read_bytes() for path in paths}


@pytest.mark.slow
def test_what_was_kept_leaves_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = make(tmp_path / "a", 12, seed=3, runs_per_job=4, bytes_per_run=20_000).folder
    work = tmp_path / "w"

    def check(said: list[str], **changes: bool) -> None:
        capsys.readouterr()
        found = build(archive, work, **changes)
        assert capsys.readouterr().out.splitlines() == said
        assert found == build(archive, tmp_path / f"cold{len(list(tmp_path.iterdir()))}", **changes)

    check(["read 3 of 3 experiments, kept 0"] * 2)
    source = min(archive.rglob("src-cmd:*"))
    shutil.copy(source, source.with_name(f"{source.name}.copy:9"))
    check(["read 1 of 3 experiments, kept 2"] * 2)
    source.with_name(f"{source.name}.copy:9").unlink()
    source.write_bytes(source.read_bytes()[:-9])
    check(["read 1 of 3 experiments, kept 2"] * 2)
    check(["read 0 of 3 experiments, kept 3", "read 3 of 3 experiments, kept 0"], include_interrupted=True)
    shutil.rmtree(source.parent)
    check(["read 0 of 2 experiments, kept 2"] * 2, include_interrupted=True)
    # Snakemake removes what a job will make anew: its rows are kept under another name.
    for table in (work / "tables").glob("*/*.parquet"):
        table.unlink()
    check(["read 0 of 2 experiments, kept 2"] * 2, include_interrupted=True)
    # Where one of these files is gone or cut, all are made of all experiments again.
    table = next((work / "tables/.kept/samples").iterdir())
    table.write_bytes(table.read_bytes()[:100])
    check(["read 2 of 2 experiments, kept 0", "read 0 of 2 experiments, kept 2"], include_interrupted=True)


# Measures a batch, and is killed at the n-th file that gets a name.
KILLED = """\
import os, signal, sys
from pathlib import Path
from ccreport.measure.batch import measure_batch

work, last = Path(sys.argv[1]), int(sys.argv[2])
names = []

def stop_at(change):
    def changed(source, target, **options):
        if "/.measure-" not in str(source):
            names.append(target)
            if len(names) == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return change(source, target, **options)
    return changed

for name in ("replace", "rename", "link"):
    setattr(os, name, stop_at(getattr(os, name)))
measure_batch("first", work / "batches/first.json", work / "tables", include_interrupted=False, include_cpu_bound=True)
"""


@pytest.mark.slow
def test_a_batch_killed_at_any_of_its_files(tmp_path: Path) -> None:
    """Each of the three tables is renamed into place, then linked and renamed to its second name: nine steps."""
    archive = make(tmp_path / "a", 12, seed=3, runs_per_job=4, bytes_per_run=20_000).folder
    before, work = tmp_path / "before", tmp_path / "work"
    build(archive, before)
    source = min(archive.rglob("src-cmd:*"))
    source.write_bytes(source.read_bytes()[:-9])
    expected = build(archive, tmp_path / "cold")
    list_batches(archive, before)
    ingest_batch("first", before / "batches/first.json", archive, before / "tables", before / "rejects", **SETTINGS)
    for last in range(1, 11):
        shutil.copytree(before, work)
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, str(work), str(last)], capture_output=True, text=True, check=False
        )
        assert killed.returncode == (0 if last == 10 else -signal.SIGKILL), killed.stderr
        assert build(archive, work) == expected
        shutil.rmtree(work)
