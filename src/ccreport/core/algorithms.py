"""Congestion control algorithms by the names that kernels give them."""

import re
from collections.abc import Collection, Iterator, Mapping
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
# Behind the kernel's name of an algorithm where another goes by that.
KERNEL: Final = " (kernel)"
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


def call_algorithm(cc: str, own: Mapping[str, str]) -> str:
    """Return what figures call an algorithm of the kernel; `own` are an evaluation's names, which come first.

    It keeps the kernel's name where its usual one is another's, as in tables: of `own` {"bbr2": "BBR"}, bbr is bbr.
    """
    if cc in own:
        return own[cc]
    usual = NAMES.get(cc, cc)
    return usual if usual not in own.values() else keep_kernel_name(cc, own.values())


def keep_kernel_name(cc: str, taken: Collection[str]) -> str:
    """Return the kernel's name of an algorithm, marked as that where another goes by it."""
    return f"{cc}{KERNEL}" if cc in taken else cc


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


def list_shared_names(groups: Mapping[str, Any], own: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each name by which an evaluation calls two algorithms, in tables or in figures.

    `own` is its `algorithm_names`. What an archive has beside these is told apart by `call_algorithm`.
    """
    held = {group: list(facts["members"]) for group, facts in groups.items()}
    for cc, name in own.items():
        members = held.setdefault(name, [name if name in (*KNOWN, *ELSEWHERE) else cc])
        if cc not in members:
            said = f"`{name}` is {members[0]}; give {cc} another name, such as `{cc}: {suggest_name(cc, held)}`"
            yield ("algorithm_names", cc), f"algorithm_names: {said}"
    called = {name: members[0] for name, members in held.items() if len(members) == 1}
    for group, facts in groups.items():
        for number, member in enumerate(facts["members"]):
            usual = NAMES.get(member, member)
            other = called.get(usual, member)
            # Both first versions of BBR are usually BBRv1; in an archive that has both, one keeps the kernel's name.
            if member in {*own, called.get(group), other} or {other, member} <= FIRST_BBR:
                continue
            said = f"figures would call both {other} and {member} `{usual}`"
            hint = f"add `algorithm_names: {{{member}: {suggest_name(member, held)}}}`"
            yield ("algorithms", group, "members", number), f"algorithms.{group}.members: {said}; {hint}"


def suggest_name(cc: str, taken: Collection[str]) -> str:
    """Return a name for an algorithm that none of `taken` is; the first BBR is version 1."""
    usual = NAMES.get(cc, cc)
    names = [NAMES["bbr1"], usual] if cc in FIRST_BBR else [usual]
    return next((name for name in names if name not in taken), f"{usual} ({cc})")
