"""Rows of a published table, named by `key=value,…` as people type them."""

import difflib
import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import polars as pl

from ccreport.core.errors import InputError
from ccreport.core.schema_problems import find_near, guess_near
from ccreport.core.tables import load_schema
from ccreport.core.text import display_name
from ccreport.figures.kit.theme import style_of
from ccreport.summarise.grids.grid import MISSING, format_size
from ccreport.summarise.questions import LABELS
from ccreport.summarise.table_sources import divide_labels

ALGORITHM: Final = "algorithm"
# More rows than this are not listed, and no more values of a key.
ROWS_AT_MOST: Final = 12
NO_MEMBERS: Final[Mapping[str, Sequence[str]]] = {}
# Longer ones first, as a regular expression takes the first that fits.
COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "≥": operator.ge,
    "≤": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
# 0.5 % · 20 Mbit/s · 100ms
WITH_UNIT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z%][A-Za-z/]*)")
# Of the unit that ends a column's name, how much of it others are.
UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "pct": {"%": 1},
    "ms": {"ms": 1, "s": 1e3},
    "s": {"s": 1, "ms": 1e-3},
    "bps": {
        f"{prefix}{unit}": factor
        for prefix, factor in (("", 1), ("k", 1e3), ("m", 1e6), ("g", 1e9))
        for unit in ("bit/s", "bps")
    },
}
# Other languages' signs, which are refused.
FOREIGN: Final = ("!=", "<>", "==")
OPERATOR: Final = "|".join((*FOREIGN, *COMPARISONS, "="))
# flows_count=16,rtt_ms=80: a value with a key behind it that no table has
START_OF_UNKNOWN: Final = re.compile(rf",\s*(?=\w+(?:{OPERATOR}))")
# both flows_count=16
OTHERWISE_PARTED: Final = re.compile(rf"[;\s]\s*\w+(?:{OPERATOR})")
# How keyboards have what the tables write otherwise: RTT ≥ 30 ms, RTT 10–30 ms.
TYPED: Final = str.maketrans({"≥": ">=", "≤": "<=", "–": "-"})
WORD_BEGINS: Final = r"(?<![^\W_])(?<!\.)"
WORD_ENDS: Final = r"(?![^\W_]|\.)"
NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
# RTT >= 30 ms, 0.1 % loss
AT_SIGN: Final = re.compile(r"(?<=[<>=])\s+|(?<=\d)\s+(?=%)")
# How much of a word of a key another is like: `flow` is one of flows_count, `loss` is not.
LIKE_WORD: Final = 0.75


def find_row(summary: pl.DataFrame, table: str, *wanted: str, members: Mapping[str, Sequence[str]] = NO_MEMBERS) -> int:
    """Return the number, from 1, of the one row that all `key=value,…` name; raise InputError that lists what there is.

    Numbers are compared as such (`loss_pct=0.10`), also by <, <=, > and >=. What `labels` holds are keys of their own.
    `members` are the algorithms of the kernel that each algorithm is made of: the name of its only one stands for it.
    """
    labels, keys = _read_labels(summary), load_schema(table).key
    fitting = whole = summary.with_columns(labels).with_row_index("number", offset=1)
    known = (*keys, *(label.name for label in labels))
    start_of_key = rf",\s*(?=(?:{'|'.join(map(re.escape, known))})\s*(?:{OPERATOR}))"
    refused = []
    parts = [part for text in wanted if text for part in re.split(start_of_key, text)]
    for part in parts:
        try:
            fitting = _select(fitting, whole, table, known, part, members)
        except InputError as error:
            divided = START_OF_UNKNOWN.split(part)
            if len(divided) > 1:
                parts += divided
            else:
                refused.append(str(error))
    if refused:
        raise InputError("\n  ".join(refused))
    if fitting.height != 1:
        raise InputError("\n  ".join(list_fitting(table, fitting, summary)))
    return int(fitting["number"][0])


def list_fitting(table: str, rows: pl.DataFrame, summary: pl.DataFrame) -> list[str]:
    """Return lines on rows of a table: each by what names it, or of many the values of each key, and one of them."""
    # A key that no row of the table has tells none apart.
    told = tuple(name for name in load_schema(table).key if summary[name].null_count() < summary.height)
    named = (name_row(table, row, told) for row in rows.iter_rows(named=True))
    if rows.height <= ROWS_AT_MOST:
        return [f"{table}: {rows.height:,} rows fit; name one of them:", *named]
    lines = [f"{table}: {rows.height:,} rows fit; name one by values of these keys:"]
    labels, whole = [label.name for label in _read_labels(summary)], rows.with_columns(_read_labels(rows))
    names = [*labels, *(name for name in told if not (labels and name == LABELS))]
    width = max(map(len, names))
    for name in names:
        held = [display_name(_spell(name, value)[0]) for value in _list_held(whole[name])]
        more = [f"and {len(held) - ROWS_AT_MOST} more"] if len(held) > ROWS_AT_MOST else []
        lines.append(f"{name:{width}}  {' | '.join([*held[:ROWS_AT_MOST], *more])}")
    return [*lines, f'for example --row "{next(named)}"']


def _list_held(column: pl.Series) -> pl.Series:
    """Return each value of a key once: numbers by size, texts in the order of the table."""
    held = column.unique(maintain_order=True)
    return held.sort() if column.dtype.is_numeric() else held


def _read_labels(summary: pl.DataFrame) -> list[pl.Series]:
    """Return the labels of a table's rows, `name=value; …` in one column, as a column each."""
    if LABELS not in summary.columns:
        return []
    told = [divide_labels(text) for text in summary[LABELS]]
    names = dict.fromkeys(name for row in told for name in row)
    return [
        pl.Series(name, [row.get(name) for row in told], pl.String) for name in names if name not in summary.columns
    ]


def _refuse_key(table: str, keys: tuple[str, ...], name: str, columns: Collection[str], hint: str = "") -> InputError:
    if name in columns:
        hint = ": that is a number, and of the row that you name by its keys all numbers are shown; leave it out"
    near = _guess_key(name, keys)
    meant = f"; did you mean `{near}`?" if near else f"; name a cell by {', '.join(keys)}, each as key=value"
    return InputError(f"{table} has no key `{name}`{hint or meant}")


def _guess_key(name: str, keys: Collection[str]) -> str | None:
    """Return the key that is nearly the same as a name, or has a word that is nearly one of its own."""
    if (near := find_near(name, keys)) is None:
        return None
    words = [near, *near.split("_")]
    is_meant = any(difflib.get_close_matches(word, words, n=1, cutoff=LIKE_WORD) for word in name.lower().split("_"))
    return near if is_meant else None


def _select(
    rows: pl.DataFrame,
    whole: pl.DataFrame,
    table: str,
    keys: tuple[str, ...],
    part: str,
    members: Mapping[str, Sequence[str]],
) -> pl.DataFrame:
    """Return the rows that one `key=value` names, of those that others have left of the `whole` table."""
    match = re.fullmatch(rf"\s*(.*?)\s*({OPERATOR})\s*(.*?)\s*", part, re.DOTALL)
    name, sign, value = match.groups() if match else (part.strip(), "", "")
    if sign in FOREIGN:
        raise InputError(f"{table}: `{sign}` is not one of the comparisons, which are =, <, <=, > and >=")
    if name in keys and not sign:
        raise InputError(f"{table}: the key `{name}` needs a value; write `{name}={rows[name][0]}`, for example")
    if name not in keys:
        number = _read_number(value)
        # Texts have a number in plain digits: 1e-3 is that of 0.001 % loss.
        plain = value if number is None else f"{number:g}"
        wanted = plain if sign == "=" else f"{sign}{plain}" or name
        held = {key: whole[key].unique().to_list() for key in keys if key in whole.columns}
        holding = [key for key, values in held.items() if _choose(key, values, "=", wanted)]
        # A number in a text says more than the likeness of names does, and one that many columns may have says less.
        of_text = [key for key in holding if rows[key].dtype == pl.String]
        near = _guess_key(name, keys)
        held_by = of_text or ([] if near else holding)
        if near in holding:
            held_by = [near]
        meant = f"{''.join(held_by[:1])}{'' if sign and sign != '=' else '='}{wanted}"
        hint = f"; did you mean `{meant}`?" if held_by else ""
        raise _refuse_key(table, keys, name, rows.columns, hint)
    if sign == "=" and value[:1] in ("<", ">") and rows[name].dtype.is_numeric():
        # flows_count=>16
        sign, value = f"{value[0]}=", value[1:].strip()
    known = _list_held(rows[name]).to_list()
    chosen = _choose(name, known, sign, value) or _choose(name, known, "=", f"{sign}{value}")
    if not chosen and name == ALGORITHM:
        own = {one: members.get(one, ()) for one in known}
        chosen = [one for one, ccs in own.items() if [style_of(cc).name for cc in ccs] == [value]]
        # CUBIC is the kernel's cubic alone, however that is written.
        chosen = chosen or [one for one, ccs in own.items() if [cc.lower() for cc in ccs] == [value.lower()]]
    if not chosen:
        spelt = [display_name(_spell(name, held_value)[0]) for held_value in known]
        offered = ", ".join(f"`{spelling}`" for spelling in spelt) or "none"
        wanted = value if sign == "=" else f"{sign} {value}"
        # A number is meant as it is, in a text too: `RTT 30 ms`.
        has_words_of_one = NUMBER.sub("", value) in {NUMBER.sub("", spelling) for spelling in spelt}
        is_number = _read_number(value) is not None
        hint = guess_near(value, spelt) if sign == "=" and not is_number and not has_words_of_one else ""
        if sign != "=" and not is_number:
            hint = f"; `{value}` is not a number"
        told = [one for one in known if one in members and [cc.lower() for cc in members[one]] != [one.lower()]]
        about = "".join(f" ({one} is {' and '.join(members[one])} here)" for one in told)
        if OTHERWISE_PARTED.search(value):
            about = "; commas part one key=value from the next"
        raise InputError(f"{table} has no {name} `{wanted}` there{hint or f'; there are {offered}'}{about}")
    return rows.filter(pl.any_horizontal(pl.col(name).eq_missing(pl.lit(held_value)) for held_value in chosen))


def _choose(name: str, held: list[Any], sign: str, value: str) -> list[Any]:
    """Return the values of a key that are meant; without an equal one, texts and times of which the words are a part.

    A time needs no zone. `40G` stands for `40g` where nothing is spelt so, and `goodput` for `goodput_bps`. An
    algorithm is not its kernel's of nearly the same name.
    """
    folds: list[Callable[[str], str]] = [str] if name == ALGORITHM else [str, str.casefold]
    for fold in folds:
        if chosen := [held_value for held_value in held if _fits(name, held_value, sign, value, fold)]:
            return chosen
    flags = re.IGNORECASE if len(folds) > 1 else re.NOFLAG
    typed = _type(value)
    # A sign needs no blank around it: the one of RTT >=30 ms.
    begins, ends = (WORD_BEGINS if typed[:1].isalnum() else ""), (WORD_ENDS if typed[-1:].isalnum() else "")
    words = re.compile(f"{begins}{re.escape(typed)}{ends}", flags)
    texts = [held_value for held_value in held if isinstance(held_value, str | datetime)]
    return [text for text in texts if words.search(_type(str(text)))] if sign == "=" and value else []


def _type(text: str) -> str:
    """Return a text as keyboards have it, without the blank after a sign or in front of a per cent: RTT >=30 ms."""
    return AT_SIGN.sub("", text.translate(TYPED))


def _fits(name: str, held: Any, sign: str, value: str, fold: Callable[[str], str]) -> bool:
    number = _read_quantity(name, value)
    is_number = isinstance(held, (int, float)) and not isinstance(held, bool)
    if sign != "=":
        return is_number and number is not None and COMPARISONS[sign](held, number)
    if is_number and number is not None and math.isclose(held, number):
        return True
    return fold(_type(value)) in (fold(_type(spelling)) for spelling in _spell(name, held))


def _read_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _read_quantity(name: str, text: str) -> float | None:
    """Return the number that a text is in the unit of a column, which the text may have or another one: 20 Mbit/s."""
    if (number := _read_number(text)) is not None:
        return number
    match = WITH_UNIT.fullmatch(text)
    factor = UNITS.get(name.rpartition("_")[2], {}).get(match[2].lower()) if match else None
    return float(match[1]) * factor if match and factor else None


def _spell(name: str, value: Any) -> list[str]:
    """Return how a key may be written: as in the CSV file, a size also as on the pages."""
    if value is None:
        return [MISSING, ""]
    size = format_size(value) if name.endswith("_bytes") else ""
    return [str(value), *filter(None, (size, size.replace(" ", "")))]


def name_row(table: str, row: Mapping[str, Any], keys: Iterable[str] | None = None) -> str:
    """Return what names a row of a table, as `explain` takes it, by its whole key or by some columns of it."""
    names = load_schema(table).key if keys is None else keys
    parts = {name: _spell(name, row[name])[0] for name in names}
    labels = divide_labels(row[LABELS]) if LABELS in parts else {}
    # A label with the name of a column is not a key of its own.
    if labels and not labels.keys() & load_schema(table).polars.keys():
        parts = labels | {name: text for name, text in parts.items() if name != LABELS}
    return display_name(",".join(f"{name}={text}" for name, text in parts.items()))
