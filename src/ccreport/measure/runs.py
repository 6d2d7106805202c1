"""Runs and their flows, complete: one experiment's `flows`, `runs` and `reconciliation` from what was ingested of it.

One step writes all, since a run is the sum of its flows and a reconciliation compares them with their captures.
"""

from pathlib import Path

import polars as pl

from ccreport.measure.conditions import join_conditions, list_runs, measure_cpu
from ccreport.measure.fairness import jain_index
from ccreport.measure.flows import join_flows
from ccreport.measure.reconciliation import reconcile_flows
from ccreport.raw import read_manifest
from ccreport.tables import TableError, load_schema, read_table, write_table


def measure_runs(
    manifest: Path,
    tests: Path,
    streams: Path,
    samples: Path,
    cpu_samples: Path,
    experiments: Path,
    hosts: Path,
    qdiscs: Path,
    captures: Path,
    capture_logs: Path,
    packet_flows: Path,
    packet_intervals: Path,
    flows: Path,
    runs: Path,
    reconciliation: Path,
    *,
    include_interrupted: bool,
) -> None:
    """Write the `flows`, `runs` and `reconciliation` of one experiment; the other arguments are its ingested tables.

    A run that was interrupted counts in means only if `include_interrupted` is set.
    """
    listed = read_manifest(manifest)
    of_tests = read_table("tests", [tests])
    of_experiment = read_table("experiments", [experiments])
    cc_command = of_experiment["cc_command"][0] if of_experiment.height else None
    of_captures = read_table("packet_flows", [packet_flows])
    joined_flows = join_flows(of_tests, read_table("streams", [streams]), samples, of_captures, cc_command)
    conditions = join_conditions(
        list_runs(listed), of_experiment, read_table("hosts", [hosts]), read_table("qdiscs", [qdiscs])
    )
    joined_runs = (
        conditions.join(summarise_tests(of_tests), on="run_id", how="left")
        .join(summarise_flows(joined_flows), on="run_id", how="left")
        .join(measure_cpu(cpu_samples), on="run_id", how="left")
        .with_columns(
            experiment_id=pl.lit(listed.experiment_id),
            session=pl.lit(listed.session, pl.String),
            job=pl.lit(listed.job, pl.String),
        )
        .pipe(complete_runs, include_interrupted=include_interrupted)
    )
    if joined_runs.height != len(listed.runs):
        raise TableError(f"runs: {joined_runs.height} rows for the {len(listed.runs)} runs of {listed.experiment_id}")
    write_table(_select("flows", joined_flows), "flows", flows)
    write_table(_select("runs", joined_runs), "runs", runs)
    compared = reconcile_flows(
        joined_flows,
        of_captures,
        samples,
        read_table("captures", [captures]),
        read_table("capture_logs", [capture_logs]),
        packet_intervals,
    )
    write_table(compared, "reconciliation", reconciliation)


def _select(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(name for name in load_schema(table).polars if name in frame.columns)


def summarise_tests(tests: pl.DataFrame) -> pl.DataFrame:
    """Return per run what its client processes say, the first client's word where they differ."""
    return (
        tests.sort("run_id", "client_number")
        .group_by("run_id")
        .agg(
            pl.col("tool", "tool_version", "protocol", "system").first(),
            pl.len().alias("clients_count"),
            pl.col("duration_s").max(),
            pl.col("volume_bytes").sum().replace(0, None),
            pl.col("start_utc").min(),
            pl.col("is_interrupted").any(),
            pl.col("cpu_host_total_pct", "cpu_remote_total_pct").sum(),
        )
    )


def summarise_flows(flows: pl.DataFrame) -> pl.DataFrame:
    """Return per run the totals of its flows; a rate is the sum of the flows' rates, a ratio the sum over the sum."""
    is_counted = pl.col("retransmit_ratio").is_not_null()
    sources = pl.col("retransmit_source").drop_nulls().unique()
    totals = flows.group_by("run_id").agg(
        pl.col("cc").drop_nulls().unique().sort().alias("cc_list"),
        pl.len().alias("flows_count"),
        _sum_if_all("throughput_bps"),
        _sum_if_all("goodput_bps"),
        _sum_known(pl.col("retransmits_count").filter(is_counted)).alias("retransmits_count"),
        _sum_known(pl.col("segments_count").filter(is_counted)).alias("segments_count"),
        pl.when(sources.len() > 1).then(pl.lit("mixed")).otherwise(sources.first()).alias("retransmit_source"),
        pl.col("mss_bytes").min(),
        pl.col("rtt_min_ms").min(),
        pl.col("remote_address").drop_nulls().first(),
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


def _sum_if_all(column: str) -> pl.Expr:
    return pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).sum()).alias(column)


def _sum_known(values: pl.Expr) -> pl.Expr:
    return pl.when(values.len() > 0).then(values.sum())


def complete_runs(runs: pl.DataFrame, *, include_interrupted: bool) -> pl.DataFrame:
    """Return the runs with the columns that depend on both metadata and flows."""
    is_interrupted = pl.col("is_interrupted").fill_null(value=False)
    has_rate = pl.col("throughput_bps").is_not_null() & (pl.col("protocol").fill_null("TCP") == "TCP")
    uname = pl.col("system").str.split(" ")
    return runs.with_columns(
        host=pl.coalesce("host", "remote_address"),
        rtt_ms=pl.coalesce("rtt_ms", "rtt_min_ms"),
        rtt_source=pl.coalesce("rtt_source", pl.when(pl.col("rtt_min_ms").is_not_null()).then(pl.lit("ss"))),
        # Linux nersc-tbn-1 6.1.176 #1 Sat Jul 4 15:38:16 UTC 2026 x86_64
        sender_host=pl.coalesce("sender_host", uname.list.get(1, null_on_oob=True)),
        kernel=pl.coalesce("kernel", uname.list.get(2, null_on_oob=True)),
        tool=pl.coalesce("tool", pl.when(pl.col("flows_count").is_not_null()).then(pl.lit("ss"))),
        flows_count=pl.col("flows_count").fill_null(0),
        clients_count=pl.col("clients_count").fill_null(0),
        is_interrupted=is_interrupted,
        is_counted=has_rate & (pl.lit(include_interrupted) | ~is_interrupted),
    )
