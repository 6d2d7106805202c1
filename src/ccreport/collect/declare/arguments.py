"""The arguments that a campaign adds to the command lines of its clients, and what of them only its keys may give.

A run says of itself what the keys say. iperf3 and netperf read their options with getopt: a flag may be followed by
other letters in the same word (`-NR`), a value may be part of its word (`-t10`, `--time=10`), and a long name may be
cut short (`--tim`).
"""

from collections.abc import Iterable, Iterator
from typing import Final

# Options of one letter that take no value.
FLAGS: Final = {"iperf3": "146DJNRVZsuv", "netperf": "46CNcn"}
PORTS: Final = "the testbed chooses the ports"
ADDRESSES: Final = "the testbed chooses both ends"
OUTPUT: Final = "the output is what the testbed reads"
# Which only paces sockets where the campaign says so.
PACING: Final = "flow_pacing_mbps"
# What gives each option its value: a key, or in a sentence the testbed.
GIVEN: Final[dict[str, dict[tuple[str, ...], str]]] = {
    "iperf3": {
        ("-t", "--time"): "duration_s",
        ("-n", "--bytes"): "volume_bytes",
        ("-k", "--blockcount"): "volume_bytes",
        ("-P", "--parallel"): "flows_count",
        ("-C", "--congestion", "--linux-congestion"): "congestion_control",
        ("-O", "--omit"): "omit_s",
        ("-i", "--interval"): "report_interval_s",
        ("-R", "--reverse"): "reverse",
        ("--fq-rate",): PACING,
        ("-p", "--port"): PORTS,
        ("-c", "--client"): ADDRESSES,
        ("-s", "--server"): ADDRESSES,
        ("--logfile",): OUTPUT,
    },
    # These stand behind `--`, where netperf has no -l.
    "netperf": {
        ("-l",): "duration_s",
        ("-r",): "rpc",
        ("-K",): "congestion_control",
        ("-H",): ADDRESSES,
        ("-k",): OUTPUT,
        ("-o",): OUTPUT,
        ("-O",): OUTPUT,
    },
}
# Shorter ones stand for several names.
ABBREVIATION_LENGTH: Final = len("--tim")


def split_options(arguments: Iterable[str], program: str) -> Iterator[tuple[str, str]]:
    """Yield the options as they are typed, each with the value in its word; other words have no option."""
    for word in arguments:
        if word.startswith("--"):
            option, _, value = word.partition("=")
            yield option, value
        elif word.startswith("-") and (word[1:2] in FLAGS[program] or not word[1:2].isdigit()):
            yield from _split_letters(word[1:], FLAGS[program])
        else:
            yield "", word


def _split_letters(letters: str, flags: str) -> Iterator[tuple[str, str]]:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in flags:
            yield f"-{letter}", ""
        else:
            yield f"-{letter}", letters
            return


def list_given(arguments: Iterable[str], program: str, *, paces_sockets: bool) -> Iterator[str]:
    """Yield what to say of each option that is not for `extra_arguments`."""
    for option, _ in split_options(arguments, program):
        for names, source in GIVEN[program].items():
            is_meant = option in names or (
                len(option) >= ABBREVIATION_LENGTH and any(name.startswith(option) for name in names)
            )
            if is_meant and (paces_sockets or source != PACING):
                yield f"{option}: {source}; leave it out" if " " in source else f"{option} is given by `{source}`"


def sends_udp(arguments: Iterable[str]) -> bool:
    """Tell whether iperf3 sends UDP with some arguments."""
    return not {"-u", "--udp"}.isdisjoint(option for option, _ in split_options(arguments, "iperf3"))
