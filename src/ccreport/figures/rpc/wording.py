"""The words of figures of RPCs: what all their tests have in common, what they rest on, and their text alternative."""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from ccreport.figures.kit.series_styles import name_series
from ccreport.figures.rpc.rows import KINDS_OF_RPC, SETTINGS, name_panel, select_panel
from ccreport.figures.wording.conditions import PLAIN_QUEUE
from ccreport.figures.wording.runs import format_significant, join_names

LOADS: Final = {
    "file": "the load is what the results say themselves",
    "path": "the load is what paths say",
    "counted": "the load is the number of results of a repetition",
    "mixed": "the load is what results or paths say, else the number of results of a repetition",
}
# What is said only where it is not zero.
PLAIN: Final = ("burst_count", "has_queue_ecn", "flows_count")
LATENCIES: Final = {
    "histogram": "percentiles are upper edges of netperf's buckets",
    "rate": "means follow from the rate of transactions, so there are no percentiles",
    "values": "percentiles are over single values, which of netperf in flent are means over a step",
}


def list_common(rows: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return the subtitle: what the panels have in common; empty where there is nothing to say."""
    same: dict[str, Any] = {
        column: rows[column][0]
        for column in (*KINDS_OF_RPC, *SETTINGS)
        if column in rows.columns
        and column not in keys
        and rows[column][0] is not None
        and (column not in PLAIN or rows[column][0])
        and rows[column][0] != PLAIN_QUEUE
    }
    if not {"request_bytes", "response_bytes"} <= same.keys():
        same = {column: value for column, value in same.items() if column not in ("request_bytes", "response_bytes")}
    common = name_panel(same)
    return [common] if common else []


def describe_rows(rows: pl.DataFrame, what: str) -> list[str]:
    """Return the sentences of a caption on means, intervals, and where load and latencies are from."""
    counts = rows["repetitions_count"].sort().to_list()
    least, most = counts[0], counts[-1]
    repetitions = f"{most}" if least == most else f"{least} to {most}"
    word = "repetition" if most == 1 else "repetitions"
    sentences = [f"{what} over {repetitions} {word} to a point"]
    if most > 2:
        sentences.append("Bars: 95 % interval (Student’s t) over the repetitions")
    elif most == 2:
        sentences.append("Two repetitions are too few for an interval of their mean")
    else:
        sentences.append("Nothing was repeated, so no mean has an interval")
    bases = [LOADS[basis] for basis in rows["load_basis"].unique().sort()]
    sources: list[str] = (
        rows["latency_basis"].drop_nulls().unique().sort().to_list() if "latency_basis" in rows.columns else []
    )
    return [*sentences, "; ".join(bases), *(LATENCIES[source] for source in sources if source in LATENCIES)]


def describe_lines(
    rows: pl.DataFrame,
    keys: Sequence[str],
    panels: Sequence[tuple[Any, ...]],
    algorithms: Sequence[str],
    columns: dict[str, tuple[str, float, str]],
) -> list[str]:
    """Return the sentences of a text alternative: each line's values at the smallest and the largest load.

    `columns` names what each column holds, with the factor and the unit in which it is told.
    """
    names = [name_panel(dict(zip(keys, values, strict=True))) for values in panels]
    sentences = []
    for values, name in zip(panels, names, strict=True):
        own = select_panel(rows, keys, values)
        for column, (what, factor, unit) in columns.items():
            told = []
            for algorithm in algorithms:
                line = own.filter(pl.col("algorithm") == algorithm, pl.col(column).is_not_null()).sort("load_count")
                if line.height:
                    first, last = (format_significant(line[column][at] * factor, 3) for at in (0, -1))
                    ends = f"{first} {unit} at load {line['load_count'][0]}"
                    ends += f" and {last} {unit} at {line['load_count'][-1]}" if line.height > 1 else ""
                    told.append(f"{name_series(algorithm)} {ends}")
            if told:
                sentences.append(f"{name}, {what}: {join_names(told)}" if name else f"{what}: {join_names(told)}")
    return sentences
