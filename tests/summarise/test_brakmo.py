from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from archives import EPOCH, ROOT, summarise_one, write_yaml
from condition_runs import Rows, build_database, gather, make_run

from ccreport.compare.claims import judge_claims
from ccreport.core.declarations import load_yaml, read_query
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import read_table
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.kit.figure import Figure
from ccreport.figures.run.flow_styles import NUMBERED_FLOWS, lighten, style_flows
from ccreport.figures.run.flows import list_retransmits
from ccreport.figures.select.declaration import read_declaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.summarise.database import connect, list_views
from ccreport.trace.rows.load_trace import load_trace, recompute_row

EVALUATION = ROOT / "evaluations/brakmo-bbr.yaml"
SHARES = [0.50, 0.51, 0.49, 0.505, 0.495, 0.52, 0.48, 0.5, 0.05, 0.06, 0.055]


def summarise(folder: Path, tables: Rows, table: str) -> list[dict[str, Any]]:
    database = build_database(folder, tables, EVALUATION)
    summarise_one(table, EVALUATION, database, folder)
    return read_table(table, [folder / f"{table}.parquet"]).rows(named=True)


def build(folder: Path, figure: str, tables: Rows) -> Figure:
    declaration = read_declaration(EVALUATION, figure)
    with Database(build_database(folder, tables, EVALUATION)) as database:
        return BUILDERS[declaration.kind](declaration, database)


def make_staggered(number: int, rates: tuple[float, float], retransmits: tuple[int, int]) -> Rows:
    """Return a run of a CUBIC flow of 20 s and a BBR flow of the last 10 s: rates in Mbit/s, 1000 segments each."""
    tables = make_run(number, {"cubic": rates[0], "bbr": rates[1]}, clients_count=2, session="s", rtt_nominal_ms=20.0)
    run = tables["runs"][0]
    run["condition_id"] = "c"
    facts = zip(tables["flows"], rates, retransmits, (0.0, 10.0), (20.0, 10.0), (30.0, 45.0), strict=True)
    for client, (flow, rate, count, start_s, length_s, rtt_ms) in enumerate(facts, 1):
        flow |= {"client_number": client, "start_offset_s": start_s, "receiver_s": length_s, "rtt_mean_ms": rtt_ms}
        flow |= {"receiver_bytes": int(rate * 125_000 * length_s), "retransmits_count": count, "segments_count": 1000.0}
        flow |= {"cwnd_mean_segments_count": 10.0 * client, "samples_count": 40 // client}
    return tables


def make_queue(number: int, buffer_bytes: int, flows: int, ratio: float, cc: str = "bbr", **facts: Any) -> Rows:
    """Return a run of one algorithm whose flows sent 1000 segments each and retransmitted a part of them."""
    path = {
        "bottleneck_bps": 10e6,
        "rtt_ms": 40.0,
        "rtt_nominal_ms": 40.0,
        "session": "s",
        "buffer_bytes": buffer_bytes,
    }
    tables = make_run(number, {cc: [1.0] * flows}, **path | facts)
    for flow in tables["flows"]:
        flow |= {"retransmits_count": round(1000 * ratio), "segments_count": 1000.0, "retransmit_ratio": ratio}
        flow["retransmit_source"] = "ss"
    return tables


def make_shared(number: int, share: float) -> Rows:
    """Return a run of CUBIC and BBR in which CUBIC has this share."""
    facts = {"session": "s", "bottleneck_bps": 10e6, "rtt_nominal_ms": 10.0}
    return make_run(number, {"cubic": 10 * share, "bbr": 10 * (1 - share)}, **facts)


def test_flows_stand_in_the_order_of_their_starts_and_once_together(tmp_path: Path) -> None:
    tables = gather(make_staggered(1, (6.0, 4.0), (10, 100)), make_staggered(2, (8.0, 2.0), (30, 300)))
    first, second, both = summarise(tmp_path, tables, "staggered_flows")
    assert [row["flow"] for row in (first, second, both)] == ["1", "2", "all"]
    assert [row["flow_algorithm"] for row in (first, second, both)] == ["CUBIC", "BBR", "all"]
    assert [row["start_mean_s"] for row in (first, second, both)] == [0.0, 10.0, 0.0]
    assert [row["runs_count"] for row in (first, second, both)] == [2, 2, 2]
    assert first["flow_rate_mean_bps"] == pytest.approx(7e6)
    assert second["flow_rate_mean_bps"] == pytest.approx(3e6)
    # Bytes over 20 s: (6 · 20 + 4 · 10)/20 = 8 and (8 · 20 + 2 · 10)/20 = 9 Mbit/s.
    assert both["flow_rate_mean_bps"] == pytest.approx(8.5e6)
    # Two runs are too few.
    assert (first["flow_rate_low_bps"], first["flow_rate_high_bps"]) == (None, None)
    # (30 · 20 + 45 · 10)/30 ms.
    assert [row["flow_rtt_mean_ms"] for row in (first, second, both)] == pytest.approx([30.0, 45.0, 35.0])
    assert [row["retransmits_mean_count"] for row in (first, second, both)] == [20.0, 200.0, 220.0]
    assert [row["retransmit_ratio"] for row in (first, second, both)] == pytest.approx([0.02, 0.2, 0.11])


def test_three_staggered_runs_have_an_interval(tmp_path: Path) -> None:
    rates = ((6.0, 4.0), (8.0, 2.0), (7.0, 3.0))
    tables = gather(*(make_staggered(number, pair, (10, 10)) for number, pair in enumerate(rates)))
    first = summarise(tmp_path, tables, "staggered_flows")[0]
    # Mean 7, standard error 1/√3 or 8.2479 %, t of 2 degrees of freedom 4.30265: e^(±0.354877).
    expected = (7e6 / 1.426005, 7e6 * 1.426005)
    assert (first["flow_rate_low_bps"], first["flow_rate_high_bps"]) == pytest.approx(expected, rel=1e-4)


def test_a_single_run_has_no_interval(tmp_path: Path) -> None:
    row = summarise(tmp_path, make_staggered(1, (6.0, 4.0), (10, 100)), "staggered_flows")[0]
    assert (row["runs_count"], row["flow_rate_low_bps"], row["retransmits_high_count"]) == (1, None, None)


def test_retransmits_by_queue_and_flows(tmp_path: Path) -> None:
    runs = [
        make_queue(1, 100_000, 3, 0.01),
        make_queue(2, 100_000, 3, 0.03),
        make_queue(3, 50_000, 6, 0.11),
        make_queue(4, 100_000, 3, 0.002, "cubic"),
        make_queue(5, 100_000, 3, 0.02),
    ]
    rows = summarise(tmp_path, gather(*runs), "queue_retransmits")
    found = [(row["buffer_bytes"], row["flows_count"], row["algorithm"], row["runs_count"]) for row in rows]
    assert found == [(100_000, 3, "CUBIC", 1), (100_000, 3, "BBR", 3), (50_000, 6, "BBR", 1)]
    assert [row["retransmit_ratio"] for row in rows] == pytest.approx([0.002, 0.02, 0.11])
    # The product is 10 Mbit/s · 40 ms / 8 = 50 kB.
    assert [row["buffer_bdp_ratio"] for row in rows] == pytest.approx([2.0, 2.0, 1.0])
    # 3 flows of 10, of 30 and of 20 segments.
    assert rows[1]["retransmits_mean_count"] == 60.0
    # Mean 0.02, standard error 0.01/√3 or 28.8675 %: e^(±1.242068).
    expected = (0.02 / 3.462767, 0.02 * 3.462767)
    assert (rows[1]["retransmit_low_ratio"], rows[1]["retransmit_high_ratio"]) == pytest.approx(expected, rel=1e-4)
    assert rows[2]["retransmit_low_ratio"] is None


def test_a_result_without_a_count_leaves_the_mean_count_alone() -> None:
    """Results of the harness tell a ratio, and no segments."""
    known = "1e6, 10.0, 0.0, NULL, NULL, 1, 'alone'"
    with duckdb.connect() as connection:
        connection.execute(read_query("macros"))
        connection.execute(f"""
            CREATE TABLE selected AS FROM (VALUES
                ('a', {known}, 'CUBIC', 0, 'c', 60, 3000.0, 0.02),
                ('b', {known}, 'CUBIC', 0, 'c', NULL, NULL, 0.04),
                ('d', {known}, 'BBR', 1, 'e', NULL, NULL, 0.03)
            ) AS rows (
                run_id, bottleneck_bps, rtt_ms, loss_pct, buffer_bytes, limit_packets_count, flows_count, sharing,
                algorithm, algorithm_rank, condition_id, retransmits_count, segments_count, retransmit_ratio
            )
        """)
        found = connection.execute("""
            SELECT algorithm, runs_count, retransmits_mean_count, retransmit_ratio, retransmit_mean_ratio
            FROM retransmit_cells('selected') ORDER BY algorithm_rank
        """).fetchall()
    assert found == [("CUBIC", 2, 60.0, 0.02, pytest.approx(0.03)), ("BBR", 1, None, None, 0.03)]


def test_retransmits_by_rtt_and_flows(tmp_path: Path) -> None:
    runs = [
        make_queue(n, 100_000, 3, 0.01 * n, rtt_ms=rtt, loss_pct=0.0) for n, rtt in enumerate((10.0, 20.0, 40.0), 1)
    ]
    rows = summarise(tmp_path, gather(*runs), "path_retransmits")
    assert [row["rtt_ms"] for row in rows] == [40.0, 20.0, 10.0]
    assert [row["retransmit_ratio"] for row in rows] == pytest.approx([0.03, 0.02, 0.01])


def test_results_by_sender_have_no_number_where_no_tool_told(tmp_path: Path) -> None:
    tables = make_staggered(1, (6.0, 4.0), (10, 100))
    tables["hosts"] = [{"experiment_id": "e", "host": "10.0.0.2", "raw_file_id": "f", "rtt_ping_ms": 20.5}]
    rows = summarise(tmp_path, tables, "servers")
    assert [(row["client"], row["client_algorithm"]) for row in rows] == [("1", "CUBIC"), ("2", "BBR"), ("all", "all")]
    assert [row["client_rate_mean_bps"] for row in rows] == pytest.approx([6e6, 4e6, 8e6])
    assert (rows[2]["client_rate_min_bps"], rows[2]["client_rate_max_bps"]) == (4e6, 6e6)
    # Of 40 samples with 10 and 20 samples with 20 segments.
    assert [row["client_cwnd_mean_segments_count"] for row in rows] == pytest.approx([10.0, 20.0, 800 / 60])
    assert [row["client_rtt_ping_ms"] for row in rows] == [20.5, 20.5, 20.5]
    assert [row["retransmit_ratio"] for row in rows] == pytest.approx([0.01, 0.1, 0.055])
    assert {row["client_latency_p99_ms"] for row in rows} == {None}
    assert "–" in (tmp_path / "servers.html").read_text(encoding="utf-8")


def test_latencies_of_rpcs_stand_beside_the_bulk_flows(tmp_path: Path) -> None:
    tables = make_staggered(1, (6.0, 4.0), (10, 100))
    facts = {"run_id": "r001", "raw_file_id": "f", "rpc_tool": "netperf", "output_form": "keyval", "cc": "bbr"}
    facts |= {"payload_direction": "transactions", "transport": "TCP", "client_number": 1, "repetition_id": "x"}
    facts |= {"request_bytes": 1000, "response_bytes": 0, "transaction_rate_tps": 500.0, "latency_p999_ms": 90.0}
    one = {"test_number": 0, "latency_min_ms": 10.0, "latency_mean_ms": 20.0, "latency_max_ms": 80.0}
    two = {"test_number": 1, "latency_min_ms": 12.0, "latency_mean_ms": 40.0, "latency_max_ms": 100.0}
    tables["rpc_tests"] = [facts | one, facts | two]
    tables["raw_files"] = [
        {"raw_file_id": "f", "path": "s/steady/netperf:h:1", "kind": "netperf", "experiment_id": "e"}
    ]
    tables["raw_files"][0] |= {"state": "ingested"}
    rows = [row for row in summarise(tmp_path, tables, "servers") if row["request_bytes"] == 1000]
    assert len(rows) == 1
    shown = {name: rows[0][f"client_latency_{name}_ms"] for name in ("min", "mean", "max", "p50", "p999")}
    assert shown == {"min": 10.0, "mean": 30.0, "max": 100.0, "p50": None, "p999": 90.0}
    # 500 transactions of 1000 B in a second.
    assert (rows[0]["pooled_count"], rows[0]["client_rate_mean_bps"]) == (2, 4e6)
    assert rows[0]["client_cwnd_mean_segments_count"] is None


def test_runs_of_a_condition_that_fall_into_modes_are_counted(tmp_path: Path) -> None:
    runs = [make_shared(number, share) for number, share in enumerate(SHARES, 1)]
    (row,) = summarise(tmp_path, gather(*runs), "modes")
    assert (row["algorithm"], row["outcome"], row["runs_count"]) == ("CUBIC", "share of the rate", 11)
    assert (row["modes_count"], row["runs_by_mode"], row["means_by_mode"]) == (2, "3 + 8", "0.055 / 0.500")
    # From 0.06 to 0.48, over the range from 0.48 to 0.52.
    assert row["dunn_ratio"] == pytest.approx(0.42 / 0.04)


def test_the_outcome_of_flows_of_one_algorithm_is_the_slowest_of_them(tmp_path: Path) -> None:
    facts = {"session": "s", "bottleneck_bps": 10e6, "rtt_nominal_ms": 10.0}
    flows, single = make_run(1, {"bbr": [1.0, 4.0, 4.0]}, **facts), make_run(2, {"bbr": [5.0]}, **facts)
    single["runs"][0] |= {"job": "single", "condition_id": "single"}
    one, several = summarise(tmp_path, gather(flows, single), "modes")
    assert (one["outcome"], one["outcome_mean_ratio"]) == ("rate over mean", 1.0)
    # 1 over the mean of 1, 4 and 4.
    assert (several["outcome"], several["outcome_mean_ratio"]) == ("slowest flow over mean flow", pytest.approx(1 / 3))
    assert (several["modes_count"], several["runs_by_mode"]) == (1, None)


def test_a_run_that_lost_an_algorithm_is_a_row_of_its_own(tmp_path: Path) -> None:
    runs = [make_run(n, {"cubic": 1.0, "bbr": 2.0}) for n in range(3)]
    rows = summarise(tmp_path, gather(*runs, make_run(9, {"cubic": [1.0, 2.0]})), "modes")
    assert {(row["outcome"], row["runs_count"]) for row in rows} == {
        ("share of the rate", 3),
        ("slowest flow over mean flow", 1),
    }


def test_a_row_of_modes_is_traced_to_the_runs_of_both_algorithms(tmp_path: Path) -> None:
    database = build_database(tmp_path, gather(make_shared(1, 0.25), make_shared(2, 0.35)), EVALUATION)
    with connect(database) as connection:
        (row,) = connection.sql("FROM modes").pl().rows(named=True)
        computed = recompute_row(connection, load_trace(connection, "modes"), row)
    assert computed["outcomes"] == pytest.approx([0.25, 0.35])


def test_single_runs_are_drawn_in_the_colour_of_their_mode(tmp_path: Path) -> None:
    runs = [make_shared(number, share) for number, share in enumerate(SHARES, 1)]
    figure = build(tmp_path, "modes_both", gather(*runs))
    low = figure.data.filter(pl.col("mode_number") == 1)
    assert low["run_id"].to_list() == ["r009", "r010", "r011"]
    assert "Runs fall into separate groups (modes) in 1 of 1 condition, 11 runs in all." in figure.caption
    assert "3 + 8" in figure.alternative
    drawn = figure.chart.to_json()
    assert "lowest mode" in drawn
    assert "single group" not in drawn


def test_suspect_runs_that_count_have_a_ring(tmp_path: Path) -> None:
    tables = gather(*(make_shared(number, share) for number, share in enumerate(SHARES, 1)))
    suspect = {"run_id": "r009", "suspect_rule": "sample_gap", "observed": 3.0, "bound": 2.0, "bound_unit": "s"}
    figure = build(tmp_path, "modes_both", tables | {"suspects": [suspect]})
    assert "r009" not in figure.data["run_id"].to_list()
    assert "suspect" not in figure.chart.to_json()
    database = tmp_path / "archive.duckdb"
    list_views(tmp_path / "experiments.txt", tmp_path / "tables", EVALUATION, database, include_suspect=True)
    with Database(database) as connection:
        figure = BUILDERS["modes_by_condition"](read_declaration(EVALUATION, "modes_both"), connection)
    assert figure.data.filter("is_suspect")["run_id"].to_list() == ["r009"]
    assert "suspect run" in figure.chart.to_json()
    assert "ring is around a suspect run" in figure.caption


def test_without_the_table_of_modes_its_figure_is_missing(tmp_path: Path) -> None:
    declaration = read_declaration(EVALUATION, "modes_both")
    declared = load_yaml(EVALUATION)
    del declared["tables"]["modes"]
    other = tmp_path / "evaluation.yaml"
    write_yaml(other, declared)
    with (
        Database(build_database(tmp_path, make_shared(1, 0.5), other)) as database,
        pytest.raises(MissingFigure, match="The table modes has none of the 1 runs"),
    ):
        BUILDERS["modes_by_condition"](declaration, database)


def make_sampled() -> Rows:
    """Return a staggered run in which `ss` samples every second: CUBIC for 6 s, BBR from 2 s on."""
    tables = make_staggered(1, (8.0, 4.0), (2, 5))
    tables["runs"][0]["flows_count"] = 2
    counts = {"cubic": [0, 0, 2, 2, 2, 2, 2], "bbr": [1, 1, 1, 5, 5]}
    tables["samples"], tables["intervals"] = [], []
    for flow, start_s, mbits in zip(tables["flows"], (0.0, 2.0), (8.0, 4.0), strict=True):
        flow["start_offset_s"] = start_s
        of_flow = counts[flow["cc"]]
        for second, count in enumerate(of_flow):
            row = {"run_id": "r001", "flow_id": flow["flow_id"], "connection_number": 0, "raw_file_id": "f"}
            row |= {"time_utc": EPOCH + timedelta(seconds=start_s + second), "retransmits_ss_count": count}
            row |= {"cwnd_segments_count": 10 + second, "rtt_ms": 20.0 + second, "is_partial": False, "extra": []}
            tables["samples"].append(row | {"acked_bytes": int(second * mbits * 125_000)})
        for second in range(len(of_flow) - 1):
            row = {"run_id": "r001", "flow_id": flow["flow_id"], "client_number": flow["client_number"]}
            row |= {"stream_number": 1, "is_reverse": False, "interval_number": second, "raw_file_id": "f"}
            row |= {"start_s": float(second), "end_s": second + 1.0, "is_omitted": False, "interval_bps": mbits * 1e6}
            tables["intervals"].append(row)
    return tables


def test_flows_over_time_have_their_sum_and_marks_of_retransmissions(tmp_path: Path) -> None:
    figure = build(tmp_path, "two_flows_cubic_first", make_sampled())
    total = figure.data.filter(pl.col("drawn_as") == "sum")
    assert dict(total.select("time_s", "rate_bps").rows()) == {
        0.5: 8e6, 1.5: 8e6, 2.5: 12e6, 3.5: 12e6, 4.5: 12e6, 5.5: 12e6,
    }  # fmt: skip
    marks = figure.data.filter(pl.col("drawn_as") == "retransmission").select("time_s", "retransmits_count")
    # At 2 s CUBIC has grown by 2, and BBR's first sample has 1; at 5 s BBR has grown by 4.
    assert marks.rows() == [(2.0, 3), (5.0, 4)]
    assert "ss reports 7 retransmissions" in figure.alternative.replace("Ss", "ss")
    assert "flow 1 (CUBIC) 8.00 Mbit/s" in figure.alternative
    drawn = figure.chart.to_json()
    assert "1: CUBIC" in drawn
    assert "2: BBR" in drawn


def test_flows_without_samples_have_no_figure(tmp_path: Path) -> None:
    tables = make_sampled()
    tables["samples"] = []
    with pytest.raises(MissingFigure, match="no samples of ss"):
        build(tmp_path, "two_flows_cubic_first", tables)


def test_a_counter_that_falls_is_no_retransmission() -> None:
    sampled = pl.DataFrame(
        {"run_id": ["r"] * 3, "flow_id": ["a"] * 3, "time_s": [0.0, 1.0, 2.0], "retransmits_ss_count": [5, 0, None]}
    )
    assert list_retransmits(sampled).rows() == [("r", 0.0, 5)]


def test_many_flows_are_not_told_apart() -> None:
    flows = pl.DataFrame(
        {"flow_id": [f"{n:02}" for n in range(NUMBERED_FLOWS + 1)], "cc": "bbr", "start_offset_s": 0.0}
    )
    assert style_flows(flows) == []
    styles = style_flows(flows.head(NUMBERED_FLOWS))
    assert len({(one.colour, one.dash) for one in styles}) == NUMBERED_FLOWS


def test_a_colour_half_way_to_white() -> None:
    # 0 becomes 127.5, rounded to even; 255 stays; 16 becomes 135.5.
    assert lighten("#00ff10", 0.5) == "#80ff88"


def judge(folder: Path, tables: Rows) -> dict[str, tuple[str, list[float | None]]]:
    database = build_database(folder, tables, EVALUATION)
    (folder / "archive.json").write_text('{"sha256": "0"}', encoding="utf-8")
    (folder / "summaries").mkdir()
    files = [folder / "claims.parquet", folder / "claims.csv"]
    judge_claims(EVALUATION, database, folder / "summaries", folder / "archive.json", [], *files)
    found = read_table("claims", [files[0]]).group_by("claim", maintain_order=True)
    return {str(name): (rows["claim_verdict"][0], rows["value"].to_list()) for (name,), rows in found}


def test_claims_hold_on_the_published_values_of_tables_2_5_and_6(tmp_path: Path) -> None:
    lan = {"clients_count": 3, "session": "s", "rtt_nominal_ms": 0.02}
    runs = []
    for number, (cc, count) in enumerate([("cubic", 2074), ("bbr", 1_187_682)] * 3, 1):
        tables = make_run(number, {cc: [3000.0] * 3}, **lan)
        for flow, part in zip(tables["flows"], (count, 0, 0), strict=True):
            flow |= {"retransmits_count": part, "segments_count": 1e7, "retransmit_ratio": part / 1e7}
        runs.append(tables)
    for buffer_bytes, cubic, bbr in ((96_000, 0.008, 0.11), (187_500, 0.004, 0.026), (375_000, 0.004, 0.067)):
        for ratio, cc in ((cubic, "cubic"), (bbr, "bbr")):
            runs += [make_queue(len(runs) + 1 + n, buffer_bytes, 6, ratio, cc) for n in range(3)]
    for rtt_ms, cubic, bbr in ((40.0, 0.005, 0.034), (20.0, 0.006, 0.031), (10.0, 0.006, 0.039)):
        for ratio, cc in ((cubic, "cubic"), (bbr, "bbr")):
            runs += [make_queue(len(runs) + 1 + n, 757_000, 6, ratio, cc, rtt_ms=rtt_ms) for n in range(3)]
    found = judge(tmp_path, gather(*runs))
    assert found["staggered_retransmits"] == ("holds", pytest.approx([1_187_682 / 2074]))
    assert found["six_flows_by_queue"] == ("holds", pytest.approx([0.026, 0.11, 0.004, 0.008]))
    assert found["retransmits_by_rtt"] == ("holds", pytest.approx([0.039 / 0.031, 1.2]))
    assert found["small_rpcs_at_high_load"] == ("not enough data", [None, None, None])


def test_the_evaluation_declares_what_it_shows() -> None:
    declared = load_evaluation(EVALUATION)
    assert {facts["kind"] for facts in declared["figures"].values()} <= set(BUILDERS)
    assert set(declared["tables"]) >= {"staggered_flows", "queue_retransmits", "path_retransmits", "servers", "modes"}


@pytest.mark.parametrize("table", ["staggered_flows", "queue_retransmits", "path_retransmits", "servers", "modes"])
def test_an_archive_without_such_runs_has_empty_tables(tmp_path: Path, table: str) -> None:
    assert summarise(tmp_path, make_run(1, {"cubic": 1.0}, volume_bytes=1), table) == []
