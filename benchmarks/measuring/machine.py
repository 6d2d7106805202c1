"""The machine that numbers were measured on: what of it decides speed, and nothing that names it."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any


def describe_machine() -> dict[str, Any]:
    """Return processor, cores, memory and versions."""
    return {
        "processor": read_processor(Path("/proc/cpuinfo").read_text()),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release().split("-")[0],
        "python": platform.python_version(),
        "snakemake": version("snakemake"),
        "polars": version("polars"),
        "duckdb": version("duckdb"),
    }


def read_processor(cpuinfo: str) -> str:
    """Return the model from the text of /proc/cpuinfo, `unknown` where it names none."""
    named = (line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name"))
    return next(named, "unknown")


def name_day() -> str:
    """Return the day, in UTC."""
    return f"{datetime.now(UTC):%Y-%m-%d}"
