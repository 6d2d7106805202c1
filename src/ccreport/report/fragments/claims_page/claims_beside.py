"""What a publication says of a figure, beside the figure: each claim with its verdict, and numbers unless it holds."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from ccreport.compare.claim_verdicts import FAILS, KINDS, UNKNOWN, is_opposite, name_verdict
from ccreport.compare.claim_wording import name_lack, require_bounds, show_interval
from ccreport.compare.quotes import is_published
from ccreport.core.text import make_label
from ccreport.report.fragments.claims_page.render_claims import count_checks
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.grid import show_given
from ccreport.summarise.grids.plain_numbers import show_plain


def describe_beside(figure: str, judged: pl.DataFrame, declared: Mapping[str, Any]) -> str:
    """Return what the publication says of a figure, each claim with its verdict here; empty where it says nothing.

    `declared` are the evaluation's claims. Each leads to its checks. All are in one box, which the pages put beside the
    figure.
    """
    parts = []
    for claim, facts in declared.items():
        rows = judged.filter(pl.col("claim") == claim).to_dicts()
        if figure not in facts["shown_in"] or not rows:
            continue
        verdict = name_verdict(rows, facts)
        here = f"[{verdict}](claims.qmd#{make_label('claim', claim)})"
        speaker = "The paper" if is_published(facts) else "Claim"
        holding = count_checks(rows, facts)
        said = f"{speaker} ({escape_text(facts['source'])}): {escape_text(facts['text'])} Here: **{here}**{holding}."
        checked = list(zip(rows, facts["checks"], strict=True))
        failed = [pair for pair in checked if pair[0]["verdict"] == FAILS]
        undecided = [pair for pair in checked if pair[0]["verdict"] == UNKNOWN and pair[0]["value"] is not None]
        told = "\n\n".join([said, *_contradict(failed), *_leave_open(undecided)])
        parts.append(f"::: {{.paper-says .says-{KINDS[verdict]}}}\n\n{told}\n\n:::\n")
    return "\n".join([":::: claims-beside\n", *parts, "::::\n"]) if parts else ""


def _contradict(failed: list[tuple[dict[str, Any], dict[str, Any]]]) -> Iterable[str]:
    """Yield what this archive shows in place of what the paper found, by the numbers of the checks that failed."""
    opposite = [row for row, check in failed if is_opposite(row, check)]
    other = [row for row, _ in failed if row not in opposite]
    for words, rows in (("The opposite here", opposite), ("Result here", other)):
        if rows:
            numbers = "; ".join(_compare(row) for row in rows)
            yield f"**{words}:** {numbers}."


def _leave_open(undecided: list[tuple[dict[str, Any], dict[str, Any]]]) -> Iterable[str]:
    """Yield what this archive shows of what it does not decide, and what would."""
    if undecided:
        numbers = "; ".join(f"{_compare(row)}; {escape_text(name_lack(row, check))}" for row, check in undecided)
        yield f"**Undecided here:** {numbers}."


def _compare(row: Mapping[str, Any]) -> str:
    """Return a check's value here, with its interval, and the paper's value or what the paper's words require."""
    interval = "" if (shown := show_interval(row)) is None else f" ({shown})"
    paper = (
        f"the claim requires {require_bounds(row)}"
        if row["paper_value"] is None
        else f"{show_given(row['paper_value'])} in the paper"
    )
    return escape_text(f"{row['check']}: {show_plain(row['value'])}{interval}, {paper}")
