"""Findings: what each condition and measure says, whether that was meant, and what the exit code is."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import fmean, geometric_mean
from types import MappingProxyType
from typing import Final, Literal

from ccreport.collect.declare.campaign import load_campaign
from ccreport.compare_kernels.decide import Effect, decide, measure_effect
from ccreport.compare_kernels.declaration import Comparison
from ccreport.compare_kernels.measures import MEASURES, Measure, Pairs, Runs
from ccreport.core.schema_problems import Place, guess
from ccreport.summarise.statistics.durations import plan_duration

Status = Literal["as declared", "differs", "undecided", "not measured"]

EQUAL_EXIT, DIFFERS_EXIT, UNDECIDED_EXIT, FAILED_EXIT = 0, 1, 2, 3
ORDER: Final = {"up": 0, "down": 0, "undecided": 1, "not measured": 2, "equal": 3}


@dataclass(frozen=True)
class Finding:
    """One condition and measure: the means of both sides, the effect with its verdict, and what that means.

    Means are geometric where the effect is a ratio, which so is that of the means.
    `is_expected` says that the declaration names this condition and measure. `needed_duration_s` is how long runs would
    have to be for a verdict from as many pairs, and `duration_s` how long they are; null where it is not known, the
    former also where no duration does. `lacking` are the sides without any value.
    """

    condition: str
    measure: Measure
    effect: Effect
    mean_a: float | None
    mean_b: float | None
    margin: float
    status: Status = "undecided"
    is_expected: bool = False
    duration_s: float | None = None
    needed_duration_s: float | None = None
    lacking: Sequence[str] = ()

    @property
    def why_not(self) -> str:
        """Return why nothing was measured: no run of B left slow start."""
        return f"no run of {' or '.join(side.upper() for side in self.lacking)} {self.measure.needs}"

    @property
    def text(self) -> str:
        """Return the verdict in words: faster, slower, equal within ±5 %, undecided, not measured and why."""
        if self.effect.verdict == "not measured":
            return f"not measured: {self.why_not}"
        if self.effect.verdict == "equal":
            return f"equal within ±{self.margin:g} {'%' if self.effect.scale == 'ratio' else 'points'}"
        return {"up": self.measure.up, "down": self.measure.down}.get(self.effect.verdict, self.effect.verdict)


def find_all(comparison: Comparison, runs: Runs) -> list[Finding]:
    """Return all findings, differences first; raise InputError for an expectation that nothing was measured of."""
    pairs = [pair for pair in runs.list_pairs() if comparison.tests(pair.condition, pair.measure.name)]
    margins = [
        comparison.equal_within_pct if pair.measure.scale == "ratio" else comparison.equal_within_points
        for pair in pairs
    ]
    effects = decide([measure_effect(pair.a, pair.b, pair.measure.scale) for pair in pairs], margins)
    findings = [
        _set_status(_make(pair, effect, margin), comparison)
        for pair, effect, margin in zip(pairs, effects, margins, strict=True)
    ]
    for number, expected in enumerate(comparison.expected):
        if not any(is_named(found, expected) for found in findings):
            problem = f"expected: no {expected['measure']} was measured of {expected['condition']}"
            raise comparison.blame(problem, ("expected", number))
    return sorted(findings, key=lambda found: (found.status == "as declared", ORDER[found.effect.verdict]))


def check_names(comparison: Comparison, campaign: Path) -> None:
    """Raise InputError for a measure or condition of a comparison that its campaign cannot have."""
    jobs = [job["name"] for session in load_campaign(campaign).sessions for job in session.jobs]
    for number, one in enumerate(comparison.expected):
        places: list[Place] = [("expected", number, key) for key in ("measure", "condition")]
        _check_names(comparison, "expected", places, [one["measure"]], one["condition"], jobs)
    for each in comparison.criteria:
        places = [("criteria", each.name, key) for key in ("measures", "conditions")]
        _check_names(comparison, f"criteria, {each.name}", places, each.measures, each.conditions, jobs)


def _check_names(
    comparison: Comparison, part: str, places: Sequence[Place], measures: Iterable[str], pattern: str, jobs: list[str]
) -> None:
    of_measures, of_pattern = places
    for unknown in (measure for measure in measures if measure not in MEASURES):
        near = guess(unknown, MEASURES) or f"; there are {', '.join(MEASURES)}"
        raise comparison.blame(f"{part}: there is no measure `{unknown}`{near}", (*of_measures, unknown))
    # What follows the comma tells conditions of one job apart, as "RTT 40 ms".
    of_job = pattern.partition(",")[0]
    if not any(fnmatchcase(job, of_job) for job in jobs):
        near = guess(of_job, jobs) or f"; there are {', '.join(jobs)}"
        raise comparison.blame(f"{part}: no job of the campaign is called `{of_job}`{near}", of_pattern)


def find_exit_code(findings: Sequence[Finding], failures: Mapping[str, str] = MappingProxyType({})) -> int:
    """Return 0 where all is equal or as declared, 1 where anything differs otherwise, else 2; 2 without findings.

    What only one side has a value of is not equal to it.

    3 where runs failed, so that what was found is of the others alone.
    """
    if failures:
        return FAILED_EXIT
    statuses = {found.status for found in findings}
    if "differs" in statuses:
        return DIFFERS_EXIT
    return EQUAL_EXIT if statuses == {"as declared"} else UNDECIDED_EXIT


def count_more_pairs(findings: Sequence[Finding], share: float = 1.0) -> int | None:
    """Return how many more pairs of each condition are likely to tell a share of the open verdicts; null if unknown."""
    open_ones = [finding.effect for finding in findings if finding.status == "undecided"]
    counts = [
        math.inf if effect.needed_count is None else effect.needed_count - effect.pairs_count for effect in open_ones
    ]
    count = sorted(counts)[math.ceil(share * len(counts)) - 1] if counts else math.inf
    return None if math.isinf(count) else int(count)


def is_named(finding: Finding, expected: Mapping[str, str]) -> bool:
    """Tell whether an expectation is about a finding."""
    return finding.measure.name == expected["measure"] and fnmatchcase(finding.condition, expected["condition"])


def _make(pairs: Pairs, effect: Effect, margin: float) -> Finding:
    mean = geometric_mean if pairs.measure.scale == "ratio" else fmean
    mean_a, mean_b = (mean(values) if values else None for values in (pairs.a, pairs.b))
    made = Finding(pairs.condition, pairs.measure, effect, mean_a, mean_b, margin, lacking=pairs.lacking)
    if pairs.lacking:
        return replace(made, effect=replace(effect, verdict="not measured"))
    if pairs.noise is None or effect.needed_factor is None or not effect.variance:
        return made
    needed_s = plan_duration(pairs.noise.duration_s, pairs.noise.variance / effect.variance, effect.needed_factor)
    return replace(made, duration_s=pairs.noise.duration_s, needed_duration_s=needed_s)


def _set_status(finding: Finding, comparison: Comparison) -> Finding:
    """Return a finding with its status; the last expectation that names it counts."""
    named = [expected["verdict"] for expected in comparison.expected if is_named(finding, expected)]
    expected, verdict = named[-1] if named else "equal", finding.effect.verdict
    status: Status = "differs"
    if expected in ("any", verdict):
        status = "as declared"
    elif verdict in ("undecided", "not measured"):
        status = verdict
    return replace(finding, status=status, is_expected=bool(named))
