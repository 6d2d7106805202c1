"""What the samples of `ss` tell of each run about its clock, its sockets and what it waited for."""

from pathlib import Path
from typing import Final

import polars as pl

CONNECTION: Final = ("run_id", "flow_id", "connection_number")
NEEDED: Final = (
    *CONNECTION,
    *("time_utc", "tcp_state", "busy_ms", "rwnd_limited_ms", "sndbuf_limited_ms", "is_app_limited", "unacked_count"),
    *("not_sent_bytes", "sent_bytes", "skmem_sndbuf_bytes", "snd_wnd_bytes"),
)


def measure_sampling(samples: Path) -> pl.DataFrame:
    """Return per run of a `samples` table what its rules need.

    clock_step_s, limited_ratio and socket_buffers_bytes as in `runs`. Samples before the connection is established tell
    nothing: a SYN is outstanding then, which the kernel does not count as busy time, and nothing can be sent yet.
    """
    is_connecting = pl.col("tcp_state").is_in(["SYN-SENT", "SYN-RECV"]).fill_null(value=False)
    read = pl.scan_parquet(samples, glob=False).select(NEEDED).filter(~is_connecting).collect()
    return measure_sockets(read).join(measure_clock_steps(read), on="run_id", how="left")


def measure_clock_steps(samples: pl.DataFrame) -> pl.DataFrame:
    """Return per run clock_step_s: by how much stamps and busy time differ at most from one sample to the next.

    A difference that the sample before or after takes back is that of a single sample, read some time after its stamp.
    A flow that has nothing to send at either sample may have been idle between, and does not tell.
    """
    elapsed_s = pl.col("time_utc").diff().dt.total_microseconds() / 1e6
    is_busy = (pl.col("unacked_count").fill_null(0) > 0) | (pl.col("not_sent_bytes").fill_null(0) > 0)
    return (
        samples.drop_nulls("time_utc")
        .sort(*CONNECTION, "time_utc")
        .select(
            "run_id",
            "time_utc",
            step_s=(elapsed_s - pl.col("busy_ms").diff() / 1e3).over(CONNECTION),
            is_told=(is_busy & is_busy.shift(1)).over(CONNECTION),
        )
        .filter("is_told")
        .group_by("run_id", "time_utc")
        .agg(pl.col("step_s").median())
        .sort("run_id", "time_utc")
        .group_by("run_id")
        .agg(clock_step_s=pl.min_horizontal(_lasting_s(0), _lasting_s(1), _lasting_s(-1)).max())
    )


def _lasting_s(periods: int) -> pl.Expr:
    """Return what is left of a step together with that of a neighbouring sample, or with none."""
    step_s = pl.col("step_s")
    return (step_s + step_s.shift(periods) if periods else step_s).abs()


def measure_sockets(samples: pl.DataFrame) -> pl.DataFrame:
    """Return per run limited_ratio and socket_buffers_bytes.

    Connections weigh by the bytes that they sent, so that control connections, which are idle, do not matter. The
    buffers are null where one of them is not known.
    """
    waiting_ms = pl.col("rwnd_limited_ms").max().fill_null(0) + pl.col("sndbuf_limited_ms").max().fill_null(0)
    is_slow = pl.col("is_app_limited").fill_null(value=False) & (pl.col("not_sent_bytes").fill_null(0) == 0)
    busy_ms = pl.col("busy_ms").max()
    connections = (
        samples.group_by(CONNECTION)
        .agg(
            sent_bytes=pl.col("sent_bytes").max(),
            limited=pl.max_horizontal(pl.when(busy_ms > 0).then(waiting_ms / busy_ms), is_slow.mean()),
            buffers=pl.col("skmem_sndbuf_bytes").max() + pl.col("snd_wnd_bytes").max(),
        )
        # A sum of fractions depends on their order, and that of groups on threads.
        .sort(CONNECTION)
    )
    sent = pl.col("sent_bytes")
    limited = (pl.col("limited") * sent).sum() / sent.sum()
    return connections.group_by("run_id").agg(
        limited_ratio=pl.when(sent.sum() > 0).then(limited.clip(0, 1)),
        socket_buffers_bytes=pl.when(pl.col("buffers").is_not_null().all()).then(pl.col("buffers").sum()),
    )
