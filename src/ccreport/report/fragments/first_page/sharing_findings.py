"""The finding about algorithms that share a path: which gets more, by loss and round-trip time."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from ccreport.core.text import count_things
from ccreport.figures.wording.runs import join_names
from ccreport.report.first_page.rtts import NO_RTTS, name_rtts
from ccreport.report.fragments.first_page.condition_phrases import FLOWS, RTT, SHARING, phrase_conditions
from ccreport.report.fragments.first_page.rate_findings import ENOUGH, LOSS
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.summarise.statistics.comparisons import UNDECIDED


def describe_sharing(comparisons: pl.DataFrame, rtts: pl.DataFrame = NO_RTTS) -> list[str]:
    """Return a sentence on each pair of algorithms that share a path at several losses, as Markdown.

    `comparisons` is the table of that name, `rtts` is as `read_rtts` returns it. Of conditions that differ by more than
    loss and round-trip time those are taken that are most.
    """
    rates = comparisons.filter(pl.col("measure").str.ends_with("_bps"))
    parts = [_part(question) for question in rates["question"]]
    schema = {"loss": pl.String, "rtt": pl.String, "rest": pl.String}
    shared = pl.concat([rates, pl.DataFrame(parts, schema=schema, orient="row")], how="horizontal").drop_nulls("rest")
    pairs = shared.partition_by("first_algorithm", "second_algorithm", maintain_order=True)
    return [said for pair in pairs for said in _describe_pair(_keep_most(pair), rtts)]


def _part(question: str) -> tuple[str | None, str | None, str | None]:
    """Return loss and round-trip time of a question, and its other parts where algorithms share a path with a loss."""
    parts = question.split(", ")
    loss, rtt = (next((part for part in parts if pattern.fullmatch(part)), None) for pattern in (LOSS, RTT))
    is_shared = any(found["how"] == "both" for part in parts if (found := SHARING.fullmatch(part)))
    rest = ", ".join(part for part in parts if part not in (loss, rtt))
    return loss, rtt, rest if is_shared and loss else None


def _keep_most(pair: pl.DataFrame) -> pl.DataFrame:
    return max(pair.partition_by("rest", maintain_order=True), key=lambda own: own.height)


def _describe_pair(pair: pl.DataFrame, rtts: pl.DataFrame) -> Iterator[str]:
    if pair.height < ENOUGH or pair["loss"].n_unique() < 2:
        return
    flows = next((part for part in pair["rest"][0].split(", ") if FLOWS.fullmatch(part)), "")
    by_loss = [
        f"{escape_text(phrase_conditions(str(loss)))} {_describe_loss(own, rtts)}"
        for (loss,), own in pair.group_by("loss", maintain_order=True)
    ]
    sentences = " ".join(f"{said[0].upper()}{said[1:]}." for said in by_loss)
    of_flows = f" of {escape_text(flows)}" if flows else ""
    compared = f"[{count_things(pair.height, 'comparison')}](conditions.qmd){of_flows}"
    yield f"**Who gets more when they share?** {sentences} ({compared}; ratios of geometric means.)"


def _describe_loss(own: pl.DataFrame, rtts: pl.DataFrame) -> str:
    """Return who gets how many times the other's rate at the round-trip times of a loss."""
    said: dict[str, list[str]] = {}
    for place, row in enumerate(own.iter_rows(named=True)):
        who, times, whose = _tell(row)
        # BBR gets 1.04 times CUBIC's rate at 10 ms and 3.37 times at 80 ms.
        part = (times, "" if who in said else whose, _name_rtt(own.slice(place, 1), rtts))
        said.setdefault(who, []).append(" ".join(filter(None, part)))
    is_one = len(said) == 1 and not own["ahead_algorithm"].count()
    return join_names([who if is_one else f"{who} {join_names(parts)}".strip() for who, parts in said.items()])


def _tell(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return who gets more, how many times and whose rate; of a comparison without anybody ahead the verdict alone."""
    first, second, ratio = row["first_algorithm"], row["second_algorithm"], row["effect_mean_ratio"]
    if row["ahead_algorithm"] is None or ratio is None:
        return (
            "it is undecided" if row["verdict"] == UNDECIDED else f"the two are {escape_text(row['verdict'])}",
            "",
            "",
        )
    is_first = row["ahead_algorithm"] == first
    ahead, other, times = (first, second, ratio) if is_first else (second, first, 1 / ratio)
    return f"{escape_text(ahead)} gets", f"{show_plain(times)} times", f"{escape_text(other)}’s rate"


def _name_rtt(own: pl.DataFrame, rtts: pl.DataFrame) -> str:
    """Return at which round-trip time a comparison is, that here where it is known."""
    rtt = own["rtt"].item()
    return escape_text(f"at {name_rtts(rtts, own) or rtt}") if rtt else ""
