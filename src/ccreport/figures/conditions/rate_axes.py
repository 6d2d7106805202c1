"""What the rate is drawn against: RTT, loss, number of flows, buffer size, or a parameter, each with its own axis."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ccreport.figures.conditions.parameters import place_parameters
from ccreport.figures.kit.axes import Position
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.select.condition_cells import list_values
from ccreport.summarise.grids.grid import format_size

MARGIN: Final = 0.08
MULTIPLES: Final = "BDP: bandwidth-delay product of the path, its bottleneck times its RTT"
EVENLY: Final = "Category axis, not to scale"


@dataclass(frozen=True)
class Kind:
    """What one of these kinds draws: against which column, with which lines, and how that column is laid out."""

    column: str
    name: str
    place: Callable[[pl.DataFrame], tuple[dict[Any, float], Position]]
    line: str = "cc"
    has_runs: bool = False
    notes: Sequence[str] = ()
    # Panels have values of their own.
    is_by_panel: bool = False


def _place_rtts(runs: pl.DataFrame) -> tuple[dict[Any, float], Position]:
    rtts = list_values(runs, "rtt_ms")
    ticks = choose_ticks(rtts[-1])
    labels = [(at, f"{at:g}") for at in ticks]
    return {rtt: rtt for rtt in rtts}, Position("RTT (ms)", 0.0, ticks[-1] * 1.04, labels)


def _place_in_order(values: Sequence[Any], labels: Sequence[str], title: str) -> tuple[dict[Any, float], Position]:
    places = {value: float(place) for place, value in enumerate(values)}
    return places, Position(title, -0.5, len(values) - 0.5, list(zip(places.values(), labels, strict=True)))


def _place_losses(runs: pl.DataFrame) -> tuple[dict[Any, float], Position]:
    losses = list_values(runs, "loss_pct")
    return _place_in_order(losses, [f"{loss:g}" if loss else "none" for loss in losses], "Packet loss (%)")


def _place_flows(runs: pl.DataFrame) -> tuple[dict[Any, float], Position]:
    counts = list_values(runs, "flows_count")
    return _place_in_order(counts, [str(count) for count in counts], "Parallel flows")


def _place_buffers(runs: pl.DataFrame) -> tuple[dict[Any, float], Position]:
    """Place buffer sizes by their logarithm; the second line of a label is the multiple of the one BDP, if known."""
    sizes = list_values(runs, "buffer_bytes")
    if sizes[0] <= 0:
        sizes = [size for size in sizes if size > 0]
    paths = runs.select("bottleneck_bps", "rtt_ms").unique()
    bdp_bytes = paths["bottleneck_bps"][0] * paths["rtt_ms"][0] / 8000 if _has_one_path(paths) else None
    places = {size: math.log10(size) for size in sizes}
    labels = [format_size(size) + (f"\n{size / bdp_bytes:.2g} BDP" if bdp_bytes else "") for size in sizes]
    margin = MARGIN * max(places[sizes[-1]] - places[sizes[0]], 0.1)
    title = "Buffer of the bottleneck port (log scale)"
    ticks = list(zip(places.values(), labels, strict=True))
    return places, Position(title, places[sizes[0]] - margin, places[sizes[-1]] + margin, ticks)


def _has_one_path(paths: pl.DataFrame) -> bool:
    return paths.height == 1 and paths.null_count().sum_horizontal()[0] == 0 and paths["rtt_ms"][0] > 0


KINDS: Final = {
    "rate_by_rtt": Kind("rtt_ms", "RTT", _place_rtts, has_runs=True),
    "rate_by_loss": Kind("loss_pct", "packet loss", _place_losses, line="rtt_ms", notes=[EVENLY]),
    "rate_by_flows": Kind("flows_count", "number of flows", _place_flows, has_runs=True, notes=[EVENLY]),
    "rate_by_buffer": Kind("buffer_bytes", "buffer size", _place_buffers, has_runs=True, notes=[MULTIPLES]),
    "rate_by_parameter": Kind(
        "parameter_value", "value of the parameter", place_parameters, has_runs=True, is_by_panel=True
    ),
}
