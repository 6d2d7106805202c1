"""What tests of figures over time need: a small database of runs at constant rates, and what is in a drawn figure."""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from archives import write_yaml

from ccreport.core.tables import write_table
from ccreport.figures.select.declaration import read_declaration
from ccreport.figures.write import plot_declaration

EPOCH = datetime(2026, 11, 20, 22, 11, tzinfo=UTC)
DRAWN_FILES = {
    "figure.svg",
    "untitled.svg",
    "figure.png",
    "thumbnail.png",
    "figure.vl.json",
    "figure.csv",
    "caption.txt",
    "alt.txt",
}
SVG = "{http://www.w3.org/2000/svg}"

MBIT = 1e6
# Per run: condition, iteration, then per algorithm the rate in Mbit/s of each of its two flows and the retransmits per
# half second of each (of 1000 segments). Iteration 2 of `both` is its medoid: in the middle of all coordinates.
RUNS: list[tuple[str, int, dict[str, tuple[float, int]]]] = [
    ("both", 1, {"cubic": (4, 1), "bbr": (21, 4)}),
    ("both", 2, {"cubic": (5, 1), "bbr": (20, 5)}),
    ("both", 3, {"cubic": (6, 1), "bbr": (19, 6)}),
    ("cubic", 1, {"cubic": (20, 2)}),
    ("bbr", 1, {"bbr": (24, 0)}),
    ("bbr", 2, {"bbr": (22, 0)}),
]
SECONDS = 4.0
# As an evaluation makes it, with labels; ccreport collected none of them.
LABELLED_RUNS = """CREATE TABLE sessions (session VARCHAR);
    CREATE VIEW labelled_runs AS
    SELECT *, 'testbed' AS path_class, NULL::VARCHAR AS path_rtt, NULL::VARCHAR AS loss_pattern FROM runs"""


def make_tables(host: str, sender: str) -> dict[str, pl.DataFrame]:
    """Return runs of 4 s with half-second intervals and samples, two flows per algorithm, each at a constant rate."""
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in ("runs", "flows", "intervals", "samples", "qdiscs")}
    for condition, iteration, algorithms in RUNS:
        run_id = f"experiment-{condition}/{iteration}"
        of_flows = [(cc, *values, number) for cc, values in algorithms.items() for number in (1, 2)]
        for number, (cc, rate, retransmits, of_algorithm) in enumerate(of_flows, 1):
            flow = {"run_id": run_id, "flow_id": f"{run_id}/{cc}{of_algorithm}", "is_reverse": False}
            add_flow(tables, flow, number, cc, rate * MBIT, retransmits)
        rates = {"throughput_bps": 1.1, "goodput_bps": 1.0}
        total = sum(rate for _, rate, _, _ in of_flows) * MBIT
        ratio = sum(retransmits for _, _, retransmits, _ in of_flows) * 9 / (1000 * len(of_flows))
        names = {"experiment_id": "experiment", "session": "s", "job": condition, "condition_id": condition}
        flags = {"has_capture": False, "is_interrupted": False, "is_counted": True}
        facts = {"host": host, "sender_host": sender, "rtt_ms": 80.0, "rtt_nominal_ms": 80.0, "loss_pct": 0.01}
        mode = "both" if len(algorithms) > 1 else next(iter(algorithms))
        counts = {"iteration": iteration, "flows_count": len(of_flows), "clients_count": 1, "retransmit_ratio": ratio}
        means = {name: total * factor for name, factor in rates.items()}
        tables["runs"].append({"run_id": run_id, "mode": mode} | names | flags | facts | counts | means)
        for line, loss in ((3, None), (6, 0.01)):
            qdisc = {"line_number": line, "raw_file_id": "f", "qdisc": "netem", "delay_ms": 40.0, "loss_pct": loss}
            tables["qdiscs"].append({"run_id": run_id, "limit_packets_count": 10000} | qdisc)
    return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items()}


def add_flow(
    tables: dict[str, list[dict[str, Any]]], flow: dict[str, Any], number: int, cc: str, rate: float, retransmits: int
) -> None:
    times = {"sender_s": SECONDS, "receiver_s": SECONDS, "start_offset_s": 0.0}
    counts = {"retransmits_count": retransmits * 9, "segments_count": 1000.0, "samples_count": 9}
    rates = {"throughput_bps": rate * 1.1, "goodput_bps": rate}
    tables["flows"].append(flow | {"cc": cc, "client_number": 1} | times | counts | rates)
    stream = flow | {"client_number": 1, "stream_number": number, "raw_file_id": "f"}
    for step in range(9):
        if step < 8:
            interval = {"interval_number": step, "start_s": step / 2, "end_s": step / 2 + 0.5, "is_omitted": False}
            tables["intervals"].append(stream | interval | {"interval_bps": rate * 1.1})
        sample = {"connection_number": 0, "time_utc": EPOCH + timedelta(seconds=step / 2), "raw_file_id": "f"}
        counter = {"retransmits_ss_count": retransmits * (step + 1), "is_partial": False, "extra": []}
        connection = {name: value for name, value in flow.items() if name != "is_reverse"}
        tables["samples"].append(connection | sample | counter)


def make_database(folder: Path, tables: dict[str, pl.DataFrame]) -> Path:
    database = folder / "archive.duckdb"
    with duckdb.connect(str(database)) as connection:
        for name, frame in tables.items():
            path = folder / f"{name}.parquet"
            write_table(frame, name, path)
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet(['{path}'])")
        connection.execute(LABELLED_RUNS)
        connection.execute("CREATE TABLE algorithms (cc VARCHAR, algorithm VARCHAR, algorithm_rank INTEGER)")
    return database


def declare(folder: Path, **changes: Any) -> Path:
    """Write an evaluation file with one figure f and return its path."""
    declared = {"kind": "throughput_over_time", "title": "Two flows each", "overlapped": True, "where": "true"}
    path = folder / "evaluation.yaml"
    evaluation = {"title": "t", "algorithms": {"CUBIC": {"members": ["cubic"]}}, "labels": {}, "tables": {}}
    write_yaml(path, evaluation | {"figures": {"f": declared | changes}})
    return path


def plot(folder: Path, database: Path, **changes: Any) -> Path:
    output = folder / "out"
    plot_declaration(read_declaration(declare(folder, **changes), "f"), database, output)
    return output


def texts_of(svg: str) -> list[str]:
    """Return all texts of an SVG, tspans apart."""
    root = ET.fromstring(svg)  # noqa: S314 (an SVG that we have just made)
    return ["".join(node.itertext()) for node in root.iter() if node.tag == f"{SVG}text" and not list(node)] + [
        node.text or "" for node in root.iter(f"{SVG}tspan")
    ]


def list_layers(specification: dict[str, Any]) -> list[dict[str, Any]]:
    if "layer" not in specification:
        return [specification]
    return [layer for part in specification["layer"] for layer in list_layers(part)]
