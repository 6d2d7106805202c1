"""The first page's figure by its name: commands that find figures by theirs say what draws it."""

import shlex
from pathlib import Path

import pytest
from condition_runs import build_database, gather, make_run

from ccreport.__main__ import main
from ccreport.core.evaluation import EVALUATIONS
from ccreport.trace.pairs_figure import NAMES


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / "generic"
    folder.mkdir()
    return build_database(folder, gather(make_run(1, {"bbr": 9.0, "cubic": 1.0})), EVALUATIONS / "generic.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_the_first_page_s_figure_is_found_by_its_name(
    name: str, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {
        "explain": [name, "--evaluation", "generic"],
        "plot_figure": ["--figure", name, "--evaluation", "generic", "--output", str(tmp_path / "drawn")],
    }
    commands = [[command, *options, "--database", str(database)] for command, options in asked.items()]
    assert [main(command) for command in commands] == [1, 1]
    assert "This draws it" not in capsys.readouterr().err
    data = database.with_name("first_page") / "pairs/figure.csv"
    data.parent.mkdir(parents=True)
    data.touch()
    for command in commands:
        assert main(command) == 1
        (said,) = capsys.readouterr().err.splitlines()
        told, _, drawing = said.partition(". This draws it: python -m ccreport ")
        assert told.startswith(f"ccreport: `{name}` is the first page's figure; its numbers are in {data}, and ")
        words = shlex.split(drawing)
        assert words[0] == "plot_reproduction"
        assert words[words.index("--database") + 1] == str(database)
