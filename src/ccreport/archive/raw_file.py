"""How the bytes of a raw file are read: plain, or compressed (gzip, zstd, xz, bzip2), which its first bytes tell."""

import bz2
import contextlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import zstandard

from ccreport.core.errors import InputError

BLOCK_BYTES: Final = 4 * 2**20
# What a file is shows in as many of its first bytes.
HEAD_BYTES: Final = 2**16
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


def read_head(path: Path) -> bytes:
    """Return the first decompressed bytes of a file, at most 64 KiB: as much as there is before any damage."""
    head = b""
    with contextlib.suppress(RawFileError):
        for block in iterate_blocks(path, HEAD_BYTES):
            head += block
            if len(head) >= HEAD_BYTES:
                break
    # One block may unpack to a hundred megabytes, which patterns are not to look through.
    return head[:HEAD_BYTES]
