"""Flow completion times of the runs that a figure draws: reading them, and their survival curves by conditions."""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from ccreport.figures.kit.figure import deny
from ccreport.figures.select.condition_cells import BURSTS, read_matching
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import QUEUE, MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.series import UNKNOWN_CC
from ccreport.summarise.statistics.survival import Time, estimate_curve, find_quantile

COLUMNS: Final = f"""
    run_id, condition_id, mode, sender_host, host, flows_count, rtt_ms, loss_pct, buffer_bytes, bottleneck_bps,
    volume_bytes, cc_list, {BURSTS}, {QUEUE} AS queue_discipline, pacing_bps, background_udp_bps, parameter_name,
    parameter_value
"""
# The settings that conditions differ in, beside the buffer, in the order in which panels name them.
SETTINGS: Final = (
    *("cc_list", "volume_bytes", "rtt_ms", "flows_count", "loss_pct", "loss_pattern", "queue_discipline"),
    *("pacing_bps", "background_udp_bps", "parameter_name", "parameter_value"),
)
SHARES_DONE: Final = {"median": 0.5, "p90": 0.9}


def read_completions(declaration: FigureDeclaration, database: Database) -> pl.DataFrame:
    """Return a row for each flow of the runs that match and have a time: the run's COLUMNS, flow_id, cc,
    completion_bytes, completion_s, is_complete, source and resolution_s.

    Raise MissingFigure where no flow has a time.
    """
    runs = read_matching(declaration, database, "labelled_runs", COLUMNS, "run_id")
    query = """
        SELECT
            run_id, flow_id, cc, completion_bytes, acknowledged_s AS completion_s, is_complete,
            acknowledged_source AS source, resolution_s
        FROM flow_completions
        WHERE acknowledged_s IS NOT NULL AND run_id IN (SELECT unnest(?))
        ORDER BY run_id, flow_id
    """
    flows = database.ask(query, [runs["run_id"].to_list()])
    if flows.is_empty():
        raise MissingFigure(f"{deny(runs.height)} has a flow with a completion time.")
    return runs.join(flows, on="run_id").with_columns(pl.col("cc").fill_null(UNKNOWN_CC)).sort("run_id", "flow_id")


def measure_curves(flows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return Kaplan and Meier's estimate of each combination of the keys: keys, time_s, share (not done), low, high.

    A curve starts at time 0 with a share of 1.
    """
    curves = []
    for values, own in flows.group_by(keys, maintain_order=True):
        curve = estimate_curve(_list_times(own))
        start = pl.DataFrame({"time_s": [0.0], "share": [1.0], "low": [None], "high": [None]}, schema=curve.schema)
        named = [pl.lit(value, flows.schema[key]).alias(key) for key, value in zip(keys, values, strict=True)]
        curves.append(pl.concat([start, curve]).select(*named, pl.all()))
    return pl.concat(curves)


def summarise_completions(flows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return for each value of the keys measured_count, censored_count, p90, and median with low and high (95 %)."""
    rows = []
    for values, own in flows.group_by(keys, maintain_order=True):
        curve = estimate_curve(_list_times(own))
        ends = [find_quantile(curve, 0.5, end) for end in ("low", "high")]
        quantiles = [find_quantile(curve, done) for done in SHARES_DONE.values()]
        rows.append((*values, own.height, own.height - int(own["is_complete"].sum()), *ends, *quantiles))
    schema: dict[str, Any] = {key: flows.schema[key] for key in keys}
    schema |= {"measured_count": pl.Int64, "censored_count": pl.Int64}
    schema |= dict.fromkeys(("low", "high", *SHARES_DONE), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row").sort(keys, nulls_last=True)


def _list_times(flows: pl.DataFrame) -> list[Time]:
    return [Time(*row) for row in flows.select("completion_s", "is_complete").rows()]
