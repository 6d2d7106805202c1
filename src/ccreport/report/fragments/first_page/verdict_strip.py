"""The verdicts on the first page: a list of the claims for each verdict, of which a click leads to the claim."""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from ccreport.compare.claims import FAILS, HOLDS, UNKNOWN
from ccreport.core.text import make_label
from ccreport.report.fragments.claim_direction import SIZE, part_failed
from ccreport.report.fragments.claims import CLASSES, title_claim
from ccreport.report.markup.blocks import text
from ccreport.report.markup.escape import fence_html

# Of each verdict, in the order of the rows: its sign, drawn in a square of 24 by 24, and what one claim or several do.
SIGNS: Final = {
    HOLDS: ("M5 12.5 10 17.5 19 7", "holds", "hold"),
    FAILS: ("M6 6 18 18M18 6 6 18", "does not hold", "do not hold"),
    UNKNOWN: ("M8 9a4 4 0 1 1 5.5 3.7c-1 .5-1.5 1.1-1.5 2.3M12 18.6v.1", "without enough data", "without enough data"),
}
# Longer claims are cut: three lines of a column.
TITLE_WIDTH: Final = 150
SQUARE: Final = '<svg class="{kind}" viewBox="0 0 24 24" aria-hidden="true"><path d="{sign}"/></svg>'


def render_strip(judged: pl.DataFrame, claims: Mapping[str, Any]) -> str:
    """Return a list of claims, by their titles, for each verdict that a claim has; nothing without claims.

    `judged` is the table `claims`, `claims` what the evaluation declares of them.
    """
    if judged.is_empty():
        return ""
    groups = []
    for verdict, (sign, singular, plural) in SIGNS.items():
        square = SQUARE.format(kind=f"square {CLASSES[verdict]}", sign=sign)
        for how, own in _part(judged, claims, verdict).items():
            if not own:
                continue
            listed = "\n".join(_link_claim(claim, claims[claim], square) for claim in own)
            name = f"{singular if len(own) == 1 else plural}{how}"
            groups.append(f'<li><span class="count">{len(own)} {name}</span>\n<ul>\n{listed}\n</ul></li>')
    shown = "\n".join(groups)
    strip = fence_html(f'<nav class="strip" aria-label="Verdicts on the claims">\n<ul>\n{shown}\n</ul>\n</nav>')
    # The PDF has the claims page's table instead.
    return f'::: {{.content-visible when-format="html"}}\n\n{strip}\n:::\n'


def _part(judged: pl.DataFrame, claims: Mapping[str, Any], verdict: str) -> dict[str, list[str]]:
    """Return the claims with a verdict, by words to put behind it: how those fail that do."""
    if verdict == FAILS and list(by_failure := part_failed(judged, claims)) != [SIZE]:
        return {f": {failure}": own for failure, own in by_failure.items()}
    return {"": judged.filter(claim_verdict=verdict)["claim"].unique(maintain_order=True).to_list()}


def _link_claim(claim: str, facts: Mapping[str, Any], square: str) -> str:
    sentence = text(" ".join(facts["text"].split()))
    link = f'href="claims.html#{make_label("claim", claim)}" title="{sentence}"'
    return f"<li>{square} <a {link}>{title_claim(facts, TITLE_WIDTH)}</a></li>"
