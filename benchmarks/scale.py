"""Cost of a build as the work grows: synthesised archives of several sizes, built and then changed in several ways.

    python benchmarks/scale.py [RUNS ...] [--cores 2] [--repeats 1] [--cases CASE ...] [--folder FOLDER] [--keep FILE]

Without sizes it is 100 runs, which takes some minutes; `100 1000 10000 --repeats 3` are those of the report's page. Of
more than 10,000 runs there is only a cold build and one with nothing to do. The program is copied, so that a module can
be edited; kernels are compiled before, as set-up does. Prints one line per case. `--keep` writes the results into a
file beside those of other sizes: `benchmarks/results/scale.json` is what the page "Performance" shows.

Cases: cold; nothing to do; one run added (the first iteration of a job once more, as its next), of which the published
tables of the report's own evaluation are made anew, or the report as a whole; a key of the configuration
(`include_interrupted`, which every run's measures depend on); an edited parser (a comment in `ingest/ss`: all is
read again); an edited figure theme. Each begins with an up-to-date build. Cold builds, and all that read an archive
anew, are not repeated above 1,000 runs.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from measuring.builds import (
    add_run,
    build,
    copy_tree,
    make_environment,
    measure_folder,
    measure_reading,
    remove_results,
)
from measuring.job_log import count_jobs, read_jobs
from measuring.machine import describe_machine, name_day
from measuring.processes import Measured, run_measured, summarise_repeats
from measuring.results import replace_measurement, write_results
from measuring.time_spent import measure_starts, measure_writing, name_part, split_time
from synthesise.synthesise import synthesise

TARGET, TABLES = "report", "tables"
SEED = 1
# Of 10,000 runs of about 150 kB.
TARGETS = {
    "runs": 10_000,
    "seconds": {"cold": 720, "nothing_to_do": 10, "added_run_tables": 30, "added_run": 30},
    "peak_memory_bytes": 4 * 10**9,
}
ALL_CASES_RUNS = 10_000
REPEATED_RUNS = 1_000
CHANGES = ("added_run_tables", "added_run", "changed_config", "edited_parser", "edited_theme")
CHEAP = ("nothing_to_do", "added_run_tables", "added_run")


class Site:
    """An archive and a copy of the program that builds it; each method makes one change and builds."""

    def __init__(self, folder: Path, runs: int, cores: int) -> None:
        self.archive, self.cores, self.config = folder / "archive", cores, {"include_interrupted": False}
        synthesise(self.archive, runs, SEED)
        self.tree = copy_tree(folder / "tree")
        job = min(self.archive.glob("*/*/jobmeta.json"))
        self.job, self.destination = job.parent, json.loads(job.read_text())["dst"]

    def build(self, target: str = TARGET) -> Measured:
        return build(self.tree, self.archive, target, self.cores, **self.config)

    def cold(self) -> Measured:
        remove_results(self.tree)
        return self.build()

    def added_run(self) -> Measured:
        add_run(self.job, self.destination)
        return self.build()

    def added_run_tables(self) -> Measured:
        add_run(self.job, self.destination)
        tables = self.build(TABLES)
        # The next case begins with a report that is up to date.
        self.build()
        return tables

    def changed_config(self) -> Measured:
        self.config["include_interrupted"] = not self.config["include_interrupted"]
        return self.build()

    def edited_parser(self) -> Measured:
        return self._edit("src/ccreport/ingest/ss/reader.py")

    def edited_theme(self) -> Measured:
        return self._edit("src/ccreport/figures/kit/theme.py")

    def _edit(self, module: str) -> Measured:
        with (self.tree / module).open("a", encoding="utf-8") as stream:
            stream.write("# Edited.\n")
        return self.build()


def measure_size(runs: int, cores: int, repeats: int, folder: Path, asked: Sequence[str]) -> dict[str, Any]:
    """Return the measurement of one size: a cold build and the cases asked for, made below a folder."""
    site = Site(folder, runs, cores)
    raw = measure_folder(site.archive)
    ways: dict[str, Callable[[], Measured]] = {"cold": site.cold, "nothing_to_do": site.build}
    if runs <= ALL_CASES_RUNS:
        ways |= {name: getattr(site, name) for name in CHANGES if name in asked}
    cases: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    for name, way in ways.items():
        times = repeats if runs <= REPEATED_RUNS or name in CHEAP else 1
        builds = [way() for _ in range(times)]
        jobs = (job for job in read_jobs(builds[-1].lines) if job.rule != TABLES)
        cases[name] = {**summarise_repeats(builds), "jobs": count_jobs(jobs, TARGET)}
        print_case(name, cases[name])
        if name == "cold":
            facts = _look_inside(site, builds[-1], folder)
    return {
        "runs": runs,
        "date": name_day(),
        "machine": describe_machine(),
        "cores": cores,
        "archive": raw,
        "cases": cases,
        **facts,
    }


def _look_inside(site: Site, cold: Measured, folder: Path) -> dict[str, Any]:
    """Return where the time of a cold build went, what it left, and the floor."""
    jobs = [job for job in read_jobs(cold.lines) if job.rule != TARGET]
    starts = measure_starts(site.tree, {job.rule for job in jobs})
    writing = measure_writing(site.tree / "results/tables", folder)
    read, hashed = measure_reading(site.archive)
    environment = make_environment(site.tree)
    python = run_measured([sys.executable, "-c", "pass"], site.tree, environment)
    snakemake = run_measured([sys.executable, "-m", "snakemake", "--version"], site.tree, environment)
    floor = {
        "read_s": read.seconds,
        "hash_s": hashed.seconds,
        "python_start_s": python.seconds,
        "snakemake_start_s": snakemake.seconds,
        "job_start_s": max(second for rule, second in starts.items() if name_part(rule) == "parse"),
    }
    return {
        "time_spent": split_time(jobs, starts, writing, cold.seconds, site.cores),
        "results": measure_folder(site.tree / "results"),
        "floor": {name: round(second, 3) for name, second in floor.items()},
    }


def print_case(name: str, case: dict[str, Any]) -> None:
    """Print one case's medians and jobs."""
    print(
        f"  {name:16} {case['seconds']:8.1f} s {case['cpu_s']:8.1f} CPU s "
        f"{case['peak_memory_bytes'] / 1e6:7.0f} MB at most {case['written_bytes'] / 1e6:8.1f} MB written, "
        f"{sum(case['jobs'].values())} jobs",
        flush=True,
    )


def print_inside(measurement: dict[str, Any]) -> None:
    """Print where the time of the cold build went, and the floor."""
    for row in measurement["time_spent"]:
        print(f"    {row['part']:12} {row['core_s']:8.1f} core-s" + (f" {row['jobs']:6} jobs" if row["jobs"] else ""))
    print("  floor: " + ", ".join(f"{name} {value}" for name, value in measurement["floor"].items()))


def main() -> None:
    """Measure each size, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int, nargs="*", default=[100])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--cases", nargs="*", choices=CHANGES, default=CHANGES, help="which changes are measured")
    parser.add_argument("--folder", type=Path, help="where archives and results are made; a temporary one by default")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    for runs in options.runs:
        print(f"{runs:,} synthesised runs, {options.cores} cores, median of up to {options.repeats}", flush=True)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            measurement = measure_size(runs, options.cores, options.repeats, Path(folder), options.cases)
        print_inside(measurement)
        if options.keep:
            kept = json.loads(options.keep.read_text()) if options.keep.exists() else {"measurements": []}
            write_results("scale", replace_measurement(kept | {"targets": TARGETS}, measurement), options.keep)


if __name__ == "__main__":
    main()
