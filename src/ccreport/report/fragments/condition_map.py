"""A heat map of all compared conditions: each field has the ratio of two algorithms, and leads to their runs.

Rows are conditions, columns round-trip times. It is a table of HTML, so that each field is a link and has its number.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things, make_label
from ccreport.figures.kit.series_styles import style_series
from ccreport.figures.kit.theme import STYLES
from ccreport.report.first_page.rtts import BUCKET, NO_RTTS, name_rtts
from ccreport.report.fragments.first_page.rate_findings import PER_FLOW
from ccreport.report.markup.blocks import Html, text
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.summarise.grids.links import cell_href
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.summarise.questions import COMPARISONS
from ccreport.summarise.statistics.comparisons import RUNS_AT_LEAST, UNDECIDED, has_too_few

# Ratios at which the next shade begins: differences of 5 %, 50 % and a factor of 3.
SHADES: Final = (1.05, 1.5, 3.0)
# A ratio of arithmetic means within this factor of the large number says the same as that.
SAME: Final = 1.05
# The part of a question that names a column, "RTT < 30 ms", and the column of questions without one.
COLUMN: Final = "RTT "
ONLY_COLUMN: Final = "Ratio"
# Paper has none of them.
STRIPES: Final = '[&#160;and stripes]{.content-visible when-format="html"}'
NOT_TESTED: Final = Html('<td class="none">not tested</td>')
TITLES: Final = {
    "goodput": "Goodput",
    "throughput": "Throughput",
    "retransmit": "Retransmit ratio",
    "completion": "Completion time",
}


@dataclass(frozen=True)
class Look:
    """How the fields of a map look: the colour of each algorithm, and of how many runs of each no field says so."""

    colours: Mapping[str, str]
    usual_runs: tuple[int, int]
    rows_at_most: int


def choose_colours(
    names: Collection[str], members: Mapping[str, Sequence[str]], held: Collection[str]
) -> dict[str, str]:
    """Return the algorithm of the kernel whose colour an algorithm of comparisons has, as in figures.

    `members` are the kernel's algorithms that go by the name of a group, of which the archive has those in `held`.
    """
    first = {name: next((cc for cc in members.get(name, ()) if cc in held), "") for name in names}
    others = style_series(sorted(name for name, cc in first.items() if cc not in STYLES))
    return {name: cc if cc in STYLES else others[name] for name, cc in first.items()}


def render_condition_map(
    asked: pl.DataFrame,
    titles: Mapping[str, str],
    rows_at_most: int,
    rtts: pl.DataFrame = NO_RTTS,
    *,
    members: Mapping[str, Sequence[str]] = MappingProxyType({}),
    held: Collection[str] = (),
) -> str:
    """Return a map for each measure of the table `comparisons`; nothing where it has no row.

    `titles` are those of the evaluation's tables, `rtts` is as `read_rtts` returns it. Of the comparisons, numbered
    from 1 as in the table's CSV file, only the first `rows_at_most` have a page of their runs. `members` and `held` are
    as `choose_colours` takes them.
    """
    if asked.is_empty():
        return ""
    colours = choose_colours({*asked["first_algorithm"], *asked["second_algorithm"]}, members, held)
    rows = list(asked.with_row_index("number", 1).iter_rows(named=True))
    measures = dict.fromkeys(row["measure"] for row in rows)
    by_measure = {measure: [row for row in rows if row["measure"] == measure] for measure in measures}
    parts = (
        _render_measure(measure, own, titles, Look(colours, find_usual_runs(own), rows_at_most), rtts)
        for measure, own in by_measure.items()
    )
    return "\n".join(chain.from_iterable(parts))


def choose_shade(row: Mapping[str, Any], colours: Mapping[str, str]) -> str:
    """Return the classes of a field: how far its ratio is from 1, and who has more; none for no ratio."""
    ratio = row["effect_mean_ratio"]
    if ratio is None or not ratio > 0 or math.isinf(ratio):
        return ""
    step = sum(max(ratio, 1 / ratio) >= shade for shade in SHADES)
    more = row["first_algorithm"] if ratio > 1 else row["second_algorithm"]
    return f"shade-{step} of-{colours[more]}" if step else "shade-equal"


def find_usual_runs(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return how many runs of both algorithms most fields have; of several the first."""
    counts = Counter((row["first_runs_count"], row["second_runs_count"]) for row in rows)
    return counts.most_common(1)[0][0]


def _render_measure(
    measure: str, rows: list[dict[str, Any]], titles: Mapping[str, str], look: Look, rtts: pl.DataFrame
) -> Iterator[str]:
    title = next((shown for start, shown in TITLES.items() if measure.startswith(start)), measure)
    title += " per flow" if measure.endswith(PER_FLOW) else ""
    pairs = dict.fromkeys((row["first_algorithm"], row["second_algorithm"]) for row in rows)
    of_pairs = ", ".join(f"{first} over {second}" for first, second in pairs)
    yield f"## {escape_text(title)} {{#{make_label('map', measure)}}}\n"
    is_tested = not all(map(has_too_few, rows))
    interval = ", with its 95 &#37; interval" if is_tested else ""
    why = "" if is_tested else f", as a verdict needs {RUNS_AT_LEAST} runs of each algorithm"
    yield (
        f"Ratio of the geometric means of {escape_text(of_pairs)}{interval}. Bold: one is significantly ahead. "
        f"≈: the two are {escape_text(_name_equality(rows))}. ?{STRIPES}: undecided{why}. Below, where it is more than "
        f"5 &#37; from the large number: the ratio of the arithmetic means. {_say_usual_runs(look)}"
        f"{_explain_correction(rows)}\n"
    )
    yield _explain_colours(rows, look)
    maps = "\n".join(
        fence_html(_render_map(list(own), titles.get(table, "") if table != COMPARISONS else "", title, look, rtts))
        for table, own in groupby(rows, itemgetter("table_name"))
    )
    # Each table is a block of its own, as the PDF takes them.
    yield f"::: {{.maps}}\n\n{maps}\n\n:::\n"


def _say_usual_runs(look: Look) -> str:
    """Return how many runs a field is of that does not say so."""
    first, second = look.usual_runs
    counted = count_things(first, "run") if first == second else f"{first} and {second} runs"
    return f"The algorithms have {counted}{' each' if first == second else ''} in a field that gives no n."


def _explain_colours(rows: list[dict[str, Any]], look: Look) -> str:
    """Return the colour of each algorithm, on the screen."""
    names = dict.fromkeys(row[name] for row in rows for name in ("first_algorithm", "second_algorithm"))
    keys = ", ".join(f"[{escape_text(name)}]{{.shade-3 .of-{look.colours[name]}}}" for name in names)
    return f':::: {{.map-key}}\n\n::: {{.content-visible when-format="html"}}\n\nMore has: {keys}\n\n:::\n\n::::\n'


def _join_counts(counts: Sequence[int]) -> str:
    return ", ".join(map(str, dict.fromkeys(counts)))


def _explain_correction(rows: list[dict[str, Any]]) -> str:
    """Return why fields have a ? although their interval excludes 1, and how many; nothing where none has."""
    count = sum(row["verdict"] == UNDECIDED and _excludes_one(row) for row in rows)
    asked = max((row["tests_count"] or 0 for row in rows), default=0)
    if not count or not asked:
        return ""
    fields = "1 field has" if count == 1 else f"{count} fields have"
    return (
        f" {fields} a ? although the interval excludes 1: an interval covers only its own field, while the test is "
        f"corrected (Holm) for all questions about a table (up to {asked}), some of which would look significant by "
        "chance."
    )


def _excludes_one(row: Mapping[str, Any]) -> bool:
    low, high = row["effect_low_ratio"], row["effect_high_ratio"]
    return low is not None and high is not None and (low > 1 or high < 1)


def _name_equality(rows: list[dict[str, Any]]) -> str:
    """Return how near two algorithms are that the verdicts of a measure call equal."""
    equal = (row["verdict"] for row in rows if row["ahead_algorithm"] is None and row["verdict"] != UNDECIDED)
    return next(equal, "equal")


def _render_map(rows: list[dict[str, Any]], heading: str, measure: str, look: Look, rtts: pl.DataFrame) -> str:
    """Return the map of the questions about one table."""
    columns = sorted(dict.fromkeys(split_question(row["question"])[1] for row in rows), key=_find_number)
    # "Table II": the rest of its title is about what it shows itself.
    names = (text(heading.partition(":")[0] or "Condition"), *(_head_column(column, rows, rtts) for column in columns))
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "\n".join(_render_rows(rows, columns, look))
    label = f"{measure} by condition" + (f": {heading}" if heading else "")
    return (
        f'<div class="table-scroll" role="region" aria-label="{text(label)}" tabindex="0">\n'
        f'<table class="data condition-map">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _find_number(column: str) -> float:
    """Return the first number of a column's name, by which columns are sorted."""
    found = re.search(r"\d+(\.\d+)?", column)
    return float(found[0]) if found else math.inf


def _head_column(column: str, rows: list[dict[str, Any]], rtts: pl.DataFrame) -> Html:
    """Return the heading of a column, with the round-trip times here that it pools."""
    own = [(row["table_name"], row["question"]) for row in rows if split_question(row["question"])[1] == column]
    asked = pl.DataFrame(own, schema={"table_name": pl.String, "question": pl.String}, orient="row")
    here = name_rtts(rtts, asked) if BUCKET.fullmatch(column) else ""
    return Html(f"{text(column)}<br><small>here {text(here)}</small>") if here else text(column)


def split_question(question: str) -> tuple[str, str]:
    """Return a question's words for a row and for a column of the map: "no loss, 1 flow" and "RTT < 30 ms"."""
    parts = question.split(", ")
    column = next((part for part in parts if part.startswith(COLUMN)), ONLY_COLUMN)
    return ", ".join(part for part in parts if part != column), column


def _render_rows(rows: list[dict[str, Any]], columns: list[str], look: Look) -> Iterator[str]:
    fields: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        label, column = split_question(row["question"])
        fields.setdefault((label, row["first_algorithm"], row["second_algorithm"]), {})[column] = row
    pairs = {(first, second) for _, first, second in fields}
    for (label, first, second), of_columns in fields.items():
        shown = "".join(_render_field(of_columns.get(column), look) for column in columns)
        pair = f"<br><small>{text(f'{first} over {second}')}</small>" if len(pairs) > 1 else ""
        yield f'<tr><th scope="row">{text(label)}{pair}</th>{shown}</tr>'


def _list_details(row: Mapping[str, Any], look: Look) -> list[str]:
    """Return what a field says below its number: the ratio of the arithmetic means and its runs, if these differ."""
    ratio, first, second = row["effect_mean_ratio"], row["first_mean"], row["second_mean"]
    means = first / second if first and second else None
    is_same = means is not None and ratio and max(means / ratio, ratio / means) <= SAME
    counts = (row["first_runs_count"], row["second_runs_count"])
    return [
        *([f"mean ratio {show_plain(means)}"] if means is not None and not is_same else []),
        *([f"n {_join_counts(counts)}"] if counts != look.usual_runs else []),
    ]


def _render_field(row: Mapping[str, Any] | None, look: Look) -> str:
    if row is None:
        return NOT_TESTED
    ratio, low, high = (row[f"effect_{name}_ratio"] for name in ("mean", "low", "high"))
    is_zero = row["first_mean"] == row["second_mean"] == 0
    shown = text(show_plain(ratio) if ratio is not None else "both 0" if is_zero else "no ratio")
    if row["ahead_algorithm"] is not None:
        shown = Html(f"<strong>{shown}</strong>")
    elif row["verdict"] == UNDECIDED:
        shown = Html(f"{shown}&nbsp;?")
    elif ratio is not None:
        shown = Html(f"≈ {shown}")
    if low is not None and high is not None and math.isfinite(high):
        shown = Html(f"{shown} <small>{text(f'{show_plain(low)}–{show_plain(high)}')}</small>")
    if details := _list_details(row, look):
        shown = Html(f"{shown}<br><small>{text(', '.join(details))}</small>")
    kind = f"number {choose_shade(row, look.colours)}" + (" undecided" if row["verdict"] == UNDECIDED else "")
    if row["number"] <= look.rows_at_most:
        told = f"{row['question']}, {row['first_algorithm']} over {row['second_algorithm']}: {row['verdict']}"
        link = f'<a href="{cell_href(COMPARISONS, row["number"])}" title="{text(told)}">{shown}</a>'
        return f'<td class="{kind}">{link}</td>'
    return f'<td class="{kind}">{shown}</td>'
