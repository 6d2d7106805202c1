"""Numbers and names on the pages behind tables, in the units and with the headings that published tables have."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from ccreport.report.fragments.plain_numbers import show_plain
from ccreport.report.markup.blocks import text
from ccreport.report.markup.escape import fence_html
from ccreport.summarise.grids.cells import PERCENT
from ccreport.summarise.grids.headings import format_name, is_percentage, name_value, write_heading
from ccreport.trace.shown_runs import show_value

# Units that headings leave to the values, by the end of a column's name.
UNITS: Final = {"_bps": " (Mbit/s)", "_bytes": " (bytes)"}
PER_MEGABIT: Final = 1e6
# In per cent; published tables show less as 0.00.
LEAST_CV: Final = 0.01
# All digits are in the CSV files.
SIGNIFICANT: Final = 4


def name_key(column: str, value: Any) -> str:
    """Return a part of what names a row as the published table shows it: BBR, Buffer 8 MB."""
    return name_value(column, value) if isinstance(value, int | float) else format_name(column, value)


def render_numbers(numbers: Mapping[str, Any]) -> str:
    """Return the numbers of a row side by side, each with its 95 % interval in brackets; what has no value is left out.

    The ends of an interval are the columns that have `low` and `high` in a number's name, in place of `mean` if it has
    one: `rate_mean_bps`, `rate_low_bps` and `rate_high_bps`.
    """
    ends = _find_ends(numbers)
    within = {end for pair in ends.values() for end in pair}
    parts = []
    for name, value in numbers.items():
        if name not in within and value is not None:
            interval = [round_value(name, numbers[end]) for end in ends.get(name, ()) if numbers[end] is not None]
            shown = round_value(name, value) + (f" ({' to '.join(interval)})" if interval else "")
            parts.append(f"<div><dt>{text(name_column(name))}</dt><dd>{text(shown)}</dd></div>")
    return fence_html(f'<dl class="numbers">\n{"".join(parts)}\n</dl>')


def _find_ends(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the columns of the lower and the upper end of an interval, by the column of the number between."""
    ends = {}
    for low in names:
        before, _, after = f"_{low}_".partition("_low_")
        for middle in ("_", "_mean_"):
            number, high = (f"{before}{word}{after}".strip("_") for word in (middle, "_high_"))
            if number != low and {number, high} <= set(names):
                ends[number] = (low, high)
    return ends


def name_column(name: str) -> str:
    """Return what a column is called in a table: the heading that published tables have, always with its unit."""
    return write_heading(name) + next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")


def round_value(column: str, value: Any) -> str:
    """Return a value in the unit that `name_column` announces, rounded; whole numbers with commas, yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return show_value(value)
    if column.endswith("_bps"):
        return show_plain(value / PER_MEGABIT, SIGNIFICANT)
    if is_percentage(column):
        percentage = PERCENT * value
        is_tiny = column.endswith("_cv") and 0 < percentage < LEAST_CV
        return f"< {LEAST_CV}" if is_tiny else show_plain(percentage, SIGNIFICANT)
    return f"{value:,.0f}" if value == round(value) else show_plain(value, SIGNIFICANT)
