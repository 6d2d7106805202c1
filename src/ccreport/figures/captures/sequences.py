"""Time-sequence graphs from tables: of whole captured runs, and of the loss episodes of one flow."""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from ccreport.core.text import display_name
from ccreport.figures.captures.draw_episodes import draw_loss_episodes
from ccreport.figures.captures.draw_sequence import MARKS_IN_PANEL, draw_time_sequence
from ccreport.figures.captures.episodes import ROLES, Episode, find_episodes
from ccreport.figures.captures.series import LINK, bin_steps, choose_width_s, measure_duration_s, place_steps
from ccreport.figures.captures.wording import (
    CaptureFacts,
    count,
    name_flow,
    write_capture_caption,
    write_title,
)
from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.select.queries import MissingFigure, read_rows
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import write_sentences
from ccreport.figures.wording.runs import join_names

FLOWS_AT_MOST: Final = 4


def assemble_time_sequence(facts: CaptureFacts, database: Database) -> Figure:
    """Return the time-sequence graph of the run's flows, of four at most."""
    most = facts.captured.sort("retransmits_capture_count", descending=True, maintain_order=True)
    kept = facts.captured.join(most.head(FLOWS_AT_MOST), on=list(LINK), how="semi", maintain_order="left")
    steps = read_rows(database, "packet_intervals", kept.select("run_id").unique())
    placed = place_steps(steps, kept)
    if placed.is_empty():
        raise MissingFigure(f"The capture of run {display_name(kept.item(0, 'run_id'))} has no steps of its flows.")
    duration_s = measure_duration_s(placed)
    mark_s = choose_width_s(duration_s, MARKS_IN_PANEL if kept.height > 1 else 2 * MARKS_IN_PANEL)
    bins, marks = (bin_steps(placed, width_s) for width_s in (choose_width_s(duration_s), mark_s))
    title, subtitle = write_title(facts)
    names = [name_flow(flow) for flow in kept.rows(named=True)]
    if kept.height == 1:
        subtitle[-1] += f"; {names[0]}"
    chart = draw_time_sequence(bins, marks, names, title, subtitle, _list_key(bins, kept, mark_s))
    caption = write_capture_caption(facts, _describe_sequence(facts.captured, kept, mark_s))
    alternative = write_sentences([f"Time-sequence graph: {facts.conditions}", f"Flows: {'; '.join(names)}"])
    parts = {
        "line": bins,
        "mark": marks.filter(pl.sum_horizontal("retransmits_capture_count", "sack_blocks_count") > 0),
    }
    data = stack_parts(parts).with_columns(pl.col("start_s", "end_s").round(3)).drop("number")
    return Figure(chart, data, caption, alternative)


def _describe_sequence(captured: pl.DataFrame, kept: pl.DataFrame, width_s: float) -> list[str]:
    flows = "the data flow" if kept.height == 1 else f"each of {kept.height} data flows"
    lines = (
        f"Lines: sequence number of {flows} over time since the first packet, from the first data byte: highest sent, "
        "highest acknowledged, and the edge of the window where it is known"
    )
    marks = f"Circles: steps of {width_s:g} s with retransmits, larger for more; strokes below: steps with SACK blocks"
    is_part = captured.height > kept.height
    part = f"Drawn are the {kept.height} flows with the most retransmits of {captured.height}" if is_part else ""
    return [lines, marks, part]


def _list_key(bins: pl.DataFrame, kept: pl.DataFrame, width_s: float) -> list[KeyEntry]:
    ccs = theme.order_algorithms(kept["cc"].unique())
    entries = [KeyEntry(f"{theme.style_of(cc).name}, sent", "line", theme.style_of(cc).colour, width=2.2) for cc in ccs]
    entries.append(KeyEntry("acknowledged", "line", theme.INK, width=0.9))
    if bins["window_end_bytes"].count():
        entries.append(KeyEntry("edge of the window", "line", theme.WINDOW_COLOUR, width=1.2))
    if bins["retransmits_capture_count"].sum():
        entries.append(KeyEntry(f"retransmits in {width_s:g} s", "circle", theme.RETRANSMIT_COLOUR))
    if bins["sack_blocks_count"].sum():
        entries.append(KeyEntry(f"SACK blocks in {width_s:g} s", "stroke", theme.SACK_COLOUR))
    return entries


def assemble_loss_episodes(facts: CaptureFacts, database: Database) -> Figure:
    """Return the loss episodes of the run's flow with the most retransmits, of four at most."""
    flow = facts.captured.sort("retransmits_capture_count", descending=True, maintain_order=True).row(0, named=True)
    rows = read_rows(database, "packets", facts.captured.select("run_id").unique())
    packets = rows.filter(*(pl.col(column) == flow[column] for column in LINK[:3]))
    episodes, total = find_episodes(packets, flow["direction"])
    if not episodes:
        raise MissingFigure(f"No flow of run {display_name(flow['run_id'])} has a retransmit in its capture.")
    title, subtitle = write_title(facts)
    subtitle[-1] += f"; {name_flow(flow)}"
    names = [_name_episode(episode, total) for episode in episodes]
    chart = draw_loss_episodes(episodes, names, title, subtitle)
    caption = write_capture_caption(facts, _describe_episodes(episodes, total, flow))
    causes = [f"{text} {_count_role(episodes, role):,}" for role, text in ROLES.items()]
    alternative = [
        f"Time-sequence graphs of {count(len(episodes), 'loss episode')}: {facts.conditions}",
        f"Segments retransmitted in them: {join_names(causes)}",
    ]
    data = pl.concat([episode.marks.select(pl.lit(episode.number).alias("episode"), pl.all()) for episode in episodes])
    return Figure(chart, data, caption, write_sentences(alternative))


def _count_role(episodes: Sequence[Episode], role: str) -> int:
    return sum(episode.marks.filter(kind=role).height for episode in episodes)


def _describe_episodes(episodes: Sequence[Episode], total: int, flow: dict[str, Any]) -> list[str]:
    name = f"{theme.style_of(flow['cc']).name}, port {flow['local_port']}"
    which = f"all {total}" if total == len(episodes) else f"the {len(episodes)} with the most retransmits of {total}"
    return [
        f"Loss episodes of the flow with the most retransmits ({name}): {'the only one' if total == 1 else which}",
        "An episode is made of retransmits less than 3 median RTTs (at least 50 ms) apart, and 2 RTTs before and after",
        "Upright strokes: data segments, retransmitted ones red with a mark for the cause, and SACK blocks",
        "Steps: what is acknowledged",
        "Of an episode of too many packets, the first part is shown"
        if any(episode.is_cut for episode in episodes)
        else "",
    ]


def _name_episode(episode: Episode, total: int) -> str:
    retransmits = count(episode.retransmits_count, "retransmit")
    shown_ms = (episode.shown_until_s - episode.start_s) * 1000
    part = f", first {shown_ms:,.0f} ms" if episode.is_cut else ""
    return f"{episode.number} of {total}, from {episode.start_s:.2f} s: {retransmits}{part}"
