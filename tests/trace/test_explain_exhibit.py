"""`explain` of figures, and of tables by the numbers that a report shows."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from condition_runs import build_database
from explained_runs import FACTS
from test_summarise import EVALUATION, gather, run

from ccreport.__main__ import main
from ccreport.core.evaluation import SAMPLE, load_evaluation
from ccreport.trace.explain_exhibit import has_exhibit, list_declared
from ccreport.trace.find_table import advise_build, describe_others


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    drawn = results / "esnet-dtn/figures/topology"
    drawn.mkdir(parents=True)
    (drawn / "caption.txt").write_text("What is connected.\nIn detail.\n")
    (drawn / "figure.csv").touch()
    build_database(
        results / "esnet-dtn", gather(run(1, {"bbr": 9.0}, rtt_ms=10.0, condition_id="a", **FACTS)), EVALUATION
    )
    return results


@pytest.mark.parametrize("name", ["S1", "figure s1", "topology"])
def test_a_figure_by_number_or_name(name: str, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name, "--database", str(results)]) == 0
    printed = capsys.readouterr().out.splitlines()
    if name == "S1":
        assert (printed.pop(0), printed.pop(0)) == ("Table S1 is another matter: explain 'Table S1'", "")
    title, caption, details, _, data, declared, drawn, *runs = printed
    assert runs[1] == "Runs that meet its condition (1):"
    assert runs[3].split()[-1] == "r1"
    assert any(line.startswith("Raw files (0") for line in runs)
    assert runs[-1].startswith("SQL: WITH figure_runs AS (FROM labelled_runs WHERE (")
    assert title.startswith("esnet-dtn, Figure S1: ")
    assert title.endswith(" (topology)")
    assert (caption, details) == ("  What is connected.", "  In detail.")
    assert data == f"Data: {results}/esnet-dtn/figures/topology/figure.csv"
    assert "esnet-dtn.yaml:" in declared
    assert f"--figure topology --database {results}/esnet-dtn/archive.duckdb" in drawn


def test_a_figure_of_a_table_names_its_cells(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = results / "esnet-dtn/archive.duckdb"
    assert main(["explain", "table_2_dots", "--database", str(results)]) == 0
    printed = capsys.readouterr().out
    assert "\nMade of the cells of table_2_testbed: 1 of its 1 row\n" in printed
    assert '\nSQL of the figure: FROM "table_2_testbed" WHERE (TRUE )\nSQL: ' in printed
    # The command that it names explains a cell.
    (row,) = re.findall(rf'python -m ccreport explain table_2_testbed --row "(.+)" --database {database}\n', printed)
    assert main(["explain", "table_2_testbed", "--row", row, "--database", str(database)]) == 0
    assert "\nRuns (1):\n" in capsys.readouterr().out


def test_a_figure_that_only_a_copy_of_the_evaluation_has(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "esnet-dtn.yaml"
    declared = yaml.safe_load(EVALUATION.read_text())
    declared["figures"] = {"mine": declared["figures"]["topology"] | {"title": "My own"}}
    copy.write_text(
        yaml.safe_dump({key: declared[key] for key in ("title", "algorithms", "labels", "tables", "figures")})
    )
    assert main(["explain", "mine", "--database", str(results), "--evaluation", str(copy)]) == 0
    printed = capsys.readouterr().out
    assert "My own (mine)" in printed
    assert f"plot_figure --evaluation {copy} --figure mine" in printed
    # So of a file of another name, with a figure whose name is nearly that of a claim.
    own = tmp_path / "own.yaml"
    declared["figures"] = {"many_flows": declared["figures"]["mine"]}
    own.write_text(
        yaml.safe_dump({key: declared[key] for key in ("title", "algorithms", "labels", "tables", "figures")})
    )
    assert main(["explain", "many_flows", "--database", str(results), "--evaluation", str(own)]) == 0
    assert f"plot_figure --evaluation {own} --figure many_flows" in capsys.readouterr().out


def test_a_table_by_its_number(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "Table II", "--row", "flows_count=1", "--database", str(results)]) == 1
    assert "table_2_testbed has no flows_count `1` there" in capsys.readouterr().err
    assert main(["explain", "Table II", "--database", str(results)]) == 0
    assert capsys.readouterr().out.startswith("esnet-dtn, table_2_testbed, row 1: ")


@pytest.mark.slow
def test_a_number_without_a_publication_is_looked_up_in_the_report_first(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "results"
    (summaries := place / "generic/summaries").mkdir(parents=True)
    (place / "esnet-dtn").symlink_to(results / "esnet-dtn")
    runs = [run(n, {cc: 9.0}, rtt_ms=10.0, condition_id=cc, **FACTS) for n, cc in enumerate(("bbr", "cubic"))]
    build_database(place / "generic", gather(*runs), EVALUATION.with_name("generic.yaml"))
    (tmp_path / "config.yaml").write_text("evaluation: generic\n")
    for name in load_evaluation(EVALUATION.with_name("generic.yaml"))["tables"]:
        (summaries / f"{name}.csv").write_text("n\n1\n" if name in ("means", "jobs") else "n\n")

    def explain_number(name: str) -> str:
        main(["explain", name, "--database", str(place)])
        said = capsys.readouterr()
        return (said.err + said.out).partition("\n")[0]

    assert explain_number("Table 1").partition(", ")[2].startswith("means: 2 rows fit")
    assert explain_number("table 2").partition(", ")[2].startswith("jobs: 2 rows fit")
    # Figures have one number in the whole report, by which `plot_figure` knows them, too.
    numbers = {one.number: one for one in list_declared(place / "generic/archive.duckdb").values() if one.is_figure}
    assert list(numbers) == [str(number) for number in range(1, len(numbers) + 1)]
    assert numbers["2"].heading == f"Figure 2: {numbers['2'].title}"
    assert explain_number("Figure 2").endswith(f"({numbers['2'].name})")
    # By its number alone the figure is meant.
    assert explain_number("1") == "Table 1 is another matter: explain 'Table 1'"
    # What the report has not another evaluation may have.
    assert explain_number("Table II").startswith("esnet-dtn, table_2_testbed, row 1: ")


def test_other_evaluations_with_an_exhibit_of_that_number(results: Path, tmp_path: Path) -> None:
    other = build_database(tmp_path, gather(run(1, {"bbr": 9.0}, condition_id="a", **FACTS)), EVALUATION)
    own = results / "esnet-dtn/archive.duckdb"
    assert has_exhibit(own, "Figure S1")
    assert not has_exhibit(own, "Figure S999")
    assert describe_others(results, other, "Figure S1", lambda database: has_exhibit(database, "Figure S1")) == (
        f"Other evaluations have `Figure S1`, too; ask by --database {own.parent}\n"
    )
    assert describe_others(results, own, "Figure S1", lambda database: has_exhibit(database, "Figure S1")) == ""


def test_all_of_a_kind_are_listed(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for asked in ("figures", "Table"):
        assert main(["explain", asked, "--database", str(results)]) == 0
        listed = capsys.readouterr().out
        assert ("esnet-dtn, figures:" in listed, "esnet-dtn, tables:" in listed) == (
            asked == "figures",
            asked == "Table",
        )
        assert "claims:" not in listed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["figur_4"], "no published table, claim or figure `figur_4`; did you mean `figure_4`?"),
        (["S99"], "the report on esnet-dtn has no S99; its figures are "),
        (["Tabel II"], "no published table, claim or figure `Tabel II`; did you mean `table II`?"),
        (["clam 3"], "no published table, claim or figure `clam 3`; did you mean `claim 3`?"),
        (["tabel_2"], "no published table `tabel_2`; did you mean `table_2_testbed`?"),
        (["table VII"], "the report on esnet-dtn has no table VII; its tables are I, II, III, Table S1, "),
        (["Figure S999"], "the report on esnet-dtn has no Figure S999; its figures are 2, 3, "),
        (["S1", "--row", "a=b"], "S1 is a figure, which has no rows; leave out --row and --column"),
        (["table_2", "--evaluation", "esnet-dt"], "no evaluation is called `esnet-dt`; did you mean `esnet-dtn`?"),
        (["--row", "a=b"], "--row and --column name a row of a table: name the table, too"),
        (["figures", "--column", "a=b"], "--row and --column name a row of a table: name the table, too"),
        (["--evaluation", "generic"], "no results of the evaluation `generic` at "),
        (["table_2", "--evaluation", "generic"], "no results of the evaluation `generic` at "),
    ],
)
def test_what_is_not_there(given: list[str], said: str, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *given, "--database", str(results)]) == 1
    assert capsys.readouterr().err.startswith(f"ccreport: {said}")


def test_a_number_that_is_not_there_has_all_others_beside_it(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(results, tmp_path / "results")
    missing = tmp_path / "results/esnet-dtn/figures/figure_14/missing.txt"
    missing.parent.mkdir()
    missing.write_text("No run.\n")
    assert main(["explain", "Figure 99", "--database", str(tmp_path / "results")]) == 1
    assert re.search(r"; its figures are 2, .*, 13, S1, .*, S\d+, and without data 14\n$", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("configured", "said"),
    [
        (
            "evaluation: auto",
            "for these, set `evaluation: generic` in config.yaml, or name it there under `sections`, ",
        ),
        ("evaluation: generic", "`make report` builds them"),
        ("sections: [generic]", "`make report` builds them, if the archive has data of their kind"),
    ],
)
def test_what_would_build_an_evaluation_is_said_by_the_configuration(
    configured: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text(f"archive: {SAMPLE}\n{configured}\n")
    assert advise_build("generic", tmp_path / "results").removesuffix("then `make report`") == said


def test_an_evaluation_is_asked_by_its_name(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "other").mkdir(exist_ok=True)
    build_database(results / "other", gather(run(1, {"cubic": 9.0}, **FACTS)), EVALUATION)
    assert main(["explain", "--evaluation", "esnet-dtn", "--database", str(results)]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("esnet-dtn, tables:\n")
    assert re.search(r"\n  table_2_testbed +Table II: mean", listed)
    assert "\nesnet-dtn, figures:\n  figure_2  " in listed
    assert "other, " not in listed
    assert main(["explain", "runs", "--database", str(results)]) == 1
    said = "no published table `runs`; `python -m ccreport sql 'FROM runs'` prints it"
    assert capsys.readouterr().err == f"ccreport: {said}\n"
