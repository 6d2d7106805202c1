"""Findings about rates: which of two algorithms is faster, how often, by how much and where always."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from ccreport.compare.pairs import SUSPECT
from ccreport.core.text import count_things, make_label
from ccreport.figures.wording.runs import join_names
from ccreport.report.first_page.pairs import PUBLISHED, UNPUBLISHED
from ccreport.report.first_page.rtts import NO_RTTS, name_rtts
from ccreport.report.fragments.failed_pairs import name_table
from ccreport.report.fragments.first_page.condition_phrases import LOSS, add_bracket, phrase_conditions, read_loss_pct
from ccreport.report.fragments.first_page.rates_by_loss import PLAIN, Look, render_by_loss
from ccreport.report.fragments.first_page.short_answers import NO_LOSS, OTHER, RANDOM, shorten_rates
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_ends, show_plain
from ccreport.summarise.statistics.comparisons import UNDECIDED
from ccreport.summarise.statistics.contrasts import LEVEL

# The least number of comparisons of which "most" and "all" are said.
ENOUGH: Final = 3
FASTER: Final = " faster"
PER_FLOW: Final = "_per_flow_bps"
# Behind the paragraph of a finding that the first page shows stands what it folds up.
PARAGRAPH: Final = "\n\n"
# A verdict: equal within ±5 %.
WITHIN: Final = "equal within "
# Published cells and figures have those of arithmetic means.
GEOMETRIC: Final = "[geometric means](methods.qmd#sec-ratios)"
NO_TITLES: Final[Mapping[str, str]] = {}
LONG_PATH: Final = re.compile(r"RTT ≥ [\d.]+ ms")


def link_comparisons(words: str, filtered: str) -> str:
    """Return a link to those rows of the table of comparisons that have some text: a measure, or a verdict."""
    return f"[{words}](tables.qmd?rows={filtered}#{make_label('table', 'comparisons')})"


def describe_leads(
    comparisons: pl.DataFrame,
    rtts: pl.DataFrame = NO_RTTS,
    titles: Mapping[str, str] = NO_TITLES,
    look: Look = PLAIN,
) -> list[str]:
    """Return a sentence on each pair of algorithms whose rates the table `comparisons` compares, as Markdown.

    `rtts` is as `read_rtts` returns it, `titles` are those of tables by name, `look` is that of a table of losses.
    """
    rates = comparisons.with_row_index("number", 1).filter(pl.col("measure").str.ends_with("_bps"))
    pairs = rates.partition_by("first_algorithm", "second_algorithm", maintain_order=True)
    return [_describe_pair(pair, rtts, titles, look) for pair in pairs]


def _describe_pair(pair: pl.DataFrame, rtts: pl.DataFrame, titles: Mapping[str, str], look: Look) -> str:
    """Return an answer in plain words; in a second paragraph intervals, and how many comparisons have each verdict.

    Where the losses share conditions a table of these comes first, which the answer is behind.
    """
    first, second, *_ = pair.select("first_algorithm", "second_algorithm").row(0)
    pair = pair.with_columns(condition=leave_out_shared(pair["question"]))
    compared = link_comparisons(count_things(pair.height, "comparison"), pair["measure"][0].removesuffix("_bps"))
    counted = Counter(pair["verdict"])
    undecided = counted.pop(UNDECIDED, 0)
    said = [f"{escape_text(verdict)} in {count:,}" for verdict, count in counted.most_common()]
    said += [f"{undecided:,} undecided"] if undecided else []
    parts = part_by_loss(pair)
    places = _name_parts(parts, titles)
    of_losses = parts and render_by_loss(parts[RANDOM], parts[NO_LOSS], rtts, name_rate(pair), look)
    lead, table = of_losses or ("", "")
    short = shorten_rates(parts, places, is_beside_table=bool(table))
    by_loss, intervals = [*zip(*_answer_by_loss(pair, rtts), strict=True)] or ((), ())
    said_first, *others = (*_answer(pair, parts, rtts, places, names_most=not by_loss), "")
    sentences = filter(None, (said_first, *by_loss, *others))
    answer = " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)
    title = f"**{escape_text(first)} or {escape_text(second)}?**"
    # An answer says by itself that all have one verdict.
    is_told = answer and len(said) == 1
    counts = (
        f"Ratios are of {GEOMETRIC}."
        if is_told
        else f"Of {compared} of rates (ratios of {GEOMETRIC}): {'; '.join(said)}."
    )
    if not answer:
        return f"{title} {counts}"
    if table:
        return PARAGRAPH.join((f"{title} {lead}.", table, short, answer, " ".join([*intervals, counts])))
    if short:
        return PARAGRAPH.join((f"{title} {short}", answer, " ".join([*intervals, counts])))
    # A sentence alone is not worth a fold.
    return f"{title} {answer}{PARAGRAPH if intervals or not is_told else ' '}{' '.join([*intervals, counts])}"


def name_rate(compared: pl.DataFrame) -> str:
    """Return what is compared: the rate, or that per flow where the algorithms have different numbers of flows."""
    return "rate per flow" if compared["measure"].str.ends_with(PER_FLOW).all() else "rate"


def leave_out_shared(questions: pl.Series) -> pl.Series:
    """Return questions without the parts that all of them have; one alone keeps its own."""
    if questions.len() < 2:
        return questions
    shared = list_shared(questions.to_list())
    own = [", ".join(part for part in question.split(", ") if part not in shared) for question in questions]
    return pl.Series(own, dtype=pl.String)


def list_shared(questions: list[str]) -> list[str]:
    """Return the parts of a question, "no loss", that all of them have, in the order of the first."""
    parts = [question.split(", ") for question in questions]
    return [part for part in parts[0] if all(part in own for own in parts)]


def part_by_loss(pair: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return comparisons by whether their conditions have random loss, none, or do not say; {} where too few do.

    What does not say, of buffers or senders, is not told apart by loss.
    """
    is_lossy = pl.Series([find_loss(condition) for condition in pair["condition"]], dtype=pl.Boolean)
    lossy, lossless = pair.filter(is_lossy), pair.filter(~is_lossy)
    if min(lossy.height, lossless.height) < ENOUGH:
        return {}
    return {RANDOM: lossy, NO_LOSS: lossless, OTHER: pair.filter(is_lossy.is_null())}


def _answer(
    pair: pl.DataFrame,
    parts: Mapping[str, pl.DataFrame],
    rtts: pl.DataFrame,
    places: Mapping[str, str],
    *,
    names_most: bool,
) -> Iterator[str]:
    """Yield what most comparisons of each part, or of all, show, and where others are ahead."""
    leaders: set[str] = set()
    for kind, own in (parts or {"": pair}).items():
        where = f"{kind}{places[kind]} ".lstrip()
        if own.height < ENOUGH:
            continue
        (verdict, count), *others = Counter(own["verdict"]).most_common(2)
        if verdict == UNDECIDED or (others and others[0][1] == count):
            continue
        ahead = own.filter(verdict=verdict)
        leaders.update(ahead["ahead_algorithm"].drop_nulls())
        how_many = f"{f'all {count:,}' if count == own.height else f'{count:,} of {own.height:,}'} comparisons"
        if count == pair.height:
            how_many = link_comparisons(how_many, pair["measure"][0].removesuffix("_bps"))
        counted = f"{how_many}{_remark_published(own)}"
        lead, leads_count = _find_small_lead(ahead)
        said = f"{where}{say_verdict(verdict)} in {counted}"
        if leads_count == ahead.height:
            within = escape_text(verdict.removeprefix(WITHIN))
            said = f"{where}{lead} in {counted}: within the {within} that count as equal"
        elif lead:
            said += f" (within that, {lead} in {leads_count:,})"
        yield _add_most(said, ahead, rtts) if names_most else said
    for (name,), own in pair.group_by("ahead_algorithm", maintain_order=True):
        if leaders and name is not None and name not in leaders:
            shared = phrase_conditions(", ".join(list_shared(own["condition"].to_list())), name_rtts(rtts, own))
            each = "both" if own.height == 2 else "all"
            where = f", {each} {escape_text(shared)}" if shared and own.height > 1 else ""
            counted = f"{count_things(own.height, 'comparison')}{where}"
            only = f"{escape_text(str(name))} is faster in only {counted}"
            yield _add_most(only, own, rtts, is_placed=bool(where))


def _name_parts(parts: Mapping[str, pl.DataFrame], titles: Mapping[str, str]) -> dict[str, str]:
    """Return in brackets of each part, and of all, the tables and conditions that it is of, if that is to be said."""
    places = dict.fromkeys(("", *parts), "")
    if parts and parts[OTHER].height:
        if titles:
            places |= {kind: place_tables(parts[kind], titles) for kind in (RANDOM, NO_LOSS)}
        places[OTHER] = name_places(parts[OTHER], parts[NO_LOSS], titles)
    return places


def place_tables(compared: pl.DataFrame, titles: Mapping[str, str]) -> str:
    """Return, in brackets, the tables that comparisons are of."""
    return f" ({', '.join(name_table(name, titles) for name in compared['table_name'].unique(maintain_order=True))})"


def _find_small_lead(equal: pl.DataFrame) -> tuple[str, int]:
    """Return which of two algorithms that are equal within bounds surely is ahead all the same, and in how many."""
    sure = equal.filter(pl.col("ahead_algorithm").is_null(), pl.col("p_holm_ratio") < LEVEL)
    leads = sure.select(pl.max_horizontal("effect_mean_ratio", 1 / pl.col("effect_mean_ratio")) - 1).to_series() * 100
    is_first = (sure["effect_mean_ratio"] > 1).unique()
    if sure.is_empty() or is_first.len() > 1:
        return "", 0
    name = sure["first_algorithm" if is_first[0] else "second_algorithm"][0]
    ends = " to ".join(dict.fromkeys(show_plain(float(end), 2) for end in (leads.min(), leads.max())))  # type: ignore[arg-type]
    return f"{escape_text(name)} is {ends} &#37; ahead", sure.height


def _remark_published(own: pl.DataFrame) -> str:
    """Return in brackets how many comparisons the publication does not have, and of how many it looks wrong."""
    states = Counter(own[PUBLISHED] if PUBLISHED in own.columns else ())
    words = {
        UNPUBLISHED: ("is not in the paper", "are not in the paper"),
        SUSPECT: ("is suspect in the paper", "are suspect in the paper"),
    }
    said = [f"{states[state]:,} {words[state][states[state] > 1]}" for state in words if states[state]]
    return f" ({join_names(said)})" if said else ""


def name_places(others: pl.DataFrame, lossless: pl.DataFrame, titles: Mapping[str, str]) -> str:
    """Return, in brackets, the tables of some conditions; of a table that has others, too, how its own begin."""
    is_shared = pl.col("table_name").is_in(lossless["table_name"].implode())
    tables = others.filter(~is_shared)["table_name"].unique(maintain_order=True)
    begun = [condition.partition(",")[0] for condition in others.filter(is_shared)["condition"]]
    return f" ({', '.join([*(name_table(name, titles) for name in tables), *dict.fromkeys(map(escape_text, begun))])})"


def _answer_by_loss(pair: pl.DataFrame, rtts: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield by how much one algorithm is faster on long paths, for each loss at which it is so in all comparisons.

    Then how sure that is.
    """
    placed = _turn_ahead(pair).with_columns(
        loss=pl.Series([_find_part(LOSS, condition) for condition in pair["condition"]], dtype=pl.String),
        path=pl.Series([_find_part(LONG_PATH, condition) for condition in pair["condition"]], dtype=pl.String),
    )
    leads: dict[tuple[str, str, str], dict[str, tuple[str, str]]] = {}
    for (bucket, loss), own in placed.drop_nulls(("ahead", "loss", "path")).group_by(
        "path", "loss", maintain_order=True
    ):
        name, path = own["ahead_algorithm"][0], phrase_conditions(bucket, name_rtts(rtts, own))
        if own.height >= ENOUGH and name is not None and own["ahead_algorithm"].eq_missing(name).all():
            first, second = own.select("first_algorithm", "second_algorithm").row(0)
            ends = pl.concat([own["ahead_low"], own["ahead_high"]])
            within = "" if ends.null_count() else show_ends(ends)
            of_path = leads.setdefault((path, name, second if name == first else first), {})
            of_path[str(loss)] = (show_ends(own["ahead"]), within)
    for (path, name, other), by_loss in leads.items():
        times = [f"{lead} times at {loss}" for loss, (lead, _) in by_loss.items()]
        times[0] = times[0].replace(" times", f" times {other}’s {name_rate(placed)} (geometric means)", 1)
        known = [f"{ends} at {loss}" for loss, (_, ends) in by_loss.items() if ends]
        intervals = f" Their 95 % intervals are within {join_names(known)}." if known else ""
        yield (
            escape_text(f"{path} {name} has {join_names(times)}, depending on the condition"),
            escape_text(f"Each lead {path} is significant.{intervals}"),
        )


def _turn_ahead(pair: pl.DataFrame) -> pl.DataFrame:
    """Return comparisons with the ratio of the faster algorithm over the other, `ahead`, and its interval."""
    is_first = pl.col("effect_mean_ratio") >= 1
    turned = {"ahead": ("mean", "mean"), "ahead_low": ("low", "high"), "ahead_high": ("high", "low")}
    return pair.with_columns(
        pl.when(is_first)
        .then(f"effect_{of_first}_ratio")
        .otherwise(1 / pl.col(f"effect_{of_second}_ratio"))
        .alias(name)
        for name, (of_first, of_second) in turned.items()
    )


def _find_part(pattern: re.Pattern[str], condition: str) -> str | None:
    return next((part for part in condition.split(", ") if pattern.fullmatch(part)), None)


def find_loss(condition: str) -> bool | None:
    """Tell whether conditions have loss; None where they do not say."""
    loss_pct = read_loss_pct(condition)
    return None if loss_pct is None else loss_pct > 0


def say_verdict(verdict: str) -> str:
    """Return "BBR faster" or "equal within ±5 %" as the beginning of a sentence."""
    if verdict.endswith(FASTER):
        return f"{escape_text(verdict.removesuffix(FASTER))} is faster"
    return f"the two are {escape_text(verdict)}"


def _add_most(said: str, own: pl.DataFrame, rtts: pl.DataFrame, *, is_placed: bool = False) -> str:
    """Add to a sentence where the ratio of the mean rates is largest, of comparisons in which one algorithm is ahead.

    Where the sentence says where, only how large it is.

    It is the ratio of the table `comparisons`, a mean of logarithms, not that of the reproduction page.
    """
    known = _turn_ahead(own).drop_nulls(("ahead_algorithm", "ahead"))
    if known.is_empty():
        return said
    most = known.sort("ahead", descending=True, maintain_order=True).head(1)
    rate = f"{show_plain(most['ahead'].item())} times the {name_rate(own)}"
    if is_placed:
        return add_bracket(said, f"up to {rate}")
    phrase = escape_text(phrase_conditions(most["condition"].item(), name_rtts(rtts, most)))
    return add_bracket(f"{said}, most {phrase}" if own.height > 1 else said, rate)
