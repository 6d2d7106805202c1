"""Sections: an evaluation is one where the archive has what only its kind of archive has."""

from pathlib import Path

import duckdb
import pytest

from ccreport.list_sections import list_sections

DECLARED = """
title: of RPCs
algorithms: {{CUBIC: {{members: [cubic]}}}}
labels: {{}}
tables: {tables}
"""
OF_RPCS = "rpc_load: {title: of RPCs}"
OF_ANY_RUNS = "modes: {title: of any runs, makes_section: false}"


def write_evaluation(folder: Path, name: str, tables: str, filled: list[str]) -> tuple[Path, Path]:
    """Write an evaluation and its database, in which the tables `filled` have a row and others none."""
    evaluation, database = folder / f"{name}.yaml", folder / f"{name}.duckdb"
    evaluation.write_text(DECLARED.format(tables=tables), encoding="utf-8")
    with duckdb.connect(database) as connection:
        for table in ("rpc_load", "modes"):
            connection.execute(f"CREATE VIEW {table} AS SELECT 1 AS runs_count WHERE {table in filled}")
    return evaluation, database


@pytest.mark.parametrize(
    ("tables", "filled", "is_section"),
    [
        pytest.param(f"{{{OF_RPCS}, {OF_ANY_RUNS}}}", ["rpc_load"], True, id="of its kind"),
        pytest.param(f"{{{OF_RPCS}, {OF_ANY_RUNS}}}", ["modes"], False, id="of any kind"),
        pytest.param(f"{{{OF_RPCS}}}", [], False, id="nothing"),
        pytest.param("{}", [], True, id="no tables declared"),
    ],
)
def test_an_evaluation_is_a_section_where_the_archive_is_of_its_kind(
    tables: str, filled: list[str], is_section: bool, tmp_path: Path
) -> None:
    evaluation, database = write_evaluation(tmp_path, "rpcs", tables, filled)
    list_sections([evaluation], [database], tmp_path / "sections.txt")
    assert (tmp_path / "sections.txt").read_text(encoding="utf-8") == ("rpcs\n" if is_section else "")


def test_sections_keep_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    made = [write_evaluation(tmp_path, name, f"{{{OF_RPCS}}}", ["rpc_load"]) for name in ("second", "first")]
    list_sections([made[0][0], made[1][0]], [made[0][1], made[1][1]], tmp_path / "sections.txt")
    assert (tmp_path / "sections.txt").read_text(encoding="utf-8") == "second\nfirst\n"
