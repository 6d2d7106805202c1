"""Conditions that evaluations name, taken apart into the parts that must all be true."""

import duckdb
import pytest

from ccreport.trace.claims.checked_runs import list_conjuncts, parse_query, write_condition

CONDITIONS = [
    ("loss_pct = 0.1", 1),
    ("starts_with(job, 'far')", 1),
    ("job SIMILAR TO 'far.*' AND flows_count = 1", 2),
    ("contains(job, 'a') OR (loss_pct > 0)", 1),
    ("NOT (job LIKE '%x')", 1),
    ("(loss_pct + 1) IN (1, 2) AND CASE WHEN flows_count = 1 THEN TRUE ELSE FALSE END", 2),
    ("list_contains(['a', 'bx'], job) AND (job IS NOT NULL AND loss_pct = 1)", 3),
]


@pytest.mark.parametrize(("condition", "count"), CONDITIONS)
def test_a_condition_is_the_conjunction_of_its_parts(condition: str, count: int) -> None:
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE TABLE runs AS FROM range(200) AS numbers (number) SELECT
                ['far', 'far away', 'a', 'bx', NULL][1 + number % 5] AS job,
                [0, 0.1, 1, NULL][1 + number % 4] AS loss_pct, 1 + number % 3 AS flows_count
        """)
        parsed = parse_query(connection, f"FROM runs WHERE ({condition})")
        assert parsed
        written = [write_condition(connection, parsed, part) for part in list_conjuncts(parsed["where_clause"])]
        assert len(written) == count
        whole = connection.sql(f"SELECT count(*) FROM runs WHERE ({condition})").fetchall()
        taken_apart = " AND ".join(f"({part})" for part in written)
        assert connection.sql(f"SELECT count(*) FROM runs WHERE {taken_apart}").fetchall() == whole
