"""One command at a time in a folder."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from ccreport.core.errors import InputError


@contextlib.contextmanager
def hold_lock(file: Path, told: str) -> Iterator[None]:
    """Lock a file, which is made if need be, until the end of a block; raise InputError where another process has it.

    `told` is what the error says. The lock ends with the process that holds it, however that ends.
    """
    with file.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(told) from None
        yield
