"""Findings in words and numbers, the same in all files that a comparison writes."""

from collections.abc import Iterator
from typing import Any

from ccreport.compare_kernels.carry_out import Measured
from ccreport.compare_kernels.declaration import Comparison
from ccreport.compare_kernels.findings import (
    DIFFERS_EXIT,
    EQUAL_EXIT,
    Finding,
    count_more_pairs,
    find_exit_code,
)
from ccreport.core.text import count_things
from ccreport.figures.wording.runs import format_significant

UNKNOWN = "–"
HOST_KERNEL = "this machine's kernel"
FAILED_HEADINGS = ("Run that failed", "Why")
SIDES_HEADINGS = ("Side", "Kernel", "Algorithm", "Settings")


def summarise(comparison: Comparison, findings: list[Finding], measured: Measured) -> str:
    """Return the verdict on the whole comparison in a few sentences."""
    if not measured.failures:
        return _sum_up(comparison, findings, measured.pair_s)
    failed = count_things(len(measured.failures), "run")
    return f"{failed} failed, so this comparison is not complete. Of the others: " + _sum_up(
        comparison, findings, measured.pair_s
    )


def _sum_up(comparison: Comparison, findings: list[Finding], pair_s: float | None) -> str:
    code = find_exit_code(findings)
    tests = count_things(len(findings), "test")
    expected = sum(finding.is_expected and finding.effect.verdict != "equal" for finding in findings)
    if code == EQUAL_EXIT:
        declared = f", {expected} of them different as declared" if expected else ", and nothing differs"
        return f"{tests} decided{declared}."
    differing, undecided = (sum(found.status == status for found in findings) for status in ("differs", "undecided"))
    unsettled = " and ".join(_list_unsettled(findings, undecided))
    if code == DIFFERS_EXIT:
        also = f", and {unsettled}" if unsettled else ""
        differ = "differs" if differing == 1 else "differ"
        told = f"{differing} of {tests} {differ}{also}: {comparison.b.name} is not as {comparison.a.name}."
        return f"{told} Of what is undecided, {plan_more(findings, pair_s)}." if undecided else told
    plan = f"; {plan_more(findings, pair_s)}" if undecided or not findings else ""
    return f"Of {tests}, {unsettled or 'none has a result'}{plan}."


def _list_unsettled(findings: list[Finding], undecided: int) -> Iterator[str]:
    """Yield how many tests are undecided, and how many were not measured and why."""
    lacking = [finding.why_not for finding in findings if finding.status == "not measured"]
    told = ((undecided, "undecided"), (len(lacking), f"not measured ({'; '.join(dict.fromkeys(lacking))})"))
    yield from (f"{count} {'is' if count == 1 else 'are'} {what}" for count, what in told if count)


def plan_more(findings: list[Finding], pair_s: float | None) -> str:
    """Return how many more pairs open verdicts are likely to take, and how long; `pair_s` is the time of one block."""
    count, half = (count_more_pairs(findings, share) for share in (1, 0.5))
    if half is None:
        pairs_count = max((finding.effect.pairs_count for finding in findings), default=0)
        advice = f"more blocks, {max(4, 2 * pairs_count)} or more" if pairs_count > 1 else "at least two blocks"
        return f"how many more runs would tell is not known; measure {advice}"

    def name(number: int) -> str:
        time = "" if pair_s is None else f", {format_time(number * pair_s)} on this machine,"
        return f"about {count_things(number, 'more block')}{time}"

    # Of many tests one alone may be hard to tell.
    half_told = "" if half == count else f"{name(half)} would tell half"
    all_told = f"{name(count)} {'all' if half_told else 'would tell'}" if count else "of all it is not known"
    blocks = " and ".join(part for part in (half_told, all_told) if part)
    return f"{blocks} (with a probability of 0.8){_plan_longer(findings)}"


def _plan_longer(findings: list[Finding]) -> str:
    """Return how long runs would have to be instead, where that tells all open verdicts; else nothing."""
    undecided = [finding for finding in findings if finding.status == "undecided"]
    lengths = [(finding.needed_duration_s, finding.duration_s) for finding in undecided]
    if not lengths or any(needed is None for needed, _ in lengths):
        return ""
    needed_s, duration_s = max((needed or 0.0, present or 0.0) for needed, present in lengths)
    return f"; or as many blocks with runs of about {format_time(needed_s)} in place of {format_time(duration_s)}"


def format_time(seconds: float) -> str:
    """Return a time as 40 s, 12 min or 3.5 h."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def format_p(p: float) -> str:
    """Return a p value with three decimals."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def format_mean(finding: Finding, mean: float | None) -> str:
    """Return the mean of a side in the measure's unit."""
    if mean is None:
        return UNKNOWN
    unit = finding.measure.unit
    return f"{format_significant(mean / finding.measure.per_unit, 4)}{f' {unit}' if unit else ''}"


def format_effect(finding: Finding) -> str:
    """Return the effect with its interval: ×1.23 (1.20 to 1.26), or +0.4 points (0.1 to 0.7)."""
    effect = finding.effect
    if effect.value is None:
        return UNKNOWN
    if effect.scale == "ratio":
        ends = "" if effect.low is None else f" ({effect.low:.3f} to {effect.high:.3f})"
        return f"× {effect.value:.3f}{ends}"
    ends = "" if effect.low is None else f" ({effect.low:+.3f} to {effect.high:+.3f})"
    return f"{effect.value:+.3f} points{ends}"


def list_rows(findings: list[Finding]) -> list[tuple[str, ...]]:
    """Return the rows of the table of findings: condition, measure, verdict, both means, effect, p, pairs."""
    return [
        (
            finding.condition,
            finding.measure.title,
            finding.text + (" (as declared)" if finding.is_expected and finding.status == "as declared" else ""),
            format_mean(finding, finding.mean_a),
            format_mean(finding, finding.mean_b),
            format_effect(finding),
            UNKNOWN if finding.effect.p_holm is None else format_p(finding.effect.p_holm),
            str(finding.effect.pairs_count),
        )
        for finding in findings
    ]


def list_sides(comparison: Comparison, measured: Measured) -> list[tuple[str, ...]]:
    """Return what each side ran, a row each: side, kernel, algorithm, settings."""
    rows: list[tuple[str, ...]] = []
    for key, side in (("A", comparison.a), ("B", comparison.b)):
        kernel = measured.kernels[key.lower()]
        settings = dict(side.sysctls) | dict(side.module_parameters)
        rows.append(
            (
                f"{key}: {side.name}",
                f"{kernel.path.name}, Linux {kernel.release}, SHA-256 {kernel.sha256[:12]}" if kernel else HOST_KERNEL,
                side.algorithm or UNKNOWN,
                ", ".join(f"{name}={value}" for name, value in settings.items()) or UNKNOWN,
            )
        )
    return rows


def list_headings(comparison: Comparison) -> tuple[str, ...]:
    """Return the headings of the columns of `list_rows`."""
    sides = (f"A: {comparison.a.name}", f"B: {comparison.b.name}")
    return ("Condition", "Measure", "Verdict on B", *sides, "B / A, or B − A (95 % interval)", "p", "Pairs")


def describe_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON values; numbers are in base units."""
    effect = finding.effect
    return {
        "condition": finding.condition,
        "measure": finding.measure.name,
        "verdict": effect.verdict,
        "text": finding.text,
        "status": finding.status,
        "is_expected": finding.is_expected,
        "scale": effect.scale,
        "pairs_count": effect.pairs_count,
        "mean_a": finding.mean_a,
        "mean_b": finding.mean_b,
        "value": effect.value,
        "low": effect.low,
        "high": effect.high,
        "p": effect.p,
        "p_holm": effect.p_holm,
        "margin": finding.margin,
        "needed_pairs_count": effect.needed_count,
        "duration_s": finding.duration_s,
        "needed_duration_s": finding.needed_duration_s,
    }
