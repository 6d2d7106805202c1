"""Blocks that a receiver is woken for: no more than its buffer may hold unread, or than what arrives in a moment."""

import socket
import subprocess
import sys
import time

from ccreport.collect.testbed.copied_sockets import copied_connections, read_received_bytes
from ccreport.collect.testbed.read_blocks import BLOCK_BYTES, SHARE_OF_BUFFER, SHARE_OF_INTERVAL, set_blocks

# As iperf3's server: a control connection, then one of data, which nobody reads here.
WAITING = """
import socket, sys, time
kept = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(2)]
time.sleep(60)
"""
LIMIT_S = 20.0


def read_state(process: int) -> list[tuple[int, int, int]]:
    """Return received bytes, bytes of the buffer, and the block that wakes the receiver, of each connection."""
    with copied_connections(process) as connected:
        return [
            (
                read_received_bytes(connection),
                connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
                connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT),
            )
            for connection in connected
        ]


def test_a_block_is_no_more_than_a_part_of_what_arrives() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", WAITING, str(server.getsockname()[1])]
        with subprocess.Popen(command) as process:
            control, data = server.accept()[0], server.accept()[0]
            with control, data:
                received: dict[tuple[int, int], int] = {}
                blocks = []
                for sent_bytes in (16_000, 48_000, 0):
                    data.sendall(b"x" * sent_bytes)
                    expected = sum(received.values()) + sent_bytes
                    until = time.monotonic() + LIMIT_S
                    while read_state(process.pid)[1][0] < expected:
                        assert time.monotonic() < until
                        time.sleep(0.001)
                    set_blocks(process.pid, received)
                    (*_, of_control), (_, buffer_bytes, block) = read_state(process.pid)
                    blocks.append(block)
                    assert of_control == 1
                    assert block <= min(BLOCK_BYTES, buffer_bytes // SHARE_OF_BUFFER)
            process.kill()
    assert SHARE_OF_INTERVAL == 16
    assert blocks == [1_000, 3_000, 1]
    assert received == {(process.pid, 0): 64_000}
