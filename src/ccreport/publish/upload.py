"""A release copied to where others fetch it: another folder, S3, or a web server's WebDAV.

It goes below the target by its version. `SHA256SUMS` is written last: where it is, all that it names is there, and the
version is published. It does not change then: an upload goes on where one was interrupted, and mends what was damaged.
"""

from pathlib import Path
from typing import Final

from ccreport.archive.pack import list_files
from ccreport.core.errors import InputError
from ccreport.publish import SUMS
from ccreport.publish.sums import parse_sums, read_sums
from ccreport.storage.copy import Copied, copy_files, read_there
from ccreport.storage.places import is_remote
from ccreport.storage.sums import hash_file
from ccreport.storage.writable import check_folder

PUBLISHED: Final = (
    "{place} is published already with other contents, of which {path} is the first, and stays as it is; raise "
    "release.version, or give --replace (`replace: true` below `release` in config.yaml)"
)


def upload(release: Path, target: str, *, dry_run: bool = False, prune: bool = False, replace: bool = False) -> None:
    """Copy a release to `<target>/<version>`, new and changed files only, and compare each after it was written.

    `release` is the folder of the release. `target` is the path of a folder, s3://bucket/prefix or the https address of
    a WebDAV folder. `dry_run` only says what would go where. `prune` also deletes what is there and not in the release.
    With `replace` a version that is there with other contents is replaced; else it stays as it is, and the upload is
    refused. Raise InputError where the folder is no release, or not what its SHA256SUMS says, and where a version is
    not to be replaced; StorageError where a file cannot be written.
    """
    if not target:
        raise InputError("no place to upload to; set release.target in config.yaml, or name one with --target")
    if not is_remote(target):
        check_folder(Path(target), "--target")
    _check_whole(release)
    place = f"{target.rstrip('/')}/{release.name}"
    if not replace and (other := _find_other(release, place)):
        raise InputError(PUBLISHED.format(place=place, path=other))
    files = {path.as_posix(): release / path for path in list_files(release)}
    last = {SUMS: files.pop(SUMS)}
    # What only the target has is known when all files of the release are named: in the first step but the last one.
    done = [copy_files(files | last, place, dry_run=True)] if dry_run else _copy(files, last, place, prune=prune)
    written = sorted(path for copied in done for path in copied.written)
    unchanged = sum(len(copied.unchanged) for copied in done)
    others = sorted({path for copied in done for path in copied.others} - {*files, SUMS})
    _say(release, place, written, unchanged, others, dry_run=dry_run, prune=prune)


def _copy(files: dict[str, Path], last: dict[str, Path], place: str, *, prune: bool) -> list[Copied]:
    first = copy_files(files, place)
    return [first, copy_files(last, place)] if not prune else [first, copy_files(files | last, place, prune=True)]


def _find_other(release: Path, place: str) -> str | None:
    """Return the first file that the version published at a place has otherwise, lacks or has alone; null for none."""
    published = read_there(place, SUMS)
    if published is None or published == (release / SUMS).read_bytes():
        return None
    try:
        there = parse_sums(published, f"{place}/{SUMS}")
    except InputError:
        return SUMS
    own = read_sums(release)
    return next((path for path in sorted({*there, *own}) if there.get(path) != own.get(path)), SUMS)


def _check_whole(release: Path) -> None:
    for path, sha256 in read_sums(release).items():
        if not (release / path).is_file() or hash_file(release / path) != sha256:
            raise InputError(f"{release}: {path} is not what {SUMS} says; publish again")


def _say(
    release: Path, place: str, written: list[str], unchanged: int, others: list[str], *, dry_run: bool, prune: bool
) -> None:
    """Print what went where, or would."""
    verb = "would copy" if dry_run else "copied"
    for path in written:
        print(f"{verb} {path} -> {place}/{path} ({(release / path).stat().st_size:,} bytes)")
    for path in others:
        if prune:
            print(f"{'would delete' if dry_run else 'deleted'} {place}/{path}")
        else:
            print(f"only there, left as it is: {place}/{path}")
    print(f"{place}: {len(written)} files {verb}, {unchanged} already there")
