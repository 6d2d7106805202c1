"""The first page's picture: the forest plot of all pairs, on a narrow screen in its narrow form."""

from pathlib import Path
from typing import Final

from ccreport.report.first_page.plot import PAIRS, PAIRS_NARROW
from ccreport.report.fragments.exhibits import list_downloads, read_size
from ccreport.report.markup.escape import escape_text, fence_html, make_label

NARROW_SCREEN: Final = "(max-width: 50rem)"


def render_picture(first_page: Path) -> str:
    """Return the figure for the website and for the PDF; nothing where there are no pairs.

    `first_page` is a folder of figures as `plot_reproduction` writes it.
    """
    wide, narrow = first_page / PAIRS, first_page / PAIRS_NARROW
    if (wide / "missing.txt").exists():
        return ""
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
    pages = "[Each pair in numbers](reproduction.qmd); [all conditions compared](conditions.qmd)"
    links = f"{pages}; this figure as {list_downloads(PAIRS, wide)}."
    image = f'![{caption}](figures/{PAIRS}/figure.svg){{#{label} fig-alt="{alt}"{size}}}'
    return (
        f'::: {{.content-visible when-format="html"}}\n\n{fence_html(shown)}\n{links}\n\n:::\n\n'
        f'::: {{.content-visible when-format="typst"}}\n\n{image}\n\n:::\n'
    )
