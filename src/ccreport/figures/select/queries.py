"""What figures read from the database: the runs that match a declaration, and their rows of other tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import duckdb
import polars as pl

from ccreport.core.identifiers import match_runs
from ccreport.figures.kit.figure import deny
from ccreport.figures.select.declaration import FigureDeclaration, refuse_where
from ccreport.figures.select.recording_database import Database

# A queue that marks packets is another queue than one of the same discipline that drops them.
QUEUE: Final = """CASE WHEN has_queue_ecn THEN concat_ws(' ', queue_discipline, 'with ECN') ELSE queue_discipline END"""
# What ccreport collected has paths of a testbed, whose hosts are names only.
IS_EMULATED: Final = "coalesce(session IN (SELECT session FROM sessions), FALSE) AS is_emulated"
# `queue` is null where all runs of the archive have the same.
RUN_COLUMNS: Final = f"""
    run_id, condition_id, iteration, mode, is_counted, sender_host, host, flows_count, rtt_ms, rtt_nominal_ms,
    rtt_source, path_rtt, loss_pct, loss_pattern, parameter_name, parameter_value, buffer_bytes, limit_packets_count,
    bottleneck_bps, nic_bps, pacing_bps, background_udp_bps, mtu_bytes, volume_bytes, duration_s, stages_json, kernel,
    retransmit_ratio, {IS_EMULATED},
    CASE WHEN (SELECT count(DISTINCT {QUEUE}) FROM labelled_runs WHERE is_counted) > 1 THEN {QUEUE} END AS queue,
    CASE WHEN (SELECT count(DISTINCT session) FROM labelled_runs WHERE is_counted) > 1 THEN session END AS session
"""  # noqa: S608
COLUMNS: Final = {
    "flows": """run_id, flow_id, client_number, cc, start_offset_s, throughput_bps, sender_s, goodput_bps, receiver_s,
        retransmits_count, segments_count""",
    "intervals": "run_id, flow_id, start_s, end_s, is_omitted, interval_bps, retransmits_iperf3_count",
    "samples": """run_id, flow_id, connection_number, time_utc, tcp_state, retransmits_ss_count, cwnd_segments_count,
        rtt_ms, mss_bytes, sent_bytes, acked_bytes, busy_ms, rwnd_limited_ms, sndbuf_limited_ms, is_app_limited,
        unacked_count, sacked_count, lost_count, retransmits_in_flight_count, not_sent_bytes, skmem_wmem_bytes,
        pacing_rate_bps, pacing_rate_max_bps, bbr_pacing_gain_ratio, bbr_cwnd_gain_ratio""",
    "cpu_samples": "run_id, side, sample_number, time, cpu, cpu_idle_pct",
    "qdiscs": "run_id, line_number, qdisc, delay_ms, delay_jitter_ms, loss_pct, limit_packets_count",
    "packet_flows": """run_id, raw_file_id, flow_id, connection_number, direction, local_port, remote_port, first_utc,
        payload_bytes, retransmits_capture_count, capture_side""",
    "packet_intervals": """run_id, raw_file_id, flow_id, connection_number, direction, interval_utc, data_packets_count,
        retransmits_capture_count, sack_blocks_count, ack_rtt_samples_count, ack_rtt_min_ms, ack_rtt_mean_ms,
        ack_rtt_max_ms, in_flight_mean_bytes, sequence_end_bytes, acknowledged_end_bytes, window_end_bytes""",
    "packets": """run_id, raw_file_id, flow_id, connection_number, direction, packet_number, captured_utc, capture_s,
        sequence_bytes, payload_bytes, acknowledgement_bytes, role, sack_start_bytes, sack_end_bytes, ack_rtt_ms""",
}
# Why a run does not count.
UNCOUNTED: Final = "interrupted, or without a bulk transfer"
ORDER: Final = {
    "flows": "run_id, flow_id",
    "intervals": "run_id, client_number, stream_number, is_reverse, interval_number",
    "samples": "run_id, flow_id, connection_number, time_utc",
    "cpu_samples": "run_id, side, sample_number, cpu",
    "qdiscs": "run_id, line_number",
    "packet_flows": "run_id, raw_file_id, flow_id, connection_number, direction",
    "packet_intervals": "run_id, raw_file_id, flow_id, connection_number, direction, interval_utc",
    "packets": "run_id, raw_file_id, packet_number",
}


# Of more runs a list helps nobody.
RUNS_AT_MOST: Final = 12


class MissingFigure(Exception):  # noqa: N818 (no error: an archive need not have the data of every figure)
    """The archive has no data for a figure; the message says why."""


class UnknownRunError(MissingFigure):
    """A figure's `run` is none or several of the runs that match: `told` says so, `names` begins their list."""

    def __init__(self, told: str, runs: Sequence[str]) -> None:
        names, others = runs[:RUNS_AT_MOST], len(runs) - RUNS_AT_MOST
        more = [f"and {others:,} more"] if others > 0 else []
        super().__init__(f"{told}: {' '.join([', '.join(names), *more])}.")
        self.told, self.names = told, (*names, *more)


class NoRunMatchesError(MissingFigure):
    """No run matches the condition, which the message repeats."""


def describe_absence(declaration: FigureDeclaration, what: str) -> str:
    """Return why a figure is missing that nothing in the archive matches: in words, then its condition."""
    needs = " ".join(declaration.needs.split()) or f"{what} that this figure would show"
    return f"The archive has no {needs}. The condition: {' '.join(declaration.where.split())}"


def read_matching_runs(declaration: FigureDeclaration, database: Database) -> pl.DataFrame:
    """Return the rows of `labelled_runs` that match and count.

    Raise MissingFigure where there are none, FigureError where the database refuses the condition.
    """
    # A condition ends before the line does: it may close with a comment.
    among = f"WITH figure_runs AS (FROM labelled_runs WHERE (\n{declaration.among}\n))"
    query = f"{among} SELECT {RUN_COLUMNS} FROM figure_runs WHERE (\n{declaration.where}\n) ORDER BY run_id"  # noqa: S608
    try:
        matching = database.ask(query)
    except duckdb.Error as error:
        _require_among(declaration, database)
        raise refuse_where(declaration.name, error, declaration.where) from error
    if matching.is_empty():
        raise NoRunMatchesError(describe_absence(declaration, "run"))
    counted = matching.filter("is_counted")
    if counted.is_empty():
        raise MissingFigure(f"{deny(matching.height)} counts ({UNCOUNTED}).")
    return counted


def _require_among(declaration: FigureDeclaration, database: Database) -> None:
    """Raise FigureError where the database refuses the condition of the whole figure, which a panel is within."""
    try:
        database.ask(f"SELECT run_id FROM labelled_runs WHERE (\n{declaration.among}\n) LIMIT 0")  # noqa: S608
    except duckdb.Error as error:
        raise refuse_where(declaration.name.partition(" (")[0], error, declaration.among) from error


def name_run(declaration: FigureDeclaration, runs: pl.DataFrame, kind: str = "runs") -> FigureDeclaration:
    """Return the declaration with the whole name of the run that it declares, if any, by a part that no other run has.

    `runs` are those that may be drawn, and `kind` is what the message calls them. Raise MissingFigure, with what they
    are called, where none or several of them have the part.
    """
    if declaration.run is None or runs.is_empty():
        return declaration
    known = runs["run_id"].unique().sort().to_list()
    found = match_runs(declaration.run, known)
    if len(found) == 1:
        return replace(declaration, run=found[0])
    told = f"is part of the names of {len(found):,}" if found else "is none"
    raise UnknownRunError(f"Run {declaration.run} {told} of the {len(known):,} {kind} that match", found or known)


def read_rows(database: Database, table: str, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a table (COLUMNS) that belong to these runs, in the order of its key."""
    # A sample whose time is not known has no place over time.
    known = " AND time_utc IS NOT NULL" if table == "samples" else ""
    chosen = f"run_id IN (SELECT unnest(?)){known}"
    query = f"SELECT {COLUMNS[table]} FROM {table} WHERE {chosen} ORDER BY {ORDER[table]}"  # noqa: S608
    return database.ask(query, [runs["run_id"].to_list()])
