"""How long a server is left alone: retries of urllib3 that wait for each other, say so, and end when told to."""

import logging
import threading
import time
from typing import Any, Final, Self

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import InvalidHeader
from urllib3.util.retry import Retry

from ccreport.storage.places import StorageError

LOG: Final = logging.getLogger("ccreport.storage")
BUSY: Final = (429, 500, 502, 503, 504)


class Gate:
    """What all connections to a server wait at: what it asks of one holds for the others."""

    def __init__(self) -> None:
        self._opens_s = 0.0
        self._stopped = threading.Event()

    def close(self, seconds: float) -> None:
        """Let nobody pass for so long."""
        self._opens_s = max(self._opens_s, time.monotonic() + seconds)

    def pause(self, seconds: float = 0.0) -> None:
        """Wait at least so long, and until the gate is open; raise StorageError once `stop` was called."""
        until_s = time.monotonic() + seconds
        while (left_s := max(self._opens_s, until_s) - time.monotonic()) > 0:
            if self._stopped.wait(left_s):
                raise StorageError("stopped; run again to go on, what has been fetched is kept")

    def stop(self) -> None:
        """End all waiting, now and from now on."""
        self._stopped.set()


class PoliteRetry(Retry):
    """Retries that wait at a gate, and give up where a server asks for more than `longest_wait_s`."""

    def __init__(self, *args: Any, gate: Gate, longest_wait_s: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self.gate, self.longest_wait_s = gate, longest_wait_s

    def new(self, **options: Any) -> Self:
        """Return what is left of these retries, as urllib3 counts them down."""
        return super().new(gate=self.gate, longest_wait_s=self.longest_wait_s, **options)

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Return the seconds that a server asks for, None where it says nothing that can be understood."""
        try:
            seconds = super().get_retry_after(response)
        except InvalidHeader:
            return None
        if seconds is not None and seconds > self.longest_wait_s:
            raise StorageError(
                f"the server asks to come back in {seconds:.0f} s; run again then, what has been fetched is kept"
            )
        return seconds

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        """Wait as long as the server asks for, or longer after each try."""
        seconds = self.get_retry_after(response) if response else None
        if seconds and response:
            # Shown too where no transfer has been begun that logs.
            LOG.warning("The server is busy (%d) and asks to wait %.0f s", response.status, seconds)
            self.gate.close(seconds)
        self.gate.pause(0.0 if seconds else self.get_backoff_time())
