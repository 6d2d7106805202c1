"""The explorer's colours: those of the house theme, and the same hues made lighter for dark paper."""

from collections.abc import Iterable
from typing import Any, Final

from ccreport.figures.kit.theme import DOMAIN, FAINT_INK, FONT, GRID, INK, order_algorithms, style_of

# The dark paper that the colours are made for; reports/styles.css has it as --paper.
DARK_PAPER: Final = "#13171d"
# Lines need 3:1 (WCAG 2.2, 1.4.11); they are thin, so they get what text needs.
LEAST_CONTRAST: Final = 4.5
STEPS: Final = 20


def describe_algorithms(ccs: Iterable[str]) -> list[dict[str, Any]]:
    """Return what the page needs to draw each algorithm, in the order in which all figures name them.

    cc (as the kernel names it), name, light and dark (colours for light and dark paper), dash (on and off lengths, px),
    marker (a point shape of Vega-Lite).
    """
    styles = ((cc, style_of(cc)) for cc in order_algorithms(ccs))
    return [
        {
            "cc": cc,
            "name": style.name,
            "light": style.colour,
            "dark": lighten(style.colour),
            "dash": list(style.dash),
            "marker": style.marker,
        }
        for cc, style in styles
    ]


def describe_paper() -> dict[str, Any]:
    """Return font and inks of charts on light paper, as the house theme has them, and their like on dark paper."""
    return {
        "font": FONT,
        "light": {"ink": INK, "faint": FAINT_INK, "grid": GRID, "domain": DOMAIN},
        "dark": {"ink": "#e3e7ec", "faint": "#a0a9b6", "grid": "#2b323c", "domain": "#6b7583"},
    }


def lighten(colour: str, paper: str = DARK_PAPER) -> str:
    """Return the colour, "#rrggbb", mixed with as little white as gives it a contrast of 4.5:1 to dark paper."""
    channels = _split(colour)
    mixed = channels
    for step in range(STEPS):
        mixed = tuple(round(channel + (255 - channel) * step / STEPS) for channel in channels)
        if find_contrast(_join(mixed), paper) >= LEAST_CONTRAST:
            break
    return _join(mixed)


def find_contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio")."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _split(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _split(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def _join(channels: tuple[int, ...]) -> str:
    return "#" + "".join(f"{channel:02x}" for channel in channels)
