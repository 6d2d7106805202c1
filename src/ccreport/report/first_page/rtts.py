"""Round-trip times of this archive that a condition's bucket of them, "RTT ≥ 30 ms", pools."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.report.first_page.pairs import call_conditions
from ccreport.summarise.database import connect
from ccreport.summarise.grids.publication import SHOWN_RTT, join_rtts
from ccreport.summarise.questions import has_questions

# RTT ≥ 30 ms · RTT 10–30 ms
BUCKET: Final = re.compile(r"RTT (?:[<≥] |[\d.]+–)[\d.]+ ms")
SCHEMA: Final = {"table_name": pl.String(), "question": pl.String(), "rtts_ms": pl.List(pl.Float64)}
NO_RTTS: Final = pl.DataFrame(schema=SCHEMA)
QUERY: Final = f"""
    SELECT table_name, question, list(DISTINCT {SHOWN_RTT}) AS rtts_ms
    FROM comparisons_runs WHERE is_counted AND rtt_ms IS NOT NULL GROUP BY ALL ORDER BY ALL
"""  # noqa: S608 (of a module)


def read_rtts(database: Path, declared: Mapping[str, Any]) -> pl.DataFrame:
    """Return a row for each question that is compared, with the round-trip times of its runs that count, in ms.

    `database` is that of the evaluation `declared`, whose labels and algorithms are called as they are shown.
    """
    with connect(database) as connection:
        if not has_questions(connection):
            return NO_RTTS
        rtts: pl.DataFrame = connection.sql(QUERY).pl().cast(SCHEMA)
    return call_conditions(rtts, declared)


def name_rtts(rtts: pl.DataFrame, asked: pl.DataFrame) -> str:
    """Return the round-trip times of questions, "80, 88 ms"; nothing where none is known.

    `asked` has the columns `table_name` and `question`, `rtts` is as `read_rtts` returns it.
    """
    known = rtts.join(asked, on=("table_name", "question"), how="semi")["rtts_ms"].explode().drop_nulls()
    return f"{join_rtts(known.unique().sort().to_list())} ms" if known.len() else ""
