"""Flow completion time against buffer size: median with its interval and 90th percentile, a panel for each loss."""

from typing import Any, Final

import polars as pl

from ccreport.figures.conditions.rate_axes import KINDS, MULTIPLES
from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.small_multiples import Multiples, Series, draw_multiples
from ccreport.figures.kit.value_axis import fit_value_axis
from ccreport.figures.run.fair_share import ALL
from ccreport.figures.select.completions import (
    SETTINGS,
    SHARES_DONE,
    read_completions,
    summarise_completions,
)
from ccreport.figures.select.condition_cells import list_varying, refuse_parts, require_two
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.completions import describe_left_out, describe_sources
from ccreport.figures.wording.conditions import (
    PLAIN_QUEUE,
    describe_panel,
    describe_value,
    fold_sentences,
    write_sentences,
)
from ccreport.figures.wording.runs import format_significant, join_names

PANELS_AT_MOST: Final = 6
DASHES: Final = {"median": (1, 0), "p90": (1, 3)}
NAMES: Final = {"median": "median", "p90": "90th percentile"}


def build_completion_by_buffer(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of all runs that match; raise MissingFigure where fewer than two buffer sizes compare."""
    flows = require_two(read_completions(declaration, database), "buffer_bytes", "buffer size")
    places, position = KINDS["rate_by_buffer"].place(flows)
    flows = flows.filter(pl.col("buffer_bytes").is_in(list(places)))
    panel_keys = list_varying(flows, list(SETTINGS))
    panels = flows.select(panel_keys).unique().sort(panel_keys, nulls_last=True).rows() if panel_keys else [()]
    if len(panels) > PANELS_AT_MOST:
        raise refuse_parts(f"{len(panels)} panels", flows, panel_keys)
    keys = [*panel_keys, "buffer_bytes", "cc"]
    ccs = theme.order_algorithms(flows["cc"].unique())
    together = flows.filter(pl.col("mode") == "both").with_columns(cc=pl.lit(ALL))
    statistics = summarise_completions(pl.concat([flows, together]), keys)
    titles = [describe_panel(panel_keys, values) for values in panels]
    top = statistics.select(pl.max_horizontal("high", *SHARES_DONE).max()).item()
    cells = _tag(statistics, panel_keys, panels, places)
    chart = draw_multiples(
        Multiples(
            title=[" ".join(declaration.title.split()), _describe_path(flows, ccs)],
            panels=titles,
            series=[_style(cc, statistic) for cc, statistic in _list_lines(ccs, has_all=together.height > 0)],
            positions=[position] * len(titles),
            rates=fit_value_axis("Flow completion time (s)", cells["mean"], [top], cells["low"]),
            unit_bps=1.0,
            cells=cells,
        )
    )
    sentences = [
        describe_sources(flows),
        "Solid: median with its 95 % interval, dotted: 90th percentile, by Kaplan and Meier's estimate",
        _count_flows(statistics),
        *describe_left_out(database, flows),
        MULTIPLES,
    ]
    data = statistics.rename({name: f"completion_{name}_s" for name in ("low", "high", *SHARES_DONE)})
    return Figure(chart, data, fold_sentences(sentences), _describe(statistics, panel_keys, panels, ccs))


def _list_lines(ccs: list[str], *, has_all: bool) -> list[tuple[str, str]]:
    """Return algorithm and statistic of each line; of all flows the median alone, as lines would be too many."""
    return [*((cc, statistic) for cc in ccs for statistic in NAMES), *([(ALL, "median")] if has_all else [])]


def _style(cc: str, statistic: str) -> Series:
    if cc == ALL:
        return Series("all median", "all flows, median", theme.INK, DASHES["median"], "diamond")
    style = theme.style_of(cc)
    name = f"{style.name} {NAMES[statistic]}"
    return Series(name, name, style.colour, DASHES[statistic], style.marker)


def _tag(
    statistics: pl.DataFrame, panel_keys: list[str], panels: list[tuple[Any, ...]], places: dict[Any, float]
) -> pl.DataFrame:
    """Return panel, series, x, mean, low and high: `mean` is the median or, without ends, the percentile."""
    rows = []
    for row in statistics.iter_rows(named=True):
        panel = panels.index(tuple(row[key] for key in panel_keys))
        for statistic in ["median"] if row["cc"] == ALL else NAMES:
            ends = (row["low"], row["high"]) if statistic == "median" else (None, None)
            series = _style(row["cc"], statistic).key
            rows.append((panel, series, places[row["buffer_bytes"]], row[statistic], *ends))
    names = {"panel": pl.Int64, "series": pl.String, "x": pl.Float64}
    return pl.DataFrame(rows, schema=names | dict.fromkeys(("mean", "low", "high"), pl.Float64), orient="row")


def _describe_path(flows: pl.DataFrame, ccs: list[str]) -> str:
    same = [
        describe_value(key, flows[key][0])
        for key in SETTINGS
        if key != "cc_list" and flows[key].n_unique() == 1 and flows[key][0] not in (None, PLAIN_QUEUE)
    ]
    return ", ".join([join_names([theme.style_of(cc).name for cc in ccs]), *same])


def _count_flows(statistics: pl.DataFrame) -> str:
    counts = statistics.filter(pl.col("cc") != ALL)["measured_count"].sort().to_list()
    least, most = counts[0], counts[-1]
    return f"{most if least == most else f'{least} to {most}'} flows of an algorithm to a point"


def _describe(statistics: pl.DataFrame, panel_keys: list[str], panels: list[tuple[Any, ...]], ccs: list[str]) -> str:
    """Return the medians with the smallest and the largest buffer, by panel and algorithm."""
    sentences = ["Line charts of flow completion time against buffer size"]
    for values in panels:
        own = statistics.filter(
            pl.lit(value=True), *(pl.col(k).eq_missing(pl.lit(v)) for k, v in zip(panel_keys, values, strict=True))
        )
        texts = []
        for cc in [*ccs, *([ALL] if ALL in own["cc"] else [])]:
            line = own.filter(pl.col("cc") == cc).sort("buffer_bytes")
            if line.height:
                first, last = (_write_time(line["median"][at]) for at in (0, -1))
                named = "all flows" if cc == ALL else theme.style_of(cc).name
                texts.append(f"{named} {first} with the smallest buffer, {last} with the largest")
        named = describe_panel(panel_keys, values)
        sentences.append(f"{named}: {join_names(texts)}" if named else f"Medians: {join_names(texts)}")
    return write_sentences(sentences)


def _write_time(time_s: float | None) -> str:
    return "not reached" if time_s is None else f"{format_significant(time_s, 3)} s"
