"""Measured rate against random loss beside the response functions of theory, a panel for each RTT."""

from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.keyed_panels import PAIR_WIDTH_PX, KeyEntry, arrange, size_panel, stack
from ccreport.figures.kit.value_axis import ValueAxis, lay_log_axis
from ccreport.figures.mechanisms.theory import (
    bbr_loss_threshold,
    predict_bbr,
    predict_cubic,
    rate_of_window,
    reno_window,
)
from ccreport.figures.select.condition_cells import read_matching, refuse_parts, summarise_cells
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import count_runs, fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_rate, format_significant, join_names
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit

COLUMNS: Final = """
    run_id, condition_id, cc, flows_count, rtt_ms, loss_pct, goodput_bps, mss_bytes, mtu_bytes, pacing_bps,
    coalesce(bottleneck_bps, nic_bps, pacing_bps) AS line_bps
"""
# What all runs have in common.
ALIKE: Final = ("line_bps", "mss_bytes", "pacing_bps")
# What tells panels apart.
NARROWING: Final = ("rtt_ms", "mss_bytes", "pacing_bps")
CUBIC: Final = "cubic"
VERSIONS: Final = ("bbr", "bbr1", "bbr2", "bbr3")
PANELS_AT_MOST: Final = 8
# What theory is computed with, and how it becomes known.
LACKING: Final = {
    "goodput_bps": "goodput is known, which iperf3's results have from the receiver",
    "mss_bytes": "MSS is known, which iperf3's results and samples of ss have",
    "line_bps": "line rate is known; declare it, as by `set: {bottleneck_bps: 1e9}` below each pattern of layout.yaml "
    "or by `bottleneck` in jobmeta.json",
}
PANEL_HEIGHT_PX: Final = 200
# Points of a line of theory between two powers of ten of loss.
POINTS: Final = 10
# A threshold of BBR that is further above the highest loss that was measured is not drawn, only named.
THRESHOLD_WITHIN: Final = 3.0
# IP and TCP headers with timestamps come off each packet, Ethernet's preamble, header, checksum and gap are added.
FRAMING_BYTES: Final = 38
THEORY_COLOUR: Final = theme.FAINT_INK
RENO_DASH: Final = (2, 3)
CUBIC_DASH: Final = (6, 3)


def build_response(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the flows that match, each alone on its path; raise MissingFigure where none fits."""
    runs = read_matching(declaration, database, "algorithm_runs", COLUMNS, "run_id, cc").filter(
        (pl.col("flows_count") == 1) & (pl.col("loss_pct") > 0) & (pl.col("rtt_ms") > 0),
        pl.col("cc").is_in([CUBIC, *VERSIONS]),
    )
    if runs["loss_pct"].n_unique() < 2:
        raise MissingFigure(
            "The runs that match have fewer than two rates of loss above 0 with a single flow of CUBIC or BBR."
        )
    for column, lacking in LACKING.items():
        runs = runs.filter(pl.col(column).is_not_null())
        if runs["loss_pct"].n_unique() < 2:
            raise MissingFigure(f"Theory needs two rates of loss above 0 of runs whose {lacking}.")
    keys = ["rtt_ms", "cc", "loss_pct", "line_bps", "mss_bytes"]
    cells = summarise_cells(database, runs, keys, "goodput_bps")
    rtts = cells["rtt_ms"].unique().sort().to_list()
    if len(rtts) > PANELS_AT_MOST or runs.select(ALIKE).n_unique() > 1:
        raise refuse_parts(
            f"panels of more than one line rate, pacing rate or MSS, or of more than {PANELS_AT_MOST} RTTs",
            runs,
            NARROWING,
        )
    expected = predict(cells)
    ccs = theme.order_algorithms(cells["cc"].unique())
    unit = choose_rate_unit(cells["mean"].sort()[-1])
    rates = _lay_axis(cells, expected, unit)
    panels = []
    for number, rtt_ms in enumerate(rtts):
        is_here = pl.col("rtt_ms") == rtt_ms
        sides = {"is_first": number % 2 == 0, "is_lowest": number >= len(rtts) - 2}
        title = f"RTT {rtt_ms:g} ms"
        panels.append(_draw(cells.filter(is_here), expected.filter(is_here), ccs, (unit, rates), title, **sides))
    key = [
        *(KeyEntry(theme.style_of(cc).name, theme.style_of(cc).marker, theme.style_of(cc).colour) for cc in ccs),
        KeyEntry("CUBIC in theory, RFC 9438", "line", theme.style_of(CUBIC).colour, CUBIC_DASH),
        KeyEntry("Reno in theory, Mathis et al.", "line", THEORY_COLOUR, RENO_DASH),
        *(
            KeyEntry(
                f"{theme.style_of(cc).name} in theory, up to {100 * bbr_loss_threshold(cc):g} % loss",
                "line",
                theme.style_of(cc).colour,
            )
            for cc in ccs
            if cc in VERSIONS
        ),
    ]
    bars = ", with 95 % intervals" if cells["low"].count() else ""
    chart = stack(
        [" ".join(declaration.title.split())],
        [f"Goodput of one flow ({unit}, log scale); marks: measured{bars}; lines: theory"],
        key,
        arrange(panels),
    )
    sentences = [
        f"Goodput of a single flow against random loss, measured and by theory, for each RTT; {count_runs(cells)}",
        _find_closest(cells, expected),
    ]
    data = cells.rename({name: f"goodput_{name}_bps" for name in ("mean", "low", "high")})
    return Figure(chart, data, fold_sentences(sentences), _describe(cells, ccs, unit))


def predict(cells: pl.DataFrame) -> pl.DataFrame:
    """Return what theory says under each RTT, at the losses of the cells and between: rtt_ms, law, loss_pct, rate_bps.

    `law` is cubic, reno, or the version of BBR. No rate is above that of the line's payload.
    """
    losses = _spread_losses(cells)
    versions = [cc for cc in cells["cc"].unique().sort() if cc in VERSIONS]
    rows: list[tuple[float, str, float, float]] = []
    for rtt_ms, line_bps, mss_bytes in cells.select("rtt_ms", "line_bps", "mss_bytes").unique().sort(pl.all()).rows():
        # ASSUME: the line's rate counts whole Ethernet frames.
        payload_bps = line_bps * mss_bytes / (mss_bytes + 52 + FRAMING_BYTES)
        for loss_pct in losses:
            loss, rtt_s = loss_pct / 100, rtt_ms / 1e3
            laws = {"cubic": predict_cubic(loss, rtt_s), "reno": reno_window(loss)}
            rows += [
                (rtt_ms, law, loss_pct, min(rate_of_window(window, mss_bytes, rtt_s), payload_bps))
                for law, window in laws.items()
            ]
            rows += [(rtt_ms, cc, loss_pct, predict_bbr(loss, payload_bps, cc)) for cc in versions]
    schema = {"rtt_ms": pl.Float64, "law": pl.String, "loss_pct": pl.Float64, "rate_bps": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("rtt_ms", "law", "loss_pct")


def _spread_losses(cells: pl.DataFrame) -> list[float]:
    """Return losses in %: the measured ones, thresholds of BBR that are near, and a few between two powers of ten."""
    measured = cells["loss_pct"].unique().sort().to_list()
    thresholds = [100 * bbr_loss_threshold(cc) for cc in cells["cc"].unique().sort() if cc in VERSIONS]
    thresholds = [loss for loss in thresholds if loss <= THRESHOLD_WITHIN * measured[-1]]
    between = [10 ** (step / POINTS) for step in range(-5 * POINTS, 2 * POINTS)]
    ends = measured[0], max([measured[-1], *thresholds])
    return sorted({*measured, *thresholds, *(loss for loss in between if ends[0] <= loss <= ends[1])})


def _lay_axis(cells: pl.DataFrame, expected: pl.DataFrame, unit: str) -> ValueAxis:
    """Return the axis of the rates: around the measured means and theory at their losses."""
    theory = expected.filter(pl.col("rate_bps") > 0, pl.col("loss_pct").is_in(cells["loss_pct"].unique().to_list()))
    rates = pl.concat([cells["mean"], theory["rate_bps"]]).sort() / RATE_UNITS[unit]
    return lay_log_axis(f"Goodput ({unit})", rates.filter(rates > 0)[0], rates[-1])


def _draw(
    cells: pl.DataFrame,
    expected: pl.DataFrame,
    ccs: list[str],
    axis: tuple[str, ValueAxis],
    title: str,
    *,
    is_first: bool,
    is_lowest: bool,
) -> alt.LayerChart:
    losses = cells["loss_pct"]
    labels: dict[str, Any] = {} if is_lowest else {"labels": False, "ticks": False}
    x_axis = alt.Axis(
        title="Random loss (%, log scale)" if is_lowest else None,
        values=sorted({*losses, expected["loss_pct"].sort()[-1]}),
        format="~g",
        grid=False,
        titleAnchor="start",
        **labels,
    )
    domain = [expected["loss_pct"].sort()[0] / 1.4, expected["loss_pct"].sort()[-1] * 1.4]
    x = alt.X("loss_pct:Q", scale=alt.Scale(type="log", domain=domain, nice=False), axis=x_axis)
    unit_bps, values = RATE_UNITS[axis[0]], axis[1]
    title_y = values.title if is_first else None
    y_axis = alt.Axis(title=title_y, format=values.format, values=list(values.ticks))
    layers = []
    for (law,), line in expected.filter(pl.col("rate_bps") > 0).group_by("law", maintain_order=True):
        dash = {"cubic": CUBIC_DASH, "reno": RENO_DASH}.get(str(law), (1, 0))
        colour = THEORY_COLOUR if law == "reno" else theme.style_of(str(law)).colour
        drawn = line.select("loss_pct", rate=(pl.col("rate_bps") / unit_bps).round(6))
        mark = alt.Chart(drawn).mark_line(color=colour, strokeWidth=1.5, strokeDash=list(dash), clip=True)
        layers.append(mark.encode(x=x, y=alt.Y("rate:Q", scale=values.scale, axis=y_axis)))
    for cc in ccs:
        style = theme.style_of(cc)
        own = cells.filter(pl.col("cc") == cc).select("loss_pct", (pl.col("mean", "low", "high") / unit_bps).round(6))
        bars = alt.Chart(own.drop_nulls()).mark_rule(color=style.colour, strokeWidth=1.4, clip=True)
        marks = alt.Chart(own).mark_point(
            size=55, color=style.colour, shape=style.marker, fill="white", opacity=1, strokeWidth=1.6
        )
        layers += [bars.encode(x="loss_pct:Q", y="low:Q", y2="high:Q"), marks.encode(x="loss_pct:Q", y="mean:Q")]
    return size_panel(layers, PAIR_WIDTH_PX, PANEL_HEIGHT_PX, title)


def _find_closest(cells: pl.DataFrame, expected: pl.DataFrame) -> str:
    """Return the sentence that says how far CUBIC's means are from its theory."""
    theory = expected.filter(pl.col("law") == CUBIC).select("rtt_ms", "loss_pct", "rate_bps")
    own = cells.filter(pl.col("cc") == CUBIC).join(theory, on=["rtt_ms", "loss_pct"])
    if own.is_empty():
        return ""
    ratios = own.select(ratio=pl.col("mean") / pl.col("rate_bps"))["ratio"].sort()
    ends = " to ".join(format_significant(ratios[at], 2) for at in (0, -1))
    return f"CUBIC's means are {ends} times the rate of theory (RFC 9438, at most the line rate)"


def _describe(cells: pl.DataFrame, ccs: list[str], unit: str) -> str:
    sentences = ["Rates against random loss with lines of theory"]
    for (rtt_ms,), own in cells.group_by("rtt_ms", maintain_order=True):
        texts = []
        for cc in ccs:
            line = own.filter(pl.col("cc") == cc).sort("loss_pct")
            if line.height:
                first, last = (format_rate(line["mean"][at], unit) for at in (0, -1))
                ends = [f"{line['loss_pct'][at]:g} %" for at in (0, -1)]
                texts.append(f"{theme.style_of(cc).name} {first} at {ends[0]}, {last} at {ends[1]}")
        sentences.append(f"RTT {rtt_ms:g} ms: {join_names(texts)}")
    return write_sentences(sentences)
