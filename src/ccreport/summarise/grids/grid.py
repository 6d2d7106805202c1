"""How published tables look: digits, units, and the grid of cells that their HTML and LaTeX are made of."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from ccreport.core.text import display_name

MISSING: Final = "–"
# A smaller p value says more of the model than of the data.
LEAST_PROBABILITY: Final = 0.0001
# A least effect in per cent that is smaller or larger than these says nothing that its bound does not.
EFFECTS_PCT: Final = (0.1, 500.0)
# By which ratios are multiplied to be shown.
PERCENT: Final = 100.0
MINUS: Final = "\N{MINUS SIGN}"
# Numbers nearer to 0 are shown with a power of ten.
LEAST_PLAIN: Final = 1e-4
SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Digits of a number that has no interval.
SIGNIFICANT: Final = 3
# Of a number whose interval is narrower than any reader needs, as in virtual time.
SIGNIFICANT_AT_MOST: Final = 4
ENDS_SIGNIFICANT: Final = 2
# The heading of the column behind a mean or a CV, which has its interval.
INTERVAL: Final = "95 % interval"
NARROW: Final = "Where no interval is shown beside a number, its two ends are that number in the digits shown."
FIGURE_SPACE: Final = "\N{FIGURE SPACE}"
POINT_SPACE: Final = "\N{PUNCTUATION SPACE}"
# 47.36 · 0.0041–0.015, of which the last number counts
DECIMALS: Final = re.compile(r"\.(\d+)$")


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and the row of the summary it comes from (from 1) where it has one."""

    text: str
    number: int | None = None
    is_better: bool = False


@dataclass(frozen=True)
class Grid:
    """A table as it is shown.

    `stubs` are the headings of the columns that name a row, `names` their texts row by row; `spanners` are the levels
    of headings above `headings`, the highest first, each a text and the number of columns it spans. `caption` has the
    units of cells that have no heading of their own to say them. `less` are the columns that pages leave out, as
    they do intervals, where a screen is too narrow for two algorithms beside each other. `own_head` is the first stub
    where the evaluation gave it: also of a name above its rows it is said.
    """

    table: str
    title: str
    stubs: list[str]
    names: list[list[str]]
    spanners: list[list[tuple[str, int]]]
    headings: list[str]
    is_number: list[bool]
    cells: list[list[Cell]]
    notes: list[str]
    caption: str = ""
    less: Collection[int] = ()
    own_head: str = ""

    @property
    def is_grouped(self) -> bool:
        """Tell whether several rows share their first name, which is then a heading above them."""
        firsts = [names[0] for names in self.names if len(names) > 1]
        return len(set(firsts)) < len(firsts)

    @property
    def is_less(self) -> list[bool]:
        """Tell of each column whether pages leave it out on a narrow screen."""
        return [heading == INTERVAL or place in self.less for place, heading in enumerate(self.headings)]

    @property
    def pads(self) -> list[list[str]]:
        """Return for each row what follows the texts of its cells, so that a column's decimals are aligned."""
        columns = [
            pad_decimals([cells[place].text for cells in self.cells]) if is_number else [""] * len(self.cells)
            for place, is_number in enumerate(self.is_number)
        ]
        return [[column[row] for column in columns] for row in range(len(self.cells))]


def rate_unit(rates: pl.Series) -> tuple[float, str]:
    """Return divisor and name of the unit in which the largest of these rates reads best."""
    largest = rates.drop_nulls().max()
    return (1e9, "Gbit/s") if isinstance(largest, float) and largest >= 1e9 else (1e6, "Mbit/s")


def count_decimals(
    value: float, low: float | None = None, high: float | None = None, *, significant: int = SIGNIFICANT
) -> int:
    """Return the decimals with which a number is shown.

    The last digit is the first significant one of the distance to the nearer end of the 95 % interval, the second where
    the first is a 1 or a 2 (of the distance rounded to two digits), but the number has four significant digits at most.
    Without an interval, or where it has no width, it has three.
    """
    half_width = 0.0 if low is None or high is None else min(value - low, high - value)
    if low is not None and high is not None and half_width > 0:
        leading, _, exponent = f"{half_width:.1e}".partition("e")
        by_interval = (2 if leading[0] in "12" else 1) - 1 - int(exponent)
        return max(0, min(by_interval, _count_decimals(max(abs(low), abs(high)), SIGNIFICANT_AT_MOST)))
    return max(0, _count_decimals(value, significant if value else 1))


def count_decimals_of_all(values: Sequence[float]) -> int:
    """Return the decimals of all numbers of a table: three digits of the largest and two of the smallest, at most 3."""
    largest, smallest = max(values, default=0.0), min(values, default=0.0)
    digits = ((largest, SIGNIFICANT), (smallest, ENDS_SIGNIFICANT))
    return min(3, max(count_decimals(value, significant=significant) for value, significant in digits))


def _count_decimals(value: float, significant: int) -> int:
    # Rounded first: 9.996 is 10.0.
    _, _, exponent = f"{value:.{significant - 1}e}".partition("e")
    return significant - 1 - int(exponent)


def pad_decimals(texts: Sequence[str]) -> list[str]:
    """Return for each text of a column what to put behind it, so that the decimal points are aligned.

    The paddings are spaces as wide as a digit or a point. A dash ends where the longest number does.
    """
    decimals = [len(found[1]) if (found := DECIMALS.search(text)) else 0 for text in texts]
    longest = max(decimals, default=0)
    pads = [POINT_SPACE * (count == 0 < longest) + FIGURE_SPACE * (longest - count) for count in decimals]
    return ["" if text == MISSING else pad for text, pad in zip(texts, pads, strict=True)]


def format_number(value: float | None, digits: int) -> str:
    """Return a number with so many decimals, a dash where there is none."""
    return MISSING if value is None else f"{value:.{digits}f}".replace("-", MINUS)


def show_given(number: float, significant: int = 6) -> str:
    """Return a number that people gave with the digits that it has: 0.6, −0.05, 200000000."""
    return f"{float(f'{number:.{significant}g}'):.15g}".replace("-", MINUS)


def is_near_zero(value: float) -> bool:
    """Return whether a number is shown with a power of ten."""
    return 0 < abs(value) < LEAST_PLAIN


def format_power(value: float, significant: int = SIGNIFICANT) -> str:
    """Return a number with so many significant digits and a power of ten: 3.67×10⁻⁸."""
    mantissa, exponent = f"{value:.{significant - 1}e}".split("e")
    return f"{mantissa.replace('-', MINUS)}×10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def format_measured(value: float | None, low: float | None = None, high: float | None = None) -> tuple[str, str]:
    """Return a number and its interval, both with as many decimals as the interval's width allows.

    A number without an interval has a power of ten near 0.
    """
    if value is None:
        return MISSING, ""
    if (low is None or high is None) and is_near_zero(value):
        return format_power(value), ""
    digits = count_decimals(value, low, high)
    interval = "" if low is None or high is None else f"{format_number(low, digits)}–{format_number(high, digits)}"
    return format_number(value, digits), interval


def leave_out_narrow(grid: Grid) -> Grid:
    """Return a grid without intervals whose two ends are shown as one number, and with a note that says so."""
    places = [place for place, heading in enumerate(grid.headings) if heading == INTERVAL]
    narrow = {(row, place) for row, cells in enumerate(grid.cells) for place in places if _is_narrow(cells[place].text)}
    cells = [
        [replace(cell, text="") if (row, place) in narrow else cell for place, cell in enumerate(own)]
        for row, own in enumerate(grid.cells)
    ]
    return replace(grid, cells=cells, notes=[*grid.notes, NARROW]) if narrow else grid


def _is_narrow(interval: str) -> bool:
    low, dash, high = interval.partition("–")
    return bool(dash and low) and low == high


def format_probability(value: float | None) -> str:
    """Return the p value of a test: three digits, or that it is below the least that is told apart."""
    return f"< {LEAST_PROBABILITY}" if value is not None and value < LEAST_PROBABILITY else format_measured(value)[0]


def format_least_effect(value: float | None) -> str:
    """Return the least effect that runs would have shown, in per cent: beyond `EFFECTS_PCT` only that it is."""
    least, most = EFFECTS_PCT
    if value is not None and value < least:
        return f"< {least:g}"
    return f"> {most:g}" if value is not None and value > most else format_measured(value)[0]


def format_ends(value: float | None, low: float | None, high: float | None) -> str:
    """Return an interval whose ends may differ by orders of magnitude: two digits of each, never a power of ten.

    Each end has the decimals of its number at least, or rounding would put that outside: 1.570 is not in 1.6–1.6.
    """
    if value is None or low is None or high is None:
        return ""
    least = count_decimals(value, low, high)
    decimals = (max(least, count_decimals(end, significant=ENDS_SIGNIFICANT)) for end in (low, high))
    return "–".join(f"{end:.{digits}f}" for end, digits in zip((low, high), decimals, strict=True))


def format_size(value: float) -> str:
    """Return bytes as the labels of buffers are written: 25 kB, 12 MB, and whole multiples of 2^20 as 10 MiB."""
    if value and value % 2**20 == 0:
        return f"{value / 2**20:g} MiB"
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g} B"


def html_id(name: str) -> str:
    """Return a name as it may appear in an id of HTML or a cross reference."""
    return display_name(name).replace("_", "-").lower()
