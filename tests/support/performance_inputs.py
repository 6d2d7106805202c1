"""Small hand-written results of benchmarks, as the page "Performance" takes them."""

import json
from pathlib import Path
from typing import Any

MACHINE = {
    "processor": "Abacus <b>9</b>",
    "cores": 2,
    "memory_bytes": 8_000_000_000,
    "kernel": "6.1.0",
    "python": "3.11.7",
    "snakemake": "9.27.1",
    "polars": "2.1.0",
    "duckdb": "2.0.0",
}


def make_cost(seconds: float, repeats: int = 3) -> dict[str, Any]:
    """Return a cost of 1.5 CPU seconds a second, 1 MB of memory a second, and 2 MB written."""
    size = int(seconds * 1e6)
    return {
        "repeats": repeats,
        "seconds": seconds,
        "cpu_s": 1.5 * seconds,
        "peak_memory_bytes": size,
        "written_bytes": 2_000_000,
    }


def make_measurement(runs: int, cases: dict[str, float]) -> dict[str, Any]:
    """Return a measurement with these wall seconds; of its cold build 3 of 4 core-seconds are start-up."""
    jobs = {"cold": {"ingest_batch": 4, "list_views": 1}, "added_run": {"ingest_batch": 1, "list_views": 1}}
    return {
        "runs": runs,
        "date": "2026-11-22",
        "machine": MACHINE,
        "cores": 2,
        "archive": {"files": 4 * runs, "bytes": 150_000 * runs},
        "results": {"files": 50, "bytes": 1_000_000},
        "cases": {case: make_cost(seconds) | {"jobs": jobs.get(case, {})} for case, seconds in cases.items()},
        "time_spent": [{"part": "startup", "core_s": 3.0, "jobs": 5}, {"part": "parse", "core_s": 1.0, "jobs": 4}],
        "floor": dict.fromkeys(("read_s", "hash_s", "python_start_s", "snakemake_start_s", "job_start_s"), 0.25),
    }


def make_scale() -> dict[str, Any]:
    """Return results of 100 and 10,000 runs, of which the larger have no case but three."""
    return {
        "targets": {
            "runs": 10_000,
            "seconds": {"cold": 720, "nothing_to_do": 10, "added_run": 30},
            "peak_memory_bytes": 4_000_000_000,
        },
        "measurements": [
            make_measurement(100, {"cold": 60, "nothing_to_do": 4, "added_run": 20, "edited_theme": 15}),
            make_measurement(10_000, {"cold": 600, "nothing_to_do": 8, "added_run": 25}),
        ],
    }


def make_side_by_side() -> dict[str, Any]:
    """Return results in which today's script takes 10 s always, and ccreport 40 s, then 2 s, then 8 s."""
    ours = {"cold": 40.0, "again": 2.0, "added_run": 8.0}
    task = {
        "archive": {"files": 1600, "bytes": 77_000_000},
        "numbers": 400,
        "cases": {case: {"today": make_cost(10.0), "ccreport": make_cost(seconds)} for case, seconds in ours.items()},
        "lines": {"today": 80, "ccreport_written": 25, "ccreport_package": 9000},
    }
    tasks = {"rates": task, "captures": task | {"lines": task["lines"] | {"today": 50}}}
    return {"date": "2026-11-22", "machine": MACHINE, "cores": 2, "tasks": tasks}


def write_json(content: dict[str, Any], path: Path) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def write_scale(folder: Path) -> Path:
    """Write results of sizes and return their file."""
    return write_json(make_scale(), folder / "scale.json")


def write_side_by_side(folder: Path) -> Path:
    """Write results of the comparison and return their file."""
    return write_json(make_side_by_side(), folder / "side_by_side.json")
