"""The data of a release, copied to where it belongs: raw files, tables, results of evaluations, site, code."""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from ccreport.archive.manifest import read_manifests
from ccreport.archive.pack import pack_folder
from ccreport.archive.parts import PARTS, is_in_parts, list_parts, number_names
from ccreport.archive.read_layout import read_declaration, split_archive
from ccreport.archive.unpack import find_record, read_record
from ccreport.core.declarations import SCHEMAS
from ccreport.core.errors import InputError
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import load_schema, open_writer
from ccreport.core.text import display_name
from ccreport.publish import EXPLANATIONS, LAYOUT, LAYOUT_TABLE, SUMS, WHOLE
from ccreport.publish.keys import TYPED_TABLES
from ccreport.rebuild.batches import read_batches
from ccreport.storage.sums import format_sums, hash_file

# Pieces of this size are gathered before they are written, so that thousands of small files do not stay as many pieces.
ROWS_AT_LEAST: Final = 2**17
SUMMARY_KINDS: Final = ("parquet", "csv", "html", "tex")
# What the pipeline is made of, and a reader needs to run it again, with all that README.md leads to; tests and archives
# stay behind.
CODE: Final = (
    *("workflow", "rules", "src", "schemas", "evaluations", "reports", "campaigns", "benchmarks/results"),
    *("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock", "environment.yml"),
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "archive/README.md", "LICENSE", "CITATION.cff"),
)
# Of the configuration: where results are, and what is done beside the report.
LEFT_OUT_KEYS: Final = ("pathvars", "campaign", "collect_into", "verify")
# Of links, devices, members that were not unpacked and files that could not be read there are no bytes to sum up.
WITHOUT_BYTES: Final = frozenset({"not_a_file", "unreadable"})
# Below the results: where an archive in one packed file is unpacked.
UNPACKED: Final = "archive"
# Of raw files that differ.
NAMED: Final = 3
LEFT_BEHIND: Final = ("__pycache__", ".snakemake_timestamp", "*.egg-info", "*.pyc")


def check_raw(archive: list[Path], results: Path) -> None:
    """Raise InputError where the packed files of an archive are not those that the results were made of.

    So it is after results were copied from another machine: Snakemake does not know then that the archive is another.
    """
    if is_in_parts(archive):
        parts = list_parts(archive)
        names = number_names(part.resolve().name if part.is_dir() else part.name for part in parts)
        given = {display_name(name): _hash_packed(part) for name, part in zip(names, parts, strict=True)}
        facts = json.loads((results / "archive.json").read_text(encoding="utf-8"))
        listed = {part["name"]: part["sha256"] for part in facts.get("parts", [])}
    elif archive[0].is_file() and find_record(results / UNPACKED).is_file():
        given = {archive[0].name: _hash_packed(archive[0])}
        listed = {archive[0].name: read_record(results / UNPACKED)["sha256"]}
    else:
        return
    if others := sorted(name for name in given.keys() | listed.keys() if given.get(name, "") != listed.get(name, "")):
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        raise InputError(
            f"the tables in {results} are of other raw files than the archive: {', '.join(others[:NAMED])}{more}; type "
            "`snakemake --cores 8 publish --forcerun list_raw_files`, so that the archive is listed again"
        )


def _hash_packed(part: Path) -> str | None:
    return None if part.is_dir() else hash_file(part)


def stage_raw(archive: list[Path], results: Path, folder: Path, moment_s: int, *, is_whole: bool) -> list[str]:
    """Write what tells of the raw files, and the archive itself if asked for; return the names of its files.

    An archive or a part that is a folder is packed into one file. Parts are in a folder of their own.
    """
    folder.mkdir(parents=True)
    shutil.copyfile(results / "archive.json", folder / "archive.json")
    write_raw_sums(results, folder)
    if not is_whole:
        return []
    parts = list_parts(archive)
    names = number_names(f"{part.resolve().name}.tar.zst" if part.is_dir() else part.name for part in parts)
    if is_in_parts(archive):
        (folder / PARTS).mkdir()
        names = [f"{PARTS}/{name}" for name in names]
    for part, name in zip(parts, names, strict=True):
        if part.is_dir():
            pack_folder(part, folder / name, moment_s)
        else:
            shutil.copyfile(part, folder / name)
    return names


def write_raw_sums(results: Path, folder: Path) -> None:
    """Write the SHA-256 of every raw file with its name as it is on disk, which the tables show with escapes."""
    manifests = [
        manifest
        for batch in read_batches(results / "batches.txt")
        for manifest in read_manifests(results / "manifests" / f"{batch}.json")
    ]
    files = (file for manifest in manifests for file in manifest.files)
    sums = {file.path: file.sha256 for file in files if file.reason not in WITHOUT_BYTES}
    (folder / SUMS).write_bytes(format_sums(sums))


def stage_tables(tables: Path, folder: Path) -> None:
    """Write each typed table as one file, its rows in the order of the build's files."""
    for table in TYPED_TABLES:
        path = folder / table / f"{WHOLE}.parquet"
        path.parent.mkdir(parents=True)
        with open_writer(table, path) as writer:
            for rows in _gather(_iterate_rows(sorted((tables / table).glob("*.parquet")))):
                writer.write_table(rows.cast(load_schema(table).arrow))


def _iterate_rows(paths: Iterable[Path]) -> Iterator[pa.Table]:
    for path in paths:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number).replace_schema_metadata(None)


def _gather(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(rows.num_rows for rows in waiting) >= ROWS_AT_LEAST:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def stage_results(
    config: Mapping[str, Any], evaluations: Iterable[Path], results: Path, raw: list[str], stage: Path
) -> dict[str, dict[str, Any]]:
    """Copy the results of evaluations and the code that made them, and return the evaluations' declarations by name."""
    declarations = {path.stem: _stage_evaluation(path, results / path.stem, stage) for path in evaluations}
    if config["explanations"]:
        shutil.copyfile(config["explanations"], stage / EXPLANATIONS)
    stage_code(SCHEMAS.parent, stage / "code")
    _write_config(config, raw, list(declarations), stage / "code/config.yaml")
    stage_layout(split_archive(config["archive"])[1], stage / "code")
    return declarations


def stage_layout(layout: str, folder: Path) -> None:
    """Write the layout that the configuration gives, with its table, beside the configuration of a release."""
    if not layout:
        return
    declared, source = read_declaration(layout)
    if "table" in declared:
        shutil.copyfile(source.folder / declared["table"], folder / LAYOUT_TABLE)
        declared = declared | {"table": LAYOUT_TABLE}
    write_yaml(folder / LAYOUT, declared)


def _stage_evaluation(evaluation: Path, results: Path, stage: Path) -> dict[str, Any]:
    """Copy the results of one evaluation, write its declaration with all defaults, and return that."""
    declared, folder = load_evaluation(evaluation), stage / "evaluations" / evaluation.stem
    (folder / "tables").mkdir(parents=True)
    for table in declared["tables"]:
        for kind in SUMMARY_KINDS:
            shutil.copyfile(results / "summaries" / f"{table}.{kind}", folder / "tables" / f"{table}.{kind}")
    papers = ("report.pdf", "supplement.pdf")
    for name in ("reproduction.parquet", "reproduction.csv", "claims.parquet", "claims.csv", *papers):
        shutil.copyfile(results / name, folder / name)
    copy_tree(results / "figures", folder / "figures")
    for table, facts in declared["reproduction"].items():
        target = folder / "expected" / f"{table}.csv"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(evaluation.parent / facts["expected"], target)
        facts["expected"] = f"expected/{table}.csv"
    write_yaml(folder / f"{evaluation.stem}.yaml", declared)
    return declared


def stage_code(root: Path, folder: Path) -> None:
    """Copy the pipeline as it is: rules, package, schemas, declarations, lock."""
    for name in CODE:
        source, target = root / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            copy_tree(source, target)
        elif source.is_file():
            shutil.copyfile(source, target)


def copy_tree(source: Path, target: Path) -> None:
    """Copy the files of a folder, but for what Snakemake and Python leave there."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_BEHIND), copy_function=shutil.copyfile)


def _write_config(config: Mapping[str, Any], raw: list[str], evaluations: list[str], path: Path) -> None:
    """Write the configuration of a release's code, all its paths leading into the release.

    Paths outside of a release (another build to compare with, a place to upload to, a campaign) are left out.
    """
    shown = {key: value for key, value in config.items() if key not in LEFT_OUT_KEYS}
    main, *sections = (f"../evaluations/{name}/{name}.yaml" for name in evaluations)
    shown |= {"evaluation": main, "sections": sections, "compare_with": None}
    archive, layout = split_archive(config["archive"])
    given = archive if isinstance(archive, list) else [archive]
    places = [f"../raw/{name}" for name in raw] or [Path(str(place)).name for place in given]
    shown["archive"] = places if len(places) > 1 else places[0]
    if layout:
        shown["archive"] = {"path": shown["archive"], "layout": LAYOUT}
    shown["explanations"] = f"../{EXPLANATIONS}" if config["explanations"] else None
    shown["release"] = config["release"] | {"former": None, "target": None, "replace": False}
    write_yaml(path, shown)


def write_yaml(path: Path, content: Mapping[str, Any]) -> None:
    """Write YAML, its keys in the order given."""
    text = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=120)
    path.write_text(text, encoding="utf-8")
