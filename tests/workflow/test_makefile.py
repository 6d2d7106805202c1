"""The Makefile does what the README promises of it.

It runs here with stand-ins for Python, pip and Snakemake, which note how they were called.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from snakemake.cli import parse_config

TOP = Path(__file__).parents[2]
MAKEFILE = (TOP / "Makefile").read_text()
# Calls that install the project itself: pip, and the kernels of its readers.
PROJECT = [".", ".venv/kernels.txt"]
PROGRESS = ["--logger", "ccreport"]
# The stand-ins have no uv, so that pip installs.
LOCKED = ["venv", ".venv/uv.txt", "requirements.lock"]


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make as a user would: not as a child of the `make test` that runs this."""
    environment = {"HOME": str(folder), "PATH": f"{folder}/bin:{os.defpath}"}
    return subprocess.run(
        ["make", *arguments], check=False, cwd=folder, env=environment, capture_output=True, text=True
    )


def write_script(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def workbench(tmp_path: Path) -> Path:
    """A folder with a blank in its name, the Makefile, and stand-ins for the programs that it calls."""
    folder = tmp_path / "a clone"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        (folder / name).write_bytes((TOP / name).read_bytes())
    note = 'echo "$(basename "$0") $*" >>calls'
    write_script(folder / "bin/quarto", "exit 1")
    write_script(
        folder / "bin/python3",
        f'[ "$1" = -c ] && exec "{sys.executable}" "$@"\n{note}\n'
        "rm -rf .venv && mkdir .venv && cp -r stand-ins .venv/bin",
    )
    write_script(
        folder / "stand-ins/python",
        f'[ "$1" = -c ] && exec "{sys.executable}" "$@"\n{note}\n'
        'case "$*" in *quarto.txt*) [ ! -e new-quarto ] || cp new-quarto .venv/bin/quarto; [ -e new-quarto ] ;;\n'
        "*requirements.lock*) [ ! -e no-network ] ;;\nesac",
    )
    write_script(
        folder / "stand-ins/snakemake",
        f'"{sys.executable}" -c "import json, sys; print(json.dumps(sys.argv[1:]))" "$@" >arguments.json',
    )
    return folder


def take_calls(folder: Path) -> list[str]:
    """What was called since the last time one asked: `venv`, or the last word of a pip call."""
    notes = folder / "calls"
    lines = notes.read_text().splitlines() if notes.exists() else []
    notes.unlink(missing_ok=True)
    return ["venv" if "venv --clear" in line else line.split()[-1] for line in lines]


def test_help_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    # make report    the whole report from the raw archive
    listed = re.findall(r"^make ([\w-]+) +\w", make(TOP).stdout, re.MULTILINE)
    assert sorted(listed) == sorted(phony[1].split())
    targets = re.findall(r"^([a-z][a-z0-9 -]*):", MAKEFILE, re.MULTILINE)
    assert {name for line in targets for name in line.split()} == set(listed)


def test_every_test_is_run_by_one_of_the_two_calls_of_continuous_integration(workbench: Path) -> None:
    write_script(workbench / "stand-ins/pytest", 'echo "$*" >>asked')
    called = re.findall(r"^.*\bmake (test[a-z-]*)\b", (TOP / ".ci/run").read_text(), re.MULTILINE)
    for target in (*called, "test-all"):
        assert make(workbench, target, "ARGS=-k name").returncode == 0
    common = "--numprocesses 2 --dist loadfile --no-loadscope-reorder "
    asked = [line.removeprefix(common) for line in (workbench / "asked").read_text().splitlines()]
    assert asked == ["-m not slow -k name", "-m slow -k name", "-k name"]


@pytest.mark.parametrize("target", ["report", "tables", "ingest", "database", "publish"])
def test_targets_call_snakemake(workbench: Path, target: str) -> None:
    assert make(workbench, target).returncode == 0
    assert json.loads((workbench / "arguments.json").read_text()) == [*PROGRESS, "--cores", "8", target]
    make(workbench, target, "VERBOSE=1")
    assert json.loads((workbench / "arguments.json").read_text()) == ["--cores", "8", target]


def test_a_release_has_the_version_that_is_typed(workbench: Path) -> None:
    assert make(workbench, "publish", "VERSION=2.10").returncode == 0
    *command, option, version = json.loads((workbench / "arguments.json").read_text())
    assert [*command, option] == [*PROGRESS, "--cores", "8", "publish", "--config"]
    # A text, where 2.10 would be a number.
    assert parse_config([version]) == {"release": {"version": "2.10"}}
    assert make(workbench, "publish", "VERSION=2.10", "ARCHIVE=a b").returncode == 0
    *command, archive, version = json.loads((workbench / "arguments.json").read_text())
    assert command == [*PROGRESS, "--cores", "8", "publish", "--config"]
    assert parse_config([archive, version]) == {"archive": "a b", "release": {"version": "2.10"}}
    # Whether a version may be called so is for the check of the configuration to say.
    assert make(workbench, "publish", "VERSION=it's").returncode == 0
    *_, version = json.loads((workbench / "arguments.json").read_text())
    assert parse_config([version]) == {"release": {"version": "it's"}}
    assert "VERSION is empty; name one" in make(workbench, "publish", "VERSION=").stderr


def test_an_archive_is_refused_where_no_target_reads_it(workbench: Path) -> None:
    refused = make(workbench, "collect", "ARCHIVE=mine")
    assert refused.returncode == 2
    assert "ARCHIVE is for report, tables, ingest, database and publish" in refused.stderr
    assert "and collect_into=FOLDER is where a sweep goes" in refused.stderr
    assert not (workbench / "arguments.json").exists()


@pytest.mark.parametrize(
    ("asked", "setting"),
    [
        ("collected", "CAMPAIGN=a.yaml"),
        ("report", "CLOCK=virtual"),
        ("report", "VERSION=2"),
        ("help", "TARGET=x"),
        ("report", "ARGS=--config strict=False"),
    ],
)
def test_a_setting_is_refused_where_the_target_does_not_read_it(workbench: Path, asked: str, setting: str) -> None:
    refused = make(workbench, asked, setting)
    assert refused.returncode == 2
    assert re.search(rf"{setting.partition('=')[0]} is for: make \w+", refused.stderr)
    assert not (workbench / "arguments.json").exists()


@pytest.mark.parametrize(("code", "is_passed"), [(0, True), (1, True), (2, True), (3, False)])
def test_a_scorecard_fails_where_it_could_not_be_made(workbench: Path, code: int, is_passed: bool) -> None:
    assert make(workbench, "setup").returncode == 0
    write_script(workbench / ".venv/bin/python", f'echo "$*" >asked; exit {code}')
    assert (make(workbench, "scorecard", "ALGORITHM=htcp", "BLOCKS=abc").returncode == 0) == is_passed
    asked = (workbench / "asked").read_text()
    assert asked == "-m ccreport compare_kernels comparisons/rfc9743.yaml --algorithm htcp --blocks abc\n"


@pytest.mark.parametrize(
    "path",
    [
        "/data/archive.tar.zst",
        'a folder/it\'s "quoted"',
        "'quoted'",
        "$HOME/$(touch pwned)`touch pwned`$(shell touch pwned)",
        "2026-11-20:22:10",
        "123",
        "True",
        "a: b # c",
        "[café 🗎]",
        "back\\slash",
    ],
)
def test_archive_reaches_snakemake_as_typed(workbench: Path, path: str) -> None:
    result = make(workbench, "report", "CORES=2", f"ARCHIVE={path}")
    assert result.returncode == 0, result.stderr
    *command, option, archive = json.loads((workbench / "arguments.json").read_text())
    assert [*command, option] == [*PROGRESS, "--cores", "2", "report", "--config"]
    assert parse_config([archive]) == {"archive": path}
    assert not (workbench / "pwned").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("repotr", "no such target: repotr; did you mean `make report`? `make help` lists all."),
        ("Reports", "; did you mean `make report`?"),
        ("databse", "; did you mean `make database`?"),
        ("test_slow", "; did you mean `make test-slow`?"),
        ("--question colect", "; did you mean `make collect`?"),
        ("report tabels", "no such target: tabels; did you mean `make tables`?"),
        ("xyzzy", "no such target: xyzzy; `make help` lists all."),
        ("it's", "no such target: it's"),
        ("$(touch`touch_pwned`", "no such target: "),
        ("no/such/file.txt", "no such target: no/such/file.txt; `make help`"),
        ("--dry-run repotr", "; did you mean `make report`?"),
    ],
)
def test_a_misspelt_target_is_refused_with_the_one_that_is_meant(workbench: Path, typed: str, said: str) -> None:
    refused = make(workbench, *typed.split())
    assert refused.returncode == 2
    assert said in re.sub(r"\s+", " ", refused.stderr)
    assert not {"calls", "arguments.json", "pwned"} & {path.name for path in workbench.iterdir()}


@pytest.mark.parametrize(
    "words", [["pyproject.toml"], ["-n", "report"], ["-n", "report", "tables"], ["-n", ".venv/.complete"], ["-n"]]
)
def test_files_are_targets_and_a_dry_run_runs_nothing(workbench: Path, words: list[str]) -> None:
    done = make(workbench, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (workbench / "calls").exists()


def test_a_misspelt_setting_is_refused(workbench: Path) -> None:
    result = make(workbench, "report", "ARCHVE=/data/archive")
    assert result.returncode == 2
    assert "no such setting: ARCHVE; the settings are PYTHON CORES ARCHIVE" in result.stderr
    assert not (workbench / "arguments.json").exists()
    result = make(workbench, "report", "EVALUATION=mine")
    assert "Keys of config.yaml: snakemake --cores 8 report --config key=value" in result.stderr
    assert "ARCHIVE is empty; name one" in make(workbench, "report", "ARCHIVE=").stderr


@pytest.mark.parametrize(
    ("cores", "is_taken"), [("12", True), ("all", True), ("lots", False), ("0", False), ("", False)]
)
def test_cores_are_a_number_or_all(workbench: Path, cores: str, is_taken: bool) -> None:
    result = make(workbench, "report", f"CORES={cores}")
    told = f"CORES is '{cores}', which is not a number of processors: make report CORES=2, or CORES=all."
    assert (result.returncode == 0, told in result.stderr) == (is_taken, not is_taken)
    assert (workbench / "arguments.json").exists() is is_taken


def test_set_up_happens_once(workbench: Path) -> None:
    assert make(workbench, "report").returncode == 0
    assert take_calls(workbench) == [*LOCKED, *PROJECT]
    assert make(workbench, "report").returncode == 0
    assert take_calls(workbench) == []


def test_tools_of_developers_are_added_where_they_are_needed(workbench: Path) -> None:
    make(workbench, "report")
    take_calls(workbench)
    make(workbench, "setup")
    assert take_calls(workbench) == []
    make(workbench, ".venv/.developer")
    assert take_calls(workbench) == ["requirements-dev.lock"]
    make(workbench, ".venv/.developer")
    assert take_calls(workbench) == []


def test_uv_installs_where_it_could_be_installed(workbench: Path) -> None:
    write_script(workbench / "stand-ins/uv", 'echo "uv $*" >>calls')
    make(workbench, ".venv/.developer")
    calls = (workbench / "calls").read_text().splitlines()
    assert [line.split()[-1] for line in calls if line.startswith("uv pip install")] == [
        "requirements.lock", ".", "requirements-dev.lock"
    ]  # fmt: skip
    assert not any("--require-hashes" not in line for line in calls if line.endswith(".lock"))


def test_interrupted_set_up_is_redone(workbench: Path) -> None:
    (workbench / "no-network").touch()
    assert make(workbench, "report").returncode != 0
    assert take_calls(workbench) == LOCKED
    (workbench / "no-network").unlink()
    assert make(workbench, "report").returncode == 0
    assert take_calls(workbench)[:3] == LOCKED


def test_new_lock_renews_everything_and_new_project_only_the_project(workbench: Path) -> None:
    make(workbench, "setup")
    take_calls(workbench)
    later = (workbench / ".venv/.complete").stat().st_mtime + 10
    os.utime(workbench / "pyproject.toml", (later, later))
    make(workbench, "report")
    assert take_calls(workbench) == PROJECT
    os.utime(workbench / "pyproject.toml", (0, 0))
    os.utime(workbench / "requirements.lock", (later, later))
    make(workbench, "setup")
    assert take_calls(workbench)[:3] == LOCKED


def test_quarto_is_added_on_demand_only(workbench: Path) -> None:
    assert "Quarto" not in make(workbench, "setup").stdout
    failed = make(workbench, "quarto")
    assert failed.returncode != 0
    assert "the embedded renderer makes the report" in failed.stderr
    write_script(workbench / "new-quarto", "echo 1.9.38")
    assert "Quarto: .venv/bin/quarto" in make(workbench, "quarto").stdout
    take_calls(workbench)
    make(workbench, "setup")
    assert take_calls(workbench) == []


def test_broken_quarto_is_taken_away(workbench: Path) -> None:
    write_script(workbench / "new-quarto", "exit 1")
    assert make(workbench, "quarto").returncode != 0
    assert not (workbench / ".venv/bin/quarto").exists()


def test_quarto_at_hand_is_taken(workbench: Path) -> None:
    write_script(workbench / "bin/quarto", "echo 1.9.38")
    assert f"Quarto: {workbench}/bin/quarto" in make(workbench, "quarto").stdout
    assert take_calls(workbench) == [*LOCKED, *PROJECT]


@pytest.mark.parametrize(
    ("failing", "advice"),
    [
        ("version_info", "make report PYTHON=python3.12"),
        ("ensurepip", "apt-get install python3-venv"),
    ],
)
def test_unfit_python_is_named(workbench: Path, failing: str, advice: str) -> None:
    write_script(workbench / "bin/unfit", f'case "$2" in *{failing}*) exit 1 ;; esac')
    result = make(workbench, "report", "PYTHON=unfit")
    assert result.returncode != 0
    assert "unfit" in result.stderr
    assert advice in result.stderr
    assert not (workbench / ".venv").exists()


def test_absent_python_is_named(workbench: Path) -> None:
    assert "python3.99 is not Python 3.11 or newer" in make(workbench, "test", "PYTHON=python3.99").stderr
