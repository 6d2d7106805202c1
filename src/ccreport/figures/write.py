"""Plot a declared figure: read its runs from the database, draw, and write the files that a report includes."""

from pathlib import Path
from typing import Final

import altair as alt
import duckdb
import polars as pl
import vl_convert

from ccreport.figures.assemble import (
    Figure,
    FigureTables,
    assemble_throughput_over_time,
    choose_drawn_runs,
)
from ccreport.figures.capture_figures import build_capture_figure
from ccreport.figures.rows import MissingFigure, read_matching_runs, read_rows
from ccreport.figures.selection import (
    CAPTURE_KINDS,
    FigureDeclaration,
    choose_rate,
    read_declaration,
    select_condition_runs,
)

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
            drawn_figure = build_figure(declaration, connection)
    except MissingFigure as missing:
        (output / "missing.txt").write_text(f"{missing}\n", encoding="utf-8")
    else:
        _write_files(drawn_figure, output)


def build_figure(declaration: FigureDeclaration, connection: duckdb.DuckDBPyConnection) -> Figure:
    """Return a declared figure from the views of the database; raise MissingFigure where no run has its data."""
    matching = read_matching_runs(declaration, connection)
    if declaration.kind in CAPTURE_KINDS:
        return build_capture_figure(declaration, connection, matching)
    runs = select_condition_runs(matching, declaration)
    intervals, flows = (read_rows(connection, table, runs) for table in ("intervals", "flows"))
    runs = runs.join(intervals, on="run_id", how="semi").join(flows, on="run_id", how="semi")
    _require_runs(declaration, matching, runs)
    drawn = choose_drawn_runs(declaration, runs, flows, choose_rate(declaration, flows))
    drawn_runs = runs.filter(pl.col("run_id").is_in([one.run["run_id"] for one in drawn]))
    samples, qdiscs = (read_rows(connection, table, drawn_runs) for table in ("samples", "qdiscs"))
    tables = FigureTables(runs, flows, intervals, samples, qdiscs)
    is_fitting = (pl.col("mode") == "both") == pl.lit(declaration.overlapped)
    left_out_count = matching.filter(is_fitting)["condition_id"].n_unique() - runs["condition_id"].n_unique()
    return assemble_throughput_over_time(declaration, tables, drawn, left_out_count)


def _require_runs(declaration: FigureDeclaration, matching: pl.DataFrame, runs: pl.DataFrame) -> None:
    if declaration.run is not None and declaration.run not in runs["run_id"].to_list():
        raise MissingFigure(
            f"Run {declaration.run} is none of the {matching.height} runs that match and fit the figure."
        )
    if runs.is_empty():
        modes = ", ".join(sorted(matching["mode"].fill_null("unknown").unique()))
        wanted = "several algorithms at once" if declaration.overlapped else "one algorithm alone"
        raise MissingFigure(
            f"None of the {matching.height} runs that match ran {wanted} with intervals (mode: {modes})."
        )


def _write_files(figure: Figure, output: Path) -> None:
    specification = figure.chart.to_json(indent=1)
    svg: str = vl_convert.vegalite_to_svg(specification, vl_version=VEGA_LITE_VERSION)
    (output / "figure.vl.json").write_text(specification + "\n", encoding="utf-8")
    (output / "figure.svg").write_text(svg + "\n", encoding="utf-8")
    (output / "figure.png").write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
    figure.data.write_csv(output / "figure.csv")
    (output / "caption.txt").write_text(figure.caption + "\n", encoding="utf-8")
    (output / "alt.txt").write_text(figure.alternative + "\n", encoding="utf-8")
