"""Have iperf3 read what arrives in blocks, as a busy host does: in virtual time each of its reads costs host time.

A receiver is woken for each packet where work takes no time, since it is always waiting. SO_RCVLOWAT (socket(7)) has
the kernel wake it when a block is there. When acknowledgements leave does not depend on it: TCP answers packets, not
reads. A block is an eighth of the receive buffer at most, so that what waits unread never fills it. The option is set
on iperf3's own sockets from outside, through copies of them.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Final

from ccreport.collect.testbed.copied_sockets import copied_connections

# What iperf3 reads at once. With more it reads only a part of what wakes it, so that the rest stays unread at the end,
# and may wait ten seconds for the remainder of a block.
BLOCK_BYTES: Final = 131_072
SHARE_OF_BUFFER: Final = 8
LOOK_INTERVAL_S: Final = 0.25


def read_in_blocks(processes: Sequence[int]) -> Callable[[], None]:
    """Set the option of all data connections of these iperf3 processes again and again, as their buffers grow.

    Works on its own until the function that is returned ends it.
    """
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_INTERVAL_S):
            for process in processes:
                with contextlib.suppress(OSError):
                    _set_low_water(process)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()

    def end() -> None:
        ended.set()
        thread.join()

    return end


def _set_low_water(process: int) -> None:
    """Set the option of a process's data connections."""
    with copied_connections(process) as connected:
        # The first is the control connection, whose messages are short.
        for connection in connected[1:]:
            buffer_bytes = connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
            block = min(BLOCK_BYTES, buffer_bytes // SHARE_OF_BUFFER)
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) != block:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, block)
