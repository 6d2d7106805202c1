"""Numbers as pages show them: rounded to significant digits, without an exponent but near 0."""

import math
from typing import Final

from ccreport.compare.verdicts import PAIR_FACTOR
from ccreport.report.markup.blocks import Html, text

# Numbers nearer to 0 are shown with a power of ten.
LEAST_PLAIN: Final = 1e-4
SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def show_plain(value: float, significant: int = 3) -> str:
    """Return a number with so many significant digits, with a power of ten only near 0."""
    rounded = float(f"{value:.{significant}g}")
    if 0 < abs(rounded) < LEAST_PLAIN:
        mantissa, exponent = f"{rounded:.{significant - 1}e}".split("e")
        return f"{mantissa}×10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    digits = max(0, significant - 1 - math.floor(math.log10(abs(rounded)))) if rounded else 0
    return f"{rounded:.{digits}f}"


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
