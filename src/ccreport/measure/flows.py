"""The flows of every run: the tool's streams joined with what `ss` sampled of the same 4-tuple.

Each measure is defined here once: rates, retransmit ratio, start offset.
"""

from pathlib import Path
from typing import Final

import polars as pl

from ccreport.measure.connections import select_data_connections, summarise_connections

# iperf3 prints its start in whole seconds before version 3.20.
IPERF3_CLOCK_S: Final = 1.0

NONE_NAMED: Final = pl.DataFrame(schema={"run_id": pl.String(), "client_number": pl.Int64(), "layout_cc": pl.String()})
SS_MEASURES: Final = (
    "retransmits_ss_count",
    "data_segments_out_count",
    "dsack_dups_count",
    "rtt_p50_ms",
    "cwnd_mean_segments_count",
    "samples_count",
    "first_utc",
    "last_utc",
)


def join_flows(
    tests: pl.DataFrame,
    streams: pl.DataFrame,
    samples: Path,
    intervals: pl.DataFrame,
    cc_command: str | None,
    clients: pl.DataFrame,
    named_algorithms: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the `flows` of one experiment, unsorted and without the columns of the schema that stay null.

    `tests`, `streams` and `samples` are tables as ingested, `intervals` what `sampling_intervals` says; `cc_command` is
    the algorithm that the job's command asks for, `clients` what its metadata say of each client, `named_algorithms`
    what a layout says of its algorithm.
    Columns beyond the schema are what `measure_reconciliation` compares:
    omit_s, tool_rtt_min_ms, ss_rtt_min_ms, first_utc and last_utc (samples).
    """
    connections = summarise_connections(samples)
    by_name = NONE_NAMED if named_algorithms is None else named_algorithms
    named = _name_streams(tests, streams, cc_command, clients, by_name)
    known = named.filter(pl.col("local_port").is_not_null())
    unnamed = named.filter(pl.col("local_port").is_null())
    # Only what a run's tool does not name is told apart by its samples.
    sampled = select_data_connections(connections.join(known, on="run_id", how="anti"))
    flows = pl.concat(
        [
            known.join(_of_sender(connections), on=["run_id", "flow_id", "is_reverse"], how="left"),
            match_by_rank(unnamed, sampled),
            _flows_of_samples(sampled.join(named, on="run_id", how="anti")),
        ],
        how="diagonal_relaxed",
    )
    return flows.pipe(_measure_offsets, intervals).pipe(_measure_rates).pipe(_measure_retransmits)


def _name_streams(
    tests: pl.DataFrame,
    streams: pl.DataFrame,
    cc_command: str | None,
    clients: pl.DataFrame,
    named_algorithms: pl.DataFrame,
) -> pl.DataFrame:
    """Return the TCP streams with the facts of their test, cc as the tool, the command or a layout says."""
    facts = tests.filter(pl.col("protocol").is_null() | (pl.col("protocol") == "TCP")).select(
        "run_id",
        "client_number",
        "start_utc",
        "omit_s",
        pl.col("mss_bytes").alias("tool_mss_bytes"),
        pl.col("cc_sender").alias("tool_cc"),
        "cc_command",
    )
    # The job's command is that of one client; where clients are declared, each has its own.
    declared = clients.select("run_id", "client_number", "client_cc")
    return (
        streams.drop("raw_file_id")
        .join(facts, on=["run_id", "client_number"])
        .join(declared, on=["run_id", "client_number"], how="left")
        .join(named_algorithms, on=["run_id", "client_number"], how="left")
        .with_columns(
            # A name tells of its own file, and the job's command of all that do not.
            command_cc=pl.coalesce(
                "cc_command",
                "client_cc",
                pl.when(pl.col("layout_cc").is_null()).then(pl.lit(cc_command, pl.String)),
            )
        )
        .drop("cc_command", "client_cc")
    )


def _of_sender(connections: pl.DataFrame) -> pl.DataFrame:
    """Return what ss adds to a flow, under the names of the flow's columns (`ss_…` where the tool has one too).

    ss ran where the tool ran, so it saw the sender of forward flows only.
    """
    return connections.select(
        "run_id",
        "flow_id",
        *SS_MEASURES,
        pl.col("cc").alias("ss_cc"),
        pl.col("mss_bytes").alias("ss_mss_bytes"),
        pl.col("rtt_min_ms").alias("ss_rtt_min_ms"),
    ).with_columns(is_reverse=pl.lit(value=False))


def match_by_rank(streams: pl.DataFrame, connections: pl.DataFrame) -> pl.DataFrame:
    """Join streams without ports to the run's sampled connections, the n-th largest by bytes to the n-th largest.

    A run whose numbers of streams and connections differ stays without; then only an algorithm that all its
    connections share is known.
    """
    # ASSUME: a tool that reports no ports ranks its streams by bytes as ss does.
    rank = pl.len().over("run_id").alias("size"), pl.int_range(pl.len()).over("run_id").alias("rank")
    ranked = streams.sort("run_id", "sender_bytes", "stream_number").with_columns(*rank)
    sampled = connections.sort("run_id", "sent_bytes", "flow_id").with_columns(*rank)
    shared = connections.group_by("run_id").agg(
        pl.when(pl.col("cc").n_unique() == 1).then(pl.col("cc").first()).alias("shared_cc")
    )
    return (
        ranked.join(
            _of_sender(sampled).with_columns(sampled["size"], sampled["rank"]).drop("flow_id", "is_reverse"),
            on=["run_id", "size", "rank"],
            how="left",
        )
        .join(shared, on="run_id", how="left")
        .with_columns(ss_cc=pl.col("shared_cc"), rank_cc=pl.col("ss_cc"))
        .drop("size", "rank", "shared_cc")
    )


def _flows_of_samples(connections: pl.DataFrame) -> pl.DataFrame:
    """Return the flows of runs of which only samples exist."""
    ends = connections.select("run_id", "flow_id", "local_address", "local_port", "remote_address", "remote_port")
    return ends.join(_of_sender(connections), on=["run_id", "flow_id"])


def _measure_offsets(flows: pl.DataFrame, intervals: pl.DataFrame) -> pl.DataFrame:
    by_ss = (pl.col("first_utc") - pl.col("first_utc").min().over("run_id")).dt.total_microseconds() / 1e6
    by_tool = (pl.col("start_utc") - pl.col("start_utc").min().over("run_id")).dt.total_microseconds() / 1e6
    return flows.join(intervals, on="run_id", how="left").with_columns(
        start_offset_s=pl.coalesce(by_ss, by_tool),
        start_resolution_s=pl.when(by_ss.is_not_null())
        .then("sample_interval_s")
        .when(by_tool.is_not_null())
        .then(IPERF3_CLOCK_S),
    )


def _measure_rates(flows: pl.DataFrame) -> pl.DataFrame:
    def rate(side: str) -> pl.Expr:
        return pl.when(pl.col(f"{side}_s") > 0).then(pl.col(f"{side}_bytes") * 8 / pl.col(f"{side}_s"))

    return flows.with_columns(
        throughput_bps=rate("sender"),
        goodput_bps=pl.coalesce(rate("receiver"), "receiver_bps"),
        received_share_ratio=pl.when(pl.col("sender_bytes") > 0).then(
            pl.col("receiver_bytes") / pl.col("sender_bytes")
        ),
    )


def _measure_retransmits(flows: pl.DataFrame) -> pl.DataFrame:
    has_ss = (pl.col("data_segments_out_count") > 0) & pl.col("retransmits_ss_count").is_not_null()
    mss = pl.coalesce("ss_mss_bytes", "tool_mss_bytes")
    # ASSUME: without ss, segments sent are the sender's bytes over the MSS, and those that were sent again.
    estimated = pl.when((mss > 0) & (pl.col("sender_bytes") > 0)).then(
        pl.col("sender_bytes") / mss + pl.col("retransmits_iperf3_count")
    )
    has_estimate = estimated.is_not_null()
    named = flows.with_columns(
        cc=pl.coalesce("ss_cc", "rank_cc", "tool_cc", "command_cc", "layout_cc"),
        cc_source=pl.when(pl.col("ss_cc").is_not_null())
        .then(pl.lit("ss"))
        .when(pl.col("rank_cc").is_not_null())
        .then(pl.lit("rank"))
        .when(pl.col("tool_cc").is_not_null())
        .then(pl.lit("iperf3"))
        .when(pl.col("command_cc").is_not_null())
        .then(pl.lit("command"))
        .when(pl.col("layout_cc").is_not_null())
        .then(pl.lit("layout")),
        retransmit_source=pl.when(has_ss).then(pl.lit("ss")).when(has_estimate).then(pl.lit("iperf3")),
        retransmits_count=pl.when(has_ss)
        .then("retransmits_ss_count")
        .when(has_estimate)
        .then("retransmits_iperf3_count"),
        segments_count=pl.when(has_ss)
        .then(pl.col("data_segments_out_count").cast(pl.Float64))
        .when(has_estimate)
        .then(estimated),
        mss_bytes=mss,
        rtt_min_ms=pl.coalesce("ss_rtt_min_ms", "rtt_min_ms"),
        tool_rtt_min_ms=pl.col("rtt_min_ms"),
        samples_count=pl.col("samples_count").fill_null(0),
    )
    ratio = pl.col("retransmits_count") / pl.col("segments_count")
    # The kernel counts a SYN that is sent again, but not the SYN itself: few segments can make more than one of each.
    return named.with_columns(retransmit_ratio=pl.when(ratio <= 1).then(ratio))
