"""Claims that were judged beside a database: their names and verdicts."""

from pathlib import Path

import polars as pl

from ccreport.core.evaluation import CLAIMS
from ccreport.core.tables import conform


def list_verdicts(database: Path) -> list[tuple[int, str, str]]:
    """Return number, name and verdict of the claims that were judged beside a database, in their order.

    The verdict is in the words of pages, and in those of the table where an older version judged.
    """
    judged = _read_claims(database)
    words = judged.get_column("claim_verdict_shown", default=judged["claim_verdict"])
    rows = judged.select("claim_number", "claim", words.alias("words"))
    return rows.unique("claim_number", keep="first", maintain_order=True).rows()


def list_claims(database: Path) -> list[str]:
    """Return the names of the claims that were judged beside a database, in their order."""
    return _read_claims(database)["claim"].unique(maintain_order=True).to_list()


def _read_claims(database: Path) -> pl.DataFrame:
    path = database.parent / f"{CLAIMS}.parquet"
    return pl.read_parquet(path) if path.is_file() else conform(pl.DataFrame(), CLAIMS)
