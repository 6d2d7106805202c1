"""The connections of another process: copies of its sockets (pidfd_getfd(2)), which are the same open files."""

import contextlib
import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PIDFD_GETFD: Final = 438
# tcpi_bytes_received (linux/tcp.h).
RECEIVED_OFFSET_BYTES: Final = 128


@contextlib.contextmanager
def copied_connections(process: int) -> Iterator[list[socket.socket]]:
    """Give the connected sockets of a process in the order of their descriptors, which iperf3 opens control first.

    Raise OSError where the process is gone.
    """
    with contextlib.ExitStack() as opened:
        handle = os.pidfd_open(process)
        opened.callback(os.close, handle)
        connected = []
        for descriptor in sorted(int(path.name) for path in Path(f"/proc/{process}/fd").iterdir()):
            copy = ctypes.CDLL(None).syscall(PIDFD_GETFD, handle, descriptor, 0)
            if copy < 0:
                continue
            try:
                connection = opened.enter_context(socket.socket(fileno=copy))
            except OSError:
                os.close(copy)
                continue
            with contextlib.suppress(OSError):
                connection.getpeername()
                connected.append(connection)
        yield connected


def read_received_bytes(connection: socket.socket) -> int:
    """Return how many bytes of data have arrived on a connection, read or unread."""
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RECEIVED_OFFSET_BYTES + 8)
    return int(struct.unpack_from("Q", told, RECEIVED_OFFSET_BYTES)[0])
