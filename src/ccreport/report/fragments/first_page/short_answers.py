"""The first page's answers in short: for each kind of condition a line with what is found there."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.figures.wording.runs import join_names
from ccreport.report.fragments.first_page.condition_phrases import read_loss_pct
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_ends
from ccreport.summarise.statistics.comparisons import UNDECIDED

NO_LOSS, RANDOM = "with no loss", "with random loss"
# Whose name says no loss: packets are lost, if any are, in queues, or at random as well.
OTHER = "on other paths"
# In the order in which they are told.
NAMES: Final[Mapping[str, str]] = {NO_LOSS: "no loss", RANDOM: "random loss", OTHER: "other paths"}
# Of Markdown, within a paragraph.
BREAK: Final = "\\\n"
NO_DIFFERENCE: Final = "no clear difference"


def join_parts(parts: Iterable[tuple[str, str]], counts: Iterable[tuple[str, str]] = ()) -> str:
    """Return a line for each part, "**No loss:** equal.", as Markdown; nothing where there are none.

    After them come `counts`, for which the first page of the PDF has no room; what follows there in full has them.
    """
    shown, counted = ([f"**{name[0].upper()}{name[1:]}:** {said}." for name, said in own] for own in (parts, counts))
    if not shown:
        return BREAK.join(counted)
    return BREAK.join(shown) + (show_on_pages(BREAK.join(["", *counted])) if counted else "")


def show_on_pages(words: str) -> str:
    """Return what the website has, and the first page of the PDF has no room for."""
    return f'[{words}]{{.content-visible when-format="html"}}' if words else ""


def shorten_rates(parts: Mapping[str, pl.DataFrame], places: Mapping[str, str], *, is_beside_table: bool) -> str:
    """Return which algorithm is faster in most comparisons of each kind of condition, by `NAMES`, and by how much.

    `places` has where each kind is found. A table beside it shows some of the comparisons with random loss.
    """
    names = {**NAMES, RANDOM: f"all {NAMES[RANDOM]}"} if is_beside_table else NAMES
    return join_parts((f"{names[kind]}{places[kind]}", _sum_up(parts[kind])) for kind in NAMES if _has(parts, kind))


def _has(parts: Mapping[str, pl.DataFrame], kind: str) -> bool:
    return kind in parts and not parts[kind].is_empty()


def _sum_up(own: pl.DataFrame) -> str:
    """Return the verdict of most comparisons, and of others those by which an algorithm is faster."""
    by_count = sorted(own.partition_by("verdict", maintain_order=True), key=lambda part: -part.height)
    first = f"{by_count[0].height:,} of {own.height:,} comparisons"
    if len(by_count) == 1:
        first = f"{'both' if own.height == 2 else f'all {own.height:,}'} comparisons"
    others = [part for part in by_count[1:] if part["ahead_algorithm"].count()]
    counted = zip([by_count[0], *others], [first, *(f"{part.height:,}" for part in others)], strict=True)
    return "; ".join(f"{escape_text(part['verdict'][0])} in {count}{_add_ends(part)}" for part, count in counted)


def _add_ends(part: pl.DataFrame) -> str:
    """Return how many times the other's rate an algorithm that is ahead has at least and at most."""
    ratio = pl.col("effect_mean_ratio")
    leads = part.drop_nulls(("ahead_algorithm", "effect_mean_ratio")).select(pl.max_horizontal(ratio, 1 / ratio))
    return "" if leads.is_empty() else f" ({show_ends(leads.to_series())} times)"


def shorten_sharing(
    pair: pl.DataFrame,
    others: pl.DataFrame,
    of_others: Sequence[tuple[str, str]],
    places: tuple[str, str],
    remark: Callable[[pl.DataFrame], str],
) -> str:
    """Return who gets more at each `loss`, and in how many of the other comparisons.

    Losses at which the same is found are told together, each with a `remark`; `of_others` are lines on some of the
    others. `places` are the tables of the two kinds, in brackets.
    """
    of_pair, elsewhere = places
    by_loss = groupby(pair.partition_by("loss", maintain_order=True), key=_find_ahead)
    alike = [(who, pl.concat(owns)) for who, owns in by_loss]
    parts = [
        (
            f"{_join_losses(own['loss'].unique(maintain_order=True))}{of_pair}",
            f"{_tell_lead(who, own)}{show_on_pages(remark(own))}",
        )
        for who, own in alike
    ]
    counted = Counter(others["ahead_algorithm"].drop_nulls()).most_common()
    name = f"all {NAMES[OTHER]}" if of_others else NAMES[OTHER]
    rest = [(f"{name}{elsewhere}", _count_by_name("gets more", counted, others.height))] if counted else []
    return join_parts([*parts, *of_others], rest)


def _count_by_name(what: str, counted: Sequence[tuple[str, int]], total: int) -> str:
    """Return "BBR gets more in 14 and CUBIC in 2 of 18 comparisons"."""
    (name, count), *others = counted
    said = [f"{escape_text(name)} {what} in {count:,}", *(f"{escape_text(name)} in {n:,}" for name, n in others)]
    return f"{join_names(said)} of {total:,} comparisons"


def _join_losses(losses: Iterable[str]) -> str:
    """Return "0.01 % and 0.1 % loss" for the losses of that name."""
    *others, last = map(escape_text, losses)
    return join_names([*(loss.removesuffix(" loss") if loss != "no loss" else loss for loss in others), last])


def _find_ahead(own: pl.DataFrame) -> str:
    """Return which algorithm is ahead in all comparisons, else the verdict that all have, else what that means."""
    ahead, verdicts = own["ahead_algorithm"].unique(), own["verdict"].unique()
    if ahead.len() == 1 and ahead[0] is not None:
        return str(ahead[0])
    if verdicts.len() == 1 and verdicts[0] != UNDECIDED:
        return str(verdicts[0])
    names = [name or "neither" for name in ahead.sort(nulls_last=True)]
    return f"{' or '.join(names)} gets more, depending on the RTT" if len(names) > 1 else NO_DIFFERENCE


def _tell_lead(who: str, own: pl.DataFrame) -> str:
    """Return how many times the other's rate an algorithm gets that is always ahead, else the words alone."""
    first, second = own.select("first_algorithm", "second_algorithm").row(0)
    if who not in (first, second):
        return escape_text(who)
    ratios = own["effect_mean_ratio"] if who == first else 1 / own["effect_mean_ratio"]
    if ratios.null_count():
        return f"{escape_text(who)} gets more"
    return escape_text(f"{who} gets {show_ends(ratios)} times {second if who == first else first}’s rate")


def shorten_retransmits(under_loss: pl.DataFrame, others: pl.DataFrame, cases: Sequence[tuple[str, str]]) -> str:
    """Return which algorithm retransmits less under random loss alone, and which surely does elsewhere, by how much.

    `cases` are lines on the clear differences elsewhere.
    """
    if under_loss.is_empty() or not cases:
        return ""
    less = Counter(under_loss["ahead_algorithm"].drop_nulls()).most_common()
    lossy = f"{NO_DIFFERENCE} in {under_loss.height:,} comparisons"
    if less:
        lossy = _count_by_name("retransmits less", less, under_loss.height)
    left = others.filter(pl.col("ahead_algorithm").is_null())
    rest = [("elsewhere", _tell_undecided(left))] if left.height else []
    lost = pl.Series([read_loss_pct(question) for question in under_loss["question"]], dtype=pl.Float64) / 100
    of_loss = pl.concat([under_loss[f"{side}_mean"] / lost for side in ("first", "second")])
    lossy += show_on_pages(f"; on average both retransmit {show_ends(of_loss)} times what the path loses")
    return join_parts([(f"{NAMES[RANDOM]} alone", lossy), *cases], rest)


def _tell_undecided(left: pl.DataFrame) -> str:
    """Return in how many comparisons no difference is clear, and in how many it would be, were each the only one."""
    is_none = (pl.col("first_mean") == 0) & (pl.col("second_mean") == 0)
    undecided = left.filter(~is_none.fill_null(value=False))
    neither = left.height - undecided.height
    excludes = (pl.col("effect_low_ratio") > 1) | (pl.col("effect_high_ratio") < 1)
    excluding = undecided.filter(excludes).height
    alone = (
        f" (the interval excludes 1 in {excluding:,}, not significantly after Holm’s correction)" if excluding else ""
    )
    said = [f"neither retransmits anything in {neither:,}"] if neither else []
    said += [f"{NO_DIFFERENCE} in {undecided.height:,}{alone}"] if undecided.height else []
    return f"of {count_things(left.height, 'comparison')}, {join_names(said)}"
