"""`explain`: which runs a table and its rows do not have, and why; together they are all runs."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import ROOT, write_yaml
from condition_runs import build_database
from explained_runs import FACTS, raw_file
from test_summarise import gather, run

from ccreport.core.declarations import load_yaml
from ccreport.core.evaluation import load_evaluation
from ccreport.explorer.run_list import read_runs
from ccreport.summarise.database import connect
from ccreport.trace.explain import explain
from ccreport.trace.find_table import list_published
from ccreport.trace.rows.candidates import explain_absence, find_rateless
from ccreport.trace.rows.edge import GROUPED
from ccreport.trace.rows.left_out import describe_left_out, read_condition
from ccreport.trace.rows.load_trace import load_trace, recompute_row
from ccreport.trace.rows.suspects import Suspects
from ccreport.trace.rows.whole_table import describe_table

BOTH = {"bbr": 5.0, "cubic": 6.0}
PART = re.compile(r"  (?:\d+ runs?: |(r\d+) \()")


def list_tables() -> dict[str, Any]:
    """Return rows of the tables of runs of all kinds: counted in means or, for each reason, not."""
    facts = FACTS | {"condition_id": "a", "rtt_ms": 10.0, "cc_list": "bbr", "clients_count": 1}
    both = facts | {"cc_list": "bbr,cubic", "condition_id": "b", "clients_count": 2, "start_spread_s": 0.0}
    no_flow = dict.fromkeys(("mode", "cc_list", "throughput_bps", "goodput_bps")) | {
        "is_counted": False,
        "flows_count": 0,
    }
    runs = [
        *(run(n, {"bbr": 9.0 + n}, **facts) for n in (1, 2, 3)),
        *(run(n, BOTH, **both) for n in (4, 5, 6, 7)),
        run(8, {"bbr": 1.0}, **facts | {"buffer_bytes": 25_000, "condition_id": "c", "bottleneck_bps": 1e7}),
        run(9, BOTH, **both | {"buffer_bytes": 25_000, "condition_id": "d", "loss_pct": 0.1}),
        run(10, {"bbr": 1.0}, **facts, is_counted=False, is_interrupted=True),
        run(11, BOTH, **both, is_counted=False, is_cpu_bound=True),
        run(12, {"cubic": 1.0}, **facts | {"volume_bytes": 10_000, "condition_id": "e", "cc_list": "cubic"}),
        # A suspect one, one that counts, and one of which the receiver did not report.
        run(13, BOTH, **both),
        run(14, {"bbr": 7.0}, **facts),
        run(15, {"cubic": 7.0}, **facts | {"cc_list": "cubic", "condition_id": "f"}),
        # Tests of RPCs have no flow.
        *({"runs": run(n, {"bbr": 0.0}, **facts | no_flow)["runs"], "flows": []} for n in (16, 17)),
    ]
    tables = gather(*runs)
    tables["flows"] = [flow | {"goodput_bps": None} if flow["run_id"] == "r15" else flow for flow in tables["flows"]]
    suspect = {"suspect_rule": "kernel_drops", "observed": 3.0, "bound": 0.0, "bound_unit": "events"}
    test = {"rpc_tool": "netperf", "output_form": "keyval", "cc": "bbr", "payload_direction": "transactions"}
    test |= {"transport": "TCP", "client_number": 1, "request_bytes": 1000, "response_bytes": 1, "test_number": 0}
    test |= {"transaction_rate_tps": 500.0, "latency_mean_ms": 20.0}
    files = [raw_file(f"{n}/netperf", f"r{n}") for n in (16, 17)]
    return tables | {
        "suspects": [suspect | {"run_id": "r13"}],
        "raw_files": files,
        "rpc_tests": [
            test | {name: file[name] for name in ("run_id", "raw_file_id")} | {"repetition_id": file["run_id"]}
            for file in files
        ],
    }


def read_left_out(lines: list[str]) -> dict[str, list[str]]:
    """Return the runs of a full text that are left out, by reason."""
    reasons: dict[str, list[str]] = {}
    reason = ""
    for line in lines:
        if told := PART.match(line):
            reason = line[told.end() :]
            reasons[reason] = [*reasons.get(reason, []), *filter(None, [told[1]])]
        elif line.startswith("    r"):
            reasons[reason].append(line.strip())
    return reasons


@pytest.mark.slow
@pytest.mark.parametrize("name", ["esnet-dtn", "generic", "brakmo-bbr", "mininet-bbr2"])
def test_the_runs_of_a_table_and_those_that_it_leaves_out_are_all_runs(name: str, tmp_path: Path) -> None:
    tables = list_tables()
    every = {row["run_id"] for row in tables["runs"]}
    database = build_database(tmp_path, tables, ROOT / f"evaluations/{name}.yaml")
    untold, told = set(), set()
    with connect(database) as connection:
        for table in list_published(connection):
            summary = connection.sql(f'FROM "{table}"').pl()
            if summary.is_empty():
                continue
            lines = describe_table(connection, table, summary, is_full=True)
            chosen = [re.match(r"Which runs it has \((\d+) of (\d+)\):", line) for line in lines]
            if (counts := next(filter(None, chosen), None)) is None:
                untold.add(table)
                continue
            told.add(table)
            trace = load_trace(connection, table)
            own = set().union(*(trace.select_source(row)["run_id"] for row in summary.iter_rows(named=True)))
            left_out = [one for found in read_left_out(lines).values() for one in found]
            assert (int(counts[1]), int(counts[2])) == (len(own), len(every))
            assert sorted([*own, *left_out]) == sorted(every)
            assert f"Left out of the table ({len(left_out)})" in "\n".join(lines)
    assert told
    # These have flows of one run, or connections that are of no run.
    assert untold <= {"witnesses", *GROUPED}


def test_udp_is_no_test_that_failed() -> None:
    runs = pl.DataFrame({"flows_count": [0, 0], "throughput_bps": [5e7, None]}).with_columns(
        **dict.fromkeys(("is_counted", "is_interrupted", "is_host_limited", "is_cpu_bound"), pl.lit(value=False))
    )
    reasons = runs.select(explain_absence()).to_series()
    assert reasons.to_list() == ["not TCP", "without a bulk transfer (RPCs, or a test that failed)"]


def test_no_reason_is_wrong(tmp_path: Path) -> None:
    tables = list_tables()
    database = build_database(tmp_path, tables, ROOT / "evaluations/generic.yaml")
    with connect(database) as connection:
        means, rpc = (
            read_left_out(describe_table(connection, table, connection.sql(f"FROM {table}").pl(), is_full=True))
            for table in ("means", "rpc_latency")
        )
    assert means == {
        "kernel_drops: 3 events, the bound is 0; page Ledger)": ["r13"],
        "not counted, without a bulk transfer (RPCs, or a test that failed)": ["r16", "r17"],
        "no receiver's rate": ["r15"],
        "not counted, CPU-bound": ["r11"],
        "not counted, interrupted": ["r10"],
    }
    assert rpc.keys() == {"not a test of RPCs"}


def test_runs_that_count_and_have_no_rate_for_any_table_are_found_and_told_as_such(tmp_path: Path) -> None:
    tables = list_tables()
    # What the configuration lets count without a receiver's rate, as interrupted runs have it.
    told = {"r15": "no receiver's rate", "r18": "interrupted, no receiver's rate"}
    late = run(18, {"cubic": 7.0}, **FACTS | {"condition_id": "f", "cc_list": "cubic", "is_interrupted": True})
    tables["runs"] += late["runs"]
    tables["flows"] += [flow | {"goodput_bps": None} for flow in late["flows"]]
    declared = {
        "title": "Means",
        "algorithms": {"BBR": {"members": ["bbr"]}, "CUBIC": {"members": ["cubic"]}},
        "labels": {},
        "tables": {"means": {"title": "Means", "rows": ["flows_count", "algorithm"]}},
    }
    write_yaml(evaluation := tmp_path / "my.yaml", declared)
    database = build_database(tmp_path, tables, evaluation)
    facts = load_evaluation(evaluation)["tables"]
    assert find_rateless(database, facts) == sorted(told)
    with connect(database) as connection:
        left_out = read_left_out(describe_table(connection, "means", connection.sql("FROM means").pl(), is_full=True))
        assert {run: reason for reason, runs in left_out.items() for run in runs if run in told} == told
        runs = read_runs(connection, pl.DataFrame(schema={"run_id": pl.String, "exhibit": pl.String}), [*told])
    shown = runs.filter(pl.col("run_id").is_in([*told])).select("is_counted", "uncounted_reason").rows()
    assert shown == [(False, "no receiver's rate")] * 2
    # A table of the sender's rate has them.
    declared["tables"]["means"]["rate"] = "throughput"
    write_yaml(evaluation, declared)
    assert find_rateless(build_database(tmp_path, tables, evaluation), load_evaluation(evaluation)["tables"]) == []


def test_a_row_leaves_out_no_run_that_another_row_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row of an algorithm alone has no `beside`: runs beside others are not alike, and neither are suspect ones."""
    evaluation = ROOT / "evaluations/generic.yaml"
    database = build_database(tmp_path, list_tables(), evaluation)
    row = "beside=–,algorithm=BBR,buffer_bytes=–"
    explain("means", row=row, database=database, full=True)
    lines = capsys.readouterr().out.splitlines()
    assert read_left_out(lines[: lines.index("Raw files (0; sha256, path):")]) == {"not counted, interrupted": ["r10"]}
    # Its own query does not have them either.
    (query,) = (line.removeprefix("  The row's: ") for line in lines if "The row's: " in line)
    with connect(database) as connection:
        assert {*connection.sql(query).pl()["run_id"]} == {"r1", "r2", "r3", "r14"}
        trace, suspects = load_trace(connection, "means"), Suspects(connection)
        lacking = {
            (shown["beside"], shown["algorithm"]): [one.run_id for one in suspects.select(trace, shown)]
            for shown in connection.sql("FROM means WHERE loss_pct = 0 AND buffer_bytes IS NULL").pl().to_dicts()
        }
    pairs = {("bbr,cubic", "BBR"): ["r13"], ("bbr,cubic", "CUBIC"): ["r13"]}
    assert lacking == pairs | {(None, "BBR"): [], (None, "CUBIC"): []}


@pytest.mark.slow
def test_rows_of_all_tables_leave_out_only_runs_that_they_cannot_have(tmp_path: Path) -> None:
    for name in ("esnet-dtn", "generic"):
        (tmp_path / name).mkdir()
        database = build_database(tmp_path / name, list_tables(), ROOT / f"evaluations/{name}.yaml")
        with connect(database) as connection:
            for table in {*list_published(connection)} - {*GROUPED}:
                trace = load_trace(connection, table)
                for row in connection.sql(f'FROM "{table}"').pl().iter_rows(named=True):
                    condition = read_condition(connection, trace, row)
                    lines = describe_left_out(connection, condition, trace, row, is_full=True)
                    told = read_left_out(lines)
                    assert [found for reason, found in told.items() if reason.startswith("no ")] in ([], [["r15"]])


@pytest.mark.parametrize("table", ["comparisons", "published_values"])
def test_rows_without_labels_of_runs_leave_out_suspect_ones_of_their_conditions(table: str, tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml")
    declared["tables"]["published_values"] = {"title": "Published values"}
    # A queue of 10 MB has no run.
    declared["published"] = {
        "rates": {
            "title": "Table I",
            "unit": "Mbit/s",
            "step": 1,
            "columns": {"buffer": "queue {}"},
            "cells": [["none", 5], ["25000", 5], ["1e7", 5]],
            "sql": "SELECT run_id, condition_id, coalesce(buffer_bytes::VARCHAR, 'none') AS buffer, 1 AS x, 1 AS y"
            " FROM labelled_runs WHERE is_counted AND sharing = 'both'",
        }
    }
    write_yaml(tmp_path / "own.yaml", declared)
    with connect(build_database(tmp_path, list_tables(), tmp_path / "own.yaml")) as connection:
        trace, summary = load_trace(connection, table), connection.sql(f"FROM {table}").pl()
        whole = read_left_out(describe_table(connection, table, summary, is_full=True))
        found = []
        for row in summary.iter_rows(named=True):
            condition = read_condition(connection, trace, row)
            left_out = read_left_out(describe_left_out(connection, condition, trace, row, is_full=True))
            found.append((len(trace.select_runs(row)), left_out))
    suspect = {"kernel_drops: 3 events, the bound is 0; page Ledger)": ["r13"]}
    of_both = [left_out for _, left_out in found if suspect.items() <= left_out.items()]
    assert suspect.items() <= whole.items()
    assert of_both
    for left_out in of_both:
        (reason,) = left_out.keys() - suspect.keys()
        assert left_out == suspect | {reason: ["r11"]}
    assert all(runs_count or not left_out for runs_count, left_out in found)


def test_conditions_that_the_means_pool_tell_no_runs_apart(tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml") | {"figures": {}, "front_figures": []}
    declared["labels"] = {"queue": {"cases": [{"value": "short", "when": "buffer_bytes < 1e6"}], "otherwise": "'long'"}}
    declared["tables"] = {"means": {"title": "Means", "rows": ["queue"], "columns": ["algorithm"]}}
    write_yaml(tmp_path / "own.yaml", declared)
    facts = FACTS | {"rtt_ms": 10.0, "condition_id": "a"}
    tables = gather(
        run(1, {"bbr": 9.0}, **facts),
        run(2, BOTH, **facts, is_counted=False, is_interrupted=True),
        run(3, {"bbr": 9.0}, **facts, is_counted=False, is_interrupted=True, buffer_bytes=25_000),
        run(4, {"bbr": 9.0}, **facts | {"rtt_ms": 90.0}, is_counted=False, is_interrupted=True),
    )
    with connect(build_database(tmp_path, tables, tmp_path / "own.yaml")) as connection:
        trace = load_trace(connection, "means")
        (row,) = connection.sql("FROM means").pl().to_dicts()
        lines = describe_left_out(connection, "TRUE", trace, row, is_full=True)
    # The row is of any sharing and RTT, and of one label.
    assert row["labels"] == "queue=long"
    assert read_left_out(lines) == {"not counted, interrupted": ["r2", "r4"]}


def test_a_condition_on_what_the_means_pool_is_asked_of_the_runs_themselves(tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml") | {"figures": {}, "front_figures": []}
    where = "flows_count = 16 AND loss_pct < 0.05"
    declared["tables"] = {"means": {"title": "Means", "where": where, "rows": ["algorithm"], "columns": []}}
    write_yaml(tmp_path / "own.yaml", declared)
    with connect(build_database(tmp_path, list_tables(), tmp_path / "own.yaml")) as connection:
        trace, suspects = load_trace(connection, "means"), Suspects(connection)
        summary = connection.sql("FROM means").pl()
        (row,) = summary.filter(algorithm="BBR").to_dicts()
        of_table = read_left_out(describe_table(connection, "means", summary, is_full=True))
        of_row = read_left_out(describe_left_out(connection, where, trace, row, is_full=True))
        assert [one.run_id for one in suspects.select(trace, row)] == ["r13"]
    of_both = {
        "kernel_drops: 3 events, the bound is 0; page Ledger)": ["r13"],
        "not counted, CPU-bound": ["r11"],
        "not counted, interrupted": ["r10"],
    }
    assert of_table == of_both | {
        "not counted, without a bulk transfer (RPCs, or a test that failed)": ["r16", "r17"],
        "`loss_pct < 0.05` is not true": ["r9"],
        "no receiver's rate": ["r15"],
    }
    assert of_row == of_both | {"Loss (%) 0.1000, where the table has loss_pct < 0.05": ["r9"]}


def test_a_run_that_the_tables_query_drops_is_told_as_such(tmp_path: Path) -> None:
    facts = FACTS | {"condition_id": "a"}
    profile = [run(n, {"bbr": 9.0}, **facts, rtt_ms=10.0 * n) for n in (1, 2)]
    other = [run(n, {"bbr": 9.0}, **facts, rtt_ms=10.0 * n, loss_pct=0.1) for n in (3, 4)]
    # A coefficient needs two round-trip times.
    single = run(5, {"cubic": 9.0}, **facts, rtt_ms=10.0)
    with connect(build_database(tmp_path, gather(*profile, *other, single))) as connection:
        lines = describe_table(connection, "coefficients", connection.sql("FROM coefficients").pl(), is_full=True)
    assert lines[-3:] == [
        "Left out of the table (1), by the first reason that each has:",
        "  1 run: selected, but the table's query makes no row of them",
        "    r5",
    ]


def test_tests_of_one_run_are_told_apart_by_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = list_tables()
    first = tables["rpc_tests"][0]
    tables["raw_files"] += [raw_file("16/netperf-2", "r16")]
    tables["rpc_tests"] += [first | {"raw_file_id": "16/netperf-2"}]
    database = build_database(tmp_path, tables, ROOT / "evaluations/brakmo-bbr.yaml")
    explain("rpc_latency", row="load_count=2", database=database)
    printed = capsys.readouterr().out
    assert re.findall(r" (16/netperf\S*) .* r16$", printed, re.MULTILINE) == ["16/netperf", "16/netperf-2"]


def test_a_row_of_rpcs_beside_bulk_flows_rests_on_their_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = build_database(tmp_path, list_tables(), ROOT / "evaluations/brakmo-bbr.yaml")
    with connect(database) as connection:
        trace = load_trace(connection, "servers")
        (of_rpcs,) = connection.sql("FROM servers WHERE request_bytes = 1000").pl().to_dicts()
        assert recompute_row(connection, trace, of_rpcs) == of_rpcs
        assert {*trace.select_runs(of_rpcs)["run_id"]} == {"r16", "r17"}
    explain("servers", row="request_bytes=1000", database=database)
    printed = capsys.readouterr().out
    assert ", and of all tests of RPCs.\n" in printed
    (query,) = re.findall("  The row's: (.*)", printed)
    with connect(database) as connection:
        assert {*connection.sql(query).pl()["run_id"]} == {"r16", "r17"}


@pytest.mark.parametrize(("table", "key"), [("staggered_flows", "flow"), ("servers", "client")])
def test_a_row_of_a_flow_or_client_lists_its_own_numbers(
    table: str, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = FACTS | {"scenario": "staggered", "clients_count": 2, "condition_id": "a", "rtt_nominal_ms": 40.0}
    tables = gather(*(run(n, {"bbr": 8.0, "cubic": 2.0 + n}, **facts) for n in (1, 2)))
    for flow in tables["flows"]:
        flow["client_number"] = 1 if flow["cc"] == "bbr" else 2
        flow |= {"receiver_bytes": flow["goodput_bps"] / 8, "receiver_s": 1.0}
    database = build_database(tmp_path, tables, ROOT / "evaluations/brakmo-bbr.yaml")
    with connect(database) as connection:
        trace = load_trace(connection, table)
        for row in connection.sql(f"FROM {table}").pl().iter_rows(named=True):
            rates = [8e6, 8e6] if row[key] == "1" else [3e6, 4e6] if row[key] == "2" else [11e6, 12e6]
            assert trace.select_runs(row)["rate_bps"].to_list() == pytest.approx(rates)
    explain(table, row=f"{key}=2", database=database)
    assert f"  Of each of these: {key} = '2' AND {key}_algorithm = 'CUBIC'\n" in capsys.readouterr().out
