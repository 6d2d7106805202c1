"""Series of each flow over time: rate, retransmits, congestion window and RTT, in bins of one width per run.

The rate is that of acknowledged bytes where `ss` saw them of all flows of the run, as in figures, else the tool's
throughput; the rest comes from `ss` where it saw the flow, else from the intervals. Clocks and bins are those of
`figures/series.py`. Windows are in segments, as the kernel counts them. A run's series depend on nothing
but the run, whatever else is read with it.
"""

from collections.abc import Iterator
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.explorer.script import round_number
from ccreport.figures.select.sampled_rates import list_unseen_runs, observe_acknowledged
from ccreport.figures.select.series import (
    BIN_WIDTHS_S,
    LONGEST_S,
    UNKNOWN_CC,
    choose_bin_s,
    place_intervals,
    place_samples,
    sum_rates,
    sum_retransmits,
)

COLUMNS: Final = {
    "flows": """run_id, flow_id, client_number, stream_number, is_reverse, cc, start_offset_s, local_port, mss_bytes,
        throughput_bps, goodput_bps, retransmits_count, retransmit_ratio, rtt_mean_ms, cwnd_mean_segments_count""",
    "intervals": """run_id, flow_id, start_s, end_s, is_omitted, interval_bps, retransmits_iperf3_count, cwnd_bytes,
        rtt_ms""",
    "samples": """run_id, flow_id, connection_number, time_utc, retransmits_ss_count, cwnd_segments_count, rtt_ms,
        tcp_state, busy_ms, sent_bytes, acked_bytes, not_sent_bytes""",
}
ORDER: Final = {
    "flows": ("run_id", "client_number", "stream_number", "is_reverse", "flow_id"),
    "intervals": ("run_id", "flow_id", "start_s", "end_s"),
    "samples": ("run_id", "flow_id", "connection_number", "time_utc"),
}
FLOW: Final = ("run_id", "flow_id")
# Names in the scripts, and digits after which a value says nothing more.
MEASURES: Final = {"rate": 4, "retransmits": 3, "cwnd": 4, "rtt": 4}
BITS_PER_MBIT: Final = 1e6
# What a flow's column is divided by, in the order of explorer.js: Mbit/s, Mbit/s, segments, %, ms, segments.
TOTALS: Final = {
    "throughput_bps": BITS_PER_MBIT,
    "goodput_bps": BITS_PER_MBIT,
    "retransmits_count": 1,
    "retransmit_ratio": 0.01,
    "rtt_mean_ms": 1,
    "cwnd_mean_segments_count": 1,
}

Rows = dict[str, pl.DataFrame]
Series = dict[tuple[str, str], tuple[float, list[float | int | None]]]


def describe_runs(connection: duckdb.DuckDBPyConnection, run_ids: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each of these runs, which are read at once, its id and what its script holds.

    bin_s, is_acknowledged (whether rates are of acknowledged bytes), and flows: cc, name, totals (of the whole run, in
    the order of TOTALS), and rate (Mbit/s), retransmits (segments per bin), cwnd (segments) and rtt (ms), each `[time
    in s of its first value, values]` with null where nothing was observed, or absent where none is known.
    """
    rows = {table: _read_rows(connection, table, run_ids) for table in COLUMNS}
    widths = choose_widths(rows)
    series: dict[str, Series] = {name: {} for name in MEASURES}
    for bin_s in sorted(set(widths.values())):
        alike = [run_id for run_id, width in widths.items() if width == bin_s]
        same = {table: frame.filter(pl.col("run_id").is_in(alike)) for table, frame in rows.items()}
        for name, frame in bin_measures(same, bin_s).items():
            series[name] |= _collect_series(frame, bin_s, MEASURES[name])
    unseen = set(list_unseen_runs(rows["samples"], rows["flows"])["run_id"])
    flows = {key[0]: own.rows(named=True) for key, own in rows["flows"].partition_by("run_id", as_dict=True).items()}
    for run_id in run_ids:
        described = [
            {"cc": flow["cc"] or UNKNOWN_CC, "name": _name_flow(number, flow), "totals": _list_totals(flow)}
            | {name: series[name][key] for name in MEASURES if (key := (run_id, flow["flow_id"])) in series[name]}
            for number, flow in enumerate(flows.get(run_id, []), 1)
        ]
        width = round_number(widths.get(run_id, BIN_WIDTHS_S[0]))
        yield run_id, {"bin_s": width, "is_acknowledged": run_id not in unseen, "flows": described}


def _read_rows(connection: duckdb.DuckDBPyConnection, table: str, run_ids: list[str]) -> pl.DataFrame:
    known = " AND time_utc IS NOT NULL" if table == "samples" else ""
    query = f"SELECT {COLUMNS[table]} FROM {table} WHERE run_id IN (SELECT unnest(?)){known}"  # noqa: S608 (from above)
    rows: pl.DataFrame = connection.sql(query, params=[run_ids]).pl()
    return rows.sort(ORDER[table])


def _name_flow(number: int, flow: dict[str, Any]) -> str:
    port = "" if flow["local_port"] is None else f" (port {flow['local_port']})"
    return f"flow {number}{port}"


def _list_totals(flow: dict[str, Any]) -> list[float | int | None]:
    values = ((flow[name], divisor) for name, divisor in TOTALS.items())
    # A count of retransmits is what it is, however large.
    return [value if value is None or isinstance(value, int) else round_number(value / by) for value, by in values]


def choose_widths(rows: Rows) -> dict[str, float]:
    """Return the bin width in s of each run that was observed over time, by its own spacing and length."""
    placed = place_intervals(rows["intervals"], rows["flows"])
    of_intervals = placed.group_by("run_id").agg(
        spacing_s=(pl.col("end_s") - pl.col("start_s")).median(), duration_s=pl.col("end_s").max()
    )
    sampled = _place_samples(rows)
    of_samples = sampled.group_by("run_id").agg(
        spacing_s=pl.col("time_s").diff().over("flow_id").median(), duration_s=pl.col("time_s").max()
    )
    largest = pl.concat([of_intervals, of_samples]).group_by("run_id").agg(pl.all().max())
    return {
        run_id: choose_bin_s(spacing_s or 0.0, duration_s)
        for run_id, spacing_s, duration_s in largest.sort("run_id").rows()
    }


def _place_samples(rows: Rows) -> pl.DataFrame:
    """Return the samples of each flow's last connection with time_s, counted as `place_samples` does."""
    connection = pl.col("connection_number")
    time_s = (pl.col("time_utc") - pl.col("time_utc").min().over("run_id")).dt.total_microseconds() / 1e6
    return (
        rows["samples"]
        .join(rows["flows"].select(FLOW), on=FLOW)
        .filter(connection == connection.max().over(FLOW))
        .with_columns(time_s=time_s)
        .filter(pl.col("time_s") <= LONGEST_S)
        .sort(*FLOW, "time_s")
    )


def bin_measures(rows: Rows, bin_s: float) -> dict[str, pl.DataFrame]:
    """Return for each of MEASURES a frame run_id, flow_id, time_s (middle of the bin), value."""
    # Summed over what `series` takes for an algorithm, a flow's series is the flow's own.
    each_flow = pl.col("flow_id").alias("cc")
    placed = place_intervals(rows["intervals"], rows["flows"])
    rates = sum_rates(_observe_rates(rows, placed).with_columns(each_flow), bin_s)
    growth = place_samples(rows["samples"], rows["flows"], each_run=True).with_columns(each_flow)
    retransmits = sum_retransmits(growth, placed.with_columns(each_flow), bin_s, each_run=True)
    flow = ("run_id", pl.col("cc").alias("flow_id"), "time_s")
    return {
        "rate": rates.select(*flow, value=pl.col("rate_bps") / BITS_PER_MBIT),
        "retransmits": retransmits.select(*flow, value="retransmits_count"),
        "cwnd": _average(_observe(rows, placed, "cwnd"), bin_s),
        "rtt": _average(_observe(rows, placed, "rtt"), bin_s),
    }


def _observe_rates(rows: Rows, placed: pl.DataFrame) -> pl.DataFrame:
    """Return the rates of each flow: of what was acknowledged within the test, or of what the tool reports."""
    columns = (*FLOW, "start_s", "end_s", "interval_bps")
    unseen = list_unseen_runs(rows["samples"], rows["flows"])
    seen = rows["flows"].join(unseen, on="run_id", how="anti")
    ends = placed.group_by("run_id").agg(test_s=pl.col("end_s").max())
    acknowledged = (
        observe_acknowledged(rows["samples"].join(seen, on=FLOW, how="semi"), seen)
        .join(ends, on="run_id")
        .with_columns(pl.min_horizontal("end_s", "test_s"))
        .filter(pl.col("end_s") > pl.col("start_s"))
    )
    reported = placed.join(unseen, on="run_id", how="semi")
    return pl.concat([reported.select(columns), acknowledged.select(columns)], how="vertical_relaxed")


def _observe(rows: Rows, placed: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return run_id, flow_id, time_s and value of each sample, and of each interval of flows that have no such value.

    An interval's window and RTT are those at its end.
    """
    of_sample = {"cwnd": pl.col("cwnd_segments_count").cast(pl.Float64()), "rtt": pl.col("rtt_ms")}
    of_interval = {"cwnd": pl.col("cwnd_bytes") / pl.col("mss_bytes"), "rtt": pl.col("rtt_ms")}
    sampled = _place_samples(rows).select(*FLOW, "time_s", value=of_sample[name]).drop_nulls("value")
    reported = (
        placed.join(rows["flows"].select(*FLOW, "mss_bytes"), on=FLOW)
        .join(sampled, on=FLOW, how="anti")
        .select(*FLOW, time_s="end_s", value=of_interval[name])
        .filter(pl.col("value").is_finite())
    )
    return pl.concat([sampled, reported])


def _average(observed: pl.DataFrame, bin_s: float) -> pl.DataFrame:
    """Return the mean of what was observed nearest to each multiple of the bin width, in the same columns."""
    return (
        observed.group_by(*FLOW, time_s=(pl.col("time_s") / bin_s).round() * bin_s)
        .agg(pl.col("value").mean())
        .sort(*FLOW, "time_s")
    )


def _collect_series(frame: pl.DataFrame, bin_s: float, digits: int) -> Series:
    """Return by run and flow the time of the first value and, one per bin from there, the values."""
    bins = ((pl.col("time_s") - pl.col("time_s").min().over(FLOW)) / bin_s).round().cast(pl.Int64())
    lists = (
        frame.with_columns(bin=bins)
        .group_by(FLOW, maintain_order=True)
        .agg(pl.col("time_s").min(), pl.col("bin"), pl.col("value"))
    )
    series: Series = {}
    for run_id, flow_id, start_s, numbers, values in lists.rows():
        filled: list[float | int | None] = [None] * (max(numbers) + 1)
        for number, value in zip(numbers, values, strict=True):
            filled[number] = round_number(value, digits)
        series[run_id, flow_id] = (round(start_s, 3), filled)
    return series
