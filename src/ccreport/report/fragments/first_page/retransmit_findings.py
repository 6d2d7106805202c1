"""The finding about retransmits: whether random loss shows a difference, and where one is clear, by how much."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.figures.wording.runs import join_names
from ccreport.report.first_page.rtts import NO_RTTS, name_rtts
from ccreport.report.fragments.first_page.condition_phrases import (
    RTT,
    SHARING,
    phrase_conditions,
    read_loss_pct,
    span_rtts,
)
from ccreport.report.fragments.first_page.rate_findings import (
    ENOUGH,
    GEOMETRIC,
    PARAGRAPH,
    leave_out_shared,
    link_comparisons,
)
from ccreport.report.fragments.first_page.short_answers import shorten_retransmits
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.summarise.statistics.comparisons import UNDECIDED

RETRANSMITS: Final = "retransmit_ratio"
SIDES: Final = ("first", "second")
# Where a larger part than this multiple of the path's loss is retransmitted, buffers overflow as well.
OVERFLOW: Final = 2.0
# A run is one value here, as it is in the tests, whose times are those of geometric means.
MEANS: Final = "means of the runs’ ratios"
# The most clear differences that have a sentence each.
TOLD_AT_MOST: Final = 3


def describe_retransmits(comparisons: pl.DataFrame, rtts: pl.DataFrame = NO_RTTS) -> list[str]:
    """Return what there is to say on who retransmits less, as Markdown; nothing without comparisons.

    First what random loss shows, then each clear difference; folded up, how many comparisons have which verdict.
    `comparisons` is the table of that name, `rtts` is as `read_rtts` returns it.
    """
    asked = comparisons.filter(measure=RETRANSMITS)
    if asked.is_empty():
        return []
    ratio = pl.col("first_mean") / pl.col("second_mean")
    clear = asked.drop_nulls("ahead_algorithm").sort(pl.max_horizontal(ratio, 1 / ratio), descending=True)
    under_loss = list(_compare_under_loss(asked))
    cases = [_tell_case(own, rtts) for own in clear.head(TOLD_AT_MOST).iter_slices(1)]
    if clear.height > len(cases):
        cases.insert(0, f"The difference is clear in {clear.height:,} comparisons, most in these {len(cases)}.")
    counted = _count_verdicts(asked)
    alone = is_under_loss_alone(asked)
    elsewhere = clear.join(asked.filter(~alone), on=("table_name", "question"), how="semi", maintain_order="left")
    told = _shorten_cases(elsewhere, rtts)
    short = shorten_retransmits(asked.filter(alone), asked.filter(~alone), told) if len(under_loss) == 1 else ""
    answer, folded = (" ".join([*under_loss, *cases]), counted) if under_loss or cases else (counted, "")
    return [f"**How do retransmits differ?** {PARAGRAPH.join(filter(None, (short, answer, folded)))}"]


def _shorten_cases(clear: pl.DataFrame, rtts: pl.DataFrame) -> list[tuple[str, str]]:
    """Return a line for each sender and path: which algorithm retransmits how many times as much, most first."""
    said: dict[str, list[str]] = {}
    shown = clear.head(TOLD_AT_MOST)
    conditions = leave_out_shared(shown["question"])
    for own, condition in zip(shown.iter_slices(1), conditions, strict=True):
        parts = condition.split(", ")
        sharing, bucket = (next(filter(pattern.fullmatch, parts), "") for pattern in (SHARING, RTT))
        here = name_rtts(rtts, own)
        where = ", ".join(part for part in parts if part and part not in (sharing, bucket))
        where = ", ".join(filter(None, (where, span_rtts(here) if here else bucket)))
        how = sharing.replace("both", "sharing", 1)
        told = " ".join(filter(None, (_tell_times(own, is_first=not said), how)))
        said.setdefault(where, []).append(told)
    lines = [(escape_text(where or "most"), escape_text(", ".join(parts))) for where, parts in said.items()]
    rest = clear.height - shown.height
    return [*lines, ("others", f"a clear difference in {rest:,} more")] if rest else lines


def _tell_times(own: pl.DataFrame, *, is_first: bool) -> str:
    """Return "BBR 4.11 times as much (3.79–4.45; means of the runs’ ratios 1.14 % against 0.278 %)".

    After the first it is short: "BBR 4.11 times (3.79–4.45; means 1.14 % against 0.278 %)".
    """
    row = own.row(0, named=True)
    more, ratio, ends = _turn_to_more(row)
    if not ratio:
        return f"{more} more, as the other retransmits nothing"
    low, high = (show_plain(100 * mean) for mean in sorted((row["first_mean"], row["second_mean"])))
    interval = f"{show_plain(ends[0])}–{show_plain(ends[1])}; " if ends else ""
    much, means = (" as much", MEANS) if is_first else ("", "means")
    return f"{more} {show_plain(ratio)} times{much} ({interval}{means} {high} % against {low} %)"


def _turn_to_more(row: Mapping[str, Any]) -> tuple[str, float | None, list[float]]:
    """Return which algorithm retransmits more, how many times as much and the ends of the interval, where known."""
    is_first = row["first_mean"] > row["second_mean"]
    ratio = row["effect_mean_ratio"] if row["first_mean"] and row["second_mean"] else None
    known = [end for end in (row["effect_low_ratio"], row["effect_high_ratio"]) if ratio and end]
    ends = sorted(known if is_first else [1 / end for end in known]) if len(known) == 2 else []
    more = str(row["first_algorithm" if is_first else "second_algorithm"])
    return more, ratio if is_first or not ratio else 1 / ratio, ends


def _compare_under_loss(asked: pl.DataFrame) -> Iterator[str]:
    """Yield of each two algorithms what random loss shows, and the typical ratio of the parts that they retransmit."""
    pairs = asked.filter(is_under_loss_alone(asked)).partition_by("first_algorithm", "second_algorithm")
    for pair in pairs:
        if pair.height < ENOUGH:
            continue
        first, second = (escape_text(name) for name in pair.select("first_algorithm", "second_algorithm").row(0))
        ratios = pair["effect_mean_ratio"]
        median, least, most = (show_plain(ratios.quantile(place, "linear") or 0) for place in (0.5, 0, 1))
        undecided = pair.filter(verdict=UNDECIDED).height
        less = Counter(pair["ahead_algorithm"].drop_nulls()).most_common()
        if less:
            said = join_names([f"{escape_text(name)} retransmits less in {count:,}" for name, count in less])
            shown = f"{said} of {pair.height:,} comparisons ({undecided:,} undecided)"
        elif undecided:
            counted = f"all {undecided:,}" if undecided == pair.height else f"{undecided:,} of {pair.height:,}"
            shown = f"no difference is shown ({counted} comparisons are undecided)"
        else:
            shown = f"the two retransmit equally in all {pair.height:,} comparisons"
        times = f"{first} typically retransmits {median} times the share of segments that {second} does"
        yield f"Under random loss alone {shown}: {times} (median; from {least} to {most})."


def is_under_loss_alone(asked: pl.DataFrame) -> pl.Series:
    """Tell of each comparison that has a ratio whether random loss alone is what is retransmitted.

    Where buffers overflow as well, the larger part of it may be theirs.
    """
    loss_pct = pl.Series([read_loss_pct(question) for question in asked["question"]], dtype=pl.Float64)
    most_pct = 100 * pl.max_horizontal("first_mean", "second_mean")
    is_lossy = (loss_pct > 0) & (most_pct <= OVERFLOW * loss_pct) & pl.col("effect_mean_ratio").is_not_null()
    return asked.select(is_lossy.fill_null(value=False)).to_series()


def _tell_case(own: pl.DataFrame, rtts: pl.DataFrame) -> str:
    """Return under what conditions which algorithm retransmits how many times as much as the other."""
    row = own.row(0, named=True)
    (low, less), (high, more) = sorted((100 * row[f"{which}_mean"], row[f"{which}_algorithm"]) for which in SIDES)
    where = escape_text(phrase_conditions(row["question"], name_rtts(rtts, own)))
    ratio = row["effect_mean_ratio"]
    times = f"{show_plain(max(ratio, 1 / ratio))} times as much as" if ratio and low else "more than"
    shares = f"{show_plain(high)} &#37; of segments against {show_plain(low)} &#37;, arithmetic {MEANS}"
    said = f"{where} {escape_text(more)} retransmits {times} {escape_text(less)} ({shares})"
    return f"{said[0].upper()}{said[1:]}."


def _count_verdicts(asked: pl.DataFrame) -> str:
    less = Counter(asked["ahead_algorithm"].drop_nulls()).most_common()
    is_none = (pl.col("first_mean") == 0) & (pl.col("second_mean") == 0)
    neither = asked.filter(is_none).height
    undecided = asked.filter(~is_none.fill_null(value=False), verdict=UNDECIDED).height
    equal = asked.height - sum(count for _, count in less) - undecided - neither
    said = [f"{escape_text(name)} retransmits less in {count:,}" for name, count in less]
    said += [f"in {neither:,} neither retransmits anything"] if neither else []
    counts = ((undecided, "undecided"), (equal, "equal"))
    said += [f"{count:,} {'is' if count == 1 else 'are'} {word}" for count, word in counts if count]
    compared = link_comparisons(count_things(asked.height, "comparison"), "retransmit")
    return f"Of {compared} (ratios of {GEOMETRIC}): {'; '.join(said)}."
