"""Cells of a published table as dots with their 95 % intervals: one row per condition, a mark per algorithm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import altair as alt
import duckdb
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import CHARACTER_PX
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.keyed_panels import TITLE_LIMIT_PX, KeyEntry, draw_key
from ccreport.figures.kit.log_axis import fit_log_axis
from ccreport.figures.kit.series_styles import style_series
from ccreport.figures.kit.text import write
from ccreport.figures.kit.value_axis import fit_value_axis
from ccreport.figures.select.declaration import FigureDeclaration, FigureError, refuse_where
from ccreport.figures.select.queries import MissingFigure, describe_absence
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.table_cells import (
    RATE_COLUMNS,
    RETRANSMIT_COLUMNS,
    choose_keys,
    find_conditions,
    list_cell_labels,
    select_cells,
)
from ccreport.figures.wording.conditions import INTERVAL, describe_value, fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_significant, tell_flows
from ccreport.summarise.grids.label_names import show_names
from ccreport.summarise.grids.pooled_settings import RUNS_AT_LEAST
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit
from ccreport.summarise.refused_sql import describe_refusal

ROW_PX: Final = 22
# Between the marks of two algorithms in a row.
DODGE_PX: Final = 5.0
LABEL_MOST_PX: Final = 300
# Ratios of less than 0.001 % are drawn as that.
LEAST_POWER: Final = -3


ENDS: Final = ("mean", "low", "high")
# Where the algorithms of a run have different numbers of flows.
OWN_FLOWS: Final = "algorithm_flows_count"


@dataclass(frozen=True)
class Measure:
    """What is drawn: columns of mean and interval, their name, and what a unit is of the table's."""

    columns: tuple[str, str, str]
    name: str
    unit: str
    size: float
    is_log: bool = False


RETRANSMITS: Final = Measure(
    RETRANSMIT_COLUMNS,
    "Mean of the runs’ retransmit ratios",
    "%",
    0.01,
    True,
)


def build_table_dots(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the cells that match of the published table that the declaration names.

    Drawn are mean rates, or retransmit ratios where the table has no rates. Raise FigureError where the table is
    missing or the database refuses the condition, MissingFigure where no cell has a mean.
    """
    cells = _read_cells(declaration, database)
    measure = _choose_measure(cells)
    mean, low, high = measure.columns
    styles = _style_algorithms(cells, database)
    known = cells.filter(pl.col(mean).is_not_null())
    if known.is_empty():
        raise MissingFigure("No cell of the table has a mean.")
    keys = choose_keys(declaration.table, known)
    rows = known.select(keys).unique(maintain_order=True).with_row_index("row")
    placed = known.join(rows, on=keys, how="left", nulls_equal=True, maintain_order="left")
    named = show_names(rows, declaration.shown)
    names = {row["row"]: _name_row(keys, row) for row in named.rows(named=True)}
    data = placed.select(*keys, "algorithm", "runs_count", mean, low, high)
    drawn = [(pl.col(column) / measure.size).alias(end) for column, end in zip(measure.columns, ENDS, strict=True)]
    conditions = find_conditions(database, declaration.table, keys)
    compared = placed.join(conditions, on=[*keys, "algorithm"], how="left", nulls_equal=True, maintain_order="left")
    own = pl.col(OWN_FLOWS) if OWN_FLOWS in compared.columns else pl.lit(None, pl.Int64).alias(OWN_FLOWS)
    scaled = compared.select("row", "runs_count", "conditions", own, "algorithm", *drawn)
    told = scaled.with_columns(pl.col("algorithm").replace({key: style.name for key, style in styles.items()}))
    return Figure(
        _draw(declaration, scaled, names, measure, styles),
        data,
        _write_caption(told, names, measure),
        _write_alternative(told, names, measure),
    )


def _style_algorithms(cells: pl.DataFrame, database: Database) -> dict[str, theme.AlgorithmStyle]:
    """Return how each algorithm of the table is drawn: a single version as all figures do, several by the table's name.

    A group of versions looks as the version does that goes by its name.
    """
    members = database.ask("SELECT algorithm, list(cc ORDER BY cc) AS ccs FROM algorithms GROUP BY ALL ORDER BY ALL")
    ccs: dict[str, list[str]] = dict(members.iter_rows())
    bases = style_series(cells["algorithm"].unique(maintain_order=True).to_list())
    known = {name: ccs.get(name, [cc]) for name, cc in bases.items()}
    styles = {name: theme.style_of(own[-1]) for name, own in known.items()}
    return {name: style if len(known[name]) == 1 else replace(style, name=name) for name, style in styles.items()}


def _read_cells(declaration: FigureDeclaration, database: Database) -> pl.DataFrame:
    try:
        selected = select_cells(declaration.table, list_cell_labels(database, declaration.table))
        cells = database.ask(f"FROM ({selected}) WHERE (\n{declaration.where}\n)")
    except duckdb.CatalogException as error:
        raise FigureError(
            f"figure {declaration.name!r}: the evaluation lacks its `table`: {describe_refusal(error)}"
        ) from error
    except duckdb.Error as error:
        raise refuse_where(declaration.name, error, declaration.where, view=declaration.table) from error
    if cells.is_empty():
        raise MissingFigure(describe_absence(declaration, "cell"))
    return cells


def _choose_measure(cells: pl.DataFrame) -> Measure:
    if "rate_mean_bps" not in cells.columns:
        return RETRANSMITS
    unit = choose_rate_unit(cells.select(pl.col("rate_mean_bps").max()).item() or 0.0)
    basis = cells["rate_basis"].drop_nulls().unique().sort().to_list()
    name = f"Mean {basis[0]}" if len(basis) == 1 else "Mean rate"
    return Measure(RATE_COLUMNS, name, unit, RATE_UNITS[unit])


def _name_row(keys: Sequence[str], row: dict[str, Any]) -> str:
    return ", ".join(filter(None, (describe_value(key, row[key]) for key in keys))) or "all runs"


def _draw(
    declaration: FigureDeclaration,
    cells: pl.DataFrame,
    names: dict[int, str],
    measure: Measure,
    styles: Mapping[str, theme.AlgorithmStyle],
) -> alt.VConcatChart:
    label_px = min(LABEL_MOST_PX, max(len(name) for name in names.values()) * CHARACTER_PX)
    width, height = int(theme.PLOT_WIDTH_PX + 60 - label_px), ROW_PX * len(names)
    placed, scale, axis = _lay_axis(cells, measure)
    layers: list[alt.Chart] = []
    for place, (algorithm, style) in enumerate(styles.items()):
        shift = (place - (len(styles) - 1) / 2) * DODGE_PX
        own = placed.filter(pl.col("algorithm") == algorithm)
        marked = own.select("row", *(pl.col(end).round(6) for end in ENDS)).with_columns(
            y_px=ROW_PX * (pl.col("row") + 0.5) + shift
        )
        y = alt.Y("y_px:Q", scale=alt.Scale(domain=[height, 0], nice=False), axis=None)
        rules = alt.Chart(marked.drop_nulls()).mark_rule(color=style.colour, strokeWidth=1.6)
        dots = alt.Chart(marked).mark_point(size=42, shape=style.marker, color=style.colour, fill="white", opacity=1)
        layers.append(rules.encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", y=y))
        layers.append(dots.encode(x=alt.X("mean:Q", scale=scale, axis=axis), y=y))
    for row, text in names.items():
        layers.append(write([text], (-10.0, ROW_PX * (row + 0.5)), align="right"))
    plot = alt.LayerChart(layer=layers, width=width, height=height)
    key = [KeyEntry(style.name, style.marker, style.colour) for style in styles.values()]
    heading = alt.TitleParams(
        [" ".join(declaration.title.split())],
        subtitle=[f"{measure.name} ({measure.unit}), 95 % intervals"],
        offset=12,
        limit=TITLE_LIMIT_PX,
    )
    chart: alt.VConcatChart = alt.vconcat(draw_key(key, width), plot, spacing=10).properties(title=heading)
    return chart


def _lay_axis(cells: pl.DataFrame, measure: Measure) -> tuple[pl.DataFrame, alt.Scale, alt.Axis]:
    """Return the cells with their values where they are drawn, and the scale and the axis of the means."""
    title = f"{measure.name} ({measure.unit})"
    if measure.is_log:
        shares = fit_log_axis(cells["mean"], cells["high"], LEAST_POWER)
        placed = cells.with_columns(shares.place(pl.col(end), pl.col("mean")).alias(end) for end in ENDS)
        return placed, shares.scale, shares.draw(title)
    rates = fit_value_axis(title, cells["mean"], cells["high"].drop_nulls().to_list(), cells["low"])
    options: dict[str, Any] = {"format": rates.format} if rates.format else {}
    axis = alt.Axis(title=rates.title, values=list(rates.ticks), grid=True, **options)
    return cells.with_columns(pl.col(ENDS).clip(rates.least)), rates.scale, axis


def _write_caption(cells: pl.DataFrame, names: dict[int, str], measure: Measure) -> str:
    less = cells.filter(pl.col("mean").is_between(0, 10.0**LEAST_POWER, closed="none")).height if measure.is_log else 0
    return fold_sentences(
        [
            f"{measure.name} of {len(names)} conditions, a mark for each algorithm",
            *_describe_largest_gap(cells, names, measure),
            f"bars: {INTERVAL}",
            _explain_bare(cells),
            *([f"{_count_marks(less)} of less than {10.0**LEAST_POWER:g} %"] if less else []),
            *(["A mark at 0: no segment was retransmitted"] if measure.is_log and (cells["mean"] == 0).any() else []),
        ]
    )


def _explain_bare(cells: pl.DataFrame) -> str:
    """Return why a mark has no bar."""
    few = "A mark without a bar rests on fewer than three runs"
    if cells.filter(pl.col("low").is_null(), pl.col("runs_count") >= RUNS_AT_LEAST, pl.col("mean") > 0).is_empty():
        return few
    return f"{few}, or on too few that repeat each other: the evaluation’s `condition` says which do"


def _describe_largest_gap(cells: pl.DataFrame, names: dict[int, str], measure: Measure) -> list[str]:
    """Say where two algorithms that ran under the same conditions are farthest apart; zeros have no ratio.

    Where others are farther apart, which ran under different conditions, the sentence says which it is of.
    """
    known = cells.filter(pl.col("mean") > 0)
    pairs = (
        known.join(known, on="row", suffix="_high", maintain_order="left_right")
        .filter(pl.col("algorithm") != pl.col("algorithm_high"), pl.col("mean") <= pl.col("mean_high"))
        .with_columns(times=pl.col("mean_high") / pl.col("mean"))
        .sort("times", "row", descending=[True, False], maintain_order=True)
    )
    like = pairs.filter(pl.col("conditions").eq_missing(pl.col("conditions_high")))
    if like.is_empty():
        return []
    most = like.row(0, named=True)
    what = measure.name[0].lower() + measure.name[1:]
    times = format_significant(most["times"], 3)
    said = f"{most['algorithm_high']} had {times} times the {what} of {most['algorithm']}"
    if measure is not RETRANSMITS:
        said += tell_flows(most[f"{OWN_FLOWS}_high"], most[OWN_FLOWS])
    if pairs["times"][0] > most["times"]:
        return [f"Of algorithms that ran under the same conditions, farthest apart at {names[most['row']]}: {said}"]
    return [f"Farthest apart at {names[most['row']]}: {said}"]


def _count_marks(count: int) -> str:
    least = f"≤ {10.0**LEAST_POWER:g}"
    return f"1 mark at {least} is" if count == 1 else f"{count} marks at {least} are"


def _write_alternative(cells: pl.DataFrame, names: dict[int, str], measure: Measure) -> str:
    told = []
    for (row,), own in cells.group_by("row", maintain_order=True):
        values = [f"{name} {format_significant(mean, 3)}" for name, mean in own.select("algorithm", "mean").rows()]
        told.append(f"{names[row]}: {', '.join(values)} {measure.unit}")
    return write_sentences([f"Dot plot of {measure.name.lower()} by condition", *told])
