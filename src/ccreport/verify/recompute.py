"""The tables of a release made anew: from its raw archive, with its configuration and declarations.

The pipeline is the one that verifies, copied into a work folder, where Snakemake runs: the release's own `code/` is
somebody else's program and is only compared with it. What is compared: every typed table, every published table in all
its forms, comparisons, claims, and of the figures data, Vega-Lite and texts. SVG and PNG are not: fonts differ from
machine to machine.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

import ccreport
from ccreport.archive.pack import list_files
from ccreport.core.declarations import SCHEMAS
from ccreport.core.evaluation import load_evaluation
from ccreport.core.text import count_things
from ccreport.publish import EXPLANATIONS, LAYOUT, WHOLE
from ccreport.publish.checks import Check
from ccreport.publish.checks.raw_archive import find_archive
from ccreport.publish.datapackage import COMPARED, FORMATS
from ccreport.publish.stage import SUMMARY_KINDS, stage_code, stage_tables, write_yaml
from ccreport.storage.sums import hash_file
from ccreport.verify.compare import compare_files
from ccreport.verify.ledger import NO_ARCHIVE

NAME: Final = "recomputed"
# What of the code decides what tables hold; documents and pages do not.
CODE: Final = ("rules/", "schemas/", "src/", "workflow/", "evaluations/", "requirements.lock")
# Of these, what declares evaluations.
DECLARED: Final = "evaluations/"
SHOWN: Final = 3
#   12%  reading raw files  about 2 min left
STAGE: Final = re.compile(r" *\d+%  ")
FIGURE_PARTS: Final = (".csv", ".json", ".txt")


def check_recomputed(release: Path, work: Path) -> Check:
    """Build the tables of a release in a work folder and compare them with the published ones."""
    archive = find_archive(release)
    if not archive:
        return Check(NAME, unchecked=NO_ARCHIVE)
    print("all tables are being made again from the raw files ...", file=sys.stderr)
    code, results = work / "code", work / "results"
    stage_code(SCHEMAS.parent, code)
    declared = {path.parent.name: load_evaluation(path) for path in list_evaluations(release)}
    write_yaml(code / "config.yaml", _make_config(release, archive, list(declared), work))
    targets = ["ingest", *(str(path) for name in declared for path in _list_targets(results / name, declared[name]))]
    status, said = _build(code, targets)
    if status:
        return Check(NAME, unchecked=f"the tables could not be made anew: {_find_reason(said)}")
    stage_tables(results / "tables", work / "tables")
    compared = compare_files(_pair(release, work, declared))
    told, found = (
        json.loads((folder / "archive.json").read_bytes())["sha256"] for folder in (release / "raw", results)
    )
    others = () if told == found else (f"raw/archive.json: has another hash than the raw archive: {told}",)
    facts = f"{compared.facts}; {_compare_code(release, code)}"
    return Check(NAME, facts, (*others, *compared.failures), hashes=((found, "raw archive"),))


def _build(code: Path, targets: list[str]) -> tuple[int, list[str]]:
    """Make targets with the pipeline in a folder, showing progress as `make report` does; return status and lines."""
    command = [sys.executable, "-m", "snakemake", "--logger", "ccreport", "--cores", str(os.cpu_count() or 1), *targets]
    said = []
    with subprocess.Popen(  # noqa: S603 (the program that runs this, and paths as arguments)
        command, cwd=code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
    ) as build:
        for line in build.stdout or ():
            said.append(line.strip())
            if STAGE.match(line):
                print(line, end="", file=sys.stderr, flush=True)
    return build.returncode, list(filter(None, said))


def list_evaluations(release: Path) -> list[Path]:
    """Return the declarations of a release's evaluations, its own first."""
    config: dict[str, Any] = yaml.safe_load((release / "code/config.yaml").read_text(encoding="utf-8"))
    names = [Path(str(name)).stem for name in (config["evaluation"], *config["sections"])]
    return [release / "evaluations" / name / f"{name}.yaml" for name in names]


def _make_config(release: Path, archive: list[Path], names: list[str], work: Path) -> dict[str, Any]:
    """Return the configuration of a release, each of its paths leading into the release or the work folder."""
    config: dict[str, Any] = yaml.safe_load((release / "code/config.yaml").read_text(encoding="utf-8"))
    main, *sections = (str(release / "evaluations" / name / f"{name}.yaml") for name in names)
    explanations = release / EXPLANATIONS
    place: Any = [str(part) for part in archive] if len(archive) > 1 else str(archive[0])
    layout = release / "code" / LAYOUT
    return config | {
        "archive": {"path": place, "layout": str(layout)} if layout.is_file() else place,
        "evaluation": main,
        "sections": sections,
        "explanations": str(explanations) if explanations.is_file() else None,
        "compare_with": None,
        "store_results": None,
        "release": {"version": "0"},
        "pathvars": {"results": str(work / "results"), "logs": str(work / "logs")},
    }


def _list_targets(results: Path, declared: dict[str, Any]) -> list[Path]:
    summaries = (results / "summaries" / f"{table}.parquet" for table in declared["tables"])
    return [*summaries, results / "figures", *(results / f"{name}.parquet" for name in COMPARED)]


def _pair(release: Path, work: Path, declared: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Path, Path]]:
    """Yield name, place in the release and place in the work folder of all that is compared."""
    for table in sorted(path.name for path in (work / "tables").iterdir()):
        name = f"tables/{table}/{WHOLE}.parquet"
        yield name, release / name, work / name
    for evaluation, facts in declared.items():
        own, made = f"evaluations/{evaluation}", work / "results" / evaluation
        for table in facts["tables"]:
            for kind in SUMMARY_KINDS:
                name = f"{own}/tables/{table}.{kind}"
                yield name, release / name, made / "summaries" / f"{table}.{kind}"
        for table in COMPARED:
            for kind in FORMATS:
                yield f"{own}/{table}.{kind}", release / own / f"{table}.{kind}", made / f"{table}.{kind}"
        figures = {*list_files(release / own / "figures"), *list_files(made / "figures")}
        for path in sorted(path for path in figures if path.suffix in FIGURE_PARTS):
            name = f"{own}/figures/{path.as_posix()}"
            yield name, release / name, made / "figures" / path


def _compare_code(release: Path, code: Path) -> str:
    """Say whether the code that made the tables anew is the release's own, and which declarations a checkout lacks."""
    theirs, ours = (
        {path.as_posix(): hash_file(place / path) for path in list_files(place) if path.as_posix().startswith(CODE)}
        for place in (release / "code", code)
    )
    others = [path for path in sorted(theirs.keys() | ours.keys()) if theirs.get(path) != ours.get(path)]
    others = [path for path in others if "__pycache__" not in path]
    code_files = [path for path in others if not path.startswith(DECLARED)]
    told = [f"by ccreport {ccreport.__version__}, "]
    told[0] += f"whose code is not the release's in {_name(code_files)}" if code_files else "the code of the release"
    # Tables are made with the release's own declarations, whichever the checkout has.
    declared = [path for path in others if path.startswith(DECLARED) and path in theirs]
    told += [
        f"{_name(paths)} of the release {state}"
        for state, paths in (
            ("differing from this checkout's", [path for path in declared if path in ours]),
            ("not in this checkout", [path for path in declared if path not in ours]),
        )
        if paths
    ]
    return "; ".join(told)


def _name(paths: list[str]) -> str:
    """Return how many files there are and the first of them."""
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return f"{count_things(len(paths), 'file')} ({', '.join(paths[:SHOWN])}{more})"


def _find_reason(lines: list[str]) -> str:
    """Return the line of Snakemake's output that says why it ended, else its last one."""
    errors = [line for line in lines if "Error" in line or line.startswith("ccreport: ")]
    return (errors or lines or ["nothing was said"])[-1]
