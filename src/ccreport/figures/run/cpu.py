"""Load of the sender's and the receiver's processors over time: the mean over cores and the busiest core."""

from dataclasses import replace
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.kit.value_axis import ValueAxis
from ccreport.figures.run import chart
from ccreport.figures.run.panel import PanelRuns, read_panel
from ccreport.figures.select.cpu_series import SIDES, place_cpu_samples
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.limit_classes import SATURATED_PCT
from ccreport.figures.select.queries import MissingFigure, read_rows
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import find_beginnings
from ccreport.figures.wording.runs import format_significant, join_names

PANEL_HEIGHT_PX: Final = 190
# Dash of the mean over cores; the busiest core is a solid line.
MEAN_DASH: Final = (5, 3)
BOTH_COLOURS: Final = {"busiest_pct": "#7b1e3a", "mean_pct": "#3d6fb0"}
HAS_LOADS: Final = "run_id IN (SELECT run_id FROM cpu_samples)"
MEASURES: Final = {"busiest_pct": "busiest core", "mean_pct": "mean over cores"}


def build_cpu_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one condition; raise MissingFigure where no run drawn has samples of mpstat."""
    panel = _choose_runs(declaration, database)
    # A sample that ends well after the test is diluted by what came then.
    loads = place_loads(panel, database).filter(pl.col("start_s") + pl.col("end_s") <= 2 * panel.end_s)
    if loads.is_empty():
        raise MissingFigure("The archive has no samples of mpstat with their times for the run that would be drawn.")
    is_single = loads.select((pl.col("cores_count") <= 1).all()).item()
    lines = _list_lines(loads, panel.tables.runs)
    lines = lines.filter((pl.col("measure") == "busiest_pct") | pl.lit(not is_single))
    sides = [side for side in SIDES if side in lines["side"].unique()]
    axis = ValueAxis("Load (%)", [0, 25, 50, 75, 100])
    plots = [
        _draw_side(lines.filter(side=side), side, chart.Plot(panel, axis, PANEL_HEIGHT_PX, side == sides[-1]))
        for side in sides
    ]
    missing = [f"the archive has no samples of mpstat on the {side}" for side in SIDES if side not in sides]
    return chart.compose_figure(
        panel,
        _list_key(lines, "the only core" if is_single else MEASURES["busiest_pct"]),
        plots,
        lines.select("run_id", "side", "cc", "measure", "start_s", "end_s", "load_pct"),
        sentences=["Load is the share of time in which a processor was not idle, as mpstat reports it", *missing],
        what="Line charts of CPU load over time",
        messages=[*_describe(lines), *missing],
        finding=_compare(lines),
    )


def _choose_runs(declaration: FigureDeclaration, database: Database) -> PanelRuns:
    """Return the panel of runs that have samples of mpstat; where none has, of all that match."""
    try:
        return read_panel(replace(declaration, where=f"({declaration.where}) AND {HAS_LOADS}"), database)
    except MissingFigure:
        return read_panel(declaration, database)


def place_loads(panel: PanelRuns, database: Database) -> pl.DataFrame:
    """Return the loads of the processors of the runs drawn, on the time axis that starts with their data flows."""
    starts = find_beginnings(panel.tables.samples, panel.flows).rename({"began_utc": "start_utc"})
    return place_cpu_samples(read_rows(database, "cpu_samples", panel.keep_drawn(panel.tables.runs)), starts)


def _list_lines(loads: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per run, side, measure and sample; `cc` is the algorithm that ran alone, else `both`."""
    return (
        loads.join(runs.select("run_id", pl.col("mode").alias("cc")), on="run_id")
        .unpivot(
            list(MEASURES),
            index=["run_id", "side", "cc", "start_s", "end_s"],
            variable_name="measure",
            value_name="load_pct",
        )
        .with_columns(time_s=((pl.col("start_s") + pl.col("end_s")) / 2).round(3), load_pct=pl.col("load_pct").round(2))
        .with_columns(pl.col("start_s", "end_s").round(3))
        .sort("run_id", "side", "measure", "time_s")
    )


def _choose_colours(lines: pl.DataFrame) -> dict[str, str]:
    """Return the colour of each line by `cc/measure`: of the algorithm where each ran alone."""
    ccs = lines["cc"].unique()
    if len(ccs) == 1:
        return {f"{ccs[0]}/{measure}": colour for measure, colour in BOTH_COLOURS.items()}
    return {f"{cc}/{measure}": theme.style_of(cc).colour for cc in theme.order_algorithms(ccs) for measure in MEASURES}


def _list_key(lines: pl.DataFrame, busiest: str) -> list[KeyEntry]:
    present = set(lines["measure"])
    colours = {line: colour for line, colour in _choose_colours(lines).items() if line.rsplit("/", 1)[1] in present}
    several = lines["cc"].n_unique() > 1
    entries = []
    for line, colour in colours.items():
        cc, measure = line.rsplit("/", 1)
        name = busiest if measure == "busiest_pct" else MEASURES[measure]
        text = f"{theme.style_of(cc).name}: {name}" if several else name
        entries.append(KeyEntry(text, "line", colour, MEAN_DASH if measure == "mean_pct" else (1, 0)))
    return entries


def _draw_side(lines: pl.DataFrame, side: str, plot: chart.Plot) -> alt.LayerChart:
    colours = _choose_colours(lines)
    dashes = [list(MEAN_DASH) if line.endswith("mean_pct") else [1, 0] for line in colours]
    named = lines.select("time_s", "load_pct", line=pl.concat_str("cc", "measure", separator="/"))
    drawn = (
        alt.Chart(named.sort("line", "time_s"))
        .mark_line(strokeWidth=2, point=False)
        .encode(
            x=plot.time,
            y=plot.value("load_pct"),
            color=alt.Color("line:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None),
            strokeDash=alt.StrokeDash("line:N", scale=alt.Scale(domain=list(colours), range=dashes), legend=None),
        )
    )
    return plot.hold([drawn], side.capitalize())


def _describe(lines: pl.DataFrame) -> list[str]:
    """Return for each side, and each algorithm that ran alone, the means over time and how often a core was full."""
    sentences = []
    for (side, cc), group in lines.group_by("side", "cc", maintain_order=True):
        means = {str(name): values["load_pct"] for (name,), values in group.group_by("measure", maintain_order=True)}
        busiest = means["busiest_pct"]
        full = _percent(100 * (busiest >= SATURATED_PCT).mean())  # type: ignore[operator]
        of = "" if lines["cc"].n_unique() == 1 else f" with {theme.style_of(str(cc)).name}"
        high = f"{_percent(busiest.mean())} on average and {SATURATED_PCT:g} % or more in {full} of the samples"
        if "mean_pct" in means:
            cores = f"had a load of {_percent(means['mean_pct'].mean())} on average, the busiest core at a time {high}"
            sentences.append(f"the cores of the {side}{of} {cores}")
        else:
            sentences.append(f"the only core of the {side}{of} had a load of {high}")
    return sentences


def _compare(lines: pl.DataFrame) -> str:
    """Return the mean load of the busiest core of each side, with each algorithm that ran alone."""
    several = lines["cc"].n_unique() > 1
    busiest = lines.filter(measure="busiest_pct").group_by("side", "cc").agg(pl.col("load_pct").mean())
    told = []
    for side in SIDES:
        means = dict(busiest.filter(side=side).select("cc", "load_pct").iter_rows())
        loads = [
            f"{_percent(means[cc])}{f' with {theme.style_of(cc).name}' if several else ''}"
            for cc in theme.order_algorithms(list(means))
        ]
        told += [f"{join_names(loads)} on the {side}"] if loads else []
    return f"Mean load of the busiest core: {'; '.join(told)}"


def _percent(value: object) -> str:
    return f"{format_significant(float(value), 2 if value < 99.5 else 3)} %"  # type: ignore[arg-type,operator]
