"""What the pages say of views and queries, against the database and the evaluations that come along."""

from collections.abc import Iterator

import duckdb
import pytest

from ccreport.core.declarations import SCHEMAS, list_tables, load_yaml
from ccreport.core.evaluation import list_evaluations, list_queries, load_evaluation, resolve_evaluation
from ccreport.core.tables import load_schema
from ccreport.report.database_reference import render_views
from ccreport.summarise.view_columns import describe_columns, find_needs, list_view_columns, open_empty

DECLARED = load_yaml(SCHEMAS / "views.yaml")


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_empty() as connection:
        yield connection


def test_all_views_and_what_only_they_have_are_described_and_nothing_else(
    database: duckdb.DuckDBPyConnection,
) -> None:
    views = list_view_columns(database)
    assert set(DECLARED["views"]) == set(views)
    of_tables = {column.name for table in list_tables() for column in load_schema(table).columns}
    assert set(DECLARED["columns"]) == {column for columns in views.values() for column in columns} - of_tables
    for view, facts in DECLARED["views"].items():
        assert set(facts.get("columns", ())) <= set(views[view])


def test_a_column_means_what_its_view_says_and_else_what_tables_say() -> None:
    of_table = describe_columns("table_2_testbed_runs")
    assert of_table["rate_bps"] == "The rate that the table is about, goodput or throughput, as `rate_basis` says."
    assert of_table["is_counted"].startswith("The run counts in means, ")
    assert describe_columns("all_algorithm_runs")["is_counted"].startswith("The run could count in means; ")
    assert describe_columns("qdiscs")["rate_bps"] == "Rate of a shaper (tbf) or of netem."
    assert describe_columns("runs")["is_counted"].startswith("The run could count in means: TCP, ")


def test_a_view_shows_what_it_adds_and_what_it_leaves_out(database: duckdb.DuckDBPyConnection) -> None:
    text = render_views(database)
    _, _, section = text.partition("<summary>measured")
    section, _, _ = section.partition("<details")
    assert "It has all columns of&#32;`algorithm_runs`&#44; and these" in section
    assert "<code>line&#95;rate&#95;bps</code>" in section
    assert "<code>rtt&#95;bucket</code>" not in section
    _, _, of_rpc = text.partition("<summary>labelled&#95;rpc")
    assert "`labelled_runs`&#32;but&#32;`start_utc`" in of_rpc.partition("<details")[0]


@pytest.mark.parametrize(
    ("query", "labels", "tables"),
    [
        ("table_3_paths", ["sender_speed", "path_class"], []),
        ("edge_comparisons", [], ["edge_distributions"]),
        ("completion", [], []),
    ],
)
def test_a_query_needs_what_it_names(
    database: duckdb.DuckDBPyConnection, query: str, labels: list[str], tables: list[str]
) -> None:
    needs = find_needs(database, query)
    assert needs.labels == labels
    assert needs.tables[: len(tables)] == tables


def test_evaluations_declare_what_their_queries_need(database: duckdb.DuckDBPyConnection) -> None:
    needs = {query: find_needs(database, query) for query in list_queries()}
    assert sum(bool(one.labels) for one in needs.values()) > 3
    for name in list_evaluations():
        declared = load_evaluation(resolve_evaluation(name))
        for table in declared["tables"]:
            assert set(needs[table].labels) <= set(declared["labels"]), (name, table)
            assert set(needs[table].tables) <= set(declared["tables"]), (name, table)
