"""What the comparison of algorithms says of archives of harness files in which the truth is known."""

import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from archives import ROOT, summarise_one, write_yaml
from drawn_archive import Drawing, build_drawn

from ccreport.compare.expected import Expected, read_expected
from ccreport.compare.pairs import Cells, Compared, mark_pairs
from ccreport.compare.reproduction import compare_tables
from ccreport.compare.verdicts import spread_published
from ccreport.core.declarations import load_yaml
from ccreport.core.tables import read_table
from ccreport.summarise.statistics.contrasts import contrast_strata

ESNET = ROOT / "evaluations/esnet-dtn.yaml"
TABLE = "table_2_testbed"
MARGIN = 1.05
# Loss in % and RTT in ms: the eight pairs of single flows of the paper's Table II.
PATHS = tuple(product((0.0, 0.001, 0.01, 0.1), (10.0, 60.0)))


def compare(drawing: Drawing, folder: Path, evaluation: Path) -> pl.DataFrame:
    """Return the table of comparisons of a drawn archive, with `is_different`."""
    database = build_drawn(drawing, folder, evaluation)
    summarise_one("comparisons", evaluation, database, folder)
    compared = read_table("comparisons", [folder / "comparisons.parquet"])
    return compared.with_columns(is_different=pl.col("ahead_algorithm").is_not_null())


@pytest.mark.slow
def test_an_algorithm_does_not_differ_from_itself(tmp_path: Path) -> None:
    drawing = Drawing({"bbr2": 1, "cubic": 1}, dict.fromkeys(PATHS, 5), cv=0.1, seed=1)
    compared = compare(drawing, tmp_path, ESNET)
    assert compared["measure"].value_counts().sort("measure").rows() == [("goodput_bps", 8), ("retransmit_ratio", 8)]
    assert compared["p_ratio"].null_count() == 0
    assert compared["is_different"].mean() <= 0.05
    for table in (TABLE, "table_1_buffer_size", "table_3_paths"):
        summarise_one(table, ESNET, tmp_path / "archive.duckdb", tmp_path)
    compare_tables(ESNET, tmp_path / "archive.duckdb", tmp_path, [], tmp_path / "r.parquet", tmp_path / "r.csv")
    pairs = read_table("reproduction", [tmp_path / "r.parquet"]).filter(pl.col("pair_low_ratio").is_not_null())
    assert pairs.height == 2 * len(PATHS)
    assert "reproduced" not in pairs["pair_verdict"].to_list()


def _describe(cell: Expected) -> dict[str, Any]:
    *names, algorithm = cell.key
    return {"cell": str(names), "algorithm": algorithm, "expected_bps": cell.rate_bps, "rate_mean_bps": 1.0}


@pytest.mark.slow
def test_an_algorithm_beside_itself_seldom_reproduces_any_published_difference() -> None:
    expected = read_expected(ROOT / "evaluations/esnet-dtn" / f"{TABLE}.csv", TABLE, {}, 10)
    published = [
        Compared(_describe(cell), spread_published(cell.cv, 10), cell.key) for cell in expected if cell.cv is not None
    ]
    draw = np.random.default_rng(5)
    archives = 150
    count = 0
    for _ in range(archives):
        contrasts = {
            cell.row["cell"]: contrast_strata([{"is_paired": False, "first": first, "second": second}])
            for cell in published
            for first, second in [draw.normal(0, 0.05, (2, 5))]
            if cell.row["algorithm"] == "BBR"
        }
        rows = [
            replace(cell, row=cell.row | {"rate_mean_bps": math.exp(contrasts[cell.row["cell"]].effect)})
            if cell.row["algorithm"] == "BBR"
            else cell
            for cell in published
        ]
        spreads = {cell.own_key[:-1]: contrasts[cell.row["cell"]].spread for cell in published if cell.own_key}
        marked = mark_pairs(rows, ["BBR", "CUBIC"], Cells(TABLE, {}, spreads, MARGIN))
        # Where the paper's algorithms are equal, too, the pair is reproduced rightly.
        count += any(
            row["pair_verdict"] == "reproduced"
            and (row["pair_expected_low_ratio"] < 1 / MARGIN or row["pair_expected_high_ratio"] > MARGIN)
            for row in marked
        )
    # Without the correction it is 0.023.
    assert count / archives < 0.01


@pytest.mark.slow
def test_a_difference_is_found_with_the_runs_that_the_page_asks_for(tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml") | {"equal_within_pct": 8}
    evaluation = tmp_path / "generic.yaml"
    write_yaml(evaluation, declared)
    factors = {"bbr2": 1.08, "cubic": 1}
    folders = [tmp_path / "pilot", tmp_path / "planned"]
    for folder in folders:
        folder.mkdir()
    # In the order of the questions.
    paths = [(loss_pct, rtt_ms) for rtt_ms in (10.0, 60.0) for loss_pct in (0.0, 0.001)]
    pilot = compare(Drawing(factors, dict.fromkeys(paths, 4), cv=0.04, seed=2), folders[0], evaluation)
    rates = pilot.filter(measure="goodput_bps")
    assert rates.height == 4
    needed = dict(zip(paths, rates["runs_to_show_count"], strict=True))
    assert min(needed.values()) > 4
    planned = compare(Drawing(factors, needed, cv=0.04, seed=3), folders[1], evaluation).filter(measure="goodput_bps")
    assert dict(zip(paths, planned["first_runs_count"], strict=True)) == needed
    # Each is found with a probability of about 0.8.
    assert planned["is_different"].sum() >= 3
    assert set(planned["ahead_algorithm"].drop_nulls()) == {"BBRv2"}
