"""A small site with the explorer's page, over an archive of which every value is known."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from archives import EPOCH, ROOT, save_table, write_yaml

from ccreport.core.declarations import load_yaml
from ccreport.explorer.export import export_runs
from ccreport.rebuild.batch_tables import BatchWriter
from ccreport.rebuild.batches import write_batches
from ccreport.report.site.without_quarto import render_embedded

HOSTILE = '"><script>alert(1)</script> & é'
HOSTILE_ID = f"e3/../{HOSTILE}"
FIRST, SECOND = "e1.h1-1-10ms-aa", "e1.h1-2-80ms-bb"
# The runs of e2, which were never observed over time: run i has i Mbit/s.
PLAIN_COUNT = 60
SECONDS = 2.0
# Of a publication: its table is of the runs of e1, its figure of the second of them.
EVALUATION = {
    "title": "Both",
    "algorithms": {"CUBIC": {"members": ["cubic"]}},
    "algorithm_names": {"bbr": "BBRv1"},
    "labels": {},
    "tables": {"jobs": {"title": "Table I: the first job", "rows": ["job"], "where": "experiment_id = 'e1'"}},
    "reproduction": {"jobs": {"expected": "jobs.csv", "line_rate_bps": 1e10}},
    "figures": {"figure_2": {"kind": "throughput_over_time", "title": "Far", "where": "rtt_ms > 50"}},
}
BIN_S = 0.5


def write_database(folder: Path) -> Path:
    """Write tables and the database over them; return the database.

    e1 has two runs of 2 s, the second suspect, each of a CUBIC flow of 4 Mbit/s and a BBR flow of 20 Mbit/s; e2 60 runs
    without intervals or samples; e3 one interrupted run, all of whose names are hostile, with a flow unknown to `ss`.
    """
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in ("runs", "flows", "intervals", "samples")}
    for run_id, rtt, loss in ((FIRST, 10.0, 0.0), (SECOND, 80.0, 0.1)):
        settings = {"rtt_ms": rtt, "loss_pct": loss, "iteration": int(run_id[6]), "retransmits_count": 8}
        tables["runs"].append(
            make_run(run_id, "e1", "both", "bbr,cubic", 24.0, flows_count=2, retransmit_ratio=rtt / 1e4, **settings)
        )
        add_flow(tables, run_id, 1, "cubic", 4.0)
        add_flow(tables, run_id, 2, "bbr", 20.0)
    for i in range(1, PLAIN_COUNT + 1):
        tables["runs"].append(make_run(f"e2.h1-{i}-20ms-cc", "e2", "cubic", "cubic", float(i), iteration=i, host="h2"))
    names = {"job": HOSTILE, "host": HOSTILE, "session": HOSTILE, "sender_host": HOSTILE}
    hostile = make_run(HOSTILE_ID, "e3", "unknown", HOSTILE.replace(",", ""), None, iteration=None, **names)
    tables["runs"].append(hostile | {"is_interrupted": True, "is_counted": False, "rtt_ms": None})
    add_flow(tables, HOSTILE_ID, 1, HOSTILE, 1.0, is_sampled=False)
    database = folder / "archive.duckdb"
    with duckdb.connect(str(database)) as connection:
        for name, rows in tables.items():
            path = save_table(name, rows, folder / f"{name}.parquet")
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{path}')")
        make_views(connection)
    return database


def make_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the views over runs: the second is suspect and has loss in bursts; of each run of its job a file was read.

    The runs of that job are in the table of the publication.
    """
    connection.execute(f"""
        CREATE VIEW labelled_runs AS
        SELECT
            *, run_id = '{SECOND}' AS is_suspect,
            CASE WHEN is_suspect THEN 'kernel_drops, sample_gap' END AS suspect_rules,
            CASE WHEN loss_pct > 0 THEN 'bursts' ELSE 'random' END AS loss_pattern
        FROM runs
    """)
    connection.execute("""
        CREATE VIEW raw_files AS
        SELECT run_id || '.json' AS path, sha256(run_id) AS sha256, run_id, experiment_id, 'ingested' AS state
        FROM runs WHERE experiment_id = 'e1'
    """)
    connection.execute("CREATE VIEW rpc_tests AS SELECT '' AS run_id, 'netperf' AS rpc_tool WHERE false")
    connection.execute("CREATE VIEW algorithm_runs AS FROM labelled_runs")
    connection.execute("CREATE VIEW jobs_runs AS FROM labelled_runs WHERE experiment_id = 'e1'")


def write_claims(folder: Path) -> Path:
    """Write the table `claims`: one that holds, and one that does not by the second of its two checks."""
    rows = [
        {"claim_number": 1, "claim": "faster", "claim_verdict": "holds", "check_number": 1, "verdict": "holds"},
        *(
            {"claim_number": 2, "claim": "stable", "claim_verdict": "does not hold", "check_number": number}
            | {"verdict": verdict, "paper_value": 4.0, "value": 1.5, "low": 1.2, "high": 1.9, "runs_count": 5}
            for number, verdict in ((1, "holds"), (2, "does not hold"))
        ),
    ]
    checks = [row | {"check": f"check {row['check_number']}", "minimum_runs_count": 3} for row in rows]
    return save_table("claims", checks, folder / "claims.parquet")


def make_run(run_id: str, experiment: str, mode: str, ccs: str, mbit: float | None, **more: Any) -> dict[str, Any]:
    """Return a row of `runs` of so many Mbit/s."""
    rate = None if mbit is None else mbit * 1e6
    return {
        "run_id": run_id,
        "experiment_id": experiment,
        "session": "2026-11-20:22:10",
        "job": f"job_{experiment}",
        "condition_id": "c",
        "host": "h1",
        "mode": mode,
        "cc_list": ccs,
        "flows_count": 1,
        "clients_count": 1,
        "rtt_ms": 20.0,
        "loss_pct": 0.0,
        "throughput_bps": rate,
        "goodput_bps": rate,
        "has_capture": False,
        "is_interrupted": False,
        "is_counted": True,
    } | more


def add_flow(
    tables: dict[str, list[dict[str, Any]]], run_id: str, number: int, cc: str, mbit: float, *, is_sampled: bool = True
) -> None:
    """Add a flow of constant rate: per half second 1 retransmit by `ss`, 3 by iperf3; windows of 10, 20, 30, 40."""
    flow = {"run_id": run_id, "flow_id": f"{run_id}/{number}"}
    tables["flows"].append(
        flow
        | {"client_number": 1, "stream_number": number, "cc": cc, "local_port": 4000 + number, "mss_bytes": 1448}
        | {"throughput_bps": mbit * 1e6, "goodput_bps": mbit * 0.875e6, "retransmits_count": 1234567}
        | {"retransmit_ratio": 0.0025, "rtt_mean_ms": 12.3456}
    )
    for i in range(int(SECONDS / BIN_S)):
        tables["intervals"].append(
            flow
            | {"client_number": 1, "stream_number": number, "interval_number": i, "raw_file_id": "f"}
            | {"start_s": i * BIN_S, "end_s": (i + 1) * BIN_S, "interval_bps": mbit * 1e6, "interval_bytes": 1}
            | {"retransmits_iperf3_count": 3, "cwnd_bytes": 14480, "rtt_ms": 33.0}
        )
        if is_sampled:
            tables["samples"].append(
                flow
                | {"connection_number": 0, "raw_file_id": "s", "time_utc": EPOCH + timedelta(seconds=i * BIN_S)}
                | {"retransmits_ss_count": i + 1, "cwnd_segments_count": 10 * (i + 1), "rtt_ms": 12.5, "cc": cc}
            )


def export_database(
    database: Path,
    output: Path,
    made_of: Mapping[str, str] | None = None,
    published: Sequence[Path] = (),
    engine: Sequence[Path] = (),
) -> None:
    """Export the runs of a database, with an SQL engine and `published` tables to ask by it, or without.

    `made_of` are the fingerprints of its experiments, none of which is known else.
    """
    batches, tables = database.with_suffix(".txt"), database.parent / "tables"
    write_batches({"first": list(made_of or {})}, batches)
    with BatchWriter("flows", tables / "flows/first.parquet") as writer:
        for experiment, fingerprint in (made_of or {}).items():
            writer.append(experiment, fingerprint, [])
    evaluation = database.with_suffix(".yaml")
    write_yaml(evaluation, EVALUATION)
    export_runs(batches, tables, database, evaluation, list(published), list(engine), output)


def write_site(database: Path, folder: Path, export: Callable[[Path, Path], None] = export_database) -> Path:
    """Export the database's runs and render the explorer's page beside them; return the folder of the site."""
    project = folder / "project"
    project.mkdir(parents=True)
    site = load_yaml(ROOT / "reports/_quarto.yml")
    site["project"]["resources"] = ["explorer/*.*", "explorer/*/*"]
    site["website"]["navbar"] = {"left": [{"text": "Explorer", "href": "explorer.qmd"}]}
    write_yaml(project / "_quarto.yml", site)
    (project / "_variables.yml").write_text("{}\n", encoding="utf-8")
    # The title of each page leads there.
    (project / "index.qmd").write_text("---\ntitle: Summary\n---\n\nThe first page.\n", encoding="utf-8")
    # Which the explorer leads to.
    ledger = "---\ntitle: Ledger of files\n---\n\n## Runs that were disturbed {#suspects}\n\nNone.\n"
    (project / "ledger.qmd").write_text(ledger, encoding="utf-8")
    for page in ("explorer.qmd", "styles.css"):
        shutil.copy(ROOT / "reports" / page, project)
    export(database, project / "explorer")
    render_embedded(project, folder / "site")
    return folder / "site"


def read_script(path: Path) -> str:
    """Return a script's arguments, as the JSON array they make."""
    text = path.read_text(encoding="utf-8")
    return f"[{text[text.index('(') + 1 : text.rindex(');')]}]"


def empty_database(folder: Path) -> Path:
    """Return a database of an archive without any run."""
    database = folder / "empty.duckdb"
    with duckdb.connect(str(database)) as connection:
        for name in ("runs", "flows", "intervals", "samples"):
            path = save_table(name, [], folder / f"{name}_empty.parquet")
            assert pl.read_parquet(path).is_empty()
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{path}')")
        make_views(connection)
    return database
