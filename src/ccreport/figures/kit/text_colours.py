"""Colours of text in the colour of a line: darker than the line where that is too light to be read."""

from functools import cache
from typing import Final

from ccreport.figures.kit.dark_colours import measure_luminance, parse_colour

# To white paper, the least for text (WCAG 2.2, 1.4.3); lines need 3:1.
TEXT_CONTRAST: Final = 4.5


@cache
def find_text_colour(colour: str) -> str:
    """Return the lightest colour of the same hue in which text can be read on white paper, as `#rrggbb`."""
    parts = parse_colour(colour)
    shades = ([part * percent / 100 for part in parts] for percent in range(100, -1, -1))
    digits = (tuple(int(255 * part + 0.5) for part in shade) for shade in shades)
    return next(
        f"#{red:02x}{green:02x}{blue:02x}"
        for red, green, blue in digits
        if 1.05 / (measure_luminance((red / 255, green / 255, blue / 255)) + 0.05) >= TEXT_CONTRAST
    )
