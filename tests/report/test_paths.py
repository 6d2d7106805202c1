"""What runs are for, and what was set on their paths."""

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from ccreport.report.archive_fragments.paths import read_paths, render_paths
from ccreport.trace.uses import SCHEMA, list_uses, name_uses

FIGURES = {
    "figure_2": {"kind": "throughput_over_time", "title": "Far", "where": "rtt_ms > 50"},
    "figure_3": {"kind": "throughput_over_time", "title": "None", "where": "rtt_ms > 50"},
    "all_runs": {"kind": "topology", "title": "All", "where": "TRUE"},
    "ours": {"kind": "rate_by_rtt", "title": "Near", "where": "rtt_ms < 50  -- ms"},
}
DECLARED: dict[str, Any] = {
    "tables": {"table_1": {"title": "Table I: near"}, "jobs": {"title": "Every job"}},
    "reproduction": {"table_1": {}},
    "figures": FIGURES,
}
COLUMNS = "run_id, host, rtt_ms, loss_pct, buffer_bytes"
RUNS = "('r1', 'a', 1e1, 0e0, 12000000), ('r2', 'a', 2e1, 2e-2, 12000000), ('r3', 'b', 8e1, NULL, NULL)"


def make_uses(*rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SCHEMA, orient="row")


def write_database(folder: Path) -> Path:
    with duckdb.connect(path := folder / "archive.duckdb") as connection:
        connection.execute(f"""
            CREATE TABLE labelled_runs AS
            SELECT *, 'sender' AS sender_host, 1e10 AS nic_bps, 2.4e9 AS pacing_bps, NULL::DOUBLE AS rtt_nominal_ms,
                3e8 AS bottleneck_bps, NULL::DOUBLE AS background_udp_bps
            FROM (VALUES {RUNS}) AS runs({COLUMNS});
            CREATE VIEW table_1_runs AS FROM labelled_runs WHERE host = 'a' OR getvariable('include_suspect');
        """)
    return path


def list_rows(page: str) -> Iterable[list[str]]:
    rows = re.findall(r"<tr>(<td.*?)</tr>", page)
    return [[html.unescape(re.sub("<[^>]+>", "", cell)) for cell in row.split("</td>")[:-1]] for row in rows]


def test_runs_are_for_the_exhibits_whose_condition_they_meet(tmp_path: Path) -> None:
    (tmp_path / "figures/figure_3").mkdir(parents=True)
    (tmp_path / "figures/figure_3/missing.txt").write_text("no run", encoding="utf-8")
    uses = list_uses(write_database(tmp_path), DECLARED, tmp_path / "figures")
    # The table has the suspect run too; the figure without data, that of all runs and the table of ours are none.
    assert uses.rows() == [
        *(("r1", "Table", "I"), ("r2", "Table", "I"), ("r3", "Table", "I")),
        *(("r3", "Figure", "2"), ("r1", "Figure", "S2"), ("r2", "Figure", "S2")),
    ]


def test_exhibits_are_named_in_few_words_and_ours_only_where_the_publication_has_none() -> None:
    figures = [("r", "Figure", number) for number in ("S9", "3", "5", "4", "10", "S1", "9")]
    assert (
        name_uses(make_uses(("r", "Table", "I"), ("r", "Table", "II"), *figures)) == "Tables I, II; Figures 3–5, 9, 10"
    )
    ours = [("r", "Figure", number) for number in ("S3", "S1", "S5", "S4")]
    assert name_uses(make_uses(*ours)) == "Figures S1, S3–S5"
    assert name_uses(make_uses()) == ""


def test_paths_say_what_was_set_and_what_the_publication_does_not_give(tmp_path: Path) -> None:
    paths = read_paths(write_database(tmp_path), {"loss_pct": "loss_pct < 0.01", "buffer_bytes": "FALSE"})
    page = render_paths(paths, make_uses(("r3", "Figure", "S1"), ("r1", "Table", "I")))
    # Of one path that is for the table and of one that is not, in which all is this archive's own.
    assert list_rows(page) == [
        ["Figure S1", "sender", "b", "80", "–", "10", "2.4", "0.3", "–", "–", "1"],
        ["Table I", "sender", "a", "10, 20", "0, 0.02*", "10", "2.4", "0.3", "12*", "–", "2"],
    ]
    # On a phone the cells of a row are under each other, each behind its heading.
    assert '<table class="data of-text">' in page
    assert '<td data-head="Receiver">' in page
    assert "A star marks what the publication does not give" in page
    assert "A star" not in render_paths(paths, make_uses())
    assert render_paths(paths.clear(), make_uses()) == "No run is known.\n"


def test_paths_are_in_the_unit_of_the_largest_value_and_without_uses_where_no_run_has_one(tmp_path: Path) -> None:
    paths = read_paths(write_database(tmp_path), {}).with_columns(
        nic_bps=pl.lit(None, pl.Float64), bottleneck_bps=2e7, pacing_bps=5e7, buffer_bytes=50_000
    )
    page = render_paths(paths, make_uses())
    assert list_rows(page)[0] == ["sender", "a", "10, 20", "0, 0.02", "–", "50", "20", "50", "–", "2"]
    assert "beside the flows in Mbit/s" in page
    assert ">For<" not in page
    assert ">Buffer, kB<" in html.unescape(page)
