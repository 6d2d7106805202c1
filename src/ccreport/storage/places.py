"""What `archive` in config.yaml may name besides a path: a web server's folder or file, an S3 prefix or object."""

import ipaddress
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from ccreport.core.errors import InputError
from ccreport.core.identifiers import short_hash

SCHEMES: Final = ("https", "http", "s3")
PACKED_ENDINGS: Final = (
    *(f".tar{ending}" for ending in ("", ".gz", ".zst", ".xz", ".bz2")),
    *(".tgz", ".txz", ".tbz2", ".tzst", ".zip"),
)
# host.example, 192.0.2.1, but not results or 2.1
HOST: Final = re.compile(r"localhost|(\d+\.){3}\d+|[\w-]+(\.[\w-]+)*\.[a-z]{2,}")


class StorageError(InputError):
    """What is elsewhere cannot be fetched, or not be stored."""


def is_remote(archive: str) -> bool:
    """Tell whether an archive's name is an address, and not a path of this machine."""
    return "://" in archive


def is_packed(archive: str) -> bool:
    """Tell whether an address is that of a tarball or zip, by its ending."""
    return urlsplit(archive).path.lower().endswith(PACKED_ENDINGS)


def is_loopback(host: str | None) -> bool:
    """Tell whether a host is this machine itself."""
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def guess_address(place: str) -> str:
    """Return the question whether an address is meant by a path that does not exist; no text where it is none.

    `127.0.0.1:8000/1/` and `host.example/1/` begin with the name of a host, and lack what an address begins with.
    """
    host, slash, _ = place.partition("/")
    name, colon, port = host.partition(":")
    is_host = port.isdecimal() if colon else bool(slash) and bool(HOST.fullmatch(host))
    if is_remote(place) or not is_host:
        return ""
    return f"; did you mean `{'http' if is_loopback(name) else 'https'}://{place}`?"


def check_address(archive: str) -> None:
    """Raise StorageError where an address is of a kind that nothing is fetched from, or carries a password."""
    try:
        parts = urlsplit(archive)
    except ValueError as error:
        raise StorageError(f"{archive}: no address ({error}); mend it") from error
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise StorageError(
            f"{archive}: no such kind of address; use a path, https://host/folder/ or s3://bucket/prefix"
        )
    if parts.username is not None or parts.password is not None:
        raise StorageError("the address holds a name or password; put them into ~/.netrc, and leave only the host here")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise StorageError(f"{archive}: http is unprotected and taken from this machine only; use https")
    if parts.query or parts.fragment:
        raise StorageError(
            f"{archive}: an address with ? or # is neither an index page nor a file; leave that part out"
        )


def find_fetched(archive: str, folder: Path) -> Path:
    """Return where a fetched archive is below the folder that it is fetched into: a folder, or the one file."""
    files = folder / "files"
    return files / name_packed(archive) if is_packed(archive) else files


def list_fetch_folders(archive: str | Sequence[str], folder: Path) -> dict[str, Path]:
    """Return where each address of a configured archive is fetched into: one alone into `folder`, others below it."""
    if isinstance(archive, str):
        return {archive: folder} if is_remote(archive) else {}
    return {address: folder / short_hash(address) for address in archive if is_remote(address)}


def name_packed(archive: str) -> str:
    """Return the file name of a packed archive: the address' own where it is a plain one."""
    path = urlsplit(archive).path
    name = unquote(path).rsplit("/", 1)[-1]
    ending = next(ending for ending in PACKED_ENDINGS if path.lower().endswith(ending))
    is_plain = name.isprintable() and len(name.encode()) < 200 and name.lower().endswith(ending) and name != ending
    return name if is_plain and not name.startswith(".") else f"archive{ending}"
