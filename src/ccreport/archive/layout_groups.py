"""The groups of a layout's patterns that have a meaning, and how their texts become values."""

import difflib
import re
from collections.abc import Collection
from string import ascii_letters, ascii_lowercase
from typing import Final, TextIO

from ccreport.core.algorithms import name_algorithm

Value = str | int | float

# Bounds as of the columns of `runs` that the values end in.
LARGEST_COUNT: Final = 2**63 - 1
COUNTS: Final = frozenset({"iteration", "flows", "limit_packets_count", "buffer_bytes", "mtu_bytes"})
NUMBERS: Final = frozenset({"rtt_ms", "loss_pct", "bottleneck_bps", "pacing_bps"})
TEXTS: Final = frozenset(
    {"run", "session", "job", "host", "sender_host", "flow", "cc", "side", "kind", "kernel", "queue_discipline"}
)
KNOWN: Final = COUNTS | NUMBERS | TEXTS
# What is true of one file, and not of its run.
OF_FILES: Final = frozenset({"flow", "side", "kind"})
# What ends in columns of `runs` of the same name.
CONDITIONS: Final = frozenset(
    {
        "loss_pct",
        "buffer_bytes",
        "mtu_bytes",
        "bottleneck_bps",
        "pacing_bps",
        "sender_host",
        "kernel",
        "queue_discipline",
    }
)
SIDES: Final = {
    **dict.fromkeys(("sender", "client", "src", "tx", "snd"), "sender"),
    **dict.fromkeys(("receiver", "server", "dst", "rx", "rcv"), "receiver"),
}
# Kinds of the schema of layouts, and words that stand for them in names, by the kinds of `raw_files`.
KINDS: Final = {
    **dict.fromkeys(("iperf3", "iperf", "client", "src-cmd"), "src-cmd"),
    **dict.fromkeys(("iperf3-server", "server", "dst-cmd"), "dst-cmd"),
    **dict.fromkeys(("netem", "qdisc", "tc", "pre-netem"), "pre-netem"),
    **dict.fromkeys(("tcpdump", "pcap", "pcapng"), "tcpdump"),
    **dict.fromkeys(("background", "xtraffic"), "xtraffic"),
    **{kind: kind for kind in ("ss", "mpstat", "tcpdump-log", "jobmeta", "host-meta", "nstat", "netperf", "flent")},
}
# Names that mean a known group and would else be taken as a parameter of the sweep.
MEANT: Final = {
    **dict.fromkeys(("rtt", "latency", "delay", "lat"), "rtt_ms"),
    **dict.fromkeys(("loss", "loss_percent", "lossrate", "plr"), "loss_pct"),
    **dict.fromkeys(("iter", "repetition", "rep", "trial", "repeat", "try", "attempt", "round"), "iteration"),
    **dict.fromkeys(("algorithm", "algo", "cca", "congestion", "congestion_control"), "cc"),
    **dict.fromkeys(("streams", "parallel", "flows_count"), "flows"),
    **dict.fromkeys(("rate", "bandwidth", "bw", "bottleneck"), "bottleneck_bps"),
    **dict.fromkeys(("dst", "destination"), "host"),
    **dict.fromkeys(("src", "sender"), "sender_host"),
    **dict.fromkeys(("buffer", "buffer_kb", "queue_bytes"), "buffer_bytes"),
    **dict.fromkeys(("qdisc", "aqm"), "queue_discipline"),
    "pacing": "pacing_bps",
    "mtu": "mtu_bytes",
    "limit": "limit_packets_count",
}
# Units in which a path or a table may have a group's numbers, by the end of its name: bottleneck_mbps, loss_ratio; and
# delays in one direction, half of an RTT. A size in kB is not among them, as that is 1000 bytes to one and 1024 to
# another.
OTHER_UNITS: Final = {
    f"{group.rpartition('_')[0]}_{unit}": (group, factor)
    for group, units in {
        "bottleneck_bps": {"kbps": 1e3, "mbps": 1e6, "gbps": 1e9},
        "pacing_bps": {"kbps": 1e3, "mbps": 1e6, "gbps": 1e9},
        "rtt_ms": {"us": 1e-3, "s": 1e3},
        "loss_pct": {"ratio": 100.0},
    }.items()
    for unit, factor in units.items()
} | {f"owd_{unit}": ("rtt_ms", 2 * factor) for unit, factor in {"us": 1e-3, "ms": 1, "s": 1e3}.items()}
# How units are spelt elsewhere.
UNITS: Final = {"kbit": "kbps", "mbit": "mbps", "gbit": "gbps", "usec": "us", "msec": "ms", "sec": "s"}
# loss (%) · RTT [ms]
IN_BRACKETS: Final = re.compile(r"\s*[(\[].*[)\]]\s*$")
# As people write it where others have a number, and in place of one behind "loss".
NO_LOSS: Final = "none"
# 0,01 · 2,5, but not 1,000 or 4,0.01, and neither where commas separate words: 16,20ms,cubic
FRACTION: Final = re.compile(r"(?<![0-9.,])0,(?=[0-9]+(?![0-9,]|\.[0-9]))")
DECIMAL: Final = re.compile(r"(?<![0-9.,])([0-9]+),(?![0-9]{3}(?![0-9]))(?=[0-9]+(?![0-9,]|\.[0-9]))")
SEPARATING: Final = re.compile(r"[^0-9],\S|,[^0-9\s]")
# What separates the columns of a table; where none does, there is one column.
SEPARATORS: Final = (",", ";", "\t")
WITH_UNIT: Final = NUMBERS | OTHER_UNITS.keys() | COUNTS - {"iteration", "flows"}


def check_group(name: str) -> str | None:
    """Return what is wrong with the name of a group, None for a known one and for a parameter of its own."""
    if name in KNOWN | OTHER_UNITS.keys():
        return None
    meant = find_meant(name)
    if meant is None:
        return None
    unit = ""
    if meant in WITH_UNIT:
        others = [f"`{other}`" for other, (group, _) in OTHER_UNITS.items() if group == meant]
        also = f"there are also {', '.join(others)}, and " if others else ""
        unit = f" Its name says its unit; {also}`scale` converts another one."
    return f"`{name}` is not a group; did you mean `{meant}`?{unit} For a parameter of your own, choose another name"


def check_groups(names: Collection[str]) -> str | None:
    """Return what is wrong with the names of groups, of all in one sentence; None where nothing is."""
    meant = {name: find_meant(name) for name in names if check_group(name) is not None}
    if len(meant) < 2:
        return next(map(check_group, meant), None)
    wrong, right = (
        " and ".join(", ".join(f"`{name}`" for name in own).rsplit(", ", 1)) for own in (meant, meant.values())
    )
    unit = " Their names say their units; `scale` converts others." if WITH_UNIT.intersection(meant.values()) else ""
    return f"{wrong} are not groups; did you mean {right}?{unit} For parameters of your own, choose other names"


def find_meant(name: str) -> str | None:
    """Return the known group that another name means, None where it is a parameter's own."""
    name = IN_BRACKETS.sub("", name).lower()
    close = difflib.get_close_matches(name, KNOWN | OTHER_UNITS.keys(), 1, 0.8)
    return MEANT.get(name) or _find_meant_unit(name) or (close[0] if close else None)


def find_separator(table: TextIO) -> str:
    """Return what separates the columns of a table, by its first line: that of `SEPARATORS` which is there most."""
    header = table.readline()
    table.seek(0)
    return max(SEPARATORS, key=header.count)


def _find_meant_unit(name: str) -> str | None:
    """Return the known group that a name means by another word and a unit: rtt_us for delay_usec."""
    word, _, unit = name.rpartition("_")
    meant = f"{MEANT.get(word, '').rpartition('_')[0]}_{UNITS.get(unit, unit)}"
    return meant if meant in KNOWN | OTHER_UNITS.keys() else None


def find_group(name: str) -> tuple[str, float]:
    """Return the group that a name with a unit stands for, and the factor to its unit: rtt_ms and 1000 for rtt_s."""
    return OTHER_UNITS.get(name, (name, 1))


def read_value(name: str, given: Value, factor: float = 1) -> Value:
    """Return the value of a group: a number in its unit, or a text; raise ValueError with what is wrong.

    `name` may be one with another unit. Texts of `side` and `kind` become the words of `raw_files`.
    """
    text = str(given).strip()
    group, _ = find_group(name)
    if group in COUNTS or group in NUMBERS:
        return _read_number(name, text, factor)
    if name == "side":
        if text.lower() not in SIDES:
            raise ValueError(f"side is {text!r}: write sender or receiver")
        return SIDES[text.lower()]
    if name == "kind":
        return KINDS.get(text.lower(), "unknown")
    if name == "cc":
        return name_algorithm(text) or text
    pointed = point_decimals(text)
    return pointed if name not in KNOWN and pointed.replace(".", "").isdigit() else text


def point_decimals(text: str) -> str:
    """Return a text with points in place of its decimal commas; those that may be others stay."""
    pointed = FRACTION.sub("0.", text)
    return pointed if SEPARATING.search(pointed) else DECIMAL.sub(r"\1.", pointed)


def _read_number(name: str, text: str, factor: float) -> int | float:
    group, of_unit = find_group(name)
    factor *= of_unit
    if group == "loss_pct" and text.lower() == NO_LOSS:
        return 0.0
    if group == "iteration" and len(text) == 1 and text in ascii_letters:
        # Repetitions a, b and c are 1, 2 and 3.
        return ascii_lowercase.index(text.lower()) + 1
    try:
        number = float(point_decimals(text)) * factor
    except ValueError:
        unit = "; its unit is that of the name" if name in WITH_UNIT and text[:1].isdigit() else ""
        raise ValueError(f"{name} is {text!r}, which is not a number{unit}") from None
    top = 100 if group == "loss_pct" else LARGEST_COUNT
    if number < 0:
        raise ValueError(f"{name} is {text!r}, which is negative")
    if not number <= top:
        in_unit = top if factor == 1 else format_value(top / (factor or 1))
        raise ValueError(f"{name} is {text!r}, which is not between 0 and {in_unit}")
    # 0.1 · 3 is 0.30000000000000004, and means 0.3.
    number = float(f"{number:.12g}")
    if group not in COUNTS:
        return number
    if number != int(number):
        raise ValueError(f"{name} is {text!r}, which is not a whole number")
    return min(int(number), LARGEST_COUNT)


def format_value(value: Value) -> str:
    """Return a value as text: 20 for 20.0, as a name would say it."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def is_same(one: Value, other: Value) -> bool:
    """Tell whether two values are the same number, or the same text in whichever case of letters."""
    try:
        return float(one) == float(other)
    except ValueError:
        return str(one).lower() == str(other).lower()


def sort_naturally(names: Collection[str]) -> list[str]:
    """Return names in the order in which people count: h2 before h10."""

    def key(name: str) -> tuple[list[tuple[bool, int, str]], str]:
        parts: list[tuple[bool, int, str]] = []
        for is_digit, piece in _split_digits(name):
            parts.append((is_digit, int(piece) if is_digit else 0, "" if is_digit else piece))
        return parts, name

    return sorted(names, key=key)


def _split_digits(name: str) -> list[tuple[bool, str]]:
    pieces: list[tuple[bool, str]] = []
    for char in name:
        is_digit = char.isascii() and char.isdigit()
        # More digits than a number has are text.
        if pieces and pieces[-1][0] == is_digit and len(pieces[-1][1]) < 18:
            pieces[-1] = (is_digit, pieces[-1][1] + char)
        else:
            pieces.append((is_digit, char))
    return pieces
