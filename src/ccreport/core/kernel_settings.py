"""Kernel settings (sysctls) by their names, as far as this machine's kernel has them."""

import re
from pathlib import Path
from typing import Final

# A folder for each dot of a setting's name.
SYSCTLS: Final = Path("/proc/sys")
WORDS: Final = re.compile(r"\w+([./]\w+)*")


def find_setting(end: str) -> str | None:
    """Return the setting below `net.` whose name ends so: net.ipv4.tcp_ecn for tcp_ecn; null where there is none."""
    if not WORDS.fullmatch(end):
        return None
    below = end.replace(".", "/")
    found = [path for folder in ("", "net", "net/*") for path in sorted(SYSCTLS.glob(f"{folder}/{below}".strip("/")))]
    names = (".".join(path.relative_to(SYSCTLS).parts) for path in found if path.is_file())
    return next((name for name in names if name.startswith("net.")), None)
