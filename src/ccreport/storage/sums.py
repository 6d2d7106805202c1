"""Checksums as they are published beside files and with them.

- Lists as `sha256sum` writes them (`SHA256SUMS`, `<file>.sha256`): GNU coreutils, with its escapes, and the BSD form.
- `Repr-Digest` (RFC 9530) and `Digest` (RFC 3230) headers.
- The ETag of S3: the MD5 of what was put in one piece; of what was put in parts, the MD5 of the parts' MD5s and their
  count, where the size of a part is not told and has to be guessed. Encrypted with a key of the store it is neither.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

LISTS: Final = frozenset({"sha256sums", "sha256sums.txt", "sha256sum", "sha256sum.txt"})
# As they are mostly spelt: where those of a packed archive may be, beside it.
SUMS_NAMES: Final = ("SHA256SUMS", "sha256sum.txt")
ENDINGS: Final = (".sha256", ".sha256sum")
# d2a8…  name · d2a8… *name · \d2a8…  name\nwith newline · SHA256 (name) = d2a8…
GNU: Final = re.compile(r"(?P<escape>\\?)(?P<sum>[0-9a-fA-F]{64})(?: [ *](?P<name>.+))?")
ESCAPED: Final = re.compile(r"\\[\\nr]")
UNESCAPED: Final = {"\\\\": "\\", "\\n": "\n", "\\r": "\r"}
BSD: Final = re.compile(r"SHA256 \((?P<name>.+)\) = (?P<sum>[0-9a-fA-F]{64})")
ESCAPES: Final = str.maketrans({escaped: escape for escape, escaped in UNESCAPED.items()})
HEADER_ALGORITHMS: Final = {"sha-512": "sha512", "sha-256": "sha256", "md5": "md5"}
MIB: Final = 2**20
# Sizes of parts that the common clients use, ours first.
PART_BYTES: Final = tuple(size * MIB for size in (16, 5, 8, 10, 15, 25, 32, 50, 64, 100, 128, 256, 512))


def is_sums(name: str, beside: Collection[str]) -> bool:
    """Tell whether a file of this name, among others beside it, holds checksums of them."""
    described = next((name[: -len(ending)] for ending in ENDINGS if name.lower().endswith(ending)), None)
    return name.lower() in LISTS or (described is not None and described in beside)


def unescape(path: str) -> str:
    """Return a path as it was before GNU coreutils escaped it."""
    return ESCAPED.sub(lambda found: UNESCAPED[found[0]], path)


def format_sums(sums: Mapping[str, str]) -> bytes:
    """Return a list of sums by path, sorted by path; bytes that are no UTF-8 stay as the file system has them."""
    lines = []
    for path in sorted(sums):
        escaped = path.translate(ESCAPES)
        mark = "\\" if escaped != path else ""
        lines.append(f"{mark}{sums[path]}  {escaped}\n")
    return "".join(lines).encode("utf-8", "surrogateescape")


def hash_sums(sums: Mapping[str, str]) -> str:
    """Return the SHA-256 of a list of sums, which stands for all the files of a folder."""
    return hashlib.sha256(format_sums(sums)).hexdigest()


def parse_sums(text: str, name: str) -> dict[str, str]:
    """Return the SHA-256 of each path that a list names; a sum without a name is of the file that names the list."""
    sums = {}
    for line in text.splitlines():
        match = GNU.fullmatch(line.rstrip("\r")) or BSD.fullmatch(line.rstrip("\r"))
        if match is None:
            continue
        path = match["name"] or re.sub(r"\.sha256(?:sum)?$", "", name, flags=re.IGNORECASE)
        if match.groupdict().get("escape"):
            path = unescape(path)
        sums[path.removeprefix("./")] = match["sum"].lower()
    return sums


def parse_digest(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Return algorithm and hexadecimal digest of a whole file, from the headers of its response, if they have one."""
    found: dict[str, str] = {}
    for field in ("Digest", "Repr-Digest"):
        for part in headers.get(field, "").split(","):
            key, _, value = part.strip().partition("=")
            algorithm = HEADER_ALGORITHMS.get(key.strip().lower())
            try:
                digest = base64.b64decode(value.strip().strip(":"), validate=True)
            except (binascii.Error, ValueError):
                continue
            if algorithm and len(digest) == hashlib.new(algorithm, usedforsecurity=False).digest_size:
                found[algorithm] = digest.hex()
    return next(((name, found[name]) for name in HEADER_ALGORITHMS.values() if name in found), None)


def hash_file(path: Path, algorithm: str = "sha256") -> str:
    """Return a file's hash, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()


def matches_etag(path: Path, etag: str | None) -> bool | None:
    """Tell whether a file is what an ETag of S3 was made of; None where the ETag does not tell."""
    match = re.fullmatch(r'"?([0-9a-f]{32})(?:-(\d+))?"?', etag or "")
    if match is None:
        return None
    if match[2] is None:
        return hash_file(path, "md5") == match[1]
    size, count = path.stat().st_size, int(match[2])
    candidates = [part for part in PART_BYTES if -(-size // part) == count]
    return True if any(_hash_parts(path, part) == match[1] for part in candidates) else None


def _hash_parts(path: Path, part_bytes: int) -> str:
    whole = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(part_bytes):
            whole.update(hashlib.md5(block, usedforsecurity=False).digest())
    return whole.hexdigest()
