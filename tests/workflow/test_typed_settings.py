"""Settings typed otherwise than Snakemake reads them: what the line says to type, and which ones are left alone."""

from pathlib import Path

import pytest

from ccreport.workflow_fixes.typed_settings import explain_target, find_mistyped


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--config archive:archive/sample", "`archive:archive/sample` is not KEY=VALUE; write archive=archive/sample"),
        (
            "report -C strict=True release.version=2",
            "`release.version=2` is not KEY=VALUE; write 'release={version: 2}'",
        ),
        ("--config relase.verison=3", "`relase.verison=3` is not KEY=VALUE; write 'release={version: 3}'"),
        ("--config evalation:generic", "`evalation:generic` is not KEY=VALUE; write evaluation=generic"),
        ("--config mine:yours", "`mine:yours` is not KEY=VALUE; write mine=yours"),
        ("--config evaluation= generic", "`evaluation= generic` has a blank; write evaluation=generic"),
        ("--config strict = True report", "`strict = True` has a blank; write strict=True"),
        ("--config=strict =True", "`strict =True` has a blank; write strict=True"),
        ("--config report={renderer: auto}", "`auto}` is by itself; put all of a setting that has blanks in quotes"),
        (
            "--config pathvars=mine/res",
            "`pathvars=mine/res` is not a group of keys; write 'pathvars={results: mine/res}'",
        ),
        ("--config strict=True report", "`report` is not KEY=VALUE; a target comes before --config"),
    ],
)
def test_a_setting_says_what_to_type(typed: str, said: str) -> None:
    found = find_mistyped(typed.split())
    assert found is not None
    assert found.startswith(f"--config: {said}")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("pathvars={results: before logs: x}", "a brace that is not closed, or no comma between two keys"),
        ("pathvars={results: before}{", "a bracket or brace too many, or a text behind one, which needs quotes"),
        ("report={renderer: quarto", "a brace that is not closed"),
        ("sections=[mininet-bbr2", "a bracket that is not closed"),
    ],
)
def test_a_group_or_list_that_is_no_yaml_says_why(typed: str, said: str) -> None:
    assert str(find_mistyped(["--config", typed])).startswith(f"--config: `{typed}` is not YAML: {said}")


def test_a_date_that_is_none_is_named_without_a_line() -> None:
    typed = "release={date: 2026-13-40}"
    said = "date: `2026-13-40` is not a date: month must be in 1..12"
    assert find_mistyped(["--config", typed]) == f"--config: `{typed}`: {said}"
    assert find_mistyped(["--config", "report={zoom: 1, zoom: 2}"]) == (
        "--config: `report={zoom: 1, zoom: 2}`: `zoom` is also in line 1; delete one of them"
    )


def test_a_file_that_is_missing_is_named_with_the_one_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("strict: true\n", encoding="utf-8")
    said = "--configfile: mien.yaml does not exist; did you mean `mine.yaml`?"
    assert find_mistyped(["--configfile", "mine.yaml", "mien.yaml"]) == said
    said = "--configfile: report does not exist; a target comes before this option"
    assert find_mistyped(["--configfile", "mine.yaml", "report"]) == said


@pytest.mark.parametrize("text", ["", "no keys at all\n"])
def test_a_file_without_keys_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    said = f"--configfile: {path}: it has no keys; write `archive: PATH`, one key a line"
    assert find_mistyped(["--configfile", str(path)]) == said


def test_a_file_that_is_no_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("offline: true\nstrict false\n")
    found = find_mistyped(["--configfile", str(path)])
    assert found is not None
    assert found.startswith(f"--configfile: {path}:2: not YAML: a key without a colon")


def test_path_variables_of_a_file_are_a_group(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("offline: true\npathvars: mine\n")
    said = f"--configfile: {path}:2: pathvars: `mine` is not a group of keys; write {{results: mine}}"
    assert find_mistyped(["--configfile", str(path)]) == said
    path.write_text("pathvars: {results: }\n")
    assert "pathvars.results: `None` is not the name of a folder" in str(find_mistyped(["--configfile", str(path)]))


def test_what_snakemake_reads_is_left_alone() -> None:
    assert find_mistyped(["report", "--cores", "2", "x:y"]) is None
    assert find_mistyped(["report"]) is find_mistyped([]) is None
    assert (
        find_mistyped(["--config", "explanations=", "archive=a:b", "report={renderer: auto}", "-n", "report"]) is None
    )


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("strict=True", "`strict=True` is not a target: `--config strict=True`"),
        ("release.version=2", "`release.version=2` is not a target: `--config 'release={version: 2}'`"),
        ("ARCHIVE=mine", "`ARCHIVE=mine` is a setting of make: `make report ARCHIVE=mine` or `--config archive=mine`"),
        ("CORES=4", "`CORES=4` is a setting of make: `make report CORES=4`"),
        ("s3://bucket", None),
        ("results/archive=1", None),
    ],
)
def test_a_setting_for_a_target_says_what_to_type(target: str, said: str | None) -> None:
    assert explain_target(target, ["strict", "archive", "release"]) == said
