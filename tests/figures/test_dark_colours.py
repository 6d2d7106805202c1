"""Drawings on a dark page: as much contrast as on white paper, by a style that only holds there."""

import pytest

from ccreport.figures.kit.dark_colours import (
    DARK_PAPER,
    add_dark_colours,
    find_dark_colour,
    lift_contrast,
    measure_luminance,
    remove_dark_colours,
)
from ccreport.figures.kit.theme import FAINT_INK, INK, STYLES

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="9"><rect fill="white"/><path stroke="#1c3fc4" fill="none"/></svg>\n'
)


def parse(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((measure_luminance(parse(one)), measure_luminance(parse(other))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_luminance_is_that_of_wcag() -> None:
    # Of pure green by definition; of 50 % grey (0.5 + 0.055) / 1.055 to the power of 2.4.
    assert measure_luminance((0.0, 1.0, 0.0)) == pytest.approx(0.7152)
    assert measure_luminance((0.5, 0.5, 0.5)) == pytest.approx(0.21404, abs=1e-5)


@pytest.mark.parametrize("colour", [*(style.colour for style in STYLES.values()), "#e6e6e6", "#8c8c8c", FAINT_INK])
def test_a_colour_stands_out_from_the_dark_page_as_from_paper_and_keeps_its_hue(colour: str) -> None:
    dark = find_dark_colour(colour)
    assert contrast(dark, DARK_PAPER) == pytest.approx(lift_contrast(contrast(colour, "#ffffff")), rel=0.06)
    order = [sorted(range(3), key=parse(one).__getitem__) for one in (colour, dark)]
    assert len(set(parse(colour))) == 1 or order[0] == order[1]


@pytest.mark.parametrize(("paper", "dark"), [(1.25, 1.25), (2.25, 3.25), (3.0, 5.0), (12.0, 11.45), (21.0, 17.9)])
def test_contrasts_grow_with_those_on_paper(paper: float, dark: float) -> None:
    # Halfway from 1.5 to 3 it is halfway from 1.5 to 5, and from 3 to 21 from 5 to 17.9.
    assert lift_contrast(paper) == pytest.approx(dark)


def test_names_in_the_colour_of_their_line_can_be_read() -> None:
    assert all(contrast(find_dark_colour(style.colour), DARK_PAPER) >= 4.5 for style in STYLES.values())


def test_text_keeps_at_least_the_contrast_that_it_must_have() -> None:
    # Black on white has 21:1, which nothing has on a ground that is not black.
    assert find_dark_colour("#000") == find_dark_colour("black") == "#ffffff"
    assert all(contrast(find_dark_colour(ink), DARK_PAPER) >= 4.5 for ink in (INK, FAINT_INK))
    assert find_dark_colour("white") == find_dark_colour("rgb(255, 255, 255)") == DARK_PAPER


def test_the_style_is_for_dark_pages_alone_and_can_be_taken_out() -> None:
    told = add_dark_colours(SVG)
    head, style, rest = told.partition("<style>@media (prefers-color-scheme:dark){")
    assert head == '<svg xmlns="http://www.w3.org/2000/svg" width="9">'
    assert style
    assert f'[fill="white"]{{fill:{DARK_PAPER}}}' in rest
    assert f'[stroke="#1c3fc4"]{{stroke:{find_dark_colour("#1c3fc4")}}}' in rest
    # What is not painted is not a colour.
    assert '"none"]' not in rest
    assert remove_dark_colours(told) == SVG
    assert add_dark_colours("<svg ></svg>") == "<svg ></svg>"
