"""Retransmissions by cause, from captures: overflow of the queue, random loss of the path, and spurious ones."""

from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.keyed_panels import size_panel
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.select.condition_cells import BURSTS, list_varying, read_matching, refuse_parts
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.series import UNKNOWN_CC
from ccreport.figures.wording.conditions import describe_panel, fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_significant

COLUMNS: Final = f"run_id, flows_count, rtt_ms, loss_pct, {BURSTS}, bottleneck_bps, buffer_bytes"
SETTINGS: Final = ("flows_count", "rtt_ms", "bottleneck_bps", "loss_pct", "loss_pattern", "buffer_bytes")
# In the order in which they are stacked, with the names that the key gives them.
CAUSES: Final = {"overflow": "queue overflow", "random": "random loss (expected)", "spurious": "spurious"}
COLOURS: Final = dict(zip(CAUSES, (theme.SENT_COLOUR, theme.RETRANSMIT_COLOUR, theme.SACK_COLOUR), strict=True))
EXPLANATION: Final = (
    "Packets retransmitted, in captures at the sender: those that the receiver reported as duplicates are spurious; "
    "of the others, random loss explains the number it drops on average, and queue overflow explains the rest"
)
ROWS_AT_MOST: Final = 24
ROW_PX: Final = 26
LABELS_PX: Final = 250


def build_retransmit_causes(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the captured runs that match; raise MissingFigure where no capture has their data."""
    runs = read_matching(declaration, database, "labelled_runs", COLUMNS, "run_id")
    query = """
        SELECT
            run_id, cc, data_packets_count, retransmits_capture_count AS retransmits_count,
            retransmits_spurious_count AS spurious_count
        FROM packet_flows JOIN flows USING (run_id, flow_id)
        WHERE run_id IN (SELECT unnest(?)) AND direction = CASE WHEN is_reverse THEN 'in' ELSE 'out' END
            AND capture_side = 'sender' AND data_packets_count > 0
        ORDER BY run_id, raw_file_id, flow_id, connection_number
    """
    flows = runs.join(database.ask(query, [runs["run_id"].to_list()]), on="run_id")
    if flows.is_empty():
        raise MissingFigure("None of the runs that match has a capture taken at the sender of its flows.")
    flows = flows.with_columns(pl.col("cc").fill_null(UNKNOWN_CC)).filter(pl.col("loss_pct").is_not_null())
    keys = list_varying(flows, list(SETTINGS))
    causes = measure_causes(flows, [*keys, "cc"])
    if causes.is_empty() or causes["retransmits_count"].sum() == 0:
        raise MissingFigure("The captured flows of the runs that match retransmitted nothing.")
    if causes.height > ROWS_AT_MOST:
        raise refuse_parts(f"{causes.height} bars", flows, keys)
    labelled = _label(causes, keys)
    title = alt.TitleParams(
        " ".join(declaration.title.split()),
        subtitle="Retransmissions as a share of the data packets sent (%), by cause",
        offset=12,
    )
    chart = alt.vconcat(_draw(labelled)).properties(title=title)
    totals = causes.select(pl.col(f"{cause}_count").sum() for cause in CAUSES).row(0)
    shares = [f"{name} {100 * count / sum(totals):.0f} %" for name, count in zip(CAUSES.values(), totals, strict=True)]
    sentences = [
        EXPLANATION,
        f"Of {causes['retransmits_count'].sum():,} retransmissions: {', '.join(shares)}",
    ]
    return Figure(chart, causes, fold_sentences(sentences), _describe(labelled))


def measure_causes(flows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return for each value of the keys the counts of packets, of retransmissions, and of these by cause.

    Of n data packets, r are lost: those sent again that are not spurious. Packets that the queue took lose a share p on
    the path behind it, so that overflow + p (n - overflow) = r. Random loss is what is expected, not what was seen, and
    neither is below 0.
    """
    # ASSUME: the loss of a path acts behind its bottleneck.
    counts = ["data_packets_count", "retransmits_count", "spurious_count"]
    grouped = flows.group_by(*keys, pl.col("loss_pct").alias("path_loss_pct")).agg(pl.col(counts).sum())
    lost = pl.col("retransmits_count") - pl.col("spurious_count")
    loss = pl.col("path_loss_pct") / 100
    overflow = ((lost - loss * pl.col("data_packets_count")) / (1 - loss)).clip(0)
    return (
        grouped.filter(pl.col("path_loss_pct") < 100)
        .with_columns(overflow_count=pl.min_horizontal(overflow, lost.cast(pl.Float64)))
        .with_columns(random_count=lost - pl.col("overflow_count"))
        .sort(*keys, nulls_last=True)
    )


def _label(causes: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return the rows with a label, in the order of the bars from top to bottom."""
    names = [
        ", ".join(filter(None, [describe_panel(keys, [row[key] for key in keys]), theme.style_of(row["cc"]).name]))
        for row in causes.rows(named=True)
    ]
    return causes.with_columns(label=pl.Series(names, dtype=pl.String))


def _draw(labelled: pl.DataFrame) -> alt.LayerChart:
    order = labelled["label"].to_list()
    rows: list[dict[str, Any]] = []
    for row in labelled.rows(named=True):
        start = 0.0
        for cause in CAUSES:
            end = start + 100 * row[f"{cause}_count"] / row["data_packets_count"]
            rows.append({"label": row["label"], "cause": CAUSES[cause], "start": round(start, 4), "end": round(end, 4)})
            start = end
    data = pl.DataFrame(rows)
    ticks = choose_ticks(data["end"].sort()[-1] or 1.0)
    axis = alt.Axis(title="Retransmissions (% of data packets)", values=ticks, titleAnchor="start")
    x = alt.X("start:Q", scale=alt.Scale(domain=[0, ticks[-1]], nice=False), axis=axis)
    y = alt.Y("label:N", sort=order, axis=alt.Axis(title=None, labelLimit=LABELS_PX, grid=False))
    colours = alt.Scale(domain=list(CAUSES.values()), range=list(COLOURS.values()))
    legend = alt.Legend(title=None, orient="top", labelFontSize=theme.TEXT_PX)
    bars = alt.Chart(data).mark_bar(size=ROW_PX - 10)
    drawn = bars.encode(x=x, x2="end:Q", y=y, color=alt.Color("cause:N", scale=colours, legend=legend))
    return size_panel([drawn], theme.PLOT_WIDTH_PX - LABELS_PX, ROW_PX * len(order), None)


def _describe(labelled: pl.DataFrame) -> str:
    sentences = ["Bars of retransmissions by cause, as shares of the data packets sent"]
    for row in labelled.rows(named=True):
        parts = [
            f"{format_significant(100 * row[f'{cause}_count'] / row['data_packets_count'], 2)} % {name}"
            for cause, name in CAUSES.items()
            if row[f"{cause}_count"] >= 0.5
        ]
        sentences.append(f"{row['label']}: {', '.join(parts) or 'none'}")
    return write_sentences(sentences)
