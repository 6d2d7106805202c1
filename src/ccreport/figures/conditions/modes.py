"""Single runs of each condition by their outcome, coloured by the mode into which they fall: what a mean would hide."""

import re
from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.core.text import display_name
from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import Position, draw_ticks, shorten
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.keyed_panels import TITLE_LIMIT_PX, KeyEntry, draw_key
from ccreport.figures.kit.text import write
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure, read_matching_runs
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import fold_sentences, write_sentences
from ccreport.summarise.statistics.modes import assign_modes

TABLE: Final = "modes"
ROW_PX: Final = 24
LABEL_PX: Final = 270
WIDTH_PX: Final = theme.PLOT_WIDTH_PX - LABEL_PX + 50
# Those with several modes come first, so that none of them is left out before one without.
ROWS_AT_MOST: Final = 40
# A run of a condition's only mode, then of its modes from the lowest: apart in lightness, shape and hue.
SINGLE: Final = ("#767676", "circle")
MODES: Final = (("#b8446c", "triangle-down"), ("#1c3fc4", "square"), ("#007f68", "triangle-up"))
# Around the mark of a suspect run that counts.
SUSPECT: Final = KeyEntry("suspect run", "circle", theme.INK)
SUSPECT_SIZE: Final = 150
NAMES: Final = ("lowest mode", "second mode", "third mode")
DEFINITION: Final = (
    "Modes: parts of at least two runs in which any two runs are closer than any two of different parts (Dunn's index "
    "above 1), so well separated as at most 1 of 100 uniform samples of this size, at least a tenth of the mean apart"
)
OUTCOMES: Final = {
    "share of the rate": "Share of the algorithm in the run's rate",
    "slowest flow over mean flow": "Rate of the slowest flow over the mean of the run's flows",
    "rate over mean": "Rate of the run over the mean of its condition",
}
CONDITION: Final = ("session", "job", "host", "parameter_value", "rtt_nominal_ms", "algorithm")


def build_modes_by_condition(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of all conditions that match, a plot for each kind of outcome.

    Raise MissingFigure where the evaluation has no table `modes`, or where that has no run that matches.
    """
    matching = read_matching_runs(declaration, database)
    runs = list_outcomes(database, matching["run_id"].to_list())
    if runs.is_empty():
        raise MissingFigure(f"The table {TABLE} has none of the {matching.height:,} runs that match.")
    runs = runs.with_columns(is_suspect=pl.col("run_id").is_in(_list_suspects(database)))
    rows = rank_conditions(runs)
    shown = rows.filter(pl.col("place") < ROWS_AT_MOST)
    drawn = runs.join(shown.select(*CONDITION, "outcome", "place"), on=[*CONDITION, "outcome"], nulls_equal=True)
    drawn = drawn.sort("place", "run_id")
    kinds = [kind for kind in OUTCOMES if kind in shown["outcome"]]
    plots = [_draw(kind, drawn, shown) for kind in kinds]
    count = shown.filter(pl.col("modes_count") > 1).height
    left_out_count = rows.height - shown.height
    heading = " ".join(declaration.title.split())
    conditions = f"{rows.height} condition{'' if rows.height == 1 else 's'}"
    summary = f"Runs fall into separate groups (modes) in {count or 'none'} of {conditions}"
    params = alt.TitleParams([heading], subtitle=[summary], offset=12, limit=TITLE_LIMIT_PX)
    suspects = [SUSPECT] if drawn["is_suspect"].any() else []
    key = draw_key([*_list_key(shown), *suspects], WIDTH_PX)
    chart = alt.vconcat(key, *plots, spacing=14).properties(title=params)
    sentences = [
        "Each mark is one run, each row the runs of one condition, their number on the right",
        *(["A ring is around a suspect run"] if suspects else []),
        *(f"{OUTCOMES[kind]}" for kind in kinds),
        f"{summary}, {runs['run_id'].n_unique()} runs in all",
        DEFINITION,
        *([f"{left_out_count} conditions with one mode are left out"] if left_out_count else []),
    ]
    columns = (*CONDITION, "outcome", "run_id", "outcome_ratio", "mode_number", "modes_count", "is_suspect")
    return Figure(chart, drawn.select(columns), fold_sentences(sentences), _write_alternative(shown, summary))


def _list_suspects(database: Database) -> list[str]:
    """Return the suspect runs that count, which is none unless the configuration includes them."""
    query = "SELECT run_id FROM labelled_runs WHERE is_suspect AND is_counted ORDER BY ALL"
    return database.ask(query)["run_id"].to_list()


def list_outcomes(database: Database, run_ids: list[str]) -> pl.DataFrame:
    """Return the outcome and mode of each of these runs: condition, outcome, run_id, outcome_ratio, mode_number.

    Modes are those of all runs of the condition, and numbered from 1, the lowest. Empty without the table.
    """
    schema: dict[str, type[pl.DataType]] = dict.fromkeys((*CONDITION, "outcome", "run_id"), pl.String)
    schema |= {
        "rtt_nominal_ms": pl.Float64,
        "outcome_ratio": pl.Float64,
        "mode_number": pl.Int64,
        "modes_count": pl.Int64,
    }
    if not database.ask("SELECT count(*) FROM information_schema.tables WHERE table_name = ?", [TABLE]).item():
        return pl.DataFrame(schema=schema)
    rows: list[dict[str, Any]] = []
    for cell in database.ask(f"FROM {TABLE}").iter_rows(named=True):
        numbers = assign_modes(cell["outcomes"])
        known = {name: cell[name] for name in (*CONDITION, "outcome")} | {"modes_count": max(numbers) + 1}
        rows += [
            known | {"run_id": run_id, "outcome_ratio": outcome, "mode_number": number + 1}
            for run_id, outcome, number in zip(cell["run_ids"], cell["outcomes"], numbers, strict=True)
        ]
    return pl.DataFrame(rows, schema=schema).filter(pl.col("run_id").is_in(run_ids))


def rank_conditions(runs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per condition in the order of drawing: condition, outcome, modes_count, counts, label, place."""
    return (
        runs.group_by(*CONDITION, "outcome", "modes_count", maintain_order=True)
        .agg(numbers=pl.col("mode_number"), runs_count=pl.len())
        .with_columns(
            has_one=pl.col("modes_count") < 2,
            # In the order of the numbers in names: 62KB before 125KB.
            name_key=pl.col("job").map_elements(_pad_numbers, pl.String),
        )
        .sort("has_one", "session", "name_key", "rtt_nominal_ms", maintain_order=True, nulls_last=True)
        .drop("has_one", "name_key")
        .with_columns(place=pl.int_range(pl.len()))
    )


def _pad_numbers(name: str) -> str:
    return re.sub(r"\d+", lambda number: number[0].zfill(12), name)


def _list_key(shown: pl.DataFrame) -> list[KeyEntry]:
    most: int = shown["modes_count"].max()  # type: ignore[assignment]
    single = KeyEntry("runs of a condition that form a single group", SINGLE[1], SINGLE[0])
    return ([single] if shown["modes_count"].min() == 1 else []) + [
        KeyEntry(name, shape, colour)
        for name, (colour, shape) in list(zip(NAMES, MODES, strict=True))[: most if most > 1 else 0]
    ]


def _draw(kind: str, drawn: pl.DataFrame, shown: pl.DataFrame) -> alt.LayerChart:
    rows = shown.filter(pl.col("outcome") == kind).with_columns(row=pl.int_range(pl.len()))
    runs = drawn.filter(pl.col("outcome") == kind).join(rows.select("place", "row"), on="place")
    height = ROW_PX * rows.height
    top: float = runs.select(pl.col("outcome_ratio").max()).item() or 1.0
    ticks = choose_ticks(max(top, 1.0) if kind != "share of the rate" else 1.0)
    x = alt.X(
        "outcome_ratio:Q",
        scale=alt.Scale(domain=[0, ticks[-1]], nice=False),
        axis=alt.Axis(title=None, labels=False, ticks=False, values=list(ticks)),
    )
    y = alt.Y("row:Q", scale=alt.Scale(domain=[rows.height - 0.5, -0.5], nice=False, zero=False), axis=None)
    lines = alt.Chart(rows.select("row")).mark_rule(color=theme.GRID).encode(y=y)
    layers: list[alt.Chart] = [lines]
    styles = [(0, *SINGLE), *((number, *style) for number, style in enumerate(MODES, 1))]
    numbered = runs.with_columns(style=pl.when(pl.col("modes_count") > 1).then("mode_number").otherwise(0))
    for number, colour, shape in styles:
        of_style = numbered.filter(pl.col("style") == number).select("row", pl.col("outcome_ratio").round(5))
        if of_style.height:
            marks = alt.Chart(of_style).mark_point(size=42, color=colour, shape=shape, strokeWidth=1.5, opacity=0.9)
            layers.append(marks.encode(x=x, y=y))
    suspects = runs.filter("is_suspect").select("row", pl.col("outcome_ratio").round(5))
    if suspects.height:
        rings = alt.Chart(suspects).mark_point(size=SUSPECT_SIZE, color=SUSPECT.colour, shape=SUSPECT.form)
        layers.append(rings.encode(x=x, y=y))
    for row in rows.iter_rows(named=True):
        middle = ROW_PX * (row["row"] + 0.5)
        layers.append(write([shorten(_name(row), LABEL_PX)], (-10.0, middle), align="right"))
        layers.append(write([_count(row)], (WIDTH_PX + 8.0, middle), align="left", colour=theme.FAINT_INK))
    layers.append(write(["runs"], (WIDTH_PX + 8.0, -0.5 * ROW_PX), align="left", colour=theme.FAINT_INK))
    position = Position(OUTCOMES[kind], 0.0, ticks[-1], [(tick, f"{tick:g}") for tick in ticks])
    return alt.LayerChart(layer=[*layers, *draw_ticks(position, WIDTH_PX, height)], width=WIDTH_PX, height=height)


def _name(row: dict[str, Any]) -> str:
    parts = [row["job"], row["algorithm"]] if row["outcome"] == "share of the rate" else [row["job"]]
    rtt = [] if row["rtt_nominal_ms"] is None else [f"{row['rtt_nominal_ms']:g} ms"]
    return display_name(", ".join([*(str(part) for part in parts), *rtt]))


def _count(row: dict[str, Any]) -> str:
    if row["modes_count"] == 1:
        return f"{row['runs_count']}"
    return " + ".join(str(row["numbers"].count(number)) for number in range(1, row["modes_count"] + 1))


def _write_alternative(shown: pl.DataFrame, summary: str) -> str:
    several = [
        f"{_name(row)}: {_count(row)} runs" for row in shown.filter(pl.col("modes_count") > 1).iter_rows(named=True)
    ]
    return write_sentences([f"Strips of single runs by condition: {summary}", *several])
