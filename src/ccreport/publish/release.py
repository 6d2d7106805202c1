"""The release as a whole: staged beside its place, described, summed up, and only then moved there."""

import json
import platform
import shutil
from pathlib import Path
from typing import Any, Final

from ccreport.archive.pack import list_files, pack_folder
from ccreport.compare.claims import explains_archive
from ccreport.core.atomic_files import replace_folder
from ccreport.core.declarations import SCHEMAS
from ccreport.core.errors import InputError
from ccreport.publish import SUMS
from ccreport.publish.checks.sums import require_whole
from ccreport.publish.crate import write_crate
from ccreport.publish.datapackage import write_package
from ccreport.publish.declaration import Release, declare_release
from ccreport.publish.provenance import RECORDS, list_actions
from ccreport.publish.stage import check_raw, copy_tree, stage_raw, stage_results, stage_tables
from ccreport.publish.sums import name_beside, read_beside, read_sums, write_sums
from ccreport.publish.texts import write_changes, write_citation, write_readme
from ccreport.publish.views import write_views
from ccreport.storage.sums import hash_file

PUBLISHED: Final = (
    "version {version} is published already with other contents, and {release} stays as it is; raise release.version, "
    "or set `replace: true` below `release` in config.yaml"
)
ADDED: Final = "{path} is not a file of version {version}, and {release} is written anew; move it elsewhere first"


def publish(
    config: str,
    archive: list[Path],
    results: Path,
    evaluations: list[Path],
    sections: list[Path],
    release: Path,
    *,
    replace: bool = False,
) -> None:
    """Write a release of a build into a folder, and beside it its hash, and the same in one file if asked for.

    `config` is the configuration as JSON text; `archive` the raw archive as given, in one or in parts; `evaluations`
    are the declarations, the report's own first. `sections` is a file with the names of those that count. With
    `replace` a release that is there with other contents is replaced; without it only one of the same build is, whole
    or damaged. Raise InputError where there is another, or one with files that were added to it, where the release of a
    former version that the config names is none, where of another archive than the sample nobody or no licence is
    named, where nothing tells the time, or where the results are of other packed files than the archive.
    """
    settings = leave_out_other_explanations(read_settings(config), results)
    shown = list_shown(evaluations, sections)
    root = SCHEMAS.parent
    archived = _read_hash(results)
    declared = declare_release(settings["release"], shown[0], root / "CITATION.cff", results / "tables", archived)
    former = find_former(settings)
    moment_s = int(declared.moment.timestamp())
    is_whole = settings["release"]["raw"] == "archive"
    if is_whole:
        check_raw(archive, results)
    with replace_folder(release) as stage:
        raw = stage_raw(archive, results, stage / "raw", moment_s, is_whole=is_whole)
        declarations = stage_data(settings, shown, results, raw, stage)
        copy_tree(results / "report", stage / "site")
        shutil.copyfile(root / "LICENSE", stage / "LICENSE")
        _describe(stage, declared, declarations, results, raw, former)
        sha256 = write_sums(stage)
        is_other = _is_other(release, stage, sha256)
        if not replace:
            _check_same(release, stage, declared.version, is_other=is_other)
        packed = release.with_name(release.name + ".tar.zst")
        if is_other:
            # Of the release that is replaced; beside another folder it would be another release of the same version.
            packed.unlink(missing_ok=True)
            name_beside(packed).unlink(missing_ok=True)
    if is_other:
        print(f"{declared.version} was there with other contents and is replaced")
    name_beside(release).write_text(f"{sha256}  {release.name}/{SUMS}\n", encoding="utf-8")
    print(f"release {declared.version}: {release}, sha256 of its SHA256SUMS {sha256}")
    if settings["release"]["pack"]:
        pack_folder(release, packed, moment_s, root=f"{shown[0].stem}-{declared.version}")
        sha256 = hash_file(packed)
        name_beside(packed).write_text(f"{sha256}  {packed.name}\n", encoding="utf-8")
        print(f"packed: {packed}, sha256 {sha256}")


def _is_other(release: Path, stage: Path, sha256: str) -> bool:
    """Tell whether a release that is there, whole or damaged, is of another build than the staged one."""
    published = _list_hashes(release)
    return bool(published) and sha256 != _read_name(release) and published != _list_hashes(stage)


def _check_same(release: Path, stage: Path, version: str, *, is_other: bool) -> None:
    """Raise InputError where replacing a release would remove another one, or files that were added to it."""
    if is_other:
        raise InputError(PUBLISHED.format(version=version, release=release))
    if added := [path for path in list_files(release) if not (stage / path).exists()]:
        raise InputError(ADDED.format(path=release / added[0], version=version, release=release))


def _list_hashes(release: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a release by its path; empty where there is no release.

    Raw files are represented by `raw/SHA256SUMS`. The list of all files is not read: it may be gone, or be of files
    that were changed since.
    """
    own = (path.as_posix() for path in list_files(release) if path.as_posix() != SUMS)
    return {path: hash_file(release / path) for path in own if not path.startswith("raw/") or path == f"raw/{SUMS}"}


def _read_name(release: Path) -> str | None:
    """Return the SHA-256 of a SHA256SUMS or, where that is gone or damaged, the one told beside the folder."""
    try:
        read_sums(release)
    except InputError:
        return read_beside(release)
    return hash_file(release / SUMS)


def read_settings(config: str) -> dict[str, Any]:
    """Return the configuration of a JSON text; raise InputError for another text."""
    try:
        settings: dict[str, Any] = json.loads(config)
    except json.JSONDecodeError as error:
        raise InputError(
            f"--config is not JSON: {error}; a build gives it: type `snakemake --cores 8 publish`"
        ) from error
    return settings


def _read_hash(results: Path) -> str:
    sha256: str = json.loads((results / "archive.json").read_text(encoding="utf-8"))["sha256"]
    return sha256


def leave_out_other_explanations(settings: dict[str, Any], results: Path) -> dict[str, Any]:
    """Return a configuration without explanations of another archive than the results are of: no page shows them."""
    path = settings["explanations"]
    is_other = path and not explains_archive(Path(path), _read_hash(results))
    return settings | {"explanations": None} if is_other else settings


def list_shown(evaluations: list[Path], sections: list[Path]) -> list[Path]:
    """Return the evaluations of a report: the first, and of the others those that the file in `sections` names."""
    named = [name for path in sections for name in path.read_text(encoding="utf-8").split()]
    return [path for path in evaluations if path == evaluations[0] or path.stem in named]


def find_former(settings: dict[str, Any]) -> Path | None:
    """Return the release that the configuration names as the former one; raise InputError for none or a damaged one."""
    former = Path(settings["release"]["former"]) if settings["release"]["former"] else None
    if former is not None and not (former / "CITATION.cff").is_file():
        raise InputError(f"release.former: {former} is not a release; name the folder of one, or null")
    if former is not None:
        require_whole(former, former, [], has_raw=False)
    return former


def stage_data(
    settings: dict[str, Any], shown: list[Path], results: Path, raw: list[str], stage: Path
) -> dict[str, dict[str, Any]]:
    """Copy all of a release that two releases are compared by but for raw files; return the declarations by name."""
    stage_tables(results / "tables", stage / "tables")
    declarations = stage_results(settings, shown, results, raw, stage)
    for name in declarations:
        write_views(stage, name, include_suspect=settings["include_suspect"])
    return declarations


def _describe(
    stage: Path,
    declared: Release,
    declarations: dict[str, dict[str, Any]],
    results: Path,
    raw: list[str],
    former: Path | None,
) -> None:
    names = list(declarations)
    write_readme(stage, declared, raw, names[0], ".".join(platform.python_version_tuple()[:2]))
    write_citation(stage, declared)
    write_package(stage, declared, declarations)
    write_changes(stage, declared, former)
    write_crate(stage, declared, list_actions(RECORDS, results, names, raw))
