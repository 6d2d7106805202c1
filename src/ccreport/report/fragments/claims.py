"""Claims page: each claim, the verdict on it here, and the numbers that the verdict is made of."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any, Final
from urllib.parse import urlencode

import polars as pl

from ccreport.compare.claim_wording import introduce_note, name_bounds, name_lack, require_bounds, show_interval
from ccreport.compare.claims import FAILS, HOLDS, UNKNOWN, list_unexplained
from ccreport.core.text import make_label
from ccreport.figures.exhibits import Exhibit
from ccreport.report.fragments.claim_direction import KIND_OF_SIZE, SIZE, decide, find_failure, name_kind, name_way
from ccreport.report.fragments.plain_numbers import show_figures
from ccreport.report.markup.blocks import (
    Html,
    close_fold,
    number,
    open_fold,
    render_callout,
    render_quotation,
    render_table,
    text,
)
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_plain

TIME: Final = "%Y-%m-%d %H:%M UTC"
OVERVIEW_HEADER: Final = ("Claim", "Source", "Paper", "Here, 95 % interval", "Verdict")
HEADER: Final = ("Check", "Paper", "Accepted range", "Here", "95 % interval", "Runs", "Verdict")
PUBLISHED: Final = (
    "The claims are what a publication says in its text; each check quotes the wording behind its bounds."
)
DATED: Final = """
Only bounds that were set before the archive was measured are certain not to have been fitted to it. The date of
a bound is that of its commit; the start of the first run is by the clock of the machine that ran it."""
QUERIES: Final = "The queries that compute the values may be newer than the bounds."
# Characters of a claim's title at most.
TITLE_WIDTH: Final = 200
# The label of the table of all claims, to which links lead with a filter.
OVERVIEW: Final = "all-claims"


def describe_claims(judged: pl.DataFrame) -> dict[str, str]:
    """Return the numbers of claims as text: total, hold, fail, unknown."""
    verdicts = judged.unique("claim", maintain_order=True)["claim_verdict"]
    names = {"hold": HOLDS, "fail": FAILS, "unknown": UNKNOWN}
    counts = {name: int((verdicts == verdict).sum()) for name, verdict in names.items()}
    return {"total": f"{verdicts.len():,}"} | {name: f"{count:,}" for name, count in counts.items()}


def render_claims(
    judged: pl.DataFrame,
    declared: Mapping[str, Any],
    exhibits: Mapping[str, tuple[str, Exhibit]],
    *,
    has_reasons: bool = True,
) -> str:
    """Return the fragment: all claims with their verdicts, then each with its checks, source and figures.

    `declared` are the evaluation's claims, `exhibits` what `find_exhibits` returns of it. The table of all claims says
    why each has its verdict only if it `has_reasons`; each claim's own section always does.
    """
    if judged.is_empty():
        return "The evaluation makes no claims.\n"
    # Where there is not enough data, the verdict says why.
    unexplained = {claim for claim, verdict in list_unexplained(judged) if verdict == FAILS}
    rows_of = {claim: judged.filter(pl.col("claim") == claim).to_dicts() for claim in declared}
    parts = [f"{PUBLISHED}\n"] if any(map(is_published, declared.values())) else []
    parts += [_render_overview(rows_of, declared, has_reasons=has_reasons)]
    # What is so of all claims is said once.
    is_one = judged.select("bounds_commit", "bounds_set_utc").n_unique() == 1
    is_dated = judged["is_preregistered"].n_unique() > 1
    if judged["bounds_set_utc"].count():
        firsts = [rows[0] for rows in rows_of.values()]
        commit = f" {_date_bounds(firsts[0], is_dated=False)}" if is_one else ""
        parts += [f"{DATED.strip()} {_sum_up_bounds(firsts)}{commit}\n"]
    for claim, facts in declared.items():
        parts += _render_claim(
            claim, facts, rows_of[claim], exhibits, unexplained, is_dated=is_dated, has_own_bounds=not is_one
        )
    return "\n".join(parts)


def is_published(facts: Mapping[str, Any]) -> bool:
    """Tell whether a claim is of a publication, by words or a value of it in some check."""
    return any(key in check for check in facts["checks"] for key in ("quote", "paper"))


def _render_overview(
    rows_of: Mapping[str, list[dict[str, Any]]], declared: Mapping[str, Any], *, has_reasons: bool
) -> str:
    rows = []
    for claim, facts in declared.items():
        verdict = rows_of[claim][0]["claim_verdict"]
        decisive = decide(rows_of[claim], facts)
        interval = show_interval(decisive)
        within = "" if interval is None else f" ({text(interval)})"
        required = f"; required: {require_bounds(decisive)}"
        here = f"<br><small>{text(decisive['check'] + required)}{count_verdicts(rows_of[claim])}</small>"
        about = decisive["about_archive"]
        why = "" if about is None or not has_reasons else f"<br><small>{introduce_note(verdict)}: {text(about)}</small>"
        rows.append(
            [
                Html(f'<a href="#{make_label("claim", claim)}">{text(facts["text"])}</a>{why}'),
                text(facts["source"]),
                _show_paper(decisive),
                Html(f"{show_figures(decisive['value'])}{within}{here}"),
                _mark_failure(rows_of[claim], facts) if verdict == FAILS else _mark(verdict, rows_of[claim], facts),
            ]
        )
    if any(map(is_published, declared.values())):
        table = render_table(OVERVIEW_HEADER, rows, title="All claims", numbers=(2,), is_text=True)
    else:
        own = [[claim, source, *others] for claim, source, _, *others in rows]
        table = render_table([*OVERVIEW_HEADER[:2], *OVERVIEW_HEADER[3:]], own, title="All claims", is_text=True)
    return f"::: {{#{OVERVIEW}}}\n\n{table}\n:::\n"


def link_claims(words: str, filtered: str) -> str:
    """Return a link to the claims with a verdict, or that fail in a way of `name_way`, as Markdown."""
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


def count_verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many of a claim's checks have each verdict, in brackets; nothing of a single one."""
    verdicts = [row["verdict"] for row in rows]
    words = {HOLDS: ("holds", "hold"), FAILS: ("does not hold", "do not hold"), UNKNOWN: ("undecided", "undecided")}
    counted = {verdict: verdicts.count(verdict) for verdict in words}
    said = [f"{count} {words[verdict][count > 1]}" for verdict, count in counted.items() if count]
    return f" ({', '.join(said)})" if len(rows) > 1 else ""


def _date_bounds(row: Mapping[str, Any], *, is_dated: bool) -> str:
    """Return which commit set the bounds of a claim, and if asked whether that was before the archive was measured."""
    commit = f"The bounds were set by commit `{row['bounds_commit'][:10]}` ({row['bounds_set_utc']:{TIME}})"
    if not is_dated:
        return f"{commit}."
    if row["is_preregistered"] is None:
        return f"{commit}; the archive does not say when its first run began."
    when = "before" if row["is_preregistered"] else "**after**"
    return f"{commit}, {when} the archive’s first run ({row['first_run_utc']:{TIME}})."


def _mark(verdict: str, rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> Html:
    return Html(f'<strong class="verdict-{name_kind(rows, facts, verdict)}">{verdict}</strong>')


def _mark_failure(rows: list[dict[str, Any]], facts: Mapping[str, Any]) -> Html:
    """Return the verdict on a claim that fails, and how it does; a filter finds it by either."""
    failure, _ = find_failure(rows, facts)
    kind = f"verdict-{name_kind(rows, facts, FAILS)}"
    mark = f'<strong class="{kind}" data-way="{name_way(failure)}">{FAILS}</strong>'
    return Html(f'{mark}<b class="{kind}">:</b><br><small class="{kind}">{failure}</small>')


def _render_claim(
    claim: str,
    facts: Mapping[str, Any],
    rows: list[dict[str, Any]],
    exhibits: Mapping[str, tuple[str, Exhibit]],
    unexplained: Collection[str],
    *,
    is_dated: bool,
    has_own_bounds: bool,
) -> Iterable[str]:
    verdict = rows[0]["claim_verdict"]
    is_of_paper = is_published(facts)
    title = title_claim(facts)
    # The verdict first, in colour: so a list of the headings shows it.
    kind = name_kind(rows, facts, verdict)
    way = f": {SIZE}" if kind == KIND_OF_SIZE else ""
    mark = f"[{verdict[0].upper()}{verdict[1:]}{way}]{{.verdict-{kind}}}"
    yield f"## {mark}: {title} {{#{make_label('claim', claim)}}}\n"
    source = escape_text(facts["source"])
    said = _flatten(facts["text"]) if title.endswith("…") else _flatten(facts["text"]).partition(". ")[2]
    parts = [*([escape_text(said)] if said else []), f"Source: {source}."]
    if links := [_link(*exhibits[shown]) for shown in facts["shown_in"] if shown in exhibits]:
        parts.append(f"Shown in {', '.join(links)}.")
    if filters := facts.get("explorer"):
        link = f"[The runs behind it](explorer.qmd#{urlencode(filters)}), in the explorer."
        parts.append(f'[{link}]{{.content-visible when-format="html"}}')
    if rows[0]["about_archive"] is not None:
        parts.append(f"**{introduce_note(verdict)}:** {escape_text(rows[0]['about_archive'])}")
    yield f"{' '.join(parts)}\n"
    if rows[0]["about_archive"] is None and claim in unexplained:
        yield render_callout("warning", "Not explained", "Nothing says why this archive does not show it.")
    is_missing = all(row["value"] is None for row in rows if row["verdict"] == UNKNOWN)
    if facts.get("needs") and verdict == UNKNOWN and is_missing:
        yield f"Needed: {escape_text(facts['needs'])}.\n"
    yield open_fold(f"Values and queries{count_verdicts(rows)}")
    checks = [_list_check(row, check) for row, check in zip(rows, facts["checks"], strict=True)]
    if is_of_paper:
        yield render_table(HEADER, checks, title=f"Checks of {claim}", numbers=(1, 3, 4, 5), is_text=True)
    else:
        own = [[name, *others] for name, _, *others in checks]
        yield render_table([HEADER[0], *HEADER[2:]], own, title=f"Checks of {claim}", numbers=(2, 3, 4), is_text=True)
    if has_own_bounds and rows[0]["bounds_set_utc"] is not None:
        yield f"{_date_bounds(rows[0], is_dated=is_dated)}\n"
    if others := [_name_change(row) for row in rows if _differs(row)]:
        count = rows[0]["suspects_count"]
        yield f"With {count:,} suspect run{'s' if count > 1 else ''}: {'; '.join(others)}.\n"
    queries = [
        f"{escape_text(check['name'])}\n\n{render_quotation(check['sql'], 'Query of ' + check['name'])}"
        for check in facts["checks"]
    ]
    told = f"With its runs and raw files, in a terminal: `python -m ccreport explain {claim}`\n"
    folded = "\n".join((open_fold("How it is computed"), told, *queries, close_fold()))
    yield f':::: {{.content-visible when-format="html"}}\n\n{folded}\n::::\n'
    yield close_fold()


def _differs(row: Mapping[str, Any]) -> bool:
    """Tell whether suspect runs that do not count would change the value of a check as it is shown, or its verdict."""
    verdict = row["with_suspects_verdict"]
    shown = [show_figures(row[name]) for name in ("value", "with_suspects_value")]
    return verdict is not None and (shown[0] != shown[1] or verdict != row["verdict"])


def _name_change(row: Mapping[str, Any]) -> str:
    verdict = row["with_suspects_verdict"]
    flipped = f", {verdict}" if verdict != row["verdict"] else ""
    return f"{escape_text(row['check'])} {show_figures(row['with_suspects_value'])}{flipped}"


def title_claim(facts: Mapping[str, Any], width: int = TITLE_WIDTH) -> str:
    """Return a claim's first sentence, shortened, as escaped text: its title wherever claims are listed."""
    sentence = _flatten(facts["text"]).partition(". ")[0].removesuffix(".")
    return escape_text(shorten(sentence, width, placeholder=" …"))


def _flatten(words: str) -> str:
    return " ".join(words.split())


def _link(page: str, exhibit: Exhibit) -> str:
    kind = page.removesuffix("s")
    target = "captures" if exhibit.is_of_captures else page
    return f"[{escape_text(exhibit.heading)}]({target}.qmd#{make_label(kind, exhibit.name)})"


def _list_check(row: Mapping[str, Any], check: Mapping[str, Any]) -> list[Html]:
    return [
        _name_check(row, check),
        _show_paper(row),
        text(name_bounds(row["at_least"], row["at_most"])),
        show_figures(row["value"]),
        text(show_interval(row)),
        number(row["runs_count"]),
        Html(f"{_mark(row['verdict'], [row], {'checks': [check]})}{_show_lack(row)}"),
    ]


def _show_paper(row: Mapping[str, Any]) -> Html:
    return text(None if row["paper_value"] is None else f"{row['paper_value']:g}")


def _name_check(row: Mapping[str, Any], check: Mapping[str, Any]) -> Html:
    """Return the name of a check, and below it the publication's words with the word that they are read as."""
    name = text(row["check"])
    if "quote" not in check:
        return name
    read = f" ({check['word']})" if "word" in check else ""
    return Html(f"{name}<br><small>{text('“' + check['quote'] + '”' + read)}</small>")


def _show_lack(row: Mapping[str, Any]) -> Html:
    lack = name_lack(row)
    return Html(f" <small>({lack})</small>" if lack else "")
