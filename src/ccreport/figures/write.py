"""Plot a declared figure: read its runs from the database, draw, and write the files that a report includes."""

from pathlib import Path
from typing import Final

import altair as alt
import duckdb
import vl_convert

from ccreport.figures.figure import Figure
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.rows import MissingFigure
from ccreport.figures.selection import read_declaration

FILES: Final = ("figure.svg", "figure.png", "figure.vl.json", "figure.csv", "caption.txt", "alt.txt", "missing.txt")
PNG_SCALE: Final = 2
# "v6.4.1" → "6.4"
VEGA_LITE_VERSION: Final = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def plot_figures(figures: list[str], evaluation: Path, database: Path, output: Path) -> None:
    """Write each of these figures of the evaluation file into a folder of its name below `output`."""
    for figure in figures:
        plot_figure(figure, evaluation, database, output / figure)


def plot_figure(figure: str, evaluation: Path, database: Path, output: Path) -> None:
    """Write a figure of the evaluation file into the folder `output`.

    figure.svg, figure.png (twice the size), figure.vl.json (Vega-Lite), figure.csv (the data drawn), caption.txt and
    alt.txt, both plain text with one line; or, where no run has data for it, only missing.txt that says why. Raise
    FigureError where the declaration cannot be used.
    """
    declaration = read_declaration(evaluation, figure)
    output.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (output / name).unlink(missing_ok=True)
    try:
        with duckdb.connect(str(database), read_only=True) as connection:
            drawn_figure = BUILDERS[declaration.kind](declaration, connection)
    except MissingFigure as missing:
        (output / "missing.txt").write_text(f"{missing}\n", encoding="utf-8")
    else:
        _write_files(drawn_figure, output)


def _write_files(figure: Figure, output: Path) -> None:
    specification = figure.chart.to_json(indent=1)
    svg: str = vl_convert.vegalite_to_svg(specification, vl_version=VEGA_LITE_VERSION)
    (output / "figure.vl.json").write_text(specification + "\n", encoding="utf-8")
    (output / "figure.svg").write_text(svg + "\n", encoding="utf-8")
    (output / "figure.png").write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
    figure.data.write_csv(output / "figure.csv")
    (output / "caption.txt").write_text(figure.caption + "\n", encoding="utf-8")
    (output / "alt.txt").write_text(figure.alternative + "\n", encoding="utf-8")
