"""Every command that README.md and the report's pages show, in a copy of the tree.

The tutorial is followed word for word. Of other commands that build, Snakemake plans the jobs (`--dry-run`); what needs
minutes, other machines or programs is checked as the tables below say. A command that is nowhere here fails a test.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from archives import ROOT
from browser import serve
from PIL import Image

from ccreport.__main__ import COMMANDS, add_commands
from ccreport.collect.engines import TOOLS, list_missing_tools

DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "reports").glob("*.qmd")))
TUTORIAL = ROOT / "reports/tutorial.qmd"
FENCE = re.compile(r"^```(?:sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COPIED = shlex.split("""
    Makefile README.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE config.yaml pyproject.toml requirements.lock
    requirements-dev.lock environment.yml src rules workflow schemas evaluations reports campaigns benchmarks
    archive/sample archive/explanations.yaml tests/fixtures/edge tests/fixtures/edge.yaml
    tests/fixtures/rpc_load.tar.xz tests/fixtures/rpc_load.yaml
    """)
# Where the documents have an example's address, that of a server on loopback.
EXAMPLE = "https://host.example"
# With progress in place of Snakemake's log.
SHORTLY = "snakemake --logger ccreport"
# Snakemake plans what these would run, all other words being as they stand.
PLANNED = {
    "make report",
    "make publish VERSION=2.1",
    "make report ARCHIVE=path/to/archive",
    "make report ARCHIVE=archive/quick",
    "make report ARCHIVE=archive/packed",
    "make report ARCHIVE=https://host.example/measurements/",
    "snakemake --cores 1 collect",
    "snakemake --cores 1 upload --config 'release={target: s3://bucket/data}'",
    "snakemake --cores 1 verify --config verify=https://host.example/release/2.1/",
    "snakemake --cores 2 database --config archive=path/to/archive",
    "snakemake --logger ccreport --cores 2 evaluation --config evaluation=satellites archive=path/to/archive",
    "snakemake --cores 2 ingest --config archive=path/to/archive strict=True",
    "snakemake --logger ccreport --cores 2 report --config strict=False 'report={renderer: embedded}'",
    f"{SHORTLY} --cores 2 report --config archive=path/to/before 'pathvars={{results: before, logs: logs-before}}'",
    "snakemake --logger ccreport --cores 8 report --config archive=https://host.example/measurements/ offline=True",
    "snakemake --cores 8 store_results --config store_results=s3://bucket/results",
    "snakemake --profile workflow/profiles/slurm report",
}
PLANNED_STARTS = (
    "snakemake --logger ccreport --cores 8 evaluation --config evaluation=",
    "snakemake --profile workflow/profiles/slurm report \\\n  --default-resources",
)
# Their options are read as the command line reads them: they measure, need a release, or take what is not here.
READ_STARTS = (
    "python -m ccreport adopt path/to/files",
    ".venv/bin/python -m ccreport adopt path/to/archive",
    "python -m ccreport import_harness_ini sweep.ini ",
    "python -m ccreport upload --release results/release/2.1 ",
    "python -m ccreport collect --campaign campaigns/example.yaml --archive ",
    "python -m ccreport compare_kernels ",
    "python -m ccreport pack_sessions --archive archive/quick ",
    "python -m ccreport verify ",
    ".venv/bin/python -m ccreport verify ",
    "python -m ccreport diff ",
)
# Makefile's recipes are expanded and not run: the tests themselves, a cluster.
EXPANDED = {"make test", "make cluster", "make setup"}
# Other tests do what these do.
SCALE = "python benchmarks/scale.py 100 1000 10000"
SIDE_BY_SIDE = "python benchmarks/side_by_side.py"
ELSEWHERE = {
    "make report     # results/report/index.html": "workflow/test_makefile.py",
    "make report ARCHIVE=https://host.example/measurements.tar.zst": "storage/test_fetch_web.py",
    "make report ARCHIVE=s3://bucket/measurements": "storage/test_fetch_s3.py",
    f"{SHORTLY} --cores 2 report --config archive=path/to/after compare_with=before": "compare/test_reproduction.py",
    "cd results/release/2.1": "publish/test_publish.py",
    "sha256sum --check --quiet SHA256SUMS": "publish/test_publish.py",
    "duckdb -init evaluations/esnet-dtn/views.sql": "publish/test_publish.py",
    "docker build --tag ccreport:0.1.0 .": "workflow/test_cluster_profiles.py",
    "kubectl apply -f workflow/profiles/kubernetes/job.yaml": "workflow/test_cluster_profiles.py",
    "kubectl logs --follow job/ccreport": "workflow/test_cluster_profiles.py",
    'while :; do echo "# $(date +%s.%N)"; ss -tinm; sleep 0.5; done > run1_ss.txt': "adopt/test_recordings.py",
    "mpstat -P ALL -o JSON 1 > run1_mpstat.json": "adopt/test_recordings.py",
    "tcpdump -i INTERFACE -s 128 -w run1.pcap tcp port 5201": "adopt/test_recordings.py",
    "tc -s qdisc > run1_netem.txt": "adopt/test_recordings.py",
    "iperf3 -c HOST -C cubic -t 30 -J > run1.json": "adopt/test_recordings.py",
    "make kernel": "collect/test_virtual_time.py",
    "make scorecard ALGORITHM=htcp": "compare_kernels/test_findings.py",
    "make collect CAMPAIGN=campaigns/quick.yaml CLOCK=virtual": "collect/test_campaign_physics.py",
    f"{SCALE} --repeats 3 --keep benchmarks/results/scale.json": "report/test_performance.py",
    f"{SIDE_BY_SIDE} --repeats 3 --keep benchmarks/results/side_by_side.json": "report/test_performance.py",
}
# They change the machine; Debian has the packages.
INSTALLING = "apt-get install "
# Run as they stand.
RUN = {
    "python -m ccreport --help",
    "python -m ccreport explain --help",
    "python -m ccreport collect --campaign campaigns/example.yaml --dry-run",
}
RUN_STARTS = ("python -m ccreport fetch_archive --source https://host.example/measurements/ ",)
# Run after the tutorial, of whose database it asks.
ASKING = "python -m ccreport sql "
# Run after a build of two sessions of the sample archive, which the examples' names are of.
ASKING_SAMPLE = tuple(f".venv/bin/python -m ccreport {name} " for name in ("explain", "sql", "export", "plot_figure"))
COPYING = "cp evaluations/esnet-dtn.yaml "
# Run after those, of whose figures they make other files.
CONVERTING = (".venv/bin/python -c ", "sed 's|@media ")
SAMPLE_PARTS = "[archive/sample/captures.tar.zst, archive/sample/table-2-1.tar.zst]"


def split_commands(block: str) -> Iterator[str]:
    """Yield the commands of a block: lines, put together until a shell takes them as whole."""
    command = ""
    for line in block.splitlines():
        command = f"{command}\n{line}" if command else line
        asked = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False)
        if asked.returncode == 0 and not asked.stderr and not line.endswith("\\"):
            yield command
            command = ""
    assert not command, f"not a whole command: {command}"


def list_commands(document: Path) -> list[str]:
    blocks = FENCE.findall(document.read_text(encoding="utf-8"))
    return [command for block in blocks for command in split_commands(block)]


SHOWN = sorted({command for path in DOCUMENTS if path != TUTORIAL for command in list_commands(path)} - {""})
TO_PLAN = [one for one in SHOWN if (one in PLANNED or one.startswith(PLANNED_STARTS)) and one not in ELSEWHERE]
TO_RUN = [one for one in SHOWN if one in RUN or one.startswith(RUN_STARTS)]
TO_READ = [one for one in SHOWN if one.startswith(READ_STARTS)]
TO_ASK = [one for asked in (COPYING, ASKING_SAMPLE, CONVERTING) for one in SHOWN if one.startswith(asked)]


def write_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree that looks set up: its .venv has the programs that run this test."""
    folder = tmp_path_factory.mktemp("clone") / "ccreport"
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        # With times and compiled readers, which would be compiled anew otherwise.
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, folder / name)
    programs = folder / ".venv/bin"
    programs.mkdir(parents=True)
    own = Path(sys.executable).parent
    write_script(programs / "python", f'exec "{sys.executable}" "$@"')
    write_script(programs / "snakemake", f'exec "{own}/snakemake" ${{PLAN_ONLY:+--dry-run --quiet}} "$@"')
    (programs / "activate").write_text(f'export PATH="{programs}:{own}:$PATH"\n')
    for stamp in (".locked", ".complete", ".developer"):
        (folder / ".venv" / stamp).touch()
    for archive in ("path/to/archive", "path/to/before", "archive/quick"):
        shutil.copytree(ROOT / "tests/fixtures/edge/archive", folder / archive)
    (folder / "archive/packed").mkdir()
    shutil.copy(ROOT / "tests/golden/cut.tar.zst", folder / "archive/packed/quick.tar.zst")
    (folder / "evaluations/satellites.yaml").write_text(
        re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "reports/evaluations.qmd").read_text(), re.MULTILINE | re.DOTALL)[0]
    )
    return folder


@pytest.fixture(scope="module")
def address(tree: Path) -> Iterator[str]:
    (tree / "served").mkdir()
    (tree / "served/measurements").symlink_to(tree / "path/to/archive")
    with serve(tree / "served") as served:
        yield served


def run_in(tree: Path, script: str, **variables: str) -> str:
    """Run a script as a person would in a shell of the tree, and return what it printed; it must end well."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTEST"))}
    path = f"{tree}/.venv/bin{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=tree,
        env=kept | {"PATH": path, "PYTHONPATH": str(tree / "src"), **variables},
        capture_output=True,
        text=True,
        # Made-up archives have names that are no UTF-8.
        errors="backslashreplace",
        check=False,
    )
    assert done.returncode == 0, f"$ {script}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def test_every_command_of_the_documents_is_tested() -> None:
    tested = {*TO_PLAN, *TO_RUN, *TO_READ, *TO_ASK, *EXPANDED, *ELSEWHERE, "source .venv/bin/activate"}
    unknown = [one for one in SHOWN if one not in tested and not one.startswith((INSTALLING, ASKING))]
    assert unknown == []
    # Nothing is listed that no document has.
    assert {*PLANNED, *RUN, *EXPANDED, *ELSEWHERE} - set(SHOWN) - set(list_commands(TUTORIAL)) == set()
    for name in ELSEWHERE.values():
        assert (ROOT / "tests" / name).exists(), name


@pytest.mark.slow
@pytest.mark.parametrize("command", TO_PLAN)
def test_what_builds_can_be_planned(tree: Path, address: str, command: str) -> None:
    # The archive of these tests is not the sample, whose authors and licence are known.
    named = "creators: [{name: Ada Example}], license: CC-BY-4.0"
    config = f"release: {{version: '1', raw: archive, target: elsewhere, {named}}}"
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    (tree / "config.yaml").write_text(re.sub(r"^release:\n(?:  .*\n?)+", f"{config}\n", text, flags=re.MULTILINE))
    run_in(tree, command.replace(EXAMPLE, address), PLAN_ONLY="yes")


@pytest.mark.slow
@pytest.mark.parametrize("command", TO_RUN)
def test_short_commands_end_well(tree: Path, address: str, command: str) -> None:
    if " collect " in command and (missing := list_missing_tools(TOOLS)):
        pytest.skip(f"{', '.join(missing)} is not installed")
    assert run_in(tree, command.replace(EXAMPLE, address)) or "fetch" in command


@pytest.mark.parametrize("command", TO_READ)
def test_options_are_those_of_the_command(command: str) -> None:
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    name, *options = words[words.index("ccreport") + 1 :]
    if name not in COMMANDS:
        pytest.skip(f"{name} is not part of this version")
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_commands(parser, [name])
    assert vars(parser.parse_args([name, *options]))["command"] == name


@pytest.mark.parametrize("command", sorted(EXPANDED))
def test_makes_targets_are_there(tree: Path, command: str) -> None:
    run_in(tree, f"{command} --dry-run")


@pytest.mark.slow
def test_the_tutorial_is_followed_word_for_word(tree: Path) -> None:
    commands = list_commands(TUTORIAL)
    asked = [one for path in DOCUMENTS for one in list_commands(path) if one.startswith(ASKING) and path != TUTORIAL]
    assert sum(one.startswith(("make report", "snakemake")) for one in commands) == 4
    said = run_in(tree, "\n".join([*commands, *asked]))
    for page in ("report/index.html", "sharing/report/index.html"):
        assert (tree / "results" / page).exists(), page
    # The last of the three equal builds had nothing to do; the tables of rejects and of rates were printed.
    assert "Nothing to be done" in said
    assert "gbps" in said
    assert "truncated" in said


def test_the_clean_up_of_the_tutorial_names_what_its_commands_made_and_what_its_text_says() -> None:
    text, _, ending = TUTORIAL.read_text(encoding="utf-8").partition("\nTo clean up: ")
    (command,) = re.findall("`(rm -r .+?)`", ending)
    made = {"raw", "raw.key", "later", "evaluations/sharing.yaml", "results/generic", "results/sharing"}
    assert {*command.split()[2:]} == made
    assert [name for name in made if name not in text] == []


@pytest.mark.slow
def test_what_is_asked_of_the_sample_has_an_answer(tree: Path) -> None:
    configured = f"evaluation=esnet-dtn 'archive={SAMPLE_PARTS}'"
    run_in(tree, f"snakemake --cores 2 results/esnet-dtn/claims.parquet --config {configured}")
    assert len(TO_ASK) >= 4
    for command in TO_ASK:
        run_in(tree, command)
    # Where the checkout is moved nothing is to be built: Snakemake has kept no path of a file in it from the root.
    kept = [json.loads(path.read_text()) for path in (tree / ".snakemake/metadata").iterdir()]
    assert any("evaluations/esnet-dtn.yaml" in made["input"] for made in kept)
    assert [path for made in kept for path in made["input"] if path.startswith(str(tree))] == []
    assert (tree / "flows.csv").stat().st_size > 0
    assert (tree / "run.qlog").stat().st_size > 0
    assert (tree / "figure_4.pdf").read_bytes().startswith(b"%PDF-")
    with Image.open(tree / "figure_4_dark.png") as picture:
        assert picture.convert("L").getpixel((2, 2)) < 40
    assert "Limits in the first session" in (tree / "limits/figure.svg").read_text(encoding="utf-8")
