"""Which kernel settings that a campaign names a user-mode kernel cannot have, as far as its file shows without a start.

The names of parameters and settings that are built into a kernel are texts in its file, each up to a NUL. One that ends
another, as `rp_filter` ends `arp_filter`, may be stored as that end.
"""

import mmap
import re
from collections.abc import Iterable
from typing import Final

from ccreport.collect.kernel.find_kernel import UserKernel
from ccreport.collect.plan import Run
from ccreport.core.schema_problems import guess_near

# Parameters of modules, as a guess needs them: tcp_cubic.beta
PARAMETER: Final = re.compile(rb"\0([a-z]\w+\.\w+)(?=\0)")


def name_unknown_settings(kernel: UserKernel, runs: Iterable[Run]) -> str | None:
    """Return what to say of module parameters and sysctls of runs that a kernel lacks, null where it has all.

    Nothing is said of one that can load modules with more, nor of settings below net.ipv6: a kernel without IPv6 needs
    none of them.
    """
    if kernel.has_modules:
        return None
    texts: dict[str, str] = {}
    for run in runs:
        texts |= {name.split("[")[0]: name.split("[")[0] for name in run.module_parameters}
        texts |= {name: name.rpartition(".")[2] for name in run.sysctls if not name.startswith("net.ipv6.")}
    with kernel.path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        unknown = [name for name, text in texts.items() if content.find(f"{text}\0".encode()) < 0]
        if not unknown:
            return None
        known = {match[1].decode() for match in PARAMETER.finditer(content)}
    return f"the user-mode kernel has no setting {', '.join(unknown)}{guess_near(unknown[0], known)}"
