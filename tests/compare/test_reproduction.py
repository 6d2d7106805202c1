from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from support import ROOT
from test_summarise import build_database, gather, run, summarise

from ccreport.database import QueryError
from ccreport.errors import InputError
from ccreport.evaluation import EvaluationError, load_evaluation
from ccreport.reproduction.compare import Cells, compare_tables, mark_pairs, match_size
from ccreport.reproduction.expected import read_expected
from ccreport.tables import read_table

EVALUATION = ROOT / "evaluations/esnet-dtn.yaml"
HEADER = "test_group,sharing,flows_count,rtt_bucket,algorithm,mean_gbps,cv,is_suspect"
NEAR = "RTT < 30 ms"
ALLOWED = {"algorithm": ["BBR", "CUBIC"], "rtt_bucket": [NEAR, "RTT ≥ 30 ms"]}
# Means and line rate in Mbit/s: BBR 38, 40, 42 (40), CUBIC 19, 20, 21 (20) of 50.
ALONE = gather(
    *(
        run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a", nic_bps=5e7)
        for n, rate in ((1, 38.0), (2, 40.0), (3, 42.0))
    ),
    *(
        run(n, {"cubic": rate}, rtt_ms=10.0, condition_id="b", nic_bps=5e7)
        for n, rate in ((4, 19.0), (5, 20.0), (6, 21.0))
    ),
)


def compare(
    folder: Path,
    rows: list[str],
    tables: dict[str, list[dict[str, Any]]] = ALONE,
    *,
    table: str = "table_2_testbed",
    header: str = HEADER,
    other: list[Path] | None = None,
    **facts: Any,
) -> pl.DataFrame:
    """Return the table of comparisons of an archive with these published rows."""
    declared = yaml.safe_load(EVALUATION.read_text())
    declared["claims"] = {}
    declared["reproduction"] = {table: {"expected": "paper.csv", "line_rate_bps": 10_000_000_000} | facts}
    evaluation = folder / "evaluation.yaml"
    evaluation.write_text(yaml.safe_dump(declared))
    (folder / "paper.csv").write_text("\n".join([header, *rows]) + "\n")
    database = build_database(folder, tables, evaluation)
    summarise(table, database, evaluation)
    parquet, csv = folder / "reproduction.parquet", folder / "reproduction.csv"
    compare_tables(evaluation, database, folder, other or [], parquet, csv)
    compared = read_table("reproduction", [parquet])
    assert pl.read_csv(csv, infer_schema=False).height == compared.height
    return compared


def published(algorithm: str, gbps: float, *, group: str = "no loss", suspect: str = "false") -> str:
    return f"{group},alone,16,{NEAR},{algorithm},{gbps},0.1,{suspect}"


def test_rates_compare_as_shares_of_the_line_rate(tmp_path: Path) -> None:
    # 40 and 20 of 50 Mbit/s are 0.8 and 0.4; 8.1 and 5 of 10 Gbit/s are 0.81 and 0.5. 0.81 is 40.5 Mbit/s, inside.
    compared = compare(tmp_path, [published("BBR", 8.1), published("CUBIC", 5)])
    assert compared["cell"].to_list() == ["no loss, alone, 16 flows, RTT < 30 ms"] * 2
    assert compared["expected_share_ratio"].to_list() == pytest.approx([0.81, 0.5])
    assert compared["share_ratio"].to_list() == pytest.approx([0.8, 0.4])
    assert compared["value_ratio"].to_list() == pytest.approx([0.8 / 0.81, 0.8])
    assert compared["is_inside"].to_list() == [True, False]
    assert compared.select("rate_basis", "expected_basis", "runs_count").row(0) == ("goodput", "throughput", 3)
    # 2 against 1.62: the same is ahead, by a factor of 1.2346 more.
    assert compared["pair_ratio"].to_list() == pytest.approx([2.0, 2.0])
    assert compared["pair_expected_ratio"].to_list() == pytest.approx([1.62, 1.62])
    assert compared["pair_factor_ratio"].to_list() == pytest.approx([2 / 1.62] * 2)
    assert compared["is_reproduced"].to_list() == [True, True]
    assert compared["is_same_value"].to_list() == [False, False]


def test_a_pair_with_both_values_inside_is_the_same(tmp_path: Path) -> None:
    compared = compare(tmp_path, [published("BBR", 8), published("CUBIC", 4)])
    assert compared["is_same_value"].to_list() == [True, True]


@pytest.mark.parametrize(
    ("bbr", "cubic", "is_reproduced"),
    [(8, 2, True), (8, 1.9, False), (4, 4, False), (3.9, 4, False), (4.4, 4, True)],
)
def test_reproduced_is_the_same_order_within_a_factor_of_2(
    tmp_path: Path, bbr: float, cubic: float, is_reproduced: bool
) -> None:
    # Here the ratio is 2: 4 is twice that, 4.2 more; with 1 nobody is ahead, with 0.975 the other one is.
    compared = compare(tmp_path, [published("BBR", bbr), published("CUBIC", cubic)])
    assert compared["is_reproduced"].to_list() == [is_reproduced] * 2


def test_what_this_archive_lacks_is_missing(tmp_path: Path) -> None:
    rows = [published(name, rate, group="1 % loss") for name, rate in (("BBR", 8), ("CUBIC", 4))]
    compared = compare(tmp_path, [*rows, published("BBR", 8)])
    assert compared["cell_state"].to_list() == ["missing", "missing", "compared"]
    assert compared["rate_mean_bps"].to_list() == [None, None, pytest.approx(40e6)]
    assert compared["is_reproduced"].is_null().all()


def test_a_suspect_row_says_so(tmp_path: Path) -> None:
    compared = compare(tmp_path, [published("BBR", 8, suspect="true"), published("CUBIC", 4)])
    assert compared["cell_state"].to_list() == ["suspect", "compared"]


def test_without_a_line_rate_the_rates_compare_as_they_are(tmp_path: Path) -> None:
    tables = gather(*(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a") for n, rate in ((1, 30.0), (2, 50.0))))
    compared = compare(tmp_path, [published("BBR", 0.08)], tables)
    assert compared.select("share_ratio", "line_rate_bps").row(0) == (None, None)
    assert compared["value_ratio"].to_list() == pytest.approx([0.5])


def test_runs_of_several_line_rates_have_none(tmp_path: Path) -> None:
    tables = gather(*(run(n, {"bbr": 9.0}, rtt_ms=10.0, condition_id="a", nic_bps=n * 1e7) for n in (1, 2)))
    assert compare(tmp_path, [published("BBR", 8)], tables)["line_rate_bps"].to_list() == [None]


def test_the_line_rate_is_what_the_evaluation_says(tmp_path: Path) -> None:
    assert compare(tmp_path, [published("BBR", 8)], line_rate="8e7")["share_ratio"].to_list() == pytest.approx([0.5])
    with pytest.raises(QueryError, match=r"reproduction of table_2_testbed: .*no_such"):
        compare(tmp_path, [published("BBR", 8)], line_rate="no_such")


def test_buffers_match_as_fractions_of_the_bandwidth_delay_product(tmp_path: Path) -> None:
    # Here 50 Mbit/s over 40 ms: 250 kB, so 25 kB are 0.1; there 11 MB of 110 MB are 0.1, 64 MB 0.58.
    tables = gather(
        run(1, {"bbr": 30.0, "cubic": 10.0}, rtt_ms=40.0, condition_id="a", buffer_bytes=25_000, bottleneck_bps=5e7)
    )
    compared = compare(
        tmp_path,
        ["11000000,both,16,BBR,8,,false", "64000000,both,16,BBR,4,,false"],
        tables,
        table="table_1_buffer_size",
        header="buffer_bytes,sharing,flows_count,algorithm,mean_gbps,cv,is_suspect",
        as_bdp_fraction={"column": "buffer_bytes", "bdp_bytes": 110_000_000},
    )
    assert compared["cell_state"].to_list() == ["compared", "missing"]
    assert compared["buffer_bytes"].to_list() == [11_000_000, 64_000_000]
    assert compared["matched_buffer_bytes"].to_list() == [25_000, None]
    assert compared["expected_bdp_ratio"].to_list() == pytest.approx([0.1, 64 / 110])
    assert compared["matched_bdp_ratio"].to_list() == [pytest.approx(0.1), None]


@pytest.mark.parametrize(("size", "matched"), [(100, 100), (140, 100), (150, 200), (300, 200), (301, None), (66, None)])
def test_the_nearest_size_is_within_a_factor_of_1_5(size: int, matched: int | None) -> None:
    # The two bandwidth-delay products are the same, so sizes compare as they are; 141.4 is as far from 100 as from 200.
    key = ("both", 16, "BBR")
    cells = Cells("table_1_buffer_size", {(own, *key): {"bdp_bytes": 1000.0, "own": own} for own in (100, 200)})
    found, _ = match_size((size, *key), cells, column="buffer_bytes", bdp_bytes=1000, within_factor=1.5)
    assert (found or {}).get("own") == matched
    assert (
        match_size((size, "both", 8, "BBR"), cells, column="buffer_bytes", bdp_bytes=1000, within_factor=1.5)[0] is None
    )


def test_two_archives_compare_by_the_overlap_of_their_intervals(tmp_path: Path) -> None:
    # BBR 39, 41, 43 there: 41, the intervals overlap. CUBIC 30, 31, 32 there: they do not.
    there = gather(
        *(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a") for n, rate in ((1, 39.0), (2, 41.0), (3, 43.0))),
        *(run(n, {"cubic": rate}, rtt_ms=10.0, condition_id="b") for n, rate in ((4, 30.0), (5, 31.0), (6, 32.0))),
        run(7, {"cubic": 9.0}, rtt_ms=80.0, condition_id="c"),
    )
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    summarise("table_2_testbed", build_database(tmp_path / "there", there))
    here = gather(ALONE, run(8, {"bbr": 9.0}, rtt_ms=80.0, condition_id="d"))
    compared = compare(tmp_path / "here", [], here, other=[tmp_path / "there/table_2_testbed.parquet"])
    far = "no loss, alone, 16 flows, RTT ≥ 30 ms"
    near = "no loss, alone, 16 flows, RTT < 30 ms"
    assert compared.select("comparison", "cell", "algorithm", "cell_state").rows() == [
        ("archive", near, "BBR", "compared"),
        ("archive", near, "CUBIC", "compared"),
        ("archive", far, "CUBIC", "missing"),
        ("archive", far, "BBR", "added"),
    ]
    assert compared["value_ratio"].to_list()[:2] == pytest.approx([40 / 41, 20 / 31])
    assert compared["is_inside"].to_list() == [True, False, None, None]
    assert compared["is_reproduced"].to_list() == [True, True, None, None]
    assert compared["is_same_value"].to_list() == [False, False, None, None]


def test_another_builds_table_has_to_be_one(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    pl.DataFrame({"x": [1]}).write_parquet(other / "table_2_testbed.parquet")
    with pytest.raises(InputError, match=r"table_2_testbed\.parquet: .*build that archive with this version"):
        compare(tmp_path, [], other=[other / "table_2_testbed.parquet"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["test_group,algorithm,mean_gbps"], "line 1: the columns must be test_group, sharing"),
        ([], "line 1: the columns must be"),
        ([HEADER, "no loss,alone,16"], "line 2: it has not as many fields"),
        ([HEADER, f"{published('BBR', 8)},more"], "line 2: it has not as many fields"),
        ([HEADER, published("BBR", 8), published("BBRv2", 8)], "line 3: algorithm is 'BBRv2', not one of BBR, CUBIC"),
        ([HEADER, published("BBR", 8).replace(NEAR, "RTT <30")], "line 2: rtt_bucket is 'RTT <30'"),
        ([HEADER, published("BBR", 8).replace("alone", "lone")], "line 2: sharing is 'lone', not one of alone, both"),
        ([HEADER, published("BBR", 8).replace("16", "many")], "line 2: flows_count is 'many', no whole number"),
        ([HEADER, published("BBR", 8).replace("no loss", "")], "line 2: test_group is ''"),
        ([HEADER, published("BBR", float("nan"))], "line 2: mean_gbps is 'nan', no number"),
        ([HEADER, published("BBR", -1)], "line 2: mean_gbps is '-1', no number"),
        ([HEADER, published("BBR", 8, suspect="no")], "line 2: is_suspect is 'no', not true or false"),
        ([HEADER, published("BBR", 8), published("BBR", 9)], "line 3: repeats the key of line 2"),
    ],
)
def test_published_values_that_cannot_be_used_say_where(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "paper.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(InputError) as caught:
        read_expected(path, "table_2_testbed", ALLOWED)
    assert message in str(caught.value)
    assert "paper.csv" in str(caught.value)


def test_published_values_that_are_not_there_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv"):
        read_expected(tmp_path / "none.csv", "table_2_testbed", ALLOWED)


def test_all_published_values_of_the_evaluation_can_be_read() -> None:
    declared = load_evaluation(EVALUATION)["reproduction"]
    counts = {
        table: len(read_expected(EVALUATION.parent / facts["expected"], table, ALLOWED))
        for table, facts in declared.items()
    }
    # Table I: 5 buffers of 2 algorithms; II: 12 loss rows of 4 cells and 2 mismatch rows of 2; III: 10 pairs.
    assert counts == {"table_1_buffer_size": 10, "table_2_testbed": 52, "table_3_paths": 20}


def test_a_reproduction_is_of_a_table_that_there_is(tmp_path: Path) -> None:
    declared = yaml.safe_load(EVALUATION.read_text())
    declared["reproduction"]["table_9"] = {"expected": "x.csv", "line_rate_bps": 1}
    path = tmp_path / "e.yaml"
    path.write_text(yaml.safe_dump(declared))
    with pytest.raises(EvaluationError, match="reproduction: no table table_9"):
        load_evaluation(path)


def test_an_archive_without_the_cells_has_them_missing(tmp_path: Path) -> None:
    compared = compare(tmp_path, [published("BBR", 8)], {})
    assert compared["cell_state"].to_list() == ["missing"]


def test_one_algorithm_alone_makes_no_pair() -> None:
    row = {"table_name": "t", "cell": "c", "algorithm": "BBR", "expected_bps": 1.0, "rate_mean_bps": 1.0}
    assert mark_pairs([row], ["BBR", "CUBIC"]) == [row]
    assert mark_pairs([row], ["BBR"]) == [row]
