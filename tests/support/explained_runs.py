"""Facts of runs and raw files behind a number."""

from typing import Any

FACTS = {"session": "s", "job": "j", "cpu_sender_mean_pct": 20.0}


def raw_file(path: str, run_id: str | None, **facts: Any) -> dict[str, Any]:
    known = {"raw_file_id": path, "path": path, "experiment_id": "e", "session": "s", "job": "j", "run_id": run_id}
    return known | {"kind": "ss", "size_bytes": 1, "sha256": path[0] * 64, "state": "ingested"} | facts
