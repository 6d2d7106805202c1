"""What a row of the table `comparisons` says, in sentences: what is compared, by how much, the verdict and why."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ccreport.core.text import count_things
from ccreport.summarise.grids.grid import MISSING, format_probability
from ccreport.summarise.grids.plain_numbers import round_value
from ccreport.summarise.statistics.comparisons import SIDES, UNDECIDED
from ccreport.summarise.statistics.contrasts import LEVEL

TERMS: Final = (
    "  Equal within: a ratio no farther from 1 than this does not matter, as the evaluation declares. p: how likely a",
    "  difference at least as large is by chance alone; Holm's correction raises it where several questions are asked.",
)


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
