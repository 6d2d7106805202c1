"""Rate of each flow over time: from the bytes that `ss` saw acknowledged, else from the tool's intervals.

A tool's interval counts whole blocks that it handed to the kernel: of a flow of 3 Mbit/s, one or two blocks of 128 kB
in half a second. What was acknowledged has no such steps, and all flows of a sample are read at the same time.
"""

from typing import Final, Literal

import polars as pl

from ccreport.figures.select.series import (
    LONGEST_S,
    UNKNOWN_CC,
    sum_rates,
)

Source = Literal["ss", "interval"]
FLOW: Final = ("run_id", "flow_id")
# More than what a tool says before its test, such as iperf3's cookie of 37 bytes.
DATA_BYTES: Final = 1000
# Less than what the kernel's counter of busy times can tell apart.
TICK_S: Final = 0.001
SOURCES: Final[dict[Source, str]] = {
    "ss": "bytes that ss saw acknowledged",
    "interval": "bytes that the tool reports",
}


def place_flow_samples(samples: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return the samples of established data flows with `cc` and `time_s`, counted from when the run's data began.

    Connections may be open for seconds before the test: of many flows, or over long paths. Data began when the first
    flow that has sent some became busy (tcpi_busy_time); without busy times at the run's first sample. Where a 4-tuple
    was used by several connections, the last of them is the flow.
    """
    algorithms = flows.select(*FLOW, pl.col("cc").fill_null(UNKNOWN_CC))
    since_first_s = (pl.col("time_utc") - pl.col("time_utc").min().over("run_id")).dt.total_microseconds() / 1e6
    connected = (
        samples.drop("cc", strict=False)
        .join(algorithms, on=FLOW)
        .filter(pl.col("connection_number") == pl.col("connection_number").max().over(FLOW))
        .filter(pl.col("tcp_state").is_null() | (pl.col("tcp_state") == "ESTAB"))
        .with_columns(time_s=since_first_s)
        .sort(*FLOW, "time_s")
    )
    before_ms = pl.col("busy_ms").shift(1).over(FLOW).fill_null(0)
    began = (
        connected.with_columns(began_s=pl.col("time_s") - (pl.col("busy_ms") - before_ms) / 1000)
        .filter(pl.col("sent_bytes") > DATA_BYTES)
        .group_by(FLOW)
        .agg(pl.col("began_s").first())
        .group_by("run_id")
        .agg(pl.col("began_s").min())
    )
    return (
        connected.join(began, on="run_id", how="left", maintain_order="left")
        .with_columns(pl.col("time_s") - pl.col("began_s").fill_null(0.0))
        .filter(pl.col("time_s") <= LONGEST_S)
        .drop("began_s")
    )


def find_beginnings(samples: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return when the data of each run began by `place_flow_samples`: run_id, began_utc."""
    before = pl.duration(microseconds=(pl.col("time_s") * 1e6).round().cast(pl.Int64))
    placed = place_flow_samples(samples, flows)
    return placed.group_by("run_id").agg(began_utc=(pl.col("time_utc") - before).min())


def choose_rate_source(samples: pl.DataFrame, flows: pl.DataFrame) -> Source:
    """Return where rates of flows come from: `ss` if it saw bytes acknowledged of every flow, at least twice."""
    return "interval" if list_unseen_runs(samples, flows).height else "ss"


def list_unseen_runs(samples: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return the runs (run_id) with a flow of which `ss` did not see bytes acknowledged at least twice."""
    counts = samples.filter(pl.col("acked_bytes").is_not_null()).group_by(FLOW).len().filter(pl.col("len") > 1)
    return flows.join(counts, on=FLOW, how="anti").select("run_id").unique()


def list_flow_rates(
    samples: pl.DataFrame, flows: pl.DataFrame, placed: pl.DataFrame, bin_s: float, source: Source
) -> pl.DataFrame:
    """Return the rate of each flow per bin in which it was active: run_id, flow_id, cc, time_s, rate_bps.

    `placed` as place_intervals returns it: a flow is active from the start of its first interval to the end of its
    last one, whether it moves data or not.
    """
    if source == "ss":
        observed = place_acknowledged(samples, flows)
    else:
        observed = placed.select(*FLOW, "start_s", "end_s", "interval_bps")
    # A flow takes the place of its algorithm: its rate is the sum over itself.
    rates = sum_rates(observed.with_columns(cc=pl.col("flow_id")), bin_s).rename({"cc": "flow_id"})
    spans = placed.group_by(*FLOW, "cc").agg(pl.col("start_s").min(), pl.col("end_s").max())
    is_active = (pl.col("time_s") > pl.col("start_s")) & (pl.col("time_s") < pl.col("end_s"))
    return rates.join(spans, on=FLOW).filter(is_active).select(*FLOW, "cc", "time_s", "rate_bps").sort(*FLOW, "time_s")


def observe_acknowledged(samples: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return all that was acknowledged since each flow's data began: run_id, flow_id, start_s, end_s, interval_bps.

    For sums over flows. The rate of a single flow lacks the bin in which it joins.
    """
    return pl.concat([place_acknowledged(samples, flows), _place_first(samples, flows)])


def _place_first(samples: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return what was acknowledged before each flow's first sample, over the time in which the flow had been busy.

    A flow that was busy before the clock of the run began is left out: it is not known how much of that it sent before.
    """
    firsts = place_flow_samples(samples, flows).group_by(FLOW, maintain_order=True).first()
    busy_s = pl.col("busy_ms") / 1000
    return firsts.filter(busy_s > 0, busy_s <= pl.col("time_s") + TICK_S, pl.col("acked_bytes") > 0).select(
        *FLOW,
        start_s=(pl.col("time_s") - busy_s).clip(0),
        end_s="time_s",
        interval_bps=8 * pl.col("acked_bytes") / busy_s,
    )


def place_acknowledged(samples: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return what was acknowledged between two samples of a flow: run_id, flow_id, start_s, end_s, interval_bps.

    A loaded host reads its flows up to some tenths of a second after it has written the time. How long passed between
    two readings is told by the kernel: it is the longest busy time of a flow that had data waiting at both.
    """
    placed = place_flow_samples(samples, flows).filter(pl.col("acked_bytes").is_not_null())
    waits = pl.col("not_sent_bytes") > 0
    grown = placed.with_columns(
        start_s=pl.col("time_s").shift(1).over(FLOW),
        grown_bytes=pl.col("acked_bytes").diff().over(FLOW),
        busy_s=pl.when(waits & waits.shift(1).over(FLOW)).then(pl.col("busy_ms").diff().over(FLOW) / 1000),
    ).filter(pl.col("time_s") > pl.col("start_s"), pl.col("grown_bytes") >= 0, pl.col("time_s") > 0)
    length_s = pl.col("time_s") - pl.col("start_s")
    passed_s = pl.col("busy_s").filter(pl.col("busy_s") > 0).max().over("run_id", "start_s", "time_s")
    return grown.select(
        *FLOW,
        pl.col("start_s").clip(0),
        pl.col("time_s").alias("end_s"),
        interval_bps=8 * pl.col("grown_bytes") / passed_s.fill_null(length_s),
    )
