"""What machines read of a comparison: comparison.json, junit.xml, and summary.md for a pull request."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ccreport import __version__
from ccreport.collect.kernel.find_kernel import UserKernel
from ccreport.compare_kernels.carry_out import Measured
from ccreport.compare_kernels.declaration import Comparison
from ccreport.compare_kernels.findings import Finding, count_more_pairs, find_exit_code
from ccreport.compare_kernels.scorecard import Score
from ccreport.compare_kernels.wording import (
    FAILED_HEADINGS,
    SIDES_HEADINGS,
    describe_finding,
    format_effect,
    list_headings,
    list_rows,
    list_sides,
    plan_more,
    summarise,
)
from ccreport.core.atomic_files import replace_text


def write_json(
    path: Path, comparison: Comparison, findings: list[Finding], scores: list[Score], measured: Measured
) -> None:
    """Write all numbers of a comparison as one JSON object."""
    told: dict[str, Any] = {
        "name": comparison.name,
        "title": comparison.title,
        "campaign": comparison.campaign.name,
        "ccreport": __version__,
        "clock": measured.clock,
        "sides": {
            key: {
                "name": side.name,
                "algorithm": side.algorithm,
                "sysctls": dict(side.sysctls),
                "module_parameters": dict(side.module_parameters),
                "kernel": _describe_kernel(measured.kernels[key]),
            }
            for key, side in (("a", comparison.a), ("b", comparison.b))
        },
        "blocks_count": comparison.blocks_count,
        "block_s": measured.pair_s,
        "exit_code": find_exit_code(findings, measured.failures),
        "summary": summarise(comparison, findings, measured),
        "more_blocks_count": count_more_pairs(findings),
        "failures": measured.failures,
        "findings": [describe_finding(finding) for finding in findings],
        "criteria": [
            {"criterion": score.criterion.name, "section": score.criterion.section, "verdict": score.verdict}
            for score in scores
        ],
        "not_measured": dict(comparison.not_measured),
    }
    replace_text(path, json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def _describe_kernel(kernel: UserKernel | None) -> dict[str, Any] | None:
    """Return what identifies a user-mode kernel, null for the kernel of the machine itself."""
    return {"name": kernel.path.name, "release": kernel.release} | kernel.describe() if kernel else None


def write_junit(path: Path, comparison: Comparison, findings: list[Finding], measured: Measured) -> None:
    """Write a test case for each finding and each run that failed.

    A failure is what differs otherwise than declared, skipped what is undecided or not measured, an error a failed run.
    """
    counts = Counter(finding.status for finding in findings)
    suite = ElementTree.Element(
        "testsuite",
        name=comparison.title,
        tests=str(len(findings) + len(measured.failures)),
        failures=str(counts["differs"]),
        errors=str(len(measured.failures)),
        skipped=str(counts["undecided"] + counts["not measured"]),
    )
    for finding in findings:
        case = ElementTree.SubElement(suite, "testcase", classname=finding.condition, name=finding.measure.name)
        told = f"{finding.text}: {format_effect(finding)}"
        if finding.status == "differs":
            ElementTree.SubElement(case, "failure", message=told)
        elif finding.status == "undecided":
            ElementTree.SubElement(case, "skipped", message=f"{told}; {plan_more([finding], measured.pair_s)}")
        elif finding.status == "not measured":
            ElementTree.SubElement(case, "skipped", message=finding.text)
    for run, why in measured.failures.items():
        case = ElementTree.SubElement(suite, "testcase", classname="runs", name=run)
        ElementTree.SubElement(case, "error", message=why)
    ElementTree.indent(suite)
    replace_text(path, ElementTree.tostring(suite, encoding="unicode", xml_declaration=False) + "\n")


def write_summary(
    path: Path, comparison: Comparison, findings: list[Finding], scores: list[Score], measured: Measured
) -> None:
    """Write GitHub-flavoured Markdown: the verdict, differences and what is undecided; what is equal is folded."""
    lines = [f"## {_escape(comparison.title)}", "", _escape(summarise(comparison, findings, measured)), ""]
    if measured.failures:
        lines += [*_write_table(FAILED_HEADINGS, list(measured.failures.items())), ""]
    if scores:
        rows = [(score.criterion.name, score.criterion.section, score.verdict, score.basis) for score in scores]
        lines += [*_write_table(("Criterion", "Section", "Verdict", "Why"), rows), ""]
    settled = [finding for finding in findings if finding.effect.verdict == "equal" and finding.status == "as declared"]
    shown = [finding for finding in findings if finding not in settled]
    headings = list_headings(comparison)
    lines += [*_write_table(headings, list_rows(shown)), ""] if shown else []
    lines += [*_write_table(SIDES_HEADINGS, list_sides(comparison, measured)), ""]
    if settled:
        folded = _write_table(headings, list_rows(settled))
        lines += ["<details>", f"<summary>{len(settled)} equal</summary>", "", *folded, "", "</details>", ""]
    replace_text(path, "\n".join(lines))


def _write_table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return [f"| {' | '.join(_escape(cell) for cell in row)} |" for row in lines]


def _escape(text: str) -> str:
    """Return text that Markdown shows as it is: names of jobs have underscores, and a declaration may say anything."""
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
