"""Numbers out of the bytes of a capture, in either byte order.

An index is made unsigned because numba otherwise checks each for being negative. Written so that LLVM makes one load of
each; with numba's bounds checks on, each byte is checked.
"""

import numpy as np

from ccreport.ingest.captures.decode.layout import Bytes, numba_inline

_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@numba_inline
def byte(data: Bytes, at: int) -> int:
    """Return one byte."""
    return int(np.int64(data[np.uint64(at)]))


@numba_inline
def big16(data: Bytes, at: int) -> int:
    """Return an unsigned 16-bit number, big-endian."""
    i = np.uint64(at)
    return int(np.int64(data[i]) << 8 | np.int64(data[i + _ONE]))


@numba_inline
def little16(data: Bytes, at: int) -> int:
    """Return an unsigned 16-bit number, little-endian."""
    i = np.uint64(at)
    return int(np.int64(data[i]) | np.int64(data[i + _ONE]) << 8)


@numba_inline
def big32(data: Bytes, at: int) -> int:
    """Return an unsigned 32-bit number, big-endian."""
    i = np.uint64(at)
    high = np.int64(data[i]) << 24 | np.int64(data[i + _ONE]) << 16
    return int(high | np.int64(data[i + _TWO]) << 8 | np.int64(data[i + _THREE]))


@numba_inline
def little32(data: Bytes, at: int) -> int:
    """Return an unsigned 32-bit number, little-endian."""
    i = np.uint64(at)
    low = np.int64(data[i]) | np.int64(data[i + _ONE]) << 8
    return int(low | np.int64(data[i + _TWO]) << 16 | np.int64(data[i + _THREE]) << 24)


@numba_inline
def big64(data: Bytes, at: int) -> int:
    """Return the bits of a 64-bit number, big-endian; it is negative where the first bit is set."""
    return big32(data, at) << 32 | big32(data, at + 4)


@numba_inline
def word16(data: Bytes, at: int, is_big: bool) -> int:
    """Return an unsigned 16-bit number in this byte order."""
    return big16(data, at) if is_big else little16(data, at)


@numba_inline
def word32(data: Bytes, at: int, is_big: bool) -> int:
    """Return an unsigned 32-bit number in this byte order."""
    return big32(data, at) if is_big else little32(data, at)
