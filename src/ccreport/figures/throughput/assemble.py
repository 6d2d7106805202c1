"""One figure from tables: everything between reading them and writing files, without either."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Final

import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.run.panel import PanelRuns
from ccreport.figures.run.rate_plot import is_exceeded
from ccreport.figures.select.declaration import FigureDeclaration, choose_rate, summarise_algorithms
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.series import measure_duration_s
from ccreport.figures.select.throughput_series import Series, bin_rows, choose_bins, find_top, place_rows
from ccreport.figures.throughput.draw import Panel, Texts, choose_scales, draw_panels, draw_throughput_over_time
from ccreport.figures.wording.captions import (
    RATE_NAMES,
    FigureFacts,
    write_alternative,
    write_caption,
    write_panels_alternative,
    write_panels_caption,
)
from ccreport.figures.wording.runs import (
    SUBTITLE_CHARACTERS,
    TITLE_CHARACTERS,
    DrawnAlgorithm,
    wrap_title,
    write_band,
    write_choice,
    write_legend,
)
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit

# One time axis for all panels hides tests that last a smaller part of it.
LONGER_AT_MOST: Final = 2.0


def assemble_throughput_over_time(
    declaration: FigureDeclaration, panels: Mapping[str, PanelRuns], left_out: Mapping[str, str]
) -> Figure:
    """Return the figure of the runs of `panels`, by letter; "" is the letter of the only panel of a figure without.

    `left_out` has for the letter of each panel without data a sentence that says so.
    """
    placed = {letter: place_rows(panel.tables, panel.run_ids) for letter, panel in panels.items()}
    until_s = math.inf if declaration.until_s is None else declaration.until_s
    if until_s >= max(measure_duration_s(rows.intervals) for rows in placed.values()):
        # Nothing is cut off.
        until_s, panels = math.inf, {letter: _draw_whole(panel) for letter, panel in panels.items()}
    bins = choose_bins(list(placed.values()), until_s)
    series = {letter: bin_rows(rows, own, until_s) for (letter, rows), own in zip(placed.items(), bins, strict=True)}
    for (letter, rows), own in zip(placed.items(), bins, strict=True):
        if series[letter].lines.is_empty():
            raise _refuse_short(letter, bin_rows(rows, own).lines, own.rate_s, until_s)
    unit = choose_rate_unit(
        max(
            max(find_top(binned.lines, "rate_bps"), find_top(binned.band, "rate_max_bps")) for binned in series.values()
        )
    )
    facts = {letter: _collect_facts(panel, series[letter], unit) for letter, panel in panels.items()}
    drawn = [
        Panel(
            _stretch_single(binned.lines, ["run_id", "cc"], binned.rate_bin_s),
            binned.points,
            _stretch_single(binned.band, ["cc"], binned.rate_bin_s),
            _write_texts(letter, facts[letter]),
            panels[letter].line_rates_bps,
        )
        for letter, binned in series.items()
    ]
    ends_s = [binned.time_end_s for binned in series.values()]
    # A line rate far above all that was measured is not drawn.
    top_bps = choose_scales(drawn, RATE_UNITS[unit], max(ends_s)).rate_ticks[-1] * RATE_UNITS[unit]
    facts = {
        letter: replace(
            own,
            has_line_rate=any(rate_bps <= top_bps for rate_bps in panel.line_rates_bps),
            is_exceeded=is_exceeded(panel.line_rates_bps, panel.top_bps),
        )
        for (letter, own), panel in zip(facts.items(), drawn, strict=True)
    }
    if "" in panels:
        chart = draw_throughput_over_time(drawn[0], RATE_UNITS[unit], ends_s[0])
        return Figure(chart, _collect_data(series[""]), write_caption(facts[""]), write_alternative(facts[""]))
    are_alike = len({*bins}) == 1 and max(ends_s) <= LONGER_AT_MOST * min(ends_s)
    title = " ".join(declaration.title.split())
    data = [_collect_data(binned).select(pl.lit(letter).alias("panel"), pl.all()) for letter, binned in series.items()]
    return Figure(
        draw_panels(drawn, wrap(title, TITLE_CHARACTERS), RATE_UNITS[unit], ends_s, are_alike=are_alike),
        pl.concat(data),
        write_panels_caption(facts, left_out, are_alike=are_alike),
        write_panels_alternative(title, facts, left_out, are_alike=are_alike),
    )


def _refuse_short(letter: str, lines: pl.DataFrame, bin_s: float, until_s: float) -> MissingFigure:
    """Return why nothing of a panel is drawn: what it would draw, `lines`, begins after the end of the time axis."""
    panel = f"panel ({letter}) draws" if letter else "it draws"
    first_s = float(lines["time_s"].min())  # type: ignore[arg-type]
    return MissingFigure(
        f"until_s: {until_s:g} is before all that {panel}: the first value is at {first_s:g} s, of {bin_s:g} s around "
        f"it; write until_s: {first_s + bin_s / 2:g} or more."
    )


def _stretch_single(rates: pl.DataFrame, keys: Sequence[str], bin_s: float) -> pl.DataFrame:
    """Return rates of which one that is the only one of its line or band has two ends, those of its bin: it is seen."""
    is_single = pl.len().over(keys) == 1
    edges = [rates.filter(is_single).with_columns(pl.col("time_s") + side * bin_s / 2) for side in (-1, 1)]
    return pl.concat([rates.filter(~is_single), *edges]).sort(*keys, "time_s")


def _draw_whole(panel: PanelRuns) -> PanelRuns:
    return replace(panel, declaration=replace(panel.declaration, until_s=None))


def _collect_facts(panel: PanelRuns, series: Series, unit: str) -> FigureFacts:
    rate = choose_rate(panel.declaration, panel.tables.flows)
    return FigureFacts(
        declaration=panel.declaration,
        drawn=panel.drawn,
        algorithms=_list_algorithms(summarise_algorithms(panel.flows, rate)),
        rate=rate,
        unit=unit,
        rate_bin_s=series.rate_bin_s,
        count_bin_s=series.count_bin_s,
        sources=series.points["source"].unique().to_list(),
        left_out_count=panel.left_out_count,
        notes=panel.notes,
        rate_source=series.source,
        late_count=series.late_count,
    )


def _list_algorithms(means: pl.DataFrame) -> list[DrawnAlgorithm]:
    # ASSUME: no algorithm runs in two of the runs that one figure overlays.
    rows = {row["cc"]: row for row in means.rows(named=True)}
    return [
        DrawnAlgorithm(cc, *(rows[cc][column] for column in ("rate_bps", "retransmit_ratio", "flows_count")))
        for cc in theme.order_algorithms(rows)
    ]


def _write_texts(letter: str, facts: FigureFacts) -> Texts:
    declared = " ".join(facts.declaration.title.split())
    heading = f"({letter}) {declared}" if letter else declared
    return Texts(
        title=wrap(heading, TITLE_CHARACTERS),
        subtitle=wrap_title(facts.conditions, SUBTITLE_CHARACTERS),
        legend={
            algorithm.cc: write_legend(algorithm, facts.rate, facts.unit, is_cut=facts.declaration.until_s is not None)
            for algorithm in facts.algorithms
        },
        rate_axis=f"{RATE_NAMES[facts.rate_source]} ({facts.unit})",
        count_axis=f"Retransmitted segments per {facts.count_bin_s:g} s",
        band=write_band(facts.drawn),
        notes=facts.notes,
        choice=write_choice(facts.drawn),
    )


def _collect_data(series: Series) -> pl.DataFrame:
    parts = {"line": series.lines, "point": series.points, "band": series.band}
    columns = ["run_id", "cc", "time_s", "rate_bps", "rate_min_bps", "rate_max_bps", "retransmits_count", "source"]
    return stack_parts(parts).select("drawn_as", *columns)
