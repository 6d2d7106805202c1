"""Where the time of a build goes: core-seconds of its jobs by what they do, their start-up apart, and Snakemake's own.

A build of so many seconds on so many cores has seconds × cores to spend. A job's start-up is what `python -m ccreport
<command> --help` takes: the interpreter, and the import of all that the command needs. Writing is measured by writing
tables again that a build has written; it is taken out of what ingest jobs do beside starting, and the rest is parsing.
"""

import random
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ccreport.core.tables import write_table
from ccreport.ingest.readers import READ_TABLES
from measuring.builds import call_command
from measuring.job_log import Job

# Beginnings of rules' names; the first that fits counts.
PARTS = {
    "list_raw_files": "inventory",
    "list_": "duckdb",
    "compile_": "compile",
    "ingest_": "parse",
    "measure_": "measure",
    "summarise_": "duckdb",
    "compare_": "duckdb",
    "judge_": "duckdb",
    "plot_": "figures",
    "trace_": "pages",
    "export_": "pages",
    "render_": "pages",
}
OTHER = "other"
ORDER = ("startup", "inventory", "parse", "write", "measure", "duckdb", "figures", "pages", "compile", OTHER)
STARTS = 3
TABLES_WRITTEN = 300


def name_part(rule: str) -> str:
    """Return what a rule's jobs do."""
    return next((part for start, part in PARTS.items() if rule.startswith(start)), OTHER)


def split_time(
    jobs: Sequence[Job], starts_s: Mapping[str, float], write_s: float, seconds: float, cores: int
) -> list[dict[str, Any]]:
    """Return part, core-seconds and number of jobs: of the jobs' work, their start-up, and of Snakemake.

    `starts_s` is the start-up of a job of each rule, `write_s` the core-seconds for writing what ingest jobs write.
    `snakemake` is the time before the first job on all cores, `idle` what is left: between jobs, and cores without one.
    """
    spent, counted = dict.fromkeys(ORDER, 0.0), dict.fromkeys(ORDER, 0)
    ran = [job for job in jobs if job.end_s is not None and job.rule in starts_s]
    for job in ran:
        start = min(starts_s[job.rule], job.core_s)
        part = name_part(job.rule)
        spent["startup"] += start
        spent[part] += job.core_s - start
        counted[part] += 1
    spent["write"] = min(write_s, spent["parse"])
    spent["parse"] -= spent["write"]
    counted["startup"] = len(ran)
    first = min((job.begin_s for job in ran), default=seconds)
    rows = [(part, spent[part], counted[part]) for part in ORDER if spent[part] > 0]
    rows.append(("snakemake", first * cores, 0))
    rows.append(("idle", max(0.0, (seconds - first) * cores - sum(spent.values())), 0))
    return [{"part": part, "core_s": round(core_s, 2), "jobs": count} for part, core_s, count in rows]


def measure_starts(tree: Path, rules: set[str]) -> dict[str, float]:
    """Return the seconds that the command of each rule takes to start, as the median of some starts."""
    found = {}
    for rule in sorted(rules):
        seconds = [call_command(tree, rule, "--help").seconds for _ in range(STARTS)]
        found[rule] = statistics.median(seconds)
    return found


def measure_writing(tables: Path, work: Path) -> float:
    """Return the seconds for writing the ingested tables of a build again, from a sample of their files."""
    files = sorted(path for table in READ_TABLES for path in (tables / table).glob("*.parquet"))
    if not files:
        return 0.0
    chosen = random.Random(1).sample(files, min(TABLES_WRITTEN, len(files)))  # noqa: S311 (a sample, no secret)
    seconds = 0.0
    for path in chosen:
        frame = pl.read_parquet(path)
        start = time.perf_counter()
        write_table(frame, path.parent.name, work / "again.parquet")
        seconds += time.perf_counter() - start
    (work / "again.parquet").unlink()
    return seconds * len(files) / len(chosen)
