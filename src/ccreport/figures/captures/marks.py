"""What the figures of captures share: keys above the panels, panel titles, units of bytes, and drawing many segments.

Segments of one kind are one path in the drawing, its parts told apart by points without a value: thousands of single
lines would make a file of megabytes.
"""

import altair as alt
import polars as pl

from ccreport.core.units import DECIMAL_STEPS


def choose_byte_unit(length_bytes: float) -> tuple[str, int]:
    """Return the largest decimal unit of bytes in which a length is at least 1, and its size; at least kB."""
    units = (("GB", DECIMAL_STEPS["g"]), ("MB", DECIMAL_STEPS["m"]))
    return next((unit for unit in units if length_bytes >= unit[1]), ("kB", DECIMAL_STEPS["k"]))


def draw_segments(frame: pl.DataFrame, colour: str, width_px: float, x: alt.X, y: alt.Y) -> alt.Chart:
    """Return vertical segments from `from_kb` to `to_kb` at `time_ms`, all in one path."""
    # `gap` is not a column: every third point has no value, which ends a segment.
    folded = alt.Chart(frame.select("time_ms", "from_kb", "to_kb")).transform_fold(
        ["from_kb", "to_kb", "gap"], as_=["end", "kb"]
    )
    marked = folded.mark_line(color=colour, strokeWidth=width_px, strokeCap="butt", clip=True)
    chart: alt.Chart = marked.encode(x=x, y=y)
    return chart
