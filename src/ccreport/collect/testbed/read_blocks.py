"""Have iperf3 read what arrives in blocks, as a busy host does: in virtual time each of its reads costs host time.

A receiver is woken for each packet where work takes no time, since it is always waiting. SO_RCVLOWAT (socket(7)) has
the kernel wake it when a block is there. When acknowledgements leave does not depend on it: TCP answers packets, not
reads. A block is an eighth of the receive buffer at most, so that what waits unread never fills it, and 16 ms of what
arrives, since what waits when the test ends is missing from iperf3's count: at 4 Mbit/s, where a packet takes longer
to arrive, every one is read. The option is set on iperf3's own sockets from outside, through copies of them.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Final

from ccreport.collect.testbed.copied_sockets import copied_connections, read_received_bytes

# What iperf3 reads at once. With more it reads only a part of what wakes it, so that the rest stays unread at the end,
# and may wait ten seconds for the remainder of a block.
BLOCK_BYTES: Final = 131_072
SHARE_OF_BUFFER: Final = 8
LOOK_INTERVAL_S: Final = 0.25
SHARE_OF_INTERVAL: Final = 16


def read_in_blocks(processes: Sequence[int]) -> Callable[[], None]:
    """Set the option of all data connections of these iperf3 processes again and again, as their buffers grow.

    Works on its own until the function that is returned ends it.
    """
    ended = threading.Event()
    received: dict[tuple[int, int], int] = {}

    def look() -> None:
        while not ended.wait(LOOK_INTERVAL_S):
            for process in processes:
                with contextlib.suppress(OSError):
                    set_blocks(process, received)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()

    def end() -> None:
        ended.set()
        thread.join()

    return end


def set_blocks(process: int, received: dict[tuple[int, int], int]) -> None:
    """Set the option of a process's data connections by the bytes that each has received since the look before.

    `received` has those bytes by process and place among its connections, and is brought up to date.
    """
    with copied_connections(process) as connected:
        # The first is the control connection, whose messages are short.
        for place, connection in enumerate(connected[1:]):
            before = received.get((process, place), 0)
            received[process, place] = now = read_received_bytes(connection)
            buffer_bytes = connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
            block = max(1, min(BLOCK_BYTES, buffer_bytes // SHARE_OF_BUFFER, (now - before) // SHARE_OF_INTERVAL))
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) != block:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, block)
