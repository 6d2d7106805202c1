"""Which kernel settings that a campaign names a user-mode kernel cannot have, as far as its file shows without a start.

The names of parameters and settings that are built into a kernel are texts in its file, each up to a NUL. One that ends
another, as `rp_filter` ends `arp_filter`, may be stored as that end.
"""

import mmap
from collections.abc import Iterable

from ccreport.collect.kernel.find_kernel import UserKernel
from ccreport.collect.plan import Run


def list_unknown_settings(kernel: UserKernel, runs: Iterable[Run]) -> list[str]:
    """Return the module parameters and sysctls of runs that a kernel lacks; none where it can load modules with more.

    Settings below net.ipv6 are left out: a kernel without IPv6 needs none of them.
    """
    if kernel.has_modules:
        return []
    texts: dict[str, str] = {}
    for run in runs:
        texts |= {name.split("[")[0]: name.split("[")[0] for name in run.module_parameters}
        texts |= {name: name.rpartition(".")[2] for name in run.sysctls if not name.startswith("net.ipv6.")}
    with kernel.path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return [name for name, text in texts.items() if content.find(f"{text}\0".encode()) < 0]
