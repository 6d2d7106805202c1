"""The finding about algorithms that share a path: which gets more, by loss, RTT and the bottleneck's buffer."""

from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.figures.wording.runs import join_names
from ccreport.report.first_page.rtts import NO_RTTS, name_rtts
from ccreport.report.fragments.first_page.condition_phrases import (
    BUFFER,
    FLOWS,
    LOSS,
    RTT,
    SHARING,
    phrase_conditions,
    span_rtts,
)
from ccreport.report.fragments.first_page.rate_findings import (
    ENOUGH,
    NO_TITLES,
    PARAGRAPH,
    list_shared,
    name_places,
    name_rate,
    place_tables,
)
from ccreport.report.fragments.first_page.short_answers import OTHER, shorten_sharing
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_ends, show_plain
from ccreport.summarise.statistics.comparisons import UNDECIDED

OPEN: Final = "the comparison is undecided"
# More of them have no line of their own.
EXCEPTIONS_AT_MOST: Final = 3
NO_PAIRS: Final = pl.DataFrame(schema={"table_name": pl.String, "cell": pl.String, "expected": pl.Float64})


def describe_sharing(
    comparisons: pl.DataFrame,
    rtts: pl.DataFrame = NO_RTTS,
    titles: Mapping[str, str] = NO_TITLES,
    published: pl.DataFrame = NO_PAIRS,
) -> list[str]:
    """Return what there is to say of each pair of algorithms that share a path at several losses, as Markdown.

    `comparisons` is the table of that name, `rtts` is as `read_rtts` returns it, `titles` are those of tables by name,
    `published` is as `list_pairs` returns it. Of conditions with a loss that differ by more
    than this and the round-trip time those are taken that are most.
    """
    rates = comparisons.filter(pl.col("measure").str.ends_with("_bps"))
    parts = [_part(question) for question in rates["question"]]
    schema = {"loss": pl.String, "rtt": pl.String, "rest": pl.String}
    shared = pl.concat([rates, pl.DataFrame(parts, schema=schema, orient="row")], how="horizontal").drop_nulls("rest")
    pairs = shared.partition_by("first_algorithm", "second_algorithm", maintain_order=True)
    return [said for pair in pairs for said in _describe_pair(pair, rtts, titles, published)]


def _part(question: str) -> tuple[str | None, str | None, str | None]:
    """Return loss and round-trip time of a question, and its other parts where algorithms share a path."""
    parts = question.split(", ")
    loss, rtt = (next((part for part in parts if pattern.fullmatch(part)), None) for pattern in (LOSS, RTT))
    is_shared = any(found["how"] == "both" for part in parts if (found := SHARING.fullmatch(part)))
    rest = ", ".join(part for part in parts if part not in (loss, rtt))
    return loss, rtt, rest if is_shared else None


def _describe_pair(
    every: pl.DataFrame, rtts: pl.DataFrame, titles: Mapping[str, str], published: pl.DataFrame
) -> Iterator[str]:
    with_loss = every.drop_nulls("loss").partition_by("rest", maintain_order=True)
    pair = max(with_loss, key=lambda own: own.height, default=every.clear())
    if pair.height < ENOUGH or pair["loss"].n_unique() < 2:
        return
    flows = next((part for part in pair["rest"][0].split(", ") if FLOWS.fullmatch(part)), "")
    by_loss = [
        f"{escape_text(phrase_conditions(str(loss)))} {_describe_loss(own, rtts)}"
        for (loss,), own in pair.group_by("loss", maintain_order=True)
    ]
    # With most loss the two differ most.
    sentences = " ".join(f"{said[0].upper()}{said[1:]}." for said in reversed(by_loss))
    of_flows = f" of {escape_text(flows)}" if flows else ""
    compared = f"[{count_things(pair.height, 'comparison')}](conditions.qmd){of_flows}"
    without = every.filter(pl.col("loss").is_null())
    others = _describe_others(without, pair, titles)
    lines = [*_tell_buffers(without, rtts, published), *_tell_exceptions(without, rtts)]
    is_elsewhere = bool(titles) and not without.is_empty()
    places = (place_tables(pair, titles), _name_others(without, pair, titles)) if is_elsewhere else ("", "")
    short = shorten_sharing(pair, without, lines, places, lambda own: _tell_published(own, published))
    yield (
        f"**Who gets more when they share?** {short}{PARAGRAPH}"
        f"{sentences} ({compared}; ratios of geometric means; in brackets 95 &#37; intervals.){others}"
    )


def _describe_others(others: pl.DataFrame, with_loss: pl.DataFrame, titles: Mapping[str, str]) -> str:
    """Return who gets how many times the other's rate on paths whose name says no loss."""
    said: list[str] = []
    for (ahead,), own in others.drop_nulls("ahead_algorithm").group_by("ahead_algorithm", maintain_order=True):
        counted = f"{own.height:,}{'' if said else f' of {others.height:,} comparisons'}"
        said.append(f"{ahead} gets {_name_times(own)} in {counted}")
    if not said:
        return ""
    places = _name_others(others, with_loss, titles)
    return f" {OTHER[0].upper()}{OTHER[1:]}{places} {escape_text(join_names(said))}."


def _name_others(others: pl.DataFrame, with_loss: pl.DataFrame, titles: Mapping[str, str]) -> str:
    return name_places(others.with_columns(condition="question"), with_loss, titles)


def _tell_buffers(others: pl.DataFrame, rtts: pl.DataFrame, published: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield who gets how many times the other's rate with the smallest and the largest of some buffers.

    Beside these are the ratios of the publication, where it has them.
    """
    parts = [question.split(", ") for question in others["question"]]
    buffers = [next((part for part in own if BUFFER.fullmatch(part)), None) for own in parts]
    rest = [", ".join(part for part in own if part != buffer) for own, buffer in zip(parts, buffers, strict=True)]
    sized = others.with_columns(
        buffer=pl.Series(buffers, dtype=pl.String).str.strip_prefix("buffer "), rest=pl.Series(rest, dtype=pl.String)
    ).drop_nulls("buffer")
    # They are sorted by the size.
    for own in sized.partition_by("rest", maintain_order=True):
        ends = own[[0, -1]]
        if own.height < 2 or ends["ahead_algorithm"].null_count():
            continue
        sizes = ends["buffer"].to_list()
        said: list[str] = []
        for compared, size in zip(ends.iter_slices(1), sizes, strict=True):
            who, times, whose = _tell(compared)
            is_same = bool(said) and said[0].startswith(who)
            said.append(
                f"{times if is_same else f'{who} {times} {whose}'}{_show_interval(compared)} with {escape_text(size)}"
            )
        of_paper = _tell_published(ends, published)
        where = escape_text(name_rtts(rtts, own))
        yield (
            f"buffer of {escape_text(f'{sizes[0]} to {sizes[1]}')}{f' ({where})' if where else ''}",
            f"{join_names(said)}{of_paper}",
        )


def _tell_exceptions(others: pl.DataFrame, rtts: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield under which conditions the algorithm that is seldom ahead on other paths gets more, and how much more."""
    led = others.drop_nulls(("ahead_algorithm", "effect_mean_ratio")).partition_by("ahead_algorithm")
    own, *rest = sorted(led, key=lambda part: part.height) or [others.clear()]
    if not rest or own.height > EXCEPTIONS_AT_MOST:
        return
    parts = [part for part in list_shared(own["question"].to_list()) if not SHARING.fullmatch(part)]
    here = name_rtts(rtts, own)
    named = [part for part in parts if not (here and RTT.fullmatch(part))]
    where = escape_text(", ".join([*named, *([span_rtts(here)] if here else [])]))
    yield where, escape_text(f"{own['ahead_algorithm'][0]} gets {_name_times(own)} (geometric means)")


def _name_times(own: pl.DataFrame) -> str:
    """Return how many times the other's rate the algorithm has that is ahead in all of these comparisons."""
    first, second, ahead = own.select("first_algorithm", "second_algorithm", "ahead_algorithm").row(0)
    ratios = own["effect_mean_ratio"] if ahead == first else 1 / own["effect_mean_ratio"]
    return f"{show_ends(ratios)} times {second if ahead == first else first}’s {name_rate(own)}"


def _show_interval(compared: pl.DataFrame) -> str:
    row = compared.row(0, named=True)
    ends = [row["effect_low_ratio"], row["effect_high_ratio"]]
    if None in ends:
        return ""
    is_ahead = row["ahead_algorithm"] == row["first_algorithm"]
    low, high = ends if is_ahead else sorted(1 / end for end in ends)
    return escape_text(f" ({show_plain(low)}–{show_plain(high)})")


def _tell_published(compared: pl.DataFrame, published: pl.DataFrame) -> str:
    """Return the publication's ratios beside those here; nothing where it lacks one.

    They are of the algorithm that is ahead in all comparisons, or else of the first, which is named then.
    """
    asked = compared.with_columns(cell=pl.col("question").str.strip_prefix("buffer "))
    beside = asked.join(published, on=("table_name", "cell"), how="inner", maintain_order="left")
    if beside.height < compared.height:
        return ""
    first, second, ahead = compared.select("first_algorithm", "second_algorithm", "ahead_algorithm").row(0)
    is_led = ahead is not None and compared["ahead_algorithm"].n_unique() == 1
    ratios = 1 / beside["expected"] if is_led and ahead == second else beside["expected"]
    times = f"{join_names([*map(show_plain, ratios)]) if ratios.len() < ENOUGH else show_ends(ratios)} times"
    return escape_text(
        f"; in the paper {times if is_led else f'{first} gets {times} {second}’s {name_rate(compared)}'}"
    )


def _describe_loss(own: pl.DataFrame, rtts: pl.DataFrame) -> str:
    """Return who gets how many times the other's rate at the round-trip times of a loss."""
    said: dict[str, list[str]] = {}
    for compared in own.iter_slices(1):
        who, times, whose = _tell(compared)
        # BBR gets 1.04 times CUBIC's rate at 10 ms and 3.37 times at 80 ms.
        part = (times, "" if who in said else whose, _name_rtt(compared, rtts))
        said.setdefault(who, []).append(" ".join(filter(None, part)))
    is_one = len(said) == 1 and not own["ahead_algorithm"].count()
    return "; ".join([who if is_one else _place(who, join_names(parts)) for who, parts in said.items()])


def _place(who: str, where: str) -> str:
    """Return "BBR gets 2.00 times CUBIC's rate at 10 ms", or "at 80 ms the comparison is undecided"."""
    return f"{where} {who}".strip() if who == OPEN else f"{who} {where}".strip()


def _tell(compared: pl.DataFrame) -> tuple[str, str, str]:
    """Return who gets more, how many times and whose rate; of a comparison without anybody ahead the verdict alone."""
    row = compared.row(0, named=True)
    first, second, ratio = row["first_algorithm"], row["second_algorithm"], row["effect_mean_ratio"]
    if row["ahead_algorithm"] is None or ratio is None:
        return (
            OPEN if row["verdict"] == UNDECIDED else f"the two rates are {escape_text(row['verdict'])}",
            "",
            "",
        )
    is_first = row["ahead_algorithm"] == first
    ahead, other, times = (first, second, ratio) if is_first else (second, first, 1 / ratio)
    return f"{escape_text(ahead)} gets", f"{show_plain(times)} times", f"{escape_text(other)}’s {name_rate(compared)}"


def _name_rtt(own: pl.DataFrame, rtts: pl.DataFrame) -> str:
    """Return at which round-trip time a comparison is, that here where it is known."""
    rtt = own["rtt"].item()
    return escape_text(f"at {name_rtts(rtts, own) or rtt}") if rtt else ""
