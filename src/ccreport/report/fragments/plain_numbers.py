"""Numbers as HTML, rounded to significant digits, and what they say of a difference."""

from ccreport.report.markup.blocks import Html, text
from ccreport.summarise.grids.plain_numbers import show_plain


def show_figures(value: float | None) -> Html:
    """Return `show_plain` of a number as HTML, a dash for none."""
    return text(None if value is None else show_plain(value))


def show_deviation(ratio: float | None, low: float | None, high: float | None) -> Html:
    """Return how far a ratio is from 1 in per cent, and below it the ratio with its interval."""
    if ratio is None:
        return text(None)
    sign = "+" if ratio > 1 else ""
    interval = "" if low is None or high is None else f" ({show_plain(low)}–{show_plain(high)})"
    below = text(f"{show_plain(ratio)}{interval}")
    return Html(f"{text(f'{sign}{show_plain(100 * (ratio - 1), 2)} %')}<br><small>{below}</small>")


def show_ratio(value: float | None, low: float | None, high: float | None) -> Html:
    """Return a ratio with its interval."""
    if low is None or high is None:
        return show_figures(value)
    return Html(f"{show_figures(value)} <small>({show_figures(low)}–{show_figures(high)})</small>")
