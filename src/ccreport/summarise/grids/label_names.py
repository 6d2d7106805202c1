"""What an evaluation calls its labels and their values: in columns of tables, and in words that name conditions.

A value has the name by which its own label shows it, whatever another label calls the same value.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import polars as pl

from ccreport.core.evaluation import MEANS
from ccreport.core.tables import load_schema
from ccreport.summarise.grids.headings import begin_small, name_value
from ccreport.summarise.published import list_cells, word_cell
from ccreport.summarise.questions import LABELS
from ccreport.summarise.table_sources import BETWEEN_LABELS, divide_labels, list_own_labels

# By label, what its values are shown as.
Shown = Mapping[str, Mapping[str, str]]
# Where the value of a label may be in words, its group, and what the whole is called with a value.
Part = tuple[re.Pattern[str], Callable[[str], str]]
# Of a cell that was compared, the label that the cell here has.
MATCHED: Final = "matched_"
# Columns that name conditions in words, and those that say which table or exhibit the conditions are of.
IN_WORDS: Final = ("question", "cell")
TABLE: Final = "table_name"
EXHIBIT: Final = "exhibit"
# How words have the values of a label, where they do not have them alone.
WORDED: Final = {"sender_speed": "{} sender"}
PART: Final = r"(?:^|, )({})(?=, |$)"


def read_shown_names(labels: Mapping[str, Mapping[str, Any]]) -> Shown:
    """Return by label of an evaluation what its values are shown as, `{"path_class": {"esnet": "ESnet"}}`."""
    shown = {
        label: {case["value"]: case["shown"] for case in facts["cases"] if "shown" in case}
        for label, facts in labels.items()
    }
    return {label: names for label, names in shown.items() if names}


def show_names(rows: pl.DataFrame, shown: Shown) -> pl.DataFrame:
    """Return rows whose columns of labels have the values as they are shown, as have the pairs of `labels`."""
    columns = _show_columns(rows, shown)
    return _map_labels(columns, BETWEEN_LABELS, lambda label, value: f"{label}={_show(shown, label, value)}")


def call_labels(rows: pl.DataFrame, declared: Mapping[str, Any]) -> pl.DataFrame:
    """Return rows in which labels are called as an evaluation shows them, also in words: "40G sender, ESnet, both".

    Words are questions and cells of which a column says the table or the exhibit, and the column `labels`.
    """
    shown = read_shown_names(declared["labels"])
    named = _map_labels(_show_columns(rows, shown), ", ", _name_labels(declared, shown))
    column = next((column for column in IN_WORDS if column in rows.columns), "")
    beside = next((beside for beside in (TABLE, EXHIBIT) if beside in rows.columns), "")
    if not column or not beside:
        return named
    called = dict(_call_cells(declared["published"], shown)) if beside == EXHIBIT else {}
    parts = {name: [*_list_parts(name, declared, shown)] for name in rows[beside].unique() if beside == TABLE}
    texts = [
        called.get((name, text)) or _call_within(text, parts.get(name, ()))
        for name, text in rows.select(beside, column).rows()
    ]
    return named.with_columns(pl.Series(column, texts, dtype=pl.String))


def _show_columns(rows: pl.DataFrame, shown: Shown) -> pl.DataFrame:
    names = {column: shown.get(column.removeprefix(MATCHED)) for column in rows.columns}
    return rows.with_columns(pl.col(column).replace(own) for column, own in names.items() if own)


def _show(shown: Shown, label: str, value: str) -> str:
    return shown.get(label, {}).get(value, value)


def _map_labels(rows: pl.DataFrame, between: str, name: Callable[[str, str], str]) -> pl.DataFrame:
    """Return rows in whose column `labels`, if they have one, each pair of label and value has a name."""
    if LABELS not in rows.columns:
        return rows
    texts = [
        None if text is None else between.join(name(*pair) for pair in divide_labels(text).items())
        for text in rows[LABELS]
    ]
    return rows.with_columns(pl.Series(LABELS, texts, dtype=pl.String))


def _name_labels(declared: Mapping[str, Any], shown: Shown) -> Callable[[str, str], str]:
    """Return what names a label of the table `means` with a value of it, by the table's heading where it has one."""
    headings = declared["tables"].get(MEANS, {}).get("headings", {})

    def name(label: str, value: str) -> str:
        return begin_small(name_value(label, _show(shown, label, value) or "unknown", headings.get(label, "")))

    return name


def _call_cells(published: Mapping[str, Any], shown: Shown) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield title and cell of each published number, with the cell as its labels are shown."""
    for facts in published.values():
        for cell, key, _ in list_cells(facts):
            yield (facts["title"], cell), word_cell(facts["columns"], (_show(shown, *part) for part in key.items()))


def _list_parts(table: str, declared: Mapping[str, Any], shown: Shown) -> Iterator[Part]:
    """Yield the labels that conditions of a table have, in the order in which the words name them."""
    labels: Mapping[str, Any] = declared["labels"]
    own = [name for name in load_schema(table).key if name in labels]
    if table == MEANS:
        own = list_own_labels(declared["tables"].get(MEANS, {}), labels)
    name = _name_labels(declared, shown)
    for label in own:
        # The longest first, as a regular expression takes the first that fits.
        values = sorted((re.escape(case["value"]) for case in labels[label]["cases"]), key=len, reverse=True)
        if table == MEANS:
            words = f"{re.escape(label.replace('_', ' '))} (?P<value>{'|'.join([*values, '[^,]*'])})"
            yield re.compile(PART.format(words)), partial(name, label)
        else:
            worded = WORDED.get(label, "{}")
            pattern = re.compile(PART.format(worded.format(f"(?P<value>{'|'.join(values)})")))
            yield pattern, partial(_word, worded, shown.get(label, {}))


def _word(worded: str, names: Mapping[str, str], value: str) -> str:
    return worded.format(names.get(value, value))


def _call_within(text: str, parts: Sequence[Part]) -> str:
    """Return words with their labels as they are shown, each behind the one before."""
    place = 0
    for pattern, name in parts:
        if found := pattern.search(text, place):
            before = f"{text[: found.start(1)]}{name(found['value'])}"
            text, place = f"{before}{text[found.end(1) :]}", len(before)
    return text
