"""Which kernel settings that a campaign names a user-mode kernel cannot have, as far as its file shows without a start.

The names of parameters and settings that are built into a kernel are texts in its file, each up to a NUL. A setting's
that ends another, as `rp_filter` ends `arp_filter`, may be stored as that end; a parameter's, `tcp_cubic.beta`, is not.
"""

import mmap
import re
from collections.abc import Iterable
from typing import Final

from ccreport.collect.declare.sysctls import find_near_sysctl
from ccreport.collect.kernel.find_kernel import UserKernel
from ccreport.collect.plan import Run
from ccreport.core.schema_problems import find_near

SYSCTL: Final = "net."
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
        names = dict.fromkeys(name.split("[")[0] for name in run.module_parameters)
        texts |= {name: f"(?<![a-z0-9_]){re.escape(name)}" for name in names}
        texts |= {name: name.rpartition(".")[2] for name in run.sysctls if not name.startswith("net.ipv6.")}
    with kernel.path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        unknown = [name for name, text in texts.items() if not re.search(f"{text}\0".encode(), content)]
        if not unknown:
            return None
        known = {match[1].decode() for match in PARAMETER.finditer(content)}
    near = [
        find_near_sysctl(name) if name.startswith(SYSCTL) else _find_near_parameter(name, known) for name in unknown
    ]
    meant = " and ".join(f"`{name}`" for name in near if name)
    hint = f"did you mean {meant}?" if meant else "take it out, or name a kernel that has it with --kernel"
    return f"the user-mode kernel has no setting {', '.join(unknown)}; {hint}"


def _find_near_parameter(name: str, known: Iterable[str]) -> str | None:
    """Return the parameter that is meant by one that there is not: of the same module, or of the same own name."""
    module, _, own = name.partition(".")
    return find_near(name, [other for other in known if module == other.partition(".")[0] or other.endswith(f".{own}")])
