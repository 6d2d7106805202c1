"""Loss episodes: the parts of a captured flow in which data were sent again, cut out of its packets."""

from dataclasses import dataclass
from typing import Final

import polars as pl

EPISODES_AT_MOST: Final = 4
# Retransmits closer than this belong to one episode; the shorter bound is for paths of nearly no RTT.
GAP_RTTS: Final = 3
GAP_AT_LEAST_S: Final = 0.05
MARGIN_RTTS: Final = 2
MARKS_AT_MOST: Final = 2000
ROLES: Final = {
    "retransmit_fast": "fast retransmit",
    "retransmit_timeout": "after a timeout",
    "retransmit_probe": "tail-loss probe",
}


@dataclass(frozen=True)
class Episode:
    """One loss episode; times in s since the first packet of the capture, `shown_until_s` before its end if cut.

    `marks` has what is drawn of it: kind (data, ack, sack or a role of ROLES), time_ms and from_kb, to_kb (both the
    same for acknowledgements), relative to the start of the episode and to the lowest byte shown.
    """

    number: int
    start_s: float
    end_s: float
    shown_until_s: float
    retransmits_count: int
    marks: pl.DataFrame

    @property
    def is_cut(self) -> bool:
        """Return whether only the first part of the episode is shown."""
        return self.shown_until_s < self.end_s


def measure_rtt_s(packets: pl.DataFrame, direction: str) -> float:
    """Return the median RTT in s that the acknowledgements of a direction measure; 0 where none does."""
    rtt_ms: float | None = packets.filter(pl.col("direction") != direction)["ack_rtt_ms"].median()  # type: ignore[assignment]
    return (rtt_ms or 0.0) / 1000


def find_episodes(packets: pl.DataFrame, direction: str) -> tuple[list[Episode], int]:
    """Return the episodes with the most retransmits, in order of time, and the number of all.

    `packets` has the rows of one connection in order of capture, `direction` is that of the data. An episode is made of
    retransmits less than 3 median RTTs (at least 50 ms) apart, and 2 RTTs before and after them.
    """
    rtt_s = measure_rtt_s(packets, direction)
    resent = packets.filter((pl.col("direction") == direction) & pl.col("role").is_in(list(ROLES)))
    is_first = (pl.col("capture_s").diff() >= max(GAP_RTTS * rtt_s, GAP_AT_LEAST_S)).fill_null(False)
    spans = (
        resent.sort("capture_s")
        .group_by(is_first.cum_sum().alias("number") + 1, maintain_order=True)
        .agg(pl.col("capture_s").min().alias("start"), pl.col("capture_s").max().alias("end"), pl.len().alias("count"))
    )
    chosen = spans.sort("count", "number", descending=[True, False]).head(EPISODES_AT_MOST).sort("number")
    margin_s = MARGIN_RTTS * rtt_s
    episodes = [
        _cut_out(packets, direction, number, (max(start - margin_s, 0.0), end + margin_s), count)
        for number, start, end, count in chosen.rows()
    ]
    return episodes, spans.height


def _cut_out(packets: pl.DataFrame, direction: str, number: int, span: tuple[float, float], count: int) -> Episode:
    start_s, end_s = span
    marks = _list_marks(packets.filter(pl.col("capture_s").is_between(start_s, end_s)), direction)
    until_s = end_s
    if marks.height > MARKS_AT_MOST:
        until_s = float(marks["capture_s"][MARKS_AT_MOST - 1])
        marks = marks.head(MARKS_AT_MOST)
    base = marks.select(pl.min_horizontal(pl.col("from").min())).item() or 0
    placed = marks.select(
        "kind",
        time_ms=((pl.col("capture_s") - start_s) * 1000).round(3),
        from_kb=((pl.col("from") - base) / 1000).round(3),
        to_kb=((pl.col("to") - base) / 1000).round(3),
    )
    return Episode(number, start_s, end_s, until_s, count, placed)


def _list_marks(packets: pl.DataFrame, direction: str) -> pl.DataFrame:
    """Return what is drawn of packets, one row each: kind, capture_s, from and to in bytes, in order of time."""
    is_data = (pl.col("direction") == direction) & (pl.col("payload_bytes") > 0)
    is_ack = (pl.col("direction") != direction) & pl.col("acknowledgement_bytes").is_not_null()
    role = pl.when(pl.col("role").is_in(list(ROLES))).then("role").otherwise(pl.lit("data"))
    start, end = pl.col("sequence_bytes"), pl.col("sequence_bytes") + pl.col("payload_bytes")
    acked = pl.col("acknowledgement_bytes")
    parts = [
        packets.filter(is_data).select("packet_number", "capture_s", kind=role, **{"from": start, "to": end}),
        packets.filter(is_ack).select("packet_number", "capture_s", kind=pl.lit("ack"), **{"from": acked, "to": acked}),
        packets.filter(is_ack & pl.col("sack_start_bytes").is_not_null()).select(
            "packet_number",
            "capture_s",
            kind=pl.lit("sack"),
            **{"from": pl.col("sack_start_bytes"), "to": pl.col("sack_end_bytes")},
        ),
    ]
    return pl.concat(parts).sort("capture_s", "packet_number", "kind")
