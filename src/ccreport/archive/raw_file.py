"""Raw files: how their bytes are read, and which of them an experiment has.

Raw files may be compressed (gzip, zstd, xz, bzip2, recognised by their first bytes, not by their names). A manifest is
the list of one experiment's files, as the inventory wrote it; those of a batch of experiments are in one JSON file.
"""

import bz2
import json
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import zstandard

from ccreport.errors import InputError

BLOCK_BYTES: Final = 4 * 2**20
# Small pieces of compressed input bound what one of them can unpack to (about 130 MB in zstd's worst case).
COMPRESSED_BLOCK_BYTES: Final = 4096
# ASSUME: a JSON document or side file of one run is at most this large once decompressed.
WHOLE_FILE_LIMIT_BYTES: Final = 2**30
# ASSUME: and has at most so many lines and values; one takes up to 120 bytes of memory (`{"a":1}` are two).
PIECES_LIMIT: Final = 2**26
PIECE_BEGINS: Final = (b",", b"[", b"{", b"\n")

# Outputs of tools compress to a tenth or a twentieth; what unpacks to so many times its size and to so much is a bomb.
RATIO_LIMIT: Final = 200
RATIO_FREE_BYTES: Final = 2**26
HALF_LETTER: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


DECOMPRESSORS: Final[dict[bytes, Callable[[], _Decompressor]]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"\x28\xb5\x2f\xfd": lambda: zstandard.ZstdDecompressor().decompressobj(),
    b"\xfd7zXZ\x00": lzma.LZMADecompressor,
    b"BZh": bz2.BZ2Decompressor,
}


class RawFileError(InputError):
    """A raw file, or the rest of it from `offset` on, cannot be used; `reason` is of the closed set in rejects.yaml."""

    def __init__(self, reason: str, message: str, *, offset: int | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.offset = offset
        self.line = line


def iterate_blocks(path: Path, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the decompressed bytes of a raw file in non-empty blocks.

    Raise RawFileError (`unreadable`, `truncated_compression`, `corrupt_compression`) after the last good block.
    """
    offset = 0
    try:
        with path.open("rb") as stream:
            for block in _iterate_plain(stream, block_bytes):
                offset += len(block)
                yield block
    except EOFError as error:
        message = "the compressed file ends early; copy it again from its source"
        raise RawFileError("truncated_compression", message, offset=offset) from error
    except (zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
        message = f"the compressed data are damaged ({error}); copy it again from its source"
        raise RawFileError("corrupt_compression", message, offset=offset) from error
    except OSError as error:
        # bz2 reports damaged data as an OSError without an errno.
        reason = "corrupt_compression" if error.errno is None else "unreadable"
        raise RawFileError(reason, f"the file cannot be read ({error.strerror or error})", offset=offset) from error


def _iterate_plain(stream: BinaryIO, block_bytes: int) -> Iterator[bytes]:
    head = stream.read(6)
    stream.seek(0)
    new = next((new for magic, new in DECOMPRESSORS.items() if head.startswith(magic)), None)
    if new is None:
        while block := stream.read(block_bytes):
            yield block
        return
    decompressor = new()
    while compressed := stream.read(COMPRESSED_BLOCK_BYTES):
        while compressed:
            if decompressor.eof:
                decompressor = new()
            if block := decompressor.decompress(compressed):
                yield block
            compressed = decompressor.unused_data if decompressor.eof else b""
    if not decompressor.eof:
        raise EOFError


def read_whole(path: Path, limit_bytes: int = WHOLE_FILE_LIMIT_BYTES) -> bytes:
    """Return all decompressed bytes of a raw file.

    Raise RawFileError as `iterate_blocks` does, and with `unpacks_too_large` beyond the limits of bytes, or of
    lines and values, which bound the memory that a parser takes.
    """
    blocks = []
    length = 0
    for block in iterate_blocks(path):
        blocks.append(block)
        length += len(block)
        if length > RATIO_FREE_BYTES and length > RATIO_LIMIT * path.stat().st_size:
            message = f"{path.stat().st_size} bytes unpack to more than {length}; no tool's output shrinks like that"
            raise RawFileError("unpacks_too_large", message, offset=length)
        if length > limit_bytes:
            raise RawFileError("unpacks_too_large", f"larger than {limit_bytes} bytes once decompressed", offset=length)
    whole = b"".join(blocks)
    if length > PIECES_LIMIT and sum(map(whole.count, PIECE_BEGINS)) > PIECES_LIMIT:
        raise RawFileError("unpacks_too_large", f"more than {PIECES_LIMIT} lines and values in {length} bytes")
    return whole


@dataclass(frozen=True)
class RawFile:
    """One file of the archive as the inventory saw it; `action` is ingest, ignored or rejected."""

    raw_file_id: str
    path: str
    kind: str
    format: str | None
    size_bytes: int
    sha256: str
    action: str
    rule: str | None = None
    reason: str | None = None
    message: str | None = None
    run_id: str | None = None
    client_number: int | None = None
    side: str | None = None
    host: str | None = None


@dataclass(frozen=True)
class ManifestRun:
    """One run of an experiment and what the file-name suffix says about it (delays and limits as written there)."""

    run_id: str
    suffix: str
    host: str | None
    iteration: int | None
    rtt_nominal_ms: float | None = None
    limit: int | None = None
    parameter_name: str | None = None
    parameter_value: str | None = None


@dataclass(frozen=True)
class Manifest:
    """One experiment: a folder of the archive with its runs and files, sorted by path."""

    experiment_id: str
    session: str | None
    job: str | None
    runs: tuple[ManifestRun, ...]
    files: tuple[RawFile, ...]

    def files_for(self, rule: str) -> list[RawFile]:
        """Return the files that this ingest rule reads."""
        return [file for file in self.files if file.action == "ingest" and file.rule == rule]


def format_manifest(manifest: Manifest) -> str:
    """Return a manifest as JSON, in one line of ASCII."""
    return json.dumps(manifest, default=vars, sort_keys=True)


def write_formatted_manifests(manifests: Iterable[str], path: Path) -> None:
    """Write manifests of `format_manifest`, but only where that changes the file, so that unchanged batches stay so."""
    text = f"[{', '.join(manifests)}]\n"
    if not path.exists() or path.read_text(encoding="ascii") != text:
        path.write_text(text, encoding="ascii")


def write_manifests(manifests: Iterable[Manifest], path: Path) -> None:
    """Write manifests as `write_formatted_manifests` does."""
    write_formatted_manifests(map(format_manifest, manifests), path)


def read_manifest_facts(path: Path) -> list[dict[str, Any]]:
    """Return the manifests that `write_manifests` wrote as what JSON makes of them."""
    listed: list[dict[str, Any]] = json.loads(path.read_text(encoding="ascii"))
    return listed


def read_manifests(path: Path) -> list[Manifest]:
    """Return the manifests that `write_manifests` wrote."""
    manifests = []
    for facts in read_manifest_facts(path):
        runs = tuple(ManifestRun(**run) for run in facts.pop("runs"))
        files = tuple(RawFile(**file) for file in facts.pop("files"))
        manifests.append(Manifest(runs=runs, files=files, **facts))
    return manifests


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a file that has one."""
    (manifest,) = read_manifests(path)
    return manifest


def display_name(name: str) -> str:
    """Return a file name as valid Unicode: bytes that are no UTF-8 and control characters stand as escapes."""
    if name.isascii() and name.isprintable():
        return name
    # JSON may hold halves of letters (`"\\ud800"`) that no file name has; a byte that is no UTF-8 is one of the others.
    whole = name if name.isascii() else HALF_LETTER.sub(lambda half: f"\\u{ord(half[0]):x}", name)
    text = os.fsencode(whole).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
