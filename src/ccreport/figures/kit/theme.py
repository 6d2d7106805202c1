"""House theme: how every figure looks, and the one colour, dash and marker that an algorithm has in all of them.

The colours of the common algorithms differ by at least 13 in CIE lightness, so that they stay apart in grey print, and
by at least 25 (CIE 1976) for readers with protanopia, deuteranopia or tritanopia (Machado et al. 2009); each has a
contrast of 3:1 to white (WCAG 2.2, 1.4.11). Dash and marker say the same a second time.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final

import altair as alt

from ccreport.core.algorithms import NAMES, call_algorithm
from ccreport.core.text import display_name

# vl-convert brings Liberation Sans with it; it has the widths of Arial and Helvetica, so that a browser without it
# sets the texts of an SVG in the same space.
FONT: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
INK: Final = "#1a1a1a"
FAINT_INK: Final = "#555555"
GRID: Final = "#e6e6e6"
DOMAIN: Final = "#8c8c8c"

# Figures are drawn at the size at which a page shows them: 800 px wide with axes.
PLOT_WIDTH_PX: Final = 670
PLOT_HEIGHT_PX: Final = 330
TEXT_PX: Final = 13
TITLE_PX: Final = 16

RETRANSMIT_COLOUR: Final = "#d0021b"
SACK_COLOUR: Final = "#9a5fc0"
WINDOW_COLOUR: Final = "#b4b4b4"
SENT_COLOUR: Final = "#8c8c8c"


@dataclass(frozen=True)
class AlgorithmStyle:
    """How one congestion control algorithm is named and drawn; `dash` is on and off lengths in px, [1, 0] solid."""

    name: str
    colour: str
    dash: tuple[int, int]
    marker: str


STYLES: Final = {
    "cubic": AlgorithmStyle(NAMES["cubic"], "#1c3fc4", (1, 0), "circle"),
    "bbr": AlgorithmStyle(NAMES["bbr"], "#dd7a00", (7, 2), "triangle-up"),
    "bbr1": AlgorithmStyle(NAMES["bbr1"], "#dd7a00", (7, 2), "triangle-up"),
    "bbr2": AlgorithmStyle(NAMES["bbr2"], "#007f68", (4, 2), "square"),
    "bbr3": AlgorithmStyle(NAMES["bbr3"], "#560d3d", (10, 3), "diamond"),
    "reno": AlgorithmStyle(NAMES["reno"], "#7f6000", (2, 2), "triangle-down"),
    "htcp": AlgorithmStyle(NAMES["htcp"], "#4f8fc6", (12, 2), "cross"),
    "dctcp": AlgorithmStyle(NAMES["dctcp"], "#b8446c", (2, 1), "triangle-right"),
}
OTHER_COLOUR: Final = "#767676"
# What an evaluation calls algorithms of the kernel, while its figures are drawn.
OWN_NAMES: Final[ContextVar[Mapping[str, str]]] = ContextVar("own_names", default={})  # noqa: B039 (never changed)


@contextmanager
def call_algorithms(names: Mapping[str, str]) -> Iterator[None]:
    """Use these names of algorithms of the kernel in place of those of STYLES."""
    token = OWN_NAMES.set(names)
    try:
        yield
    finally:
        OWN_NAMES.reset(token)


def style_of(cc: str) -> AlgorithmStyle:
    """Return the style of an algorithm as the kernel names it; one without a style of its own is grey."""
    style = STYLES.get(cc, AlgorithmStyle(cc, OTHER_COLOUR, (5, 3), "triangle-left"))
    return replace(style, name=display_name(call_algorithm(cc, OWN_NAMES.get())))


def order_algorithms(ccs: Iterable[str]) -> list[str]:
    """Return algorithms in the order in which all figures name them: those with a style of their own first."""
    known = list(STYLES)
    return sorted(ccs, key=lambda cc: (known.index(cc) if cc in known else len(known), cc))


# A figure's rows are bounded by its bins, not by Altair's limit for interactive use.
alt.data_transformers.disable_max_rows()


@alt.theme.register("ccreport", enable=True)
def house_theme() -> alt.theme.ThemeConfig:
    """Return the Vega-Lite configuration of all figures; importing this module makes it Altair's theme."""
    return {
        "background": "white",
        "config": {
            "font": FONT,
            "aria": False,
            "padding": 8,
            "view": {"stroke": None, "continuousWidth": PLOT_WIDTH_PX, "continuousHeight": PLOT_HEIGHT_PX},
            "axis": {
                "labelFontSize": TEXT_PX,
                "titleFontSize": TEXT_PX,
                "titleFontWeight": "normal",
                "titlePadding": 10,
                "labelColor": INK,
                "titleColor": INK,
                "domainColor": DOMAIN,
                "tickColor": DOMAIN,
                "gridColor": GRID,
                "labelLimit": 0,
                "titleLimit": 0,
            },
            "title": {
                "anchor": "start",
                "frame": "group",
                "fontSize": TITLE_PX,
                "fontWeight": "bold",
                "lineHeight": TITLE_PX + 4,
                "color": INK,
                "subtitleFontSize": TEXT_PX,
                "subtitleColor": FAINT_INK,
                "subtitleLineHeight": TEXT_PX + 4,
                "subtitlePadding": 5,
            },
            "text": {"fontSize": TEXT_PX, "color": INK},
        },
    }
