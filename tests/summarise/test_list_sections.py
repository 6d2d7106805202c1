"""Sections: an evaluation is one where the archive has what only its kind of archive has."""

from pathlib import Path

import pytest
from condition_runs import build_database, make_run

from ccreport.summarise.database import QueryError
from ccreport.summarise.sections import list_sections

DECLARED = """
title: of some runs
algorithms: {{CUBIC: {{members: [cubic]}}}}
labels: {{path_class: {{otherwise: "'any'"}}}}
tables: {tables}
"""
# The runs of this archive have 10 ms.
OF_ITS_KIND = "jobs: {title: of near runs, where: rtt_ms < 20}"
OF_ANOTHER = "jobs: {title: of far runs, where: rtt_ms > 20}"
OF_ANY = "cpu: {title: of any runs, makes_section: false}"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tables of an archive of one run."""
    folder = tmp_path_factory.mktemp("results")
    build_database(folder, make_run(1, {"cubic": 900.0}))
    return folder


def write_evaluation(folder: Path, name: str, tables: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(DECLARED.format(tables=tables), encoding="utf-8")
    return path


def find_sections(results: Path, evaluations: list[Path], output: Path) -> str:
    list_sections(results / "experiments.txt", results / "tables", evaluations, output)
    return output.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("tables", "is_section"),
    [
        pytest.param(f"{{{OF_ITS_KIND}, {OF_ANY}}}", True, id="of its kind"),
        pytest.param(f"{{{OF_ANOTHER}, {OF_ANY}}}", False, id="of any kind"),
        pytest.param(f"{{{OF_ANOTHER}}}", False, id="nothing"),
        pytest.param("{}", True, id="no tables declared"),
    ],
)
def test_an_evaluation_is_a_section_where_the_archive_is_of_its_kind(
    tables: str, is_section: bool, results: Path, tmp_path: Path
) -> None:
    evaluation = write_evaluation(tmp_path, "some", tables)
    assert find_sections(results, [evaluation], tmp_path / "sections.txt") == ("some\n" if is_section else "")


def test_sections_keep_the_order_in_which_they_are_named(results: Path, tmp_path: Path) -> None:
    evaluations = [write_evaluation(tmp_path, name, f"{{{OF_ITS_KIND}}}") for name in ("second", "first")]
    assert find_sections(results, evaluations, tmp_path / "sections.txt") == "second\nfirst\n"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        pytest.param("no_such_column > 3", 'some.yaml: view jobs_runs: .*"no_such_column"', id="no such column"),
        pytest.param("job::INTEGER > 3", "some.yaml: .*steady", id="no number"),
    ],
)
def test_a_condition_that_is_no_sql_over_the_runs_is_told_with_its_evaluation(
    where: str, message: str, results: Path, tmp_path: Path
) -> None:
    evaluation = write_evaluation(tmp_path, "some", f"{{jobs: {{title: of none, where: '{where}'}}}}")
    with pytest.raises(QueryError, match=message):
        find_sections(results, [evaluation], tmp_path / "sections.txt")
