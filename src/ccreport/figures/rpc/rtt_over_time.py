"""Round-trip times of the connections of RPCs over time, by second: median and spread of each algorithm."""

from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.keyed_panels import (
    BAND_OPACITY,
    PAIR_WIDTH_PX,
    TITLE_LIMIT_PX,
    arrange,
    size_panel,
    time_axis,
    value_axis,
)
from ccreport.figures.kit.series_styles import name_series, style_series
from ccreport.figures.kit.small_multiples import Series, draw_legend
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.rpc.panels import ROW_GAP_PX
from ccreport.figures.rpc.rows import SETTINGS, list_panels, read_tests, select_panel, select_tests
from ccreport.figures.rpc.wording import list_common
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_significant, join_names

PANELS_AT_MOST: Final = 6
PANEL_HEIGHT_PX: Final = 220
# The port of netperf's control database, which carries no RPC.
CONTROL_PORT: Final = 12865
RTTS: Final = """
    WITH tests AS (
        SELECT DISTINCT
            run_id, raw_file_id, cc, algorithm, repetition, load_count,
            {settings}
        FROM rpc_rtt_tests
    ),
    known AS (
        SELECT run_id, cc, time_utc, rtt_ms FROM samples
        WHERE run_id IN (SELECT run_id FROM tests) AND rtt_ms IS NOT NULL AND time_utc IS NOT NULL
            AND $control_port NOT IN (coalesce(local_port, 0), coalesce(remote_port, 0))
    ),
    of_ss AS (
        SELECT run_id, cc, epoch(time_utc - min(time_utc) OVER (PARTITION BY run_id)) AS at_s, rtt_ms FROM known
    ),
    of_flent AS (
        SELECT raw_file_id, sampled_s AS at_s, sampled_value AS rtt_ms
        FROM rpc_samples JOIN rpc_tests USING (raw_file_id, test_number)
        WHERE data_series LIKE '%::tcp\\_rtt' ESCAPE '\\' AND sampled_s >= 0
    ),
    placed AS (
        SELECT tests.* EXCLUDE (run_id, raw_file_id, cc), 'ss' AS source, at_s, of_ss.rtt_ms
        FROM (SELECT DISTINCT * REPLACE (NULL AS raw_file_id) FROM tests) AS tests JOIN of_ss USING (run_id, cc)
        UNION ALL
        SELECT tests.* EXCLUDE (run_id, raw_file_id, cc), 'flent', at_s, of_flent.rtt_ms
        FROM tests JOIN of_flent USING (raw_file_id)
    )
    SELECT
        {settings}, load_count, algorithm, source,
        floor(at_s)::BIGINT AS second,
        count(*) AS samples_count,
        count(DISTINCT repetition) AS repetitions_count,
        quantile_cont(rtt_ms, 0.1) AS rtt_p10_ms,
        median(rtt_ms) AS rtt_p50_ms,
        quantile_cont(rtt_ms, 0.9) AS rtt_p90_ms
    FROM placed
    GROUP BY ALL
    ORDER BY ALL
"""
SOURCES: Final = {"ss": "ss", "flent": "flent's samples of its sockets"}


def build_rpc_rtt_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the RPC tests that match, those of the highest load where they have several.

    Raise MissingFigure where nothing sampled the connections of any, or they make too many panels.
    """
    read_tests(declaration, database)
    sampled = database.ask(
        RTTS.format(settings=", ".join(SETTINGS)),
        {"control_port": CONTROL_PORT},
        {"rpc_rtt_tests": select_tests(declaration)},
    )
    if sampled.is_empty():
        raise MissingFigure("Neither ss nor flent sampled the connections of the RPC tests that match.")
    highest: int | None = sampled["load_count"].max()  # type: ignore[assignment]
    rows = sampled.filter(pl.col("load_count").eq_missing(pl.lit(highest, pl.Int64)))
    keys, values, names = list_panels(rows, (), PANELS_AT_MOST)
    styles = style_series(rows["algorithm"].unique().to_list())
    own = [select_panel(rows, keys, panel_values) for panel_values in values]
    title = [" ".join(declaration.title.split())]
    common = [*list_common(rows, keys), *([] if highest is None else [f"load {highest}"])]
    chart = _draw(own, names, styles, title, [", ".join(common)] if common else [])
    n = rows["samples_count"].sum()
    sources = join_names([SOURCES[source] for source in sorted(rows["source"].unique())])
    lower = sampled["load_count"].n_unique() > 1
    sentences = [
        "Median of the round-trip times of all connections in each second (line), percentiles 10 to 90 (band)",
        f"From {sources}: n = {n:,} samples of {_count(rows)}",
        *(["Tests of lower loads are left out"] if lower else []),
        "Time counts from the first sample of ss in a run, from the start of a test of flent",
    ]
    alternative = ["Line chart of round-trip times of RPCs' connections over time", *_describe(own, names, styles)]
    return Figure(chart, rows, fold_sentences(sentences), write_sentences(alternative))


def _count(rows: pl.DataFrame) -> str:
    most: int = rows["repetitions_count"].max()  # type: ignore[assignment]
    return f"{most} repetition{'' if most == 1 else 's'} of an algorithm"


def _draw(
    panels: Sequence[pl.DataFrame],
    names: Sequence[str],
    styles: Mapping[str, str],
    title: Sequence[str],
    subtitle: Sequence[str],
) -> alt.VConcatChart:
    end_s = 1.0 + max(float(panel["second"].max() or 0) for panel in panels)  # type: ignore[arg-type]
    ticks = choose_ticks(max(float(panel["rtt_p90_ms"].max() or 1.0) for panel in panels))  # type: ignore[arg-type]
    width_px = PAIR_WIDTH_PX if len(panels) > 1 else theme.PLOT_WIDTH_PX
    drawn = [
        _draw_panel(panel, name if len(panels) > 1 else "", styles, ticks, end_s, width_px)
        for panel, name in zip(panels, names, strict=True)
    ]
    legend = []
    for name, cc in styles.items():
        style = theme.style_of(cc)
        legend.append(Series(name, name_series(name), style.colour, style.dash, style.marker))
    lines = [alt.hconcat(*row, spacing=ROW_GAP_PX, bounds="flush") for row in arrange(drawn)]
    params = alt.TitleParams(list(title), subtitle=list(subtitle), offset=12, limit=TITLE_LIMIT_PX, anchor="start")
    chart: alt.VConcatChart = alt.vconcat(draw_legend(legend), *lines, spacing=14).properties(title=params)
    return chart


def _draw_panel(
    panel: pl.DataFrame, name: str, styles: Mapping[str, str], ticks: Sequence[float], end_s: float, width_px: int
) -> alt.LayerChart:
    x = time_axis("Time (s)", "middle_s", end_s, ticks=10)
    y = value_axis("RTT of the connections (ms)", "rtt_p50_ms", ticks[-1], ticks)
    layers: list[alt.Chart] = []
    for algorithm, cc in styles.items():
        style = theme.style_of(cc)
        own = panel.filter(pl.col("algorithm") == algorithm).sort("second")
        data = own.select(
            (pl.col("second") + 0.5).alias("middle_s"), pl.col("rtt_p10_ms", "rtt_p50_ms", "rtt_p90_ms").round(3)
        )
        base = alt.Chart(data)
        band = base.mark_area(color=style.colour, opacity=BAND_OPACITY, line=False)
        layers.append(band.encode(x=x, y=alt.Y("rtt_p10_ms:Q"), y2="rtt_p90_ms:Q"))
        line = base.mark_line(color=style.colour, strokeWidth=1.8, strokeDash=list(style.dash))
        points = base.mark_point(color=style.colour, shape=style.marker, size=24, fill="white", opacity=1)
        layers += [line.encode(x=x, y=y), points.encode(x=x, y=y)]
    return size_panel(layers, width_px, PANEL_HEIGHT_PX, name or None)


def _describe(panels: Sequence[pl.DataFrame], names: Sequence[str], styles: Mapping[str, str]) -> list[str]:
    sentences = []
    for panel, name in zip(panels, names, strict=True):
        told = []
        for algorithm in styles:
            own = panel.filter(pl.col("algorithm") == algorithm).sort("second")
            if own.height:
                first, last = (format_significant(own["rtt_p50_ms"][at], 3) for at in (0, -1))
                ends = f"{first} ms in the first second and {last} ms in the last"
                told.append(f"{name_series(algorithm)} {ends}")
        sentences.append(f"{name}: {join_names(told)}" if name else join_names(told))
    return sentences
