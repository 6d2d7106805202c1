"""Pause iperf3's client while it polls: in virtual time each of its turns costs host time and almost none of its own.

Before the test begins, and when it has ended, iperf3's client waits for the server with its data connections already
writable, so that its select(2) always returns at once. Work takes no time there but 256 ns for each look at the clock:
a round trip of 80 ms is 300,000 turns, ten seconds of a core. A client that two looks in a row find running does
nothing else; it is stopped, and goes on when the server's word has arrived on its control connection. Nothing that
leaves the host changes: all that the client would do meanwhile is ask again.
"""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ccreport.collect.testbed.copied_sockets import copied_connections, read_received_bytes

LOOK_INTERVAL_S: Final = 0.002
# While a test runs its client is left alone.
REST_INTERVAL_S: Final = 0.05
SECOND_LOOK_S: Final = 0.0001
# Far longer than a lost message of the control connection takes to be sent again.
PAUSE_LIMIT_S: Final = 5.0
# The server's four words to go: exchange parameters, create streams, start, running.
WORDS_BEFORE_TEST: Final = 4


def pause_polling(process: int, duration_s: float | None) -> Callable[[], None]:
    """Pause an iperf3 client whenever it polls, until the function that is returned ends that.

    `duration_s` is how long the test lasts, None where it sends a given volume.
    """
    ended = threading.Event()

    def watch() -> None:
        with contextlib.suppress(OSError):
            _pause_until(process, ended, lambda: _count_words(process) >= WORDS_BEFORE_TEST)
            last = time.monotonic() + (duration_s or 0.0)
            while not ended.is_set() and time.monotonic() < last:
                ended.wait(min(REST_INTERVAL_S, max(last - time.monotonic(), LOOK_INTERVAL_S)))
            _pause_until(process, ended, lambda: False)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()

    def end() -> None:
        ended.set()
        thread.join()

    return end


def _pause_until(process: int, ended: threading.Event, is_over: Callable[[], bool]) -> None:
    while not ended.wait(LOOK_INTERVAL_S) and not is_over():
        if _is_running(process) and not ended.wait(SECOND_LOOK_S) and _is_running(process):
            _pause(process)


def _pause(process: int) -> None:
    """Stop the process until there is something to read on its control connection."""
    with copied_connections(process) as connected:
        if not connected:
            return
        os.kill(process, signal.SIGSTOP)
        try:
            select.select([connected[0]], [], [], PAUSE_LIMIT_S)
        finally:
            os.kill(process, signal.SIGCONT)


def _is_running(process: int) -> bool:
    # 1234 (iperf3) R 1 …
    return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "R"


def _count_words(process: int) -> int:
    """Return how many bytes the server has sent on the control connection, each of which is a word."""
    with copied_connections(process) as connected:
        if not connected:
            return 0
        return read_received_bytes(connected[0])
