"""The finding about starvation: the least part of the rate that each algorithm gets beside another, and the claims."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from ccreport.compare.claim_verdicts import count_verdicts, name_verdict, part_claims
from ccreport.core.text import count_things
from ccreport.figures.wording.runs import join_names
from ccreport.report.fragments.claims_page.render_claims import describe_check, link_claims, title_claim
from ccreport.report.fragments.first_page.rate_findings import PARAGRAPH
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.grid import format_size, rate_unit
from ccreport.summarise.grids.plain_numbers import show_plain


def describe_starvation(shares: pl.DataFrame, judged: pl.DataFrame, claims: Mapping[str, Any]) -> list[str]:
    """Return who gets how little beside another at worst, and the verdicts on the claims about it, as Markdown.

    `shares` is as `read_least_shares` returns it, `judged` the table `claims`, `claims` what the evaluation declares of
    them. Nothing without claims about starvation, or where no algorithms share a path.
    """
    about = {name: facts for name, facts in claims.items() if facts.get("is_starvation")}
    if not about or shares.is_empty():
        return []
    parts = part_claims(judged.filter(pl.col("claim").is_in(about)), about)
    counted = count_verdicts({verdict: len(own) for verdict, own in parts.items()})
    of_paper = f"Of {count_things(len(about), 'claim')} about it: {counted}."
    told = " ".join(_tell_claim(judged.filter(claim=name), facts) for name, facts in about.items())
    # The PDF has the claims anyway.
    told = f'[{told}]{{.content-visible when-format="html"}}'
    own = shares.partition_by("algorithm", maintain_order=True)
    worst = "; ".join(map(_name_shares, own))
    where = " ".join(_tell_where(row) for row in shares.iter_rows(named=True))
    short = (
        "At worst, of the rate of both where packets are lost in queues alone (in brackets, in the last third of the "
        f"test): {worst}.{PARAGRAPH}"
    )
    return [f"**Does one starve the other?** {short}{where} {of_paper}{PARAGRAPH}{told}"]


def _name_shares(own: pl.DataFrame) -> str:
    """Return what an algorithm gets at worst beside each other one: CUBIC gets 1.1 % (0.9 %) beside BBRv1."""
    beside = [f"{_show_shares(row)} beside {escape_text(row['beside'])}" for row in own.iter_rows(named=True)]
    return f"{escape_text(own['algorithm'][0])} gets {join_names(beside)}"


def _tell_where(row: Mapping[str, Any]) -> str:
    """Return the condition in which an algorithm gets its least part, as a sentence."""
    parts = [f"{row['flows_count']} flows"]
    if row["rtt_ms"] is not None:
        parts.append(f"RTT {row['rtt_ms']:.3g} ms")
    if row["bottleneck_bps"] is not None:
        divisor, unit = rate_unit(pl.Series([row["bottleneck_bps"]]))
        parts.append(f"a bottleneck of {row['bottleneck_bps'] / divisor:.3g} {unit}")
    if row["buffer_bytes"] is not None:
        parts.append(f"a buffer of {format_size(row['buffer_bytes'])}")
    where = escape_text(", ".join(parts))
    runs = count_things(row["runs_count"], "run")
    return f"{escape_text(row['algorithm'])} gets its {_show_share(row)} with {where} (mean of {runs})."


def _show_shares(row: Mapping[str, Any]) -> str:
    """Return the share in the whole test, and behind it in brackets that of its last third, where it is known."""
    late = "" if row["late_share"] is None else f" ({_show_share(row, 'late_share')})"
    return f"{_show_share(row)}{late}"


def _show_share(row: Mapping[str, Any], of: str = "share") -> str:
    return f"{show_plain(100 * row[of], 2)} &#37;"


def _tell_claim(rows: pl.DataFrame, facts: Mapping[str, Any]) -> str:
    """Return a claim with its verdict and the check that decides on it."""
    verdict = name_verdict(rows.to_dicts(), facts)
    return f"“{title_claim(facts)}”: {link_claims(verdict, verdict)} ({escape_text(describe_check(rows, facts))})."
