"""Figures of RTT from tables: over time with bytes in flight, and its distribution."""

import polars as pl

from ccreport.figures.captures import marks
from ccreport.figures.captures.draw_rtts import (
    draw_rtt_distribution,
    draw_rtt_in_flight,
    has_bands,
    list_flights,
    list_rtt_lines,
    starts_at_zero,
)
from ccreport.figures.captures.series import (
    bin_steps,
    choose_width_s,
    distribute_rtts,
    find_quantile,
    measure_duration_s,
    place_steps,
)
from ccreport.figures.captures.wording import CaptureFacts, count, write_capture_caption, write_title
from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry, style_entry
from ccreport.figures.select.queries import MissingFigure, read_rows
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import write_sentences
from ccreport.figures.wording.runs import format_significant, wrap_title

NO_SAMPLES = "The captures hold no RTT of the flows: they have one direction only."
RTT = "An RTT is the time from data to the acknowledgement of its last byte, retransmitted data left out"


def _read_steps(facts: CaptureFacts, database: Database) -> pl.DataFrame:
    steps = read_rows(database, "packet_intervals", facts.captured.select("run_id").unique())
    placed = place_steps(steps, facts.captured)
    if placed["ack_rtt_samples_count"].sum() == 0:
        raise MissingFigure(NO_SAMPLES)
    return placed


def assemble_rtt_in_flight(facts: CaptureFacts, database: Database) -> Figure:
    """Return RTT and bytes in flight of all flows of a run over time."""
    placed = _read_steps(facts, database)
    width_s = choose_width_s(measure_duration_s(placed))
    bins = bin_steps(placed, width_s)
    lines, flights = list_rtt_lines(bins), list_flights(bins)
    title, subtitle = write_title(facts)
    key = [style_entry(cc, theme.style_of(cc).name) for cc in facts.algorithms]
    key += [KeyEntry(f"smallest to largest RTT in {width_s:g} s", "band", theme.INK)] if has_bands(bins) else []
    chart = draw_rtt_in_flight(lines, flights, title, subtitle, key)
    if has_bands(bins):
        upper = f"Above: mean RTT in {width_s:g} s, and a band from the smallest to the largest"
    else:
        upper = f"Above: mean RTT in {width_s:g} s, median over the flows of each algorithm"
    flows = f", one line for each of {facts.captured.height} flows" if facts.captured.height > 1 else ""
    lower = f"Below: bytes sent and not yet acknowledged, mean over the data packets of {width_s:g} s{flows}"
    alternative = [
        f"Line charts of RTT and bytes in flight over time: {facts.conditions}",
        *(_describe_levels(lines.filter(cc=cc), flights.filter(cc=cc), cc) for cc in facts.algorithms),
    ]
    parts = {"rtt": lines, "in_flight": flights}
    data = stack_parts(parts)
    return Figure(chart, data, write_capture_caption(facts, [upper, lower, RTT]), write_sentences(alternative))


def _describe_levels(lines: pl.DataFrame, flights: pl.DataFrame, cc: str) -> str:
    name = theme.style_of(cc).name
    if lines.is_empty() or flights.is_empty():
        return f"{name}: RTT unknown"
    levels: tuple[float, float, float] = lines.select(
        least=pl.col("rtt_ms").min(), middle=pl.col("rtt_ms").median(), most=pl.col("rtt_ms").max()
    ).row(0)
    least, middle, most = (format_significant(level, 3) for level in levels)
    top: float = flights.select(pl.col("in_flight_bytes").max()).item()
    unit, size = marks.choose_byte_unit(top)
    in_flight = f"up to {format_significant(top / size, 3)} {unit} in flight"
    return f"{name}: RTT {least} to {most} ms, median {middle} ms; {in_flight}"


def assemble_rtt_distribution(facts: CaptureFacts, database: Database) -> Figure:
    """Return the distribution of RTT over all flows of all runs, one line an algorithm."""
    placed = _read_steps(facts, database)
    distribution = distribute_rtts(placed)
    found = dict(placed.drop_nulls("ack_rtt_min_ms").group_by("cc").agg(pl.col("ack_rtt_min_ms").min()).rows())
    minima = {cc: found[cc] for cc in theme.order_algorithms(found)}
    levels = [_describe_distribution(facts.captured, distribution.filter(cc=cc), cc, minima[cc]) for cc in minima]
    key = [style_entry(cc, level) for cc, level in zip(minima, levels, strict=True)]
    key.append(KeyEntry("smallest RTT", "line", theme.FAINT_INK, (2, 3), 1.2))
    title, _ = write_title(facts)
    runs = count(len(facts.drawn), "captured run")
    subtitle = [*wrap_title(facts.conditions), f"all flows of {runs}"]
    chart = draw_rtt_distribution(distribution, minima, title, subtitle, key)
    drawn = [
        f"Cumulative distribution of RTT over all flows of {runs}, one line for each algorithm",
        "It is made of means of 100 ms, each with the number of its samples",
        RTT,
        "Dotted: the smallest single RTT of each algorithm",
        "" if starts_at_zero(distribution, minima) else "The axis of RTT does not begin at 0",
    ]
    data = pl.concat(
        [distribution, pl.DataFrame({"cc": list(minima), "rtt_min_ms": list(minima.values())})], how="diagonal_relaxed"
    )
    alternative = write_sentences([f"Cumulative distributions of RTT: {facts.conditions}", *levels])
    return Figure(chart, data, write_capture_caption(facts, drawn, is_one_run=False), alternative)


def _describe_distribution(captured: pl.DataFrame, distribution: pl.DataFrame, cc: str, minimum_ms: float) -> str:
    half, most = (format_significant(find_quantile(distribution, share), 3) for share in (0.5, 0.95))
    least = format_significant(minimum_ms, 3)
    flows = count(captured.filter(cc=cc).height, "flow")
    return f"{theme.style_of(cc).name}, {flows}: smallest {least} ms, median {half} ms, 95 % within {most} ms"
