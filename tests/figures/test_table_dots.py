"""Dots of published tables: cells as the table has them, their rows named by what tells them apart."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from ccreport.figures.conditions.table_dots import RETRANSMITS as MEASURE
from ccreport.figures.conditions.table_dots import _describe_largest_gap, _explain_bare, build_table_dots
from ccreport.figures.kit.theme import call_algorithms, style_of
from ccreport.figures.select.declaration import FigureDeclaration, FigureError, declare_figure
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database

# The sender's speed follows from the test, and is in no name.
CELLS = """
    CREATE TABLE retransmits AS FROM (VALUES
        ('10g', 'fast', 1, 'CUBIC', 5, 2e-2, 1e-2, 3e-2),
        ('10g', 'fast', 1, 'BBR', 5, 0e0, 0e0, 0e0),
        ('50m', 'no loss', 16, 'CUBIC', 2, 1e-3, NULL, NULL),
        ('50m', 'no loss', 1, 'BBR', 5, 5e-2, 4e-2, 6e-2),
        ('50m', 'no loss', 1, 'CUBIC', 2, NULL, NULL, NULL)
    ) AS rows (sender_speed, test_group, flows_count, algorithm, runs_count, {names})
"""
RETRANSMITS = "retransmit_mean_ratio, retransmit_low_ratio, retransmit_high_ratio"


STRATUM = """
    host, rtt_source, rtt_ms, loss_pct, loss_pattern, nic_bps, pacing_bps, bottleneck_bps, background_udp_bps,
    parameter_name, parameter_value, buffer_bytes, volume_bytes, flows_count, sharing, beside
"""


def add_runs(connection: duckdb.DuckDBPyConnection, table: str, pacing: str = "NULL::DOUBLE") -> None:
    """Add a run to each cell of a table, paced as an expression says, and else under the same conditions."""
    connection.execute(f"CREATE TABLE {table}_runs AS SELECT *, row_number() OVER () AS run_id FROM {table}")
    nothing = ", ".join(f"NULL AS {name.strip()}" for name in STRATUM.split(",") if "pacing" not in name)
    connection.execute(
        f"CREATE TABLE all_algorithm_runs AS SELECT run_id, {pacing} AS pacing_bps, {nothing} FROM {table}_runs"
    )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "archive.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(CELLS.format(names=RETRANSMITS))
        add_runs(connection, "retransmits")
        connection.execute(
            "CREATE TABLE algorithms AS FROM (VALUES ('bbr2', 'BBR'), ('cubic', 'CUBIC')) t(cc, algorithm)"
        )
    return path


def declare(**changes: Any) -> FigureDeclaration:
    facts: dict[str, Any] = {
        "name": "f",
        "kind": "table_dots",
        "title": "Dots",
        "overlapped": True,
        "where": "TRUE",
        "table": "retransmits",
    }
    return FigureDeclaration(**(facts | changes))


def test_cells_with_a_mean_are_drawn_as_the_table_has_them(database: Path) -> None:
    with Database(database) as opened:
        figure = build_table_dots(declare(), opened)
    assert figure.data.select("test_group", "flows_count", "algorithm", "retransmit_mean_ratio").rows() == [
        ("fast", 1, "CUBIC", 0.02),
        ("fast", 1, "BBR", 0.0),
        ("no loss", 16, "CUBIC", 0.001),
        ("no loss", 1, "BBR", 0.05),
    ]
    assert "sender_speed" not in figure.data.columns
    # The version that goes by the name of its group has its own colour.
    assert style_of("bbr2").colour in figure.chart.to_json(validate=False)
    assert style_of("bbr").colour not in figure.chart.to_json(validate=False)
    # 0.02 is 2 %; the one of 0 has no place on a log axis.
    assert "CUBIC 2.00, BBRv2 0 %" in figure.alternative
    assert "A mark at 0: no segment was retransmitted." in figure.caption


def test_rows_have_labels_as_their_own_label_shows_them(database: Path) -> None:
    shown = {"test_group": {"fast": "Unpaced", "no loss": "Clean"}, "sender_speed": {"no loss": "Others"}}
    with Database(database) as opened:
        figure = build_table_dots(declare(shown=shown), opened)
    assert "Unpaced, 1 flow: CUBIC 2.00" in figure.alternative
    assert "Clean, 16 flows: CUBIC 0.100" in figure.alternative
    assert {*figure.data["test_group"]} == {"fast", "no loss"}


def test_each_dot_is_its_algorithms_where_another_usually_has_its_name(database: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE retransmits SET algorithm = 'bbr' WHERE algorithm = 'CUBIC'")
        connection.execute("UPDATE algorithms SET cc = 'bbr', algorithm = 'bbr' WHERE cc = 'cubic'")
    with Database(database) as opened, call_algorithms({"bbr2": "BBR"}):
        figure = build_table_dots(declare(), opened)
    layers = figure.chart.to_dict(validate=False)["vconcat"][1]["layer"]
    drawn = [layer["mark"]["color"] for layer in layers if layer["mark"].get("type") == "point"]
    assert drawn == [style_of("bbr").colour, style_of("bbr2").colour]
    assert "bbr 2.00, BBR 0 %" in figure.alternative


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("rtt_ms = 80", r"over the table `retransmits`; did you mean `rtt_bucket`\?$"),
        ("loss_pct = 0.1", r"over the table `retransmits`, whose rows differ in sender_speed, path_class, test_group"),
        ("lossy", r"; if it is text, write 'lossy'"),
    ],
)
def test_a_condition_with_a_column_of_runs_is_told_which_table_it_is_over(
    where: str, said: str, database: Path
) -> None:
    with Database(database) as opened, pytest.raises(FigureError, match=said):
        build_table_dots(declare(where=where), opened)


def test_versions_that_a_table_pools_go_by_its_name(database: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("INSERT INTO algorithms VALUES ('bbr3', 'BBR')")
    with Database(database) as opened:
        figure = build_table_dots(declare(), opened)
    assert "CUBIC 2.00, BBR 0 %" in figure.alternative


def test_a_caption_says_where_two_algorithms_are_farthest_apart() -> None:
    rows = [(0, "BBR", 9.0), (0, "CUBIC", 3.0), (1, "BBR", 1.0), (1, "CUBIC", 4.0), (2, "BBR", 8.0), (2, "CUBIC", 0.0)]
    cells = pl.DataFrame(rows, schema=["row", "algorithm", "mean"], orient="row").with_columns(
        conditions=pl.lit("same"), algorithm_flows_count=pl.when(algorithm="BBR").then(2).otherwise(1)
    )
    said = _describe_largest_gap(cells, {0: "no loss", 1: "loss", 2: "fast"}, MEASURE)
    assert said == ["Farthest apart at loss: CUBIC had 4.00 times the mean of the runs’ retransmit ratios of BBR"]
    assert _describe_largest_gap(cells.filter(row=2), {2: "fast"}, MEASURE) == []
    rates = replace(MEASURE, name="Mean goodput")
    (said,) = _describe_largest_gap(cells.filter(row=0), {0: "no loss"}, rates)
    assert said == "Farthest apart at no loss: BBR had 3.00 times the mean goodput of CUBIC, with 2 flows beside 1"


def test_a_caption_compares_the_algorithms_of_a_row_that_ran_under_the_same_conditions() -> None:
    # A third algorithm, measured elsewhere, is 20 times apart, but takes nothing from the other two.
    rows = [(0, "BBR", 8.0, "a"), (0, "CUBIC", 2.0, "a"), (0, "BBRv1", 0.4, "b"), (1, "BBR", 3.0, "a")]
    cells = pl.DataFrame(
        [*rows, (1, "CUBIC", 2.0, "a")], schema=["row", "algorithm", "mean", "conditions"], orient="row"
    ).with_columns(algorithm_flows_count=pl.lit(None, pl.Int64))
    said = "arthest apart at loss: BBR had 4.00 times the mean of the runs’ retransmit ratios of CUBIC"
    names = {0: "loss", 1: "no loss"}
    only = [f"Of algorithms that ran under the same conditions, f{said}"]
    assert _describe_largest_gap(cells, names, MEASURE) == only
    assert _describe_largest_gap(cells.filter(pl.col("algorithm") != "BBRv1"), names, MEASURE) == [f"F{said}"]
    assert _describe_largest_gap(cells.filter(pl.col("algorithm") != "BBR"), names, MEASURE) == []


def test_a_table_that_is_missing_or_empty_says_so(database: Path) -> None:
    with Database(database) as opened:
        with pytest.raises(FigureError, match="needs `table`"):
            declare_figure("f", {"kind": "table_dots", "title": "Dots", "overlapped": True, "where": "TRUE"})
        with pytest.raises(FigureError, match="lacks its `table`"):
            build_table_dots(declare(table="others"), opened)
        with pytest.raises(FigureError, match="refuses its `where`"):
            build_table_dots(declare(where="gone = 1"), opened)
        with pytest.raises(MissingFigure):
            build_table_dots(declare(where="flows_count = 9"), opened)
        with pytest.raises(MissingFigure, match="No cell of the table has a mean"):
            build_table_dots(declare(where="runs_count = 2 AND flows_count = 1"), opened)


@pytest.mark.parametrize("is_unlike", [False, True])
def test_each_row_of_means_is_a_line_of_its_own(tmp_path: Path, is_unlike: bool) -> None:
    path = tmp_path / "archive.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("""
            CREATE TABLE means AS SELECT *, 'goodput' AS rate_basis, 5 AS runs_count,
                rate_mean_bps - 1e6 AS rate_low_bps, rate_mean_bps + 1e6 AS rate_high_bps
            FROM (VALUES
                ('side=left', 'RTT 10 ms', 0.0, 1, 'BBR', 9e9), ('side=left', 'RTT 10 ms', 0.0, 1, 'CUBIC', 8e9),
                ('side=left', 'RTT 10 ms', 0.01, 1, 'BBR', 9e9), ('side=left', 'RTT 10 ms', 0.01, 1, 'CUBIC', 3e9),
                ('side=', 'RTT 10 ms', 0.01, 16, 'BBR', 9e9), ('side=', 'RTT 10 ms', 0.01, 16, 'CUBIC', 7e9)
            ) AS rows (labels, path_rtt, loss_pct, flows_count, algorithm, rate_mean_bps)
        """)
        # One row pools other pacing rates for each algorithm.
        unlike = "CASE WHEN algorithm = 'BBR' AND (loss_pct > 0 AND flows_count = 1) THEN 1e9 END"
        add_runs(connection, "means", unlike if is_unlike else "NULL::DOUBLE")
        connection.execute(
            "CREATE TABLE algorithms AS FROM (VALUES ('bbr2', 'BBR'), ('cubic', 'CUBIC')) t(cc, algorithm)"
        )
    with Database(path) as opened:
        figure = build_table_dots(declare(table="means"), opened)
        fewer = build_table_dots(declare(table="means", where="labels = 'side=left'"), opened)
        # Labels are columns as well.
        by_name = build_table_dots(declare(table="means", where="side = 'left'"), opened)
        others = build_table_dots(declare(table="means", where="side IS NULL"), opened)
    assert "Mean goodput of 3 conditions" in figure.caption
    apart = {
        False: "Farthest apart at 0.01 % loss, 1 flow: BBRv2 had 3.00",
        True: "conditions, farthest apart at 0.01 % loss, 16 flows: BBRv2 had 1.29",
    }[is_unlike]
    assert f"{apart} times the mean goodput of CUBIC" in figure.caption.replace("labels ", "")
    assert "16 flows: BBRv2 9.00, CUBIC 7.00 Gbit/s" in figure.alternative
    assert figure.data.select("loss_pct", "flows_count").is_duplicated().sum() == 6
    assert figure.data.select("loss_pct", "flows_count", "algorithm").is_duplicated().sum() == 0
    assert "No loss: BBRv2 9.00, CUBIC 8.00 Gbit/s. 0.01 % loss: BBRv2 9.00, CUBIC 3.00" in fewer.alternative
    assert by_name.data.equals(fewer.data)
    assert others.data["rate_mean_bps"].to_list() == [9e9, 7e9]


def test_a_mark_without_a_bar_has_its_reason() -> None:
    cells = pl.DataFrame({"mean": [1.0, 0.0], "low": [None, None], "runs_count": [2, 5]})
    assert _explain_bare(cells) == "A mark without a bar rests on fewer than three runs"
    assert "`condition`" in _explain_bare(cells.with_columns(runs_count=5))


def test_the_row_of_a_single_condition_has_a_name(database: Path) -> None:
    with Database(database) as opened:
        figure = build_table_dots(declare(where="test_group = 'fast'"), opened)
    assert figure.data.select("sender_speed", "algorithm").rows() == [("10g", "CUBIC"), ("10g", "BBR")]
