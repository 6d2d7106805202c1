"""What `sql` says below its rows: which conditions exclude one another, and which a mean pools."""

from collections.abc import Iterator

import duckdb
import pytest
from condition_runs import build_database
from explained_runs import FACTS
from test_summarise import gather, run

from ccreport.core.declarations import read_query
from ccreport.core.evaluation import CLAIMS
from ccreport.summarise.database import connect
from ccreport.trace.queries.absent_values import describe_absent_values
from ccreport.trace.queries.pooled_columns import describe_pooled


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database of four runs, one of which is of both algorithms and has loss."""
    tables = gather(
        *(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a", **FACTS) for n, rate in ((1, 9.0), (2, 11.0))),
        run(3, {"bbr": 18.0}, rtt_ms=20.0, condition_id="b", **FACTS),
        run(
            4, {"cubic": 5.0, "bbr": 35.0}, rtt_ms=10.0, condition_id="c", loss_pct=0.1, background_udp_bps=1e9, **FACTS
        ),
    )
    with connect(build_database(tmp_path_factory.mktemp("asked"), tables)) as connection:
        connection.execute(read_query(CLAIMS))
        yield connection


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "SELECT avg(goodput_bps) FROM measured WHERE algorithm = 'BBR' AND sharing = 'both' AND rtt_ms = 20",
            "No row meets all conditions; without `sharing = 'both'` there are 1, without `rtt_ms = 20` there are 1",
        ),
        (
            "FROM runs WHERE mode = 'both' AND (loss_pct IS NULL AND rtt_ms = 20)",
            "No row meets all conditions; nor is there one without any single condition",
        ),
        ("FROM runs WHERE rtt_ms = 20 AND run_id = 'r3'", ""),
        # The kernel's name of an algorithm, and the evaluation's.
        (
            "FROM flows WHERE cc = 'CUBIC'",
            "No row has cc = 'CUBIC'; the evaluation calls cubic CUBIC: write cc = 'cubic'",
        ),
        (
            "FROM measured WHERE algorithm = 'bbr'",
            "No row has algorithm = 'bbr'; the evaluation calls bbr BBR: write algorithm = 'BBR'",
        ),
        # However people write it.
        (
            "FROM measured WHERE algorithm = 'BBRv1'",
            "No row has algorithm = 'BBRv1'; the evaluation calls bbr BBR: write algorithm = 'BBR'",
        ),
        # What no row has is said, and nothing of what else there is.
        ("FROM runs WHERE rtt_ms = 20 AND job = 'x9'", "No row has job = 'x9'; there are 'j'"),
        # Of times with a zone DuckDB makes no objects of Python.
        (
            "FROM (SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' AS start_utc) WHERE start_utc = '2001-01-01'",
            "No row has start_utc = '2001-01-01'; did you mean `2026-01-01 00:00:00`?",
        ),
        # Columns of an outer query are not known to one within.
        ("FROM runs WHERE EXISTS (FROM flows WHERE flows.run_id = runs.run_id AND runs.rtt_ms = 10)", ""),
    ],
)
def test_conditions_that_no_row_meets_together(query: str, told: str, connection: duckdb.DuckDBPyConnection) -> None:
    assert "\n".join(describe_absent_values(connection, query)) == told


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "SELECT rtt_ms, avg(goodput_bps) FROM measured WHERE algorithm = 'BBR' GROUP BY rtt_ms ORDER BY 2 LIMIT 1",
            # A setting that only some runs have differs, too.
            (
                "These means pool up to 2 values of `sharing`, 2 of `loss_pct` and 2 of `background_udp_bps`; "
                "add them to GROUP BY to tell them apart"
            ),
        ),
        (
            "SELECT stddev(m.goodput_bps) / avg(m.goodput_bps) AS cv FROM measured AS m WHERE sharing = 'alone'",
            "These numbers pool up to 2 values of `rtt_ms`; add it to GROUP BY to tell them apart",
        ),
        ("SELECT rtt_ms, sharing, algorithm, avg(goodput_bps) FROM measured GROUP BY ALL", ""),
        (
            "SELECT TIMESTAMPTZ '2026-01-01' AS day, avg(goodput_bps) FROM measured WHERE sharing = 'alone' GROUP BY 1",
            "These means pool up to 2 values of `rtt_ms`; add it to GROUP BY to tell them apart",
        ),
        ("SELECT avg(goodput_bps) FROM measured WHERE sharing = 'alone' AND rtt_ms = 10", ""),
        # What is joined tells nothing apart that the groups do not.
        (
            (
                "SELECT m.algorithm, avg(m.goodput_bps) FROM measured AS m JOIN runs AS r USING (run_id)"
                " WHERE m.sharing = 'alone' GROUP BY 1"
            ),
            "These means pool up to 2 values of `rtt_ms`; add it to GROUP BY to tell them apart",
        ),
        (
            (
                "SELECT r.rtt_ms, m.algorithm, avg(goodput_bps) FROM runs AS r JOIN measured AS m USING (run_id)"
                " WHERE m.sharing = 'alone' GROUP BY ALL"
            ),
            "",
        ),
        # Neither numbers of other things nor queries within are looked at.
        ("SELECT count(*), avg(duration_s) FROM measured", ""),
        ("SELECT avg(goodput_bps) FROM (FROM measured)", ""),
        ("SELECT run_id, avg(goodput_bps) OVER () FROM measured", ""),
        ("SELECT avg(goodput_bps) FROM flows", ""),
        ("SELECT 1", ""),
        ("SHOW TABLES", ""),
    ],
)
def test_conditions_that_a_mean_pools(query: str, told: str, connection: duckdb.DuckDBPyConnection) -> None:
    assert "\n".join(describe_pooled(connection, query)) == told
