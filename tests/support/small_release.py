"""A small release, made by hand: what a build of two runs leaves, and its publication."""

import json
from pathlib import Path
from typing import Any
from unittest import mock

import jsonschema
from archives import EPOCH, ROOT, make_table, save_table

from ccreport.archive.manifest import Manifest, RawFile, write_manifests
from ccreport.archive.pack import list_files
from ccreport.compare.claims import judge_claims
from ccreport.core.declarations import load_yaml
from ccreport.core.declared_files import fill_defaults
from ccreport.measure import EXPERIMENT_TABLES
from ccreport.publish import CRATE, stage
from ccreport.publish.release import publish
from ccreport.publish.sums import write_sums
from ccreport.storage.sums import hash_file, hash_sums
from ccreport.summarise.database import list_views

EVALUATION = """\
title: One question
algorithms: {CUBIC: {members: [cubic]}}
labels: {purpose: {cases: [], otherwise: "'steady'"}}
tables: {jobs: {title: Jobs, where: "TRUE"}}
claims:
  two_runs:
    text: There are two runs.
    source: here
    shown_in: [jobs]
    checks:
      - name: runs
        sql: SELECT count(*) AS value, value AS low, value AS high, value AS n FROM runs
        at_least: 2
        minimum_runs: 1
"""
# Of the code what tests look at: to copy and to hash 900 files a release takes half of a test.
SMALL_CODE = (
    *("rules", "schemas", "src/ccreport/measure", "src/ccreport/sql", "evaluations"),
    *("requirements.lock", "README.md", "LICENSE"),
)
RUNS = [{"run_id": "e.a", "experiment_id": "e", "start_utc": EPOCH}, {"run_id": "e.b", "experiment_id": "e"}]
# "hello\n" and nothing, as sha256sum has them.
HELLO = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def make_results(folder: Path) -> Path:
    """Write what a build of two runs leaves, by hand: two batches, of which one is empty."""
    results = folder / "results"
    for table in EXPERIMENT_TABLES:
        save_table(table, [], results / "tables" / table / "b1.parquet")
        save_table(table, RUNS if table == "runs" else [], results / "tables" / table / "b2.parquet")
    flows = [{"run_id": "e.a", "flow_id": "e.a/1", "cc": "cubic"}]
    save_table("flows", flows, results / "tables/flows/b2.parquet")
    raw = [
        {
            "raw_file_id": "f",
            "path": "2026-11-20:22:10/j/src-cmd:h:1",
            "sha256": HELLO,
            "size_bytes": 6,
            "state": "ignored",
        }
    ]
    save_table("raw_files", raw, results / "tables/raw_files/archive.parquet")
    save_table("rejects", [], results / "tables/rejects/archive.parquet")
    own = results / "one"
    (own / "summaries").mkdir(parents=True)
    for table, place in (("jobs", "summaries/jobs"), ("reproduction", "reproduction"), ("claims", "claims")):
        save_table(table, [], own / f"{place}.parquet")
        make_table(table, []).write_csv(own / f"{place}.csv")
    for name in (
        "summaries/jobs.html",
        "summaries/jobs.tex",
        "report.pdf",
        "supplement.pdf",
        "figures/figure_1/figure.svg",
    ):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text(name)
    (results / "report").mkdir()
    (results / "report/index.html").write_text("<title>One</title>")
    file = RawFile("f", "2026-11-20:22:10/j/src-cmd:h:1", "src-cmd", None, 6, HELLO, "ignored", rule="x")
    link = RawFile(
        "g", "2026-11-20:22:10/j/link", "unknown", None, 0, NOTHING, "rejected", reason="not_a_file", message="a link"
    )
    save_manifests(results, file, link)
    (results / "archive.json").write_text(json.dumps({"name": "raw", "sha256": NOTHING}))
    return results


def save_manifests(results: Path, *files: RawFile) -> None:
    (results / "manifests").mkdir(exist_ok=True)
    write_manifests([Manifest("e", None, None, (), files)], results / "manifests/b1.json")
    write_manifests([], results / "manifests/b2.json")
    (results / "batches.txt").write_text("b1 e\nb2\n")


def judge(results: Path, evaluation: Path) -> None:
    own = results / "one"
    list_views(results / "batches.txt", results / "tables", evaluation, own / "archive.duckdb")
    made = (own / "claims.parquet", own / "claims.csv")
    judge_claims(evaluation, own / "archive.duckdb", own / "summaries", results / "archive.json", [], *made)


RELEASE = {"version": "2.1", "creators": [{"name": "Ada Example"}], "license": "CC-BY-4.0"}


def make_config(**release: Any) -> str:
    schema = load_yaml(ROOT / "schemas/config.schema.yaml")
    config: dict[str, Any] = {"archive": "raw", "evaluation": "one.yaml", "release": RELEASE | release}
    fill_defaults(config, schema)
    jsonschema.validate(config, schema)
    return json.dumps(config)


def release_of(
    folder: Path,
    results: Path,
    archive: list[Path] | None = None,
    code: tuple[str, ...] = SMALL_CODE,
    **declared: Any,
) -> Path:
    raw = folder / "raw"
    (raw / "2026-11-20:22:10/j").mkdir(parents=True, exist_ok=True)
    (raw / "2026-11-20:22:10/j/src-cmd:h:1").write_text("hello\n")
    evaluation = folder / "one.yaml"
    evaluation.write_text(EVALUATION)
    judge(results, evaluation)
    release = folder / "release/2.1"
    with mock.patch.object(stage, "CODE", code):
        publish(
            make_config(**declared),
            archive or [raw],
            results,
            [evaluation],
            [],
            release,
            replace=declared.get("replace", False),
        )
    return release


def describe_again(release: Path) -> None:
    """Let the RO-Crate and SHA256SUMS of a release say what its files now are, as those of another release would."""
    crate = json.loads((release / CRATE).read_bytes())
    there = {path.as_posix(): hash_file(release / path) for path in list_files(release)}
    kept = []
    for entity in crate["@graph"]:
        name = entity["@id"]
        if name in there and "sha256" in entity:
            entity |= {"sha256": there[name], "contentSize": str((release / name).stat().st_size)}
        elif "sha256" in entity and name.endswith("/"):
            entity["sha256"] = hash_sums({path: sum_ for path, sum_ in there.items() if path.startswith(name)})
        elif "sha256" in entity:
            continue
        kept.append(entity)
    names = {entity["@id"] for entity in kept}
    for entity in kept:
        for key in ("hasPart", "object", "result"):
            if key in entity:
                entity[key] = [end for end in entity[key] if end["@id"] in names]
    (release / CRATE).write_text(json.dumps(crate | {"@graph": kept}))
    write_sums(release)
