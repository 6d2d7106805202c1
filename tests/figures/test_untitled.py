import altair as alt
import pytest

from ccreport.figures.kit.untitled import drop_empty_title, drop_title

PANEL = '<g class="mark-text role-title-text"><text transform="translate(0,10)" font-size="13px">RTT 10 ms</text></g>'
SUBTITLE = '<g class="mark-text role-title-subtitle"><text transform="translate(0,31)">CUBIC</text></g>'


def draw(title: str, view: str) -> str:
    return f'<svg class="marks" width="80" {view}>{PANEL}{title}{SUBTITLE}</svg>'


def test_a_page_has_the_drawing_without_its_title_and_without_the_space_for_it() -> None:
    title = '<g class="mark-text role-title-text"><text font-size="16px">Rates</text></g>'
    assert drop_title(draw(title, 'height="52" viewBox="0 0 80 52"')) == draw("", 'height="34" viewBox="0 18 80 34"')


def test_a_title_of_two_lines_takes_two_away() -> None:
    lines = "<tspan>Rates</tspan><tspan>at 10 ms</tspan>"
    title = f'<g class="mark-text role-title-text"><text font-size="16px">{lines}</text></g>'
    assert drop_title(draw(title, 'height="52" viewBox="0 0 80 52"')) == draw("", 'height="16" viewBox="0 36 80 16"')


def test_a_drawing_without_a_title_stays() -> None:
    assert drop_title('<svg width="9" height="6"/>') == '<svg width="9" height="6"/>'


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ([""], None),
        (["", "CUBIC"], ["CUBIC"]),
        (alt.TitleParams([""], subtitle=["Mean goodput"]), ["Mean goodput"]),
        (alt.TitleParams("", offset=12), None),
    ],
)
def test_an_empty_title_leaves_no_band(title: list[str] | alt.TitleParams, lines: list[str] | None) -> None:
    chart = alt.Chart(title=title)
    drop_empty_title(chart)
    assert (chart.title is alt.Undefined) if lines is None else (chart.title.text == lines)
