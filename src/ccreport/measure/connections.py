"""What the samples of `ss` say about each connection: its last counters, its delays, when it was seen.

Counters of TCP_INFO are cumulative, so the last value of a connection is its largest; all are of the last whole line,
as one that was cut short tells some of them only. A 4-tuple that was used again (a retried test) counts by its last
connection.
"""

from pathlib import Path
from typing import Final

import polars as pl

# ASSUME: where no tool names its connections, one that sent fewer data segments is a control connection.
DATA_SEGMENTS_MIN: Final = 100

CONNECTION: Final = ("run_id", "flow_id", "connection_number")


def summarise_connections(samples: Path) -> pl.DataFrame:
    """Return one row per connection of a `samples` table that was the last to use its 4-tuple.

    Columns as in `flows`, with `first_utc` and `last_utc` (sample times) and `sent_bytes` (without
    retransmissions).
    """
    connections = (
        pl.scan_parquet(samples, glob=False)
        .group_by(CONNECTION)
        .agg(
            pl.col("local_address", "local_port", "remote_address", "remote_port").first(),
            pl.col("cc").drop_nulls().last(),
            *map(_last_count, ("retransmits_ss_count", "data_segments_out_count", "dsack_dups_count")),
            # bytes_sent counts what is sent again, which no tool does.
            pl.coalesce(
                _last_count("sent_bytes") - _last_count("retransmitted_bytes").fill_null(0), _last_count("acked_bytes")
            ).alias("sent_bytes"),
            pl.col("mss_bytes").drop_nulls().last(),
            pl.col("rtt_min_ms").min(),
            pl.col("rtt_ms").median().alias("rtt_p50_ms"),
            pl.col("cwnd_segments_count").mean().alias("cwnd_mean_segments_count"),
            pl.len().alias("samples_count"),
            pl.col("time_utc").min().alias("first_utc"),
            pl.col("time_utc").max().alias("last_utc"),
        )
        .sort(CONNECTION)
        .collect()
    )
    return connections.unique(["run_id", "flow_id"], keep="last", maintain_order=True)


def _last_count(name: str) -> pl.Expr:
    """Return a counter's last value of whole lines, else of lines that were cut."""
    count = pl.col(name)
    return pl.coalesce(count.filter(~pl.col("is_partial")).max(), count.max())


def sampling_intervals(samples: Path, stamps: pl.DataFrame) -> pl.DataFrame:
    """Return per run the median and the longest time between two stamps of ss: sample_interval_s, sample_gap_max_s.

    `stamps` is the table `sample_stamps`. Those count that its files have from the first sample of the run to the last:
    a file may be of several runs, and between two transfers of a run no connection is there to be sampled.
    """
    gap_s = pl.col("time_utc").diff().dt.total_microseconds() / 1e6
    spans = (
        pl.scan_parquet(samples, glob=False)
        .group_by("run_id", sampled_file=pl.col("raw_file_id"))
        .agg(first_utc=pl.col("time_utc").min(), last_utc=pl.col("time_utc").max())
    )
    is_of_run = pl.col("raw_file_id") == pl.col("sampled_file")
    return (
        stamps.lazy()
        .join_where(
            spans, is_of_run, pl.col("time_utc") >= pl.col("first_utc"), pl.col("time_utc") <= pl.col("last_utc")
        )
        .select("run_id", "time_utc")
        .unique()
        .sort("run_id", "time_utc")
        .group_by("run_id")
        .agg(sample_interval_s=gap_s.median(), sample_gap_max_s=gap_s.max())
        .collect()
    )


def select_data_connections(connections: pl.DataFrame) -> pl.DataFrame:
    """Return the connections that carried data in the last attempt of each run, for runs whose tool names none.

    An attempt is a set of connections that overlap in time; a retried test starts a new one after all earlier ones
    have gone.
    """
    data = connections.filter(pl.col("data_segments_out_count") > DATA_SEGMENTS_MIN).sort(
        "run_id", "first_utc", "flow_id"
    )
    starts_attempt = pl.col("first_utc") > pl.col("last_utc").cum_max().shift(1)
    attempt = starts_attempt.fill_null(value=False).cum_sum().over("run_id")
    return data.with_columns(attempt=attempt).filter(pl.col("attempt") == pl.col("attempt").max().over("run_id"))
