"""`explain`: where the evaluation declares what a row follows from, and the query behind a published number."""

import re
from pathlib import Path
from typing import Any

import pytest
from archives import ROOT, write_yaml
from condition_runs import build_database
from explained_runs import FACTS
from test_summarise import gather, run

from ccreport.__main__ import main
from ccreport.core.declarations import load_yaml
from ccreport.core.declared_files import find_line

QUERY = (
    "SELECT run_id, condition_id, 'r' AS name, algorithm = 'BBR' AS is_divisor, 100 AS x, 4 AS y FROM algorithm_runs"
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of an evaluation with a published share and a published quotient, beside its database."""
    folder = tmp_path_factory.mktemp("declared")
    exhibit: dict[str, Any] = {"unit": "%", "step": 1, "columns": {"name": "{}"}, "cells": [["r", 25]], "sql": QUERY}
    declared = load_yaml(ROOT / "evaluations/generic.yaml")
    declared |= {"labels": {"path_class": {"otherwise": "'near'"}}, "figures": {}, "front_figures": []}
    declared["tables"] = {
        "published_values": {"title": "Published values"},
        "means": {"title": "Means", "rows": ["path_class"], "columns": ["algorithm"]},
        "edge_connections": {"title": "Connections"},
    }
    declared["published"] = {
        "shares": exhibit | {"title": "Table I"},
        "long": exhibit | {"title": "Table II", "sql": QUERY + "\n" * 50 + "WHERE TRUE"},
        "quotients": exhibit | {"title": "Table III", "is_quotient": True},
    }
    write_yaml(folder / "own.yaml", declared)
    runs = [run(n, {cc: 9.0}, condition_id=cc, **FACTS) for n, cc in enumerate(("bbr", "cubic"))]
    build_database(folder, gather(*runs), folder / "own.yaml")
    return folder / "own.yaml"


def explain(own: Path, capsys: pytest.CaptureFixture[str], table: str, *options: str) -> str:
    assert main(["explain", table, "--database", str(own.with_name("archive.duckdb")), *options]) == 0
    return capsys.readouterr().out


def test_a_published_number_is_traced_to_the_query_of_its_runs(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = explain(own, capsys, "published_values", "--row", "exhibit=Table I,cell=r")
    where = f"{own}:{find_line(own, ('published', 'shares', 'sql'))}"
    assert f"\nDeclared in {own}: published_values (line " in printed
    assert (
        f"\nSQL of the runs: {where} (x, the numerator, over y is a run's value, in %)\n  {QUERY}\nSQL: src/" in printed
    )
    row = ("--row", "exhibit=Table II,cell=r")
    assert " in %) (51 lines, which --full prints)\nSQL: " in explain(own, capsys, "published_values", *row)
    assert "\n  WHERE TRUE\nSQL: " in explain(own, capsys, "published_values", *row, "--full")


def test_of_a_published_quotient_runs_say_which_are_the_divisor(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = explain(own, capsys, "published_values", "--row", "exhibit=Table III,cell=r")
    assert "the row's is that of the other runs over the divisor's, in %)\n" in printed
    assert re.search(r" Is divisor  Run\n .*yes +r0\n .*no +r1\n", printed)


def test_a_row_names_the_lines_of_its_table_and_labels(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = {"means": ("tables", "means"), "path_class": ("labels", "path_class")}
    told = ", ".join(f"{name} (line {find_line(own, place)})" for name, place in places.items())
    printed = explain(own, capsys, "means", "--row", "algorithm=BBR")
    assert f"\nDeclared in {own}: {told}\nSQL: " in printed
    # Of its twenty keys those that the row has.
    assert printed.startswith(f"{own.parent.name}, means, row 1: path_class=near,")
    assert "–" not in printed.partition("\n")[0]
    # Of an evaluation whose file has moved there is nothing to say.
    moved = own.rename(own.with_name("moved.yaml"))
    assert "Declared in" not in explain(own, capsys, "means", "--row", "algorithm=BBR")
    moved.rename(own)
