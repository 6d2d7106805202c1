"""The verdicts on the first page: a square a claim, and the claims listed by verdict; each leads to its claim."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from ccreport.compare.claim_verdicts import (
    CONTRADICTED,
    HOLDS,
    KINDS,
    SHOWN,
    SIZE,
    UNDECIDED,
    part_claims,
    tell_untested,
)
from ccreport.core.text import make_label
from ccreport.report.fragments.claims_page.render_claims import describe_check, title_claim
from ccreport.report.fragments.first_page.jumps import CLAIMS
from ccreport.report.markup.blocks import text
from ccreport.report.markup.escape import fence_html

# Of each verdict its sign, drawn in a square of 24 by 24.
SIGNS: Final = {
    HOLDS: "M5 12.5 10 17.5 19 7",
    CONTRADICTED: "M6 6 18 18M18 6 6 18",
    # Up and down.
    SIZE: "M12 4v16M7.5 8.5 12 4l4.5 4.5M7.5 15.5 12 20l4.5-4.5",
    UNDECIDED: "M8 9a4 4 0 1 1 5.5 3.7c-1 .5-1.5 1.1-1.5 2.3M12 18.6v.1",
}
NO_CAUSES: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})
SQUARE: Final = '<svg class="{kind}" viewBox="0 0 24 24" aria-hidden="true"><path d="{sign}"/></svg>'


def render_squares(judged: pl.DataFrame, claims: Mapping[str, Any]) -> str:
    """Return a row of squares, one for each claim, in the order of `render_strip`; nothing without claims."""
    if judged.is_empty():
        return ""
    squares = "\n".join(
        f"<a {_lead_to(claim, claims[claim], f'{SHOWN[verdict][0]}: ')}>{_draw_square(verdict)}</a>"
        for verdict, own in part_claims(judged, claims).items()
        for claim in own
    )
    return fence_html(f'<nav class="squares" aria-label="Claims by verdict">\n{squares}\n</nav>')


def render_strip(
    judged: pl.DataFrame, claims: Mapping[str, Any], causes: Mapping[str, Sequence[str]] = NO_CAUSES
) -> str:
    """Return a list of claims, by their titles, for each verdict that a claim has; nothing without claims.

    `judged` is the table `claims`, `claims` what the evaluation declares of them, `causes` has the claims of each
    recorded cause. On a phone only the claims that are contradicted are shown before a tap.
    """
    if judged.is_empty():
        return ""
    groups = []
    for verdict, own in part_claims(judged, claims).items():
        items = (_link_claim(judged.filter(claim=claim), claims[claim], verdict, causes) for claim in own)
        listed = "<ul>\n{}\n</ul>".format("\n".join(items))
        name = SHOWN[verdict][len(own) > 1]
        if verdict != CONTRADICTED:
            which = f"Which claim{'s' if len(own) > 1 else ''}"
            listed = f'<details class="fold on-phone" open><summary>{which}</summary>\n{listed}\n</details>'
        untested = tell_untested(judged) if verdict == UNDECIDED else ""
        groups.append(f'<li><span class="count">{len(own)} {name}{untested}</span>\n{listed}</li>')
    shown = "\n".join(groups)
    strip = fence_html(
        f'<nav class="strip" id="{CLAIMS}" aria-label="Verdicts on the claims">\n<ul>\n{shown}\n</ul>\n</nav>'
    )
    # The PDF has the claims page's table instead.
    return f'::: {{.content-visible when-format="html"}}\n\n{strip}\n:::\n'


def _link_claim(rows: pl.DataFrame, facts: Mapping[str, Any], verdict: str, causes: Mapping[str, Sequence[str]]) -> str:
    """Return a claim as an item of the list; of one that is contradicted with the check that is, and why."""
    claim = rows["claim"][0]
    link = _lead_to(claim, facts)
    said = [describe_check(rows, facts)] if verdict == CONTRADICTED else []
    said += [f"recorded cause: {cause}" for cause, of_cause in causes.items() if said and claim in of_cause]
    failed = "".join(f"<br><small>{text(line)}</small>" for line in said)
    return f"<li>{_draw_square(verdict)} <span><a {link}>{title_claim(facts)}</a>{failed}</span></li>"


def _lead_to(claim: str, facts: Mapping[str, Any], before: str = "") -> str:
    """Return the attributes of a link to a claim, which has its sentence as a title."""
    sentence = text(before + " ".join(facts["text"].split()))
    return f'href="claims.html#{make_label("claim", claim)}" title="{sentence}"'


def _draw_square(verdict: str) -> str:
    return SQUARE.format(kind=f"square {KINDS[verdict]}", sign=SIGNS[verdict])
