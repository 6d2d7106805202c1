"""Whether a capture ends early: only the lengths of its records are read, so that a second does for a gigabyte or so.

pcap: draft-ietf-opsawg-pcap, section 5; pcapng: draft-ietf-opsawg-pcapng, section 3.1.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ccreport.archive.raw_file import RawFileError, iterate_blocks

CUT_MESSAGE: Final = "the capture ends inside a packet; all packets before it are used"
# Bytes before a packet, by the magic number.
PCAP_HEADERS: Final = {0xA1B2C3D4: 16, 0xA1B23C4D: 16, 0xA1B2CD34: 24}
FILE_HEADER_BYTES: Final = 24
SECTION: Final = b"\x0a\x0d\x0d\x0a"
SECTION_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
# Type and length of a pcapng block, and the byte order of a section, before what the length says is left.
BLOCK_HEADER_BYTES: Final = 12
# What says that it is longer is damaged.
RECORD_AT_MOST: Final = 2**24
# More is not looked at, as it takes long.
LOOKED_AT_BYTES: Final = 2**30


def find_cut(path: Path) -> str | None:
    """Return why a capture is not read to its end, where it or its compressed data end early; None for all others.

    What is damaged in another way is left to the reader.
    """
    stream = _Stream(iterate_blocks(path))
    try:
        head = stream.take(FILE_HEADER_BYTES)
        is_cut = _is_cut_pcapng(stream, head) if head.startswith(SECTION) else _is_cut_pcap(stream, head)
    except RawFileError as error:
        return error.message
    return CUT_MESSAGE if is_cut else None


class _Stream:
    """Bytes of blocks, in pieces of any size."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._data = b""
        self._position = self.count = 0

    def take(self, size: int) -> bytes:
        """Return the next bytes, fewer than `size` at the end only."""
        while len(self._data) - self._position < size and (block := next(self._blocks, b"")):
            self._data, self._position = self._data[self._position :] + block, 0
        part = self._data[self._position : self._position + size]
        self._position += len(part)
        self.count += len(part)
        return part


def _is_cut_pcap(stream: _Stream, head: bytes) -> bool:
    orders = {struct.pack(order + "I", magic): (order, size) for order in "<>" for magic, size in PCAP_HEADERS.items()}
    if head[:4] not in orders or len(head) < FILE_HEADER_BYTES:
        return False
    order, size = orders[head[:4]]
    lengths = struct.Struct(order + "8xII")
    while stream.count < LOOKED_AT_BYTES and (header := stream.take(size)):
        if len(header) < size:
            return True
        # Some programs wrote the two lengths the other way round; no packet is captured longer than it was.
        length = min(lengths.unpack_from(header))
        if length > RECORD_AT_MOST:
            return False
        if len(stream.take(length)) < length:
            return True
    return False


def _is_cut_pcapng(stream: _Stream, head: bytes) -> bool:
    order = SECTION_ORDERS.get(head[8:12])
    if order is None:
        return False
    ahead = head
    while stream.count < LOOKED_AT_BYTES and (header := ahead or stream.take(BLOCK_HEADER_BYTES)):
        ahead = b""
        if len(header) < BLOCK_HEADER_BYTES:
            return True
        if header.startswith(SECTION):
            order = SECTION_ORDERS.get(header[8:12], order)
        (length,) = struct.unpack_from(order + "4xI", header)
        if not BLOCK_HEADER_BYTES <= length <= RECORD_AT_MOST:
            return False
        left = length - len(header)
        if len(stream.take(left)) < left:
            return True
    return False
