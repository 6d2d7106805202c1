"""`adopt` where a part of a name says once more what another does, and what hinders a comparison of algorithms."""

import itertools
from pathlib import Path

import pytest
from archives import write_archive
from own_files import MPSTAT, START_S, client_output, socket_samples

from ccreport.adopt.adopt import adopt
from ccreport.archive.read_layout import load_layout

AGAIN = "No two algorithms share a condition: "


def write_tests(folder: Path, form: str, layout: str = "") -> Path:
    """Write two tests of each of two algorithms at two RTTs under names of a form, in which words may be twice."""
    files = {"layout.yaml": layout} if layout else {}
    for place, (cc, rtt, number) in enumerate(itertools.product(("bbr", "cubic"), (20, 80), (1, 2))):
        name = form.format(cc=cc, CC=cc.upper(), rtt=rtt, number=number, own={"bbr": "new", "cubic": "old"}[cc])
        files[f"{name}.out"] = client_output(4000 + place, cc, START_S + 60 * place)
        files[f"{name}.sock"] = socket_samples(4000 + place, cc, START_S + 60 * place)
        files[f"{name}.cpu"] = MPSTAT
    return write_archive(folder, files)


@pytest.mark.parametrize(
    "form",
    [
        "{rtt}ms/{cc}/test-{cc}-rep{number}",
        "{cc}/{rtt}ms/{CC}_run{number}",
        "{rtt}ms/{cc}_rtt{rtt}_run{number}",
        "{cc}_{rtt}ms/{cc}-{rtt}ms_rep{number}",
        # A number without a unit, before the one that has it.
        "{rtt}/{cc}_{rtt}ms_run{number}",
        "run{number}/{cc}_{rtt}ms_run{number}",
    ],
)
def test_what_repeats_another_group_is_not_a_parameter(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_tests(tmp_path, form)
    assert adopt(folder, check=False) == 0
    layout = load_layout(folder / "layout.yaml")
    assert layout.groups - {"job"} == {"cc", "rtt_ms", "iteration"}
    said = capsys.readouterr().out
    assert said.count("iperf3, mpstat, ss") == 8
    assert AGAIN not in said


def test_what_repeats_another_group_only_at_times_is_a_parameter(tmp_path: Path) -> None:
    """The two directions of a path may have the same delay."""
    pairs = enumerate(itertools.product((20, 80), (20, 80), ("bbr", "cubic")))
    files = {
        f"{one}ms_{other}ms_{cc}.json": client_output(4000 + n, cc, START_S + 60 * n) for n, (one, other, cc) in pairs
    }
    adopt(write_archive(tmp_path, files), check=False)
    assert load_layout(tmp_path / "layout.yaml").groups == {"rtt_ms", "second_rtt", "cc"}


def test_a_word_that_says_the_algorithm_otherwise_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_tests(tmp_path, "{own}/{cc}_{rtt}ms_run{number}")
    adopt(folder, check=False)
    told = f"{AGAIN}`variant` differs with `cc`. If it only says the algorithm again, write `(?:` for `(?P<variant>`"
    assert told in capsys.readouterr().out
    layout = (folder / "layout.yaml").read_text()
    (folder / "layout.yaml").write_text(layout.replace("(?P<variant>", "(?:"))
    assert adopt(folder, check=True) == 0
    assert AGAIN not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (
            r"(?P<a>[a-z]+)/(?P<rtt_ms>\d+)ms-(?P<b>[a-z]+)-(?P<iteration>\d)\..*",
            "`a` and `b` differ with `cc`. If they only say the algorithm again, write `(?:` for `(?P<a>` in the",
        ),
        (r"[a-z]+/(?P<rtt_ms>\d+)ms-(?P<cc>[a-z]+)-(?P<iteration>\d)\..*", ""),
    ],
)
def test_a_layout_under_which_nothing_is_compared_is_told(
    pattern: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_tests(tmp_path, "{cc}/{rtt}ms-{own}-{number}", f"files: [{{pattern: '{pattern}'}}]\n")
    adopt(folder, check=True)
    said = capsys.readouterr().out
    assert (f"{AGAIN}{told}" in said) if told else (AGAIN not in said)


@pytest.mark.parametrize(("key", "advice"), [("table", "add `ignore_columns: [lab]`"), ("set", "take `lab` out of")])
def test_a_parameter_of_a_table_or_of_a_pattern_that_says_the_algorithm_is_told(
    key: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labs = {"bbr": "north", "cubic": "south"}
    files = {f"{cc}{n}.json": client_output(4000 + n, cc, START_S + 60 * n) for n, cc in enumerate((*labs, *labs))}
    files["index.csv"] = "file,lab\n" + "".join(f"{path},{labs[path[:-6]]}\n" for path in files)
    layout = "table: index.csv\n"
    if key == "set":
        patterns = (f"{{pattern: '{cc}(?P<iteration>\\d)[.]json', set: {{lab: {lab}}}}}" for cc, lab in labs.items())
        layout = f"files: [{', '.join(patterns)}]\n"
    adopt(write_archive(tmp_path, files | {"layout.yaml": layout}), check=True)
    assert f"`lab` differs with `cc`. If it only says the algorithm again, {advice}" in capsys.readouterr().out
