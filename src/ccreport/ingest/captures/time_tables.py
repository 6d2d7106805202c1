"""Captured connections over time as tables: the steps and packets that the kernel put out."""

from typing import Final

import numpy as np
import polars as pl

from ccreport.ingest.captures.columns import DIRECTIONS, divide, nanoseconds, optional, utc
from ccreport.ingest.captures.decode.layout import ABSENT, Ints
from ccreport.ingest.captures.follow import state as at

_STEP_COUNTERS: Final = {
    "frames_count": at.STEP_FRAMES,
    "data_packets_count": at.STEP_DATA_PACKETS,
    "payload_bytes": at.STEP_PAYLOAD,
    "unique_bytes": at.STEP_UNIQUE,
    "retransmits_capture_count": at.STEP_RETRANSMITS,
    "retransmitted_capture_bytes": at.STEP_RETRANSMITTED,
    "reordered_count": at.STEP_REORDERED,
    "newly_acked_bytes": at.STEP_ACKED,
    "dup_acks_count": at.STEP_DUP_ACKS,
    "sack_blocks_count": at.STEP_SACKS,
    "dsack_blocks_count": at.STEP_DSACKS,
    "zero_windows_count": at.STEP_ZERO_WINDOWS,
    "ce_count": at.STEP_CE,
    "ack_rtt_samples_count": at.STEP_RTT_SAMPLES,
}
_FLAG_LETTERS: Final = ((1, "F"), (2, "S"), (4, "R"), (8, "P"), (16, "."), (32, "U"), (64, "E"), (128, "W"))


def list_steps(state: at.State) -> pl.DataFrame:
    """Return the steps put out so far as rows of `packet_intervals` with a flow_number."""
    steps = state.steps[: state.totals[at.STEPS_USED]]
    # A step that a packet of the other direction only opened says nothing.
    steps = steps[steps[:, at.STEP_FRAMES : at.STEP_SEQUENCE_END].any(axis=1)]
    first = 2 * _positions(state, steps[:, at.STEP_SERIAL]) + steps[:, at.STEP_SIDE]
    origin = state.sides[first, at.FIRST]
    columns: dict[str, object] = {
        "flow_number": steps[:, at.STEP_SERIAL],
        "direction": np.array(DIRECTIONS)[steps[:, at.STEP_SIDE]],
        "interval_utc": pl.Series(steps[:, at.STEP_NUMBER] * (at.STEP_NS // 1000)).cast(pl.Datetime("us", "UTC")),
    }
    columns |= {name: steps[:, fact] for name, fact in _STEP_COUNTERS.items()}
    has_rtt = steps[:, at.STEP_RTT_SAMPLES] > 0
    columns["ack_rtt_min_ms"] = nanoseconds(steps[:, at.STEP_RTT_MIN], 1e6)
    columns["ack_rtt_mean_ms"] = divide(steps[:, at.STEP_RTT_SUM], steps[:, at.STEP_RTT_SAMPLES]) / 1e6
    columns["ack_rtt_max_ms"] = nanoseconds(np.where(has_rtt, steps[:, at.STEP_RTT_MAX], ABSENT), 1e6)
    has_data = steps[:, at.STEP_IN_FLIGHT_PACKETS] > 0
    columns["in_flight_mean_bytes"] = divide(steps[:, at.STEP_IN_FLIGHT_SUM], steps[:, at.STEP_IN_FLIGHT_PACKETS])
    columns["in_flight_max_bytes"] = optional(np.where(has_data, steps[:, at.STEP_IN_FLIGHT_MAX], ABSENT))
    for name, fact in (
        ("sequence_end_bytes", at.STEP_SEQUENCE_END),
        ("acknowledged_end_bytes", at.STEP_ACKED_END),
        ("window_end_bytes", at.STEP_WINDOW_END),
    ):
        columns[name] = _relative(steps[:, fact], origin)
    return pl.DataFrame(columns)


def _relative(values: Ints, origin: Ints) -> pl.Series:
    return pl.Series(values - origin).set(pl.Series(values <= 0), None)


def _positions(state: at.State, serials: Ints) -> Ints:
    live = state.links[: state.totals[at.LINKS_USED], at.SERIAL]
    order = np.argsort(live)
    positions: Ints = order[np.searchsorted(live, serials, sorter=order)]
    return positions


def _name_flags(values: Ints) -> pl.Series:
    names = ["".join(letter for bit, letter in _FLAG_LETTERS if value & bit) for value in values.tolist()]
    return pl.Series(names, dtype=pl.String)


def list_packets(state: at.State) -> pl.DataFrame:
    """Return the rows put out so far as rows of `packets` with a flow_number."""
    rows = state.rows[: state.totals[at.ROWS_USED] if state.totals[at.WANTS_ROWS] else 0]
    side = 2 * _positions(state, rows[:, at.ROW_SERIAL]) + rows[:, at.ROW_SIDE]
    origin, other_origin = state.sides[side, at.FIRST], state.sides[side ^ 1, at.FIRST]
    return pl.DataFrame(
        {
            "flow_number": rows[:, at.ROW_SERIAL],
            "packet_number": rows[:, at.ROW_NUMBER],
            "captured_utc": utc(rows[:, at.ROW_TIME]),
            "capture_s": pl.Series(rows[:, at.ROW_TIME] - state.totals[at.START_TIME]).cast(pl.Float64) / 1e9,
            "direction": np.array(DIRECTIONS)[rows[:, at.ROW_SIDE]],
            "frame_bytes": rows[:, at.ROW_FRAME],
            "sequence_bytes": rows[:, at.ROW_SEQUENCE] - origin,
            "acknowledgement_bytes": _relative(rows[:, at.ROW_ACKNOWLEDGEMENT], other_origin),
            "payload_bytes": rows[:, at.ROW_PAYLOAD],
            "flags": _name_flags(rows[:, at.ROW_FLAGS]),
            "window_bytes": optional(rows[:, at.ROW_WINDOW]),
            "role": np.array(at.ROLES)[rows[:, at.ROW_ROLE]],
            "sack_blocks_count": rows[:, at.ROW_SACKS],
            "sack_start_bytes": _relative(rows[:, at.ROW_SACK_START], other_origin),
            "sack_end_bytes": _relative(rows[:, at.ROW_SACK_END], other_origin),
            "in_flight_bytes": optional(rows[:, at.ROW_IN_FLIGHT]),
            "ack_rtt_ms": nanoseconds(rows[:, at.ROW_RTT], 1e6),
        }
    )
