"""A client that polls for the server's word is stopped until the word is there, and never left stopped."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ccreport.collect.testbed.pause_polling import pause_polling

# As iperf3's client waits: the second connection can always be written, so that select(2) returns at once.
POLLING = """
import select, socket, sys
control, data = (socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(2))
told = b""
while len(told) < int(sys.argv[2]):
    if select.select([control], [data], [])[0]:
        told += control.recv(10)
print("told", flush=True)
while len(sys.argv) > 3:
    select.select([], [data], [])
"""
# On a busy machine a process may be stopped again, five seconds at a time, while it ends.
LIMIT_S = 60.0


@contextlib.contextmanager
def polling(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], socket.socket]]:
    """Start a process that polls; give it and the server's end of its control connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", POLLING, str(server.getsockname()[1]), *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            control, data = server.accept()[0], server.accept()[0]
            with control, data:
                yield process, control
            process.kill()


def state(process: subprocess.Popen[str]) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_for(process: subprocess.Popen[str], wanted: str) -> None:
    until = time.monotonic() + LIMIT_S
    while state(process) != wanted:
        assert time.monotonic() < until, state(process)
        time.sleep(0.001)


def test_a_polling_client_is_stopped_until_the_server_speaks() -> None:
    with polling("2") as (process, control):
        end = pause_polling(process.pid, 10.0)
        wait_for(process, "T")
        control.sendall(b"go")
        output, _ = process.communicate(timeout=LIMIT_S)
        end()
    assert (output, process.returncode) == ("told\n", 0)


def test_while_its_test_runs_a_client_is_left_alone() -> None:
    with polling("4", "and goes on") as (process, control):
        control.sendall(b"\t\n\1\2")
        assert process.stdout is not None
        assert process.stdout.readline() == "told\n"
        end = pause_polling(process.pid, 60.0)
        seen = set()
        for _ in range(100):
            time.sleep(0.003)
            seen.add(state(process))
        process.kill()
        end()
    assert seen <= {"R", "S"}


def test_a_client_that_ended_is_no_fault() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    pause_polling(process.pid, None)()
