"""How far a transfer is: a bar on a terminal, plain lines now and then in a log."""

import logging
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from ccreport.core.errors import InputError

LOG: Final = logging.getLogger("ccreport.storage")
LINE_EVERY_S: Final = 10.0


@contextmanager
def log_into(path: Path) -> Iterator[None]:
    """Send what is said during a transfer to stderr and, in plain lines, to a file, which gets the error too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handlers = (logging.StreamHandler(sys.stderr), logging.FileHandler(path, mode="w", encoding="utf-8"))
    for handler in handlers:
        LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    try:
        yield
    except InputError as error:
        handlers[1].emit(LOG.makeRecord(LOG.name, logging.ERROR, __file__, 0, str(error), (), None))
        raise
    finally:
        for handler in handlers:
            LOG.removeHandler(handler)
            handler.close()


@contextmanager
def show_progress(what: str, total_bytes: int | None) -> Iterator[Callable[[int], None]]:
    """Give a function that counts bytes as they pass; threads may share it, and what was lost is counted back."""
    lock, done, last = threading.Lock(), 0, time.monotonic()
    with (
        tqdm(
            total=total_bytes,
            desc=what,
            unit="B",
            unit_scale=True,
            disable=None,
            file=sys.stderr,
            leave=False,
            # Of a terminal without a width, 80: tqdm would take it for one of no columns.
            ncols=shutil.get_terminal_size().columns,
        ) as bar,
        logging_redirect_tqdm([LOG]),
    ):

        def advance(count: int) -> None:
            nonlocal done, last
            with lock:
                done += count
                bar.update(count)
                if bar.disable and time.monotonic() - last > LINE_EVERY_S:
                    last = time.monotonic()
                    LOG.info("%s: %s", what, _describe(done, total_bytes))

        yield advance


def _describe(done: int, total: int | None) -> str:
    share = f" of {total / 1e6:.1f} MB ({100 * done // total} %)" if total else " MB"
    return f"{done / 1e6:.1f}{share}"
