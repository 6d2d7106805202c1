"""The same tables by what users do today and by ccreport, of the sample archive: time, memory, lines of code.

    python benchmarks/side_by_side.py [--repeats 1] [--folder FOLDER] [--keep FILE]

`rates`: mean, CV and retransmits by job and RTT of the runs behind Table II, with one figure; today a script with json,
str.split, pandas and matplotlib. `captures`: packets and retransmits by job of all sessions with captures; today a
script around tcptrace and tshark. Both scripts are in `benchmarks/today`, what a user of ccreport writes for the same
is in `benchmarks/declared`. The numbers of both are compared before a time counts. ccreport does more in that time: it
reads every file of the archive, keeps every sample and interval, hashes, checks, accounts; what it gains is the second
build. So there are three cases: cold, the same once more, and with one run added. Needs the extra `bench` (pandas and
matplotlib), and tcptrace and tshark for the captures.

Lines of code are those that hold code: no blank ones, comments or docstrings.
"""

import argparse
import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from measuring.builds import (
    ROOT,
    SWEEP_JOB,
    add_run,
    build,
    copy_tree,
    find_jobs,
    make_environment,
    measure_folder,
    open_sample,
    remove_results,
)
from measuring.code_lines import count_lines
from measuring.job_log import count_jobs, read_jobs
from measuring.machine import describe_machine, name_day
from measuring.processes import Measured, run_measured, summarise_repeats
from measuring.results import write_results

from ccreport.__main__ import COMMANDS
from ccreport.rebuild.imports import list_imports

BENCHMARKS = ROOT / "benchmarks"
EVALUATION = "side_by_side"
QUERY = (
    "import duckdb, sys; "
    "duckdb.connect(sys.argv[1], read_only=True).sql(open(sys.argv[2]).read()).write_csv(sys.argv[3])"
)
DESTINATION = "10.201.1.2"
CASES = ("cold", "again", "added_run")


@dataclass(frozen=True)
class Task:
    """A table that both make, compared by which columns, exactly or to a relative difference.

    It is made of the sessions that have one of `jobs`; a run is added to the first of these.
    """

    jobs: tuple[str, ...]
    keys: list[str]
    exact: list[str]
    near: list[str]
    has_figure: bool
    programs: tuple[str, ...] = ()


TASKS = {
    "rates": Task(
        jobs=(SWEEP_JOB,),
        keys=["job", "rtt_ms"],
        exact=["runs", "retransmits"],
        near=["throughput_mean_bps", "throughput_cv", "retransmit_ratio"],
        has_figure=True,
    ),
    "captures": Task(
        jobs=("capture_cubic_p1_lossnone", "fctcap_12KB_both_p10_loss1"),
        keys=["job"],
        exact=["data_packets", "retransmits", "payload_bytes"],
        near=[],
        has_figure=False,
        programs=("tcptrace", "tshark"),
    ),
}
RELATIVE = 1e-9


def do_today(name: str, archive: Path, output: Path) -> Measured:
    """Run the script of a task."""
    return run_measured([sys.executable, BENCHMARKS / "today" / f"{name}.py", archive, output])


def do_ccreport(name: str, tree: Path, archive: Path, output: Path) -> list[Measured]:
    """Build the database, and where the task has a figure that too; run the query of the task."""
    evaluation = tree / "benchmarks/declared" / f"{EVALUATION}.yaml"
    results = tree / "results" / EVALUATION
    target = str((results / ("figures" if TASKS[name].has_figure else "archive.duckdb")).relative_to(tree))
    built = build(tree, archive, target, evaluation=evaluation, sections="[]")
    output.mkdir(parents=True, exist_ok=True)
    query = [sys.executable, "-c", QUERY, results / "archive.duckdb", evaluation.with_name(f"{name}.sql")]
    return [built, run_measured([*query, output / f"{name}.csv"], tree, make_environment(tree))]


def join_measured(parts: list[Measured]) -> Measured:
    """Return programs that ran one after the other as one."""
    return Measured(
        sum(part.seconds for part in parts),
        sum(part.cpu_s for part in parts),
        max(part.peak_memory_bytes for part in parts),
        sum(part.written_bytes for part in parts),
        parts[0].lines,
    )


def compare_numbers(name: str, today: Path, ours: Path) -> int:
    """Return how many numbers both tables have; raise AssertionError where any differ."""
    task = TASKS[name]
    theirs, own = (pl.read_csv(path).sort(task.keys) for path in (today, ours))
    assert theirs.height, "no rows"
    assert theirs.select(task.keys).equals(own.select(task.keys)), (theirs.select(task.keys), own.select(task.keys))
    for column in task.exact:
        assert (theirs[column] == own[column]).all(), (column, theirs[column], own[column])
    for column in task.near:
        differs = ((theirs[column] - own[column]).abs() > RELATIVE * theirs[column].abs()).any()
        assert not differs, (column, theirs[column], own[column])
    return theirs.height * len([*task.exact, *task.near])


def measure_task(name: str, raw: Path, tree: Path, repeats: int, folder: Path) -> dict[str, Any]:
    """Return seconds, memory and lines of both ways of a task in each case."""
    task = TASKS[name]
    archive = folder / name
    found_jobs = [found.relative_to(raw) for job in task.jobs for found in find_jobs(raw, job)]
    for job in found_jobs:
        shutil.copytree(raw / job.parent, archive / job.parent)
    ways: dict[str, Callable[[], Measured]] = {
        "today": lambda: do_today(name, archive, folder / f"{name}.today"),
        "ccreport": lambda: join_measured(do_ccreport(name, tree, archive, folder / f"{name}.ccreport")),
    }
    found: dict[str, dict[str, list[Measured]]] = {case: {way: [] for way in ways} for case in CASES}
    numbers, rules = 0, set()
    for _ in range(repeats):
        remove_results(tree)
        for case in CASES:
            if case == "added_run":
                add_run(archive / found_jobs[0], DESTINATION)
            for way, work in ways.items():
                found[case][way].append(work())
            numbers = compare_numbers(name, folder / f"{name}.today/{name}.csv", folder / f"{name}.ccreport/{name}.csv")
            rules |= set(count_jobs(read_jobs(found[case]["ccreport"][-1].lines), ""))
    cases = {case: {way: summarise_repeats(times) for way, times in of.items()} for case, of in found.items()}
    return {"archive": measure_folder(archive), "numbers": numbers, "cases": cases, "lines": count_task(name, rules)}


def count_task(name: str, rules: set[str]) -> dict[str, int]:
    """Return the lines of today's script, of what a user of ccreport writes, and of what the package has for it."""
    written = [BENCHMARKS / "declared" / f"{name}.sql"]
    written += [BENCHMARKS / "declared" / f"{EVALUATION}.yaml"]
    modules = {path for rule in rules & set(COMMANDS) for path in list_imports(COMMANDS[rule])}
    return {
        "today": count_lines(BENCHMARKS / "today" / f"{name}.py"),
        "ccreport_written": sum(map(count_lines, written)),
        "ccreport_package": sum(map(count_lines, modules)),
    }


def print_task(name: str, found: dict[str, Any]) -> None:
    """Print one task."""
    print(f"{name}: {found['archive']['bytes'] / 1e6:.0f} MB, {found['numbers']} numbers agree; lines {found['lines']}")
    for case, ways in found["cases"].items():
        for way, part in ways.items():
            print(
                f"  {case:10} {way:9} {part['seconds']:7.1f} s {part['cpu_s']:7.1f} CPU s "
                f"{part['peak_memory_bytes'] / 1e6:6.0f} MB"
            )


def find_missing() -> list[str]:
    """Return what the comparison needs and this machine has not."""
    modules = [name for name in ("pandas", "matplotlib") if importlib.util.find_spec(name) is None]
    programs = [name for task in TASKS.values() for name in task.programs if shutil.which(name) is None]
    return modules + programs


def main() -> None:
    """Measure all tasks, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where archives and results are made; a temporary one by default")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if missing := find_missing():
        print(
            f"not compared: {', '.join(missing)} missing; install the extra `bench`, and Debian's tcptrace and tshark"
        )
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        raw = open_sample(folder / "sample")
        tree = copy_tree(folder / "tree")
        tasks = {}
        for name in TASKS:
            tasks[name] = measure_task(name, raw, tree, options.repeats, folder)
            print_task(name, tasks[name])
    if options.keep:
        content = {"date": name_day(), "machine": describe_machine(), "cores": 2, "tasks": tasks}
        write_results("side_by_side", content, options.keep)


if __name__ == "__main__":
    main()
