import json
import math
import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from archives import ROOT, SHARED, at, list_one, save_table, summarise_one, write_archive, write_yaml
from condition_runs import build_database
from readings import read_files

from ccreport.core.declarations import load_yaml, read_query
from ccreport.core.declared_files import DeclarationError
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import TableError, load_schema, read_table
from ccreport.summarise.compute_table import STATISTICS
from ccreport.summarise.database import connect, list_views
from ccreport.summarise.grids.grid import format_number, format_size, rate_unit
from ccreport.summarise.summarise import lay_out_table

EVALUATION = ROOT / "evaluations/esnet-dtn.yaml"


def summarise(table: str, database: Path, evaluation: Path = EVALUATION) -> tuple[pl.DataFrame, str]:
    folder = database.parent
    parquet, csv, html, latex = (folder / f"{table}.{ending}" for ending in ("parquet", "csv", "html", "tex"))
    summarise_one(table, evaluation, database, folder)
    assert pl.read_csv(csv, schema_overrides=load_schema(table).polars).equals(read_table(table, [parquet]))
    assert latex.read_text().count("\\begin{") == latex.read_text().count("\\end{")
    return read_table(table, [parquet]), html.read_text()


def run(number: int, rates: dict[str, float], **facts: Any) -> dict[str, list[dict[str, Any]]]:
    """Return a run and one flow for each algorithm, its rate in Mbit/s (goodput; the sender's is a tenth more)."""
    known = {"run_id": f"r{number}", "experiment_id": "e", "host": "10.0.0.2", "flows_count": 16, "iteration": number}
    mode = "both" if len(rates) > 1 else next(iter(rates))
    totals = {"goodput_bps": sum(rates.values()) * 1e6, "throughput_bps": sum(rates.values()) * 1.1e6}
    flows = [
        {
            "run_id": f"r{number}",
            "flow_id": f"r{number}/{cc}",
            "cc": cc,
            "goodput_bps": rate * 1e6,
            "throughput_bps": rate * 1.1e6,
            "retransmits_count": number,
            "segments_count": 1000.0,
            "retransmit_ratio": number / 1000,
            "retransmit_source": "ss",
        }
        for cc, rate in rates.items()
    ]
    return {"runs": [known | totals | {"mode": mode, "is_counted": True, "loss_pct": 0.0} | facts], "flows": flows}


def gather(*runs: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return {name: [row for one in runs for row in one[name]] for name in ("runs", "flows")}


def test_table_2_pools_the_conditions_of_a_cell(tmp_path: Path) -> None:
    # BBR below 30 ms: conditions 9, 11 (10 ms) and 18, 22 (20 ms): mean 15, CV 0.4037, within 0.1414. One run at 80 ms.
    tables = gather(
        *(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a") for n, rate in ((1, 9.0), (2, 11.0))),
        *(run(n, {"bbr": rate}, rtt_ms=20.0, condition_id="b") for n, rate in ((3, 18.0), (4, 22.0))),
        run(5, {"cubic": 40.0}, rtt_ms=80.0, condition_id="c"),
        run(6, {"cubic": 1.0}, rtt_ms=10.0, condition_id="d", is_counted=False),
        run(7, {"cubic": 5.0, "bbr": 35.0}, rtt_ms=10.0, condition_id="f", loss_pct=0.1),
    )
    table, html = summarise("table_2_testbed", build_database(tmp_path, tables))
    columns = ("test_group", "sharing", "flows_count", "rtt_bucket", "algorithm", "runs_count", "rate_mean_bps")
    assert table.select(columns).rows() == [
        ("no loss", "alone", 16, "RTT < 30 ms", "BBR", 4, 15e6),
        ("no loss", "alone", 16, "RTT ≥ 30 ms", "CUBIC", 1, 40e6),
        ("0.1 % loss", "both", 16, "RTT < 30 ms", "BBR", 1, 35e6),
        ("0.1 % loss", "both", 16, "RTT < 30 ms", "CUBIC", 1, 5e6),
    ]
    pooled = table.row(0, named=True)
    assert pooled["rate_cv"] == pytest.approx(0.40369, abs=1e-5)
    assert pooled["rate_within_cv"] == pytest.approx(0.14142, abs=1e-5)
    assert pooled["rate_low_bps"] < 15e6 < pooled["rate_high_bps"]
    assert table.row(1, named=True)["rate_cv"] is None
    assert set(table["rate_basis"]) == {"goodput"}
    assert table.filter(pl.col("rate_mean_bps") == 1e6).is_empty()
    text = re.sub(r"<[^>]+>", " ", html)
    assert text.index("no loss") < text.index("0.1 % loss")  # rows as in the paper: by loss
    assert "M: mean goodput in Mbit/s" in text
    assert "receiver's rate (goodput)" in text.replace("&#x27;", "'").replace("’", "'")
    # The mean of these is 15 ± 46 % on the logarithm. Of the largest mean of the table, 40, three digits are told.
    # A row says how many runs its cells have, here 4 and 1.
    assert re.search(r"\s1–4\s+15\.0\s+9\.5–23\.8\s+40\.4\s", text)
    assert re.search(r"40\.0\s+–\s+–\s", text)  # a single run has a mean and nothing else
    assert re.findall(r'href="([^"]+)"', html)[0] == "cells_table_2_testbed.html#cell-1"
    assert "a mean pools the runs of all of them, and its CV includes their differences" in text


def suspect_tables() -> dict[str, list[dict[str, Any]]]:
    """Return three runs of one cell, of 10, 20 and 3 Mbit/s, of which the last is suspect."""
    rates = enumerate((10.0, 20.0, 3.0), 1)
    tables = gather(*(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a") for n, rate in rates))
    rules = ("sample_gap", "attempt_repeated")
    facts = {"run_id": "r3", "observed": 3.0, "bound": 2.0, "bound_unit": "s"}
    return tables | {"suspects": [facts | {"suspect_rule": rule} for rule in rules]}


def test_suspect_runs_do_not_count_and_tables_say_what_they_would_change(tmp_path: Path) -> None:
    database = build_database(tmp_path, suspect_tables())
    table, html = summarise("table_2_testbed", database)
    # All are of 10 ms.
    assert "pools" not in html
    assert table.select("runs_count", "rate_mean_bps").rows() == [(2, 15e6)]
    # 10, 20 and 3.
    numbers = "M 11.0 (here 15.0), CV 77.7 (here 47.1), Runs 3 (here 2)"
    said = f"With 1 suspect run: no loss, alone, 16, RTT &lt; 30 ms, BBR: {numbers}."
    assert said in html
    with connect(database) as connection:
        found = connection.execute("SELECT run_id, suspect_rules FROM labelled_runs WHERE is_suspect").fetchall()
        assert found == [("r3", "attempt_repeated, sample_gap")]
        assert connection.execute("SELECT count(*) FROM suspects").fetchall() == [(2,)]


@pytest.mark.slow
def test_suspect_runs_count_where_the_config_includes_them(tmp_path: Path) -> None:
    database = build_database(tmp_path, suspect_tables())
    paths = (tmp_path / "experiments.txt", tmp_path / "tables", EVALUATION, database)
    list_views(*paths, include_suspect=True)
    table, html = summarise("table_2_testbed", database)
    assert table.select("runs_count", "rate_mean_bps").rows() == [(3, pytest.approx(11e6))]
    assert "suspect" not in html
    # Tables that were measured before there was one of suspect runs.
    (tmp_path / "tables/suspects/archive.parquet").unlink()
    list_views(*paths)
    table, html = summarise("table_2_testbed", database)
    assert (table["runs_count"].to_list(), "suspect" in html) == ([3], False)


def test_the_senders_rate_is_another_choice(tmp_path: Path) -> None:
    declared = load_yaml(EVALUATION)
    declared["tables"]["table_2_testbed"]["rate"] = "throughput"
    evaluation = tmp_path / "e.yaml"
    write_yaml(evaluation, declared)
    database = build_database(tmp_path, run(1, {"cubic": 10.0}, rtt_ms=10.0, condition_id="a"), evaluation)
    table, html = summarise("table_2_testbed", database, evaluation)
    assert table.select("rate_basis", "rate_mean_bps").rows() == [("throughput", pytest.approx(11e6))]
    assert "(throughput)" in html


def test_table_1_by_buffer(tmp_path: Path) -> None:
    tables = gather(
        run(1, {"cubic": 30.0, "bbr": 10.0}, rtt_ms=40.0, condition_id="a", buffer_bytes=500_000),
        run(2, {"cubic": 5.0, "bbr": 35.0}, rtt_ms=40.0, condition_id="b", buffer_bytes=25_000),
    )
    table, html = summarise("table_1_buffer_size", build_database(tmp_path, tables))
    assert table.select("buffer_bytes", "algorithm", "rate_mean_bps").rows() == [
        (25_000, "BBR", 35e6),
        (25_000, "CUBIC", 5e6),
        (500_000, "BBR", 10e6),
        (500_000, "CUBIC", 30e6),
    ]
    assert "25 kB" in html
    assert "500 kB" in html


def test_stability_averages_the_cells(tmp_path: Path) -> None:
    # Cells of n = 2: {9, 11}: sqrt(2)/10 = 0.14142; {18, 22}: sqrt(8)/20 = 0.14142; CUBIC {10, 30}: sqrt(200)/20.
    tables = gather(
        *(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a", loss_pct=0.1) for n, rate in ((1, 9.0), (2, 11.0))),
        *(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="b", loss_pct=0.01) for n, rate in ((3, 18.0), (4, 22.0))),
        *(run(n, {"cubic": rate}, rtt_ms=10.0, condition_id="c", loss_pct=0.01) for n, rate in ((5, 10.0), (6, 30.0))),
    )
    table, _ = summarise("stability", build_database(tmp_path, tables))
    assert table.select("algorithm", "cells_count").rows() == [("BBR", 2), ("CUBIC", 1)]
    assert table["cv_mean_cv"].to_list() == pytest.approx([0.141421, 0.707107], rel=1e-5)
    assert table["cv_ratio"].to_list() == [None, pytest.approx(5, rel=1e-5)]
    # Two runs of a condition tell no interval of a pooled CV.
    assert table["cv_low_ratio"].to_list() == [None, None]


def test_the_ratio_of_mean_cvs_has_the_interval_that_claims_have(tmp_path: Path) -> None:
    rates = {"bbr": (9.0, 10.0, 11.0), "cubic": (6.0, 10.0, 14.0)}
    runs = [(cc, rate) for cc, three in rates.items() for rate in three]
    tables = gather(
        *(
            run(n, {cc: rate}, rtt_ms=10.0, condition_id=cc, loss_pct=0.1, mode=cc)
            for n, (cc, rate) in enumerate(runs, 1)
        )
    )
    table, page = summarise("stability", build_database(tmp_path, tables))
    # One condition of three runs each, CVs 0.1 and 0.4. Chi-square of 2 degrees of freedom: -2 ln(1 - p).
    variances = []
    for cv in (0.1, 0.4):
        low, high = (2 / (-2 * math.log(1 - p)) for p in (0.975, 0.025))
        moved = 1.959964**2 * cv**2 / 3
        below, above = (math.sqrt((math.log(end) / 2) ** 2 + moved) for end in (low, high))
        variances.append(((below + above) / 2 / 1.959964) ** 2)
    factor = math.exp(1.959964 * math.sqrt(sum(variances)))
    ends = table.select("cv_ratio", "cv_low_ratio", "cv_high_ratio").row(1)
    assert ends == pytest.approx((4, 4 / factor, 4 * factor), rel=1e-3)
    assert "95 % interval" in page


def test_a_groups_retransmit_ratio_is_sum_over_sum(tmp_path: Path) -> None:
    tables = gather(*(run(n, {"bbr": 9.0}, rtt_ms=10.0, condition_id="a") for n in (1, 3)))
    tables["flows"][1] |= {"segments_count": 9000.0, "retransmit_ratio": 3 / 9000}
    table, _ = summarise("retransmits", build_database(tmp_path, tables))
    row = table.row(0, named=True)
    assert row["retransmit_ratio"] == 4 / 10000
    assert row["retransmit_mean_ratio"] == pytest.approx((1 / 1000 + 3 / 9000) / 2)
    assert (row["retransmits_count"], row["segments_count"], row["retransmit_source"]) == (4, 10000, "ss")


def test_cpu_counts_a_run_once(tmp_path: Path) -> None:
    tables = gather(
        run(1, {"cubic": 5.0, "bbr": 5.0}, rtt_ms=10.0, cpu_sender_mean_pct=20.0),
        run(2, {"cubic": 5.0, "bbr": 5.0}, rtt_ms=10.0, cpu_sender_mean_pct=40.0),
    )
    table, _ = summarise("cpu", build_database(tmp_path, tables))
    assert table.select("mode", "runs_count", "cpu_sender_mean_pct").rows() == [("both", 2, 30.0)]


def test_a_table_says_how_many_of_its_runs_were_cpu_bound(tmp_path: Path) -> None:
    runs = [run(number, {"cubic": 1.0, "bbr": 1.0}, is_cpu_bound=number < 3) for number in range(1, 6)]
    _, page = summarise("stability", build_database(tmp_path, gather(*runs)))
    assert "2 of its runs were CPU-bound." in page
    (tmp_path / "one").mkdir()
    _, page = summarise(
        "stability", build_database(tmp_path / "one", gather(run(1, {"cubic": 1.0}, is_cpu_bound=False)))
    )
    assert "CPU-bound" not in page


def test_jobs_by_host(tmp_path: Path) -> None:
    tables = gather(*(run(n, {"cubic": rate}, rtt_ms=10.0, session="s", job="j") for n, rate in ((1, 10.0), (2, 20.0))))
    row = summarise("jobs", build_database(tmp_path, tables))[0].row(0, named=True)
    assert (row["runs_count"], row["rate_mean_bps"]) == (2, pytest.approx(16.5e6))  # the sender's, as declared
    assert row["rate_sd_bps"] == pytest.approx(11e6 / 2**0.5)
    assert (row["rate_min_bps"], row["rate_max_bps"]) == (pytest.approx(11e6), pytest.approx(22e6))


@pytest.mark.parametrize(
    ("paced", "expected"), [((40e6, 50e6), None), ((40e6, None), None), ((40e6, 40e6), 40e6), ((None, None), None)]
)
def test_a_job_has_the_pacing_and_mss_that_all_its_runs_have(
    tmp_path: Path, paced: tuple[float | None, ...], expected: float | None
) -> None:
    runs = (run(n, {"cubic": 10.0}, pacing_bps=bps, mss_bytes=bps and bps / 1e6) for n, bps in enumerate(paced, 1))
    (row,) = summarise("jobs", build_database(tmp_path, gather(*runs)))[0].rows(named=True)
    assert (row["pacing_bps"], row["mss_bytes"]) == (expected, expected and expected / 1e6)


def test_jobs_of_an_own_archive_have_goodput_where_all_receivers_reported(tmp_path: Path) -> None:
    generic = ROOT / "evaluations/generic.yaml"
    runs = [run(1, {"cubic": 10.0}, job="a"), run(2, {"bbr": 20.0}, job="b")]
    jobs, html = summarise("jobs", build_database(tmp_path, gather(*runs), generic), generic)
    assert jobs.select("job", "rate_basis", "rate_mean_bps").rows() == [("a", "goodput", 1e7), ("b", "goodput", 2e7)]
    assert "Goodput mean" in html
    # Without one of them the rates of all jobs are the senders', so that they compare and none is left out.
    for table in runs[1].values():
        table[0]["goodput_bps"] = None
    jobs, html = summarise("jobs", build_database(tmp_path, gather(*runs), generic), generic)
    rates = [("a", "throughput", pytest.approx(1.1e7)), ("b", "throughput", pytest.approx(2.2e7))]
    assert jobs.select("job", "rate_basis", "rate_mean_bps").rows() == rates
    assert "Throughput mean" in html


def test_jobs_of_udp_have_loss_and_jitter(tmp_path: Path) -> None:
    # Losses of 1 and 3 % in the mean 2 %, jitter of 0.2 and 0.4 ms in the mean 0.3 ms.
    told = ((1, 0.01, 0.2), (2, 0.03, 0.4))
    runs = (
        run(n, {"unknown": 10.0}, session="s", job="j", lost_packets_ratio=lost, jitter_mean_ms=jitter)
        for n, lost, jitter in told
    )
    row = summarise("jobs", build_database(tmp_path, gather(*runs)))[0].row(0, named=True)
    assert (row["lost_packets_ratio"], row["jitter_mean_ms"]) == (pytest.approx(0.02), pytest.approx(0.3))


def result_archive(tmp_path: Path, files: dict[str, str | bytes]) -> Path:
    """Return the database of an archive that holds result rows alone."""
    archive = write_archive(tmp_path / "raw", files)
    manifest = list_one(archive, tmp_path / "w")
    for table, frame in read_files("metadata", manifest, archive, tmp_path / "read").items():
        if table != "rejects":
            save_table(table, frame.rows(named=True), tmp_path / f"tables/{table}/e.parquet")
    return build_database(tmp_path, {})


def test_table_3_comes_from_result_rows_alone(tmp_path: Path) -> None:
    rows = [
        # The host's queue lifts the median of one row above the bucket's edge; its smallest decides.
        ["near.example.org", "both", 16, "cubic", 4.0, "0.001", 0, 12],
        ["near.example.org", "both", 16, "bbr2", 5.0, "0.002", 0, 45],
        ["near.example.org", "both", 16, "cubic", 6.0, "0.001", 0, 13],
        ["near.example.org", "both", 16, "bbr2", 7.0, "0.002", 0, 12],
        ["far.example.org", "cubic", 16, "cubic", 1.0, "0.001", 0, 112],
    ]
    database = result_archive(tmp_path, {"20210802_bost_10g.dat": json.dumps(rows)})
    table, html = summarise("table_3_paths", database)
    columns = ("sender_speed", "path_class", "sharing", "rtt_bucket", "algorithm", "runs_count", "rate_mean_bps")
    assert table.select(columns).rows() == [
        ("10g", "non-esnet", "alone", "RTT ≥ 30 ms", "CUBIC", 1, 1e9),
        ("10g", "non-esnet", "both", "RTT < 30 ms", "BBR", 2, 6e9),
        ("10g", "non-esnet", "both", "RTT < 30 ms", "CUBIC", 2, 5e9),
    ]
    assert set(table["rate_basis"]) == {"throughput"}  # result rows have no receiver's rate
    assert "No selected run has a goodput." in html
    declared = load_evaluation(EVALUATION)
    own = {"column_notes": {"runs_count": "Runs are counted.", "rate_low_bps": "Of a column without a value."}}
    grid = lay_out_table(table, "table_3_paths", declared["tables"]["table_3_paths"] | {"evaluation": declared} | own)
    assert "Runs are counted." in " ".join(grid.notes)
    assert "without a value" not in " ".join(grid.notes)
    assert [name[:2] for name in grid.names] == [["10G", "non-ESnet"]] * 2


@pytest.mark.skipif(not (SHARED / "results").exists(), reason="the harness's own result files are not here")
def test_table_3_of_the_harness_s_own_result_files(tmp_path: Path) -> None:
    names = ("20210802_bost_10g.dat", "20210803_bost_40g.dat")
    database = result_archive(tmp_path, {name: (SHARED / "results" / name).read_bytes() for name in names})
    table, _ = summarise("table_3_paths", database)
    cells = table.filter(sender_speed="10g", sharing="both", flows_count=16, rtt_bucket="RTT < 30 ms")
    found = {row["algorithm"]: (row["rate_mean_bps"] / 1e9, row["rate_cv"]) for row in cells.iter_rows(named=True)}
    assert found["BBR"] == (pytest.approx(4.2911, abs=5e-5), pytest.approx(0.0805, abs=5e-5))
    assert found["CUBIC"] == (pytest.approx(4.6695, abs=5e-5), pytest.approx(0.0331, abs=5e-5))
    assert set(table["sender_speed"]) == {"10g", "40g"}


def test_result_rows_of_runs_that_are_there_raw_count_once(tmp_path: Path) -> None:
    tables = run(1, {"cubic": 10.0}, rtt_ms=50.0, condition_id="a", host="h.example.org")
    result = {"host": "h.example.org", "mode": "cubic", "flows_count": 16, "cc": "cubic", "throughput_bps": 1e9}
    database = build_database(
        tmp_path, tables | {"harness_results": [result, result | {"row_number": 1, "flows_count": 1}]}
    )
    assert duckdb.connect(str(database), read_only=True).sql(
        "SELECT flows_count FROM algorithm_runs ORDER BY ALL"
    ).fetchall() == [(1,), (16,)]


def test_flows_of_an_unknown_algorithm_are_not_dropped(tmp_path: Path) -> None:
    tables = run(1, {"cubic": 10.0}, rtt_ms=10.0, condition_id="a", mode=None)
    tables["flows"][0]["cc"] = None
    table, _ = summarise("table_2_testbed", build_database(tmp_path, tables))
    assert table.select("sharing", "algorithm", "rate_mean_bps").rows() == [("alone", "unknown", 10e6)]


@pytest.mark.slow
def test_an_empty_archive_gives_empty_tables(tmp_path: Path) -> None:
    database = build_database(tmp_path, {})
    for table in load_yaml(EVALUATION)["tables"]:
        assert summarise(table, database)[0].is_empty()


@pytest.mark.slow
def test_a_condition_that_is_no_sql_says_so(tmp_path: Path) -> None:
    declared = load_yaml(EVALUATION)
    declared["tables"]["jobs"]["where"] = "no_such_column = 1"
    evaluation = tmp_path / "e.yaml"
    write_yaml(evaluation, declared)
    with pytest.raises(DeclarationError, match=r"e\.yaml:\d+: tables\.jobs\.where: .*no_such_column"):
        build_database(tmp_path, {}, evaluation)


def test_every_query_runs_as_it_stands(tmp_path: Path) -> None:
    database = build_database(tmp_path, run(1, {"cubic": 10.0}, rtt_ms=50.0, condition_id="a", start_utc=at(0)))
    with connect(database) as connection:
        for table in load_yaml(EVALUATION)["tables"]:
            query = read_query(table)
            result = connection.sql(query).pl()
            completed = STATISTICS[table](result) if table in STATISTICS else result
            assert set(completed.columns) == set(load_schema(table).polars)


def test_names_from_the_archive_are_text(tmp_path: Path) -> None:
    tables = run(
        1, {"cubic": 10.0}, rtt_ms=50.0, host='"><script>alert(1)</script>', session="s", job="*b* `c` {{< d >}}"
    )
    _, html = summarise("jobs", build_database(tmp_path, tables))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_numbers_are_shown_in_units_that_read_well() -> None:
    assert rate_unit(pl.Series([9.65e9, None, 1e6])) == (1e9, "Gbit/s")
    assert rate_unit(pl.Series([48.5e6])) == (1e6, "Mbit/s")
    assert rate_unit(pl.Series([], dtype=pl.Float64)) == (1e6, "Mbit/s")
    assert [format_size(size) for size in (12e6, 62_000, 500, 64e6)] == ["12 MB", "62 kB", "500 B", "64 MB"]
    assert [format_number(value, 4) for value in (0.06473, None)] == ["0.0647", "–"]


def test_a_table_whose_rows_repeat_their_key_is_a_fault(tmp_path: Path) -> None:
    database = build_database(tmp_path, run(1, {"cubic": 10.0}, rtt_ms=50.0, session="s", job="j"))
    with connect(database, read_only=False) as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW stability AS SELECT 'a' AS rtt_bucket, 'b' AS algorithm, "
            "'goodput' AS rate_basis, 1 AS cells_count FROM range(2)"
        )
    with pytest.raises(TableError, match="stability: rows repeat the key"):
        summarise("stability", database)
