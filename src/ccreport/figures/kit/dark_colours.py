"""Colours of a drawing on a dark page, as a style that only holds there.

Each colour keeps its hue and gets a contrast to the dark page by that which it has to white paper (WCAG 2.2, relative
luminance): what has 3:1 there, the least for lines and signs, has 5:1 here, as light on dark looks weaker and signs
have names in their colour; faint lines stay faint, and shades keep their order. A browser takes the style for an image
where the page around it is dark (CSS Color Adjustment, `color-scheme`), other programs ignore it.
"""

import colorsys
import re
from functools import cache
from itertools import pairwise
from typing import Final

# The page's own ground, as in reports/styles.css.
DARK_PAPER: Final = "#13171d"
# fill="#1c3fc4" · stroke="white" · stop-color="rgb(253, 231, 37)"
PAINT: Final = re.compile(
    r' (?P<attribute>fill|stroke|stop-color)="(?P<colour>#[0-9a-fA-F]{3}|#[0-9a-fA-F]{6}|white|black|rgb\([\d, ]+\))"'
)
OPENING: Final = re.compile(r"<svg [^>]*>")
NAMED: Final = {"white": (1.0, 1.0, 1.0), "black": (0.0, 0.0, 0.0)}
STYLE: Final = re.compile(r"<style>@media.*?</style>", re.DOTALL)
STEPS: Final = 20
# To white, and to the dark page; black has 21:1, and white on that page 17.9:1.
CONTRASTS: Final = ((1.0, 1.0), (1.5, 1.5), (3.0, 5.0), (21.0, 17.9))

Rgb = tuple[float, float, float]


def add_dark_colours(svg: str) -> str:
    """Return a drawing with the style for dark pages; one without colours stays as it is."""
    painted = sorted({(match["attribute"], match["colour"]) for match in PAINT.finditer(svg)})
    opening = OPENING.match(svg)
    if not painted or opening is None:
        return svg
    rules = "".join(
        f'[{attribute}="{colour}"]{{{attribute}:{find_dark_colour(colour)}}}' for attribute, colour in painted
    )
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    return f"{svg[: opening.end()]}{style}{svg[opening.end() :]}"


def remove_dark_colours(svg: str) -> str:
    """Return a drawing as it was before `add_dark_colours`."""
    return STYLE.sub("", svg, count=1)


@cache
def find_dark_colour(colour: str) -> str:
    """Return the colour of the same hue for the dark page, where `colour` is that for white paper."""
    red, green, blue = parse_colour(colour)
    contrast = 1.05 / (measure_luminance((red, green, blue)) + 0.05)
    wanted = min(1.0, lift_contrast(contrast) * (measure_luminance(parse_colour(DARK_PAPER)) + 0.05) - 0.05)
    hue, _, saturation = colorsys.rgb_to_hls(red, green, blue)
    if contrast < 1.001:
        return DARK_PAPER
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_below = measure_luminance(colorsys.hls_to_rgb(hue, middle, saturation)) < wanted
        low, high = (middle, high) if is_below else (low, middle)
    # Upwards, so that no contrast is lost by rounding.
    return "#" + "".join(
        f"{min(255, int(part * 255 + 0.999)):02x}" for part in colorsys.hls_to_rgb(hue, high, saturation)
    )


def lift_contrast(contrast: float) -> float:
    """Return the contrast to the dark page of what has a contrast to white: linear between the pairs of `CONTRASTS`."""
    steps = [*pairwise(CONTRASTS)]
    (low, low_lifted), (high, high_lifted) = next((step for step in steps if contrast <= step[1][0]), steps[-1])
    return low_lifted + (contrast - low) * (high_lifted - low_lifted) / (high - low)


def measure_luminance(colour: Rgb) -> float:
    """Return the relative luminance of an sRGB colour, its parts from 0 to 1."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def parse_colour(colour: str) -> Rgb:
    """Return the parts of an sRGB colour, from 0 to 1, of any of the notations of PAINT."""
    if colour in NAMED:
        return NAMED[colour]
    if colour.startswith("rgb"):
        parts = [int(part) for part in re.findall(r"\d+", colour)]
    else:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[i : i + 2], 16) for i in (0, 2, 4)]
    return parts[0] / 255, parts[1] / 255, parts[2] / 255
