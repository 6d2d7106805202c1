"""The finding about versions of an algorithm: which is faster, and beside which the other algorithm is, by figures."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.compare.verdicts import UNDECIDED
from ccreport.core.algorithms import FIRST_BBR
from ccreport.core.text import count_things, make_label
from ccreport.figures.exhibits import list_exhibits
from ccreport.figures.kit.theme import style_of
from ccreport.figures.wording.bbr_versions import VERSIONS as CCS
from ccreport.figures.wording.runs import join_names
from ccreport.report.fragments.absent_exhibits import find_missing
from ccreport.report.fragments.first_page.figures_asked import VERSIONS
from ccreport.report.fragments.first_page.rate_findings import PARAGRAPH
from ccreport.report.fragments.first_page.short_answers import join_parts
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.grid import rate_unit
from ccreport.summarise.grids.plain_numbers import show_ends

# BBRv1 alone · BBRv2 beside CUBIC
SITUATION: Final = r"^(?<version>.+?) (?<beside>alone|beside .+)$"
# What bars that are compared have in common.
SAME: Final = ("figure", "beside", "other")
OF_SECOND: Final = "_second"


def describe_versions(declared: Mapping[str, Any], figures: Path, measured: Collection[str] = ()) -> list[str]:
    """Return a sentence on each two versions that figures compare, as Markdown.

    `measured` are the kernel names of the archive's algorithms; versions that the evaluation declares and that were not
    measured are named last.

    A version is faster, or the other algorithm beside it, where the 95 % intervals of the two means do not overlap;
    means are equal where their intervals allow no ratio beyond the evaluation's `equal_within_pct`.
    """
    drawn = [
        figure
        for figure in list_exhibits(declared["figures"], figures)
        if declared["figures"][figure.name]["kind"] == VERSIONS and not find_missing(figure, figures)
    ]
    bars = [_read_bars(figures / figure.name / "figure.csv", figure.name) for figure in drawn]
    if not bars:
        return []
    links = {figure.name: f"[{figure.number}](figures.qmd#{make_label('figure', figure.name)})" for figure in drawn}
    where = f"figure{'s' if len(drawn) > 1 else ''} {', '.join(links.values())}"
    known = pl.concat(bars)
    versions = known["version"].filter(known["other"].is_null()).unique(maintain_order=True)
    found = []
    for first, second in combinations(versions, 2):
        pairs = _pair_up(known, first, second, declared["equal_within_pct"])
        if not pairs.is_empty():
            told = (_sum_up(pairs, first, second), " ".join(_compare(pairs, first, second, where, links)))
            found.append(f"**{escape_text(first)} or {escape_text(second)}?** {PARAGRAPH.join(filter(None, told))}")
    absent = _name_unmeasured(declared["algorithms"], measured)
    return [*found[:-1], f"{found[-1]} {absent}".strip()] if found else []


def _name_unmeasured(algorithms: Mapping[str, Any], measured: Collection[str]) -> str:
    """Return which versions groups of an evaluation's algorithms have that were not measured; bbr1 is bbr's."""
    known = {_name_version(cc) for cc in measured}
    members = [_name_version(cc) for facts in algorithms.values() for cc in facts["members"] if cc in CCS]
    absent = [escape_text(name) for name in dict.fromkeys(members) if known and name not in known]
    return f"{join_names(absent)} {'was' if len(absent) == 1 else 'were'} not measured." if absent else ""


def _name_version(cc: str) -> str:
    return style_of("bbr" if cc in FIRST_BBR else cc).name


def _read_bars(path: Path, figure: str) -> pl.DataFrame:
    """Return the bars of a figure that have an interval; `other` is the algorithm of those that are not a version's."""
    found = pl.col("category").str.extract_groups(SITUATION)
    return (
        pl.read_csv(path)
        .with_columns(found.struct.unnest(), figure=pl.lit(figure), other=pl.when(~pl.col("cc").is_in(CCS)).then("cc"))
        .drop_nulls(("version", "rate_low_bps", "rate_high_bps"))
        .select(*SAME, "version", pl.col("^(rate|retransmit)_(mean|low|high)_(bps|ratio)$").cast(pl.Float64))
    )


def _pair_up(bars: pl.DataFrame, first: str, second: str, equal_pct: float) -> pl.DataFrame:
    """Return the bars of two versions under the same conditions beside each other, with the verdict on their rates."""
    most = 1 + equal_pct / 100
    verdict = (
        pl.when(_reach("", OF_SECOND) <= most, _reach(OF_SECOND, "") <= most)
        .then(pl.lit(f"equal within ±{equal_pct:g} &#37;"))
        .when(_reach(OF_SECOND, "") < 1)
        .then(pl.lit(first))
        .when(_reach("", OF_SECOND) < 1)
        .then(pl.lit(second))
        .otherwise(pl.lit(UNDECIDED))
    )
    one, two = (bars.filter(version=name) for name in (first, second))
    return one.join(two, on=SAME, suffix=OF_SECOND, nulls_equal=True, maintain_order="left").with_columns(
        verdict=verdict
    )


def _compare(pairs: pl.DataFrame, first: str, second: str, where: str, links: Mapping[str, str]) -> Iterator[str]:
    """Yield which of two versions is faster, then beside which of them each other algorithm is."""
    for (other,), own in pairs.group_by("other", maintain_order=True):
        parts = list(own.group_by("verdict", maintain_order=True))
        if other:
            yield f"{escape_text(style_of(other).name)} {'; '.join(_tell_beside(parts, first, second, links))}."
            continue
        told = "; ".join(
            f"{escape_text(name)} faster in {part.height}{_say_beside(part)} "
            f"({_show_rates(part, is_first=name == first)})"
            if name in (first, second)
            else f"{name} in {part.height}{_say_beside(part)}"
            for (name,), part in parts
        )
        retransmits = list(_tell_retransmits(own, first, second, links))
        # The clearest difference first.
        yield " ".join([*retransmits, f"Of {count_things(own.height, 'comparison')} of rates ({where}): {told}."])


def _sum_up(pairs: pl.DataFrame, first: str, second: str) -> str:
    """Return what speaks for each version, in one line: it retransmits less, is faster, leaves another more."""
    own, beside = pairs.filter(pl.col("other").is_null()), pairs.drop_nulls("other")
    more, less, known = _split_by_retransmits(own)
    said: list[tuple[str, str]] = []
    for name, fewer in ((second, more), (first, less)):
        counted = count_things(known, "comparison")
        told = [f"retransmits less in {fewer.height:,} of {counted}"] if fewer.height else []
        if faster := own.filter(verdict=name).height:
            told.append(f"is faster in {faster:,} of {count_things(own.height, 'comparison')}")
        for (other,), pairs_beside in beside.group_by("other", maintain_order=True):
            if leaves := pairs_beside.filter(verdict=name).height:
                told.append(f"leaves {escape_text(style_of(other).name)} more in {leaves:,} of {pairs_beside.height:,}")
        said += [(escape_text(name), join_names(told))] if told else []
    return join_parts(said)


def _say_beside(part: pl.DataFrame) -> str:
    """Return whether versions had the path alone or beside which algorithm, where that is the same in all bars."""
    beside = part["beside"].unique()
    return f" {escape_text(beside[0])}" if beside.len() == 1 else ""


def _split_by_retransmits(pairs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Return the pairs in which the first version surely retransmits more, and those in which the second does.

    The third value is how many pairs have retransmits.
    """
    names = [f"retransmit_{end}_ratio{side}" for end in ("mean", "low", "high") for side in ("", OF_SECOND)]
    if not {*names} <= {*pairs.columns}:
        return pairs.clear(), pairs.clear(), 0
    low, high = pl.col("retransmit_low_ratio"), pl.col("retransmit_high_ratio")
    return (
        pairs.filter(low > pl.col(f"retransmit_high_ratio{OF_SECOND}")),
        pairs.filter(high < pl.col(f"retransmit_low_ratio{OF_SECOND}")),
        pairs.drop_nulls(names).height,
    )


def _tell_retransmits(pairs: pl.DataFrame, first: str, second: str, links: Mapping[str, str]) -> Iterator[str]:
    """Yield what part of the segments both versions retransmit where one surely retransmits more."""
    by_first, by_second, _ = _split_by_retransmits(pairs)
    for own, more, less, sides in (
        (by_first, first, second, ("", OF_SECOND)),
        (by_second, second, first, (OF_SECOND, "")),
    ):
        if own.height:
            high, low = (show_ends(100 * own[f"retransmit_mean_ratio{side}"]) for side in sides)
            shown = ", ".join(links[figure] for figure in own["figure"].unique(maintain_order=True))
            yield (
                f"{escape_text(more)} retransmits {high} &#37; of its segments{_say_beside(own)}, "
                f"{escape_text(less)} {low} &#37; (means of the runs’ ratios; {shown})."
            )


def _tell_beside(
    parts: Iterable[tuple[tuple[object, ...], pl.DataFrame]], first: str, second: str, links: Mapping[str, str]
) -> Iterator[str]:
    """Yield which rates the other algorithm keeps beside each version, or that they do not differ surely."""
    for (name,), part in parts:
        shown = ", ".join(links[figure] for figure in part["figure"].unique(maintain_order=True))
        if name not in (first, second):
            # The verdict: equal within ±5 %, or undecided.
            equal = f"has rates beside both that are {name}"
            words = "does not clearly keep more beside either" if name == UNDECIDED else equal
            yield f"{words} in {count_things(part.height, 'comparison')} ({shown})"
            continue
        other = second if name == first else first
        higher, lower, unit = _scale_rates(part, is_first=name == first)
        kept = (
            f"{show_ends(lower)} {unit} beside {escape_text(other)} and {show_ends(higher)} beside {escape_text(name)}"
        )
        yield f"keeps {kept} ({shown})"


def _reach(side: str, other: str) -> pl.Expr:
    """Return the largest ratio of two means that their intervals allow."""
    return pl.col(f"rate_high_bps{side}") / pl.col(f"rate_low_bps{other}")


def _show_rates(pairs: pl.DataFrame, *, is_first: bool) -> str:
    """Return how many times as high the higher arithmetic mean rates of pairs are, and both."""
    higher, lower, unit = _scale_rates(pairs, is_first=is_first)
    rates = f"{show_ends(higher)} against {show_ends(lower)} {unit}"
    return f"{show_ends(higher / lower)} times the arithmetic mean rate, {rates}"


def _scale_rates(pairs: pl.DataFrame, *, is_first: bool) -> tuple[pl.Series, pl.Series, str]:
    """Return the mean rates of the version that is ahead and of the other, and their unit."""
    higher, lower = (pairs[f"rate_mean_bps{side}"] for side in (("", OF_SECOND) if is_first else (OF_SECOND, "")))
    divisor, unit = rate_unit(higher)
    return higher / divisor, lower / divisor, unit
