"""What captions say of flow completion times: what they are, and which flows are censored or left out."""

from typing import Final

import polars as pl

from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.runs import format_significant, join_names

SOURCES: Final = {"capture": "captures", "ss": "samples of ss"}


def describe_left_out(database: Database, flows: pl.DataFrame) -> list[str]:
    """Return the sentences that count censored flows, and those of the same runs of which nothing is known."""
    query = "SELECT count(*) FROM flows WHERE run_id IN (SELECT unnest(?))"
    total = database.ask(query, [flows["run_id"].unique().sort().to_list()]).item()
    censored, left_out = flows.height - int(flows["is_complete"].sum()), total - flows.height
    return [
        *([f"{censored:,} of {flows.height:,} flows stopped before and are censored"] if censored else []),
        *([f"{left_out:,} of {total:,} flows are left out: neither a capture nor ss has them"] if left_out else []),
    ]


def describe_sources(flows: pl.DataFrame) -> str:
    """Return the sentence that says what the times are, of which volume, and how finely they are known."""
    volumes = join_names([f"{volume / 1e6:.3g} MB" for volume in flows["completion_bytes"].unique().sort()])
    sources = join_names([SOURCES[source] for source in flows["source"].unique().sort()])
    finest = flows["resolution_s"].max()
    known = f", known to {format_significant(finest, 1)} s" if isinstance(finest, float) else ""
    return f"Time until {volumes} of a flow were acknowledged, from {sources}{known}"
