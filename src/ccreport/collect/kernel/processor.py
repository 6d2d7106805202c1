"""Processors on which user-mode kernels are known not to start."""

from pathlib import Path
from typing import Final

PROCESSOR: Final = Path("/proc/cpuinfo")
AMX_HINT: Final = (
    "; on a processor with AMX, as this one, Debian's user-mode kernel crashes when it starts; `make kernel` builds one"
    " that does not"
)


def hint_at_processor() -> str:
    """Return why a user-mode kernel may not have started on this processor, empty where nothing is known against it.

    Linux gives a tracer all registers of a process or none: with AMX 11,008 bytes, for which user-mode kernels of 6.1
    have no room.
    """
    return AMX_HINT if "amx_tile" in PROCESSOR.read_text(encoding="utf-8").split() else ""
