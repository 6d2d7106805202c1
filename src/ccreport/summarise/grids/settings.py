"""Values of settings with name and unit, as headings of columns and titles of panels: 0.001 % loss, RTT 10 ms."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from ccreport.core.text import display_name
from ccreport.core.units import DECIMAL_STEPS
from ccreport.summarise.grids.grid import PERCENT, format_size
from ccreport.summarise.grids.headings import (
    begin_small,
    format_answer,
    format_name,
    is_percentage,
    name_stages,
    name_value,
    write_heading,
)

RATE_UNITS: Final = {"Gbit/s": DECIMAL_STEPS["g"], "Mbit/s": DECIMAL_STEPS["m"], "kbit/s": DECIMAL_STEPS["k"]}


def format_volume(size: int) -> str:
    """Return bytes as volumes are given to a tool, which counts in powers of 1024: 10 MiB, else 25 kB."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size and size % factor == 0:
            return f"{size // factor} {unit}"
    return format_size(size)


def choose_rate_unit(rate_bps: float) -> str:
    """Return the largest unit in which a rate is at least 1, at least kbit/s."""
    return next((unit for unit, size in RATE_UNITS.items() if rate_bps >= size), "kbit/s")


def name_rate(rate_bps: float) -> str:
    """Return a declared rate with all its digits, in the unit that it reads best in: 2.4 Gbit/s."""
    unit = choose_rate_unit(rate_bps)
    return f"{rate_bps / RATE_UNITS[unit]:g} {unit}"


def _describe_label(label: str) -> str:
    # distance=near
    name, _, value = label.partition("=")
    return display_name(value) or f"{name} unknown"


FORMATS: Final[dict[str, Callable[[Any], str]]] = {
    "volume_bytes": lambda size: f"{format_volume(size)} in all",
    "flows_count": lambda count: f"{count} flow{'' if count == 1 else 's'}",
    "bottleneck_bps": lambda rate: f"bottleneck {name_rate(rate)}",
    "pacing_bps": lambda rate: f"paced to {name_rate(rate)}",
    "background_udp_bps": lambda rate: f"beside {name_rate(rate)} of UDP",
    "limit_packets_count": lambda count: f"queue of {count} packets",
    "has_queue_ecn": lambda has_ecn: f"queue {'with' if has_ecn else 'without'} ECN",
    "beside": lambda names: f"both {names.replace(',', ' and ')}",
    "labels": lambda labels: ", ".join(_describe_label(label) for label in labels.split("; ")),
    "buffer_bytes": lambda size: f"buffer {format_size(size)}",
    "loss_pct": lambda loss: f"{loss:.3g} % loss" if loss else "no loss",
    "loss_pattern": lambda pattern: f"in {pattern}" if pattern not in ("none", "random") else "",
    "stages_json": lambda stages: f"changes at {name_stages(stages)}",
    "parameter_value": lambda value: f"value {display_name(value)}",
    "rtt_ms": lambda rtt: f"RTT {rtt:g} ms",
}
UNKNOWN: Final = {
    "flows_count": "flows unknown",
    "sender_host": "sender unknown",
    "bottleneck_bps": "no known bottleneck",
    "pacing_bps": "not paced",
    "background_udp_bps": "no UDP beside",
    "limit_packets_count": "queue unknown",
    "queue_discipline": "queue discipline unknown",
    "beside": "alone",
    "volume_bytes": "no given volume",
    "buffer_bytes": "no known buffer",
    "loss_pct": "loss unknown",
    "rtt_ms": "RTT unknown",
    "stages_json": "no change of the path",
    "parameter_name": "no parameter",
    # Random, or no loss.
    "loss_pattern": "",
    # The name says it.
    "parameter_value": "",
}


def describe_value(column: str, value: Any) -> str:
    """Return the value of a setting with its unit, or that it is unknown.

    Numbers of other columns have the name and the unit by which published tables head them: RTT 5 ms.
    """
    if column in UNKNOWN and value is None:
        return UNKNOWN[column]
    words = write_heading(column).partition(" (")[0]
    if value is None:
        return begin_small(f"{words} unknown")
    if column in FORMATS:
        return FORMATS[column](value)
    if isinstance(value, bool):
        return begin_small(f"{words}: {format_answer(value)}")
    if isinstance(value, int | float):
        return begin_small(name_value(column, PERCENT * value if is_percentage(column) else value))
    return display_name(str(value))


def span_groups(
    columns: Sequence[str], groups: Sequence[tuple[Any, ...]], level: int, width: int
) -> list[tuple[str, int]]:
    """Return the headings of a level above groups of columns, each so many wide: text, and columns that it spans.

    Groups are values of these `columns`, of which the level is one.
    """
    spans: dict[tuple[Any, ...], int] = {}
    for group in groups:
        spans[group[: level + 1]] = spans.get(group[: level + 1], 0) + width
    name = columns[level]
    # A value of which panels say nothing, such as the usual pattern of loss, still needs a heading.
    return [(describe_value(name, key[-1]) or format_name(name, key[-1]), width) for key, width in spans.items()]
