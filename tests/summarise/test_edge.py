import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from archives import EPOCH, ROOT, summarise_one
from condition_runs import Rows, build_database

from ccreport.compare.claims import judge_claim
from ccreport.core.declarations import SQL
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import read_table
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.kit.figure import Figure
from ccreport.figures.select.declaration import FigureError, read_declaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.summarise.database import QueryError, connect
from ccreport.trace.explain import explain

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
    declared = yaml.safe_load(EVALUATION.read_text(encoding="utf-8"))
    declared.pop("claims")
    declared["edge"] |= changes
    path = folder / "evaluation.yaml"
    path.write_text(yaml.safe_dump(declared, sort_keys=False), encoding="utf-8")
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


def test_means_of_many_have_an_interval(tmp_path: Path) -> None:
    # 50 values of 10 and 50 of 30: standard deviation 10 · sqrt(100/99), so ± 1.96 · 10.0504/10.
    rtts = [{"rtt_ms": 10.0}] * 50 + [{"rtt_ms": 30.0}] * 50
    row = summarise(tmp_path, {"connections": connections("cubic", rtts)}, "edge_distributions").row(0, named=True)
    half = 1.959964 * 10 * math.sqrt(100 / 99) / 10
    assert [row["value_mean_low"], row["value_mean_high"]] == pytest.approx([20 - half, 20 + half])


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
    assert found.select("segments_out_count", "retransmits_machine_count", "retransmit_ratio").rows() == [
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
    with pytest.raises(QueryError, match="grouped_connections"):
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


def test_comparisons_have_an_effect_and_a_corrected_rank_test(tmp_path: Path) -> None:
    rows = connections("cubic", [{"rtt_ms": 10.0}] * 4 + [{"rtt_ms": 100.0}])
    rows += connections("bbr", [{"rtt_ms": 100.0}] * 3 + [{"rtt_ms": 1000.0}] * 2)
    row = summarise(tmp_path, {"connections": rows}, "edge_comparisons").row(0, named=True)
    assert (row["first_series"], row["second_series"], row["first_p50"], row["second_p50"]) == (
        "BBRv1",
        "CUBIC",
        100.0,
        10.0,
    )
    # Of 25 pairs CUBIC is never above and 3 times equal: delta = (0 − 22)/25.
    assert row["effect_ratio"] == pytest.approx(-0.88)
    # U = 1.5; ties 4, 4 and 2: variance 25/12 · (11 − (60 + 60 + 6)/90) = 20; z = (12.5 − 1.5 − 0.5)/sqrt(20).
    p = math.erfc(10.5 / math.sqrt(20) / math.sqrt(2))
    assert row["p_binned_ratio"] == pytest.approx(p)
    assert (row["tests_count"], row["p_holm_ratio"], row["is_told_apart"]) == (1, pytest.approx(p), True)


def test_nothing_is_called_different_on_one_value(tmp_path: Path) -> None:
    rows = connections("cubic", [{"rtt_ms": 10.0}]) + connections("bbr", [{"rtt_ms": 100.0}] * 50)
    row = summarise(tmp_path, {"connections": rows}, "edge_comparisons").row(0, named=True)
    assert (row["p_binned_ratio"], row["p_holm_ratio"], row["is_told_apart"], row["tests_count"]) == (
        None,
        None,
        None,
        0,
    )


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
    declared = yaml.safe_load(evaluation.read_text())
    declared["figures"] = {"f": {"kind": "distribution_pdf", "title": "T", "where": "quantity = 'rtt_ms'"}}
    evaluation.write_text(yaml.safe_dump(declared, sort_keys=False))
    rows = connections("bbr", [{"rtt_ms": 10.0}] * 20, label=name)
    figure = build(tmp_path, "f", {"connections": rows}, evaluation)
    assert "\x1b" not in figure.chart.to_json() + figure.alternative


def test_a_figure_of_several_quantities_or_groupings_is_refused(tmp_path: Path) -> None:
    rows = connections("bbr", [{"rtt_ms": 10.0, "rtt_min_ms": 9.0}] * 20, kernel="5.3")
    evaluation = change(tmp_path)
    declared = yaml.safe_load(evaluation.read_text())
    for where, named in (("grouped_by = 'algorithm'", "quantities"), ("quantity = 'rtt_ms'", "groupings")):
        declared["figures"] = {"f": {"kind": "distribution_percentiles", "title": "T", "where": where}}
        evaluation.write_text(yaml.safe_dump(declared, sort_keys=False))
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
    assert 'href="cells_edge_histograms-2.html#cell-60"' in html
    assert 'href="cells_edge_histograms.html#cell-61"' not in html


def test_a_number_is_traced_to_its_files_and_computed_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = connections("bbr", [{"rtt_ms": rtt} for rtt in (10.0, 20.0, 30.0)]) + connections("cubic", [{"rtt_ms": 7.0}])
    files = [
        {
            "raw_file_id": f"dump-{cc}",
            "path": f"m/{cc}/ss-neit:1",
            "sha256": f"{number}" * 64,
            "kind": "ss-neit",
            "state": "ingested",
            "size_bytes": 1,
            "experiment_id": "e",
        }
        for number, cc in enumerate(("bbr", "cubic"))
    ]
    database = build_database(tmp_path, {"connections": rows, "raw_files": files}, EVALUATION)
    explain("edge_distributions", row="quantity=rtt_ms,grouped_by=algorithm,series=BBRv1", database=database)
    told = capsys.readouterr().out
    assert "value_p50           20.0" in told
    assert f"{'0' * 64}  m/bbr/ss-neit:1" in told
    assert "cubic" not in told


def test_claims_have_no_verdict_without_one_of_the_algorithms(tmp_path: Path) -> None:
    rows = connections(
        "bbr",
        [{"rtt_ms": 10.0, "data_segments_out_count": 10, "retransmits_ss_count": 1, "retransmit_ratio": 0.1}] * 200,
    )
    database = build_database(tmp_path, {"connections": rows, "web_requests": requests("bbr", [1e6] * 200)}, EVALUATION)
    for name, rows_of in judge_all(database).items():
        checks = load_evaluation(EVALUATION)["claims"][name]["checks"]
        for row, check in zip(rows_of, checks, strict=True):
            if "BBRv2" in check["sql"]:
                assert (row["runs_count"], row["verdict"]) == (0, "not enough data"), (name, check["name"])


def judge_all(database: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each claim of the evaluation."""
    with connect(database) as connection:
        connection.execute((SQL / "claims.sql").read_text(encoding="utf-8"))
        claims = load_evaluation(EVALUATION)["claims"]
        return {name: judge_claim(connection, name, claim["checks"]) for name, claim in claims.items()}


def test_claims_over_connections_have_intervals_of_their_errors(tmp_path: Path) -> None:
    # 400 connections of each; BBRv1 retransmits 4 %, BBRv2 1 %, CUBIC 0.5 %, with other shares and sizes for each.
    draw = np.random.default_rng(1)
    drawn: dict[str, Any] = {}
    rows = []
    for cc, ratio in (("bbr1", 0.04), ("bbr2", 0.01), ("cubic", 0.005)):
        sent = draw.integers(1000, 3000, 400)
        again = np.round(sent * ratio * draw.uniform(0.5, 1.5, 400)).astype(int)
        rtts = np.round(np.exp(draw.normal(3, 0.5, 400)), 3)
        drawn[cc] = (again, sent, rtts)
        rows += connections(
            cc,
            [
                {
                    "data_segments_out_count": int(y), "retransmits_ss_count": int(x), "retransmit_ratio": x / y,
                    "rtt_ms": float(rtt), "has_ecn": n < 16,
                }
                for n, (x, y, rtt) in enumerate(zip(again, sent, rtts, strict=True))
            ],
        )  # fmt: skip
    for number, row in enumerate(rows):
        row |= {"connection_number": number, "socket_id": str(number)}
    judged = judge_all(build_database(tmp_path, {"connections": rows}, EVALUATION))

    def spread(cc: str) -> float:
        x, y, _ = drawn[cc]
        return float(len(x) * (x / x.sum() - y / y.sum()).var(ddof=1))

    row = judged["retransmits_between"][0]
    value = (drawn["bbr1"][0].sum() / drawn["bbr1"][1].sum()) / (drawn["bbr2"][0].sum() / drawn["bbr2"][1].sum())
    # Two checks: the normal distribution's 2.241403 at 0.9875.
    half = 2.241403 * math.sqrt(spread("bbr1") + spread("bbr2"))
    assert row["value"] == pytest.approx(value)
    assert (row["low"], row["high"]) == pytest.approx((value / math.exp(half), value * math.exp(half)), rel=1e-5)
    assert row["verdict"] == "holds"
    # Wilson's interval of 48 of 1200, 3.03 % to 5.26 %, wider for two checks: it holds both ends of 3.68 % ± 10 %.
    share = judged["ecn"][0]
    assert share["value"] == pytest.approx(0.04)
    n, z = 1200, 1.959964
    middle, reach = 0.04 + z**2 / 2 / n, z * math.sqrt(0.04 * 0.96 / n + z**2 / 4 / n**2)
    ends = [(middle + sign * reach) / (1 + z**2 / n) for sign in (-1, 1)]
    wider = [0.04 * (end / 0.04) ** (2.241403 / z) for end in ends]
    assert [share["low"], share["high"]] == pytest.approx(wider, rel=1e-5)
    assert share["verdict"] == "not enough data"
