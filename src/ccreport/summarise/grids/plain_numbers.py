"""Numbers and names of single rows for people, with the headings and units of published tables, rounded."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import polars as pl

from ccreport.summarise.grids.cells import ALL_PRINTED, LEAST_EFFECT, PRINTED
from ccreport.summarise.grids.grid import (
    MINUS,
    PERCENT,
    format_least_effect,
    format_power,
    format_probability,
    is_near_zero,
    show_given,
)
from ccreport.summarise.grids.headings import (
    NO_HEADINGS,
    QUANTITIES,
    format_answer,
    format_name,
    is_percentage,
    name_value,
    write_heading,
)
from ccreport.summarise.grids.shown_columns import find_ends

# Of rates, what they are divided by and its name, as `rate_unit` gives it.
RateUnit = tuple[float, str]
MEGABITS: Final[RateUnit] = (1e6, "Mbit/s")
# rate_within_cv is a part of rate_cv, or all of it.
WITHIN: Final = "_within"
# In per cent; published tables show less as 0.00.
LEAST_CV: Final = 0.01
# All digits are in the CSV files.
SIGNIFICANT: Final = 4
# A run's column of this name has what the row's quantity is.
VALUE: Final = "value"
# Whose rate it is: goodput.
BASIS: Final = "rate_basis"
# Rate mean (Gbit/s)
RATE: Final = re.compile(r"^Rate\b")
PROBABILITIES: Final = ("p_ratio", "p_holm_ratio", "p_equal_ratio", "p_equal_holm_ratio", "pair_p_holm_ratio")


def show_plain(value: float, significant: int = 3) -> str:
    """Return a number with so many significant digits and a true minus sign, with a power of ten only near 0."""
    rounded = float(f"{value:.{significant}g}")
    if is_near_zero(rounded):
        return format_power(rounded, significant)
    digits = max(0, significant - 1 - math.floor(math.log10(abs(rounded)))) if rounded else 0
    return f"{rounded:.{digits}f}".replace("-", MINUS)


def show_ends(values: pl.Series) -> str:
    """Return the least and the greatest of some numbers, "1.99 to 52.8", or the one text that both have."""
    return " to ".join(dict.fromkeys(show_plain(end) for end in (values.min(), values.max())))  # type: ignore[arg-type]


def name_key(column: str, value: Any) -> str:
    """Return a part of what names a row as the published table shows it: BBR, Buffer 8 MB."""
    return name_value(column, value) if isinstance(value, int | float) else format_name(column, value)


def list_numbers(
    numbers: Mapping[str, Any],
    headings: Mapping[str, str] = NO_HEADINGS,
    rates: RateUnit = MEGABITS,
    basis: str | None = None,
) -> list[tuple[str, str]]:
    """Return heading and text of each number of a row, with its 95 % interval in brackets; not of what has no value.

    Nor is an interval shown whose ends are rounded to the number, nor a CV within conditions that is the whole CV.

    The ends of an interval are the columns that have `low` and `high` in a number's name, in place of `mean` if it has
    one: `rate_mean_bps`, `rate_low_bps` and `rate_high_bps`. `headings` go before those that all tables have, in which
    rates are called by their `basis`, in place of a number that says it.
    """
    ends = find_ends(numbers)
    left_out = {end for pair in ends.values() for end in pair} | ({BASIS} if basis else set())
    listed = []
    for name, value in numbers.items():
        if name not in left_out and value is not None and not is_repeated(numbers, name):
            shown = round_value(name, value, rates)
            known = [numbers[end] for end in ends.get(name, ()) if numbers[end] is not None]
            interval = [round_value(name, end, rates) for end in known]
            ends_shown = f" ({' to '.join(interval)})" if {*interval} - {shown} else ""
            listed.append((headings.get(name) or name_basis(name_column(name, rates), basis), shown + ends_shown))
    return listed


def is_repeated(numbers: Mapping[str, Any], name: str) -> bool:
    """Tell whether a number within conditions is shown like that over all of them, which is in the row as well."""
    whole = name.replace(WITHIN, "")
    return whole != name and whole in numbers and round_value(name, numbers[name]) == round_value(whole, numbers[whole])


def name_column(name: str, rates: RateUnit = MEGABITS) -> str:
    """Return what a column is called in a table: the heading that published tables have, always with its unit."""
    # Units that headings leave to the values.
    units = {"_bps": rates[1], "_bytes": "bytes"}
    return write_heading(name) + next((f" ({unit})" for ending, unit in units.items() if name.endswith(ending)), "")


def name_basis(heading: str, basis: str | None) -> str:
    """Return the heading of a rate with whose rate it is, "Throughput mean", and any other heading as it is."""
    return RATE.sub(basis.capitalize(), heading) if basis else heading


def round_value(column: str, value: Any, rates: RateUnit = MEGABITS) -> str:
    """Return a value in the unit that `name_column` announces, rounded; whole numbers with commas, yes or no."""
    if value is None or isinstance(value, bool):
        return format_answer(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if not isinstance(value, int | float):
        return str(value)
    if column in PROBABILITIES:
        return format_probability(value)
    if column == LEAST_EFFECT:
        return format_least_effect(value)
    if column in PRINTED:
        return show_given(value, ALL_PRINTED)
    if column.endswith("_bps"):
        return show_plain(value / rates[0], SIGNIFICANT)
    if is_percentage(column):
        percentage = PERCENT * value
        is_tiny = column.endswith("_cv") and 0 < percentage < LEAST_CV
        return f"< {LEAST_CV}" if is_tiny else show_plain(percentage, SIGNIFICANT)
    return f"{value:,.0f}" if value == round(value) else show_plain(value, SIGNIFICANT)


def find_quantity(row: Mapping[str, Any]) -> str:
    """Return the column whose values the runs of a row have under `value`, where the row names one."""
    return next((row[name] for name in QUANTITIES if name in row), VALUE)
