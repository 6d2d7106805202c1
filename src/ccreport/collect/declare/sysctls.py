"""Kernel settings that a campaign names, as far as they can be checked before a kernel runs: their names and values.

The form of a value is that of an example: of settings that are often set one that is written here, of others what this
machine's kernel has now. Linux reads integers in base 10, 8 or 16, with blanks or tabs between several.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ccreport.collect.declare.campaign import Campaign, CampaignError
from ccreport.collect.plan import Run
from ccreport.core.algorithms import doubt_algorithm, list_available
from ccreport.core.schema_problems import find_near

# A folder for each dot of a setting's name.
SYSCTLS: Final = Path("/proc/sys")
ALGORITHM: Final = "net.ipv4.tcp_congestion_control"
EXAMPLES: Final = {
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.ipv4.ip_local_port_range": "32768 60999",
    ALGORITHM: "cubic",
    "net.core.default_qdisc": "fq_codel",
}
INTEGER: Final = re.compile(r"-?(0x[0-9a-fA-F]+|[0-9]+)")
WORD: Final = re.compile(r"[a-z][a-z0-9_]*")
# Bits of processors are hexadecimal: ff.
BITS: Final = ("mask", "bitmap")


def check_sysctls(declared: Campaign) -> None:
    """Raise DeclarationError for the first job that sets a sysctl to a value of another form than it has."""
    for session in declared.sessions:
        for job, place in zip(session.jobs, session.places, strict=True):
            for name, value in job["sysctls"].items():
                problem = find_wrong_value(name, str(value))
                # A kernel of the campaign's own may have any algorithm.
                if not problem and name == ALGORITHM and declared.testbed["kernel"] is None:
                    problem = None if value in list_available() else doubt_algorithm(str(value))
                if problem:
                    what = f"session {session.label}, job {job['name']}, sysctls: {problem}"
                    raise declared.blame(CampaignError(what, (*place, "sysctls", name)))


def find_wrong_value(name: str, value: str, written: str = "{}: {}") -> str | None:
    """Return what is wrong with the form of a sysctl's value and how to write it, null where nothing is known.

    `written` is how a setting and its value are written where this one is.
    """
    example = find_example(name)
    if example is None or _describe_form(value) == (form := _describe_form(example)):
        return None
    return f"{name} takes {form}, not `{value}`; write {written.format(name, example)}"


def list_unchecked(runs: Iterable[Run]) -> list[str]:
    """Return the names of sysctls of runs whose values only the kernel of the runs can check."""
    names = dict.fromkeys(name for run in runs for name in run.sysctls)
    return [name for name in names if find_example(name) is None]


def doubt_sysctls(runs: Iterable[Run]) -> list[str]:
    """Return what to say of settings that this kernel lacks, and which are nearly called as one it has.

    The kernel that the runs get may be another one, with settings of its own.
    """
    names = dict.fromkeys(name for run in runs for name in run.sysctls)
    meant = {name: find_near_sysctl(name) for name in names if not _find_file(name).exists()}
    return [f"the kernel here has no setting {name}; did you mean `{near}`?" for name, near in meant.items() if near]


def find_near_sysctl(name: str) -> str | None:
    """Return the setting of this machine's kernel that is meant by a name that there is not, null if none is near."""
    folder = _find_file(name).parent
    known = [other.name for other in folder.iterdir()] if folder.is_dir() else []
    return find_near(name, [f"{name.rpartition('.')[0]}.{other}" for other in known])


def _find_file(name: str) -> Path:
    return SYSCTLS / name.replace(".", "/")


def find_example(name: str) -> str | None:
    """Return a value that shows the form of a sysctl, null where none does."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    try:
        present = " ".join(_find_file(name).read_text(encoding="ascii").split())
    except (OSError, UnicodeDecodeError):
        return None
    return None if name.endswith(BITS) or _describe_form(present) is None else present


def _describe_form(value: str) -> str | None:
    """Return the form of a value: `an integer`, `3 integers`, `a name`, null for any other."""
    parts = value.split()
    if parts and all(map(INTEGER.fullmatch, parts)):
        return "an integer" if len(parts) == 1 else f"{len(parts)} integers"
    return "a name" if len(parts) == 1 and WORD.fullmatch(parts[0]) else None
