"""Claims page: each claim, the verdict on it here, and the numbers that the verdict is made of."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import polars as pl

from ccreport.compare.claim_verdicts import (
    CONTRADICTED,
    FAILS,
    KINDS,
    UNDECIDED,
    UNKNOWN,
    count_verdicts,
    decide,
    find_failure,
    name_checks,
    name_verdict,
    part_claims,
    tell_untested,
)
from ccreport.compare.claim_wording import introduce_note, name_bounds, name_lack, require_bounds, show_interval
from ccreport.compare.claims import list_unexplained
from ccreport.compare.quotes import is_published, tell_quotes
from ccreport.core.text import count_things, make_label
from ccreport.figures.exhibits import Exhibit
from ccreport.report.fragments.claims_page.claim_checks import differs, list_check, mark, name_change, show_paper
from ccreport.report.fragments.plain_numbers import show_figures
from ccreport.report.markup.blocks import (
    Html,
    close_fold,
    open_fold,
    render_callout,
    render_quotation,
    render_table,
    text,
)
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_plain

TIME: Final = "%Y-%m-%d %H:%M UTC"
OVERVIEW_HEADER: Final = ("Claim", "Source", "Paper", "Here (95 %, all checks)", "Verdict")
HEADER: Final = ("Check", "Paper", "Accepted range", "Here", "95 % interval", "Runs", "Verdict")
# Of a claim of several: wider than the interval of one.
JOINT_HEADER: Final = tuple(name.replace("95 % interval", "95 % for all checks") for name in HEADER)
DATED: Final = """
Bounds that were set after the archive was measured could have been fitted to it. The date of a bound is that of its
commit; the start of the first run is by the clock of the machine that ran it."""
QUERIES: Final = "The queries that compute the values may be newer than the bounds."
# The label of the table of all claims, to which links lead with a filter.
OVERVIEW: Final = "all-claims"


def describe_claims(judged: pl.DataFrame, declared: Mapping[str, Any]) -> dict[str, str]:
    """Return how many claims there are and how many have each verdict, as text that is empty without claims."""
    counts = {verdict: len(own) for verdict, own in part_claims(judged, declared).items()}
    counted = f"{count_things(sum(counts.values()), 'claim')}: {count_verdicts(counts)}{tell_untested(judged)}"
    return {"counts": counted if counts else ""}


def render_claims(
    judged: pl.DataFrame,
    declared: Mapping[str, Any],
    exhibits: Mapping[str, tuple[str, Exhibit]],
    *,
    has_reasons: bool = True,
    option: str = "",
) -> str:
    """Return the fragment: all claims with their verdicts, then each with its checks, source and figures.

    `declared` are the evaluation's claims, `exhibits` what `find_exhibits` returns of it. The table of all claims says
    why each has its verdict only if it `has_reasons`; each claim's own section always does. `option` says in commands
    which results they are about.
    """
    if judged.is_empty():
        return "The evaluation makes no claims.\n"
    # Where there is not enough data, the verdict says why.
    unexplained = set(list_unexplained(judged.filter(claim_verdict=FAILS)))
    rows_of = {claim: judged.filter(pl.col("claim") == claim).to_dicts() for claim in declared}
    parts = [f"{quoted}\n"] if (quoted := tell_quotes(declared)) else []
    parts += [_render_overview(rows_of, declared, has_reasons=has_reasons)]
    parts += [] if has_reasons else ["Why each has its verdict is told below, claim by claim.\n"]
    # What is so of all claims is said once.
    is_one = judged.select("bounds_commit", "bounds_set_utc").n_unique() == 1
    is_dated = judged["is_preregistered"].n_unique() > 1
    if judged["bounds_set_utc"].count():
        firsts = [rows[0] for rows in rows_of.values()]
        commit = f" {_date_bounds(firsts[0], is_dated=False)}" if is_one else ""
        parts += [f"{DATED.strip()} {_sum_up_bounds(firsts)}{commit}\n"]
    for claim, facts in declared.items():
        parts += _render_claim(
            *(claim, facts, rows_of[claim], exhibits, unexplained, option), is_dated=is_dated, has_own_bounds=not is_one
        )
    return "\n".join(parts)


def _render_overview(
    rows_of: Mapping[str, list[dict[str, Any]]], declared: Mapping[str, Any], *, has_reasons: bool
) -> str:
    rows = []
    for claim, facts in declared.items():
        decisive = decide(rows_of[claim], facts)
        interval = show_interval(decisive)
        within = "" if interval is None else f" ({text(interval)})"
        required = f"; required: {require_bounds(decisive)}"
        here = f"<br><small>{text(decisive['check'] + required)}{count_checks(rows_of[claim], facts)}</small>"
        note, why = _explain(decisive, facts)
        why = f"<br><small>{note}: {text(why)}</small>" if why and has_reasons else ""
        rows.append(
            [
                Html(f'<a href="#{make_label("claim", claim)}">{text(facts["text"])}</a>{why}'),
                text(facts["source"]),
                show_paper(decisive),
                Html(f"{show_figures(decisive['value'])}{within}{here}"),
                _mark_claim(rows_of[claim], facts),
            ]
        )
    if any(map(is_published, declared.values())):
        table = render_table(OVERVIEW_HEADER, rows, title="All claims", numbers=(2,), is_text=True)
    else:
        own = [[claim, source, *others] for claim, source, _, *others in rows]
        table = render_table([*OVERVIEW_HEADER[:2], *OVERVIEW_HEADER[3:]], own, title="All claims", is_text=True)
    return f"::: {{#{OVERVIEW}}}\n\n{table}\n:::\n"


def _explain(decisive: Mapping[str, Any], facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return the word before what is known of the archive for a claim, and that with what would decide the claim.

    `decisive` is the row of the check that decides, `facts` what is declared of the claim. What it lacks is
    said where it has a value; without one, what is known of the archive says that.
    """
    about = decisive["about_archive"]
    is_asked = decisive["value"] is not None or about is None
    lack = name_lack(decisive, facts["checks"][decisive["check_number"] - 1]) if is_asked else ""
    said = filter(None, (about, f"{lack[0].upper()}{lack[1:]}." if lack else ""))
    return introduce_note(decisive["claim_verdict"]), " ".join(said)


def link_claims(words: str, filtered: str) -> str:
    """Return a link to the claims with a verdict, one of `SHOWN`, as Markdown."""
    return f"[{words}](claims.qmd?{urlencode({'verdict': filtered})}#{OVERVIEW})"


def _sum_up_bounds(claims: list[dict[str, Any]]) -> str:
    """Return of how many claims the bounds were set before the archive was measured."""
    before, after, unknown = (sum(row["is_preregistered"] is told for row in claims) for told in (True, False, None))
    if after == len(claims):
        return f"All {after} pass/fail bounds were set after the archive’s first run. {QUERIES}"
    parts = [
        f"{before} of {len(claims)} claims were set before the archive’s first run",
        f"{after} after it" if after else "",
        f"of {unknown} it is not known" if unknown else "",
    ]
    said = ", ".join(part for part in parts if part)
    return f"The bounds of {said}. {QUERIES}"


def describe_check(rows: pl.DataFrame, facts: Mapping[str, Any]) -> str:
    """Return the check that decides on a claim, of its rows: its name, the value here, and what the claim says."""
    row = decide(rows.to_dicts(), facts)
    value = "–" if row["value"] is None else show_plain(row["value"])
    return f"{row['check']}: {value} here, {name_bounds(row['at_least'], row['at_most'])} by the claim"


def count_checks(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> str:
    """Return how many of a claim's checks have each verdict, in brackets; nothing of a single one."""
    return f" ({count_verdicts(Counter(name_checks(rows, facts)))})" if len(rows) > 1 else ""


def _date_bounds(row: Mapping[str, Any], *, is_dated: bool) -> str:
    """Return which commit set the bounds of a claim, and if asked whether that was before the archive was measured."""
    commit = f"The bounds were set by commit `{row['bounds_commit'][:10]}` ({row['bounds_set_utc']:{TIME}})"
    if not is_dated:
        return f"{commit}."
    if row["is_preregistered"] is None:
        return f"{commit}; the archive does not say when its first run began."
    when = "before" if row["is_preregistered"] else "**after**"
    return f"{commit}, {when} the archive’s first run ({row['first_run_utc']:{TIME}})."


def _mark_claim(rows: list[dict[str, Any]], facts: Mapping[str, Any]) -> Html:
    """Return the verdict on a claim, below it how it is contradicted, or that the archive lacks its runs."""
    verdict = name_verdict(rows, facts)
    if verdict == UNDECIDED and (decisive := decide(rows, facts))["value"] is None:
        lack = name_lack(decisive, facts["checks"][decisive["check_number"] - 1])
        return Html(f"{mark(verdict)}<br><small>{text(lack)}</small>")
    if verdict != CONTRADICTED:
        return mark(verdict)
    kind = f"verdict-{KINDS[verdict]}"
    why = find_failure(rows, facts)[0]
    return Html(f'{mark(verdict)}<b class="{kind}">:</b><br><small class="{kind}">{why}</small>')


def _render_claim(
    claim: str,
    facts: Mapping[str, Any],
    rows: list[dict[str, Any]],
    exhibits: Mapping[str, tuple[str, Exhibit]],
    unexplained: Collection[str],
    option: str,
    *,
    is_dated: bool,
    has_own_bounds: bool,
) -> Iterable[str]:
    verdict = name_verdict(rows, facts)
    is_of_paper = is_published(facts)
    title = title_claim(facts)
    # The verdict first, in colour: so a list of the headings shows it.
    tag = f"[{verdict[0].upper()}{verdict[1:]}]{{.verdict-{KINDS[verdict]}}}"
    yield f"## {tag}: {title} {{#{make_label('claim', claim)}}}\n"
    source = escape_text(facts["source"])
    said = _flatten(facts["text"]).partition(". ")[2]
    parts = [*([escape_text(said)] if said else []), f"Source: {source}."]
    if links := [_link(*exhibits[shown]) for shown in facts["shown_in"] if shown in exhibits]:
        parts.append(f"Shown in {', '.join(links)}.")
    if filters := facts.get("explorer"):
        link = f"[The runs behind it](explorer.qmd#{urlencode(filters)}), in the explorer."
        parts.append(f'[{link}]{{.content-visible when-format="html"}}')
    note, why = _explain(decide(rows, facts), facts)
    if why:
        parts.append(f"**{note}:** {escape_text(why)}")
    yield f"{' '.join(parts)}\n"
    if rows[0]["about_archive"] is None and claim in unexplained:
        yield render_callout("warning", "Not explained", "Nothing says why this archive does not show it.")
    is_missing = all(row["value"] is None for row in rows if row["verdict"] == UNKNOWN)
    if facts.get("needs") and verdict == UNDECIDED and is_missing:
        yield f"Needed: {escape_text(facts['needs'])}.\n"
    yield open_fold(f"Values and queries{count_checks(rows, facts)}")
    checks = [list_check(row, check) for row, check in zip(rows, facts["checks"], strict=True)]
    header = JOINT_HEADER if len(checks) > 1 else HEADER
    if is_of_paper:
        yield render_table(header, checks, title=f"Checks of {claim}", numbers=(1, 3, 4, 5), is_text=True)
    else:
        own = [[name, *others] for name, _, *others in checks]
        yield render_table([header[0], *header[2:]], own, title=f"Checks of {claim}", numbers=(2, 3, 4), is_text=True)
    if has_own_bounds and rows[0]["bounds_set_utc"] is not None:
        yield f"{_date_bounds(rows[0], is_dated=is_dated)}\n"
    pairs = zip(rows, facts["checks"], strict=True)
    if others := [name_change(row, check) for row, check in pairs if differs(row)]:
        count = rows[0]["suspects_count"]
        yield f"With {count:,} suspect run{'s' if count > 1 else ''}: {'; '.join(others)}.\n"
    queries = [
        f"{escape_text(check['name'])}\n\n{render_quotation(check['sql'], 'Query of ' + check['name'])}"
        for check in facts["checks"]
    ]
    told = f"With its runs and raw files, in a terminal: `python -m ccreport explain {claim}{option}`\n"
    folded = "\n".join((open_fold("How it is computed"), told, *queries, close_fold()))
    yield f':::: {{.content-visible when-format="html"}}\n\n{folded}\n::::\n'
    yield close_fold()


def title_claim(facts: Mapping[str, Any]) -> str:
    """Return a claim's first sentence as escaped text: its title wherever claims are listed."""
    return escape_text(_flatten(facts["text"]).partition(". ")[0].removesuffix("."))


def _flatten(words: str) -> str:
    return " ".join(words.split())


def _link(page: str, exhibit: Exhibit) -> str:
    kind = page.removesuffix("s")
    target = "captures" if exhibit.is_of_captures else page
    return f"[{escape_text(exhibit.heading)}]({target}.qmd#{make_label(kind, exhibit.name)})"
