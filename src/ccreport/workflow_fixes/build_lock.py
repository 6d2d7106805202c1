"""One build at a time in a results folder.

Snakemake (9.27) looks for the lock of another build before it writes its own, so that of two builds that start together
both go on, and a build that ends removes the locks of all others. The lock of the operating system has
neither fault, and ends with the process that holds it.
"""

import errno
import fcntl
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from ccreport.core.errors import InputError
from ccreport.workflow_fixes.orphans import BUILD_PID_VARIABLE

NAME: Final = ".build.lock"
OTHER_BUILD: Final = (
    "another build writes into {results}; wait until it has ended, or name another folder by pathvars.results"
)
LEFT: Final = (
    "another build that writes the same files runs, or was killed and left its lock; where none runs, remove the lock, "
    "then build again: {command}"
)
UNDER_WAY: Final = "a build writes into {results} now; ask again when it has ended"
# flock(2); on a network file system another machine's lock may be reported as the second.
TAKEN: Final = (errno.EWOULDBLOCK, errno.EACCES)


def lock_results(results: Path) -> TextIO:
    """Lock a results folder until the returned file is closed or this process ends.

    Raise InputError where another process holds the lock, and where nothing can be written into the folder. A file
    system without locks leaves only Snakemake's.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock = (results / NAME).open("w", encoding="utf-8")
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise InputError(f"pathvars.results: {results} takes no files ({problem}); name another folder") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in TAKEN:
            lock.close()
            raise InputError(OTHER_BUILD.format(results=results)) from error
    return lock


def check_unlocked(results: Path) -> None:
    """Raise InputError where another process holds the lock of a results folder; nothing is written."""
    if _is_locked(results):
        raise InputError(OTHER_BUILD.format(results=results))


def describe_lock(arguments: Sequence[str]) -> str:
    """Return what to type where Snakemake met its own lock in a call; `arguments` are those of the process."""
    program, *rest = arguments
    here = os.path.relpath(program)
    called = [program if here.startswith("..") else here]
    # Else it is a file of the package, which is not a program.
    start = called if Path(program).name == "snakemake" else ["python", "-m", "snakemake"]
    command = shlex.join([*start, "--unlock", *rest])
    return LEFT.format(command=command)


def describe_build(results: Path) -> str:
    """Return what to do where files of results are not there because another build makes them anew; else nothing."""
    is_of_build = BUILD_PID_VARIABLE in os.environ
    return UNDER_WAY.format(results=results) if not is_of_build and _is_locked(results) else ""


def _is_locked(results: Path) -> bool:
    try:
        with (results / NAME).open(encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    return False
