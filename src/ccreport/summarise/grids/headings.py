"""Headings of published tables, made of columns' names, and names of their rows."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.summarise.grids.grid import MISSING, format_size, rate_unit

# What a column's name ends in, and what its heading has for it; sizes and rates bring units of their own.
UNITS: Final = {
    "bdp_ratio": " (BDP)",
    "score_pct": " score",
    "pct": " (%)",
    "ms": " (ms)",
    "s": " (s)",
    "segments": " (segments)",
    "packets": " (packets)",
    "tps": " (1/s)",
    **dict.fromkeys(("count", "bytes", "bps", "ratio"), ""),
    "cv": " CV (%)",
    "utc": " (UTC)",
}
# Names that say more to a program than to a reader.
HEADINGS: Final = {
    **dict.fromkeys(("cc", "flow_algorithm", "client_algorithm"), "Algorithm"),
    "cc_list": "Algorithms",
    "rtt_nominal_ms": "RTT (ms)",
    "nic_bps": "Sender's line",
    "limit_packets_count": "Queue limit (packets)",
    "has_queue_ecn": "Queue marks ECN",
    "stages_json": "Changes of the path",
    "buffer_bdp_ratio": "Buffer (BDP)",
    "volume_bytes": "Volume of all flows",
    "completion_bytes": "Completes a flow",
    "jain_ratio": "Jain's index",
    "jain_mean_ratio": "Jain's index, mean",
    "p_ratio": "p",
    "value_ratio": "Here over published",
    "p_holm_ratio": "Holm-adjusted p",
    "p_equal_ratio": "p of the test that they are equal",
    "p_equal_holm_ratio": "Holm-adjusted p of the test that they are equal",
    "effect_mean_ratio": "Ratio",
    "difference_mean": "Difference",
    "least_effect_pct": "Minimum detectable effect (%)",
    "runs_to_show_count": "Runs to show the margin",
    "first_runs_count": "Runs of first",
    "second_runs_count": "Runs of second",
    "first_algorithm": "First",
    "second_algorithm": "Second",
    "table_name": "Table",
    "ahead_algorithm": "Ahead",
    "tests_count": "Comparisons that Holm's correction counts",
    "strata_count": "Sets of conditions",
    "equal_within_pct": "Equal within (±%)",
    "algorithm_flows_count": "Flows of this algorithm",
    "beside": "Both",
    "exhibit": "Published in",
    "printed": "Published",
    "found_mean": "Here",
    "published_verdict": "Verdict",
    "is_paired": "Both in the same run?",
    "is_explained": "Explained?",
    "iperf3_difference_count": "Capture less iperf3",
    "ss_difference_count": "Capture less ss",
    "is_told_apart": "Told apart?",
    "is_log": "Log scale?",
    "delta_mean": "Cliff's delta",
    "p50_ratio": "Ratio of medians",
    "binned_ratio": "Share in bin",
    "values_ratio": "Share of values",
    "outliers_ratio": "Share of outliers",
    "ecn_ratio": "Share with ECN",
    "ecnseen_ratio": "Share with ECN seen",
    "lost_packets_ratio": "Share of lost packets",
    "client_cwnd_mean_segments_count": "Client cwnd mean (segments)",
    "utilization_concavity_ratio": "Utilization-concavity UC",
    "monotonicity_ratio": "Monotonicity V",
    "utilization_concavity_monotonicity_ratio": "UCV: 2/3 UC + 1/3 V",
    "retransmit_ratio": "Retransmitted (%)",
    "retransmit_machine_ratio": "Retransmitted (%)",
    "retransmit_mean_ratio": "Retransmitted, mean of the runs' ratios (%)",
    "retransmit_ratio_cv": "Retransmitted, CV of the runs' ratios (%)",
    "retransmit_pct": "Retransmitted (%)",
    "delivery_rate_bps": "Delivery rate",
    "bbr_bw_bps": "Bandwidth as BBR estimates it",
    "unacked_count": "Data in flight (segments)",
    "rwnd_limited_pct": "Limited by the receive window (%)",
    "request_goodput_bps": "Goodput of an answer",
    "cv_mean_cv": "Mean CV (%)",
    "cv_within_mean_cv": "Mean CV within conditions (%)",
    "cv_ratio": "Ratio of mean CVs",
    "cv_within_ratio": "Ratio of mean CVs within conditions",
    "x": "Numerator",
    "y": "Denominator",
}
# Columns that say what a row's numbers are of, and those whose unit is that of the quantity there.
QUANTITIES: Final = ("quantity", "measure")
OF_QUANTITY: Final = re.compile(r"value_\w+|bin_\w+_value|(?:first|second)_(?:p50|mean)|difference_mean(?:_low|_high)?")
RATE: Final = "_bps"
# The quantity whose numbers are multiplied with this, and how its words go on.
PERCENTAGE: Final = ("retransmit_ratio", 100.0, " (%)")
SPELLED: Final = {
    "ack": "ACK",
    "bdp": "BDP",
    "cpu": "CPU",
    "cv": "CV",
    "cwnd": "cwnd",
    "ecn": "ECN",
    "id": "ID",
    "iperf3": "iperf3",
    "jain": "Jain's index",
    "mss": "MSS",
    "mtu": "MTU",
    "nic": "NIC",
    "p01": "1 %",
    "p05": "5 %",
    "p10": "10 %",
    "p25": "25 %",
    "p50": "50 %",
    "p75": "75 %",
    "p90": "90 %",
    "p95": "95 %",
    "p99": "99 %",
    "p999": "99.9 %",
    "rpc": "RPC",
    "sack": "SACK",
    "ss": "ss",
    "rtt": "RTT",
    "rpcs": "RPCs",
    "rtts": "RTTs",
    "sd": "SD",
    "udp": "UDP",
}
# Counts whose noun goes behind them: 16 flows.
COUNTED: Final = {"flows_count": "flow", "runs_count": "run", "cells_count": "cell"}
# Whose names headings begin with.
PEOPLE: Final = ("Jain", "Cliff")
# Names of programs, which stay as they are at the beginning of a heading.
KEPT_SMALL: Final = ("iperf3", "ss")
NO_HEADINGS: Final[Mapping[str, str]] = {}
UNIT: Final = re.compile(rf"(?P<stem>\w+?)_(?P<unit>{'|'.join(UNITS)})")


def is_percentage(column: str) -> bool:
    """Tell whether a column is shown in per cent of what tables hold: CVs, and ratios of retransmits."""
    return column.endswith("_cv") or (column.startswith("retransmit") and column.endswith("_ratio"))


def write_heading(column: str) -> str:
    """Return a column's name as a heading, with its unit unless the values bring theirs."""
    if column in HEADINGS:
        return HEADINGS[column]
    parts = UNIT.fullmatch(column)
    if parts and parts["unit"] == "ratio" and is_percentage(column):
        return f"{write_words(parts['stem'])} (%)"
    return f"{write_words(parts['stem'])}{UNITS[parts['unit']]}" if parts else write_words(column)


def write_words(name: str) -> str:
    """Return a column's name, or a part of it, as words."""
    words = [SPELLED.get(word, word) for word in name.split("_")]
    first = words[0] if words[0] in KEPT_SMALL else words[0][:1].upper() + words[0][1:]
    return " ".join([first, *words[1:]])


def format_name(column: str, value: Any) -> str:
    """Return a value that names rows or columns: rates and sizes with their units, a dash for none."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return format_answer(value)
    if column == "beside":
        return str(value).replace(",", " and ")
    if column == "stages_json":
        return name_stages(value)
    if column == "table_name":
        return write_words(value)
    if column.endswith("_bps"):
        divisor, unit = rate_unit(pl.Series([value], dtype=pl.Float64))
        return f"{value / divisor:g} {unit}"
    if column.endswith("_bytes"):
        return format_size(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def name_stages(recorded: str) -> str:
    """Return recorded changes of a path: 5 s: RTT 80 ms; 10 s: 10mbit."""
    stages = json.loads(recorded) if recorded.startswith("[") else []
    known = [stage for stage in stages if isinstance(stage, dict)]
    return "; ".join(f"{stage.get('at_s')} s: {_name_stage(stage)}" for stage in known) or recorded


def _name_stage(stage: Mapping[str, Any]) -> str:
    shown = {"rtt_ms": "RTT {} ms", "rate": "{}", "loss": "loss {} %"}
    return " ".join(words.format(stage[key]) for key, words in shown.items() if key in stage)


def head_column(column: str, own: str) -> str:
    """Return the heading of a column: an evaluation's own with the unit that its values lack, or that of its name."""
    heading = write_heading(column)
    _, _, unit = heading.removesuffix(")").partition(" (")
    if not own:
        return heading
    return own if not unit or unit in own else f"{own} ({unit})"


def format_answer(value: bool | None) -> str:
    """Return what a column whose heading is a question answers."""
    return MISSING if value is None else "yes" if value else "no"


def name_quantities(rows: pl.DataFrame, rates: tuple[float, str] | None = None) -> pl.DataFrame:
    """Return rows with what a column of quantities says in words with units, and the numbers of these in such units.

    Rates are in the unit of `rates` (divisor and name), by default that of the largest, and retransmit ratios in per
    cent; rows without such a column stay as they are.
    """
    column = next((name for name in QUANTITIES if name in rows.columns), None)
    if column is None:
        return rows
    unit = find_quantity_unit(rows) if rates is None else rates
    named = [(name, *_find_scale(name, unit)) for name in rows[column]]
    factors = pl.Series([factor for _, factor, _ in named], dtype=pl.Float64)
    return rows.with_columns(
        *(rows[name] * factors for name in _list_of_quantity(rows)),
        pl.Series(column, [write_heading(name).removesuffix(unit) + unit for name, _, unit in named], dtype=pl.String),
    )


def find_quantity_unit(rows: pl.DataFrame) -> tuple[float, str]:
    """Return divisor and name of the unit for the rates among the numbers of rows' quantities."""
    column = next((name for name in QUANTITIES if name in rows.columns), None)
    if column is None:
        return rate_unit(pl.Series(dtype=pl.Float64))
    rates = rows.filter(pl.col(column).str.ends_with(RATE))
    largest = [rates[name].max() for name in _list_of_quantity(rates)]
    return rate_unit(pl.Series(largest, dtype=pl.Float64))


def _list_of_quantity(rows: pl.DataFrame) -> list[str]:
    return [name for name in rows.columns if OF_QUANTITY.fullmatch(name) and rows.schema[name].is_float()]


def _find_scale(quantity: str, rates: tuple[float, str]) -> tuple[float, str]:
    if quantity.endswith(RATE):
        return 1 / rates[0], f" ({rates[1]})"
    ending, factor, words = PERCENTAGE
    return (factor, words) if quantity.endswith(ending) else (1.0, "")


def name_value(column: str, value: Any, own: str = "") -> str:
    """Return a value with the words and the unit of its column: RTT 20 ms, 1 flow; no word twice where it has one.

    With an evaluation's `own` heading, a text stands behind a colon: Severity of loss: none.
    """
    if column in COUNTED and value is not None:
        return count_things(value, COUNTED[column])
    if own and isinstance(value, str):
        return f"{own}: {value}"
    words, _, unit = head_column(column, own).partition(" (")
    shown = format_name(column, value)
    words = words.removesuffix(shown.partition(" ")[0]).rstrip()
    return f"{words} {shown}{f' {unit[:-1]}' if unit and value is not None else ''}".lstrip()


def name_text(heading: str, text: str) -> str:
    """Return what a cell shows with the words and the unit of its column's heading: Pacing 50.0 Mbit/s, 5 runs."""
    words, _, unit = heading.partition(" (")
    if noun := COUNTED.get(f"{words.lower()}_count"):
        return f"{text} {noun}{'' if text == '1' else 's'}"
    if unit == "±%)":
        return f"{words} ±{float(text):g} %"
    return f"{words} {text}{f' {unit[:-1]}' if unit else ''}"


def describe_shared(
    names: Mapping[str, Any], more: Iterable[str] = (), headings: Mapping[str, str] = NO_HEADINGS
) -> str:
    """Return the sentence on what all rows of a table have in common, by column; empty where that is nothing.

    `more` is what they have in common besides, each as `name_text` writes it; `headings` are the evaluation's own.
    """
    parts = [*(name_value(column, value, headings.get(column, "")) for column, value in names.items()), *more]
    return f"All rows: {', '.join(map(begin_small, parts))}." if parts else ""


def begin_small(words: str) -> str:
    """Return words with a small letter in front, but for a name or what is spelt in capitals: RTT 5 ms."""
    return words if words[1:2].isupper() or words.startswith(PEOPLE) else words[:1].lower() + words[1:]
