"""A drawing without its title, for pages, where a heading above the drawing says it."""

import re
from typing import Any, Final

import altair as alt

# A child's title, as a panel's, comes before the whole drawing's.
TITLE: Final = '<g class="mark-text role-title-text"'
# <svg class="marks" width="783" height="501" viewBox="0 0 783 501">
SIZE: Final = re.compile(r'height="(?P<height>\d+)" viewBox="0 0 (?P<width>\d+) \d+"')
FONT_SIZE: Final = re.compile(r'font-size="(?P<px>\d+)px"')
# What the drawing engine adds to the size of a font for a line.
LEADING_PX: Final = 2


def drop_empty_title(chart: Any) -> None:
    """Leave out an empty title of a chart, in place, which would be a blank band; the lines below it move up."""
    title = chart.title if isinstance(chart.title, alt.TitleParams) else alt.TitleParams(chart.title)
    lines = [line for text in (title.text, title.subtitle) for line in _list_lines(text) if line]
    chart.title = alt.Undefined
    if lines:
        chart.title = title.copy()
        chart.title.text, chart.title.subtitle = lines, alt.Undefined


def _list_lines(text: Any) -> list[str]:
    return [] if text is alt.Undefined else [text] if isinstance(text, str) else list(text)


def drop_title(svg: str) -> str:
    """Return a drawing without its title and the lines that this took; one without a title stays as it is."""
    before, found, behind = svg.rpartition(TITLE)
    size = FONT_SIZE.search(behind)
    if not found or not size:
        return svg
    title, _, rest = behind.partition("</g>")
    removed = max(1, title.count("<tspan")) * (int(size["px"]) + LEADING_PX)

    def cut(view: re.Match[str]) -> str:
        height = int(view["height"]) - removed
        return f'height="{height}" viewBox="0 {removed} {view["width"]} {height}"'

    return SIZE.sub(cut, before, count=1) + rest
