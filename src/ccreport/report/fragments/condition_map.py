"""A heat map of all compared conditions: each field has the ratio of two algorithms, and leads to their runs.

Rows are conditions, columns round-trip times. It is a table of HTML, so that each field is a link and has its number.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final

import polars as pl

from ccreport.core.text import make_label
from ccreport.report.first_page.rtts import BUCKET, NO_RTTS, name_rtts
from ccreport.report.markup.blocks import Html, text
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.summarise.grids.links import cell_href
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.summarise.questions import COMPARISONS
from ccreport.summarise.statistics.comparisons import UNDECIDED

# Ratios at which the next shade begins: differences of 5 %, 50 % and a factor of 3.
SHADES: Final = (1.05, 1.5, 3.0)
# The part of a question that names a column, "RTT < 30 ms", and the column of questions without one.
COLUMN: Final = "RTT "
ONLY_COLUMN: Final = "Ratio"
NOT_TESTED: Final = Html('<td class="none">not tested</td>')
TITLES: Final = {
    "goodput": "Goodput",
    "throughput": "Throughput",
    "retransmit": "Retransmit ratio",
    "completion": "Completion time",
}


def render_condition_map(
    asked: pl.DataFrame, titles: Mapping[str, str], rows_at_most: int, rtts: pl.DataFrame = NO_RTTS
) -> str:
    """Return a map for each measure of the table `comparisons`; nothing where it has no row.

    `titles` are those of the evaluation's tables, `rtts` is as `read_rtts` returns it. Of the comparisons, numbered
    from 1 as in the table's CSV file, only the first `rows_at_most` have a page of their runs.
    """
    rows = list(asked.with_row_index("number", 1).iter_rows(named=True))
    measures = dict.fromkeys(row["measure"] for row in rows)
    by_measure = {measure: [row for row in rows if row["measure"] == measure] for measure in measures}
    parts = (_render_measure(measure, own, titles, rows_at_most, rtts) for measure, own in by_measure.items())
    return "\n".join(chain.from_iterable(parts))


def choose_shade(ratio: float | None) -> str:
    """Return the class of a field: how far and to which side a ratio is from 1; none for no ratio."""
    if ratio is None or not ratio > 0 or math.isinf(ratio):
        return ""
    distance = max(ratio, 1 / ratio)
    step = sum(distance >= shade for shade in SHADES)
    return f"shade-{'first' if ratio > 1 else 'second'}-{step}" if step else "shade-equal"


def _render_measure(
    measure: str, rows: list[dict[str, Any]], titles: Mapping[str, str], rows_at_most: int, rtts: pl.DataFrame
) -> Iterator[str]:
    title = next((shown for start, shown in TITLES.items() if measure.startswith(start)), measure)
    pairs = dict.fromkeys((row["first_algorithm"], row["second_algorithm"]) for row in rows)
    of_pairs = ", ".join(f"{first} over {second}" for first, second in pairs)
    yield f"## {escape_text(title)} {{#{make_label('map', measure)}}}\n"
    yield (
        f"Ratio of the geometric means of {escape_text(of_pairs)}, with its 95 &#37; interval. Bold: one is "
        f"significantly ahead. ≈: the two are {escape_text(_name_equality(rows))}. ? and stripes: undecided. Below: "
        f"runs of each algorithm (n), and the ratio of the arithmetic means.{_explain_correction(rows)}\n"
    )
    maps = "\n".join(
        fence_html(
            _render_map(list(own), titles.get(table, "") if table != COMPARISONS else "", title, rows_at_most, rtts)
        )
        for table, own in groupby(rows, itemgetter("table_name"))
    )
    # Each table is a block of its own, as the PDF takes them.
    yield f"::: {{.maps}}\n\n{maps}\n\n:::\n"


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


def _render_map(rows: list[dict[str, Any]], heading: str, measure: str, rows_at_most: int, rtts: pl.DataFrame) -> str:
    """Return the map of the questions about one table."""
    columns = list(dict.fromkeys(split_question(row["question"])[1] for row in rows))
    # "Table II": the rest of its title is about what it shows itself.
    names = (text(heading.partition(":")[0] or "Condition"), *(_head_column(column, rows, rtts) for column in columns))
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "\n".join(_render_rows(rows, columns, rows_at_most))
    label = f"{measure} by condition" + (f": {heading}" if heading else "")
    return (
        f'<div class="table-scroll" role="region" aria-label="{text(label)}" tabindex="0">\n'
        f'<table class="data condition-map">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


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


def _render_rows(rows: list[dict[str, Any]], columns: list[str], rows_at_most: int) -> Iterator[str]:
    fields: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        label, column = split_question(row["question"])
        fields.setdefault((label, row["first_algorithm"], row["second_algorithm"]), {})[column] = row
    for (label, *_), of_columns in fields.items():
        shown = "".join(_render_field(of_columns.get(column), rows_at_most) for column in columns)
        yield f'<tr><th scope="row">{text(label)}</th>{shown}</tr>'


def _count_runs(row: Mapping[str, Any]) -> str:
    """Return the runs of each algorithm, `n 5`, or `n 5, 4` where they differ."""
    return f"n {', '.join(dict.fromkeys(str(row[f'{which}_runs_count']) for which in ('first', 'second')))}"


def _compare_means(row: Mapping[str, Any]) -> str:
    """Return the ratio of the arithmetic means, that of the reproduction page, behind a mark and on its own line.

    The mark keeps it apart where a phone, or a screen reader, leaves out the break; without a ratio it is empty.
    """
    first, second = row["first_mean"], row["second_mean"]
    return f"; <br>{text(f'mean ratio {show_plain(first / second)}')}" if first and second else ""


def _render_field(row: Mapping[str, Any] | None, rows_at_most: int) -> str:
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
    shown = Html(f"{shown}<br><small>{text(_count_runs(row))}{_compare_means(row)}</small>")
    kind = f"number {choose_shade(ratio)}" + (" undecided" if row["verdict"] == UNDECIDED else "")
    if row["number"] <= rows_at_most:
        told = f"{row['question']}: {row['verdict']}"
        link = f'<a href="{cell_href(COMPARISONS, row["number"])}" title="{text(told)}">{shown}</a>'
        return f'<td class="{kind}">{link}</td>'
    return f'<td class="{kind}">{shown}</td>'
