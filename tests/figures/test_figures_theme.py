"""The house theme: algorithms stay apart in grey print and for readers who see fewer colours."""

from itertools import combinations

import pytest

from ccreport.figures.kit import theme
from ccreport.figures.kit.dark_colours import find_dark_colour, measure_luminance, parse_colour
from ccreport.figures.kit.text import write
from ccreport.figures.kit.text_colours import find_text_colour
from ccreport.figures.run.limits import CATEGORIES

BBRS = ("bbr", "bbr1", "bbr2", "bbr3")
Colour = tuple[float, float, float]
# Rows that simulate a missing kind of cones in linear RGB (Machado, Oliveira and Fernandes 2009, severity 1.0).
SIMULATIONS: dict[str, tuple[Colour, Colour, Colour]] = {
    "full colour vision": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linearise(colour: str) -> Colour:
    """Return #rrggbb as linear sRGB."""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return (linearise_one(red), linearise_one(green), linearise_one(blue))


def linearise_one(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)


def multiply(rows: tuple[Colour, Colour, Colour], colour: Colour) -> Colour:
    red, green, blue = (sum(a * b for a, b in zip(row, colour, strict=True)) for row in rows)
    return (red, green, blue)


def to_lab(linear: Colour) -> Colour:
    """Return CIE L*a*b* under D65."""
    clipped = tuple(min(max(channel, 0.0), 1.0) for channel in linear)
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = multiply(to_xyz, (clipped[0], clipped[1], clipped[2]))
    x, y, z = (cube_root(value / white) for value, white in zip(xyz, (0.9505, 1.0, 1.089), strict=True))
    return (116 * y - 16, 500 * (x - y), 200 * (y - z))


def cube_root(value: float) -> float:
    return float(value ** (1 / 3)) if value > (6 / 29) ** 3 else value / (3 * (6 / 29) ** 2) + 4 / 29


def luminance(colour: str) -> float:
    red, green, blue = linearise(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def measure_distance(one: str, other: str, vision: str) -> float:
    """Return how far apart two colours are for a reader (CIE 1976)."""
    labs = [to_lab(multiply(SIMULATIONS[vision], linearise(colour))) for colour in (one, other)]
    return float(sum((a - b) ** 2 for a, b in zip(*labs, strict=True)) ** 0.5)


def test_measures_by_known_colours() -> None:
    # White and black are 21:1 apart (WCAG 2.2); pure red is L* 53.24, a* 80.1, b* 67.2.
    assert (luminance("#ffffff") + 0.05) / (luminance("#000000") + 0.05) == pytest.approx(21)
    assert to_lab(linearise("#ff0000")) == pytest.approx((53.24, 80.1, 67.2), abs=0.1)
    assert to_lab(linearise("#ffffff")) == pytest.approx((100, 0, 0), abs=0.1)


@pytest.mark.parametrize("bbr", BBRS)
def test_cubic_and_bbr_differ_in_grey_print(bbr: str) -> None:
    lights = sorted(luminance(theme.STYLES[cc].colour) + 0.05 for cc in ("cubic", bbr))
    assert lights[1] / lights[0] >= 1.5
    lightnesses = [to_lab(linearise(theme.STYLES[cc].colour))[0] for cc in ("cubic", bbr)]
    assert abs(lightnesses[0] - lightnesses[1]) >= 13


@pytest.mark.parametrize("vision", SIMULATIONS)
@pytest.mark.parametrize(("one", "other"), list(combinations(("cubic", "bbr", "bbr2", "bbr3"), 2)))
def test_common_algorithms_differ_for_all_readers(one: str, other: str, vision: str) -> None:
    assert measure_distance(theme.STYLES[one].colour, theme.STYLES[other].colour, vision) >= 25


@pytest.mark.parametrize("vision", SIMULATIONS)
@pytest.mark.parametrize("cc", ["cubic", "bbr", "bbr2", "bbr3"])
def test_the_congestion_window_has_no_colour_of_an_algorithm(cc: str, vision: str) -> None:
    _, colour = CATEGORIES["congestion_window"]
    assert measure_distance(colour, theme.STYLES[cc].colour, vision) >= 20
    # On a dark page lighter colours are nearer to each other.
    dark = [find_dark_colour(each) for each in (colour, theme.STYLES[cc].colour)]
    assert measure_distance(dark[0], dark[1], vision) >= 15


def test_cubic_and_bbr_differ_in_dash_and_marker_too() -> None:
    cubic = theme.STYLES["cubic"]
    for bbr in BBRS:
        assert theme.STYLES[bbr].dash != cubic.dash
        assert theme.STYLES[bbr].marker != cubic.marker


@pytest.mark.parametrize(
    ("colour", "shown"),
    # What has 4.5:1 to white stays; at 80 % of its parts the orange of BBR does, which has 3.1:1.
    [(theme.INK, theme.INK), (theme.STYLES["bbr2"].colour, "#007f68"), (theme.STYLES["bbr"].colour, "#b16200")],
)
def test_names_beside_lines_are_dark_enough_to_be_read(colour: str, shown: str) -> None:
    assert find_text_colour(colour) == shown
    assert write(["BBR"], (0.0, 0.0), align="left", colour=colour).to_dict()["mark"]["color"] == shown
    for paper, ink in ((1.0, shown), (measure_luminance(parse_colour("#13171d")), find_dark_colour(shown))):
        dark, light = sorted((paper, measure_luminance(parse_colour(ink))))
        assert (light + 0.05) / (dark + 0.05) >= 4.5
