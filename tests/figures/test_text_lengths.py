"""Texts of drawings say how long they are, so that any font fits into the space that was laid out."""

import re
from pathlib import Path

import altair as alt
import matplotlib
import pytest

from ccreport.figures.kit import theme
from ccreport.figures.kit.keyed_panels import PAIR_WIDTH_PX, PANEL_GAP_PX, size_panel
from ccreport.figures.kit.text import find_band_px
from ccreport.figures.kit.text_lengths import LETTERS, WIDTHS, measure_text, pin_lengths, unpin_lengths

STYLE = 'text-anchor="end" font-size="10px"'


def pinned(length: str) -> str:
    return f'textLength="{length}" lengthAdjust="spacingAndGlyphs"'


@pytest.mark.parametrize(("weight", "file"), [("normal", "Helvetica"), ("bold", "Helvetica-Bold")])
def test_widths_are_those_of_helvetica(weight: str, file: str) -> None:
    path = Path(matplotlib.get_data_path()) / f"fonts/pdfcorefonts/{file}.afm"
    # C 65 ; WX 667 ; N A ; B 14 0 654 718 ;
    rows = re.findall(r"^C (-?\d+) ; WX (\d+) ; N (\w+) ;", path.read_text(encoding="latin-1"), re.MULTILINE)
    by_code, by_name = ({row[key]: int(row[1]) for row in rows} for key in (0, 2))
    names = {
        "'": "quotesingle",
        "`": "grave",
        "’": "quoteright",
        "–": "endash",
        "—": "emdash",
        "…": "ellipsis",
        "≤": "lessequal",
        "≥": "greaterequal",
    }
    assert dict(WIDTHS[weight]) == {
        letter: by_name[names[letter]] if letter in names else by_code[str(ord(letter))] for letter in LETTERS
    }


def test_lengths_are_sums_of_widths() -> None:
    # C and U and B 722, I 278, at 13 px: 3166 thousandths; and BBR normal, two of 667 and one of 722, at 10 px.
    assert measure_text("CUBIC", 13, is_bold=True) == pytest.approx(41.158)
    assert measure_text("BBR", 10, is_bold=False) == pytest.approx(20.56)
    # ≥ is 549, a blank 278, a digit 556.
    assert measure_text("≥ 30", 10, is_bold=False) == pytest.approx(19.39)
    assert measure_text("→ 30", 13, is_bold=False) is None


def test_each_text_and_each_line_is_pinned() -> None:
    # A blank is 278, `a` and `1` are 556, `&` is 667, bold 722.
    empty, one = f"<text {STYLE}/>", f"<text {STYLE}>a 1</text>"
    bold = f'<text {STYLE} font-weight="bold">&amp;</text>'
    lines = f'<text {STYLE}><tspan>a</tspan><tspan x="0" dy="17">a1</tspan></text>'
    unknown = f"<text {STYLE}>µ</text>"
    drawn = f"<svg>{empty}{one}{bold}{lines}{unknown}</svg>"
    told = pin_lengths(drawn)
    lengths = re.findall(r"<(\w+) [^>]*textLength=\"([\d.]+)\"", told)
    assert lengths == [("text", "13.9"), ("text", "7.2"), ("tspan", "5.6"), ("tspan", "11.1")]
    assert f"{unknown}</svg>" in told
    assert f"{pinned('11.1')}>a1</tspan>" in told
    assert unpin_lengths(told) == drawn


def test_a_band_s_entry_is_behind_the_longest_text_of_the_legend() -> None:
    long = "CUBIC, whole test: mean goodput 4.09 Gbit/s, retransmits 0.00093 %"
    width = measure_text(long, 13, is_bold=False)
    assert width is not None
    assert find_band_px(["CUBIC"], has_points=True) == 460
    assert find_band_px(["CUBIC", long], has_points=True) == pytest.approx(56 + width + 8)


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("no loss", "no loss"),
        ("CUBIC and BBRv1, no loss\nCUBIC n 15", ["CUBIC and BBRv1, no loss", "CUBIC n 15"]),
        (
            "CUBIC and BBRv1, no loss, buffer 1.25 MB (CUBIC n 15, BBRv1 n 15)",
            ["CUBIC and BBRv1, no loss, buffer 1.25 MB (CUBIC n", "15, BBRv1 n 15)"],
        ),
    ],
)
def test_the_title_of_a_panel_ends_before_that_beside_it(title: str, lines: str | list[str]) -> None:
    drawn = size_panel([alt.Chart().mark_point()], PAIR_WIDTH_PX, 100, title).title
    assert drawn.text == lines
    for line in [lines] if isinstance(lines, str) else lines:
        length_px = measure_text(line, theme.TEXT_PX, is_bold=True)
        assert length_px is not None
        assert length_px < PAIR_WIDTH_PX + PANEL_GAP_PX
