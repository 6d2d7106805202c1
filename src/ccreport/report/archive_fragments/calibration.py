"""Calibrations of testbeds: what each was told before its first run, and what was measured of it."""

from typing import Any, Final

import polars as pl

from ccreport.report.markup.blocks import NONE, Html, render_callout, render_float, render_table, text, verbatim

# More than this nobody reads on a page; the tables have them all.
LISTED_AT_MOST: Final = 200
# From here on four digits would not be all before the point.
EXACT_FROM: Final = 1000
CALIBRATION_HEADER: Final = (
    "Session",
    "Quantity",
    "Host",
    "Nominal",
    "Measured",
    "Accepted",
    "Verdict",
    "How",
    "Conditions",
)


def render_calibrations(calibrations: pl.DataFrame) -> str:
    """Return how many measurements are outside their bounds, and all of them, failed ones first."""
    if calibrations.is_empty():
        return "No calibration is recorded.\n"
    failed = calibrations.filter(~pl.col("is_within")).height
    judged = calibrations["is_within"].count()
    kind, title = ("warning", f"{failed} of {judged} outside their bounds") if failed else ("tip", "All within bounds")
    body = f"Before the first run of each session the testbed was measured: {judged} quantities have bounds."
    # False sorts first.
    ordered = calibrations.sort("is_within", "session", "measurement_number", nulls_last=True, maintain_order=True)
    rows = [_render_measurement(row) for row in ordered.head(LISTED_AT_MOST).iter_rows(named=True)]
    table = render_table(CALIBRATION_HEADER, rows, title="Calibration", numbers=(3, 4, 5))
    caption = "Nominal and measured values of the testbed, failed measurements first."
    caption += describe_cut(ordered, "calibrations")
    return f"{render_callout(kind, title, body)}\n{render_float('tbl-calibration', table, caption)}"


def _render_measurement(row: dict[str, Any]) -> list[Html]:
    unit = row["calibration_unit"]
    bounds = (row["low_value"], row["high_value"])
    accepted = None if None in bounds else " to ".join(_show_value(bound, unit, has_unit=False) for bound in bounds)
    verdict = {True: Html("within"), False: Html("<strong>outside</strong>"), None: NONE}[row["is_within"]]
    packets = f"{row['probes_count']:,} packets" if row["probes_count"] is not None else None
    how = [part for part in (row["method"], packets) if part not in (None, "packets")]
    return [
        verbatim(row["session"]),
        text({"rtt": "RTT"}.get(row["measured_quantity"], row["measured_quantity"])),
        verbatim(row["host"]),
        text(None if row["nominal_value"] is None else _show_value(row["nominal_value"], unit)),
        text(_show_value(row["measured_value"], unit)),
        text(accepted),
        verdict,
        text(", ".join(how) or row["method"]),
        text(row["conditions"]),
    ]


def _show_value(value: float, unit: str, *, has_unit: bool = True) -> str:
    if unit == "bit/s":
        value, unit = value / 1e6, "Mbit/s"
    shown = f"{value:,.0f}" if value >= EXACT_FROM else f"{value:.4g}"
    return f"{shown} {unit}" if has_unit else shown


def describe_cut(listed: pl.DataFrame, table: str) -> str:
    """Return the sentence that says where the rest of a long list is, nothing where it is shown as a whole."""
    if listed.height <= LISTED_AT_MOST:
        return ""
    return f" The first {LISTED_AT_MOST} of {listed.height:,}; the table `{table}` has all."
