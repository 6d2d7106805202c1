"""Made-up runs over conditions, and the database of them."""

from pathlib import Path
from typing import Any

from archives import ROOT, at, save_table, write_yaml

from ccreport.core.declarations import load_yaml
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


def make_samples(flow: dict[str, Any], acked: dict[float, int], **facts: Any) -> list[dict[str, Any]]:
    """Return samples of ss of a flow: what the kernel says is acknowledged, its SYN included, at a time in s."""
    of_flow = {"run_id": flow["run_id"], "flow_id": flow["flow_id"], "connection_number": 1, "cc": flow["cc"]} | facts
    return [of_flow | {"time_utc": at(time), "acked_bytes": count} for time, count in acked.items()]


def make_transfers(number: int, times: dict[str, list[float]], **facts: Any) -> Rows:
    """Return a run of transfers of 4,000 bytes, which have 2,000 at these times: no more than 1,000 where negative."""
    count = sum(map(len, times.values()))
    volume = {"volume_bytes": 4000 * count}
    tables = make_run(number, {cc: [1.0] * len(of_cc) for cc, of_cc in times.items()}, **volume | facts)
    ordered = [time for of_cc in times.values() for time in of_cc]
    tables["samples"] = [
        sample
        for flow, time in zip(tables["flows"], ordered, strict=True)
        for sample in make_samples(flow, {0.0: 1, abs(time): 2001 if time > 0 else 1001})
    ]
    return tables


def gather(*runs: Rows) -> Rows:
    """Return the rows of several runs as those of one archive."""
    names = dict.fromkeys(name for one in runs for name in one)
    return {name: [row for one in runs for row in one.get(name, [])] for name in names}


def build_database(folder: Path, tables: Rows, evaluation: Path = EVALUATION) -> Path:
    """Write an archive of one experiment from rows of its tables, and return its database."""
    (folder / "experiments.txt").write_text("e\n", encoding="ascii")
    for table in EXPERIMENT_TABLES:
        path = folder / f"tables/{table}/e.parquet"
        if table in tables or not path.exists():
            save_table(table, tables.get(table, []), path)
    for table in ARCHIVE_TABLES:
        save_table(table, tables.get(table, []), folder / f"tables/{table}/archive.parquet")
    list_views(folder / "experiments.txt", folder / "tables", evaluation, folder / "archive.duckdb")
    return folder / "archive.duckdb"


def write_evaluation(folder: Path, **figure: Any) -> Path:
    """Write the evaluation with one figure, named `f`, and without claims; return its path."""
    declared = load_yaml(EVALUATION)
    for others in ("claims", "printed"):
        declared.pop(others, None)
    declared["figures"] = {"f": {"title": "A title", "where": "TRUE"} | figure}
    path = folder / "evaluation.yaml"
    write_yaml(path, declared)
    return path
