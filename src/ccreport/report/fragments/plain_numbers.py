"""Numbers as HTML, rounded to significant digits, and what they say of a difference."""

from ccreport.compare.verdicts import PAIR_FACTOR
from ccreport.report.markup.blocks import Html, text
from ccreport.summarise.grids.plain_numbers import show_plain


def show_figures(value: float | None) -> Html:
    """Return `show_plain` of a number as HTML, a dash for none."""
    return text(None if value is None else show_plain(value))


def describe_deviation(ratio: float) -> str:
    """Return how far a ratio is from 1: in per cent, from a factor of 2 on as that factor."""
    if ratio > 0 and max(ratio, 1 / ratio) >= PAIR_FACTOR:
        return f"{'higher' if ratio > 1 else 'lower'} by a factor of {show_plain(max(ratio, 1 / ratio), 2)}"
    return f"differs by {show_plain(abs(ratio - 1) * 100, 2)} %"


def show_ratio(value: float | None, low: float | None, high: float | None) -> Html:
    """Return a ratio with its interval."""
    if low is None or high is None:
        return show_figures(value)
    return Html(f"{show_figures(value)} <small>({show_figures(low)}–{show_figures(high)})</small>")
