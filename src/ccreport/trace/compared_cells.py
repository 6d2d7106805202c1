"""What a row of `comparisons` says, in sentences, and what a published cell was compared with, and the verdicts."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.compare.verdicts import PAIR_FACTOR
from ccreport.core.tables import load_schema
from ccreport.core.text import count_things
from ccreport.summarise.grids.grid import MISSING, format_probability
from ccreport.summarise.grids.plain_numbers import round_value
from ccreport.summarise.statistics.comparisons import SIDES, UNDECIDED
from ccreport.summarise.statistics.contrasts import LEVEL
from ccreport.trace.shown_runs import show_numbers

REPRODUCTION: Final = "reproduction.parquet"
OTHERS: Final = {"paper": "the paper", "archive": "the other archive"}
# Both sides have the same quantities: there is the paper's, here this archive's.
HEADINGS: Final = {
    "cell_state": "State",
    "match": "Matched by",
    "matched_buffer_bytes": "Matched with the buffer here (bytes)",
    "matched_test_group": "Matched with the loss here",
    "expected_bdp_ratio": "Buffer there (BDP)",
    "matched_bdp_ratio": "Buffer here (BDP)",
    "expected_loss_window_ratio": "Loss × BDP² there",
    "matched_loss_window_ratio": "Loss × BDP² here",
    "expected_basis": "Rate there",
    "expected_bps": "Mean rate there (Mbit/s)",
    "expected_cv": "CV there (%)",
    "expected_runs_count": "Runs there",
    "expected_line_rate_bps": "Line rate there (Mbit/s)",
    "line_rate_bps": "Line rate here (Mbit/s)",
    "expected_share_ratio": "Share of the line rate there",
    "share_ratio": "Share of the line rate here",
    "value_ratio": "Here over there",
    "cell_verdict": "Verdict on the cell",
    "needed_runs_count": "Runs that would tell",
    "pair_expected_ratio": "Ratio of the pair's rates, there",
    "pair_ratio": "Ratio of the pair's rates, here",
    "pair_factor_ratio": "Ratio here over ratio there",
    "pair_p_holm_ratio": "p of a ratio of 1 here (Holm)",
    "pair_verdict": "Verdict on the pair",
    "other_cell_verdict": "Verdict on the cell, matched the other way",
    "other_pair_verdict": "Verdict on the pair, matched the other way",
}
RULES: Final = (
    "  There: where it was compared with; here: this archive. A pair's rates: the first algorithm's over the second's.",
    "  Inconsistent: the interval of here over there does not contain 1. Not reproduced: the pair's other algorithm is",
    f"  ahead, or its ratios surely differ by a factor above {PAIR_FACTOR:g}. The page Reproduction has all rules.",
)
TERMS: Final = (
    "  Equal within: a ratio no farther from 1 than this does not matter, as the evaluation declares. p: the",
    "  probability of such a difference by chance; Holm's correction raises it where several questions are asked.",
)
# What names a cell, and is said above its numbers.
NAMES: Final = frozenset({"comparison", "table_name", "cell_number", "cell"})


def show_compared(folder: Path, table: str, row: Mapping[str, Any]) -> list[str]:
    """Return lines on each cell that a row of a table was compared with; none where the folder has no reproduction."""
    path = folder / REPRODUCTION
    if not path.is_file():
        return []
    cells = pl.read_parquet(path).filter(pl.col("table_name") == table)
    keys = [name for name in load_schema(table).key if name in cells.columns]
    for name in keys:
        # A published cell may be compared with one of another name, where conditions bite alike.
        matched = [f"matched_{name}"] if f"matched_{name}" in cells.columns else []
        cells = cells.filter(pl.coalesce(*matched, name).eq_missing(pl.lit(row[name])))
    lines = []
    for cell in cells.sort("comparison", "cell_number").iter_rows(named=True):
        facts = {name: value for name, value in cell.items() if value is not None and name not in {*NAMES, *row}}
        lines += ["", f"Compared with {OTHERS[cell['comparison']]}, {cell['cell']}, {cell['algorithm']}:"]
        lines += [*show_numbers(facts, HEADINGS), *RULES]
    return lines


def describe_comparison(row: Mapping[str, Any]) -> list[str]:
    """Return lines on a row of the table with all its statistics, its means in the unit that `measure` has."""
    measure, _, unit = row["measure"].removesuffix(")").partition(" (")
    both = "both in each run" if row["is_paired"] else "each in runs of its own"
    in_strata = f" in {row['strata_count']} strata (paths and conditions)" if row["strata_count"] > 1 else ""
    lines = [f"{measure} of {row['first_algorithm']} and {row['second_algorithm']}, {both}: {row['verdict']}"]
    for side in SIDES:
        mean = MISSING if row[f"{side}_mean"] is None else f"{round_value('', row[f'{side}_mean'])} {unit}".rstrip()
        runs = count_things(row[f"{side}_runs_count"], "run")
        lines.append(f"  {row[f'{side}_algorithm']}: mean {mean}, of {runs}{in_strata}")
    return [*lines, *(f"  {line}" for line in _describe_effect(row)), f"  Why: {_explain(row)}"]


def _describe_effect(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ratio with its interval, and the p value of each test."""
    if row["effect_mean_ratio"] is not None:
        ratio, low, high = (round_value("", row[f"effect_{part}_ratio"]) for part in ("mean", "low", "high"))
        interval = "no interval" if row["effect_low_ratio"] is None else f"95 % interval {low} to {high}"
        quotient = f"{row['first_algorithm']} / {row['second_algorithm']}"
        yield f"Ratio of the geometric means, {quotient}: {ratio}, {interval}"
        if row["first_mean"] and row["second_mean"]:
            arithmetic = round_value("", row["first_mean"] / row["second_mean"])
            yield f"Ratio of the arithmetic means, {quotient}: {arithmetic}"
    tests = {"a ratio of 1": "p_holm_ratio", f"a ratio beyond ±{row['equal_within_pct']:g} %": "p_equal_holm_ratio"}
    told = [f"{format_probability(row[p])} of {name}" for name, p in tests.items() if row[p] is not None]
    if told:
        yield f"p: {', '.join(told)}; after Holm's correction for {count_things(row['tests_count'], 'question')}"


def _explain(row: Mapping[str, Any]) -> str:
    """Return what the verdict follows from; of an undecided one, what would have decided it."""
    censored = "by the log-rank test, as not all times are known, " if row["log_rank_z"] is not None else ""
    if row["p_ratio"] is None:
        return f"{censored}no test: each algorithm needs three runs, or two in each of two strata, with values"
    if row["verdict"] != UNDECIDED:
        tested = "1" if row["ahead_algorithm"] else f"beyond ±{row['equal_within_pct']:g} %"
        return f"{censored}the p value of a ratio {'of ' if row['ahead_algorithm'] else ''}{tested} is below {LEVEL:g}"
    least, needed = row["least_effect_pct"], row["runs_to_show_count"]
    parts = [f"{censored}neither p value is below {LEVEL:g}"]
    if least is not None:
        parts.append(f"these runs would show a difference of {round_value('', least)} %")
    if needed is not None:
        counted = f"{count_things(needed, 'run')} of each{' in each stratum' if row['strata_count'] > 1 else ''}"
        parts.append(f"about {counted} would show one of {row['equal_within_pct']:g} %")
    return "; ".join(parts)
