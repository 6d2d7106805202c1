"""Runs that send datagrams: their rates, loss and jitter, straight from the tool's streams.

They have no flows, and so no retransmits; nothing of them counts in the means of TCP.
"""

import polars as pl


def summarise_datagrams(tests: pl.DataFrame, streams: pl.DataFrame) -> pl.DataFrame:
    """Return per run without TCP its totals: rates in bit/s, packets_count, lost_packets_count and _ratio, jitter.

    A total is null where one of its streams does not say. The rates are `datagram_throughput_bps` and
    `datagram_goodput_bps`; retransmissions are not known to such a protocol.
    """
    of_datagrams = tests.filter(pl.col("protocol") != "TCP").select("run_id", "client_number")
    return (
        streams.join(of_datagrams, on=["run_id", "client_number"])
        .with_columns(
            datagram_throughput_bps=_rate("sender"), datagram_goodput_bps=pl.coalesce(_rate("receiver"), "receiver_bps")
        )
        .group_by("run_id")
        .agg(
            *map(
                sum_if_all,
                ("datagram_throughput_bps", "datagram_goodput_bps", "packets_count", "lost_packets_count"),
            ),
            jitter_mean_ms=pl.when(pl.col("jitter_ms").is_not_null().all()).then(pl.col("jitter_ms").mean()),
        )
        .with_columns(
            lost_packets_ratio=pl.when(pl.col("packets_count") > 0).then(
                pl.col("lost_packets_count") / pl.col("packets_count")
            )
        )
    )


def sum_if_all(column: str) -> pl.Expr:
    """Return the sum of a column, null where there is no value or one of them is not known."""
    values = pl.col(column)
    return pl.when((values.len() > 0) & values.is_not_null().all()).then(values.sum()).alias(column)


def _rate(side: str) -> pl.Expr:
    return pl.when(pl.col(f"{side}_s") > 0).then(pl.col(f"{side}_bytes") * 8 / pl.col(f"{side}_s"))
