"""Results that are kept: JSON files under `benchmarks/results`, checked against their schemas."""

import json
from pathlib import Path
from typing import Any

from ccreport.report.performance.benchmark_results import load_measurements

RESULTS = Path(__file__).resolve().parents[1] / "results"


def write_results(name: str, content: dict[str, Any], path: Path) -> None:
    """Write results into a file; raise InputError where they are not as the schema of that name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    load_measurements(path, name)


def replace_measurement(content: dict[str, Any], measurement: dict[str, Any]) -> dict[str, Any]:
    """Return results with a measurement in the place of that of as many runs, all in the order of runs."""
    others = [other for other in content["measurements"] if other["runs"] != measurement["runs"]]
    return {**content, "measurements": sorted([*others, measurement], key=lambda other: other["runs"])}
