"""Flow completion times of the runs that a figure draws: reading them, and their statistics by conditions."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from ccreport.figures.select.condition_cells import read_matching, summarise_cells
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.series import UNKNOWN_CC

COLUMNS: Final = """
    run_id, condition_id, mode, sender_host, host, flows_count, rtt_ms, loss_pct, buffer_bytes, bottleneck_bps,
    volume_bytes, cc_list
"""
# The settings that conditions differ in, beside the buffer, in the order in which panels name them.
SETTINGS: Final = ("cc_list", "volume_bytes", "rtt_ms", "flows_count", "loss_pct")
SOURCES: Final = {
    "capture": "from the first SYN to the last acknowledgement of a capture",
    "sender": "of the sender, who is done when its last bytes wait in its socket: too short",
}
QUANTILES: Final = {"median": 0.5, "p95": 0.95}


def read_completions(declaration: FigureDeclaration, database: Database) -> pl.DataFrame:
    """Return a row for each flow of the runs that match: the run's COLUMNS, flow_id, cc, completion_s, source.

    Of runs some of whose completions a capture tells, only these: the published table leaves out the others too. Raise
    MissingFigure where no flow has a time.
    """
    runs = read_matching(declaration, database, "labelled_runs", COLUMNS, "run_id")
    query = """
        SELECT run_id, flow_id, cc, completion_s, completion_source AS source FROM flows
        WHERE completion_s IS NOT NULL AND run_id IN (SELECT unnest(?))
        QUALIFY completion_source = 'capture'
            OR NOT bool_or(completion_source = 'capture') OVER (PARTITION BY run_id)
        ORDER BY run_id, flow_id
    """
    flows = database.ask(query, [runs["run_id"].to_list()])
    if flows.is_empty():
        raise MissingFigure(f"None of the {runs.height:,} runs that match has a flow with a completion time.")
    return runs.join(flows, on="run_id").with_columns(pl.col("cc").fill_null(UNKNOWN_CC)).sort("run_id", "flow_id")


def describe_left_out(database: Database, flows: pl.DataFrame) -> list[str]:
    """Return the sentence that counts the flows of the same runs whose completion is not known, if there are any."""
    query = "SELECT count(*) FROM flows WHERE run_id IN (SELECT unnest(?))"
    total = database.ask(query, [flows["run_id"].unique().sort().to_list()]).item()
    left_out = total - flows.height
    return [f"{left_out:,} of {total:,} flows, whose completion is not known, are left out"] if left_out else []


def summarise_completions(database: Database, flows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return mean, low and high (95 % interval), flows_count and the QUANTILES for each value of the keys."""
    # Flows are the units that are drawn again, each within its condition.
    units = flows.drop("run_id").rename({"flow_id": "run_id"})
    means = summarise_cells(database, units, keys, "completion_s").rename({"runs_count": "measured_count"})
    # Linear between neighbours, as `quantile_cont` of the published table.
    quantiles = [
        pl.col("completion_s").quantile(share, interpolation="linear").alias(name) for name, share in QUANTILES.items()
    ]
    spread = flows.group_by(keys).agg(quantiles)
    return means.join(spread, on=list(keys), nulls_equal=True, maintain_order="left")


def describe_sources(flows: pl.DataFrame) -> str:
    """Return the sentence that says what the times are, and what is wrong with them."""
    return f"Completion times {'; or '.join(SOURCES[source] for source in flows['source'].unique().sort())}"
