"""A scorecard: the criteria of a comparison, each with the verdict that its conditions and measures add up to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ccreport.compare_kernels.declaration import Comparison, Criterion
from ccreport.compare_kernels.findings import Finding
from ccreport.compare_kernels.measures import MEASURES
from ccreport.core.errors import InputError

Verdict = Literal["better", "worse", "mixed", "as the baseline", "undecided", "not measured"]
GOOD: Final = {"high": "up", "low": "down"}


@dataclass(frozen=True)
class Score:
    """A criterion with its verdict against the baseline and the findings that it is from, those that differ first."""

    criterion: Criterion
    verdict: Verdict
    findings: Sequence[Finding]

    @property
    def basis(self) -> str:
        """Return what the verdict is from: the measures that differ, else how many there are."""
        differing = [finding for finding in self.findings if finding.effect.verdict in ("up", "down")]
        told = [f"{finding.measure.title} {finding.text}: {finding.condition}" for finding in differing]
        return "; ".join(told) if told else f"{len(self.findings)} tests"


def score(comparison: Comparison, findings: Sequence[Finding]) -> list[Score]:
    """Return the criteria of a comparison in their order; raise InputError for one that names no measure."""
    scores = []
    for criterion in comparison.criteria:
        if unknown := sorted(criterion.measures.keys() - MEASURES.keys()):
            raise InputError(f"criteria, {criterion.name}: there is no measure {unknown[0]}")
        own = [finding for finding in findings if criterion.covers(finding.condition, finding.measure.name)]
        scores.append(Score(criterion, _judge(criterion, own), own))
    return scores


def _judge(criterion: Criterion, findings: Sequence[Finding]) -> Verdict:
    """Return better or worse where all that differs does so in one way, mixed where it goes both ways."""
    if not findings:
        return "not measured"
    told: set[str] = set()
    for finding in findings:
        verdict = finding.effect.verdict
        is_good = verdict == GOOD[criterion.measures[finding.measure.name]]
        told.add(verdict if verdict in ("equal", "undecided") else "better" if is_good else "worse")
    if {"better", "worse"} <= told:
        return "mixed"
    ordered: tuple[Verdict, ...] = ("worse", "better", "undecided")
    return next((verdict for verdict in ordered if verdict in told), "as the baseline")
