"""Processes that end with the build that they are part of, so that nothing writes on behind the back of the next one.

Snakemake that is killed, or a job of which one process is killed, would otherwise leave others at work: they write
results that the next build makes anew at the same time.
"""

import ctypes
import os
import select
import signal
import sys
import threading
from typing import Final

# The number of the Snakemake process, set by the rules: a command that is called by hand ends with nobody.
BUILD_PID_VARIABLE: Final = "CCREPORT_BUILD_PID"
# prctl(2), Linux
PR_SET_PDEATHSIG: Final = 1


def end_with_build() -> None:
    """Let this process be killed when its parent ends or the Snakemake that it works for; on Linux only."""
    if BUILD_PID_VARIABLE not in os.environ or sys.platform != "linux":
        return
    # The parent is the job's shell, which does not end with Snakemake.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        builder = os.pidfd_open(int(os.environ[BUILD_PID_VARIABLE]))
    except OSError:  # a kernel before 5.3, or another namespace of processes
        return
    threading.Thread(target=_watch, args=(builder,), daemon=True).start()


def _watch(builder: int) -> None:
    watched = select.poll()
    watched.register(builder, select.POLLIN)
    watched.poll()
    os.kill(os.getpid(), signal.SIGKILL)
