"""The conditions of every run: what was set on the path and the sender, and where each value was read."""

from typing import Final

import polars as pl

from ccreport.archive.harness_layout import slug
from ccreport.archive.manifest import Manifest, ManifestRun
from ccreport.core.identifiers import short_hash
from ccreport.ingest.harness.qdiscs import find_buffer

RUN_SCHEMA: Final = {
    "run_id": pl.String(),
    "condition_id": pl.String(),
    "host": pl.String(),
    "iteration": pl.Int64(),
    "parameter_name": pl.String(),
    "parameter_value": pl.String(),
    "suffix_rtt_ms": pl.Float64(),
    "suffix_limit": pl.Int64(),
    "has_capture": pl.Boolean(),
}
# What a declared layout tells of a run, beside what a name of the harness does: columns of `runs`, `layout_…` here.
LAYOUT_SCHEMA: Final = {
    "loss_pct": pl.Float64(),
    "buffer_bytes": pl.Int64(),
    "mtu_bytes": pl.Int64(),
    "bottleneck_bps": pl.Float64(),
    "pacing_bps": pl.Float64(),
    "sender_host": pl.String(),
    "kernel": pl.String(),
    "queue_discipline": pl.String(),
}
PREFIX: Final = "layout_"
BUFFER_SCHEMA: Final = {
    "run_id": pl.String(),
    "qdisc_buffer_bytes": pl.Int64(),
    "qdisc_limit_packets_count": pl.Int64(),
}


def list_runs(manifest: Manifest) -> pl.DataFrame:
    """Return the runs of an experiment as its file names tell them, one row each."""
    captured = {file.run_id for file in manifest.files if file.kind == "tcpdump"}
    rows = [
        {
            "run_id": run.run_id,
            "condition_id": condition_of(manifest.experiment_id, run),
            "host": run.host,
            "iteration": run.iteration,
            "parameter_name": run.parameter_name,
            "parameter_value": run.parameter_value,
            "suffix_rtt_ms": run.rtt_nominal_ms,
            "suffix_limit": run.limit,
            "has_capture": run.run_id in captured,
            **{PREFIX + column: (run.conditions or {}).get(column) for column in LAYOUT_SCHEMA},
        }
        for run in manifest.runs
    ]
    told = {PREFIX + column: kind for column, kind in LAYOUT_SCHEMA.items()}
    return pl.DataFrame(rows, schema=RUN_SCHEMA | told)


def list_named_algorithms(manifest: Manifest) -> pl.DataFrame:
    """Return what a declared layout says of the algorithm of each client: run_id, client_number, layout_cc."""
    rows = [
        (file.run_id, file.client_number, file.cc)
        for file in manifest.files
        if file.kind == "src-cmd" and file.action == "ingest" and file.cc is not None
    ]
    schema = {"run_id": pl.String(), "client_number": pl.Int64(), "layout_cc": pl.String()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def condition_of(experiment_id: str, run: ManifestRun) -> str:
    """Return the identifier of a run's condition: everything of its suffix but the iteration."""
    point = [str(part) for part in (run.rtt_nominal_ms, run.limit, run.parameter_name, run.parameter_value)]
    point += [f"{name}={value}" for name, value in sorted((run.conditions or {}).items())]
    is_told = run.host is not None
    if run.conditions is not None:
        is_told |= run.iteration is not None or any(part != "None" for part in point)
    if not is_told:
        return run.run_id  # the name says no iteration, so the run is its only one
    readable = "-".join([*([slug(run.host)] if run.host else []), *(part for part in point if part != "None")])
    return f"{experiment_id}.{slug(readable)}-{short_hash('|'.join([run.host or '', *point]))}"


def part_conditions(runs: pl.DataFrame, manifest: Manifest) -> pl.DataFrame:
    """Return the runs, those that a declared layout names with what their files tell of the command in their condition.

    These are the algorithms, the number of flows and the rate that the test program kept each to. A job of the harness
    has one command, so that its runs differ in none of them.
    """
    declared = [run.run_id for run in manifest.runs if run.conditions is not None]
    point = pl.format(
        "{}-{}-p{}",
        "condition_id",
        pl.col("cc_list").fill_null("unknown").str.replace_all(r"[^A-Za-z0-9_]+", "-"),
        pl.col("flows_count").fill_null(0),
    ) + pl.format("-b{}", pl.col("asked_bps").round(0).cast(pl.Int64)).fill_null("")
    return runs.with_columns(
        condition_id=pl.when(pl.col("run_id").is_in(declared)).then(point).otherwise("condition_id")
    )


def describe_paths(qdiscs: pl.DataFrame) -> pl.DataFrame:
    """Return per run what its recorded qdiscs say: the loss, and rate and buffer of the slowest shaper."""
    buffers = [(run_id, *find_buffer(own.to_dicts())) for (run_id,), own in qdiscs.group_by("run_id")]
    named = pl.DataFrame(buffers, schema=BUFFER_SCHEMA, orient="row")
    described = qdiscs.group_by("run_id").agg(
        # ASSUME: losses of several netem on the path are small enough to add up, to 100 % at most.
        pl.when(pl.col("loss_pct").is_not_null().any())
        .then(pl.col("loss_pct").sum().clip(0, 100))
        .alias("qdisc_loss_pct"),
        pl.col("rate_bps").min().alias("qdisc_rate_bps"),
    )
    return described.join(named, on="run_id", how="left")


def join_conditions(
    runs: pl.DataFrame, experiments: pl.DataFrame, hosts: pl.DataFrame, qdiscs: pl.DataFrame
) -> pl.DataFrame:
    """Return the runs with the columns of the `runs` table that metadata and recorded qdiscs tell.

    `rtt_ms` is still the nominal or pinged one here; null where neither is known. `clients_json` is the job's.
    """
    job = experiments.drop("raw_file_id", "experiment_id", "parameter_name", "campaign").rename(
        {"loss_pct": "job_loss_pct", "rtt_nominal_ms": "job_rtt_ms", "bottleneck_bps": "job_bottleneck_bps"}
    )
    # One row at most; a job without metadata has every column null.
    facts = job if job.height else pl.DataFrame({name: [None] for name in job.columns}, schema=job.schema)
    joined = (
        runs.join(facts, how="cross")
        .join(hosts.select("host", "host_address", "rtt_ping_ms"), on="host", how="left")
        .join(describe_paths(qdiscs), on="run_id", how="left")
    )
    nominal = pl.coalesce("suffix_rtt_ms", "job_rtt_ms")
    # netem that is set up without a loss loses nothing; a path that netem does not run through is not known.
    job_loss = pl.coalesce("job_loss_pct", pl.when(pl.col("has_netem")).then(pl.lit(0.0)))
    by_layout = joined.with_columns(
        pl.coalesce(PREFIX + column, column).alias(column) for column in LAYOUT_SCHEMA if column in facts.columns
    )
    is_recorded, is_named = pl.col("qdisc_loss_pct").is_not_null(), pl.col("layout_loss_pct").is_not_null()
    return by_layout.with_columns(
        rtt_nominal_ms=nominal,
        rtt_ms=pl.coalesce(nominal, "rtt_ping_ms"),
        rtt_source=pl.when(nominal.is_not_null())
        .then(pl.lit("nominal"))
        .when(pl.col("rtt_ping_ms").is_not_null())
        .then(pl.lit("ping")),
        loss_pct=pl.coalesce("qdisc_loss_pct", "layout_loss_pct", job_loss),
        loss_source=pl.when(is_recorded)
        .then(pl.lit("qdisc"))
        .when(is_named)
        .then(pl.lit("layout"))
        .when(job_loss.is_not_null())
        .then(pl.lit("jobmeta")),
        limit_packets_count=pl.coalesce("suffix_limit", "limit_packets_count", "qdisc_limit_packets_count"),
        buffer_bytes=pl.coalesce("buffer_bytes", "qdisc_buffer_bytes"),
        bottleneck_bps=pl.coalesce("layout_bottleneck_bps", "job_bottleneck_bps", "qdisc_rate_bps"),
    )


def correct_branching(conditions: pl.DataFrame, branching: pl.Series) -> pl.DataFrame:
    """Return the conditions with the loss of runs to several destinations, whose qdiscs are those of several paths.

    Where none of them loses anything, no path does. Else only the job's metadata tell the loss of the run's own path.
    """
    is_summed = pl.col("run_id").is_in(branching.to_list()) & (pl.col("qdisc_loss_pct") > 0)
    has_job_loss = pl.col("job_loss_pct").is_not_null()
    return conditions.with_columns(
        loss_pct=pl.when(is_summed).then("job_loss_pct").otherwise("loss_pct"),
        loss_source=pl.when(is_summed & has_job_loss)
        .then(pl.lit("jobmeta"))
        .when(~is_summed.fill_null(value=False))
        .then("loss_source"),
    )
