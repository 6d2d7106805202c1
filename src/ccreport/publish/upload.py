"""A release copied to where others fetch it: another folder, S3, or a web server's WebDAV.

It goes below the target by the version that its CITATION.cff says. `SHA256SUMS` is written last: where it is, all that
it names is there, and the version is published. It does not change then: an upload goes on where one was interrupted,
and mends what was damaged.
"""

import re
from pathlib import Path, PurePosixPath
from typing import Final

import yaml

from ccreport.archive.pack import list_files
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import FOLDER_OF_RELEASE, find_release_problem
from ccreport.publish import SUMS
from ccreport.publish.checks.descriptors import check_crate, check_package
from ccreport.publish.checks.sums import check_beside
from ccreport.publish.sums import list_damage, parse_sums, read_sums, say_damage
from ccreport.storage.copy import copy_files, read_there, remove_files
from ccreport.storage.places import is_remote
from ccreport.storage.writable import check_folder

PUBLISHED: Final = (
    "{place} is published already with other contents, of which {path} is the first, and stays as it is; raise "
    "release.version, or give --replace (`replace: true` below `release` in config.yaml)"
)
DAMAGED: Final = (
    "{release} is damaged: {damage}; `make publish VERSION={version}` repairs it if it is of this build, "
    "else fetch it again from its publisher"
)
CITATION: Final = "CITATION.cff"


def upload(release: Path, target: str, *, dry_run: bool = False, prune: bool = False, replace: bool = False) -> None:
    """Copy a release to `<target>/<version>`, new and changed files only, and compare each after it was written.

    `release` is the folder of the release. `target` is the path of a folder, s3://bucket/prefix or the https address of
    a WebDAV folder. `dry_run` only says what would go where. `prune` also deletes what is there and not in the release.
    With `replace` a version that is there with other contents is replaced, and what only that had is deleted; else it
    stays as it is, and the upload is refused. What SHA256SUMS does not list is named and not copied. Raise InputError
    where the folder is not a release, or not what its SHA256SUMS says, where the target is within it, and where a
    version is not to be replaced; StorageError where a file cannot be written.
    """
    if not target:
        raise InputError("no place to upload to; set release.target in config.yaml, or name one with --target")
    if not is_remote(target):
        check_folder(Path(target), "--target")
    sums = _read_whole(release)
    place = f"{target.rstrip('/')}/{read_version(release)}"
    if not is_remote(target):
        _check_apart(release, target, Path(place))
    published = read_there(place, SUMS)
    if not replace and (other := _find_other(release, place, published)):
        raise InputError(PUBLISHED.format(place=place, path=other))
    there = {path.as_posix(): release / path for path in list_files(release) if path.as_posix() != SUMS}
    for path in sorted(there.keys() - sums):
        print(f"not copied, as {SUMS} does not list it: {there[path]}")
    files, last = {path: file for path, file in there.items() if path in sums}, {SUMS: release / SUMS}
    # What only the target has is known when all files of the release are named: in the first step but the last one.
    done = [copy_files(files | last, place, dry_run=True)] if dry_run else [copy_files(files, place)]
    former = _list_paths(published, place) - {*files, SUMS} if replace else set()
    # Before SHA256SUMS is replaced: it tells the next upload what this one, interrupted, did not delete.
    removed = {*remove_files(former, place, dry_run=dry_run)}
    if not dry_run:
        done.append(copy_files(files | last if prune else last, place, prune=prune))
    written = sorted({path for copied in done for path in copied.written})
    others = {path for copied in done for path in copied.others} - {*files, SUMS} - removed
    deleted, left = (removed | others, set[str]()) if prune else (removed, others)
    _say(release, place, written, sorted(deleted), sorted(left), dry_run=dry_run)
    print(f"{place}: {len(written)} files {_copied(dry_run=dry_run)}, {len(files | last) - len(written)} already there")


def _check_apart(release: Path, target: str, place: Path) -> None:
    """Raise InputError where a release would be written into itself, or over what it is in."""
    own, there = release.resolve(), place.resolve()
    if there.is_relative_to(own) or own.is_relative_to(there):
        raise InputError(f"--target {target}: {place} is {release} itself, in it or around it; name a folder elsewhere")


def _list_paths(published: bytes | None, place: str) -> set[str]:
    """Return the paths in the SHA256SUMS that is at a place; none of a damaged one, nor one that leads out of there."""
    try:
        paths = parse_sums(published or b"", f"{place}/{SUMS}").keys()
    except InputError:
        return set()
    return {path for path in paths if not {"..", "."} & {*PurePosixPath(path).parts} and not path.startswith("/")}


def _find_other(release: Path, place: str, published: bytes | None) -> str | None:
    """Return the first file that the version published at a place has otherwise, lacks or has alone; null for none."""
    if published is None or published == (release / SUMS).read_bytes():
        return None
    try:
        there = parse_sums(published, f"{place}/{SUMS}")
    except InputError:
        return SUMS
    own = read_sums(release)
    return next((path for path in sorted({*there, *own}) if there.get(path) != own.get(path)), SUMS)


def _read_whole(release: Path) -> dict[str, str]:
    """Return the SHA256SUMS of a release that is as it and the descriptors say; raise InputError for another."""
    sums = read_sums(release)
    if problem := find_release_problem(release):
        raise InputError(f"{release} is not a release: {problem}; {FOLDER_OF_RELEASE}")
    damage = list(list_damage(release, sums)) or [
        failure
        for check in (check_beside(release.resolve()), check_package(release, sums), check_crate(release, sums))
        if check
        for failure in check.failures
    ]
    if damage:
        try:
            version = read_version(release)
        except InputError:
            version = release.resolve().name
        raise InputError(DAMAGED.format(release=release, damage=say_damage(damage), version=version))
    return sums


def read_version(release: Path) -> str:
    """Return the version that a release says it is, whatever its folder is called."""
    try:
        version = str(yaml.safe_load((release / CITATION).read_bytes())["version"])
    except (OSError, yaml.YAMLError, TypeError, KeyError) as error:
        raise InputError(f"{release}: {CITATION} does not say the version of the release") from error
    schema = load_yaml(SCHEMAS / "config.schema.yaml")["properties"]["release"]["properties"]["version"]
    if not re.fullmatch(schema["pattern"], version):
        raise InputError(f"{release}: {CITATION} has the version {version!r}, which is not the name of a folder")
    return version


def _copied(*, dry_run: bool) -> str:
    return "would copy" if dry_run else "copied"


def _say(release: Path, place: str, written: list[str], deleted: list[str], left: list[str], *, dry_run: bool) -> None:
    """Print what went where, or would."""
    for path in written:
        size_bytes = (release / path).stat().st_size
        print(f"{_copied(dry_run=dry_run)} {path} -> {place}/{path} ({size_bytes:,} bytes)")
    for path in deleted:
        print(f"{'would delete' if dry_run else 'deleted'} {place}/{path}")
    for path in left:
        print(f"only there, left as it is: {place}/{path}")
    if left:
        print(f"{place} will not verify until what is only there is removed: --prune")
