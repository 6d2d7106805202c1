"""Counts that are none, and numbers that the others of their row contradict, of whatever tool wrote them.

A kernel that does not count retransmissions has 2^32-1 for their number, and tools print it, one less, or both as
negative numbers (esnet/iperf issues 80 and 725; netperf prints -1). iperf3 3.12 with `--omit` counts lost datagrams of
the omitted time, and so more than it sent (1489).
"""

from collections.abc import Iterator
from typing import Final

import polars as pl

from ccreport.ingest.json_values import Json

NOT_COUNTED: Final = frozenset({-1, -2, 2**32 - 1, 2**32 - 2, 2**64 - 1, 2**64 - 2})
# ASSUME: no host sends or receives faster than this in one stream, loopback included.
RATE_LIMIT_BPS: Final = 1e13
# The last interval of a test can be so short that what waits in a buffer looks like a rate.
SLACK_S: Final = 0.1
# ASSUME: a path whose MSS is not known has no smaller one (RFC 9293, 3.7.1).
MSS_MIN_BYTES: Final = 536
# A path that went dead lets the same few segments be sent again so often.
FEW_RETRANSMITS: Final = 100
# ASSUME: no test that gets on sends each segment again so often: it would lose 9 of 10.
TIMES_AGAIN: Final = 10


def is_not_counted(value: Json) -> bool:
    """Return whether a number means "not counted"."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value in NOT_COUNTED


def clear_not_counted(values: list[Json]) -> list[Json]:
    """Return counts with None for those that mean "not counted"."""
    try:
        if NOT_COUNTED.isdisjoint(values):
            return values
    except TypeError:
        pass
    return [None if is_not_counted(value) else value for value in values]


def find_impossible(frame: pl.DataFrame, table: str) -> Iterator[tuple[str, pl.Series, str]]:
    """Yield each column of `streams` or `intervals` that has impossible values: name, which rows, and why.

    `mss_bytes` may be beside the columns of `streams`. Where a row lacks what a number is compared with, the number
    stays.
    """
    for column, is_wrong, why in RULES.get(table, ()):
        rows = frame.select(is_wrong.fill_null(value=False).alias("is_wrong")).to_series()
        if rows.any():
            yield column, rows, why


def _is_too_fast(bytes_column: str, seconds: pl.Expr) -> pl.Expr:
    return pl.col(bytes_column) * 8.0 > RATE_LIMIT_BPS * (seconds + SLACK_S)


TOO_FAST: Final = "as no line carries 10 Tbit/s"
RULES: Final = {
    "streams": (
        ("sender_bytes", _is_too_fast("sender_bytes", pl.col("sender_s")), TOO_FAST),
        ("receiver_bytes", _is_too_fast("receiver_bytes", pl.col("receiver_s")), TOO_FAST),
        (
            "lost_packets_count",
            pl.col("lost_packets_count") > pl.col("packets_count"),
            "as more datagrams are lost than were sent (iperf3 with --omit, esnet/iperf 1489)",
        ),
        (
            "retransmits_iperf3_count",
            (pl.col("retransmits_iperf3_count") - float(FEW_RETRANSMITS)) * pl.col("mss_bytes").fill_null(MSS_MIN_BYTES)
            > float(TIMES_AGAIN) * pl.col("sender_bytes"),
            f"as each segment would have been sent again {TIMES_AGAIN} times and more",
        ),
    ),
    "intervals": (
        ("interval_bytes", _is_too_fast("interval_bytes", pl.col("end_s") - pl.col("start_s")), TOO_FAST),
        ("interval_bps", pl.col("interval_bps") > RATE_LIMIT_BPS, TOO_FAST),
    ),
}
