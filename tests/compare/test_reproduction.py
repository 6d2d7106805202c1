import math
import re
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from archives import ROOT, write_yaml
from condition_runs import build_database
from scipy import stats
from test_summarise import gather, run, summarise

from ccreport.compare.expected import read_expected, read_published
from ccreport.compare.matching import Scale, match_by_scale
from ccreport.compare.pairs import Cells, Compared, explain_pair, mark_pairs
from ccreport.compare.reproduction import compare_tables
from ccreport.compare.verdicts import Estimate, judge_pair
from ccreport.core.declarations import load_yaml
from ccreport.core.declared_files import DeclarationError
from ccreport.core.errors import InputError
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import load_schema, read_table
from ccreport.figures.select.check_sql import check_sql
from ccreport.summarise.database import QueryError
from ccreport.summarise.label_values import check_label_values
from ccreport.summarise.statistics.contrasts import Spread, contrast_strata
from ccreport.summarise.view_columns import open_without_rows

EVALUATION = ROOT / "evaluations/esnet-dtn.yaml"
GENERIC = ROOT / "evaluations/generic.yaml"
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
    declared = load_yaml(EVALUATION)
    declared["claims"] = {}
    declared["reproduction"] = {
        table: {"expected": "paper.csv", "line_rate_bps": 10_000_000_000, "runs_count": 10} | facts
    }
    evaluation = folder / "evaluation.yaml"
    write_yaml(evaluation, declared)
    (folder / "paper.csv").write_text("\n".join([header, *rows]) + "\n")
    database = build_database(folder, tables, evaluation)
    summarise(table, database, evaluation)
    parquet, csv = folder / "reproduction.parquet", folder / "reproduction.csv"
    compare_tables(evaluation, database, folder, other or [], parquet, csv)
    compared = read_table("reproduction", [parquet])
    assert pl.read_csv(csv, infer_schema=False).height == compared.height
    return compared


def published(algorithm: str, gbps: float, *, group: str = "no loss", cv: float = 0.1, suspect: str = "false") -> str:
    return f"{group},alone,16,{NEAR},{algorithm},{gbps},{cv},{suspect}"


def test_rates_compare_as_shares_of_the_line_rate(tmp_path: Path) -> None:
    # 40 and 20 of 50 Mbit/s are 0.8 and 0.4; 8.1 and 5 of 10 Gbit/s are 0.81 and 0.5. 0.81 is 40.5 Mbit/s, inside.
    compared = compare(tmp_path, [published("BBR", 8.1), published("CUBIC", 5)])
    assert compared["cell"].to_list() == ["no loss, alone, 16 flows, RTT < 30 ms"] * 2
    assert compared["expected_share_ratio"].to_list() == pytest.approx([0.81, 0.5])
    assert compared["share_ratio"].to_list() == pytest.approx([0.8, 0.4])
    assert compared["value_ratio"].to_list() == pytest.approx([0.8 / 0.81, 0.8])
    assert compared["cell_verdict"].to_list() == ["consistent", "inconsistent"]
    assert compared.select("rate_basis", "expected_basis", "runs_count").row(0) == ("goodput", "throughput", 3)
    # Of the logarithms the variances are 0.1²/10 there (9 degrees of freedom) and 0.05²/3 here (2), together 0.0018333
    # with 0.0018333² / (0.001²/9 + 0.00083333²/2) = 7.3333, of which t is 2.3433: 2.3433 · √0.0018333 = 0.100336.
    low, high = 0.8 / 0.81 / math.exp(0.100336), 0.8 / 0.81 * math.exp(0.100336)
    assert compared.select("value_low_ratio", "value_high_ratio").row(0) == pytest.approx((low, high), rel=1e-4)
    # 2 against 1.62: the same is ahead, by a factor of 1.2346 more.
    assert compared["pair_ratio"].to_list() == pytest.approx([2.0, 2.0])
    assert compared["pair_expected_ratio"].to_list() == pytest.approx([1.62, 1.62])
    assert compared["pair_factor_ratio"].to_list() == pytest.approx([2 / 1.62] * 2)
    assert compared["pair_verdict"].to_list() == ["reproduced", "reproduced"]
    # There 2 · 0.001 with 18 degrees of freedom, here 2 · 0.00083333 with 4: t · √v = 2.10092 · 0.0447214 and
    # 2.77645 · 0.0408248.
    there = (1.62 / math.exp(0.093956), 1.62 * math.exp(0.093956))
    assert compared.select("pair_expected_low_ratio", "pair_expected_high_ratio").row(0) == pytest.approx(
        there, rel=1e-4
    )
    here = (2 / math.exp(0.113348), 2 * math.exp(0.113348))
    assert compared.select("pair_low_ratio", "pair_high_ratio").row(0) == pytest.approx(here, rel=1e-4)


def estimate(low: float, high: float) -> Estimate:
    """Return a ratio whose 95 % interval is this, of so many runs that the quantile is the normal one."""
    return Estimate(math.sqrt(low * high), Spread((math.log(high / low) / 2 / 1.959964) ** 2, 1e9))


@pytest.mark.parametrize(
    ("theirs", "own", "verdict"),
    [
        # Twice as fast there, and here 3 % for certain: no more than what the table of comparisons calls equal.
        ((0.49, 0.55), (0.967, 0.971), "not reproduced"),
        ((0.967, 0.971), (0.70, 0.80), "not reproduced"),
        ((0.97, 0.99), (0.96, 0.98), "reproduced"),
        # Equal in both: who is ahead by less than 5 % does not matter, be it another for certain.
        ((0.99, 1.01), (0.98, 0.99), "reproduced"),
        ((0.98, 0.99), (1.01, 1.02), "reproduced"),
        ((1.0195, 1.0205), (0.977, 0.985), "reproduced"),
        # With more runs it may be: what is not told yet is not the opposite.
        ((0.98, 0.99), (1.01, 1.10), "undecided"),
        ((0.90, 0.99), (1.01, 1.10), "undecided"),
        ((0.98, 0.99), (1.06, 1.10), "not reproduced"),
        ((0.90, 0.99), (1.06, 1.10), "not reproduced"),
        # The same is ahead in both, and it may be by more than 5 % here.
        ((1.01, 1.03), (1.01, 1.10), "undecided"),
        ((0.99, 1.01), (0.96, 1.06), "undecided"),
        ((0.70, 0.80), (0.75, 0.85), "reproduced"),
        # It may be 6 % there.
        ((0.94, 0.99), (0.967, 0.971), "undecided"),
    ],
)
def test_equal_algorithms_do_not_reproduce_a_difference(
    theirs: tuple[float, float], own: tuple[float, float], verdict: str
) -> None:
    assert judge_pair(estimate(*theirs), estimate(*own), 0.001, 1.05) == verdict


def test_a_pair_that_differs_by_the_margin_is_seldom_called_equal_in_both() -> None:
    draw = np.random.default_rng(4)
    shares = {}
    for ratio in (1.05, 1.0):
        reproduced = 0
        for _ in range(1000):
            first, second = draw.normal(0, 0.01, (2, 5))
            stratum = {"is_paired": False, "first": first + math.log(ratio), "second": second}
            contrast = contrast_strata([stratum])
            own = Estimate(math.exp(contrast.effect), contrast.spread)
            reproduced += judge_pair(estimate(0.99, 1.01), own, 1.0, 1.05) == "reproduced"
        shares[ratio] = reproduced / 1000
    # The interval's upper end is below the margin in 2.5 % of the archives in which the ratio is the margin.
    assert 0.01 < shares[1.05] < 0.04
    assert shares[1.0] > 0.99


@pytest.mark.parametrize(
    ("bbr", "cubic", "verdict"),
    [
        (8, 4, "reproduced"),
        # Another is ahead; or the ratio is 8 there, and 2 here is less than half of that whatever chance did.
        (4, 8, "not reproduced"),
        (8, 1, "not reproduced"),
        # Half of 4 is just what is allowed; 1 and 1.025 cannot be told from each other there.
        (8, 2, "undecided"),
        (4, 4, "undecided"),
        (4.1, 4, "undecided"),
        # 1.15 is 1.05 to 1.26 there, and 2 here is 1.53 to 1.98 times that.
        (4.6, 4, "reproduced"),
    ],
)
def test_a_pair_is_reproduced_by_direction_and_ratio(tmp_path: Path, bbr: float, cubic: float, verdict: str) -> None:
    compared = compare(tmp_path, [published("BBR", bbr), published("CUBIC", cubic)])
    assert compared["pair_verdict"].to_list() == [verdict] * 2


def test_an_interval_too_wide_is_undecided_and_says_how_many_runs_would_tell(tmp_path: Path) -> None:
    # 20, 40, 60: relative 0.5²/3, with 2 degrees of freedom: a factor of 3.4 either way, where 1.5 is wanted.
    rates = ((1, 20.0), (2, 40.0), (3, 60.0))
    tables = gather(*(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a", nic_bps=5e7) for n, rate in rates))
    (row,) = compare(tmp_path, [published("BBR", 8)], tables).rows(named=True)
    assert (row["value_ratio"], row["cell_verdict"]) == (pytest.approx(1.0), "undecided")

    def half_width(runs: int) -> float:
        own, theirs = 0.5**2 / runs, 0.1**2 / 10
        df = (own + theirs) ** 2 / (own**2 / (2 * runs / 3) + theirs**2 / 9)
        return float(stats.t.ppf(0.975, df) * (own + theirs) ** 0.5)

    wide = math.exp(half_width(3))
    assert (row["value_low_ratio"], row["value_high_ratio"]) == pytest.approx((1 / wide, wide))
    assert row["needed_runs_count"] == next(n for n in range(3, 1000) if half_width(n) <= math.log(1.5))


@pytest.mark.parametrize("rates", [(40.0,), (30.0, 50.0)])
def test_one_and_two_runs_are_undecided(tmp_path: Path, rates: tuple[float, ...]) -> None:
    tables = gather(
        *(run(n, {"bbr": rate, "cubic": rate / 2}, rtt_ms=10.0, condition_id="a") for n, rate in enumerate(rates))
    )
    rows = [published(name, rate).replace("alone", "both") for name, rate in (("BBR", 8), ("CUBIC", 4))]
    compared = compare(tmp_path, rows, tables)
    assert compared["cell_verdict"].to_list() == ["undecided"] * 2
    assert compared["pair_verdict"].to_list() == ["undecided"] * 2
    assert compared["value_low_ratio"].is_null().all()


def test_without_the_papers_n_nothing_is_decided(tmp_path: Path) -> None:
    compared = compare(tmp_path, [published("BBR", 8), published("CUBIC", 1)], runs_count=1)
    assert compared["cell_verdict"].to_list() == ["undecided"] * 2
    assert compared["pair_verdict"].to_list() == ["undecided"] * 2


def test_without_the_papers_cv_its_runs_vary_as_these_do(tmp_path: Path) -> None:
    (row,) = compare(tmp_path, [published("BBR", 8).replace(",0.1,", ",,")]).rows(named=True)
    # 0.05²/3 with 2 and 0.05²/10 with 9 degrees of freedom.
    own, theirs = 0.05**2 / 3, 0.05**2 / 10
    df = (own + theirs) ** 2 / (own**2 / 2 + theirs**2 / 9)
    factor = math.exp(stats.t.ppf(0.975, df) * (own + theirs) ** 0.5)
    assert (row["value_low_ratio"], row["value_high_ratio"]) == pytest.approx((1 / factor, factor))


def contrast_by_hand(own: list[list[float]]) -> tuple[float, float, int]:
    """Return the ratio of the means of two algorithms in the same runs, the variance of its logarithm, its freedom."""
    means = [statistics.mean(values) for values in own]
    moved = [a / means[0] - b / means[1] for a, b in zip(*own, strict=True)]
    return means[0] / means[1], statistics.variance(moved) / len(moved), len(moved) - 1


def find_told_by_hand(pairs: list[list[list[float]]]) -> list[bool]:
    """Return which pairs are told from 1 by Holm's steps: the least p value at 0.05/n, the next at 0.05/(n-1), …"""
    p_values = []
    for own in pairs:
        ratio, variance, df = contrast_by_hand(own)
        p_values.append(2 * stats.t.sf(abs(math.log(ratio)) / variance**0.5, df))
    told = [False] * len(pairs)
    for step, place in enumerate(np.argsort(p_values)):
        if p_values[place] >= 0.05 / (len(pairs) - step):
            break
        told[place] = True
    return told


def judge_by_hand(
    published_ones: list[tuple[float, float]], own: list[list[float]], *, is_told: bool
) -> tuple[list[str], str]:
    """Return the verdicts on two cells and their pair, by other code: published (mean, CV), own rates run by run."""

    def interval(value: float, parts: list[tuple[float, float]]) -> tuple[float, float]:
        variance = sum(v for v, _ in parts)
        df = variance**2 / sum(v**2 / d for v, d in parts)
        factor = math.exp(stats.t.ppf(0.975, df) * variance**0.5)
        return value / factor, value * factor

    cells = []
    for (mean, cv), values in zip(published_ones, own, strict=True):
        rate = statistics.mean(values)
        low, high = interval(
            rate / mean, [(cv**2 / 10, 9), (statistics.variance(values) / rate**2 / len(values), len(values) - 1)]
        )
        cells.append("inconsistent" if low > 1 or high < 1 else "consistent" if high / low <= 1.5**2 else "undecided")
    there = published_ones[0][0] / published_ones[1][0]
    here, variance, df = contrast_by_hand(own)
    of_here = [(variance, df)]
    of_there = [(cv**2 / 10, 9) for _, cv in published_ones]
    pooled = sum(v for v, _ in of_there)
    as_one = [(pooled, pooled**2 / sum(v**2 / d for v, d in of_there))]
    ends = [interval(there, of_there), interval(here, of_here)]
    ahead = [1 if low > 1 else -1 if high < 1 else 0 for low, high in ends]
    are_equal = [low >= 1 / 1.05 and high <= 1.05 for low, high in ends]
    are_apart = [low > 1.05 or high < 1 / 1.05 for low, high in ends]
    low, high = interval(here / there, as_one + of_here)
    agreement = ahead[0] * ahead[1] if is_told else 0
    only_one_differs = any(are_equal) and any(are_apart)
    if agreement < 0 or low > 2 or high < 0.5 or only_one_differs:
        return cells, "not reproduced"
    if any(are_equal) and not all(are_equal):
        return cells, "undecided"
    return cells, "reproduced" if agreement > 0 and low >= 0.5 and high <= 2 else "undecided"


def test_verdicts_are_those_of_other_code(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    lines, runs, drawn = [], [], []
    for flows in range(1, 41):
        ratio, spread = draw.choice([0.4, 1.0, 1.2, 3.0]), draw.choice([0.02, 0.1, 0.3])
        mean = draw.uniform(1, 3)
        own = [[rate * float(draw.lognormal(0, spread)) for _ in range(5)] for rate in (10 * mean, 10 * mean / ratio)]
        there = [(round(mean * draw.choice([1, 1.5]), 4), 0.05), (round(mean / draw.choice([ratio, 1]), 4), 0.1)]
        drawn.append(([(5 * rate, cv) for rate, cv in there], own))
        lines += [
            f"no loss,both,{flows},{NEAR},{name},{rate},{cv},false"
            for name, (rate, cv) in zip(("BBR", "CUBIC"), there, strict=True)
        ]
        runs += [
            run(
                100 * flows + n,
                {"bbr": one, "cubic": other},
                rtt_ms=10.0,
                condition_id=f"c{flows}",
                nic_bps=5e7,
                flows_count=flows,
            )
            for n, (one, other) in enumerate(zip(*own, strict=True))
        ]
    told = find_told_by_hand([own for _, own in drawn])
    expected = [judge_by_hand(*pair, is_told=is_told) for pair, is_told in zip(drawn, told, strict=True)]
    compared = compare(tmp_path, lines, gather(*runs))
    assert compared["cell_verdict"].to_list() == [verdict for cells, _ in expected for verdict in cells]
    assert compared["pair_verdict"].to_list() == [pair for _, pair in expected for _ in (0, 1)]
    assert set(compared["cell_verdict"]) == {"consistent", "inconsistent", "undecided"}
    assert set(compared["pair_verdict"]) == {"reproduced", "not reproduced", "undecided"}


def test_no_pair_of_two_equal_algorithms_is_reproduced(tmp_path: Path) -> None:
    draw = np.random.default_rng(4)
    lines, runs = [], []
    for flows in range(1, 61):
        for name in ("BBR", "CUBIC"):
            drawn = draw.normal(5, 0.5, 10)
            rate, cv = float(drawn.mean()), float(drawn.std(ddof=1) / drawn.mean())
            lines.append(f"no loss,both,{flows},{NEAR},{name},{rate},{cv},false")
        runs += [
            run(
                100 * flows + n,
                {"bbr": float(one), "cubic": float(other)},
                rtt_ms=10.0,
                condition_id=f"c{flows}",
                nic_bps=5e7,
                flows_count=flows,
            )
            for n, (one, other) in enumerate(draw.normal(25, 2.5, (5, 2)))
        ]
    compared = compare(tmp_path, lines, gather(*runs))
    assert "reproduced" not in compared["pair_verdict"].to_list()
    # The rates are the same, so at most one in twenty cells should differ; 6 of 120 are expected.
    assert compared.filter(cell_verdict="inconsistent").height <= 10


def test_what_this_archive_lacks_is_missing(tmp_path: Path) -> None:
    rows = [published(name, rate, group="1 % loss") for name, rate in (("BBR", 8), ("CUBIC", 4))]
    compared = compare(tmp_path, [*rows, published("BBR", 8)])
    assert compared["cell_state"].to_list() == ["missing", "missing", "compared"]
    assert compared["rate_mean_bps"].to_list() == [None, None, pytest.approx(40e6)]
    assert compared["pair_verdict"].is_null().all()


def test_a_suspect_row_says_so(tmp_path: Path) -> None:
    compared = compare(tmp_path, [published("BBR", 8, suspect="true"), published("CUBIC", 4)])
    assert compared["cell_state"].to_list() == ["suspect", "compared"]


def test_a_suspect_pair_is_not_one_of_the_tests_that_are_corrected_for(tmp_path: Path) -> None:
    lossy = [
        published(name, rate, group="1 % loss", suspect="true" if name == "BBR" else "false")
        for name, rate in (("BBR", 8), ("CUBIC", 4))
    ]
    tables = gather(
        ALONE,
        *(
            run(10 + n, {name: rate}, rtt_ms=10.0, condition_id=name, nic_bps=5e7, loss_pct=1.0)
            for name, rates in (("bbr", (38.0, 40.0, 42.0)), ("cubic", (19.0, 20.0, 21.0)))
            for n, rate in enumerate(rates, 0 if name == "bbr" else 5)
        ),
    )
    compared = compare(tmp_path, [published("BBR", 8), published("CUBIC", 4), *lossy], tables)
    assert compared["cell_state"].to_list() == ["compared", "compared", "suspect", "compared"]
    # Of one test the corrected p value is its own: t is ln 2 over 0.0408248, with 4 degrees of freedom.
    p_ratio = 2 * stats.t.sf(math.log(2) / 0.0408248, 4)
    assert compared["pair_p_holm_ratio"].to_list() == [pytest.approx(p_ratio, rel=1e-3)] * 2 + [None] * 2
    assert compared["pair_verdict"].to_list() == ["reproduced"] * 2 + [None] * 2
    # What was measured is shown.
    assert compared["pair_ratio"].to_list() == pytest.approx([2.0] * 4)


def test_without_a_line_rate_the_rates_compare_as_they_are(tmp_path: Path) -> None:
    tables = gather(*(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a") for n, rate in ((1, 30.0), (2, 50.0))))
    compared = compare(tmp_path, [published("BBR", 0.08)], tables)
    assert compared.select("share_ratio", "line_rate_bps").row(0) == (None, None)
    assert compared["value_ratio"].to_list() == pytest.approx([0.5])


def test_runs_of_several_line_rates_have_none(tmp_path: Path) -> None:
    tables = gather(*(run(n, {"bbr": 9.0}, rtt_ms=10.0, condition_id="a", nic_bps=n * 1e7) for n in (1, 2)))
    assert compare(tmp_path, [published("BBR", 8)], tables)["line_rate_bps"].to_list() == [None]


@pytest.mark.slow
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
        match="dimensionless",
        scale={"column": "buffer_bytes", "bdp_bytes": 110_000_000},
    )
    assert compared["cell_state"].to_list() == ["compared", "missing"]
    assert compared["buffer_bytes"].to_list() == [11_000_000, 64_000_000]
    assert compared["matched_buffer_bytes"].to_list() == [25_000, None]
    assert compared["expected_bdp_ratio"].to_list() == pytest.approx([0.1, 64 / 110])
    assert compared["matched_bdp_ratio"].to_list() == [pytest.approx(0.1), None]


@pytest.mark.parametrize(("size", "matched"), [(100, 100), (140, 100), (150, 200), (300, 200), (301, None), (66, None)])
def test_the_nearest_size_is_within_a_factor_of_1_5(size: int, matched: int | None) -> None:
    # The two bandwidth-delay products are the same, so sizes compare as they are; 141.4 is as far from 100 as from 200.
    assert match([(size, "both", 16, "BBR")], [100, 200]) == [matched and (matched, "both", 16, "BBR")]
    assert match([(size, "both", 8, "BBR")], [100, 200]) == [None]


def test_no_size_here_stands_for_two_published_ones() -> None:
    # 110 is nearer to 100 than 90 is, so 90 has none, though within the factor; 180 has its own.
    keys = [(size, "both", 16, name) for size in (90, 110, 180) for name in ("BBR", "CUBIC")]
    names = ("BBR", "CUBIC")
    assert match(keys, [101, 200]) == [
        *(None, None),
        *((101, "both", 16, name) for name in names),
        *((200, "both", 16, name) for name in names),
    ]
    # Where 110 has a nearer one, 90 has this.
    assert match(keys[:4], [101, 111]) == [(size, "both", 16, name) for size in (101, 111) for name in names]


def match(keys: list[tuple[Any, ...]], own: list[int]) -> list[tuple[Any, ...] | None]:
    """Return the keys here that published keys match, sizes being their first part and as large in both archives."""
    rows = {(size, "both", 16, name): {"bdp_bytes": 1000.0} for size in own for name in ("BBR", "CUBIC")}
    found = match_by_scale(keys, rows, Scale("buffer_bytes", 0, within_factor=1.5, bdp_bytes=1000))
    return [found[key].key for key in keys]


LOSSES = {"0.001 % loss": 0.001, "0.01 % loss": 0.01, "0.1 % loss": 0.1}
LOSS_SCALE = {"column": "test_group", "loss_pct": LOSSES, "rtt_ms": {NEAR: 10}, "mss_bytes": 1250}


def make_lossy(number: int, loss_pct: float, rates: dict[str, float], **facts: Any) -> dict[str, list[dict[str, Any]]]:
    """Return a run over 100 Mbit/s and 10 ms with segments of 1,250 bytes: 100 of them fill the path."""
    path = {"rtt_ms": 10.0, "nic_bps": 1e8, "mss_bytes": 1250, "condition_id": f"l{loss_pct}"}
    return run(number, rates, loss_pct=loss_pct, **path | facts)


def published_lossy(*groups: str) -> list[str]:
    return [published(name, rate, group=group) for group in groups for name, rate in (("BBR", 8), ("CUBIC", 4))]


def of_both(first: int, loss_pct: float, bbr: float, cubic: float) -> list[dict[str, list[dict[str, Any]]]]:
    """Return three runs of each of two algorithms alone."""
    rates = [{name: rate * factor} for name, rate in (("bbr", bbr), ("cubic", cubic)) for factor in (0.95, 1.0, 1.05)]
    return [make_lossy(first + n, loss_pct, one, condition_id=f"{loss_pct}{[*one]}") for n, one in enumerate(rates)]


def test_losses_match_by_the_window_that_they_leave(tmp_path: Path) -> None:
    # There 10 Gbit/s over 10 ms are 10,000 segments: p · BDP² is 1000, 10,000 and 100,000. Here 100 segments fill the
    # path, so 10 % bites as 0.001 % does there.
    tables = gather(*of_both(1, 10.0, 80.0, 40.0), *of_both(11, 0.1, 90.0, 90.0))
    compared = compare(tmp_path, published_lossy(*LOSSES), tables, match="dimensionless", scale=LOSS_SCALE)
    assert compared["test_group"].to_list() == [name for name in LOSSES for _ in (0, 1)]
    assert compared["expected_loss_window_ratio"].to_list() == pytest.approx([1e3, 1e3, 1e4, 1e4, 1e5, 1e5])
    # 10 % of 100²: 1000; 0.1 %: 10.
    assert compared["matched_test_group"].to_list() == ["10 % loss"] * 2 + [None] * 4
    assert compared["matched_loss_window_ratio"].to_list() == [pytest.approx(1000.0)] * 2 + [None] * 4
    assert compared["cell_state"].to_list() == ["compared"] * 2 + ["missing"] * 4
    assert compared["pair_verdict"].to_list() == ["reproduced"] * 2 + [None] * 4
    # By name it is 0.1 % there with 0.1 % here, where nothing is ahead.
    assert compared["other_pair_verdict"].to_list() == [None] * 4 + ["undecided"] * 2


def test_by_name_the_numbers_are_those_of_the_same_cell(tmp_path: Path) -> None:
    tables = gather(*of_both(1, 10.0, 80.0, 40.0), *of_both(11, 0.1, 90.0, 90.0))
    compared = compare(tmp_path, published_lossy(*LOSSES), tables, scale=LOSS_SCALE)
    assert compared["match"].unique().to_list() == ["name"]
    assert compared["cell_state"].to_list() == ["missing"] * 4 + ["compared"] * 2
    assert compared["matched_loss_window_ratio"].to_list() == [None] * 4 + [pytest.approx(10.0)] * 2
    assert compared["other_pair_verdict"].to_list() == ["reproduced"] * 2 + [None] * 4


def test_cells_without_loss_go_by_name(tmp_path: Path) -> None:
    tables = gather(*of_both(1, 0.0, 80.0, 40.0))
    compared = compare(tmp_path, published_lossy("no loss"), tables, match="dimensionless", scale=LOSS_SCALE)
    assert compared["cell_state"].to_list() == ["compared"] * 2
    assert compared["expected_loss_window_ratio"].is_null().all()
    assert compared["other_pair_verdict"].to_list() == compared["pair_verdict"].to_list()


def test_no_loss_here_stands_for_two_published_ones() -> None:
    scale = Scale(
        "test_group", 0, within_factor=1.5, loss_pct={"a": 1.0, "b": 2.0}, rtt_ms={NEAR: 10}, bucket_place=1,
        line_rate_bps=1e8, mss_bytes=1250,
    )  # fmt: skip
    keys = [(name, NEAR, algorithm) for name in ("a", "b") for algorithm in ("BBR", "CUBIC")]
    # 1 % and 2 % there are 100 and 200, here it is 150: nearer to 200, and within 1.5² of both.
    rows = {("c", NEAR, algorithm): {"loss_window_ratio": 150.0} for algorithm in ("BBR", "CUBIC")}
    found = match_by_scale(keys, rows, scale)
    assert [found[key].key for key in keys] == [None, None, ("c", NEAR, "BBR"), ("c", NEAR, "CUBIC")]
    # 1.5² apart they match, beyond they do not.
    for number, matches in ((100 * 1.5**2, True), (101 * 1.5**2, False)):
        near = match_by_scale(keys[:2], {key: {"loss_window_ratio": number} for key in rows}, scale)
        assert (near[keys[0]].key is not None) is matches


@pytest.mark.slow
def test_two_archives_compare_by_the_intervals_of_both(tmp_path: Path) -> None:
    # BBR 39, 41, 43 there: 41, which may be 40. CUBIC 30, 31, 32 there, and 19, 20, 21 here.
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
    assert compared["cell_verdict"].to_list() == ["consistent", "inconsistent", None, None]
    # The ratio is 1.32 there and 2 here.
    assert compared["pair_verdict"].to_list() == ["reproduced", "reproduced", None, None]


@pytest.mark.slow
def test_two_builds_without_a_common_cell_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    far = gather(run(7, {"cubic": 9.0}, rtt_ms=80.0, condition_id="c"))
    summarise("table_2_testbed", build_database(tmp_path / "there", far))
    compared = compare(tmp_path / "here", [], ALONE, other=[tmp_path / "there/table_2_testbed.parquet"])
    assert set(compared["cell_state"]) == {"missing", "added"}
    assert "warning: compare_with: its tables and this build's have no cell in common" in capsys.readouterr().out


@pytest.mark.slow
def test_two_builds_compare_by_means_of_their_own_conditions(tmp_path: Path) -> None:
    # Over 10 ms BBR has 40 here and 41 there; only here there is a run with loss.
    folders = [tmp_path / "there", tmp_path / "here"]
    for folder, rates in zip(folders, ((39.0, 41.0, 43.0), (38.0, 40.0, 42.0)), strict=True):
        folder.mkdir()
        runs = [run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a") for n, rate in enumerate(rates, 1)]
        if folder == folders[1]:
            runs.append(run(4, {"cubic": 7.0}, rtt_ms=80.0, loss_pct=0.1, condition_id="b"))
        summarise("means", build_database(folder, gather(*runs), GENERIC), GENERIC)
    parquet, csv = tmp_path / "reproduction.parquet", tmp_path / "reproduction.csv"
    there, here = folders
    compare_tables(GENERIC, here / "archive.duckdb", here, [there / "means.parquet"], parquet, csv)
    compared = read_table("reproduction", [parquet])
    near, far = "RTT 10–20 ms, 0 % loss", "RTT 50–100 ms, 0.1 % loss"
    assert compared.select("cell", "algorithm", "cell_state").rows() == [
        (f"10.0.0.2, {near}, 16 flows, alone", "BBR", "compared"),
        (f"10.0.0.2, {far}, 16 flows, alone", "CUBIC", "added"),
    ]
    assert compared["value_ratio"][0] == pytest.approx(40 / 41)


@pytest.mark.slow
def test_pairs_of_two_builds_are_of_the_first_algorithms_that_both_have(tmp_path: Path) -> None:
    # The evaluation lists BBR first, of which neither has a run; cells have the names of questions, without raw units.
    folders = [tmp_path / "there", tmp_path / "here"]
    for folder in folders:
        folder.mkdir()
        runs = [
            run(10 * place + n, {cc: rate + n}, condition_id=cc, pacing_bps=9.9e9, loss_pct=0.001)
            for place, (cc, rate) in enumerate((("bbr2", 40.0), ("cubic", 20.0)))
            for n in (1, 2, 3)
        ]
        database = build_database(folder, gather(*runs), GENERIC)
        for table in ("means", "comparisons"):
            summarise(table, database, GENERIC)
    parquet, csv = tmp_path / "reproduction.parquet", tmp_path / "reproduction.csv"
    there, here = folders
    compare_tables(GENERIC, here / "archive.duckdb", here, [there / "means.parquet"], parquet, csv)
    compared = read_table("reproduction", [parquet])
    assert compared["algorithm"].to_list() == ["BBRv2", "CUBIC"]
    assert compared["pair_ratio"].to_list() == pytest.approx([42 / 22] * 2)
    assert compared["pair_verdict"].to_list() == ["reproduced"] * 2
    (cell,) = set(compared["cell"])
    assert cell.endswith("0.001 % loss, paced to 9.9 Gbit/s, 16 flows, alone")
    assert {cell} == set(read_table("comparisons", [here / "comparisons.parquet"])["question"])


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
        (["test_group,algorithm,mean_gbps"], "; add sharing, "),
        (["test_group,algorithm,mean_gbits"], "line 1: `mean_gbits` is not a column; did you mean `mean_gbps`?"),
        ([HEADER.replace(",", ";")], "line 1: its fields are parted by semicolons; write commas, and decimal points"),
        ([HEADER.replace(",", "\t")], "line 1: its fields are parted by tabs; write commas, and decimal points"),
        ([f"{HEADER},cv"], ", each once"),
        ([], "line 1: it is empty; the first line names the columns: test_group,sharing,"),
        ([HEADER, "no loss,alone,16"], "line 2: it has 3 fields, and the first line 8"),
        ([HEADER, f"{published('BBR', 8)},more"], "line 2: it has 9 fields, and the first line 8"),
        (
            [HEADER, published("BBR", 8).replace(",8,", ",8,25,")],
            "9 fields, and the first line 8; write 8.25, not 8,25",
        ),
        ([HEADER, published("BBR", 8.5).replace("0.1", "0,1")], "9 fields, and the first line 8; write 0.1, not 0,1"),
        ([HEADER, published("BBR", 8).replace("0.1", "0,1")], "the first line 8; write decimal points, as in 9.5"),
        ([HEADER, published("BBR", 8).replace(",8,", ',"8,25",')], "'8,25', not a number of at least 0; write 8.25"),
        ([HEADER, published("BBR", 8), published("BBRv2", 8)], "line 3: algorithm is 'BBRv2'; did you mean `BBR`?"),
        ([HEADER, published("BBR", 8).replace(NEAR, "RTT <30")], "line 2: rtt_bucket is 'RTT <30'"),
        ([HEADER, published("BBR", 8).replace("alone", "lone")], "line 2: sharing is 'lone', not one of alone, both"),
        ([HEADER, published("BBR", 8).replace("16", "many")], "'many', not a whole number; write digits"),
        ([HEADER, published("BBR", 8).replace("no loss", "")], "line 2: test_group is ''"),
        ([HEADER, published("BBR", float("nan"))], "line 2: mean_gbps is 'nan', not a number of at least 0"),
        ([HEADER, published("BBR", -1)], "line 2: mean_gbps is '-1', not a number of at least 0"),
        ([HEADER, published("BBR", 8).replace(",8,", ",8500 Mbit/s,")], "not a number of at least 0; write 8.5"),
        ([HEADER, published("BBR", 8).replace("0.1", "3 %")], "cv is '3 %', not a number of at least 0; write 0.03"),
        (
            [HEADER, published("BBR", 8).replace("0.1", "small")],
            "not a number of at least 0; write digits, such as 0.03",
        ),
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


def test_published_values_in_another_encoding_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "paper.csv"
    path.write_bytes(f"{HEADER}\n".encode() + "größer".encode("latin-1"))
    with pytest.raises(InputError, match=r"paper\.csv: it is not UTF-8 text; save it as UTF-8$"):
        read_expected(path, "table_2_testbed", ALLOWED)


def test_a_misspelt_label_of_a_published_row_is_refused(tmp_path: Path) -> None:
    labels = {"test_group": {"cases": [{"value": "no loss", "when": "loss_pct = 0"}], "otherwise": "'others'"}}
    declared = {"title": "a", "algorithms": {"BBR": {"members": ["bbr"]}}, "labels": labels}
    declared |= {"tables": {"table_2_testbed": {"title": "b", "rows": ["test_group"], "columns": ["algorithm"]}}}
    declared |= {"reproduction": {"table_2_testbed": {"expected": "paper.csv", "line_rate_bps": 10_000_000_000}}}
    write_yaml(tmp_path / "mine.yaml", declared)
    (tmp_path / "paper.csv").write_text("\n".join([HEADER, published("BBR", 8, group="no los")]), encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: test_group is 'no los'; did you mean `no loss`\?$"):
        read_published(tmp_path / "mine.yaml")


def test_a_published_rate_in_bits_is_refused(tmp_path: Path) -> None:
    told = "paper.csv, line 3: mean_gbps is 8e+09, and the line rate 10 Gbit/s; write Gbit/s, as the column's name says"
    with pytest.raises(InputError) as caught:
        compare(tmp_path, [published("CUBIC", 4), published("BBR", 8e9)])
    assert str(caught.value).endswith(told)


def test_a_published_name_that_looks_misspelt_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [published(name, 8, group=group) for name in ("BBR", "CUBIC") for group in ("no los", "10 % loss")]
    compared = compare(tmp_path, rows)
    assert set(compared["cell_state"]) == {"missing"}
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning")]
    shown = f"{tmp_path}/paper.csv"
    assert said == [f"warning: {shown}: no cell here has test_group = 'no los'; did you mean `no loss`?"]


def test_a_file_of_published_values_without_rows_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path, []).is_empty()
    assert (
        f"warning: {tmp_path}/paper.csv has no rows: nothing published is compared with table_2"
        in capsys.readouterr().out
    )


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


@pytest.mark.parametrize(
    ("table", "line_rate_bps", "said"),
    [
        ("means", 1e10, "reproduction: `means` cannot be compared with published values"),
        (
            "table_2_testbed",
            10,
            "reproduction.table_2_testbed.line_rate_bps: 10 bit/s; write 10_000_000_000 for 10 Gbit/s",
        ),
    ],
)
def test_a_reproduction_is_of_named_cells_and_a_line_rate(
    tmp_path: Path, table: str, line_rate_bps: float, said: str
) -> None:
    declared = load_yaml(EVALUATION)
    declared["tables"]["means"] = {"title": "Means", "rows": ["loss_pct"], "columns": ["algorithm"]}
    (tmp_path / "paper.csv").touch()
    declared["reproduction"] = {table: {"expected": "paper.csv", "line_rate_bps": line_rate_bps}}
    path = tmp_path / "e.yaml"
    write_yaml(path, declared)
    with pytest.raises(DeclarationError) as caught:
        load_evaluation(path)
    assert said in str(caught.value)


def test_the_documented_example_of_published_numbers_works(tmp_path: Path) -> None:
    page = (ROOT / "reports/evaluations.qmd").read_text(encoding="utf-8")
    whole, added, *_ = (
        yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    )
    (values,) = re.findall(r"^```\n(test_group,.*?)^```", page, re.MULTILINE | re.DOTALL)
    for part in ("labels", "tables"):
        whole[part] |= added.pop(part)
    path = tmp_path / "satellites.yaml"
    write_yaml(path, whole | added)
    (tmp_path / "satellites").mkdir()
    (tmp_path / "satellites/table_2.csv").write_text(values, encoding="utf-8")
    load_evaluation(path, looks_up=True)
    cells = read_published(path)["table_2_testbed"]
    assert [(cell.key[-2:], cell.rate_bps, cell.cv) for cell in cells] == [
        (("RTT < 30 ms", "CUBIC"), 0.88e9, 0.03),
        (("RTT < 30 ms", "Reno"), 0.86e9, None),
    ]
    with open_without_rows(path) as connection:
        check_sql(connection, path)
        check_label_values(connection, path)


def test_the_documented_columns_of_published_numbers_are_those_of_the_tables() -> None:
    page = (ROOT / "reports/evaluations.qmd").read_text(encoding="utf-8")
    said = page.partition("All three tables have the columns ")[2].partition(": whichever of them")[0]
    of_all, *own = (re.findall(r"`(\w+)`", part) for part in re.split("; the first|, the second|, the third", said))
    of_all = [name for name in of_all if name not in ("alone", "both")]
    tables = ("table_1_buffer_size", "table_2_testbed", "table_3_paths")
    assert [{*of_all, *columns} for columns in own] == [{*load_schema(table).key} for table in tables]


def test_a_reproduction_is_of_a_table_that_there_is(tmp_path: Path) -> None:
    declared = load_yaml(EVALUATION)
    declared["reproduction"]["table_9"] = {"expected": "x.csv", "line_rate_bps": 1}
    path = tmp_path / "e.yaml"
    write_yaml(path, declared)
    with pytest.raises(DeclarationError, match=r"reproduction: no table `table_9`; did you mean `table_"):
        load_evaluation(path)


def test_a_folder_in_place_of_published_values_is_told(tmp_path: Path) -> None:
    declared = load_yaml(EVALUATION)
    declared["reproduction"]["table_2_testbed"]["expected"] = "paper"
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper/one.csv").touch()
    path = tmp_path / "e.yaml"
    write_yaml(path, declared | {"reproduction": {"table_2_testbed": declared["reproduction"]["table_2_testbed"]}})
    with pytest.raises(DeclarationError, match=r"expected: .*paper is a folder; name a file.*paper/one\.csv$"):
        load_evaluation(path, looks_up=True)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "column: test_group",
            "column: test_grop",
            "no column `test_grop` tells cells apart; did you mean `test_group`?",
        ),
        ("{RTT < 30 ms: 10", "{RTT < 10 ms: 10", "no bucket is called `RTT < 10 ms`; did you mean `RTT < 30 ms`?"),
        (
            "{0.001 % loss: ",
            "{0.001 % los: ",
            "no published cell has test_group = '0.001 % los'; did you mean `0.001 % loss`",
        ),
        ("scale: {column: buffer_bytes, bdp_bytes: 110_000_000}", "", "`match: dimensionless` needs `scale`, which "),
    ],
)
def test_a_scale_names_what_there_is(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = EVALUATION.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / "e.yaml"
    path.write_text(text.replace("expected: ", f"expected: {EVALUATION.parent}/").replace(old, new), encoding="utf-8")
    with pytest.raises(DeclarationError, match=rf"e\.yaml:\d+: reproduction\.table_\w+.*: {re.escape(said)}"):
        raise_fault(path)


def raise_fault(evaluation: Path) -> None:
    load_evaluation(evaluation, looks_up=True)
    read_published(evaluation)


def test_a_cv_is_a_ratio(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "paper.csv"
    path.write_text(f"{HEADER}\n{published('BBR', 8, cv=3)}\n")
    with pytest.raises(InputError, match=r"line 2: cv is 3, and that of 5 runs at most 2\.24; .* write 0\.03 for 3 %$"):
        read_expected(path, "table_2_testbed", ALLOWED, runs_count=5)
    compare(tmp_path, [published("BBR", 8, cv=3)])
    assert "paper.csv: a cv is 3, which few rates have; it is a ratio: 0.03 is 3 %" in capsys.readouterr().out


def test_an_archive_without_the_cells_has_them_missing(tmp_path: Path) -> None:
    compared = compare(tmp_path, [published("BBR", 8)], {})
    assert compared["cell_state"].to_list() == ["missing"]


def test_one_algorithm_alone_makes_no_pair() -> None:
    row = {"table_name": "t", "cell": "c", "algorithm": "BBR", "expected_bps": 1.0, "rate_mean_bps": 1.0}
    cells = Cells("table_2_testbed", {}, {}, 1.05)
    assert mark_pairs([Compared(row)], ["BBR", "CUBIC"], cells) == [row]
    assert mark_pairs([Compared(row)], ["BBR"], cells) == [row]


@pytest.mark.parametrize(
    ("theirs", "own", "factor", "why"),
    [
        ((0.4, 0.6), (2.0, 3.0), (3.0, 6.0), "the other algorithm is ahead"),
        ((4.0, 6.0), (1.1, 1.3), (0.2, 0.3), "beyond a factor of 2"),
        ((0.4, 0.6), (0.96, 0.98), (1.7, 2.2), "equal in one only"),
    ],
)
def test_a_pair_that_is_not_reproduced_says_which_rule_it_breaks(
    theirs: tuple[float, float], own: tuple[float, float], factor: tuple[float, float], why: str
) -> None:
    ends = {"expected_": theirs, "": own, "factor_": factor}
    row = {f"pair_{what}low_ratio": low for what, (low, _) in ends.items()}
    row |= {f"pair_{what}high_ratio": high for what, (_, high) in ends.items()}
    assert explain_pair(row | {"pair_verdict": "not reproduced"}) == why
    assert explain_pair(row | {"pair_verdict": "reproduced"}) == ""
