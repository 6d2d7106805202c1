"""Checks of a claim on the claims page: the cells of their table, and what suspect runs would change."""

from collections.abc import Mapping
from typing import Any

from ccreport.compare.claim_verdicts import KINDS, name_check
from ccreport.compare.claim_wording import name_bounds, name_lack, show_interval
from ccreport.report.fragments.plain_numbers import show_figures
from ccreport.report.markup.blocks import Html, number, text
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.grid import show_given


def list_check(row: Mapping[str, Any], check: Mapping[str, Any]) -> list[Html]:
    """Return the cells of a check in the table of its claim."""
    return [
        _name_check(row, check),
        show_paper(row),
        text(name_bounds(row["at_least"], row["at_most"])),
        show_figures(row["value"]),
        text(show_interval(row)),
        number(row["runs_count"]),
        Html(f"{mark(name_check(row, check))}{_show_lack(row, check)}"),
    ]


def show_paper(row: Mapping[str, Any]) -> Html:
    """Return the publication's value of a check."""
    return text(None if row["paper_value"] is None else show_given(row["paper_value"]))


def mark(verdict: str) -> Html:
    """Return a verdict, one of `SHOWN`, in its colour."""
    return Html(f'<strong class="verdict-{KINDS[verdict]}">{verdict}</strong>')


def _name_check(row: Mapping[str, Any], check: Mapping[str, Any]) -> Html:
    """Return the name of a check, and below it the publication's words with the word that they are read as."""
    name = text(row["check"])
    if "quote" not in check:
        return name
    read = f" ({check['word']})" if "word" in check else ""
    return Html(f"{name}<br><small>{text('“' + check['quote'] + '”' + read)}</small>")


def _show_lack(row: Mapping[str, Any], check: Mapping[str, Any]) -> Html:
    lack = name_lack(row, check)
    return Html(f" <small>(not enough data: {lack})</small>" if lack else "")


def differs(row: Mapping[str, Any]) -> bool:
    """Tell whether suspect runs that do not count would change the value of a check as it is shown, or its verdict."""
    verdict = row["with_suspects_verdict"]
    shown = [show_figures(row[name]) for name in ("value", "with_suspects_value")]
    return verdict is not None and (shown[0] != shown[1] or verdict != row["verdict"])


def name_change(row: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    """Return what suspect runs would make of a check: its value, and its verdict where that would be another."""
    value, verdict = row["with_suspects_value"], row["with_suspects_verdict"]
    # The interval with them is not in the table.
    changed = {**row, "value": value, "low": value, "high": value, "verdict": verdict}
    flipped = f", {name_check(changed, check)}" if verdict != row["verdict"] else ""
    return f"{escape_text(row['check'])} {show_figures(value)}{flipped}"
