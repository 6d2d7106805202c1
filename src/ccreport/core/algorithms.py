"""Congestion control algorithms by the names that kernels give them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ccreport.core.declared_files import DeclarationError, blame
from ccreport.core.schema_problems import guess_near

# Of Linux 6.12's net/ipv4/tcp_*.c, and of the branches of BBR, L4S and BPF.
KNOWN: Final = (
    *("bbr", "bbr1", "bbr2", "bbr2plus", "bbr3", "bic", "bpf_cubic", "bpf_dctcp", "cdg", "cubic", "dctcp", "highspeed"),
    *("htcp", "hybla", "illinois", "lp", "nv", "prague", "reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)


def list_doubtful(groups: Mapping[str, Any], path: Path) -> Iterator[DeclarationError]:
    """Yield what to say of each member of an evaluation's groups that nearly has the name of a known algorithm.

    It may be right: an algorithm of one's own has any name.
    """
    for group, facts in groups.items():
        for number, member in enumerate(facts["members"]):
            if member not in KNOWN and (hint := guess_near(member, KNOWN)):
                problem = f"algorithms.{group}.members: no algorithm of Linux is called `{member}`{hint}"
                yield blame(path, DeclarationError(problem, ("algorithms", group, "members", number)))
