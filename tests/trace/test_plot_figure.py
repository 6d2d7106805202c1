"""The command `plot_figure`: where it draws, what may be changed, and what it says where there is nothing to draw."""

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import yaml
from archives import ROOT
from figure_inputs import EPOCH, declare, make_database, make_tables

from ccreport.__main__ import EXAMPLES, main
from ccreport.core.declarations import SCHEMAS
from ccreport.core.errors import InputError
from ccreport.core.evaluation import resolve_evaluation
from ccreport.core.identifiers import match_runs
from ccreport.figures.select.declaration import FigureError, read_declaration
from ccreport.trace.plot_figure import plot_figure


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("tables"), make_tables("10.201.1.2", "nersc-tbn-1"))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("nothing", r"nothing is a folder; name the database of an evaluation, such as "),
        ("none.duckdb", "does not exist; name the database of an evaluation, such as results/"),
        ("evaluation.yaml", "evaluation.yaml is not a database, or a damaged one; name that of an "),
    ],
)
def test_a_path_that_is_not_a_database_is_named(place: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "mine").mkdir()
    duckdb.connect(str(tmp_path / "mine/archive.duckdb")).close()
    with pytest.raises(InputError, match=said):
        plot_figure("f", declare(tmp_path), tmp_path / "output", tmp_path / place)


@pytest.mark.slow
def test_a_figure_is_drawn_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build, elsewhere = tmp_path / "build", tmp_path / "elsewhere"
    (build / "results/mine").mkdir(parents=True)
    elsewhere.mkdir()
    monkeypatch.chdir(build)
    make_database(Path("results/mine"), make_tables("dest", "src"))
    monkeypatch.chdir(elsewhere)
    plot_figure("f", declare(tmp_path), Path("drawn"), Path("../build/results/mine/archive.duckdb"))
    assert (elsewhere / "drawn/figure.svg").exists()
    assert capsys.readouterr().out == "drawn/figure.svg\n"
    evaluation = declare(tmp_path).rename(tmp_path / "mine.yaml")
    plot_figure("f", evaluation, Path("of_folder"), Path("../build/results"))
    assert capsys.readouterr() == ("of_folder/figure.svg\n", "")
    # The usual one is named where it is another evaluation's, and by each error.
    monkeypatch.chdir(build)
    named = "the runs are those of results/mine/archive.duckdb; for others give --database"
    plot_figure("f", evaluation, Path("of_usual"))
    assert capsys.readouterr() == ("of_usual/figure.svg\n", "")
    plot_figure("f", declare(tmp_path), Path("of_usual"))
    assert capsys.readouterr() == ("of_usual/figure.svg\n", f"ccreport: {named}\n")
    with pytest.raises(FigureError, match=f"\nHere {named}$"):
        plot_figure("f", evaluation, Path("of_usual"), change=["where=flows_count = 3"])
    monkeypatch.chdir(elsewhere)
    # Of an evaluation without results the database of the configured one is taken.
    plot_figure("f", evaluation.rename(tmp_path / "copy.yaml"), Path("of_copy"), Path("../build/results"))
    assert capsys.readouterr().out == "of_copy/figure.svg\n"
    Path("file").touch()
    with pytest.raises(InputError, match=r"^file is a file; --output names a folder$"):
        plot_figure("f", declare(tmp_path), Path("file"), Path("../build/results/mine/archive.duckdb"))


def test_a_folder_of_other_things_is_not_a_figure_s(database: Path, tmp_path: Path) -> None:
    output = tmp_path / "tables"
    output.mkdir()
    (output / "runs.csv").touch()
    with pytest.raises(
        InputError, match=r"tables holds other things, such as runs\.csv; --output names a figure's own"
    ):
        plot_figure("f", declare(tmp_path), output, database)
    assert [path.name for path in output.iterdir()] == ["runs.csv"]
    # Beside a figure somebody may keep notes.
    (output / "figure.svg").touch()
    plot_figure("f", declare(tmp_path), output, database)
    assert (output / "figure.svg").stat().st_size > 0


def test_an_evaluation_that_comes_along_goes_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(
        FigureError, match=r"esnet-dtn\.yaml: no figure `rate_by_buffr`; did you mean `rate_by_buffer`\?$"
    ):
        plot_figure("rate_by_buffr", Path("esnet-dtn"), tmp_path, tmp_path)
    _, _, evaluation, _, figure, *_ = EXAMPLES["plot_figure"].split()
    assert read_declaration(resolve_evaluation(evaluation), figure).name == figure


def test_a_condition_that_no_run_meets_is_told_from_those_of_its_panels(database: Path, tmp_path: Path) -> None:
    own = "No run meets the figure's own `where`, which those of its panels are within."
    for conditions, is_told in (
        (("mode = 'both' AND rtt_ms > 1e6", "TRUE"), True),
        (("mode = 'both'", "FALSE"), False),
    ):
        evaluation = declare(tmp_path, where=conditions[0], panels=[{"title": "A", "where": conditions[1]}])
        with pytest.raises(InputError) as refused:
            plot_figure("f", evaluation, tmp_path / "drawn", database)
        assert (own in str(refused.value)) is is_told


def test_runs_of_another_kind_of_test_are_told_where_a_figure_has_panels(tmp_path: Path) -> None:
    # Runs that were measured, and so began at a time, with its zone.
    tables = make_tables("dest", "src")
    tables["runs"] = tables["runs"].with_columns(start_utc=pl.lit(EPOCH))
    database = make_database(tmp_path, tables)
    evaluation = declare(tmp_path, where="TRUE", panels=[{"title": "A", "where": "mode <> 'both'"}])
    with pytest.raises(FigureError, match=r"Panel \(a\), A, is left out: of \d+ runs? that match, none ran both"):
        plot_figure("f", evaluation, tmp_path / "drawn", database)


@pytest.mark.parametrize(
    ("changes", "hints"),
    [
        ({"where": "mode = 'boht'"}, ["No row has mode = 'boht'; did you mean `both`?"]),
        ({"where": "mode = 'both' AND flows_count = 3"}, ["No row has flows_count = 3; there are 2, 4"]),
        ({"panels": [{"title": "A", "where": "job = 'bboth'"}]}, ["No row has job = 'bboth'; did you mean `both`?"]),
    ],
)
def test_without_runs_the_command_fails_says_why_and_leaves_the_figure(
    changes: dict[str, Any], hints: list[str], database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation, output = declare(tmp_path, **changes), tmp_path / "drawn"
    output.mkdir()
    (output / "figure.svg").write_text("of yesterday", encoding="utf-8")
    given = ("--figure", "f", "--evaluation", str(evaluation), "--database", str(database), "--output", str(output))
    assert main(["plot_figure", *given]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    first, *others = printed.err.splitlines()
    place = rf"{re.escape(str(evaluation))}:\d+"
    assert re.match(rf"ccreport: {place}: figure 'f': (The archive has no run|Panel \(a\))", first)
    assert others == hints
    assert {path.name: path.read_text(encoding="utf-8") for path in output.iterdir()} == {"figure.svg": "of yesterday"}


def test_keys_of_a_figure_are_changed_for_one_drawing(database: Path, tmp_path: Path) -> None:
    changes = ["title=Two: the first second", "until_s=1", "overlapped=false", "run=bbr/2"]
    plot_figure("f", declare(tmp_path), tmp_path / "drawn", database, changes)
    caption = (tmp_path / "drawn/caption.txt").read_text(encoding="utf-8")
    assert "bbr/2" in caption
    assert "bbr/1" not in caption
    assert "Two: the first second" in (tmp_path / "drawn/figure.svg").read_text(encoding="utf-8")
    times = (tmp_path / "drawn/figure.csv").read_text(encoding="utf-8")
    assert ",0.75," in times
    assert ",1.25," not in times


def test_runs_that_a_name_could_be_are_a_line_each(database: Path, tmp_path: Path) -> None:
    with pytest.raises(FigureError) as refused:
        plot_figure("f", declare(tmp_path, overlapped=False), tmp_path / "drawn", database, ["run=gone"])
    first, *names = str(refused.value).splitlines()
    assert re.fullmatch(r"figure 'f': Run gone is none of the (\d+) runs that match:", first)
    assert names[:2] == ["  experiment-bbr/1", "  experiment-bbr/2"]


def test_the_name_of_a_run_is_no_part_of_a_longer_number() -> None:
    known = ["lab/run1", "lab/run12", "lab/11"]
    assert match_runs("run1", known) == ["lab/run1"]
    assert match_runs("run1", known[1:]) == []
    assert match_runs("1", known) == ["lab/run1"]
    assert match_runs("run", known) == ["lab/run1", "lab/run12"]


def test_a_run_of_another_condition_takes_its_condition_along(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = declare(tmp_path, overlapped=False, where="mode = 'cubic'")
    with pytest.raises(FigureError, match=r"experiment-bbr/2 does not meet the figure's `where`; give the full name: "):
        plot_figure("f", evaluation, tmp_path / "drawn", database, ["run=bbr/2"])
    plot_figure("f", evaluation, tmp_path / "drawn", database, ["run=experiment-bbr/2", "title=One"])
    assert "the run does not meet the figure's `where`; its condition takes" in capsys.readouterr().err
    assert "bbr/2 (iteration 2), chosen by name from" in (tmp_path / "drawn/caption.txt").read_text(encoding="utf-8")


def test_a_run_that_meets_the_condition_is_said_to_be_left_out_for_another_reason(
    database: Path, tmp_path: Path
) -> None:
    evaluation = declare(tmp_path, overlapped=True)
    said = r"experiment-bbr/2 meets the figure's `where`, but `overlapped` asks for runs of several algorithms at once"
    with pytest.raises(FigureError, match=said):
        plot_figure("f", evaluation, tmp_path / "drawn", database, ["run=bbr/2"])
    said = r"\d+ runs, such as \S+, meet the figure's `where`, but `overlapped` asks for runs of several algorithms at"
    with pytest.raises(FigureError, match=said):
        plot_figure("f", evaluation, tmp_path / "drawn", database, ["run=experiment-bbr"])


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("x.pdf", "--output names a folder, which gets all of .csv, .json, .png, .svg, .txt: x"),
        ("file/x", "--output: {}/file/x cannot be written: not a directory"),
    ],
)
def test_a_place_where_no_folder_can_be_is_one_line(
    place: str, said: str, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    figure = ["--figure", "f", "--evaluation", str(declare(tmp_path)), "--database", str(database)]
    assert main(["plot_figure", *figure, "--output", str(tmp_path / place)]) == 1
    assert capsys.readouterr().err == f"ccreport: {said.format(tmp_path)}\n"


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        # It meets the condition of the figure, which the title is of.
        (["run=bbr/2"], False),
        (["run=experiment-both/1"], True),
        (["where=mode = 'bbr'"], True),
        (["run=bbr/2", "title=Two"], False),
        (["rate=throughput"], True),
        (["until_s=1"], False),
    ],
)
def test_a_title_that_is_of_other_runs_is_told(
    changes: list[str], is_told: bool, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = declare(tmp_path, overlapped=False, title="All of\nthem", where="mode <> 'both'")
    plot_figure("f", evaluation, tmp_path / "drawn", database, changes)
    told = "the title is still that of the declared figure, “All of them”; change it too: --change title=…"
    assert capsys.readouterr().err.endswith(f"ccreport: {told}\n") == is_told


def test_a_number_that_no_figure_has_names_those_that_there_are(database: Path, tmp_path: Path) -> None:
    for evaluation, known in (
        (declare(tmp_path), "evaluation has the number S99; numbers are 1$"),
        (Path("esnet-dtn"), r"esnet-dtn has the number S99; numbers are 2, .* and S1 to S\d+$"),
    ):
        with pytest.raises(InputError, match=f"^no figure of {known}"):
            plot_figure("S99", evaluation, tmp_path / "drawn", database)


def test_a_figure_that_the_report_does_not_show_is_not_among_the_numbers(tmp_path: Path) -> None:
    evaluation = declare(tmp_path)
    declared = yaml.safe_load(evaluation.read_text())
    declared["figures"] = dict.fromkeys(("a", "b", "c", "d"), declared["figures"]["f"])
    evaluation.write_text(yaml.safe_dump(declared))
    database = make_database(tmp_path, make_tables("there", "here"))
    told = (
        ("bd", "numbers are 1 to 2; without data: 3 to 4"),
        ("bda", "numbers are 1; without data: 2 to 4"),
        ("bdac", "the report shows none"),
    )
    for missing, known in told:
        for name in missing:
            (tmp_path / "figures" / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / "figures" / name / "missing.txt").write_text("No run.")
        with pytest.raises(InputError, match=f"has the number 9; {known}$"):
            plot_figure("9", evaluation, tmp_path / "drawn", database)


def test_a_time_beyond_the_test_cuts_nothing_off(database: Path, tmp_path: Path) -> None:
    for folder, changes in (("whole", []), ("drawn", ["until_s=1000"])):
        plot_figure("f", declare(tmp_path), tmp_path / folder, database, changes)
    whole, drawn = (read_files(tmp_path / folder) for folder in ("whole", "drawn"))
    assert whole == drawn


def read_files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.suffix in (".csv", ".txt")}


def test_a_run_is_drawn_alone_of_a_figure_of_panels(database: Path, tmp_path: Path) -> None:
    panels = [{"title": title, "where": "TRUE"} for title in ("A", "B")]
    evaluation = declare(tmp_path, overlapped=False, panels=panels)
    plot_figure("f", evaluation, tmp_path / "panels", database)
    plot_figure("f", evaluation, tmp_path / "drawn", database, ["run=bbr/2"])
    captions = [(tmp_path / folder / "caption.txt").read_text(encoding="utf-8") for folder in ("panels", "drawn")]
    assert ["(b)" in caption for caption in captions] == [True, False]
    assert "bbr/2 (iteration 2), chosen by name from" in captions[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("until_s", "--change takes key=value, such as until_s=30, and `until_s` is not that"),
        ("titel=Two", "--change `titel` is not a key; did you mean `title`?"),
        # What other kinds take is not offered.
        (
            "from_s=3",
            "--change `from_s` is not a key; there are kind, needs, overlapped, panels, panels_by, question, rate,",
        ),
        ("title=", "--change title= has no value; without it, the figure keeps that of the evaluation"),
        ("until_s= ", "--change until_s= has no value; "),
        (
            "where=\"mode = 'both'\"",
            "--change where=\"mode = 'both'\": leave out the inner quotes, as the shell takes the",
        ),
        ("until_s=soon", "--change until_s: `soon` is not a number"),
        ("panels=[", "--change panels:1: not YAML: "),
        ("until_s=0.1", "figure 'f': until_s: 0.1 is before all that it draws: the first value is at 0."),
        ("where=mode = ", "figure 'f': the database refuses its `where`: the condition breaks off behind `=`"),
        ("table=means", "figure 'f': the kind 'throughput_over_time' has no `table`, only table_dots"),
        # The evaluation's file has another condition, whose line is not at fault.
        ("where=mdoe = 'both'", "figure 'f': the database refuses its `where`: "),
        ("where=mode = 'boht'", "figure 'f': The archive has no run that this figure would show."),
    ],
)
def test_a_change_that_cannot_be_used_is_refused(change: str, said: str, database: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(said)}"):
        plot_figure("f", declare(tmp_path), tmp_path / "drawn", database, [change])
    assert not (tmp_path / "drawn").exists()


def test_a_key_given_twice_is_refused(database: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--change until_s= is given twice; give it once$"):
        plot_figure("f", declare(tmp_path), tmp_path / "drawn", database, ["until_s=1", "until_s=2"])


def test_a_condition_of_panels_is_told_from_that_of_the_whole_figure(database: Path, tmp_path: Path) -> None:
    panel = {"title": "One", "where": "iteration IN (SELECT min(iteration) FROM figure_runs)"}
    evaluation = declare(tmp_path, panels=[panel])
    for change, said in (
        ("where=mode = ", "figure 'f': the database refuses its `where`: the condition breaks off behind `=`"),
        (
            f"panels={[panel | {'where': 'iteration IN (SELECT 1 FROM figure_run)'}]}",
            "figure 'f (a)': the database refuses its `where`: Table with name figure_run does not exist; did you mean",
        ),
    ):
        with pytest.raises(InputError, match=f"^{re.escape(said)}"):
            plot_figure("f", evaluation, tmp_path / "drawn", database, [change])


def test_another_kind_is_drawn_without_what_it_does_not_take(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    panels = [{"where": "TRUE", "title": "One"}, {"where": "TRUE", "title": "Two"}]
    evaluation = declare(tmp_path, kind="throughput_over_time", panels=panels)
    plot_figure("f", evaluation, tmp_path / "drawn", database, ["kind=share_over_time"])
    assert "share_over_time does not take panels, left out; the figure has only its own" in capsys.readouterr().err
    assert (tmp_path / "drawn/figure.svg").exists()


@pytest.mark.parametrize(
    ("facts", "is_told"), [({}, False), ({"overlapped": True}, False), ({"overlapped": False}, True)]
)
def test_only_what_a_figure_declares_is_said_to_be_left_out(
    facts: dict[str, Any], is_told: bool, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = declare(tmp_path, kind="throughput_over_time", **facts)
    # What is left out is said first; this small database lacks a column of the paths.
    with pytest.raises(FigureError, match="is_suspect"):
        plot_figure("f", evaluation, tmp_path / "drawn", database, ["kind=topology"])
    assert ("topology does not take overlapped, left out" in capsys.readouterr().err) == is_told


@pytest.mark.parametrize(
    ("results", "archive", "settings"),
    [
        ("{checkout}/results", "sample", ""),
        ("own results", "mine", " archive=path/to/mine 'pathvars={{results: {folder}/own results}}'"),
        ("again", "sample", " 'pathvars={{results: {folder}/again}}'"),
    ],
)
def test_a_label_of_another_evaluation_is_named_with_the_command_that_builds_it(
    results: str, archive: str, settings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, elsewhere = tmp_path / "checkout", tmp_path / "else"
    for folder in (checkout / "evaluations", elsewhere):
        folder.mkdir(parents=True)
    (checkout / "config.yaml").write_text("archive: archive/sample\n")
    folder = tmp_path / results.format(checkout=checkout) / "generic"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder.parent.parent)
    database = make_database(folder, make_tables("there", "here"))
    (folder.parent / "archive.json").write_text(json.dumps({"name": archive}))
    evaluation = declare(elsewhere, where="distance = 'far'")
    text = evaluation.read_text().replace("labels: {}", "labels: {distance: {cases: [], otherwise: \"'far'\"}}")
    evaluation.write_text(text)
    monkeypatch.setattr("ccreport.trace.plot_figure.SCHEMAS", checkout / "schemas")
    (checkout / "schemas").symlink_to(SCHEMAS)
    monkeypatch.chdir(elsewhere)
    build = f"snakemake --cores 2 evaluation --config evaluation={evaluation}{settings.format(folder=tmp_path)}`"
    with pytest.raises(
        FigureError, match="another evaluation made these results, which have no label `distance`;"
    ) as e:
        plot_figure("f", Path(evaluation.name), tmp_path / "drawn", database)
    assert f"`cd {checkout} && {build} makes them by this one" in str(e.value)
    # In the checkout paths are as they were given.
    monkeypatch.chdir(checkout)
    with pytest.raises(FigureError) as e:
        plot_figure("f", Path("../else", evaluation.name), tmp_path / "drawn", database)
    assert f"`{build.replace(str(elsewhere), '../else')} makes them by this one" in str(e.value)


def test_cells_of_a_table_have_a_label_of_another_evaluation_named_too(database: Path, tmp_path: Path) -> None:
    declared = yaml.safe_load((ROOT / "evaluations/generic.yaml").read_text(encoding="utf-8"))
    declared["labels"] = {"distance": {"cases": [], "otherwise": "'far'"}}
    declared["figures"]["dots"] = {"kind": "table_dots", "title": "Dots", "table": "means", "where": "distance = 'far'"}
    evaluation = tmp_path / "mine.yaml"
    evaluation.write_text(yaml.safe_dump(declared), encoding="utf-8")
    with pytest.raises(FigureError, match="another evaluation made these results, which have no label `distance`;"):
        plot_figure("dots", evaluation, tmp_path / "drawn", database)
