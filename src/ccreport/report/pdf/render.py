"""The report as one PDF: the pages that `paper.md` names, through pandoc's Typst writer and Typst.

The pages are those of the website, with the same includes and variables; `paper.lua` turns each into Typst, `paper.typ`
is the look. Typst uses only the fonts it brings along and no clock, so that the same fragments give the same bytes.
"""

import re
import shutil
import sys
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pypandoc
import typst

from ccreport.figures.kit.dark_colours import remove_dark_colours
from ccreport.figures.kit.text_lengths import unpin_lengths
from ccreport.report.pdf.tables import set_tables
from ccreport.report.site.absent_pages import leave_out_pages, list_absent
from ccreport.report.site.links import PageError
from ccreport.report.site.pandoc import Pandoc
from ccreport.report.site.without_quarto import read_header, read_page, read_yaml

# Its header names the pages in their order, its text is the title page.
TITLE_PAGE: Final = "paper.md"
ASSETS: Final = Path(__file__).parent
PANDOC_OPTIONS: Final = (
    "--from=markdown",
    "--to=typst",
    "--wrap=none",
    "--fail-if-warnings",
    f"--lua-filter={ASSETS / 'paper.lua'}",
)
# A tagged PDF whose tags, alternative texts and letters are complete (ISO 14289-1).
ACCESSIBLE: Final = "ua-1"
MAIN: Final = "paper_main.typ"
FONT: Final = "Libertinus Serif"
# Drawings are laid out in Liberation Sans; so much larger, this font is as large to the eye and still narrower.
FONT_SCALE: Final = 1.12
# font-family="Liberation Sans, Arial" · font-size="11px"
FONT_FAMILY: Final = re.compile(r'font-family="[^"]*"')
FONT_SIZE: Final = re.compile(r'font-size="([\d.]+)px"')


def render_paper(sources: Path, fragments: Path, figures: list[Path], kept: Path, output: Path) -> None:
    """Render the report as the PDF `output`, from the pages in `sources`, their fragments and the figures.

    Each of `figures` has folders with `figure.svg` for the figures that were drawn; `kept` has what pandoc made of
    these pages before. Raise PageError for a page that is not there and for one that cannot be rendered.
    """
    work = output.absolute().with_name(output.name + ".work")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(fragments, work / "fragments")
    for page in (*sorted(sources.glob("*.qmd")), sources / TITLE_PAGE):
        shutil.copyfile(page, work / page.name)
    for drawing in sorted(path for folder in figures for path in folder.glob("*/figure.svg")):
        (work / "figures" / drawing.parent.name).mkdir(parents=True)
        text = _set_type(drawing.read_text(encoding="utf-8"))
        (work / "figures" / drawing.parent.name / drawing.name).write_text(text, encoding="utf-8")
    shutil.copyfile(ASSETS / "paper.typ", work / "paper.typ")
    pandoc = Pandoc(kept)
    _write_pages(work, pandoc)
    output.write_bytes(_compile(work))
    shutil.rmtree(work)
    pandoc.prune()


def _set_type(svg: str) -> str:
    """Return a drawing with its text in a font that Typst brings along, as the drawing's own may not be installed."""
    larger = FONT_SIZE.sub(
        lambda size: f'font-size="{float(size[1]) * FONT_SCALE:.2f}px"', unpin_lengths(remove_dark_colours(svg))
    )
    return FONT_FAMILY.sub(f'font-family="{FONT}"', larger)


def _write_pages(work: Path, pandoc: Pandoc) -> None:
    """Write each page as a Typst file, and the file that includes them all."""
    variables = read_yaml(work / "fragments" / "_variables.yml")
    absent = list_absent(variables)
    leave_out_pages(work, absent)
    variables.setdefault("software", {})["renderer"] = (
        f"Typst {version('typst')} and pandoc {pypandoc.get_pandoc_version()}"
    )
    pages = _list_pages(work, absent)
    stems = [page.removesuffix(".qmd") for page in pages]

    def write_page(page: str) -> None:
        stem = Path(page).stem
        lines, tables = set_tables(read_page(work, page, variables), stem, frozenset(stems))
        for path, table in tables.items():
            (work / path).write_text(table, encoding="utf-8")
        options = [*PANDOC_OPTIONS, f"--metadata=page:{stem}", f"--metadata=pages:{' '.join(stems)}"]
        text = f'#import "paper.typ": *\n{pandoc.convert(lines, options)}'
        (work / f"{stem}_page.typ").write_text(text, encoding="utf-8")

    (work / "tables").mkdir()
    # Most of the work is pandoc's, a process of its own for each page.
    with ThreadPoolExecutor() as threads:
        list(threads.map(write_page, (TITLE_PAGE, *pages)))
    includes = "\n".join(f'#include "{stem}_page.typ"' for stem in stems)
    (work / MAIN).write_text(
        f'#import "paper.typ": *\n#let title = [{_title(variables)}]\n#show: paper.with(title: title)\n'
        f'#title-page(title, include "{Path(TITLE_PAGE).stem}_page.typ")\n#contents()\n{includes}\n',
        encoding="utf-8",
    )


def _list_pages(work: Path, absent: Collection[str]) -> list[str]:
    named: list[str] = read_header(work / TITLE_PAGE).get("pages") or []
    pages = [page for page in named if Path(page).stem not in absent]
    for page in pages:
        if not (work / page).is_file():
            raise PageError(f"{TITLE_PAGE}: no such page: {page}")
    if not pages:
        raise PageError(f"{TITLE_PAGE}: `pages` names none")
    return pages


def _title(variables: Mapping[str, Any]) -> str:
    """Return the evaluation's title, which is Markdown already, as Typst."""
    title: str = pypandoc.convert_text(variables["evaluation"]["title"], "typst", "markdown", ["--wrap=none"])
    return title.strip()


def _compile(work: Path) -> bytes:
    """Return the PDF; one with a letter that no font has is tagged as well, but does not claim to be accessible."""

    main = work / MAIN
    try:
        return typst.compile(main, root=work, ignore_system_fonts=True, pdf_standards=ACCESSIBLE)
    except typst.TypstError as error:
        print(f"the PDF is not PDF/UA-1: {error}", file=sys.stderr)
    try:
        return typst.compile(main, root=work, ignore_system_fonts=True)
    except typst.TypstError as error:
        raise PageError(f"Typst: {error}") from error
