import math
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from archives import EPOCH, ROOT, summarise_one, write_yaml
from condition_runs import Rows, build_database
from scipy import stats

from ccreport.compare.claims import judge_claim
from ccreport.core.declarations import load_yaml, read_query
from ccreport.core.declared_files import DeclarationError
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import load_schema, read_table
from ccreport.figures.edge.quantities import tell_left_out
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.kit.figure import Figure
from ccreport.figures.select.declaration import FigureError, read_declaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.summarise.database import connect
from ccreport.summarise.statistics.edge_comparisons import add_run_tests
from ccreport.trace.explain import explain
from ccreport.trace.rows.load_trace import load_trace, recompute_row
from ccreport.trace.rows.suspects import Suspects

EVALUATION = ROOT / "evaluations/edge-bbr2.yaml"
TABLES = ("connections", "distributions", "over_time", "histograms", "comparisons", "heat_maps", "machine_retransmits")


def connections(cc: str | None, values: list[dict[str, Any]], **facts: Any) -> list[dict[str, Any]]:
    """Return a connection of 2 MB for each of these values."""
    shared = {
        "raw_file_id": f"dump-{cc}",
        "machine": f"machine-{cc}",
        "cc": cc,
        "label": cc,
        "time_utc": EPOCH,
        "connection_number": 0,
        "is_last": True,
        "is_partial": False,
        "local_address": "10.8.0.1",
        "local_port": 443,
        "remote_address": "10.9.0.1",
        "acked_bytes": 2_000_000,
    }
    return [shared | {"remote_port": 1024 + number} | facts | one for number, one in enumerate(values)]


def requests(cc: str, goodputs: list[float], **facts: Any) -> list[dict[str, Any]]:
    shared = {"raw_file_id": f"log-{cc}", "machine": f"machine-{cc}", "cc": cc, "label": cc, "logged_utc": EPOCH}
    return [
        shared | {"line_number": number + 1, "answer_bytes": 2_000_000, "request_goodput_bps": one} | facts
        for number, one in enumerate(goodputs)
    ]


def counters(cc: str, snapshots: list[tuple[int, int]], machine: str = "m") -> list[dict[str, Any]]:
    """Return segments sent and retransmitted, 60 s apart."""
    return [
        {
            "raw_file_id": f"counters-{cc}-{machine}",
            "machine": machine,
            "label": cc,
            "cc": cc,
            "snapshot_number": number,
            "time_utc": EPOCH + timedelta(seconds=60 * number),
            "counter": name,
            "counter_value_count": value,
        }
        for number, values in enumerate(snapshots)
        for name, value in zip(("TcpOutSegs", "TcpRetransSegs"), values, strict=True)
    ]


def raw_file(raw_file_id: str, path: str, digit: str) -> dict[str, Any]:
    kind = path.rpartition("/")[2].partition(":")[0]
    facts = {"kind": kind, "state": "ingested", "size_bytes": 1, "experiment_id": "e"}
    return facts | {"raw_file_id": raw_file_id, "path": path, "sha256": digit * 64}


def summarise(folder: Path, tables: Rows, table: str, evaluation: Path = EVALUATION) -> pl.DataFrame:
    database = build_database(folder, tables, evaluation)
    summarise_one(table, evaluation, database, folder)
    return read_table(table, [folder / f"{table}.parquet"])


def build(folder: Path, figure: str, tables: Rows, evaluation: Path = EVALUATION) -> Figure:
    declaration = read_declaration(evaluation, figure)
    with Database(build_database(folder, tables, evaluation)) as database:
        return BUILDERS[declaration.kind](declaration, database)


def change(folder: Path, **changes: Any) -> Path:
    """Write the evaluation with changes in `edge` and without claims."""
    declared = load_yaml(EVALUATION)
    declared.pop("claims")
    declared["edge"] |= changes
    path = folder / "evaluation.yaml"
    write_yaml(path, declared)
    return path


def draw_log_uniform(low: float, high: float, count: int) -> list[float]:
    """Return the middles of `count` equal shares of a log-uniform distribution."""
    return [low * (high / low) ** ((number + 0.5) / count) for number in range(count)]


def test_percentiles_are_interpolated_between_neighbours(tmp_path: Path) -> None:
    rtts = [{"rtt_ms": float(n)} for n in (50, 10, 40, 20, 30)]
    found = summarise(tmp_path, {"connections": connections("cubic", rtts)}, "edge_distributions")
    row = found.row(by_predicate=pl.col("quantity") == "rtt_ms", named=True)
    assert (row["values_count"], row["unknown_count"], row["filtered_out_count"]) == (5, 0, 0)
    # Of 5 values percentile 10 lies at place 0.4: 10 + 0.4 · 10; percentile 99 at 3.96: 40 + 0.96 · 10.
    assert [row[f"value_p{p}"] for p in (10, 25, 50, 99)] == pytest.approx([14.0, 20.0, 30.0, 49.6])
    assert row["value_mean"] == 30.0
    # Five values give no interval.
    assert row["value_mean_low"] is None


def test_means_have_an_interval_by_run(tmp_path: Path) -> None:
    # Means of 10, 12 and 14 ms: 2 of 12 ms off, and Student's t of 2 at 0.975.
    rows = [
        row
        for rtt_ms in (10.0, 12.0, 14.0)
        for row in connections("cubic", [{"rtt_ms": rtt_ms}] * 50, machine=f"m{rtt_ms}", raw_file_id=f"m{rtt_ms}")
    ]
    row = summarise(tmp_path, {"connections": rows}, "edge_distributions").row(0, named=True)
    factor = math.exp(4.3027 * (2 / 12) / math.sqrt(3))
    assert (row["value_mean"], row["runs_count"]) == (pytest.approx(12.0), 3)
    assert [row["value_mean_low"], row["value_mean_high"]] == pytest.approx([12 / factor, 12 * factor], rel=1e-4)


def test_small_transfers_unknown_values_and_zeros_are_counted_apart(tmp_path: Path) -> None:
    rows = connections("cubic", [{"retransmit_ratio": ratio} for ratio in (0.0, 0.0, 0.01, None)])
    rows += connections("cubic", [{"retransmit_ratio": 0.5}] * 3, acked_bytes=999_999, remote_address="10.9.0.2")
    # Earlier states of a connection are not connections.
    rows += connections("cubic", [{"retransmit_ratio": 0.9}], is_last=False, raw_file_id="earlier")
    row = summarise(tmp_path, {"connections": rows}, "edge_distributions").row(0, named=True)
    counts = ("values_count", "unknown_count", "filtered_out_count", "zeros_count")
    assert [row[name] for name in counts] == [3, 1, 3, 2]


def test_the_histogram_of_a_known_distribution_is_flat(tmp_path: Path) -> None:
    # Log-uniform over 1 to 1000 ms: 3 decades, so 1/3 of the values in each and a density of 1/3 per decade.
    rows = connections("bbr", [{"rtt_ms": rtt} for rtt in draw_log_uniform(1, 1000, 3000)])
    found = summarise(tmp_path, {"connections": rows}, "edge_histograms").filter(pl.col("quantity") == "rtt_ms")
    assert found["values_count"].to_list() == [100] * 30
    assert found["density"].to_list() == pytest.approx([1 / 3] * 30)
    assert found["bin_low_value"].to_list() == pytest.approx([10 ** (n / 10) for n in range(30)])
    assert found["values_ratio"].sum() == pytest.approx(1.0)


def test_zeros_and_shares_have_bins_of_their_own(tmp_path: Path) -> None:
    rows = connections(
        "bbr",
        [
            {"retransmit_ratio": 0.0, "rwnd_limited_ratio": 0.0},
            {"retransmit_ratio": 0.01, "rwnd_limited_ratio": 0.03},
            {"retransmit_ratio": 0.01, "rwnd_limited_ratio": 1.0},
            {"retransmit_ratio": 0.01, "rwnd_limited_ratio": 0.99},
        ],
    )
    found = summarise(tmp_path, {"connections": rows}, "edge_histograms")
    lost = found.filter(pl.col("quantity") == "retransmit_pct").select("bin_number", "values_count", "density").rows()
    # 0.01 is 1 %: bin 0, three of four values in a tenth of a decade.
    assert lost == [(None, 1, None), (0, 3, 7.5)]
    shares = found.filter(pl.col("quantity") == "rwnd_limited_pct").select("bin_low_value", "values_count", "density")
    # 100 % stands in the last bin, with 99 %.
    assert shares.rows() == [(0.0, 1, 0.125), (2.0, 1, 0.125), (98.0, 2, 0.25)]


def test_outliers_and_ecn_are_counted_by_algorithm(tmp_path: Path) -> None:
    values = [
        {"data_segments_out_count": 100, "retransmits_ss_count": n, "retransmit_ratio": n / 100} for n in (10, 60, 61)
    ]
    rows = connections("bbr2", values, has_ecn=True, has_ecnseen=False)
    rows += connections("bbr2", values[:1], has_ecn=True, has_ecnseen=True, remote_address="10.9.0.2")
    rows += connections("bbr2", values[:1], has_ecn=False, remote_address="10.9.0.3")
    row = summarise(tmp_path, {"connections": rows}, "edge_connections").row(0, named=True)
    # 60 % itself is not an outlier. Retransmits: 10 + 60 + 61 + 10 + 10 = 151 of 500; without the outlier 90 of 400.
    assert (row["series"], row["kept_count"], row["outliers_count"]) == ("BBRv2", 5, 1)
    assert (row["retransmit_ratio"], row["retransmit_without_outliers_ratio"]) == (0.302, 0.225)
    assert (row["ecn_ratio"], row["ecnseen_ratio"]) == (0.8, 0.25)


@pytest.mark.slow
def test_heat_maps_count_each_connection_once(tmp_path: Path) -> None:
    rows = connections(
        "bbr",
        [
            {"rtt_ms": 10.0, "retransmit_ratio": 0.0, "unacked_count": 100},
            {"rtt_ms": 12.0, "retransmit_ratio": 0.0},
            {"rtt_ms": 100.0, "retransmit_ratio": 0.1},
            {"rtt_ms": None, "retransmit_ratio": 0.1},
        ],
    )
    found = summarise(tmp_path, {"connections": rows}, "edge_heat_maps")
    lost = found.filter(pl.col("y_quantity") == "retransmit_pct")
    # 10 and 12 ms lie in bin 10 (10 to 12.6 ms), 100 ms in bin 20, 10 % in bin 10.
    assert lost.select("x_bin_number", "y_bin_number", "binned_count").rows() == [(10, None, 2), (20, 10, 1)]
    assert lost["binned_ratio"].to_list() == pytest.approx([2 / 3, 1 / 3])
    assert found.filter(pl.col("y_quantity") == "unacked_count").select("x_bin_number", "y_bin_number").rows() == [
        (10, 20)
    ]


def test_machines_retransmits_are_differences_of_counters(tmp_path: Path) -> None:
    # 900 segments and 100 retransmits; then a reboot; then 50 and 0.
    rows = counters("bbr", [(1000, 10), (1900, 110), (5, 1), (55, 1)])
    found = summarise(tmp_path, {"machine_counters": rows}, "edge_machine_retransmits")
    assert found.select(
        "segments_first_sent_count", "retransmits_machine_count", "retransmit_machine_ratio"
    ).rows() == [
        (900, 100, 0.1),
        (50, 0, 0.0),
    ]


def test_series_are_made_by_any_label(tmp_path: Path) -> None:
    rows = requests("bbr", [1e6] * 3, kernel="4.15") + requests("bbr", [1.15e6] * 2, kernel="5.3", raw_file_id="b")
    found = summarise(tmp_path, {"web_requests": rows}, "edge_distributions")
    assert found.select("grouped_by", "series", "values_count", "value_p50").rows() == [
        ("algorithm", "BBRv1", 5, 1e6),
        ("kernel", "4.15", 3, 1e6),
        ("kernel", "5.3", 2, 1.15e6),
    ]


def test_a_grouping_that_is_no_sql_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"yaml:\d+: edge\.groups\.broken: .*no_such_column"):
        build_database(tmp_path, {}, change(tmp_path, groups={"broken": "no_such_column"}))


def test_series_over_time_stand_in_equal_intervals(tmp_path: Path) -> None:
    early = requests("bbr", [1e6, 3e6])
    late = requests("bbr", [5e6], logged_utc=EPOCH + timedelta(minutes=59, seconds=59), raw_file_id="late")
    found = summarise(tmp_path, {"web_requests": early + late}, "edge_over_time")
    # 3599 s in at most 60 intervals of 60 s.
    assert found.select("bin_start_utc", "bin_width_s", "values_count", "value_p50").rows() == [
        (EPOCH, 60, 2, 2e6),
        (EPOCH + timedelta(minutes=59), 60, 1, 5e6),
    ]


def of_machines(cc: str, values: list[list[dict[str, Any]]], **facts: Any) -> list[dict[str, Any]]:
    """Return the connections of several machines of an algorithm, a list of values for each."""
    named = [(f"{cc}-{number}", of_machine) for number, of_machine in enumerate(values)]
    return [
        row
        for name, of_machine in named
        for row in connections(cc, of_machine, machine=name, raw_file_id=name, **facts)
    ]


def test_comparisons_are_of_the_mean_ranks_of_runs(tmp_path: Path) -> None:
    low, high = {"rtt_ms": 10.0}, {"rtt_ms": 100.0}
    # Shares of 100 ms: 0, 1/4 and 2/4 on CUBIC's machines; 2/4, 3/4 and 1 on BBR's, one with ten times the connections.
    rows = of_machines("cubic", [[low] * 4, [low] * 3 + [high], [low] * 2 + [high] * 2])
    rows += of_machines("bbr", [[low] * 20 + [high] * 20, [low] + [high] * 3, [high] * 4])
    row = summarise(tmp_path, {"connections": rows}, "edge_comparisons").row(0, named=True)
    assert (row["first_series"], row["second_series"]) == ("BBRv1", "CUBIC")
    assert (row["first_runs_count"], row["second_runs_count"], row["first_values_count"]) == (3, 3, 48)
    # Of both, half are in each bin: ranks 1/4 and 3/4, so a run with a share s of 100 ms has 1/4 + s/2. Delta is twice
    # (1/4 + 1/8) - (1/4 + 3/8); CUBIC's values are above in 1/4 · 1/4 of the pairs and below in 3/4 · 3/4.
    assert row["delta_mean"] == pytest.approx(1 / 16 - 9 / 16)
    # Both have a standard deviation of 1/8: √(2/3)/8 with 4 degrees of freedom, of which t is 2.77645.
    error = math.sqrt(2 / 3) / 8
    assert row["delta_mean_high"] == pytest.approx(-0.5 + 2 * 2.77645 * error, rel=1e-4)
    assert row["delta_mean_low"] == -1
    p = 2 * stats.t.sf(0.25 / error, 4)
    assert (row["p_ratio"], row["p_holm_ratio"], row["tests_count"]) == (pytest.approx(p), pytest.approx(p), 1)
    assert row["is_told_apart"] is False


def test_series_of_the_same_runs_are_compared_in_pairs(tmp_path: Path) -> None:
    # Two populations of each machine: shares of 100 ms are higher by 1/4 to 2/4 in the second.
    low, high = {"rtt_ms": 10.0}, {"rtt_ms": 100.0}
    shares = [(0, 1), (1, 3), (2, 3)]
    rows = []
    for place, population in enumerate(("home", "office")):
        values = [[low] * (4 - share[place]) + [high] * share[place] for share in shares]
        rows += of_machines("bbr", values, population=population, remote_address=population)
    compared = summarise(tmp_path, {"connections": rows}, "edge_comparisons").filter(grouped_by="population")
    row = compared.row(0, named=True)
    # Differences of ranks are half of 1/4, 2/4 and 1/4: mean 1/6, standard deviation √(1/3)/8.
    assert row["delta_mean"] == pytest.approx(1 / 3)
    assert row["p_ratio"] == pytest.approx(2 * stats.t.sf(1 / 6 / (math.sqrt(1 / 3) / 8 / math.sqrt(3)), 2))


@pytest.mark.slow
@pytest.mark.parametrize("machines", [1, 2])
def test_one_and_two_runs_are_not_told_apart_however_many_connections(tmp_path: Path, machines: int) -> None:
    rows = of_machines("cubic", [[{"rtt_ms": 10.0}] * 50] * 3)
    rows += of_machines("bbr", [[{"rtt_ms": 100.0}] * 50] * machines)
    row = summarise(tmp_path, {"connections": rows}, "edge_comparisons").row(0, named=True)
    tests = ("delta_mean_low", "p_ratio", "p_holm_ratio", "is_told_apart", "tests_count")
    assert [row[name] for name in tests] == [None, None, None, None, 0]
    assert row["delta_mean"] == -1


def test_series_that_do_not_differ_are_seldom_told_apart_by_run() -> None:
    draw = np.random.default_rng(2)
    for runs in (3, 5):
        # Runs differ far more than connections of one run do; a test of connections would always tell them apart.
        places = draw.normal(0, 1, (1000, 2, runs, 1)) + draw.normal(0, 1, (1000, 2, runs, 40))
        ranks = stats.rankdata(places.reshape(1000, -1), axis=1).reshape(places.shape) / places[0].size
        means = ranks.mean(axis=3)
        pairs = pl.DataFrame(
            {"is_paired": [False] * 1000, "first_ranks": means[:, 0].tolist(), "second_ranks": means[:, 1].tolist()}
        )
        found = add_run_tests(pairs)["p_ratio"] < 0.05
        # 5 % of 1000, give or take three standard errors; Welch's t of three runs is stricter.
        assert 0.02 < found.mean() < 0.07


RUN: dict[str, Any] = {
    "experiment_id": "e", "condition_id": "c", "iteration": 1, "job": "edge", "mode": "bbr", "sender_host": "edge-1",
    "host": "h", "flows_count": 1, "is_counted": True,
}  # fmt: skip


def test_a_connection_is_of_the_run_during_which_it_was_dumped(tmp_path: Path) -> None:
    starts = [EPOCH + timedelta(minutes=number) for number in (0, 10)]
    runs = [RUN | {"run_id": f"r{number}", "start_utc": start} for number, start in enumerate(starts)]
    runs[1] |= {"is_counted": False}
    times = [
        starts[0] - timedelta(seconds=1),
        starts[0],
        starts[1] - timedelta(seconds=1),
        starts[1] + timedelta(hours=1),
    ]
    rows = [
        row
        for number, time in enumerate(times)
        for row in connections("bbr", [{"rtt_ms": 1.0}], raw_file_id=f"f{number}", time_utc=time, remote_port=number)
    ]
    files = [raw_file(f"f{number}", f"s/edge/edge/bbr/ss-neit:{number}", "0") for number in range(4)]
    database = build_database(tmp_path, {"connections": rows, "runs": runs, "raw_files": files}, EVALUATION)
    with connect(database) as connection:
        found = connection.execute("SELECT run, is_kept FROM labelled_connections ORDER BY time_utc").fetchall()
    machine = {"condition": "bbr", "id": "machine-bbr/bbr"}
    of_runs = [{"condition": "c", "id": name} for name in ("r0", "r0", "r1")]
    # What was recorded in a run that does not count is left out.
    assert found == [(machine, True), (of_runs[0], True), (of_runs[1], True), (of_runs[2], False)]


def test_an_archive_without_edge_data_has_empty_tables_and_says_so_for_figures(tmp_path: Path) -> None:
    with Database(build_database(tmp_path, {}, EVALUATION)) as database:
        for table in TABLES:
            assert database.ask(f"FROM edge_{table}").is_empty()
        for figure in load_evaluation(EVALUATION)["figures"]:
            declaration = read_declaration(EVALUATION, figure)
            with pytest.raises(
                MissingFigure, match=r"The archive has no (connections|answers|counters) .*The condition: "
            ):
                BUILDERS[declaration.kind](declaration, database)


def test_densities_of_a_figure_are_those_of_the_key(tmp_path: Path) -> None:
    slow = [{"rtt_ms": rtt} for rtt in draw_log_uniform(10, 100, 1000)]
    fast = [{"rtt_ms": rtt} for rtt in draw_log_uniform(1, 10, 500)]
    small = connections("bbr", slow[:7], acked_bytes=1, remote_address="10.9.0.2")
    figure = build(tmp_path, "figure_6", {"connections": connections("bbr", slow) + small + connections("bbr2", fast)})
    # Each is spread evenly over one decade.
    assert figure.data.group_by("series", maintain_order=True).agg(pl.col("density").mean()).rows() == [
        ("BBRv1", pytest.approx(1.0)),
        ("BBRv2", pytest.approx(1.0)),
    ]
    drawn = figure.chart.to_json()
    assert "BBRv1: n = 1,000, 7 filtered out, median 31.6 ms" in drawn
    assert "Round-trip time (ms)" in drawn
    assert "Share of connections per decade" in drawn
    assert "n = 1,500; 7 that moved too little data are left out" in figure.caption


def test_hostile_names_are_texts_of_a_figure(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>\x1b[2J'"
    evaluation = change(tmp_path, groups={"algorithm": "label"})
    declared = load_yaml(evaluation)
    declared["figures"] = {"f": {"kind": "distribution_pdf", "title": "T", "where": "quantity = 'rtt_ms'"}}
    write_yaml(evaluation, declared)
    rows = connections("bbr", [{"rtt_ms": 10.0}] * 20, label=name)
    figure = build(tmp_path, "f", {"connections": rows}, evaluation)
    assert "\x1b" not in figure.chart.to_json() + figure.alternative


@pytest.mark.slow
def test_a_figure_of_several_quantities_or_groupings_is_refused(tmp_path: Path) -> None:
    rows = connections("bbr", [{"rtt_ms": 10.0, "rtt_min_ms": 9.0}] * 20, kernel="5.3")
    evaluation = change(tmp_path)
    declared = load_yaml(evaluation)
    for where, named in (("grouped_by = 'algorithm'", "quantities"), ("quantity = 'rtt_ms'", "groupings")):
        declared["figures"] = {"f": {"kind": "distribution_percentiles", "title": "T", "where": where}}
        write_yaml(evaluation, declared)
        with pytest.raises(FigureError, match=f"several {named}"):
            build(tmp_path, "f", {"connections": rows}, evaluation)


def test_percentiles_of_goodput_are_drawn_by_algorithm(tmp_path: Path) -> None:
    rows = requests("bbr", [n * 1e6 for n in range(1, 102)]) + requests("cubic", [1e6] * 19)
    figure = build(tmp_path, "figure_7", {"web_requests": rows})
    # Percentile p of 1 to 101 Mbit/s is p + 1; CUBIC has too few answers.
    assert figure.data["value"].to_list() == pytest.approx([(p + 1) * 1e6 for p in (1, 5, 10, 25, 50, 75, 90, 95, 99)])
    assert "Not drawn, with fewer than 20 values: CUBIC" in figure.caption


def test_machines_of_a_series_are_one_line(tmp_path: Path) -> None:
    rows = counters("bbr", [(0, 0), (90, 10)], "a") + counters("bbr", [(0, 0), (300, 0)], "b")
    figure = build(tmp_path, "figure_3", {"machine_counters": rows})
    # 10 of 100 and 0 of 300 segments: 2.5 % together.
    assert figure.data.select("machines_count", "retransmit_pct").rows() == [(2, 2.5)]
    assert "BBRv1: 2 machines, 400 segments, 2.50 % retransmitted" in figure.chart.to_json()


def test_heat_maps_state_their_axes_and_counts(tmp_path: Path) -> None:
    values = [{"rtt_min_ms": rtt, "bbr_bw_bps": 1e9 / rtt} for rtt in draw_log_uniform(1, 100, 40)]
    figure = build(tmp_path, "figure_16", {"connections": connections("bbr", values) + connections("bbr2", values)})
    drawn = figure.chart.to_json()
    assert "Smallest round-trip time (ms)" in drawn
    assert "Bandwidth as BBR estimates it (bit/s)" in drawn
    assert "BBRv1 n = 40, BBRv2 n = 40" in figure.caption
    assert "has no data of" not in figure.caption


@pytest.mark.slow
def test_a_figure_says_which_of_its_algorithms_the_archive_lacks(tmp_path: Path) -> None:
    values = [{"rtt_ms": rtt, "unacked_count": 5} for rtt in draw_log_uniform(1, 100, 40)]
    tables: Rows = {"connections": connections("bbr", values)}
    for figure in ("figure_6", "figure_15"):
        folder = tmp_path / figure
        folder.mkdir()
        assert "The archive has no data of BBRv2." in build(folder, figure, tables).caption


def test_a_long_table_shows_its_first_rows_and_the_csv_file_has_all(tmp_path: Path) -> None:
    values = [{"rtt_ms": rtt} for rtt in draw_log_uniform(0.001, 10_000_000, 1000)]
    # Ten bins in each of ten decades.
    assert summarise(tmp_path, {"connections": connections("bbr", values)}, "edge_histograms").height == 100
    assert len((tmp_path / "edge_histograms.csv").read_text(encoding="utf-8").splitlines()) == 101
    html = (tmp_path / "edge_histograms.html").read_text(encoding="utf-8")
    assert "The first 60 of 100 rows; the CSV file has all of them." in html
    assert 'href="cells_edge_histograms-3.html#cell-60"' in html
    assert 'href="cells_edge_histograms.html#cell-61"' not in html


@pytest.mark.slow
def test_a_number_is_traced_to_its_files_and_computed_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = connections("bbr", [{"rtt_ms": rtt} for rtt in (10.0, 20.0, 30.0)]) + connections("cubic", [{"rtt_ms": 7.0}])
    files = [raw_file(f"dump-{cc}", f"m/{cc}/ss-neit:1", str(number)) for number, cc in enumerate(("bbr", "cubic"))]
    database = build_database(tmp_path, {"connections": rows, "raw_files": files}, EVALUATION)
    explain("edge_distributions", row="quantity=rtt_ms,grouped_by=algorithm,series=BBRv1", database=database)
    told = capsys.readouterr().out
    assert re.search(r"^  Quantity +RTT \(ms\)$", told, re.MULTILINE)
    assert re.search(r"^  Value 50 % +20$", told, re.MULTILINE)
    assert f"{'0' * 64}  m/bbr/ss-neit:1" in told
    assert "cubic" not in told
    # A file is not a run.
    assert "# run" not in told


@pytest.mark.slow
def test_what_was_recorded_in_runs_that_do_not_count_is_counted_apart_and_said_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = [EPOCH + timedelta(minutes=10 * number) for number in range(3)]
    runs = [RUN | {"run_id": f"r{number}", "start_utc": start} for number, start in enumerate(starts)]
    runs[2] |= {"is_counted": False, "is_interrupted": True}
    suspect = {"suspect_rule": "attempt_repeated", "observed": 2.0, "bound": 1.0, "bound_unit": "attempts"}
    # Of each run four connections, of which one moved too little.
    values = [*[{"rtt_ms": 1.0}] * 3, {"acked_bytes": 1}]
    rows = [
        row
        for number, time in enumerate(starts)
        for row in connections("bbr", values, raw_file_id=f"f{number}", time_utc=time, remote_address=f"::{number}")
    ]
    files = [raw_file(f"f{number}", f"s/edge/edge/bbr/ss-neit:{number}", str(number)) for number in range(3)]
    tables = {"connections": rows, "runs": runs, "raw_files": files, "suspects": [suspect | {"run_id": "r1"}]}
    found = summarise(tmp_path, tables, "edge_connections").row(0, named=True)
    counts = ("seen_count", "in_uncounted_runs_count", "filtered_out_count", "kept_count")
    assert [found[name] for name in counts] == [12, 8, 1, 3]
    database = build_database(tmp_path, tables, EVALUATION)
    with connect(database) as connection:
        (row,) = connection.sql("FROM edge_distributions WHERE quantity = 'rtt_ms'").pl().rows(named=True)
        (left_out,) = Suspects(connection).select(load_trace(connection, "edge_distributions"), row)
    assert [row[name] for name in ("in_uncounted_runs_count", "filtered_out_count", "values_count")] == [8, 1, 3]
    assert left_out.run_id == "r1"
    for asked in ("quantity=rtt_ms", ""):
        explain("edge_distributions", row=asked, database=database)
        told = capsys.readouterr().out
        assert "(1 of 3 count):\n" in told
        assert "  r1 (attempt_repeated: 2 attempts, the bound is 1; page Ledger)\n" in told
        assert "  1 run: not counted, interrupted\n" in told


def test_figures_say_what_of_runs_that_do_not_count_is_left_out() -> None:
    facts = pl.DataFrame({"filtered_out_count": [7, 1], "in_uncounted_runs_count": [300, 0]})
    assert tell_left_out(facts) == "8 that moved too little data and 300 of runs that do not count are left out"
    assert tell_left_out(facts[:1].with_columns(in_uncounted_runs_count=0), " others") == (
        "7 others that moved too little data are left out"
    )


@pytest.mark.slow
def test_an_interval_rests_on_its_own_files(tmp_path: Path) -> None:
    snapshots = [
        row | {"raw_file_id": f"f{row['snapshot_number']}"}
        for row in counters("bbr", [(0, 0), (90, 10), (190, 10), (290, 30)])
    ]
    dumps = [
        row
        for n in (0, 1, 9)
        for row in connections(
            "bbr", [{"rtt_ms": 1.0}], raw_file_id=f"d{n}", time_utc=EPOCH + timedelta(minutes=n), remote_port=n
        )
    ]
    files = [raw_file(f"f{number}", f"nstat:{number}", "f") for number in range(4)]
    files += [raw_file(f"d{number}", f"ss-neit:{number}", "d") for number in (0, 1, 9)]
    tables = {"machine_counters": snapshots, "connections": dumps, "raw_files": files}
    with connect(build_database(tmp_path, tables, EVALUATION)) as connection:
        for table, behind in {
            # The end of an interval is the start of the next.
            "edge_machine_retransmits": [["nstat:0", "nstat:1"], ["nstat:1", "nstat:2"], ["nstat:2", "nstat:3"]],
            "edge_over_time": [["ss-neit:0"], ["ss-neit:1"], ["ss-neit:9"]],
        }.items():
            trace = load_trace(connection, table)
            rows = connection.sql(f"FROM {table}").pl().sort(load_schema(table).key).rows(named=True)
            assert [trace.select_runs(row)["run_id"].to_list() for row in rows] == behind
            assert [recompute_row(connection, trace, row) for row in rows] == rows


@pytest.mark.slow
def test_claims_have_no_verdict_without_one_of_the_algorithms(tmp_path: Path) -> None:
    rows = connections(
        "bbr",
        [{"rtt_ms": 10.0, "data_segments_out_count": 10, "retransmits_ss_count": 1, "retransmit_ratio": 0.1}] * 200,
    )
    database = build_database(tmp_path, {"connections": rows, "web_requests": requests("bbr", [1e6] * 200)}, EVALUATION)
    for name, rows_of in judge(database, *load_evaluation(EVALUATION)["claims"]).items():
        checks = load_evaluation(EVALUATION)["claims"][name]["checks"]
        for row, check in zip(rows_of, checks, strict=True):
            if "BBRv2" in check["sql"]:
                assert (row["runs_count"], row["verdict"]) == (0, "not enough data"), (name, check["name"])


def judge(database: Path, *names: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of claims of the evaluation."""
    with connect(database) as connection:
        connection.execute(read_query("claims"))
        claims = load_evaluation(EVALUATION)["claims"]
        return {name: judge_claim(connection, name, claims[name]["checks"]) for name in names}


def test_claims_over_connections_have_intervals_by_run(tmp_path: Path) -> None:
    # BBRv1 retransmits 4 %, BBRv2 1 %, CUBIC 0.5 %, on three machines of each by so much more or less.
    rows = []
    for cc, ratio in (("bbr1", 0.04), ("bbr2", 0.01), ("cubic", 0.005)):
        rows += of_machines(
            cc,
            [
                [
                    {
                        "data_segments_out_count": 10_000, "retransmits_ss_count": round(10_000 * ratio * factor),
                        "retransmit_ratio": ratio * factor, "rtt_ms": 10.0, "has_ecn": n < 4,
                    }
                    for n in range(100)
                ]
                for factor in (0.8, 1, 1.2)
            ],
        )  # fmt: skip
    judged = judge(build_database(tmp_path, {"connections": rows}, EVALUATION), "retransmits_between", "ecn")
    row = judged["retransmits_between"][0]
    # Each has a variance of 0.2²/3 with two degrees of freedom; both together four, at 1 - 0.05/4 for two checks.
    half = stats.t.ppf(0.9875, 4) * math.sqrt(2 * 0.2**2 / 3)
    assert (row["value"], row["runs_count"]) == (pytest.approx(4.0), 3)
    assert (row["low"], row["high"]) == pytest.approx((4 / math.exp(half), 4 * math.exp(half)), rel=1e-3)
    assert row["verdict"] == "not enough data"
    # Each machine has 4 % of its own connections with ECN, so nine runs do not differ.
    share = judged["ecn"][0]
    assert (share["value"], share["low"], share["high"]) == pytest.approx((0.04, 0.04, 0.04))
    assert (share["runs_count"], share["verdict"]) == (9, "holds")


def make_rtts(cc: str, exponents: list[float]) -> list[dict[str, Any]]:
    """Return machines whose delivery rates grow with the smallest round-trip time by these exponents."""
    rtts = draw_log_uniform(10, 100, 20)
    return of_machines(
        cc, [[{"rtt_min_ms": rtt, "delivery_rate_bps": 1e6 * rtt**one} for rtt in rtts] for one in exponents]
    )


def test_rtt_fairness_has_an_interval_by_run(tmp_path: Path) -> None:
    rows = make_rtts("bbr1", [0.4, 0.5, 0.6]) + make_rtts("bbr2", [-0.1, 0.0, 0.1])
    (row,) = judge(build_database(tmp_path, {"connections": rows}, EVALUATION), "rtt_fairness")["rtt_fairness"]
    # Both exponents have an error of 0.1/√3; of four degrees of freedom t is 2.77645.
    half = 2.77645 * math.sqrt(2 * 0.01 / 3)
    assert (row["value"], row["runs_count"]) == (pytest.approx(0.5), 3)
    assert (row["low"], row["high"]) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-4)
    assert row["verdict"] == "holds"


def test_rtt_fairness_of_two_runs_cannot_be_told(tmp_path: Path) -> None:
    rows = make_rtts("bbr1", [0.4, 0.6]) + make_rtts("bbr2", [-0.1, 0.0, 0.1])
    (row,) = judge(build_database(tmp_path, {"connections": rows}, EVALUATION), "rtt_fairness")["rtt_fairness"]
    assert (row["runs_count"], row["low"], row["verdict"]) == (2, None, "not enough data")


def test_nearness_is_of_the_means_of_runs(tmp_path: Path) -> None:
    rates = {"cubic": (1.0, 1.0, 1.0), "bbr2": (1.8, 2.0, 2.2), "bbr": (16.0, 16.0, 16.0)}
    rows = [
        row
        for cc, of_runs in rates.items()
        for number, rate in enumerate(of_runs)
        for row in requests(cc, [rate * 1e6] * 5, machine=f"{cc}{number}", raw_file_id=f"{cc}{number}")
    ]
    near = judge(build_database(tmp_path, {"web_requests": rows}, EVALUATION), "bandwidth")["bandwidth"][0]
    # 2 is half of √(1 · 16); only its own error of 10 % counts, which has two degrees of freedom.
    half = stats.t.ppf(1 - 0.025 / 4, 2) * 0.1 / math.sqrt(3)
    assert (near["value"], near["runs_count"]) == (pytest.approx(0.5), 3)
    assert (near["low"], near["high"]) == pytest.approx((0.5 / math.exp(half), 0.5 * math.exp(half)), rel=1e-3)
    assert near["verdict"] == "holds"
