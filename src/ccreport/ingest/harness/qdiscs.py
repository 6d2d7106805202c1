"""Queueing disciplines as iproute2's `tc -s qdisc` prints them, one `qdisc …` line each."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ccreport.archive.raw_file import RawFileError
from ccreport.core.units import UnitError, parse_rate_bps, parse_size_bytes, parse_time_ms

# qdisc netem 80f2: dev r1 root refcnt 2 limit 10000 delay 5ms loss 1%
# qdisc tbf 10: dev r1 parent 1:1 rate 50Mbit burst 32Kb lat 14.8ms
# qdisc tbf 8001: root refcnt 2 rate 50Mbit burst 32Kb lat 34.8ms: of `tc -s qdisc show dev lo`, without it
QDISC: Final = re.compile(
    r"\s*qdisc (?P<name>\S+) (?P<handle>\S+) (?:dev (?P<device>\S+)|(?=(?:root|parent)\b))(?P<options>.*)"
)
PARENT: Final = re.compile(r"\bparent ([0-9a-f]+:)")
DELAY: Final = re.compile(r"\bdelay (\S+)(?:\s+(\d\S*s)\b)?")
# As C's %g: 9.99775e-06
PERCENT: Final = r"\d{1,9}(?:\.\d+)?(?:e-\d\d)?"
LOSS: Final = re.compile(rf"\bloss (?:random )?({PERCENT})%", re.ASCII)
# loss gemodel p 1% r 3% 1-h 100% 1-k 0%
GILBERT_ELLIOTT: Final = re.compile(
    rf"\bloss gemodel p (?P<p>{PERCENT})% r (?P<r>{PERCENT})%"
    rf"(?: 1-h (?P<bad>{PERCENT})%)?(?: 1-k (?P<good>{PERCENT})%)?",
    re.ASCII,
)
# loss gemodel p 1% r 3% · loss state p13 1% p31 5% · loss 0.1% 25%
LOSS_MODEL: Final = re.compile(rf"\bloss (?:(gemodel|state)\b|(?:random )?{PERCENT}% ({PERCENT}%))", re.ASCII)
# netem holds a loss as a 32-bit fraction, of which tc prints six digits: 0.001 % becomes 0.00100001%.
PERCENT_STEP: Final = 100 / (2**32 - 1)
PRINTED_DIGITS: Final = 6
LIMIT: Final = re.compile(r"\blimit (\d+)p?\b")
# qdisc bfifo 10: dev r1 parent 1: limit 250000b · limit 256Kb
LIMIT_BYTES: Final = re.compile(r"\blimit (\d+(?:\.\d+)?[KM]?b)\b", re.ASCII)
# What tc prints in place of a tbf's limit: how long that takes to leave, once the burst has.
BUCKET: Final = re.compile(r"\brate (?P<rate>\S+) burst (?P<burst>\d[^\s/]*)\S* lat (?P<latency>\d\S*)", re.ASCII)
LATENCY_DIGITS: Final = 3
# qdisc cake 1: dev r0 root refcnt 2 bandwidth 50Mbit besteffort triple-isolate …
RATE: Final = re.compile(r"\b(?:rate|bandwidth) (\S+)")


def parse_qdiscs(text: str) -> list[dict[str, Any]]:
    """Return one row of the `qdiscs` table for each line that names a discipline, without the run's columns.

    Raise RawFileError (`no_measurement`) where no line does.
    """
    lines = [(number, QDISC.fullmatch(line)) for number, line in enumerate(text.splitlines(), start=1)]
    matches = [(number, match) for number, match in lines if match is not None]
    parents = {(match["device"], found[1]) for _, match in matches if (found := PARENT.search(match["options"]))}
    rows = []
    for number, match in matches:
        options = match["options"]
        delay = DELAY.search(options)
        limit = LIMIT.search(options)
        # What waits in front of a discipline with a child waits in that.
        has_child = (match["device"], match["handle"]) in parents
        row = {
            "line_number": number,
            "device": match["device"],
            "qdisc": match["name"],
            "delay_ms": _read(delay and delay[1], parse_time_ms),
            "delay_jitter_ms": _read(delay and delay[2], parse_time_ms),
            "loss_pct": _read_loss(options) if match["name"] == "netem" else None,
            "loss_model": _find_loss_model(options) if match["name"] == "netem" else None,
            "limit_packets_count": int(limit[1]) if limit and len(limit[1]) < 18 else None,
            "limit_bytes": None if has_child else _read_limit_bytes(options),
            "rate_bps": _read(rate[1] if (rate := RATE.search(options)) else None, parse_rate_bps),
        }
        rows.append(row)
    if not rows:
        raise RawFileError(
            "no_measurement", "no line of tc -s qdisc in it, so the path's delay and loss are not recorded"
        )
    return rows


def find_buffer(rows: Iterable[Mapping[str, Any]]) -> tuple[int | None, int | None]:
    """Return the buffer of a path's bottleneck in bytes, and in packets; None where its qdiscs do not tell it.

    The bottleneck is the device of the slowest shaper, and without one may be any.
    """
    rows = list(rows)
    rate_bps = min((row["rate_bps"] for row in rows if row["rate_bps"] is not None), default=None)
    devices = {row["device"] for row in rows if row["rate_bps"] == rate_bps}
    own = [row for row in rows if rate_bps is None or row["device"] in devices]
    sizes = {row["limit_bytes"] for row in own} - {None}
    counts = {row["limit_packets_count"] for row in own if row["qdisc"] == "pfifo"} - {None}
    return (sizes.pop() if len(sizes) == 1 else None, counts.pop() if len(counts) == 1 else None)


def _read_limit_bytes(options: str) -> int | None:
    try:
        if match := LIMIT_BYTES.search(options):
            return parse_size_bytes(match[1])
        if match := BUCKET.search(options):
            drained_bytes = parse_rate_bps(match["rate"]) * parse_time_ms(match["latency"]) / 8000
            # As exact as the latency is printed: 249,628 bytes were 250,000.
            return int(float(f"{drained_bytes + parse_size_bytes(match['burst']):.{LATENCY_DIGITS}g}"))
    except UnitError:
        pass
    return None


def _read(text: str | None, parse: Callable[[str], float]) -> float | None:
    try:
        return parse(text) if text else None
    except UnitError:
        return None


def _read_loss(options: str) -> float | None:
    """Return the mean loss: the random one, that of a Gilbert–Elliott model, or 0 where there is none.

    A Gilbert–Elliott model loses 1-h in its bad state, where it is p / (p + r) of the time, and 1-k in its good one.
    """
    if match := GILBERT_ELLIOTT.search(options):
        p, r, bad, good = (float(text) for text in match.groups(default="nan"))
        bad, good = (100.0 if math.isnan(bad) else bad), (0.0 if math.isnan(good) else good)
        # Whoever wants a mean of 0.01 % writes p 0.002 and r 20, which have one of 0.009999 %.
        return min(float(f"{(p * bad + r * good) / (p + r):.3g}"), 100.0) if p + r > 0 else None
    if match := LOSS.search(options):
        return min(_find_declared(float(match[1])), 100.0)
    return None if "loss" in options else 0.0


def _find_loss_model(options: str) -> str | None:
    """Return what makes losses depend on each other: `gemodel`, `state` or a correlation; None where nothing does."""
    match = LOSS_MODEL.search(options)
    return match and (match[1] or match[2])


def _find_declared(printed_pct: float) -> float:
    """Return the shortest decimal that netem would hold and tc would print as this percentage."""
    for digits in range(1, PRINTED_DIGITS):
        declared = float(f"{printed_pct:.{digits}g}")
        held = round(declared / PERCENT_STEP) * PERCENT_STEP
        if float(f"{held:.{PRINTED_DIGITS}g}") == printed_pct:
            return declared
    return printed_pct
