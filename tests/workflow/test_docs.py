"""What the documents say against what there is."""

import argparse
import ast
import csv
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from archives import ROOT

from ccreport.__main__ import (
    COMMANDS,
    EXAMPLES,
    FAILED_EXITS,
    FOR_PEOPLE,
    GROUPS,
    add_commands,
    add_options,
    describe_option,
    find_command,
    main,
    read_about,
)
from ccreport.compare_kernels.findings import FAILED_EXIT
from ccreport.rebuild.imports import list_imports

README = (ROOT / "README.md").read_text(encoding="utf-8")
RULES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk")}


def test_the_readme_is_short_and_so_are_its_pictures() -> None:
    assert len(README.splitlines()) <= 120
    for picture in re.findall(r"!\[[^]]+\]\((.*?)\)", README):
        assert (ROOT / picture).stat().st_size <= 150_000, picture


def read_cells(path: Path, rate: str, per_unit: float) -> dict[tuple[str, ...], float]:
    """Return the rates of Table II for RTT ≥ 30 ms by loss, sharing, flows and algorithm, in another unit."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["rtt_bucket"] == "RTT ≥ 30 ms"]
    return {
        (row["test_group"], row["sharing"], row["flows_count"], row["algorithm"]): float(row[rate]) / per_unit
        for row in rows
    }


def list_shown_cells(first: int) -> dict[tuple[str, ...], str]:
    """Return the rates of two columns of the README's rows of Table II, BBR's and CUBIC's, by the cell."""
    rows = re.findall(r"^\| (.*(?:alone|both) .*) \|$", README, re.MULTILINE)
    cells = [row.split(" | ") for row in rows]
    return {
        (*row[:3], algorithm): row[first + number] for row in cells for number, algorithm in enumerate(("BBR", "CUBIC"))
    }


def test_the_readme_s_rows_of_table_ii_are_the_paper_s() -> None:
    shown = list_shown_cells(3)
    assert len(shown) == 10
    paper = read_cells(ROOT / "evaluations/esnet-dtn/table_2_testbed.csv", "mean_gbps", 1)
    assert shown == {cell: f"{paper[cell]:.2f}" for cell in shown}


@pytest.mark.skipif("CCREPORT_SITE" not in os.environ, reason="CCREPORT_SITE names no built report of the sample")
def test_and_those_of_the_sample_s_report() -> None:
    shown = list_shown_cells(5)
    tables = Path(os.environ["CCREPORT_SITE"]) / "tables"
    here = read_cells(tables / "table_2_testbed.csv", "rate_mean_bps", 1e9)
    assert shown == {cell: f"{here[cell]:.2f}" for cell in shown}


@pytest.mark.skipif("CCREPORT_SITE" not in os.environ, reason="CCREPORT_SITE names no built report of the sample")
def test_and_what_is_known_of_the_sample_is_shown_with_it() -> None:
    # Only for the archive whose hash archive/explanations.yaml names, which changes with each of its files.
    page = (Path(os.environ["CCREPORT_SITE"]) / "index.html").read_text(encoding="utf-8")
    assert "About this archive" in page


def test_every_path_that_the_readme_names_exists() -> None:
    for path in re.findall(
        r"`((?:src|schemas|rules|reports|evaluations|archive|tests|benchmarks|workflow)/[^`{}*]*)`", README
    ):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_subcommand_has_help(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ccreport", command, "--help"], capture_output=True, text=True, check=True
    )
    summary = (find_command(command).__doc__ or "").splitlines()[0]
    assert " ".join(summary.split()) in " ".join(done.stdout.split())


def test_every_rule_calls_the_subcommand_of_its_name() -> None:
    # A rule of each evaluation is made in a loop, and named there: name_rule("summarise_tables", evaluation)
    begin = r'^(?:(?:rule|checkpoint) (\w+):\n| +rule:\n(?=(?:(?! +rule:).)*?name_rule\("(\w+)"))'
    pattern = re.compile(rf"{begin}(.*?)(?=^rule |^checkpoint |^ +rule:|\Z)", re.MULTILINE | re.DOTALL)
    rules = {name or made: body for text in RULES.values() for name, made, body in pattern.findall(text)}
    for_people = set(FOR_PEOPLE) - {"collect", "upload", "verify"}
    assert set(rules) == set(COMMANDS) - for_people
    for name, body in rules.items():
        assert f"python -m ccreport {name} " in body
        assert re.search(r'log:.*conda:\n +"../environment.yml"', body, re.DOTALL), name
        assert re.search(rf'code=digest_sources\(\s*"{name}"', body), name
        assert re.search(r'^ +""".+"""$', body, re.MULTILINE), name


def test_a_rule_that_reads_the_evaluation_reruns_when_its_part_changes() -> None:
    # `ancient` keeps an edit of one figure from redoing all tables; the declared part takes its place.
    for name, text in RULES.items():
        for body in re.split(r"^rule ", text, flags=re.MULTILINE):
            assert ("ancient(find_evaluation)" in body) == bool(re.search(r"declared=declare", body)), name


def test_every_interpolated_path_of_a_rule_is_quoted() -> None:
    for name, text in RULES.items():
        for field in re.findall(r"\{((?:input|output|log|params|wildcards)[^}]*)\}", text):
            switches = {"params.interrupted", "params.cpu_bound", "params.suspect"}
            assert field.endswith(":q") or field in switches, (name, field)


def test_no_name_is_defined_twice_in_the_rules() -> None:
    # Included files share their names: the last definition would be everybody's.
    defined = r"^(?:(?:def|rule|checkpoint) \w+|[A-Z_]+(?= =))"
    names = Counter(name.split()[-1] for text in RULES.values() for name in re.findall(defined, text, re.MULTILINE))
    assert {"list_views", "find_batches", "RESULTS"} <= set(names)
    assert [name for name, count in names.items() if count > 1] == []


def test_rule_files_stay_short() -> None:
    for name, text in RULES.items():
        assert len(text.splitlines()) <= 150, name


def test_modules_stay_explainable() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in (ROOT / "src").rglob("*.py")}
    assert {str(path): length for path, length in lengths.items() if length > 300} == {}


def test_an_edit_of_a_module_reruns_what_imports_it() -> None:
    modules = {path.name for path in list_imports("ccreport.ingest.mpstat.reader")}
    assert {"plain_text.py", "raw_file.py", "tables.py", "errors.py"} <= modules
    assert "database.py" not in modules


def list_imported(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, dotted and without the package's own name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in statements for alias in node.names}
    return {name.removeprefix("ccreport.") for name in names if name.startswith("ccreport.")}


def test_layers_import_only_downward() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.search(r"^Layers, .*?: (.*?)\.$", text, re.MULTILINE | re.DOTALL)
    assert listed is not None
    layers = [re.findall(r"`(\w+)`", layer) for layer in listed[1].split("·")]
    rank = {name: number for number, layer in enumerate(layers) for name in layer}
    package = ROOT / "src/ccreport"
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert set(rank) == folders
    for path in package.rglob("*/*.py"):
        own = path.relative_to(package).parts[0]
        for imported in {name.split(".")[0] for name in list_imported(path)} & folders - {own}:
            assert rank[imported] < rank[own], f"{path.relative_to(package)} imports {imported}"


@pytest.mark.parametrize("folder", ["collect", "figures", "ingest", "report"])
def test_parts_of_a_stage_import_each_other_one_way(folder: str) -> None:
    package = ROOT / "src/ccreport"
    needs: dict[str, set[str]] = {}
    for path in (package / folder).rglob("*.py"):
        own = path.relative_to(package / folder).with_suffix("").parts[0]
        inside = {name.split(".")[1] for name in list_imported(path) if name.startswith(f"{folder}.")}
        needs.setdefault(own, set()).update(inside - {own})
    assert len(list(TopologicalSorter(needs).static_order())) > 3


def test_folders_stay_readable() -> None:
    files = [path for path in (ROOT / "src/ccreport").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    counts = Counter(str(path.parent) for path in files)
    assert {folder: count for folder, count in counts.items() if count > 17} == {}


@pytest.mark.parametrize("command", FOR_PEOPLE)
def test_every_option_of_a_command_for_people_has_a_help_text(command: str) -> None:
    function = find_command(command)
    for name in inspect.signature(function).parameters:
        told = describe_option(inspect.getdoc(function) or "", name)
        assert told, f"{command} --{name}"
        assert not told.startswith(f"`{name}` ")


def test_each_option_has_a_sentence_of_its_own() -> None:
    for command in COMMANDS:
        function = find_command(command)
        options = (describe_option(read_about(function), name) for name in inspect.signature(function).parameters)
        said = list(filter(None, options))
        assert len(set(said)) == len(said), command


def test_help_lists_commands_for_people_first_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert not ended.value.code
    lines = capsys.readouterr().out.splitlines()
    titles = [line.removesuffix(":") for line in lines if line.endswith(":")]
    assert titles == list(GROUPS)
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert listed == [name for names in GROUPS.values() for name in names]
    for line in lines:
        if line.startswith("  "):
            name, _, summary = line.strip().partition(" ")
            assert summary.strip() == (inspect.getdoc(find_command(name)) or "").partition("\n")[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_help_speaks_to_whoever_calls_the_function(command: str) -> None:
    assert not re.search(r"\bRaises?\b|\b[A-Z]\w+Error\b", read_about(find_command(command)))


@pytest.mark.parametrize("number", ["-1", "nan", "inf"])
def test_a_number_below_0_is_refused_by_every_command(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused = []
    for name in FOR_PEOPLE:
        parameters = inspect.signature(find_command(name)).parameters.values()
        needed = [p for p in parameters if p.default is p.empty and p.annotation is not bool]
        given = ["x" if p.kind is p.POSITIONAL_ONLY else f"--{p.name.replace('_', '-')}=x" for p in needed]
        for option in (p for p in parameters if p.annotation in (int, float)):
            with pytest.raises(SystemExit) as ended:
                main([name, *given, f"--{option.name.replace('_', '-')}={number}"])
            assert ended.value.code == FAILED_EXITS.get(name, 2)
            said = capsys.readouterr().err
            problem = "is below 0" if number == "-1" else "is not a finite number"
            assert problem in said or "is not a whole number" in said
            refused.append(option.name)
    assert {"rows", "difference_pct", "power", "blocks", "cores", "scale_rates_by"} <= {*refused}


def test_a_help_text_is_the_sentences_that_name_the_option() -> None:
    def command() -> None:
        """Do `a`.

        `a` is a path,
        or none. `b` and `c` are words; `d` is 5 %. Raise InputError without `a`,
        or a `b`; QueryError for `e`.
        """

    said = read_about(command)
    assert describe_option(said, "a") == "a path, or none."
    assert describe_option(said, "c") == "`b` and `c` are words"
    assert describe_option(said, "d") == "5 %."
    assert describe_option(said, "e") == ""


def test_a_misspelt_command_is_answered_with_the_one_meant(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["verfy", "x"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "ccreport: no command `verfy`; did you mean `verify`? --help lists all.\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["collect", "--dry-run"],
            "collect: needs --campaign; for example `python -m ccreport collect --campaign campaigns/quick.yaml ",
        ),
        (["collect", "--campaign", "x", "--dryrun"], "collect: no option `--dryrun`; did you mean `--dry-run`?"),
        (["sql", "FROM", "runs"], "sql: one argument too many, `runs`; put what has blanks in quotes, as in `python"),
        (
            ["explain", "claim", "3", "--full"],
            'explain: one argument too many, `3`; put what has blanks in quotes, as in `python -m ccreport explain "cl',
        ),
        (["explain", "table_2", "loss_pct=1"], "explain: one argument too many, `loss_pct=1`; put what has blanks in"),
        (["sql", "--rows", "x"], "sql: --rows: `x` is not a whole number."),
        (
            ["diff", "1.0"],
            "diff: needs new; for example `python -m ccreport diff results/release/1 results/release/2`.",
        ),
        (["pack_sessions"], "pack_sessions: needs --archive: the archive's folder; --target: the folder of the packed"),
        ([], "needs COMMAND."),
        (["nosuch"], "no command `nosuch`."),
        # The option that was misspelt is the one that is missing.
        (["collect", "--campain", "x"], "collect: no option `--campain`; did you mean `--campaign`?"),
        (["upload", "--relase=x"], "upload: no option `--relase`; did you mean `--release`?"),
        (["upload"], "upload: needs --release, --target; for example `python -m ccreport upload --release results/"),
        (
            ["publish", "--config", "{}"],
            "publish: needs --archive, --results, --evaluations, --sections, --release, wh",
        ),
        (
            ["collect", "--clock", "vitual"],
            "collect: --clock: `vitual` is not one of its values; did you mean `virtual`?",
        ),
        (["compare_kernels", "a", "--clock", "x"], "compare_kernels: --clock: `x` is not one of its values; there are"),
    ],
)
def test_wrong_options_are_one_line_that_says_what_to_type(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == FAILED_EXITS.get(words[0] if words else "", 2)
    error = capsys.readouterr().err
    assert error.startswith(f"ccreport: {said}")
    assert error.endswith(" --help lists all.\n")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "words", [[], ["--campain", "X"], ["--clock", "virtul"], ["--blocks", "-3"], ["--blocks", "abc"]]
)
@pytest.mark.parametrize(
    ("command", "code"), [("compare_kernels", 3), ("compare_kernel", 3), ("verify", 2), ("verfy", 2)]
)
def test_a_mistyped_call_ends_with_no_code_of_a_verdict(command: str, code: int, words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, *words])
    assert ended.value.code == code


def test_what_could_not_be_done_has_a_code_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere, page = str(tmp_path / "none"), str(tmp_path / "none/page.html")
    replayed = ["--session", nowhere, "--job", "j", "--run", "r", "--into", nowhere]
    calls = [["verify", nowhere, "--html", page], ["diff", nowhere, nowhere, "--html", page], ["replay_run", *replayed]]
    for call in [*calls, ["compare_kernels", "a", "b"]]:
        assert main(call) == FAILED_EXITS[call[0]]
        assert capsys.readouterr().err.startswith("ccreport: ")
    assert FAILED_EXITS["compare_kernels"] == FAILED_EXIT


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_help_is_one_of_its_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_commands(parser, [name])
    assert name in FOR_PEOPLE
    assert parser.parse_args(shlex.split(EXAMPLES[name])).command == name
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert EXAMPLES[name] in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["publish", "compare_former"])
def test_a_configuration_that_is_not_json_is_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    others = ["--results", "r", "--evaluations", "e", "--sections", "s"]
    others += ["--archive", "a", "--release", "v"] if command == "publish" else ["--changes", "c"]
    assert main([command, "--config", "x", *others]) == 1
    assert re.fullmatch(r"ccreport: --config is not JSON: .*`snakemake --cores 8 publish`\n", capsys.readouterr().err)


def test_options_come_from_the_function() -> None:
    def command(path: Path, many: list[Path], name: str, some: Sequence[str] = (), *, flag: bool) -> None:
        """Do."""

    parser = argparse.ArgumentParser()
    add_options(parser, command)
    parsed = parser.parse_args(["--path", "a", "--many", "b", "c", "--name", "x", "--flag"])
    assert vars(parsed) == {"path": Path("a"), "many": [Path("b"), Path("c")], "name": "x", "some": [], "flag": True}
