"""Captured connections of flows: which of them carried a flow, and its counters at any time to a step of 100 ms.

A capture holds every connection of a run, in both directions, and a 4-tuple may have been used before by a test that
was retried; a run can be captured on both sides.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

# Length of a step of `packet_intervals`.
STEP_US: Final = 100_000
# SYN and FIN, which the kernel's count of acknowledged bytes holds as a byte each.
FLAG_BYTES: Final = 2


def select_captured(flows: pl.DataFrame, packet_flows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `packet_flows` that are the data direction of a flow, one for each capture and flow.

    `flows` has flow_id, is_reverse, and the times of its first and last sample by ss (first_utc, last_utc). Of several
    connections with one 4-tuple it is the last that ran while ss sampled, else the last.
    """
    wanted = flows.select(
        "flow_id",
        pl.when("is_reverse").then(pl.lit("in")).otherwise(pl.lit("out")).alias("direction"),
        sampled_from="first_utc",
        sampled_to="last_utc",
    )
    was_sampled = (pl.col("first_utc") <= pl.col("sampled_to")) & (pl.col("last_utc") >= pl.col("sampled_from"))
    return (
        packet_flows.join(wanted, on=["flow_id", "direction"])
        .with_columns(was_sampled=was_sampled.fill_null(value=False))
        .sort("raw_file_id", "flow_id", "was_sampled", "connection_number")
        .unique(["raw_file_id", "flow_id"], keep="last", maintain_order=True)
        .select(packet_flows.columns)
    )


class Steps:
    """What a captured direction had done at any time: bounds from its steps, for a time is inside one.

    A window (i, j) stands for a time of which it is known that the first i steps were over and the first j begun.
    """

    SUMS: Final = ("retransmits_capture_count", "retransmitted_capture_bytes")
    ENDS: Final = ("acknowledged_end_bytes", "sequence_end_bytes")

    def __init__(self, steps: pl.DataFrame) -> None:
        """Take the rows of `packet_intervals` of one direction of one connection."""
        ordered = steps.sort("interval_utc")
        self._starts = ordered["interval_utc"].to_physical().to_numpy()
        growing = [pl.col(name).cum_sum() for name in self.SUMS]
        growing += [pl.col(name).cum_max().forward_fill().fill_null(0) for name in self.ENDS]
        self._totals = {column.name: column.to_numpy() for column in ordered.select(growing)}
        self._rtt_min_ms = ordered["ack_rtt_min_ms"].cum_min().forward_fill()
        self.rtt_max_ms: float | None = ordered.select(pl.col("ack_rtt_max_ms").max()).item()

    def window(self, earliest_us: int, latest_us: int) -> tuple[int, int]:
        """Return the window of a time between these two."""
        ended = int(np.searchsorted(self._starts, earliest_us - STEP_US, "right"))
        return ended, int(np.searchsorted(self._starts, latest_us, "right"))

    def narrow(self, window: tuple[int, int], acked_bytes: int) -> tuple[int, int] | None:
        """Return the part of a window in which the kernel counted so many bytes as acknowledged; None if there is none.

        The kernel counts SYN and FIN as a byte each.
        """
        acked = self._totals["acknowledged_end_bytes"]
        reached = int(np.searchsorted(acked, acked_bytes - FLAG_BYTES, "left")) if acked_bytes > FLAG_BYTES else -1
        passed = int(np.searchsorted(acked, acked_bytes, "right"))
        if reached >= window[1] or passed < window[0]:
            return None
        return max(window[0], reached), min(window[1], passed + 1)

    def bounds(self, measure: str, window: tuple[int, int]) -> tuple[int, int]:
        """Return the least and the greatest value that a growing total had in a window."""
        totals = self._totals[measure]
        low, high = (int(totals[position - 1]) if position > 0 else 0 for position in window)
        return low, high

    def rtt_min_before(self, window: tuple[int, int]) -> float | None:
        """Return the smallest RTT of the steps that were over, in ms."""
        smallest: float | None = self._rtt_min_ms[window[0] - 1] if window[0] > 0 else None
        return smallest

    def start_of(self, sent_bytes: int) -> int | None:
        """Return the start of the step in which more than so many bytes had been sent first."""
        beyond = np.flatnonzero(self._totals["sequence_end_bytes"] > sent_bytes)
        return int(self._starts[beyond[0]]) if len(beyond) else None

    @property
    def acked_bytes(self) -> int:
        """All bytes that the capture saw acknowledged."""
        return int(self._totals["acknowledged_end_bytes"].max(initial=0))


def split_steps(packet_intervals: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[object, ...], pl.DataFrame]:
    """Return the rows of `packet_intervals` by these columns."""
    return packet_intervals.partition_by(keys, as_dict=True)
