"""A small made-up archive's results, as the report's steps take them, with names that try to be more than names."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from performance_inputs import write_scale, write_side_by_side

from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import write_table
from ccreport.report.first_page.plot import plot_reproduction
from ccreport.report.performance.render import render_performance
from ccreport.report.reference import render_reference

# Each is shown literally, except that a control character shows as its escape.
NASTY = (
    "$(touch pwned)",
    '"><script>alert(1)</script>',
    "two\nlines | pipe ` tick",
    "{{< include /etc/passwd >}}",
    "{{< var archive.runs >}} {{{< x >}}}",
    "@fig-x and @tbl-ledger and [link](https://example.org) ![i](x.svg)",
    "$math$ *em* _em_ ~sub~ ^sup^ --- ... 'q' :smile: <b>&amp;&lt;</b>",
    "::: {.callout-note}",
    "```{=html}",
    "# heading {#x}",
    "  two  spaces  ",
    "\\backslash\\ 日本語 é",
)
REASON = "truncated_json"
EMPTY = ("rpc_tests", "connections", "web_requests", "machine_counters", "sessions", "calibrations", "attempts")


def write_inputs(folder: Path, names: tuple[str, ...] = NASTY) -> dict[str, Any]:
    """Write every input of `render_fragments` below a folder and return its arguments.

    Four runs of two sessions, three flows, and a job and a host for each name. Files: 2 ingested, 1 ignored for each
    run, and 1 rejected for each name.
    """
    runs = pl.DataFrame([_make_run(i, names[i % len(names)]) for i in range(4)], infer_schema_length=None)
    flows = pl.DataFrame([_make_flow(i, cc) for i, cc in enumerate(("cubic", "bbr", "cubic"))])
    rejects = pl.DataFrame([_make_reject(i, name) for i, name in enumerate(names)])
    states = ("ingested", "ingested", "ignored")
    files = [_make_file(f"run{i}-{j}", state) for i in range(4) for j, state in enumerate(states)]
    files += [_make_file(f"reject{i}", "rejected", path=name) for i, name in enumerate(names)]
    tables = folder / "tables"
    write_table(pl.DataFrame(files, infer_schema_length=None), "raw_files", tables / "raw_files" / "archive.parquet")
    write_table(rejects, "rejects", tables / "rejects" / "archive.parquet")
    suspect = {"run_id": "run1", "suspect_rule": "sample_gap", "observed": 2.5, "bound": 1.0, "bound_unit": "s"}
    write_table(pl.DataFrame([suspect]), "suspects", tables / "suspects" / "archive.parquet")
    # Two experiments: the first has runs 0 and 1.
    first = pl.col("run_id").is_in(["run0", "run1"])
    for experiment, own in (("e1", first), ("e2", ~first)):
        write_table(runs.filter(own), "runs", tables / "runs" / f"{experiment}.parquet")
        write_table(flows.filter(own), "flows", tables / "flows" / f"{experiment}.parquet")
        for empty in (*EMPTY, "harness_results", "captures", "capture_logs"):
            write_table(pl.DataFrame(), empty, tables / empty / f"{experiment}.parquet")
    for compared in ("reproduction", "claims"):
        write_table(pl.DataFrame(), compared, folder / f"{compared}.parquet")
    _write_texts(folder, files_count=len(files))
    database = folder / "archive.duckdb"
    with duckdb.connect(database) as connection:
        connection.execute(f"CREATE TABLE labelled_runs AS FROM read_parquet('{tables}/runs/*.parquet')")
        connection.execute("CREATE VIEW algorithm_runs AS FROM labelled_runs")
        for table in load_evaluation(folder / "evaluation.yaml")["tables"]:
            connection.execute(f"CREATE VIEW {table}_runs AS FROM labelled_runs WHERE is_counted")
    plot_reproduction(folder / "evaluation.yaml", folder / "reproduction.parquet", database, folder / "first_page")
    return {
        "batches": folder / "experiments.txt",
        "tables": tables,
        "archive": folder / "archive.json",
        "config": (
            "archive: /home/somebody/sample.tar.zst\nstrict: false\n"
            "release: {version: '1', doi: null, creators: [], raw: archive, title: null, date: null, license: null}\n"
        ),
        "evaluation": folder / "evaluation.yaml",
        "summaries": folder / "summaries",
        "figures": folder / "figures",
        "first_page": folder / "first_page",
        "reproduction": folder / "reproduction.parquet",
        "claims": folder / "claims.parquet",
        "explanations": [],
        "citation": Path(__file__).parents[2] / "CITATION.cff",
        "database": database,
    }


def _make_run(i: int, name: str) -> dict[str, Any]:
    return {
        "run_id": f"run{i}",
        "experiment_id": "e",
        "session": "2026-11-20:22:10" if i < 3 else "2026-11-21:08:00",
        "job": name,
        "condition_id": f"c{i}",
        "host": name,
        "flows_count": 1,
        "clients_count": 1,
        "rtt_ms": (10.0, 20.0, 40.0, 80.5)[i],
        "start_utc": datetime(2026, 11, 20 + i // 3, 22, 10, i, tzinfo=UTC),
        "has_capture": False,
        "is_interrupted": i == 2,
        "is_counted": i != 2,
    }


def _make_flow(i: int, cc: str) -> dict[str, Any]:
    return {"run_id": f"run{i}", "flow_id": f"f{i}", "is_reverse": False, "cc": cc, "samples_count": 16}


def _make_reject(i: int, name: str) -> dict[str, Any]:
    return {
        "raw_file_id": f"reject{i}",
        "path": name,
        "part_number": 0,
        "kind": "src-cmd",
        "reason": REASON,
        "is_whole_file": True,
        "message": f"cut off: {name}",
        "line_number": i + 1 if i % 2 else None,
        "byte_offset_bytes": None if i % 2 else 1000 + i,
    }


def _make_file(raw_file_id: str, state: str, path: str = "2026-11-20:22:10/job/ss:host:1") -> dict[str, Any]:
    return {
        "raw_file_id": raw_file_id,
        "path": path,
        "experiment_id": "e",
        "session": "2026-11-20:22:10",
        "job": "job",
        "kind": "src-cmd" if state == "rejected" else "ss",
        "size_bytes": 1500,
        "sha256": "0" * 64,
        "state": state,
        "rule": {"ingested": "ingest_ss", "ignored": "copy of a raw file"}.get(state),
        "reason": REASON if state == "rejected" else None,
    }


def _write_texts(folder: Path, files_count: int) -> None:
    archive = {"name": "sample.tar.zst", "sha256": "ab" * 32, "size_bytes": 1, "files_count": files_count}
    (folder / "archive.json").write_text(json.dumps(archive), encoding="utf-8")
    (folder / "experiments.txt").write_text("e1\ne2\n", encoding="ascii")
    (folder / "evaluation.yaml").write_text(
        "# What the report shows.\n"
        "title: BBR & CUBIC\n"
        "source: 'A. Author, \"Paper\", 2021'\n"
        "algorithms: {BBR: {members: [bbr]}}\n"
        "labels: {}\n"
        "tables:\n"
        "  table_2_testbed: {title: 'Table II: *M*, $x$ & {{< y >}}'}\n"
        "  table_of_ours: {title: A table without a schema}\n"
        "figures:\n"
        "  plot_one: {kind: throughput_over_time, title: One run, where: 'TRUE'}\n"
        "  plot_none: {kind: throughput_over_time, title: No run, where: 'FALSE'}\n",
        encoding="utf-8",
    )
    summaries = folder / "summaries"
    summaries.mkdir()
    for name in ("table_2_testbed", "table_of_ours"):
        (summaries / f"{name}.html").write_text("<table><tr><td>4.2</td></tr></table>\n", encoding="utf-8")
        (summaries / f"{name}.csv").write_text("mean\n4.2\n", encoding="utf-8")
        (summaries / f"{name}.tex").write_text("4.2\n", encoding="utf-8")
    drawn, absent = folder / "figures" / "plot_one", folder / "figures" / "plot_none"
    drawn.mkdir(parents=True)
    absent.mkdir()
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="150"><rect width="9" height="9"/></svg>'
    for name in ("figure.svg", "untitled.svg"):
        (drawn / name).write_text(svg, encoding="utf-8")
    (drawn / "caption.txt").write_text('to "host" <b> {{< x >}} at 40 ms\n', encoding="utf-8")
    (drawn / "alt.txt").write_text('Lines of "cubic" & bbr, {#x}\n', encoding="utf-8")
    (absent / "missing.txt").write_text("no run at 40 ms", encoding="utf-8")


def write_site_inputs(folder: Path) -> dict[str, Any]:
    """Write what `render_report` takes beside pages and fragments, and return these of its arguments."""
    cells, explorer = folder / "cells", folder / "explorer"
    files = [folder / name for name in ("report.pdf", "supplement.pdf", "reproduction.csv", "claims.csv")]
    cells.mkdir()
    (cells / "cells_table_of_ours.qmd").write_text(
        "---\ntitle: Cells of a table\n---\n\n## First {#cell-1}\n\nIts runs.\n", encoding="utf-8"
    )
    (explorer / "runs").mkdir(parents=True)
    for name in (
        "explorer.css",
        "list.js",
        "sorted.js",
        "save.js",
        "query.js",
        "scatter.js",
        "table.js",
        "charts.js",
        "explorer.js",
        "runs.js",
        "runs/run0.js",
    ):
        (explorer / name).write_text("", encoding="utf-8")
    render_performance(write_scale(folder), write_side_by_side(folder), folder / "performance")
    render_reference(folder / "reference")
    changes = folder / "changes.md"
    changes.write_text("Nothing to compare with.\n", encoding="utf-8")
    for file in files:
        file.write_bytes(b"%PDF-1.7\n" if file.suffix == ".pdf" else b"table\n")
    return {
        "tables": folder / "summaries",
        "figures": [folder / "figures", folder / "first_page"],
        "cells": cells,
        "explorer": [explorer],
        "performance": folder / "performance",
        "reference": folder / "reference",
        "changes": [changes],
        "files": files,
        "sections": [],
        "kept": folder / "converted",
    }
