"""Congestion control algorithms by the names that kernels give them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ccreport.core.declared_files import DeclarationError, blame
from ccreport.core.schema_problems import Place, guess_near

# Of Linux 6.12's net/ipv4/tcp_*.c, and of the branches of BBR, L4S and BPF.
KNOWN: Final = (
    *("bbr", "bbr1", "bbr2", "bbr2plus", "bbr3", "bic", "bpf_cubic", "bpf_dctcp", "cdg", "cubic", "dctcp", "highspeed"),
    *("htcp", "hybla", "illinois", "lp", "nv", "prague", "reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)

# What people call them, where an evaluation has no name of its own.
NAMES: Final[Mapping[str, str]] = {
    "cubic": "CUBIC",
    "bbr": "BBR",
    "bbr1": "BBRv1",
    "bbr2": "BBRv2",
    "bbr3": "BBRv3",
    "reno": "Reno",
    "htcp": "H-TCP",
    "dctcp": "DCTCP",
}
# Of user space and of data centres.
ELSEWHERE: Final = ("copa", "pcc", "swift", "vivace")
# BBR v2 · bbr-v2 · BBRv2
VERSION: Final = re.compile(r"[ ._-]?v(?=[0-9])")
OTHER_NAMES: Final = {"newreno": "reno", "new-reno": "reno", "h-tcp": "htcp"}
# What Linux calls bbr is version 1, which kernels with a later one call bbr1.
FIRST_BBR: Final = frozenset({"bbr", "bbr1"})

# In a campaign, the algorithm of either side of a comparison.
CANDIDATE: Final = "candidate"

AVAILABLE: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def name_algorithm(text: str) -> str | None:
    """Return the kernel's name of an algorithm however it is written, bbr2 for BBR v2, None for any other text."""
    name = VERSION.sub("", text.strip().lower())
    name = OTHER_NAMES.get(name, name)
    return name if name in KNOWN or name in ELSEWHERE else None


def list_available() -> list[str]:
    """Return the algorithms that this machine's kernel has loaded; none where it is not Linux."""
    return AVAILABLE.read_text(encoding="ascii").split() if AVAILABLE.exists() else []


def doubt_algorithm(name: str) -> str | None:
    """Return what to say of a name that is nearly that of a known algorithm, null for any other.

    The name may be right: people give their own algorithms any name.
    """
    hint = "" if name in KNOWN else guess_near(name, KNOWN)
    return f"no algorithm of Linux is called `{name}`{hint}" if hint else None


def list_doubtful(groups: Mapping[str, Any], path: Path) -> Iterator[DeclarationError]:
    """Yield what to say of each member of an evaluation's groups that nearly has the name of a known algorithm."""
    for group, facts in groups.items():
        for number, member in enumerate(facts["members"]):
            if doubt := doubt_algorithm(member):
                place = ("algorithms", group, "members", number)
                yield blame(path, DeclarationError(f"algorithms.{group}.members: {doubt}", place))


def list_repeated(groups: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each algorithm that is twice among the members of an evaluation's groups."""
    held: dict[str, str] = {}
    for group, facts in groups.items():
        for number, member in enumerate(facts["members"]):
            if member in held:
                where = f"in two groups: {held[member]} and {group}" if held[member] != group else f"twice in {group}"
                yield ("algorithms", group, "members", number), f"algorithms: {member} is {where}; delete one of them"
            held[member] = group
