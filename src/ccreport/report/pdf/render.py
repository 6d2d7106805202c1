"""The report as a PDF and its supplement: the pages that `report.md` and `supplement.md` name, through Typst.

The pages are those of the website, with the same includes and variables; `paper.lua` turns each into Typst, `paper.typ`
is the look. Typst uses only the fonts it brings along and no clock, so that the same fragments give the same bytes.
"""

import re
import shutil
import sys
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pikepdf
import pypandoc
import typst

from ccreport.figures.kit.dark_colours import remove_dark_colours
from ccreport.figures.kit.text_lengths import unpin_lengths
from ccreport.report.pdf.tables import set_tables
from ccreport.report.site.absent_pages import leave_out_pages, list_absent
from ccreport.report.site.links import PageError
from ccreport.report.site.pandoc import Pandoc
from ccreport.report.site.project_pages import read_header, read_page, read_yaml

# The header of `<document>.md` names the pages in their order, its text comes below the title.
DOCUMENTS: Final = ("report", "supplement")
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
# What tags say of the look of cells.
LOOKS: Final = frozenset(("/BackgroundColor", "/BorderColor", "/BorderStyle", "/BorderThickness"))
MAIN: Final = "paper_main.typ"
FONT: Final = "Libertinus Serif"
# Drawings are laid out in Liberation Sans; so much larger, this font is as large to the eye and still narrower.
FONT_SCALE: Final = 1.12
# font-family="Liberation Sans, Arial" · font-size="11px"
FONT_FAMILY: Final = re.compile(r'font-family="[^"]*"')
FONT_SIZE: Final = re.compile(r'font-size="([\d.]+)px"')


def render_paper(document: str, sources: Path, fragments: Path, figures: list[Path], kept: Path, output: Path) -> None:
    """Render the report as the PDF `output`, from the pages in `sources`, their fragments and the figures.

    `document` is `report` or `supplement`. Each of `figures` has folders with the SVGs of the figures that were drawn;
    `kept` has what pandoc made of these pages before.
    Raise PageError for a page that is not there and for one that cannot be rendered.
    """
    if document not in DOCUMENTS:
        raise PageError(f"no such document: {document}; there are {', '.join(DOCUMENTS)}")
    work = output.absolute().with_name(output.name + ".work")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(fragments, work / "fragments")
    # Each document may have its own of a fragment: `tables_supplement.md`.
    for own in sorted((work / "fragments").glob(f"*_{document}.md")):
        own.replace(own.with_name(f"{own.stem.removesuffix(f'_{document}')}.md"))
    for page in (*sorted(sources.glob("*.qmd")), sources / f"{document}.md"):
        shutil.copyfile(page, work / page.name)
    for drawing in sorted(path for folder in figures for path in folder.glob("*/*.svg")):
        (work / "figures" / drawing.parent.name).mkdir(parents=True, exist_ok=True)
        text = _set_type(drawing.read_text(encoding="utf-8"))
        (work / "figures" / drawing.parent.name / drawing.name).write_text(text, encoding="utf-8")
    shutil.copyfile(ASSETS / "paper.typ", work / "paper.typ")
    pandoc = Pandoc(kept)
    _write_pages(work, document, pandoc)
    output.write_bytes(_compress(_compile(work)))
    shutil.rmtree(work)
    pandoc.prune()


def _set_type(svg: str) -> str:
    """Return a drawing with its text in a font that Typst brings along, as the drawing's own may not be installed."""
    larger = FONT_SIZE.sub(
        lambda size: f'font-size="{float(size[1]) * FONT_SCALE:.2f}px"', unpin_lengths(remove_dark_colours(svg))
    )
    return FONT_FAMILY.sub(f'font-family="{FONT}"', larger)


def _write_pages(work: Path, document: str, pandoc: Pandoc) -> None:
    """Write each page as a Typst file, and the file that includes them all."""
    variables = read_yaml(work / "fragments" / "_variables.yml")
    absent = list_absent(variables)
    leave_out_pages(work, absent)
    variables.setdefault("software", {})["renderer"] = (
        f"Typst {version('typst')} and pandoc {pypandoc.get_pandoc_version()}"
    )
    title_page = f"{document}.md"
    pages = _list_pages(work / title_page, absent)
    if not pages:
        raise PageError(f"{title_page}: `pages` names none")
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
        list(threads.map(write_page, (title_page, *pages)))
    includes = [f'#include "{stem}_page.typ"' for stem in (document, *stems)]
    title = _title(variables) if document == DOCUMENTS[0] else f"{_title(variables)}: {document}"
    text = "\n".join(includes)
    (work / MAIN).write_text(
        f'#import "paper.typ": *\n#let title = [{title}]\n#show: paper.with(title: title)\n'
        f"#title-block(title, [{_write_byline(variables)}])\n{text}\n",
        encoding="utf-8",
    )


def _list_pages(title_page: Path, absent: Collection[str]) -> list[str]:
    named: list[str] = read_header(title_page).get("pages") or []
    pages = [page for page in named if Path(page).stem not in absent]
    for page in pages:
        if not title_page.with_name(page).is_file():
            raise PageError(f"{title_page.name}: no such page: {page}")
    return pages


def _title(variables: Mapping[str, Any]) -> str:
    """Return the evaluation's title, which is Markdown already, as Typst."""
    return _convert(variables["evaluation"]["title"])


def _write_byline(variables: Mapping[str, Any]) -> str:
    """Return the authors, where they are known, when the archive was measured, and by which version."""
    dates, made_by = variables.get("archive", {}).get("dates"), variables["software"].get("version")
    parts = [
        variables.get("release", {}).get("authors", ""),
        f"measured {dates}" if dates else "",
        f"ccreport {made_by}" if made_by else "",
    ]
    return _convert(" · ".join(part for part in parts if part))


def _convert(markdown: str) -> str:
    converted: str = pypandoc.convert_text(markdown, "typst", "markdown", ["--wrap=none"])
    return converted.strip()


def _compile(work: Path) -> bytes:
    """Return the PDF; one with a letter that no font has is tagged as well, but does not claim to be accessible."""

    pdf: bytes
    options: dict[str, Any] = {"root": work, "ignore_system_fonts": True}
    try:
        pdf, warnings = typst.compile_with_warnings(work / MAIN, **options, pdf_standards=ACCESSIBLE)
    except typst.TypstError as error:
        print(f"the PDF is not PDF/UA-1: {error}", file=sys.stderr)
        try:
            pdf, warnings = typst.compile_with_warnings(work / MAIN, **options)
        except typst.TypstError as fault:
            raise PageError(f"Typst: {fault}") from fault
    for warning in warnings:
        print(f"Typst: {warning}", file=sys.stderr)
    return pdf


def _compress(pdf: bytes) -> bytes:
    """Return the same PDF with its tags compressed, which Typst leaves as text: a third of the size.

    Tags keep nothing of how cells look: readers need it for no other layout, and some take it for a fault.
    """
    compressed = BytesIO()
    with pikepdf.open(BytesIO(pdf)) as opened:
        # False is what it is without.
        del opened.Root.MarkInfo.Suspects
        for tag in opened.objects:
            if isinstance(tag, pikepdf.Dictionary) and tag.get("/Type") == "/StructElem" and "/A" in tag:
                for attributes in tag.A if isinstance(tag.A, pikepdf.Array) else [tag.A]:
                    for name in LOOKS & set(attributes.keys()):
                        del attributes[name]
        opened.save(compressed, object_stream_mode=pikepdf.ObjectStreamMode.generate, deterministic_id=True)
    return compressed.getvalue()
