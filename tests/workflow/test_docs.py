"""What the documents say against what there is."""

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support import ROOT

from ccreport.__main__ import COMMANDS, add_options, find_command
from ccreport.evaluation import list_evaluations, load_evaluation, resolve_evaluation
from ccreport.imports import list_imports
from ccreport.schemas import list_tables

README = (ROOT / "README.md").read_text(encoding="utf-8")
RULES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk")}


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def list_published() -> set[str]:
    """Return the tables of all evaluations."""
    return {table for name in list_evaluations() for table in load_evaluation(resolve_evaluation(name))["tables"]}


def test_the_readme_names_every_table() -> None:
    for table in set(list_tables()) - list_published():
        assert f"`{table}`" in README, table


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
    pattern = re.compile(r"^(?:rule|checkpoint) (\w+):\n(.*?)(?=^rule |^checkpoint |\Z)", re.MULTILINE | re.DOTALL)
    rules = {name: body for text in RULES.values() for name, body in pattern.findall(text)}
    for_people = {"plot_figure", "explain", "synthesise", "import_harness_ini", "diff"} | {
        command for command in COMMANDS if command.startswith("ingest_")
    }
    for_people -= {"ingest_batch"}
    assert set(rules) == set(COMMANDS) - for_people
    for name, body in rules.items():
        assert f"python -m ccreport {name} " in body
        for part in ("log:", 'conda:\n        "../environment.yml"'):
            assert part in body, (name, part)
        assert re.search(rf'code=digest_sources\(\s*"{name}"', body), name
        assert re.search(r'^    """.+"""$', body, re.MULTILINE), name


def test_a_rule_that_reads_the_evaluation_reruns_when_its_part_changes() -> None:
    # `ancient` keeps an edit of one figure from redoing all tables; the declared part takes its place.
    for name, text in RULES.items():
        for body in re.split(r"^rule ", text, flags=re.MULTILINE):
            assert ("ancient(find_evaluation)" in body) == bool(re.search(r"declared=declare", body)), name


def test_every_interpolated_path_of_a_rule_is_quoted() -> None:
    for name, text in RULES.items():
        for field in re.findall(r"\{((?:input|output|log|params|wildcards)[^}]*)\}", text):
            assert field.endswith(":q") or field in ("params.interrupted", "params.cpu_bound", "params.strict"), (
                name,
                field,
            )


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
    modules = {path.name for path in list_imports("ccreport.ingest.mpstat")}
    assert {"mpstat.py", "raw.py", "tables.py", "errors.py"} <= modules
    assert "database.py" not in modules


def test_layers_import_only_downward() -> None:
    layers = [
        {"units", "flow_identity", "errors", "ages", "hard_links", "imports", "schemas", "slurm_status"}
        | {"parents", "snakemake_faults", "whole"},
        {"tables", "raw", "rejects", "fingerprints", "batches", "batch_tables", "kept"},
        {"storage"},
        {"archive", "unpack", "content", "kinds", "job_names", "inventory_index", "inventory_folder", "inventory"},
        {"ingest", "synthesise"},
        {"measure", "evaluation"},
        {"collect"},
        {"database", "cells"},
        {
            "format_table",
            "format_csv",
            "format_names",
            "format_cells",
            "format_html",
            "format_latex",
            "summarise",
            "figures",
            "reproduction",
            "claims",
            "explain",
            "explain_edge",
            "read_files",
            "explorer",
            "list_sections",
            "published",
            "store",
        },
        {"report"},
        {"publish"},
        {"verify"},
    ]
    rank = {name: number for number, layer in enumerate(layers) for name in layer}
    package = ROOT / "src/ccreport"
    for path in package.rglob("*.py"):
        own = path.relative_to(package).parts[0].removesuffix(".py")
        if own in ("__init__", "__main__"):
            continue
        for imported in re.findall(r"^from ccreport\.(\w+)", path.read_text(), re.MULTILINE):
            assert rank[imported] <= rank[own], f"{path.name} imports {imported}"


def test_options_come_from_the_function() -> None:
    def command(path: Path, many: list[Path], name: str, *, flag: bool) -> None:
        """Do."""

    parser = argparse.ArgumentParser()
    add_options(parser, command)
    parsed = parser.parse_args(["--path", "a", "--many", "b", "c", "--name", "x", "--flag"])
    assert vars(parsed) == {"path": Path("a"), "many": [Path("b"), Path("c")], "name": "x", "flag": True}
