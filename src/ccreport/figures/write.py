"""Plot a declared figure: read its runs from the database, draw, and write the files that a report includes."""

import atexit
import json
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import altair as alt
import vl_convert
from PIL import Image, ImageOps

from ccreport.core.atomic_files import replace_text, replaces_folder
from ccreport.core.csv_files import write_csv
from ccreport.core.declared_files import blame
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.kit import theme
from ccreport.figures.kit.dark_colours import add_dark_colours
from ccreport.figures.kit.fast_altair import compose_by_reference
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.text_lengths import pin_lengths
from ccreport.figures.kit.untitled import drop_empty_title, drop_title
from ccreport.figures.select.cache import digest_code, name_copy, prune_copies, restore_copy, store_copy
from ccreport.figures.select.condition_cells import describe_suspects
from ccreport.figures.select.declaration import POOLING_KINDS, FigureDeclaration, FigureError, read_declarations
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Asked, Database
from ccreport.figures.wording.conditions import add_detail
from ccreport.summarise.open_database import open_database
from ccreport.workflow_fixes.orphans import end_with_build

THUMBNAIL: Final = "thumbnail.png"
UNTITLED: Final = "untitled.svg"
FILES: Final = (
    "figure.svg",
    UNTITLED,
    "figure.png",
    THUMBNAIL,
    "figure.vl.json",
    "figure.csv",
    "caption.txt",
    "alt.txt",
    "missing.txt",
)
PNG_SCALE: Final = 2
# The gallery shows thumbnails about this wide, and its style cuts off what is higher than this times their width.
THUMBNAIL_WIDTH: Final = 300
THUMBNAIL_RATIO: Final = 0.65
THUMBNAIL_SCALE: Final = 0.4
# A figure has few colours, and the greys and tints at the edges of its signs: an eighth of the bytes.
PNG_COLOURS: Final = 128
# The highest level takes five times as long, for 8 % fewer bytes.
PNG_COMPRESSION: Final = 7
# A process takes some 1.5 s to start, a figure half a second to draw, and other jobs have use for the cores.
PROCESSES: Final = 2
WORTH_PROCESSES: Final = 24
# id="clip3" · url(#gradient_0)
NUMBERED: Final = re.compile(r'(?P<before> id="|url\(#)(?P<name>clip|gradient_)(?P<number>\d+)(?=["\)])')
# "v6.4.1" → "6.4"
VEGA_LITE_VERSION: Final = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


@replaces_folder("output")
def plot_figures(figures: list[str], evaluation: Path, database: Path, cache: Path, output: Path) -> None:
    """Write each of these figures of the evaluation file into a folder of its name below `output`.

    `cache` becomes a JSON object: of each figure the name of its copy, in the folder that the file is in. A copy that
    was there before is taken where the figure would come out the same, and removed where no figure uses it.
    """
    code = digest_code()
    declarations = read_declarations(evaluation, figures)
    names = {declaration.name: name_copy(declaration, code) for declaration in declarations}
    copies = cache.parent
    copies.mkdir(parents=True, exist_ok=True)
    prune_copies(copies, names.values())
    with Database(database) as opened:
        missing = [
            declaration
            for declaration in declarations
            if not restore_copy(copies, names[declaration.name], opened, output / declaration.name)
        ]
    try:
        plotted = _plot_all(missing, database, output)
    except FigureError as error:
        raise blame(evaluation, error) from error
    for declaration, asked in zip(missing, plotted, strict=True):
        store_copy(copies, names[declaration.name], asked, output / declaration.name)
    replace_text(cache, json.dumps(names, indent=1, sort_keys=True) + "\n")


def _plot_all(declarations: list[FigureDeclaration], database: Path, output: Path) -> list[list[Asked]]:
    """Plot figures, and return what each asked the database."""
    jobs = [(declaration, database, output / declaration.name) for declaration in declarations]
    if len(jobs) < WORTH_PROCESSES:
        return [plot_declaration(*job) for job in jobs]
    # The drawing engine has threads of its own, which a forked process would lack.
    with ProcessPoolExecutor(PROCESSES, get_context("spawn"), _start, (database,)) as pool:
        return [future.result() for future in [pool.submit(plot_declaration, *job) for job in jobs]]


def _start(database: Path) -> None:
    """Prepare a process that draws: as long as it has the database open, to open it for a figure takes no time."""
    end_with_build()
    atexit.register(open_database(database).close)


def plot_declaration(declaration: FigureDeclaration, database: Path, output: Path) -> list[Asked]:
    """Write a figure into a folder, or only missing.txt that says why there is none; return what it asked."""
    with Database(database) as opened:
        try:
            draw_declaration(declaration, opened, output)
        except MissingFigure as missing:
            _clear(output)
            (output / "missing.txt").write_text(f"{missing}\n", encoding="utf-8")
    return opened.asked


def draw_declaration(declaration: FigureDeclaration, database: Database, output: Path) -> None:
    """Write a figure into a folder; raise MissingFigure, with the folder as it was, where there is none."""
    with compose_by_reference(), theme.call_algorithms(declaration.names):
        drawn_figure = BUILDERS[declaration.kind](declaration, database)
        if drawn_figure.data.is_empty():
            raise MissingFigure("The rows that match have nothing to draw.")
        if declaration.kind in POOLING_KINDS and (suspects := describe_suspects(declaration, database)):
            drawn_figure = replace(drawn_figure, caption=add_detail(drawn_figure.caption, suspects))
        _clear(output)
        if not declaration.title.strip():
            drop_empty_title(drawn_figure.chart)
        write_files(drawn_figure, output)


def _clear(output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (output / name).unlink(missing_ok=True)


def write_files(figure: Figure, output: Path) -> None:
    """Write what a report includes of a figure, but for missing.txt, into a folder that exists."""
    # Without one, the title of a panel would be taken for it.
    drop = drop_title if getattr(figure.chart, "title", alt.Undefined) is not alt.Undefined else str
    specification = figure.chart.to_json(indent=None, separators=(",", ":"), validate=False)
    svg = number_anew(vl_convert.vegalite_to_svg(specification, vl_version=VEGA_LITE_VERSION))
    (output / "figure.vl.json").write_text(specification + "\n", encoding="utf-8")
    drawing = add_dark_colours(pin_lengths(svg)) + "\n"
    (output / "figure.svg").write_text(drawing, encoding="utf-8")
    (output / UNTITLED).write_text(drop(drawing), encoding="utf-8")
    width = write_png(vl_convert.svg_to_png(svg, scale=PNG_SCALE), output / "figure.png") / PNG_SCALE
    # The browser would enlarge a smaller picture, which blurs it.
    scale = max(THUMBNAIL_SCALE, THUMBNAIL_WIDTH / width)
    # The gallery has the title below it.
    write_png(vl_convert.svg_to_png(drop(svg), scale=scale), output / THUMBNAIL, THUMBNAIL_RATIO)
    write_csv(figure.data, output / "figure.csv")
    (output / "caption.txt").write_text(figure.caption + "\n", encoding="utf-8")
    (output / "alt.txt").write_text(figure.alternative + "\n", encoding="utf-8")


def write_png(png: bytes, path: Path, least_ratio: float = 0) -> int:
    """Write a picture with a palette of its own, and return its width in pixels.

    Paper is added above and below one whose height is less than this ratio of its width.
    """
    with Image.open(BytesIO(png)) as image:
        picture = image.convert("RGB")
    if (height := round(picture.width * least_ratio)) > picture.height:
        picture = ImageOps.pad(picture, (picture.width, height), color="white")
    few_colours = picture.quantize(PNG_COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few_colours.save(path, "PNG", compress_level=PNG_COMPRESSION)
    return picture.width


def number_anew(svg: str) -> str:
    """Return a drawing whose clips and gradients are numbered from 0 in the order in which they come.

    The engine goes on counting from drawing to drawing, so that their numbers tell what the process drew before.
    """
    numbers: dict[str, int] = {}

    def replace(match: re.Match[str]) -> str:
        number = numbers.setdefault(f"{match['name']}{match['number']}", len(numbers))
        return f"{match['before']}{match['name']}{number}"

    return NUMBERED.sub(replace, svg)
