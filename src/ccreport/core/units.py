"""Quantities written by people and programs, as plain numbers in base units.

The only module that knows a thousand from a million. Rates are decimal (tc, ss and iperf3 print powers of 1000);
sizes of iperf3 (`-n 1M`) are binary, as that program reads them.
"""

import difflib
import itertools
import math
import os
import re
from typing import Final

from ccreport.core.errors import InputError

DECIMAL_STEPS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY_STEPS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

# Without ASCII a long s (U+017F) would be an s, and Arabic digits digits.
ANY_CASE: Final = re.IGNORECASE | re.ASCII
# No quantity of a network is larger, and a 64-bit integer holds it.
LARGEST: Final = 10**18

# 9.8Gbps · 50Mbit · 2.4gbit · 10000Mb/s · 511958000000bps · 620 Mbit/s, and not 100MB/s: those are bytes
RATE = re.compile(
    r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([kmgt]?)(?:(?-i:b|B(?=[Ii][Tt]))(?:it|ps|its)?(?:/s|/sec|ps)?)?\s*", ANY_CASE
)
# 100mbps
BYTES_OF_TC: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?-i:b)ps\s*", ANY_CASE)
# 512K · 6M · 131072
SIZE = re.compile(r"\s*([0-9.]+)\s*([kmgt]?)b?\s*", ANY_CASE)
# 5ms · 2.5ms · 100us · 1s · 10 (a bare number is milliseconds, as in the harness's INI files)
TIME = re.compile(r"\s*([0-9.]+)\s*(us|usec|ms|msec|s|sec)?\s*", ANY_CASE)
# PT5M · PT60S · PT1H30M (ISO 8601, as pscheduler writes durations)
ISO_DURATION = re.compile(r"P(?:(\d{1,9})D)?T?(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d+)?)S)?", re.ASCII)

MS_PER_UNIT: Final = {"us": 1e-3, "usec": 1e-3, "ms": 1.0, "msec": 1.0, "s": 1e3, "sec": 1e3}

# 32MB · 1.5 ms
WITH_UNIT: Final = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-zµ%][A-Za-z/]*)")
# 9,5 · 1,500,000
WITH_COMMAS: Final = re.compile(r"\d+(?:,\d+)+")
THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+")
# Units that people write, and that the names of keys end with, in the base unit of their kind.
TIMES: Final = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0}
RATES: Final = {"bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9, "k": 1e3, "m": 1e6, "g": 1e9}
RATES_IN_WORDS: Final = re.compile(r"([kmgt]?)bits?(?:/s|ps)?")
SIZES: Final = {"bytes": 1.0, "b": 1.0} | {
    f"{letter}{end}": 1000.0**power if end == "b" else 1024.0**power
    for power, letter in enumerate("kmg", 1)
    for end in ("b", "ib")
}
PARTS: Final = {"pct": 0.01, "%": 0.01, "percent": 0.01, "ratio": 1.0, "cv": 1.0}
# Units of published numbers that people write in other ways: Mbits, MS. Any other unit is taken as it is.
UNITS: Final = (
    *("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "bps", "kbps", "Mbps", "Gbps", "kb/s", "Mb/s", "Gb/s"),
    *("B/s", "kB/s", "MB/s", "GB/s", "kBps", "MBps", "GBps", "bit", "bits", "kbit", "Mbit", "Gbit", "kb", "Mb", "Gb"),
    *("B", "bytes", "kB", "MB", "GB", "KiB", "MiB", "GiB", "s", "ms", "us", "µs", "ns", "min", "h", "%"),
    *("pps", "kpps", "Mpps"),
)
# Mbits of Mbit/s, and not RTTs of bits
NEARLY: Final = 0.7


class UnitError(ValueError):
    """A text is not a quantity of the expected kind."""


def _match(pattern: re.Pattern[str], text: str, what: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise UnitError(f"not {what}: {text!r}")
    return match


def _scale(digits: str, factor: float, text: str) -> float:
    try:
        number = float(digits) * factor
    except ValueError as error:
        raise UnitError(f"not a number: {text!r}") from error
    if not number <= LARGEST:
        raise UnitError(f"too large to be a quantity of a network: {text[:40]!r}")
    return number


def parse_rate_bps(text: str) -> float:
    """Return a rate such as `9.8Gbps` or `50Mbit` in bit/s; raise UnitError for anything else."""
    match = _match(RATE, text, "a rate such as 50Mbit or 9.8Gbit")
    return _scale(match[1], DECIMAL_STEPS[match[2].lower()], text)


def parse_tc_rate_bps(text: str) -> float:
    """Return a rate in tc's units in bit/s; raise UnitError for anything else, and for bps.

    To tc `mbps` is megabytes per second, to most who write it megabits: tc(8), "RATES".
    """
    if match := BYTES_OF_TC.fullmatch(text):
        number, step = match[1], match[2].lower()
        bits = f"{float(number) * 8:.12g}{step}bit"
        raise UnitError(f"bytes per second to tc, bits to most people; write {number}{step}bit or {bits}")
    return parse_rate_bps(text)


def parse_size_bytes(text: str) -> int:
    """Return a size such as `512K` or `6M` in bytes, binary multiples as iperf3 reads them; raise UnitError."""
    match = _match(SIZE, text, "a size such as 512K")
    return round(_scale(match[1], BINARY_STEPS[match[2].lower()], text))


def parse_time_ms(text: str) -> float:
    """Return a time such as `2.5ms` or `100us` in ms, a bare number being ms; raise UnitError for anything else."""
    match = _match(TIME, text, "a time such as 2.5ms")
    return _scale(match[1], MS_PER_UNIT[(match[2] or "ms").lower()], text)


def parse_iso_duration_s(text: str) -> float:
    """Return an ISO 8601 duration such as `PT5M` in seconds; raise UnitError for anything else."""
    match = _match(ISO_DURATION, text, "an ISO 8601 duration such as PT5M")
    if not any(match.groups()):
        raise UnitError(f"not an ISO 8601 duration such as PT5M: {text!r}")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def read_whole_number(variable: str, least: int, most: int) -> int | None:
    """Return the number that an environment variable holds, None where it is unset or empty; raise InputError."""
    text = os.environ.get(variable, "")
    if not text:
        return None
    if text.isascii() and text.isdigit() and least <= int(text) <= most:
        return int(text)
    raise InputError(
        f"{variable} is {text!r} in the environment; write a whole number from {least} to {most}, or unset it"
    )


def name_buckets(edges: list[float]) -> list[str]:
    """Return the names of the RTT buckets of ascending lower edges (ms): unknown, below each edge, from the last on.

    No RTT is below an edge at 0.
    """
    pairs = [(lower, upper) for lower, upper in itertools.pairwise((0, *edges)) if upper > 0]
    between = [f"RTT {lower:g}–{upper:g} ms" if lower > 0 else f"RTT < {upper:g} ms" for lower, upper in pairs]
    return ["RTT unknown", *between, f"RTT ≥ {edges[-1]:g} ms"]


def mend_unit(number: float, unit: str, key: str, *, is_whole: bool) -> str:
    """Return how to write a number with a unit where the key's own is meant: 0.02s as 20 for `rtt_ms`."""
    meant = convert_unit(number, unit, key)
    own = _name_unit(key)
    if meant is None and any(own in scales for scales in (TIMES, RATES, SIZES)) and unit[:1] != own[:1]:
        return f"; write a number in the unit of `{key}`, without its name"
    meant = number if meant is None else meant
    written = math.ceil(round(meant, 6)) if is_whole else f"{meant:.12g}"
    return f"; write {written}, in the unit of `{key}` and without its name"


def mend_number(text: str, key: str, most: float | None, *, is_whole: bool) -> str:
    """Return how to write a text as the number that a key takes, up to `most`; nothing for what is not finite."""
    if with_unit := WITH_UNIT.fullmatch(text):
        return mend_unit(float(with_unit[1]), with_unit[2].lower(), key, is_whole=is_whole)
    try:
        number = float(text)
    except ValueError:
        return mend_digits(text)
    # YAML reads 1e6 as text: it wants a dot and a sign.
    written = math.ceil(number) if math.isfinite(number) and (number.is_integer() or is_whole) else number
    return mend_base(number, key, most) or (f"; write {written}" if math.isfinite(number) else "")


def mend_base(number: float, key: str, most: float | None) -> str:
    """Return how to write a number above `most` that is in the base unit: 20000000 bit/s as 20 for `rate_mbps`."""
    own = _name_unit(key)
    scale = next((scales[own] for scales in (TIMES, RATES, SIZES) if own in scales), 0.0)
    is_meant = most is not None and scale > 1 and most < number <= most * scale and number >= scale
    return f"; write {number / scale:.12g}, in the unit of `{key}`" if is_meant else ""


def convert_unit(number: float, unit: str, key: str) -> float | None:
    """Return a number with a unit, in small letters, in that of a key or column, 0.03 for 3 % of `rate_cv`, or None."""
    own = _name_unit(key)
    if in_words := RATES_IN_WORDS.fullmatch(unit):
        unit = f"{in_words[1]}bps"
    if own.endswith("ib") and len(unit) < len(own):
        # Mebibytes are mostly called megabytes.
        unit = f"{unit[0]}ib"
    scales = next((known for known in (TIMES, RATES, SIZES, PARTS) if own in known and unit in known), None)
    return None if scales is None else number * (scales[unit] / scales[own])


def _name_unit(key: str) -> str:
    return key.rpartition("_")[2].lower()


def mend_digits(text: str, example: str = "10") -> str:
    """Return how to write a number that is in words, or has a decimal comma."""
    if WITH_COMMAS.fullmatch(text):
        return f"; write {text.replace(',', '' if THOUSANDS.fullmatch(text) else '.')}"
    return f"; write digits, such as {example}"


def find_unit(unit: str) -> str | None:
    """Return the known unit that an unknown one is nearly, or is in other letters; None of any other."""
    if unit in UNITS:
        return None
    same = [known for known in UNITS if known.lower() == unit.lower()]
    return next(iter([*same, *difflib.get_close_matches(unit, UNITS, n=1, cutoff=NEARLY)]), None)
