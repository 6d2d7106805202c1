"""Sections of the harness's INI files, one job each, with what of them a testbed of one machine can have.

Python's ConfigParser reads the files: keys in any case, a section `[DEFAULT]` that all others inherit from, comments
only on lines of their own. Keys have changed over the years (`iters`, `lat`, `netem-lat` …); the harness of 2021 to
2025 is what is followed here. A key that it does not know it passes over in silence; here that is said.
"""

import configparser
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from ccreport.collect.harness_ini.commands import SourceCommand, parse_source_command
from ccreport.collect.harness_ini.hosts import read_text
from ccreport.collect.harness_ini.sweeps import (
    ParameterSweep,
    parse_limits,
    parse_loss,
    parse_parameter_sweep,
    parse_rtts,
    parse_tc_rate,
)
from ccreport.core.errors import InputError
from ccreport.core.units import UnitError

T = TypeVar("T")
D = TypeVar("D")
ITERATIONS_MAX: Final = 10_000
LOCAL: Final = ("localhost", "127.0.0.1", "::1")
# Names of older files, and those that the harness's own metadata give the values.
ALIASES: Final = {"iters": "iterations", "lat": "netem-lat", "loss": "netem-loss", "limit": "netem-limit"}
COMMANDS: Final = {
    "pre-src-cmd": "before_source",
    "pre-dst-cmd": "before_destination",
    "post-src-cmd": "after_source",
    "post-dst-cmd": "after_destination",
}
# What acts on the machine that runs it, and not on a testbed of other devices.
OF_A_MACHINE: Final = frozenset({"ssh", "ifconfig", "ip", "tc", "ethtool", "nmcli", "systemctl", "service", "sudo"})
# -s 128 -i ens3 "host {dst} and port 5201"
USUAL_FILTER = re.compile(r"(?:tcp and )?host \S+(?: and (?:tcp )?port \d+)?")
NO_EFFECT: Final = {
    "pre": "the harness reads it and does nothing with it",
    "post": "the harness reads it and does nothing with it",
    "src-cmd-once": "the harness reads it and does nothing with it",
    "dst-cmd-once": "the harness reads it and does nothing with it",
    "user": "nobody logs in anywhere: both ends are on this machine",
    "instrument": "each instrument is named by itself",
    "tcptrace": "the pipeline reads the captures itself",
}


@dataclass
class HarnessJob:
    """One section. `lost` says by key what cannot be kept, `notes` what is so in the testbed anyway."""

    name: str
    values: dict[str, str]
    is_enabled: bool = True
    iterations_count: int = 1
    command: SourceCommand | None = None
    rtts_ms: list[float] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    loss: dict[str, Any] | None = None
    parameters: ParameterSweep | None = None
    flow_maxrate_bps: int | None = None
    commands: dict[str, list[str]] = field(default_factory=dict)
    instruments: dict[str, Any] = field(default_factory=dict)
    lost: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, key: str, parse: Callable[[str], T], default: D) -> T | D:
        """Return a key's value, and `default` where it is missing, or cannot be read, which is then said."""
        text = self.values.pop(key, "")
        if not text:
            return default
        try:
            return parse(text)
        except (UnitError, ValueError, OverflowError) as error:
            self.lost.append((key, f"{text}: {error}"))
            return default


def read_jobs(path: Path, scale_rates_by: float = 1.0) -> list[HarnessJob]:
    """Return the jobs of an INI file, rates multiplied by `scale_rates_by`; raise InputError for other files.

    Keys that belong to the destinations (dst, alias, profile, profile-file, hostlist) stay in `values`.
    """
    parser = configparser.ConfigParser(allow_no_value=True)
    try:
        parser.read_string(read_text(path), source=path.name)
        sections = {name: {key: value or "" for key, value in parser[name].items()} for name in parser.sections()}
    except (configparser.Error, ValueError, AttributeError) as error:
        raise InputError(f"{path.name} is no INI file of the harness: {' '.join(str(error).split())}") from error
    if not sections:
        raise InputError(f"{path.name} has no section, and so no job")
    return [_read_job(name, values, scale_rates_by) for name, values in sections.items()]


def _read_job(name: str, given: dict[str, str], scale_rates_by: float) -> HarnessJob:
    values = {ALIASES.get(key, key): " ".join(value.split()) for key, value in given.items()}
    job = HarnessJob(name, {key: value for key, value in values.items() if value})
    job.is_enabled = job.take("enabled", _parse_switch, True)
    job.iterations_count = job.take("iterations", _parse_iterations, 1)
    job.command = job.take("src-cmd", lambda text: parse_source_command(text, scale_rates_by), None)
    if job.command:
        job.lost += [("src-cmd", text) for text in job.command.lost]
        job.notes += [f"src-cmd: {text}" for text in job.command.notes]
    _read_path(job, scale_rates_by)
    _read_instruments(job)
    _read_commands(job)
    if source := job.values.pop("src", ""):
        job.notes.append(f"src = {source}: the testbed's first sender")
    if kind := job.values.pop("type", ""):
        job.notes.append(f"type: {kind}")
    for key in [key for key in job.values if key in NO_EFFECT]:
        job.notes.append(f"{key} = {job.values.pop(key)}: {NO_EFFECT[key]}")
    return job


def _read_path(job: HarnessJob, scale_rates_by: float) -> None:
    has_both = bool(job.values.get("lat-sweep") and job.values.get("limit-sweep"))
    if has_both:
        job.lost.append(("limit-sweep", f"{job.values.pop('limit-sweep')}: the harness refuses it beside lat-sweep"))
    single_rtt = job.take("netem-lat", parse_rtts, [])
    job.rtts_ms = job.take("lat-sweep", parse_rtts, []) or single_rtt[:1]
    single_limit = job.take("netem-limit", parse_limits, [])
    job.limits = job.take("limit-sweep", parse_limits, []) or single_limit[:1]
    job.loss = job.take("netem-loss", parse_loss, None)
    job.parameters = job.take("param-sweep", parse_parameter_sweep, None)
    pacing = job.take("pacing", parse_tc_rate, 0.0)
    job.flow_maxrate_bps = round(pacing * scale_rates_by) or None


def _read_instruments(job: HarnessJob) -> None:
    job.instruments["has_ss"] = job.take("ss", _parse_switch, None)
    job.instruments["has_tcpdump"] = job.take("tcpdump", _parse_switch, False)
    snap_bytes, expression = job.take("tcpdump-filt", _parse_tcpdump, (None, None))
    job.instruments |= {"snap_bytes": snap_bytes, "filter": expression}
    cores = job.values.pop("mpstat", "")
    job.instruments["has_mpstat"] = bool(cores)
    if cores:
        job.notes.append(f"mpstat = {cores}: all cores are watched")
    if job.take("statexec", _parse_present, False):
        job.lost.append(("statexec", "statexec is not among the testbed's instruments"))


def _parse_tcpdump(text: str) -> tuple[int | None, str | None]:
    """Return snap length and filter of `-s 128 -i ens3 "host {dst} and port 5201"`; the usual filter is null."""
    words = shlex.split(text)
    snap_bytes, rest = None, []
    while words:
        word = words.pop(0)
        if word in ("-s", "-i", "-c", "-B") and words:
            value = words.pop(0)
            snap_bytes = int(value) if word == "-s" else snap_bytes
        elif word.startswith("-s") and word[2:].isdigit():
            snap_bytes = int(word[2:])
        elif not word.startswith("-"):
            rest.append(word)
    expression = " ".join(rest)
    return snap_bytes, None if not expression or USUAL_FILTER.fullmatch(expression) else expression


def _read_commands(job: HarnessJob) -> None:
    for key, name in COMMANDS.items():
        if not (command := job.values.pop(key, "")):
            continue
        program = command.split()[0]
        if "/" in program:
            job.lost.append((key, f"{command}: a script of the harness's own machine"))
        elif program in OF_A_MACHINE:
            job.lost.append((key, f"{command}: changes a machine and its devices, not a testbed's"))
        else:
            job.commands[name] = [command]
    server = job.values.pop("dst-cmd", "")
    names = [word.rpartition("/")[2] for word in server.split()]
    if server and "iperf3" in names and {"-s", "--server"} & set(names):
        job.notes.append(f"dst-cmd = {server}: the testbed starts its own servers")
    elif server:
        job.lost.append(("dst-cmd", f"{server}: the testbed starts servers of iperf3 by itself and no others"))


def _parse_switch(text: str) -> bool:
    states = configparser.ConfigParser.BOOLEAN_STATES
    if text.lower() not in states:
        raise UnitError("neither true nor false")
    return states[text.lower()]


def _parse_present(text: str) -> bool:
    # Any text but a plain "no" turns statexec on.
    return configparser.ConfigParser.BOOLEAN_STATES.get(text.lower(), True)


def _parse_iterations(text: str) -> int:
    if not 1 <= int(text) <= ITERATIONS_MAX:
        raise UnitError(f"not between 1 and {ITERATIONS_MAX}")
    return int(text)
