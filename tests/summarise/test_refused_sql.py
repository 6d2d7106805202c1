"""SQL of an evaluation that the database refuses: one line with file, line and the name that is meant."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from archives import write_yaml
from condition_runs import EVALUATION, build_database, gather, make_run, write_evaluation

from ccreport.core.declarations import load_yaml
from ccreport.core.declared_files import DeclarationError
from ccreport.figures.select.declaration import FigureError
from ccreport.summarise.refused_sql import describe_refusal
from ccreport.trace.plot_figure import plot_figure

RUNS = gather(*(make_run(n, {"bbr": 9.0, "cubic": 1.0}) for n in (1, 2)))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT rtt_m FROM t", 'Referenced column "rtt_m" not found in FROM clause; did you mean `rtt_ms`?'),
        ("SELECT meen(rtt_ms) FROM t", "did you mean `mean`?"),
        (
            "SELECT 1 FROM t WHERE rtt_ms = farr",
            "column \"farr\" not found in FROM clause; if it is text, write 'farr'",
        ),
        ('SELECT 1 FROM t WHERE rtt_ms = "far off"', "if it is text, write 'far off'"),
        ("SELECT 1 FROM t WHERE mode <> both", "text takes single quotes ('both')"),
        ("SELECT 1 FROM t WHERE mode = 'both\n", "unterminated string literal; close the quote: 'both'"),
        ('SELECT 1 FROM t WHERE "rtt_ms > 5', 'unterminated quoted identifier; close the quote: "rtt_ms"'),
        ("SELECT 'it's'", "unterminated string literal; a quote is missing, or one too many"),
        ("SELECT 1 FROM t WHERE (rtt_ms >", 'syntax error at or near ">"'),
        ("SELECT 1 FROM t WHERE a = 1", "if it is text, write 'a'; the page Data dictionary lists the columns"),
        ("SELECT * FORM t", 'syntax error at or near "t"; did you mean `FROM`?'),
        ("FORM t", 'syntax error at or near "FORM"; did you mean `FROM`?'),
        ("SELECT 1 FROM t WHER rtt_ms = 1", 'syntax error at or near "rtt_ms"; did you mean `WHERE`?'),
        ("SELECT avg([rtt_ms]) FROM t", "'avg(DOUBLE[])'; of a list take list_avg(…)"),
        ("SELECT avg({'run': {'id': 1}, 'x': 1, 'y': 2})", "'avg(STRUCT(…)'; of such runs take mean_of(list(…))"),
        ("FROM t WHERE loss_pct = '0.01 %'", "'0.01 %' to DOUBLE; loss_pct holds numbers: loss_pct = 0.01"),
        ("FROM t WHERE t.loss_pct IN ('low')", "'low' to DOUBLE; t.loss_pct holds numbers"),
        ("FROM t WHERE loss_pct > '5 Gbit/s'", "'5 Gbit/s' to DOUBLE; loss_pct holds numbers"),
        ("FROM t WHERE buffer_bytes = '64 MB'", "to INT64; buffer_bytes holds numbers: buffer_bytes = 64000000"),
        ("FROM t WHERE buffer_bytes > 64MB", "a number takes no unit: 64000000"),
        ("FROM t WHERE rtt_ms IN ('0.08 s')", "to DOUBLE; rtt_ms holds numbers: rtt_ms IN (80"),
        ("FROM t WHERE goodput_bps > 5", "not found in FROM clause; it is a column of `flows`, "),
        ("SELECT x.rtt_ms FROM t AS own", 'Referenced table "x" not found; the query reads own'),
        ("FROM t WHERE loss_pct = 0,1", 'near ","; a number has a decimal point: 0.1'),
        ("SELECT rtt_ms, count(*) FROM t", "must be part of an aggregate function; put GROUP BY ALL at the end"),
        ("SELECT avg(rate_Mbps) FROM t", "not found in FROM clause; rates are in bit/s: rate_bps / 1e6"),
        ("SELECT rtt_ms + 'a' FROM t", "'a' to DOUBLE; a number takes no quotes"),
    ],
)
def test_what_is_refused_is_said_in_a_line(query: str, said: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (rtt_ms DOUBLE, loss_pct DOUBLE, rate_bps DOUBLE, buffer_bytes BIGINT)")
        connection.execute("INSERT INTO t VALUES (1, 2, 3, 4)")
        with pytest.raises(duckdb.Error) as refused:
            connection.sql(query).fetchall()
    assert said in describe_refusal(refused.value)
    assert "\n" not in describe_refusal(refused.value)


def test_tables_of_the_database_s_own_are_not_named() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (rtt_ms DOUBLE)")
        with pytest.raises(duckdb.Error) as refused:
            connection.sql("SELECT oid FROM t")
        assert "pg_" not in describe_refusal(refused.value, connection)


def test_a_column_of_the_query_s_own_table_goes_before_other_tables() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE suspects (run_id VARCHAR, suspect_rule VARCHAR); CREATE TABLE files (rule VARCHAR)"
        )
        with pytest.raises(duckdb.Error) as refused:
            connection.sql("SELECT rule FROM suspects")
        said = describe_refusal(refused.value, connection)
    assert "FROM clause; did you mean `suspect_rule`? `files` has `rule`" in said


@pytest.mark.parametrize("named", ["runs", "runs AS r", "runs r", "suspects JOIN runs r USING (run_id)"])
def test_a_column_of_a_named_table_is_looked_for_there(named: str) -> None:
    alias = "r" if " r" in named else "runs"
    columns = [f"c{number} INTEGER" for number in range(20)]
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE runs (run_id VARCHAR, goodput_bps DOUBLE, algorithm VARCHAR, {', '.join(columns)})"
        )
        connection.execute("CREATE TABLE suspects (run_id VARCHAR)")
        for column, meant in (("algoritm", "algorithm"), ("goodput", "goodput_bps")):
            query = f"SELECT {alias}.{column} FROM {named}"
            with pytest.raises(duckdb.Error) as refused:
                connection.sql(query)
            assert describe_refusal(refused.value, connection, query).endswith(f"; did you mean `{meant}`?")


def write_changed(folder: Path, change: dict[str, Any]) -> Path:
    path = folder / "mine.yaml"
    declared = load_yaml(write_evaluation(folder, kind="rate_by_rtt"))
    declared["reproduction"] = {}
    write_yaml(path, declared | change)
    return path


def line_of(path: Path, text: str) -> int:
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_a_label_is_named(tmp_path: Path) -> None:
    labels = load_yaml(EVALUATION)["labels"]
    far = {"cases": [{"value": "far", "when": "rtt_m > 50"}], "otherwise": "'near'"}
    path = write_changed(tmp_path, {"labels": labels | {"distance": far}})
    with pytest.raises(DeclarationError) as refused:
        build_database(tmp_path, RUNS, path)
    said = str(refused.value)
    assert said.startswith(f"{path}:{line_of(path, 'rtt_m ')}: labels.distance.cases.0.when: the database refuses it: ")
    assert said.endswith("; did you mean `rtt_ms`?")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("otherwise", "said"),
    [
        ("near", """if it is text, write "'near'\""""),
        ("far away", """text takes single quotes ("'far away'")"""),
        ("job_", """did you mean `job`? If it is text, write "'job_'\""""),
        ("NOT far_", "if it is text, write 'far_'"),
    ],
)
def test_text_that_lost_its_quotes_to_yaml_is_shown_with_more(otherwise: str, said: str, tmp_path: Path) -> None:
    labels = load_yaml(EVALUATION)["labels"]
    near = {"cases": [{"value": "far", "when": "rtt_ms > 50"}], "otherwise": otherwise}
    path = write_changed(tmp_path, {"labels": labels | {"distance": near}})
    with pytest.raises(DeclarationError) as refused:
        build_database(tmp_path, RUNS, path)
    assert str(refused.value).startswith(
        f"{path}:{line_of(path, f'otherwise: {otherwise}')}: labels.distance.otherwise: "
    )
    assert said in str(refused.value)


def test_a_label_that_only_values_of_rows_break_is_named(tmp_path: Path) -> None:
    # The database takes the query, and ends the transaction when a row has no such number.
    cases = [{"value": "far", "when": "host::INTEGER > 50"}]
    labels = load_yaml(EVALUATION)["labels"] | {"distance": {"cases": cases, "otherwise": "'near'"}}
    path = write_changed(tmp_path, {"labels": labels})
    with pytest.raises(DeclarationError) as refused:
        build_database(tmp_path, RUNS, path)
    line = line_of(path, "host::INTEGER")
    assert str(refused.value).startswith(
        f"{path}:{line}: labels.distance.cases.0.when: the database refuses it: Could not"
    )


@pytest.mark.slow
def test_a_condition_of_a_table_may_name_the_algorithm_where_another_is_refused(tmp_path: Path) -> None:
    tables = load_yaml(EVALUATION)["tables"]
    tables = {"means": {"title": "M", "where": "algorithm = 'BBR'"}, "cpu": tables["cpu"] | {"where": "rtt_m > 5"}}
    path = write_changed(tmp_path, {"tables": tables})
    with pytest.raises(DeclarationError, match=r"tables.cpu.where: the database refuses it: .* did you mean `rtt_ms`"):
        build_database(tmp_path, RUNS, path)


@pytest.mark.parametrize("when", ["sum(flows_count) > 3", "count(*) > 1 AND rtt_ms > 50"])
def test_an_aggregate_in_a_label_is_named_by_its_line(when: str, tmp_path: Path) -> None:
    cases = [{"value": "near", "when": "rtt_ms < 20"}, {"value": "far", "when": when}]
    labels = load_yaml(EVALUATION)["labels"] | {"distance": {"cases": cases, "otherwise": "'unknown'"}}
    path = write_changed(tmp_path, {"labels": labels})
    with pytest.raises(DeclarationError) as refused:
        build_database(tmp_path, RUNS, path)
    place = f"{path}:{line_of(path, when)}: labels.distance.cases.1.when"
    assert str(refused.value) == f"{place}: the database refuses it: WHERE clause cannot contain aggregates"


@pytest.mark.parametrize("key", ["condition", "completion_bytes"])
def test_an_expression_over_runs_is_named(tmp_path: Path, key: str) -> None:
    path = write_changed(tmp_path, {key: "jobb"})
    with pytest.raises(DeclarationError) as refused:
        build_database(tmp_path, RUNS, path)
    assert str(refused.value).startswith(f"{path}:{line_of(path, key + ':')}: {key}: the database refuses it: ")
    assert str(refused.value).endswith("""; did you mean `job`? If it is text, write "'jobb'\"""")


def test_the_condition_of_a_table_is_named(tmp_path: Path) -> None:
    path = write_changed(tmp_path, {"tables": {"retransmits": {"title": "T", "where": "lost_pct = 0"}}})
    with pytest.raises(DeclarationError) as refused:
        build_database(tmp_path, RUNS, path)
    said = str(refused.value)
    assert said.startswith(f"{path}:{line_of(path, 'lost_pct')}: tables.retransmits.where: the database refuses it: ")
    assert said.endswith("; did you mean `loss_pct`?")


def test_the_condition_of_a_figure_is_named(tmp_path: Path) -> None:
    database = build_database(tmp_path, RUNS)
    path = write_evaluation(tmp_path, kind="rate_by_rtt", where="mdoe = 'both'")
    with pytest.raises(FigureError) as refused:
        plot_figure("f", path, tmp_path / "out", database)
    said = str(refused.value)
    assert said.startswith(f"{path}:{line_of(path, 'mdoe')}: figure 'f': the database refuses its `where`: ")
    assert said.endswith("; did you mean `mode`?")
