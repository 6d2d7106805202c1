"""A scorecard: the criteria of a comparison, each with the verdict that its conditions and measures add up to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ccreport.compare_kernels.declaration import Comparison, Criterion
from ccreport.compare_kernels.findings import Finding
from ccreport.core.text import count_things

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
        """Return what the verdict is from: by measure what differs, and how many tests end in another way."""
        told: dict[str, list[str]] = {}
        for finding in self.findings:
            if finding.effect.verdict in ("up", "down"):
                told.setdefault(finding.measure.title, []).append(f"{finding.text} in {finding.condition}")
        parts = [f"{title}: {', '.join(found)}" for title, found in told.items()]
        tests = count_things(len(self.findings), "test")
        for verdict in ("undecided", "not measured", "equal"):
            count = sum(finding.effect.verdict == verdict for finding in self.findings)
            parts += [f"{count} of {tests} {verdict}"] if count else []
        return "; ".join(parts)


def score(comparison: Comparison, findings: Sequence[Finding]) -> list[Score]:
    """Return the criteria of a comparison in their order, each with its verdict."""
    scores = []
    for criterion in comparison.criteria:
        own = [finding for finding in findings if criterion.covers(finding.condition, finding.measure.name)]
        scores.append(Score(criterion, _judge(criterion, own), own))
    return scores


def is_good(criterion: Criterion, finding: Finding) -> bool:
    """Tell whether a difference is to the good of b, by what the criterion says of its measure."""
    return finding.effect.verdict == GOOD[criterion.measures[finding.measure.name]]


def _judge(criterion: Criterion, findings: Sequence[Finding]) -> Verdict:
    """Return better or worse where all that differs does so in one way, mixed where it goes both ways."""
    if not findings:
        return "not measured"
    told: set[str] = set()
    for finding in findings:
        verdict = finding.effect.verdict
        is_better = is_good(criterion, finding)
        told.add("better" if is_better else "worse" if verdict in ("up", "down") else verdict)
    if {"better", "worse"} <= told:
        return "mixed"
    ordered: tuple[Verdict, ...] = ("worse", "better", "undecided", "not measured")
    return next((verdict for verdict in ordered if verdict in told), "as the baseline")
