"""Source commands of the harness's INI files: command lines of iperf3 and of pscheduler's throughput test.

The harness cuts a command at blanks and runs it without a shell, after `{dst}` has been filled in as Python's
`str.format` does, so that braces of its own are doubled. pscheduler's options are accepted on either side of the
word `throughput`, and stand for those of iperf3 that it passes on (perfSONAR's documentation, "throughput").
A rate of -b, --fq-rate and --bandwidth is that of one flow; a volume of -n that of all flows together.
"""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from ccreport.collect.harness_ini.sweeps import parse_rate, tidy
from ccreport.core.units import UnitError, parse_iso_duration_s, parse_size_bytes

# The defaults of both programs.
DURATION_S: Final = 10
FLOWS_COUNT: Final = 1

# What the testbed does by itself, so that nothing is lost: JSON over IPv4 towards the job's destination.
GRANTED: Final = frozenset({"client", "json", "version4", "ip_version", "format", "dest", "source", "quiet"})
# Options of iperf3 that are passed on as they are, by the name that a pscheduler option of the same meaning has.
PASSED: Final = {
    "length": "-l",
    "window": "-w",
    "set_mss": "-M",
    "cport": "--cport",
    "tos": "-S",
    "dscp": "--dscp",
    "pacing_timer": "--pacing-timer",
    "zerocopy": "-Z",
    "no_delay": "-N",
    "bidir": "--bidir",
}
SWITCHES: Final = frozenset({"zerocopy", "no_delay", "bidir"})
# What only pscheduler, or only the person who reads a terminal, has a use for.
BOOKKEEPING: Final = frozenset(
    {"priority", "reference", "tool", "key", "title", "verbose", "logfile", "get_server_output"}
)
# Newer than the iperf3 of Debian 12, which refuses them.
TOO_NEW: Final = frozenset({"skip_rx_copy", "json_stream", "zerocopy_mode"})


class _Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the program."""

    def error(self, message: str) -> NoReturn:
        raise UnitError(message)


@dataclass(frozen=True)
class SourceCommand:
    """What a source command asks for. `facts` has the names of `plan.Client`; absent is what it does not say.

    `extra_arguments` go to iperf3 as they are; `lost` says of each option that cannot be kept what and why.
    """

    facts: dict[str, Any]
    extra_arguments: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


def parse_source_command(command: str, scale_rates_by: float = 1.0) -> SourceCommand:
    """Return what a source command asks for, its rates multiplied; raise UnitError where it is no TCP transfer."""
    words = _split(command)
    names = [word.rpartition("/")[2] for word in words]
    place = next((at for at, name in enumerate(names) if name in ("iperf3", "pscheduler")), None)
    if place is None:
        raise UnitError("neither iperf3 nor pscheduler is called")
    before, rest = words[:place], words[place + 1 :]
    if names[place] == "pscheduler":
        given, unknown = _parse_pscheduler(rest)
    else:
        given, unknown = _build_iperf3_parser().parse_known_args(rest)
    if given.udp:
        raise UnitError("it sends UDP; `background_udp` declares that beside a TCP run")
    lost = [f"`{' '.join(before)}` before the program: the testbed binds nothing to CPUs"] if before else []
    return _make_command(given, unknown, lost, scale_rates_by)


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command.replace("{{", "{").replace("}}", "}"))
    except ValueError as error:
        raise UnitError(f"not a command line: {error}") from error
    if shell := [word for word in words if word.strip("&|;<>") == ""]:
        raise UnitError(f"{' '.join(shell)} is the shell's, and the harness runs commands without one")
    return words


def _build_parser() -> _Parser:
    parser = _Parser(add_help=False, argument_default=None)
    for names, kind in (
        (("-C", "--congestion", "--linux-congestion"), str),
        (("-P", "--parallel"), int),
        (("-i", "--interval"), _parse_seconds),
        (("-b", "--bitrate", "--bandwidth"), _parse_flow_rate),
        (("--fq-rate",), parse_rate),
        (("-w", "--window", "--window-size"), str),
        (("-l", "--length", "--buffer-length"), str),
        (("--dscp",), str),
    ):
        parser.add_argument(*names, type=kind)
    parser.add_argument("-u", "--udp", action="store_true")
    parser.add_argument("-4", "--version4", action="store_true")
    parser.add_argument("-R", "--reverse", action="store_true")
    return parser


def _build_iperf3_parser() -> _Parser:
    parser = _build_parser()
    for names, kind in (
        (("-c", "--client"), str),
        (("-t", "--time"), _parse_seconds),
        (("-n", "--bytes"), parse_size_bytes),
        (("-k", "--blockcount"), str),
        (("-O", "--omit"), int),
        (("-M", "--set-mss"), str),
        (("-S", "--tos"), str),
        (("--cport",), str),
        (("--pacing-timer",), str),
        (("-p", "--port"), str),
        (("-A", "--affinity"), str),
        (("-B", "--bind"), str),
        (("--logfile",), str),
        (("-T", "--title"), str),
        (("-f", "--format"), str),
    ):
        parser.add_argument(*names, type=kind)
    # -Z since iperf 3.0; --zerocopy=z, another mechanism, in patched and later ones.
    parser.add_argument("-Z", dest="zerocopy", action="store_true")
    parser.add_argument("--zerocopy", dest="zerocopy_mode", nargs="?", const=True)
    for names in (("-J", "--json"), ("-N", "--no-delay"), ("-6", "--version6"), ("-V", "--verbose")):
        parser.add_argument(*names, action="store_true")
    for name in ("--bidir", "--skip-rx-copy", "--json-stream", "--get-server-output"):
        parser.add_argument(name, action="store_true")
    return parser


def _parse_pscheduler(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    if "task" not in words or "throughput" not in words:
        raise UnitError("pscheduler is not asked for a task of its throughput test")
    parser = _build_parser()
    for names, kind in (
        (("-t", "--duration"), _parse_seconds),
        (("-o", "--omit"), _parse_whole_seconds),
        (("-m", "--mss"), str),
        (("-d", "--dest"), str),
        (("-s", "--source"), str),
        (("-T", "--ip-tos"), str),
        (("--ip-version",), str),
        (("--format",), str),
    ):
        parser.add_argument(*names, type=kind)
    parser.add_argument("-Z", "--zero-copy", dest="zerocopy", action="store_true")
    for name in ("--no-delay", "--quiet"):
        parser.add_argument(name, action="store_true")
    # Where and when pscheduler runs the test, and its own bookkeeping.
    for name in ("--client-cpu-affinity", "--server-cpu-affinity", "--priority", "--reference", "--tool", "--key"):
        parser.add_argument(name)
    given, unknown = parser.parse_known_args(words)
    given.time, given.set_mss, given.tos = given.duration, given.mss, given.ip_tos
    # What iperf3 would not know is said to be lost, not passed on.
    unknown = [word for word in unknown if word not in ("task", "throughput")]
    given.pscheduler_options = " ".join(unknown) or None
    for name in ("duration", "mss", "ip_tos"):
        delattr(given, name)
    if given.ip_version == "6":
        given.version6 = True
    return given, []


def _make_command(
    given: argparse.Namespace, unknown: Sequence[str], lost: list[str], scale_rates_by: float
) -> SourceCommand:
    values = {name: value for name, value in vars(given).items() if value is not None and value is not False}
    flows_count = values.pop("parallel", FLOWS_COUNT)
    facts: dict[str, Any] = {"flows_count": flows_count}
    for name, fact in (
        ("congestion", "congestion_control"),
        ("omit", "omit_s"),
        ("interval", "interval_s"),
        ("reverse", "is_reverse"),
    ):
        if name in values:
            facts[fact] = values.pop(name)
    if "bytes" in values:
        facts["volume_bytes"] = max(1, round(values.pop("bytes") / max(1, flows_count)))
        values.pop("time", None)
    else:
        facts["duration_s"] = values.pop("time", DURATION_S)
        if not facts["duration_s"]:
            lost.append(f"a test without end: {DURATION_S} s stand for it")
            facts["duration_s"] = DURATION_S
    if "fq_rate" in values:
        facts["flow_rate_bps"] = round(values.pop("fq_rate") * scale_rates_by)
    extra = ["-b", str(round(values.pop("bitrate") * scale_rates_by))] if "bitrate" in values else []
    for name in [name for name in values if name in PASSED]:
        value = values.pop(name)
        extra += [PASSED[name]] if name in SWITCHES else [PASSED[name], str(value)]
    notes = []
    if port := values.pop("port", None):
        notes.append(f"-p {port}: the testbed chooses the ports")
    for name, value in values.items():
        if name in BOOKKEEPING:
            notes.append(f"--{name.replace('_', '-')}{'' if value is True else f' {value}'}: changes nothing of a run")
        elif name not in GRANTED:
            lost.append(_explain(name, value))
    if unknown:
        lost.append(f"{' '.join(unknown)}: passed on without being understood")
    return SourceCommand(facts, (*extra, *unknown), tuple(lost), tuple(notes))


def _explain(name: str, value: Any) -> str:
    option = f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
    if name == "zerocopy_mode":
        option = "--zerocopy" + ("" if value is True else f"={value}")
    if name == "pscheduler_options":
        return f"{value} (pscheduler): no counterpart in iperf3 is known"
    if name == "version6":
        return "IPv6: the testbed has IPv4 addresses"
    if name in TOO_NEW:
        return f"{option}: iperf3 3.12, which the testbed runs, does not know it"
    if name == "blockcount":
        return f"{option}: tests end by time or bytes"
    return f"{option}: the testbed binds nothing to CPUs or addresses"


def _parse_flow_rate(text: str) -> float:
    # -b 1G/10: what follows the slash is a burst in packets.
    return parse_rate(text.partition("/")[0])


def _parse_whole_seconds(text: str) -> int:
    return round(_parse_seconds(text))


def _parse_seconds(text: str) -> float:
    return tidy(float(text) if text.replace(".", "", 1).isdigit() else parse_iso_duration_s(text))
