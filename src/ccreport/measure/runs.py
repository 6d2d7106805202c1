"""Runs and their flows, complete: one experiment's `flows`, `runs` and `reconciliation` from what was ingested of it.

One step writes all, since a run is the sum of its flows and a reconciliation compares them with their captures.
"""

from typing import Final

import polars as pl

from ccreport.archive.manifest import Manifest
from ccreport.core.table_folder import TableFolder
from ccreport.core.tables import TableError, load_schema
from ccreport.measure.clients import find_branching, list_clients, summarise_clients
from ccreport.measure.conditions import (
    correct_branching,
    join_conditions,
    list_named_algorithms,
    list_runs,
    part_conditions,
)
from ccreport.measure.connections import sampling_intervals
from ccreport.measure.cpu import measure_cpu, measure_cpu_bound
from ccreport.measure.datagrams import sum_if_all, summarise_datagrams
from ccreport.measure.directions import add_directions
from ccreport.measure.fairness import jain_index
from ccreport.measure.flows import join_flows
from ccreport.measure.reconcile.reconcile import reconcile_flows
from ccreport.measure.suspects.sampled import measure_sampling

# Of flows that sent side by side, the time of all together over that of the shortest is less.
APART_RATIO: Final = 1.1


def measure_runs(
    manifest: Manifest, tables: TableFolder, *, include_interrupted: bool, include_cpu_bound: bool
) -> None:
    """Write the `flows`, `runs` and `reconciliation` of one experiment beside its ingested tables.

    A run that was interrupted counts in means only if `include_interrupted` is set, one that was CPU-bound only if
    `include_cpu_bound` is, one that was limited by its host never.
    """
    tests, streams, experiments = tables.read("tests"), tables.read("streams"), tables.read("experiments")
    samples, cpu_samples = tables.place("samples"), tables.place("cpu_samples")
    stamps = tables.read("sample_stamps")
    intervals = sampling_intervals(samples, stamps)
    conditions = join_conditions(list_runs(manifest), experiments, tables.read("hosts"), tables.read("qdiscs"))
    clients = list_clients(conditions, _read_fact(experiments, "clients_json"))
    named = list_named_algorithms(manifest)
    flows = join_flows(tests, streams, samples, intervals, _read_fact(experiments, "cc_command"), clients, named).pipe(
        join_declared, conditions, clients
    )
    cpu_bound = measure_cpu_bound(tables.read("cpu_samples"), measure_spans(tests, flows))
    runs = (
        correct_branching(conditions, find_branching(clients))
        .join(summarise_tests(tests), on="run_id", how="left")
        .join(summarise_flows(flows), on="run_id", how="left")
        .join(summarise_datagrams(tests, streams), on="run_id", how="left")
        .join(summarise_clients(clients), on="run_id", how="left")
        .join(measure_cpu(cpu_samples), on="run_id", how="left")
        .join(cpu_bound, on="run_id", how="left")
        .join(find_host_limits(tables.read("kernel_drops")), on="run_id", how="left")
        .join(intervals, on="run_id", how="left")
        .join(measure_sampling(samples), on="run_id", how="left")
        .with_columns(
            experiment_id=pl.lit(manifest.experiment_id),
            session=pl.lit(manifest.session, pl.String),
            job=pl.lit(manifest.job, pl.String),
        )
        .pipe(complete_runs, include_interrupted=include_interrupted, include_cpu_bound=include_cpu_bound)
        .pipe(part_conditions, manifest)
        .pipe(add_directions, tests)
    )
    if runs.height != len(manifest.runs):
        raise TableError(f"runs: {runs.height} rows for the {len(manifest.runs)} runs of {manifest.experiment_id}")
    tables.write("flows", _select("flows", flows))
    tables.write("runs", _select("runs", runs))
    compared = reconcile_flows(
        flows,
        tables.read("packet_flows"),
        samples,
        stamps,
        tables.read("captures"),
        tables.read("capture_logs"),
        tables.place("packet_intervals"),
    )
    tables.write("reconciliation", compared)


def _select(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(name for name in load_schema(table).polars if name in frame.columns)


def _read_fact(experiments: pl.DataFrame, column: str) -> str | None:
    """Return what the job's metadata say, None where it has none."""
    return experiments[column][0] if experiments.height else None


def join_declared(flows: pl.DataFrame, conditions: pl.DataFrame, clients: pl.DataFrame) -> pl.DataFrame:
    """Return the flows with what their client declares: `rtt_nominal_ms`, else that of the run, and `start_declared_s`.

    The start counts from that of the run's first client; it is null where one of a run's flows has none.
    """
    of_runs = conditions.select("run_id", of_run_ms="rtt_nominal_ms")
    of_clients = clients.select(
        "run_id", "client_number", "rtt_nominal_ms", "client_start_s", is_declared=pl.lit(value=True)
    )
    start_s = pl.col("client_start_s")
    joined = flows.join(of_runs, on="run_id", how="left").join(of_clients, on=["run_id", "client_number"], how="left")
    # A declared client whose RTT is not known may have another than its run's own path.
    return joined.with_columns(
        rtt_nominal_ms=pl.when("is_declared").then("rtt_nominal_ms").otherwise("of_run_ms"),
        start_declared_s=pl.when(start_s.is_not_null().all().over("run_id")).then(
            start_s - start_s.min().over("run_id")
        ),
    ).drop("of_run_ms", "is_declared", "client_start_s")


def measure_spans(tests: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return per run `start_utc` and `span_s`, the time from there to the end of its last flow; null if not known."""
    ends = flows.group_by("run_id").agg(
        span_s=(
            pl.col("start_offset_s").fill_null(0)
            + pl.col("omit_s").fill_null(0)
            + pl.coalesce("sender_s", "receiver_s")
        ).max()
    )
    starts = tests.group_by("run_id").agg(pl.col("start_utc").min(), pl.col("duration_s").max())
    return starts.join(ends, on="run_id", how="left").select(
        "run_id", "start_utc", span_s=pl.coalesce("span_s", "duration_s")
    )


def summarise_tests(tests: pl.DataFrame) -> pl.DataFrame:
    """Return per run what its client processes say, the first client's word where they differ."""
    return (
        tests.sort("run_id", "client_number")
        .group_by("run_id")
        .agg(
            pl.col("tool", "tool_version", "protocol", "system").first(),
            pl.len().alias("clients_count"),
            pl.col("duration_s").max(),
            sum_if_all("volume_bytes"),
            _count_asked().alias("flows_asked_count"),
            _find_limit().alias("asked_bps"),
            pl.col("start_utc").min(),
            pl.col("is_interrupted").any(),
            sum_if_all("cpu_host_total_pct"),
            sum_if_all("cpu_remote_total_pct"),
        )
    )


def _count_asked() -> pl.Expr:
    """Return the TCP streams that clients were asked for; null where one of them does not tell."""
    directions = pl.when("is_bidirectional").then(2).otherwise(1)
    asked = directions * pl.when(pl.col("protocol").fill_null("TCP") == "TCP").then("streams_count").otherwise(0)
    return pl.when(asked.is_not_null().all()).then(asked.sum())


def _find_limit() -> pl.Expr:
    """Return the rate that all TCP clients were told to keep each stream to; null where there is none, or several."""
    asked = (pl.col(name).replace(0, None) for name in ("target_bitrate_bps", "fq_rate_bps"))
    limits = pl.min_horizontal(asked).filter(pl.col("protocol").fill_null("TCP") == "TCP")
    return pl.when(limits.n_unique() == 1).then(limits.first())


def summarise_flows(flows: pl.DataFrame) -> pl.DataFrame:
    """Return per run the totals of its flows: rates as `sum_rates` has them, a ratio is the sum over the sum."""
    is_counted = pl.col("retransmit_ratio").is_not_null()
    sources = pl.col("retransmit_source").filter(is_counted).unique()
    window_bits = 8 * pl.col("cwnd_mean_segments_count") * pl.col("mss_bytes")
    flows = flows.with_columns(
        window_bps=pl.when(pl.col("rtt_min_ms") > 0).then(1000 * window_bits / pl.col("rtt_min_ms")),
        undelivered_bytes=(pl.col("sender_bytes") - pl.col("receiver_bytes")).clip(0),
        client_start_s=pl.coalesce(
            "start_declared_s", pl.col("start_offset_s").min().over("run_id", "client_number"), 0.0
        ),
    )
    totals = flows.group_by("run_id").agg(
        pl.col("cc").drop_nulls().unique().sort().alias("cc_list"),
        pl.len().alias("flows_count"),
        sum_rates("throughput_bps", "sender_s"),
        sum_rates("goodput_bps", "receiver_s"),
        sum_if_all("window_bps"),
        sum_if_all("undelivered_bytes"),
        _sum_known(pl.col("retransmits_count").filter(is_counted)).alias("retransmits_count"),
        _sum_known(pl.col("segments_count").filter(is_counted)).alias("segments_count"),
        pl.when(sources.len() > 1).then(pl.lit("mixed")).otherwise(sources.first()).alias("retransmit_source"),
        pl.col("mss_bytes").min(),
        pl.col("rtt_min_ms").min(),
        pl.col("ss_rtt_min_ms").min(),
        (pl.col("start_offset_s").max() - pl.col("start_offset_s").min()).alias("start_spread_s"),
        pl.col("remote_address").drop_nulls().first(),
        pl.col("remote_address").drop_nulls().n_unique().replace(0, None).alias("destinations_count"),
        pl.when(pl.col("goodput_bps").is_null().any())
        .then(jain_index(pl.col("throughput_bps")))
        .otherwise(jain_index(pl.col("goodput_bps")))
        .alias("jain_ratio"),
    )
    return totals.with_columns(
        retransmit_ratio=pl.col("retransmits_count") / pl.col("segments_count"),
        mode=pl.when(pl.col("cc_list").list.len() > 1).then(pl.lit("both")).otherwise(pl.col("cc_list").list.first()),
        cc_list=pl.col("cc_list").list.join(","),
    )


def sum_rates(rate: str, seconds: str) -> pl.Expr:
    """Return the rate of several flows together (bit/s): the sum, where they sent side by side.

    Of flows that did not, it is what all of them moved over the time from the first one's start to the last one's end:
    a sum of rates of different times can exceed the path. Null where one of the rates is. As the macro of that name.
    """
    rates, length, start_s = pl.col(rate), pl.col(seconds), pl.col("client_start_s")
    resolution_s = pl.when(pl.col("start_declared_s").is_null()).then("start_resolution_s").fill_null(0.0)

    def measure_span(start: pl.Expr) -> pl.Expr:
        return (start + length).max() - start.min()

    surely_s = measure_span((start_s - resolution_s).clip(0))
    is_apart = length.is_not_null().all() & (surely_s > APART_RATIO * length.min())
    together = pl.when(is_apart).then((rates * length).sum() / measure_span(start_s)).otherwise(rates.sum())
    return pl.when((rates.len() > 0) & rates.is_not_null().all()).then(together).alias(rate)


def _sum_known(values: pl.Expr) -> pl.Expr:
    return pl.when(values.count() > 0).then(values.sum())


def find_host_limits(kernel_drops: pl.DataFrame) -> pl.DataFrame:
    """Return per run `host_drops_count`, what the testbed's own kernel dropped where the path is to drop none.

    A run with any is `is_host_limited`. Runs of which nothing was counted are left out.
    """
    growth = (pl.col("after_count") - pl.col("before_count")).clip(0)
    of_host = growth.filter(~pl.col("is_path_drop").fill_null(value=True))
    drops = kernel_drops.group_by("run_id").agg(host_drops_count=of_host.sum())
    return drops.with_columns(is_host_limited=pl.col("host_drops_count") > 0)


def complete_runs(runs: pl.DataFrame, *, include_interrupted: bool, include_cpu_bound: bool) -> pl.DataFrame:
    """Return the runs with the columns that depend on both metadata and flows."""
    is_interrupted = pl.col("is_interrupted").fill_null(value=False)
    throughput = pl.coalesce("throughput_bps", "datagram_throughput_bps")
    has_rate = throughput.is_not_null() & (pl.col("protocol").fill_null("TCP") == "TCP")
    is_cpu_bound = pl.col("is_cpu_bound").fill_null(value=False)
    is_host_limited = pl.col("is_host_limited").fill_null(value=False)
    is_wanted = (pl.lit(include_interrupted) | ~is_interrupted) & (pl.lit(include_cpu_bound) | ~is_cpu_bound)
    uname = pl.col("system").str.split(" ")
    measured = (
        pl.when(pl.col("ss_rtt_min_ms") == pl.col("rtt_min_ms"))
        .then(pl.lit("ss"))
        .when(pl.col("rtt_min_ms").is_not_null())
        .then(pl.lit("iperf3"))
    )
    return runs.with_columns(
        host=pl.coalesce("host", "remote_address"),
        throughput_bps=throughput,
        goodput_bps=pl.coalesce("goodput_bps", "datagram_goodput_bps"),
        rtt_ms=pl.coalesce("rtt_ms", "rtt_min_ms"),
        rtt_source=pl.coalesce("rtt_source", measured),
        # Linux nersc-tbn-1 6.1.176 #1 Sat Jul 4 15:38:16 UTC 2026 x86_64
        pacing_bps=pl.coalesce("pacing_bps", "asked_bps"),
        sender_host=pl.coalesce("sender_host", uname.list.get(1, null_on_oob=True)),
        kernel=pl.coalesce("kernel", uname.list.get(2, null_on_oob=True)),
        tool=pl.coalesce("tool", pl.when(pl.col("flows_count").is_not_null()).then(pl.lit("ss"))),
        flows_count=pl.col("flows_count").fill_null(0),
        clients_count=pl.col("clients_count").fill_null(0),
        is_interrupted=is_interrupted,
        start_spread_s=pl.coalesce("declared_spread_s", "start_spread_s"),
        is_counted=has_rate & is_wanted & ~is_host_limited,
    )
