"""Figures of the rate over conditions: against RTT, loss, number of flows, buffer size and a swept parameter."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.core.text import count_things, display_name
from ccreport.figures.conditions.parameters import (
    BOUND_NAME,
    BOUNDS,
    compare_defaults,
    compare_with_bounds,
    list_bounds,
)
from ccreport.figures.conditions.rate_axes import KINDS, Kind
from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import Position
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.small_multiples import Multiples, Series, draw_multiples
from ccreport.figures.kit.value_axis import fit_value_axis
from ccreport.figures.select.condition_cells import (
    SETTINGS,
    list_values,
    list_varying,
    list_varying_settings,
    read_algorithm_rates,
    refuse_parts,
    require_two,
    sort_conditions,
    summarise_cells,
)
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import (
    ConditionFacts,
    describe_conditions,
    describe_panel,
    describe_value,
    write_condition_alternative,
    write_condition_caption,
)
from ccreport.figures.wording.runs import join_names, wrap_title
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit, name_rate

PANELS_AT_MOST: Final = 12
LINES_AT_MOST: Final = 8
# More of them are counted and not named.
RATES_AT_MOST: Final = 4
# A value without its parameter says nothing.
SWEPT: Final = ("parameter_name", "parameter_value")
# Lines of one algorithm: dash and marker by place, and how far the colour goes to white (below 0) or black.
DASHES: Final = ((1, 0), (7, 2), (4, 2), (2, 2))
MARKERS: Final = ("circle", "square", "triangle-up", "diamond")
DOTS: Final = "Faint dots: single runs; algorithms are side by side, a symbol’s width apart where there is room"
LIGHTEST, DARKEST = -0.5, 0.5
# The least contrast to white of a line (WCAG 2.2, 1.4.11).
CONTRAST: Final = 3.0


@dataclass(frozen=True)
class Layout:
    """Where each row goes: panels by the values of their keys, lines and, in each panel, positions by theirs."""

    kind: Kind
    panel_keys: Sequence[str]
    panels: Sequence[tuple[Any, ...]]
    names: dict[Any, str]
    places: Sequence[dict[Any, float]]
    positions: Sequence[Position]

    @property
    def keys(self) -> list[str]:
        """Return the columns that tell one cell from another."""
        return list(dict.fromkeys([*self.panel_keys, self.kind.line, self.kind.column]))

    @property
    def titles(self) -> list[str]:
        """Return the panels' titles; a single panel has an empty one."""
        return [describe_panel(self.panel_keys, values) for values in self.panels]


def build_rate_figure(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the mean rate over the conditions that match, a panel for each other setting that varies.

    Raise MissingFigure where no two means differ in that condition only, or where the condition takes in more panels or
    lines than can be read: what fits one archive need not fit another.
    """
    kind = KINDS[declaration.kind]
    matching, rate = read_algorithm_rates(declaration, database)
    # What the sender's line can do matters where no bottleneck is known.
    line_bps = pl.when(pl.col("bottleneck_bps").is_null()).then("nic_bps")
    known = require_two(matching.with_columns(nic_bps=line_bps), kind.column, kind.name)
    runs = known.filter(pl.col(kind.column).is_in(list(kind.place(known)[0])))
    runs, layout, pooled, left_out = _compare_within_panels(kind, runs)
    cells = _tag(summarise_cells(database, runs, layout.keys), layout)
    shown = _tag(runs, layout) if kind.has_runs else pl.DataFrame()
    is_swept = kind.column == "parameter_value"
    bounds = [list_bounds(shown.filter(panel=place)) for place in range(len(layout.panels))] if is_swept else []
    unit = choose_rate_unit(max(_top(cells, "mean"), _top(cells, "high")))
    bounded = [BOUNDS] if any(bounds) else []
    notes = [*([DOTS] if kind.has_runs else []), *bounded, *left_out, *kind.notes]
    titles = {position.title for position in layout.positions}
    against = titles.pop() if kind.is_by_panel and len(titles) == 1 else kind.name
    finding = compare_defaults(runs, cells, rate) if is_swept else ""
    if finding and (near := compare_with_bounds(shown, cells)):
        finding = f"{finding}. {near}"
    facts = ConditionFacts(runs, cells, layout.keys, rate, unit, against, layout.titles, notes, finding, pooled)
    chart = _draw(declaration, facts, layout, shown, bounds)
    statistics = [pl.col(name).alias(f"rate_{name}_bps") for name in ("mean", "low", "high")]
    data = cells.select(*layout.keys, "conditions_count", "runs_count", *statistics)
    if kind.has_runs:
        data = stack_parts({"mean": data, "run": shown.select(*layout.keys, "run_id", "rate_bps")})
    return Figure(chart, data, write_condition_caption(facts), write_condition_alternative(facts))


def _compare_within_panels(kind: Kind, runs: pl.DataFrame) -> tuple[pl.DataFrame, Layout, list[str], list[str]]:
    """Return the runs of panels in which a line has two values, these panels, what they pool, and what is left out.

    Raise MissingFigure where there is no such panel.
    """
    count = 0
    while True:
        layout, pooled = _lay_out(kind, runs)
        values = pl.col(kind.column).n_unique().over([*layout.panel_keys, kind.line])
        most = pl.col("values_count").max().over(layout.panel_keys or pl.lit(0))
        compared = runs.with_columns(values_count=values).filter(most > 1).drop("values_count")
        if compared.is_empty():
            others = list_varying(runs, [name for name in layout.keys if name not in (kind.column, "cc")]) or ["cc"]
            told = f"Those of other values differ in {join_names(others)} too"
            raise MissingFigure(f"No two means differ only in {kind.name}: there is nothing to compare. {told}.")
        if compared.height == runs.height:
            break
        count += len(layout.panels) - compared.n_unique(layout.panel_keys)
        runs = compared
    left_out = f"{count_things(count, 'panel')} left out, in which no two means differ only in {kind.name}"
    return runs, layout, pooled, [left_out] if count else []


def _lay_out(kind: Kind, runs: pl.DataFrame) -> tuple[Layout, list[str]]:
    """Lay out the panels, all with the same positions or, where the kind says so, each with those of its own values.

    Return with them what to say of runs that differ otherwise and are pooled.
    """
    placed = kind.place(runs)
    leading = [] if kind.line == "cc" else ["cc"]
    settings = [key for key in SETTINGS if key not in (kind.column, kind.line)]
    panel_keys = leading + list_varying_settings(runs, settings)
    swept = [key for key in SWEPT if key not in (*panel_keys, kind.column, kind.line)]
    for keys in (swept if kind.column != "parameter_value" else [], ["pacing_bps"], ["nic_bps"]):
        varying = keys and runs.n_unique(keys) > 1
        if varying and runs.n_unique([*panel_keys, *keys]) <= PANELS_AT_MOST:
            panel_keys += keys
    pooled = [*_describe_parameters(runs, panel_keys, kind), *_describe_rates(runs, panel_keys)]
    lines = list_values(runs, kind.line)
    if len(lines) > LINES_AT_MOST:
        raise refuse_parts(f"{len(lines)} lines in a panel", runs, [kind.line])
    names = {
        value: theme.style_of(value).name if kind.line == "cc" else describe_value(kind.line, value)
        for value in (theme.order_algorithms(lines) if kind.line == "cc" else lines)
    }
    panels = _list_panels(runs, panel_keys)
    by_panel = [
        kind.place(runs.filter([pl.lit(True), *map(_equals, panel_keys, values)])) if kind.is_by_panel else placed
        for values in panels
    ]
    places, positions = zip(*by_panel, strict=True)
    return Layout(kind, panel_keys, panels, names, places, positions), pooled


def _describe_parameters(runs: pl.DataFrame, panel_keys: Sequence[str], kind: Kind) -> list[str]:
    """Return of which swept parameters the values are pooled."""
    if "parameter_value" in (*panel_keys, kind.column) or runs["parameter_value"].n_unique() == 1:
        return []
    names = [display_name(name) for name in list_values(runs, "parameter_name") if name is not None]
    return [f"each mean pools the values of {join_names(names)}"]


def _describe_rates(runs: pl.DataFrame, panel_keys: Sequence[str]) -> list[str]:
    """Return which line rates and pacing rates the runs of a panel have, where some panel has several."""
    line = pl.coalesce("bottleneck_bps", "nic_bps")
    told = []
    for rate, name in ((line, "line rates"), (pl.col("pacing_bps"), "pacing rates")):
        panels = runs.group_by(panel_keys or pl.lit(0)).agg(rate=rate.unique())
        mixed = panels.filter(pl.col("rate").list.len() > 1)["rate"].explode().unique().sort(nulls_last=True)
        shown = ["none" if value is None else name_rate(value) for value in mixed]
        if len(shown) > RATES_AT_MOST:
            told.append(f"runs of {len(shown)} {name} are drawn together, {shown[0]} to {shown[-1]}")
        elif shown:
            told.append(f"runs of several {name} are drawn together: {join_names(shown)}")
    return told


def _equals(column: str, value: Any) -> pl.Expr:
    return pl.col(column).eq_missing(value)


def _draw(
    declaration: FigureDeclaration,
    facts: ConditionFacts,
    layout: Layout,
    shown: pl.DataFrame,
    bounds: Sequence[Sequence[float]],
) -> alt.VConcatChart:
    unit_bps = RATE_UNITS[facts.unit]
    tops = [_top(facts.cells, "mean"), _top(facts.cells, "high"), *([_top(shown, "rate_bps")] if shown.height else [])]
    tops += chain.from_iterable(bounds)
    title = f"Mean {facts.rate} ({facts.unit})"
    means, lows = (facts.cells[name] / unit_bps for name in ("mean", "low"))
    least = shown.select(pl.col("rate_bps").min() / unit_bps).item() if shown.height else None
    return draw_multiples(
        Multiples(
            title=[" ".join(declaration.title.split()), *wrap_title(describe_conditions(facts.runs))],
            panels=layout.titles,
            series=_style_lines(layout),
            positions=layout.positions,
            rates=fit_value_axis(title, means, [top / unit_bps for top in tops], lows, least),
            unit_bps=unit_bps,
            cells=facts.cells,
            runs=shown,
            bounds_bps=bounds,
            bound=BOUND_NAME,
        )
    )


def _list_panels(runs: pl.DataFrame, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    if not keys:
        return [()]
    found = sort_conditions(runs.select(keys).unique().rows(), keys)
    if len(found) > PANELS_AT_MOST:
        raise refuse_parts(f"{len(found)} panels", runs, keys)
    if keys[0] != "cc":
        return found
    order = theme.order_algorithms({values[0] for values in found})
    return sorted(found, key=lambda values: order.index(values[0]))


def _tag(frame: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Return the frame with panel, series, x and label of each row, in the order in which they are drawn."""
    kind = layout.kind
    numbers = {values: number for number, values in enumerate(layout.panels)}
    order = list(layout.names.values())
    rows = frame.rows(named=True)
    names = [layout.names[row[kind.line]] for row in rows]
    panels = [numbers[tuple(row[key] for key in layout.panel_keys)] for row in rows]
    places = [layout.places[panel][row[kind.column]] for panel, row in zip(panels, rows, strict=True)]
    tagged = frame.with_columns(
        pl.Series("panel", panels, dtype=pl.Int64),
        pl.Series("series", names, dtype=pl.String),
        pl.Series("order", [order.index(name) for name in names], dtype=pl.Int64),
        pl.Series("x", places, dtype=pl.Float64),
        pl.Series("label", [describe_value(kind.column, row[kind.column]) for row in rows], dtype=pl.String),
    )
    return tagged.sort("panel", "order", "x", maintain_order=True)


def _top(frame: pl.DataFrame, column: str) -> float:
    top: float | None = frame.select(pl.col(column).max()).item()
    return top or 0.0


def _style_lines(layout: Layout) -> list[Series]:
    names = layout.names
    if layout.kind.line == "cc":
        styles = {name: theme.style_of(cc) for cc, name in names.items()}
        return [Series(name, name, style.colour, style.dash, style.marker) for name, style in styles.items()]
    bases = [theme.style_of(values[0]).colour for values in layout.panels]
    colours = [(colour, find_lightest(colour)) for colour in bases]
    series = []
    for place, name in enumerate(names.values()):
        part = place / max(len(names) - 1, 1)
        by_panel = [shade_colour(colour, lightest + (DARKEST - lightest) * part) for colour, lightest in colours]
        dash, marker = DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)]
        series.append(Series(name, name, theme.INK, dash, marker, by_panel))
    return series


def shade_colour(colour: str, shade: float) -> str:
    """Return a colour `#rrggbb` mixed with white (shade from 0 down to -1) or black (up to 1)."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    mixed = [round(part + (255 - part) * -shade) if shade < 0 else round(part * (1 - shade)) for part in parts]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def find_lightest(colour: str) -> float:
    """Return the shade nearest to LIGHTEST at which a colour still has enough contrast to white; 0 where none has."""
    steps = [LIGHTEST + 0.05 * step for step in range(round(-LIGHTEST / 0.05))]
    return next((shade for shade in steps if _measure_contrast(shade_colour(colour, shade)) >= CONTRAST), 0.0)


def _measure_contrast(colour: str) -> float:
    """Return the contrast ratio to white, as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)
