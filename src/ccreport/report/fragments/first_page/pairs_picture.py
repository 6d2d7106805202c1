"""The first page's picture: the forest plot of all pairs, on a narrow screen in its narrow form, or another figure."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ccreport.core.text import make_label
from ccreport.figures.write import UNTITLED
from ccreport.report.first_page.plot import PAIRS, PAIRS_NARROW, PAIRS_PAPER
from ccreport.report.fragments.exhibits import list_downloads, read_size, show_command
from ccreport.report.markup.blocks import close_fold, open_fold
from ccreport.report.markup.escape import escape_text, fence_html

NARROW_SCREEN: Final = "(max-width: 50rem)"


def render_picture(first_page: Path, figures: Path, others: Iterable[str], command: str) -> str:
    """Return the figure for the website and for the PDF; where there are no pairs, another one for the website.

    `first_page` is a folder of figures as `plot_reproduction` writes it, `figures` one as `plot_figures` does; the
    first of `others` in it that was drawn is shown, and is among the figures of the PDF anyway. `command` draws that of
    pairs again.
    """
    wide, narrow = first_page / PAIRS, first_page / PAIRS_NARROW
    if (wide / "missing.txt").exists():
        drawn = (name for name in others if not (figures / name / "missing.txt").exists())
        return next((_render_other(figures / name) for name in drawn), "")
    caption, alt = (
        escape_text((wide / name).read_text(encoding="utf-8").strip()) for name in ("caption.txt", "alt.txt")
    )
    label = make_label("fig", PAIRS)
    size, narrow_size = (read_size(folder / "figure.svg") for folder in (wide, narrow))
    shown = (
        f'<figure class="forest" id="{label}">\n<picture>\n'
        f'<source media="{NARROW_SCREEN}" srcset="figures/{PAIRS_NARROW}/figure.svg"{narrow_size}>\n'
        f'<img src="figures/{PAIRS}/figure.svg" alt="{alt}"{size}>\n</picture>\n'
        f"<figcaption>{caption}</figcaption>\n</figure>"
    )
    compared = "[all conditions compared](conditions.qmd), by ratios of [geometric means](methods.qmd#sec-ratios)"
    pages = f"[Each pair in numbers](reproduction.qmd); {compared}"
    fold = f"{open_fold('Command')}\n{show_command(command, 'the figure of pairs')}\n{close_fold()}"
    links = f"{pages}; this figure as {list_downloads(PAIRS, wide)}.\n\n{fold}"
    paper_size = read_size(first_page / PAIRS_PAPER / UNTITLED)
    image = f'![{caption}](figures/{PAIRS_PAPER}/{UNTITLED}){{#{label} fig-alt="{alt}"{paper_size}}}'
    return (
        f'::: {{.content-visible when-format="html"}}\n\n{fence_html(shown)}\n{links}\n\n:::\n\n'
        f'::: {{.content-visible when-format="typst"}}\n\n{image}\n\n:::\n'
    )


def _render_other(figure: Path) -> str:
    told, alt = ((figure / name).read_text(encoding="utf-8").strip() for name in ("caption.txt", "alt.txt"))
    caption = escape_text(told.partition("\n")[0])
    place, size = f"figures/{figure.name}", read_size(figure / "figure.svg")
    shown = (
        f'<figure class="forest front-figure">\n<img src="{place}/figure.svg" alt="{escape_text(alt)}"{size}>\n'
        f"<figcaption>{caption}</figcaption>\n</figure>"
    )
    links = f"[All figures](figures.qmd); this one as {list_downloads(figure.name, figure)}."
    return f'::: {{.content-visible when-format="html"}}\n\n{fence_html(shown)}\n{links}\n\n:::\n'
