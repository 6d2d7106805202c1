"""What the programs here say, before a run, of what a campaign adds to their command lines.

A testbed runs the programs of this machine. iperf3 and netperf read their options in order and end at the one that
prints a version or a help, with an error at the first that they do not know; `tcpdump -d` only compiles a filter.
"""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from typing import Final

from ccreport.collect.declare.campaign import Campaign, CampaignError, Settings
from ccreport.collect.declare.clients import declare_clients, find_program
from ccreport.collect.kernel.find_kernel import SEARCH_PATH
from ccreport.core.schema_problems import Place

OPTIONS: Final = {"iperf3": ((), "--version"), "netperf": (("-t", "TCP_RR", "--"), "-h")}
# iperf3: unrecognized option '--bogus' · netperf: invalid option -- 'z'
WRONG_OPTION: Final = re.compile(r"^\w+: .*\boption\b.*", re.MULTILINE)
# A filter that any tcpdump compiles that can be asked at all.
SOUND_FILTER: Final = "tcp"
ASK_LIMIT_S: Final = 10


def check_called(declared: Campaign) -> None:
    """Raise DeclarationError for the first argument or filter of a campaign that a program here does not know."""
    for session in declared.sessions:
        for job, place in zip(session.jobs, session.places, strict=True):
            for key, problem in _list_refused(job):
                what = f"session {session.label}, job {job['name']}, {'.'.join(map(str, key))}: {problem}"
                raise declared.blame(CampaignError(what, (*place, *key)))


def _list_refused(job: Settings) -> Iterator[tuple[Place, str]]:
    clients = declare_clients(job)
    # All clients have the same program where the job has arguments.
    if problem := _find_wrong_option(find_program(job, clients[0]), tuple(job["extra_arguments"])):
        yield ("extra_arguments",), problem
    for number, client in enumerate(clients):
        if problem := _find_wrong_option(find_program(job, client), tuple(client["extra_arguments"])):
            yield ("clients", number, "extra_arguments"), problem
    capture = job["instruments"]["capture"]
    if problem := _find_wrong_filter(capture["filter"]) if capture else None:
        yield ("instruments", "capture", "filter"), problem


@cache
def _find_wrong_option(program: str, arguments: tuple[str, ...]) -> str | None:
    before, end = OPTIONS[program]
    done = _ask([program, *before, *arguments, end]) if arguments else None
    told = WRONG_OPTION.search(done.stderr) if done and done.returncode else None
    return told[0] if told else None


@cache
def _find_wrong_filter(kept: str | None) -> str | None:
    if kept is None:
        return None
    done, sound = _ask(["tcpdump", "-d", kept]), _ask(["tcpdump", "-d", SOUND_FILTER])
    if not (done and sound) or not done.returncode or sound.returncode:
        return None
    return f"`{kept}`: {done.stderr.strip().splitlines()[-1]}"


def _ask(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    """Return what a program says; null where it is not there, or does not answer in time."""
    try:
        return subprocess.run(
            command,
            env={"PATH": SEARCH_PATH},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ASK_LIMIT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
