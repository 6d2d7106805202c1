"""Figures by topic: a gallery of thumbnails, and a page for each topic that a reader can scroll through.

The PDF has all figures one after the other, in the order of the evaluation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import yaml

from ccreport.core.text import make_label
from ccreport.figures.exhibits import Exhibit
from ccreport.figures.topics import OTHERS, TOPICS, name_topic
from ccreport.figures.write import THUMBNAIL
from ccreport.report.fragments.absent_exhibits import describe_missing_figures, find_missing
from ccreport.report.fragments.exhibits import read_size
from ccreport.report.markup.blocks import write_fragment
from ccreport.report.markup.escape import escape_text, fence_html

# Six figures of two panels make a page of more than 8,500 px.
FIGURES_AT_MOST: Final = 5


@dataclass(frozen=True)
class TopicPage:
    """A page of figures: its name without ending, its title, and its figures; `part` and `parts` count from 1."""

    name: str
    topic: str
    figures: Sequence[Exhibit]
    part: int
    parts: int

    @property
    def title(self) -> str:
        """Return the title, where the topic has several pages with the numbers of its figures, else of the page."""
        if self.parts == 1:
            return self.topic
        numbers = [figure.number for figure in (self.figures[0], self.figures[-1])]
        if not all(numbers):
            return f"{self.topic}, {self.part} of {self.parts}"
        return f"{self.topic}: Figure{'s' if len(self.figures) > 1 else ''} {' to '.join(dict.fromkeys(numbers))}"


def render_gallery(
    exhibits: Sequence[Exhibit], declared: Mapping[str, Mapping[str, Any]], figures: Path, fragments: Path
) -> None:
    """Write `gallery.md` and a page `figures_<topic>.qmd` for each page of figures into the folder of fragments.

    `declared` is what the evaluation declares of the figures by name; `figures` is a folder as `exhibits` says.
    """
    drawn = [figure for figure in exhibits if not find_missing(figure, figures)]
    pages = list_pages(drawn, {name: facts["kind"] for name, facts in declared.items()})
    parts = [part for _, own in groupby(pages, attrgetter("topic")) for part in _render_thumbnails(list(own), figures)]
    missing = [figure for figure in exhibits if figure not in drawn]
    parts += [described] if (described := describe_missing_figures(missing, declared, figures)) else []
    write_fragment(fragments, "gallery.md", *(parts or ["The evaluation declares no figure.\n"]))
    for page in pages:
        (fragments / f"{page.name}.qmd").write_text("\n".join(_render_page(page, pages)), encoding="utf-8")


def list_pages(figures: Sequence[Exhibit], kinds: Mapping[str, str]) -> list[TopicPage]:
    """Return the pages of figures, topic by topic; within a topic the order is that of the evaluation."""
    pages = []
    for name, title, _ in (*TOPICS, OTHERS):
        own = [figure for figure in figures if name_topic(kinds[figure.name]) == name]
        # As even as can be, so that no page has one figure left over.
        parts = -(-len(own) // FIGURES_AT_MOST)
        for part in range(parts):
            shown = own[part * len(own) // parts : (part + 1) * len(own) // parts]
            page = f"figures_{name}" if part == 0 else f"figures_{name}_{part + 1}"
            pages.append(TopicPage(page, title, shown, part + 1, parts))
    return pages


def _render_thumbnails(pages: Sequence[TopicPage], figures: Path) -> Iterator[str]:
    """Yield the heading and the thumbnails of the pages of a topic."""
    first = pages[0]
    yield f"## [{escape_text(first.topic)}]({first.name}.qmd) {{#{make_label('topic', first.topic)}}}\n"
    items = "\n".join(
        _render_thumbnail(page, figure, figures / figure.name) for page in pages for figure in page.figures
    )
    yield fence_html(f'<ul class="gallery">\n{items}\n</ul>')


def _render_thumbnail(page: TopicPage, figure: Exhibit, folder: Path) -> str:
    label = make_label("figure", figure.name)
    file = THUMBNAIL if (folder / THUMBNAIL).exists() else "figure.svg"
    image = f'<img src="figures/{figure.name}/{file}" alt=""{read_size(folder / "figure.svg")} loading="lazy">'
    link = f'<a href="{page.name}.html#{label}">{image}<span>{escape_text(figure.heading)}</span></a>'
    return f'<li id="{label}">{link}</li>'


def _render_page(page: TopicPage, pages: Sequence[TopicPage]) -> Iterator[str]:
    # Entities, as a title is Markdown too.
    yield f"---\n{yaml.safe_dump({'title': escape_text(page.title)}, allow_unicode=True)}---\n"
    place = pages.index(page)
    links = ["[All figures](figures.qmd)"]
    if place > 0:
        links.append(f"Previous: [{escape_text(pages[place - 1].title)}]({pages[place - 1].name}.qmd)")
    if place + 1 < len(pages):
        links.append(f"Next: [{escape_text(pages[place + 1].title)}]({pages[place + 1].name}.qmd)")
    # Of which the search takes no notice.
    opened, closed = (fence_html(tag) for tag in ('<nav aria-label="Pages of figures">', "</nav>"))
    yield f"{opened}\n{' · '.join(links)}\n\n{closed}"
    for figure in page.figures:
        yield f"## {escape_text(figure.heading)} {{#{make_label('figure', figure.name)}}}\n"
        yield f"{{{{< include fragments/figure_{figure.name}.md >}}}}\n"
