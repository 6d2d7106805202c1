"""Made-up runs over conditions, and the database of them."""

from pathlib import Path
from typing import Any

import yaml
from archives import ROOT, save_table

from ccreport.measure import ARCHIVE_TABLES, EXPERIMENT_TABLES
from ccreport.summarise.database import list_views

EVALUATION = ROOT / "evaluations/esnet-dtn.yaml"
Rows = dict[str, list[dict[str, Any]]]


def make_run(number: int, rates: dict[str, float | list[float]], **facts: Any) -> Rows:
    """Return a run and its flows: one per algorithm, or one for each rate (Mbit/s; the sender's is twice that)."""
    run_id = f"r{number:03}"
    flows = [
        {
            "run_id": run_id,
            "flow_id": f"{run_id}/{cc}/{stream}",
            "cc": cc,
            "goodput_bps": rate * 1e6,
            "throughput_bps": rate * 2e6,
            "receiver_s": 10.0,
            "sender_s": 10.0,
        }
        for cc, of_algorithm in rates.items()
        for stream, rate in enumerate(of_algorithm if isinstance(of_algorithm, list) else [of_algorithm])
    ]
    run = {
        "run_id": run_id,
        "experiment_id": "e",
        "condition_id": "/".join(f"{name}={facts[name]}" for name in sorted(facts)) + "/".join(sorted(rates)),
        "iteration": number,
        "job": "steady",
        "mode": "both" if len(rates) > 1 else next(iter(rates)),
        "sender_host": "sender",
        "host": "10.0.0.2",
        "flows_count": len(flows),
        "rtt_ms": 10.0,
        "loss_pct": 0.0,
        "is_counted": True,
    }
    return {"runs": [run | facts], "flows": flows}


def gather(*runs: Rows) -> Rows:
    """Return the rows of several runs as those of one archive."""
    return {name: [row for one in runs for row in one[name]] for name in ("runs", "flows")}


def build_database(folder: Path, tables: Rows, evaluation: Path = EVALUATION) -> Path:
    """Write an archive of one experiment from rows of its tables, and return its database."""
    (folder / "experiments.txt").write_text("e\n", encoding="ascii")
    for table in EXPERIMENT_TABLES:
        save_table(table, tables.get(table, []), folder / f"tables/{table}/e.parquet")
    for table in ARCHIVE_TABLES:
        save_table(table, tables.get(table, []), folder / f"tables/{table}/archive.parquet")
    list_views(folder / "experiments.txt", folder / "tables", evaluation, folder / "archive.duckdb")
    return folder / "archive.duckdb"


def write_evaluation(folder: Path, **figure: Any) -> Path:
    """Write the evaluation with one figure, named `f`, and without claims; return its path."""
    declared = yaml.safe_load(EVALUATION.read_text(encoding="utf-8"))
    for others in ("claims", "printed"):
        declared.pop(others, None)
    declared["figures"] = {"f": {"title": "A title", "where": "TRUE"} | figure}
    path = folder / "evaluation.yaml"
    path.write_text(yaml.safe_dump(declared), encoding="utf-8")
    return path
