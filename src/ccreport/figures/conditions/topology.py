"""The testbed's topology as the archive's metadata has it: senders, what their packets pass, and destinations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things, display_name
from ccreport.figures.conditions.topology_drawing import Box, Lane, draw_topology
from ccreport.figures.kit.figure import Figure, deny
from ccreport.figures.select.condition_cells import keep_counted, read_matching_all
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import QUEUE, UNCOUNTED, MissingFigure, read_rows
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import PLAIN_QUEUE, fold_sentences, write_sentences
from ccreport.summarise.grids.grid import format_size
from ccreport.summarise.grids.settings import name_rate

TOPOLOGY_COLUMNS: Final = f"""
    run_id, experiment_id, sender_host, host, host_address, rtt_ms, nic_bps, mtu_bytes, kernel, buffer_bytes,
    bottleneck_bps, {QUEUE} AS queue_discipline, background_udp_bps, destinations_count, is_suspect
"""
# More destinations of one sender than this are counted in a last box.
DESTINATIONS_AT_MOST: Final = 12
VALUES_AT_MOST: Final = 3


@dataclass(frozen=True)
class Path:
    """Rows of one sender: its runs, the queueing disciplines on their paths, and its destinations in order of RTT."""

    sender: str | None
    runs: pl.DataFrame
    qdiscs: pl.DataFrame
    destinations: pl.DataFrame


def build_topology(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the drawing of the hosts and paths of the runs that match; raise MissingFigure where no host is known."""
    matching = read_matching_all(declaration, database, "labelled_runs", TOPOLOGY_COLUMNS, "run_id")
    counted = keep_counted(matching)
    runs = counted.filter(pl.col("host").is_not_null() | pl.col("host_address").is_not_null())
    if runs.is_empty():
        raise MissingFigure(f"{deny(counted.height)} names its destination.")
    qdiscs = read_rows(database, "qdiscs", runs)
    paths = [
        Path(sender, own, qdiscs.join(own.select("run_id"), on="run_id", how="semi"), _list_destinations(own))
        for (sender,), own in runs.sort("sender_host", "run_id", nulls_last=True).group_by(
            "sender_host", maintain_order=True
        )
    ]
    lanes = [Lane(_describe_sender(path), _describe_path(path), _describe_destinations(path)) for path in paths]
    data = pl.concat(
        [path.destinations.select(pl.lit(path.sender, pl.String).alias("sender_host"), pl.all()) for path in paths]
    )
    title = " ".join(declaration.title.split())
    left_out = matching.filter(~pl.col("is_counted"))
    caption = _write_caption(paths, left_out, counted.height - runs.height)
    return Figure(draw_topology(title, lanes), data, caption, _write_alternative(lanes))


def _list_destinations(runs: pl.DataFrame) -> pl.DataFrame:
    return (
        runs.group_by("host", "host_address")
        .agg(
            rtt_lowest_ms=pl.col("rtt_ms").min(),
            rtt_highest_ms=pl.col("rtt_ms").max(),
            runs_count=pl.len().cast(pl.Int64),
        )
        .sort("rtt_lowest_ms", "rtt_highest_ms", "host", "host_address", nulls_last=True)
    )


def _describe_sender(path: Path) -> Box:
    kernels = sorted(path.runs["kernel"].drop_nulls().unique())
    lines = [
        _list_numbers("interface", path.runs["nic_bps"], name_rate),
        _list_numbers("MTU", path.runs["mtu_bytes"], lambda size: f"{size:,} B"),
        f"Linux {display_name(', '.join(kernels[:VALUES_AT_MOST]))}" if kernels else "",
    ]
    return Box(display_name(path.sender or "sender unknown"), [line for line in lines if line])


def _describe_path(path: Path) -> Box:
    netem = path.qdiscs.filter(pl.col("qdisc") == "netem")
    # Of the directions of a run the one that loses packets, or has the lower limit, is that of the data.
    is_lossy = (pl.col("loss_pct") > 0).fill_null(value=False)
    forward = netem.filter(is_lossy | ~is_lossy.any().over("run_id"))
    limits = forward.group_by("run_id").agg(pl.col("limit_packets_count").min())["limit_packets_count"]
    losses = forward["loss_pct"].drop_nulls().unique().sort().to_list()
    lossy = [loss for loss in losses if loss > 0]
    told = "no loss" if losses else ""
    if lossy:
        told = f"loss {'none, ' if 0.0 in losses else ''}{_join_ends(lossy)} %"
    queues = [display_name(queue) for queue in path.runs["queue_discipline"].drop_nulls().unique().sort()]
    delay = _span("delay", netem["delay_ms"].drop_nulls(), "ms")
    lines = [
        ", ".join(filter(None, (delay, told))),
        _span("limit", limits.drop_nulls(), "packets"),
        _list_numbers("bottleneck", path.runs["bottleneck_bps"], name_rate),
        _list_numbers("port buffer", path.runs["buffer_bytes"], format_size),
        f"queue {', '.join(queues)}" if set(queues) - {PLAIN_QUEUE} else "",
        _list_numbers("background UDP", path.runs["background_udp_bps"], name_rate),
    ]
    return Box("Network emulator (netem)" if netem.height else "Network", [line for line in lines if line])


def _describe_destinations(path: Path) -> list[Box]:
    boxes = []
    for row in path.destinations.head(DESTINATIONS_AT_MOST).rows(named=True):
        ends = [rtt for rtt in (row["rtt_lowest_ms"], row["rtt_highest_ms"]) if rtt is not None]
        # An address where no name was given.
        name, address = row["host"] or row["host_address"], row["host_address"]
        facts = [
            display_name(address) if address and address != name else "",
            f"RTT {_join_ends(ends)} ms" if ends else "RTT unknown",
            count_things(row["runs_count"], "run"),
        ]
        boxes.append(Box(display_name(name), [", ".join(fact for fact in facts if fact)]))
    rest = path.destinations.height - DESTINATIONS_AT_MOST
    return [*boxes, Box(f"and {count_things(rest, 'more destination')}", [])] if rest > 0 else boxes


def _list_numbers(name: str, values: pl.Series, style: Any) -> str:
    """Return the distinct values, or the lowest and the highest where there are many."""
    known = values.drop_nulls().unique().sort().to_list()
    if not known:
        return ""
    texts = list(dict.fromkeys(style(value) for value in known))
    return f"{name} {', '.join(texts) if len(texts) <= VALUES_AT_MOST else f'{texts[0]} to {texts[-1]}'}"


def _join_ends(values: Sequence[float]) -> str:
    return "–".join(dict.fromkeys(f"{value:.3g}" for value in (min(values), max(values))))


def _span(name: str, values: pl.Series, unit: str) -> str:
    known = values.sort().to_list()
    return f"{name} {'–'.join(dict.fromkeys(f'{value:,g}' for value in (known[0], known[-1])))} {unit}" if known else ""


def _write_caption(paths: Sequence[Path], left_out: pl.DataFrame, nowhere: int) -> str:
    runs = pl.concat(path.runs for path in paths)
    destinations = pl.concat(path.destinations for path in paths)
    shown = pl.when(pl.col("rtt_ms") < 1).then(pl.col("rtt_ms").round_sig_figs(1)).otherwise(pl.col("rtt_ms").round())
    rtts = _span("RTTs of", runs.select(shown)["rtt_ms"].drop_nulls(), "ms")
    names_count = destinations["host"].drop_nulls().n_unique()
    of_names = (
        f" (of {count_things(names_count, 'name')}; each sender has its own)"
        if 0 < names_count < destinations.height
        else ""
    )
    reached = f"{count_things(len(paths), 'sender')} and {count_things(destinations.height, 'destination')}{of_names}"
    suspect = int(left_out["is_suspect"].sum())
    absent = {
        f"not counted ({UNCOUNTED})": left_out.height - suspect,
        "not counted (suspect)": suspect,
        "without a destination": nowhere,
    }
    several = int((runs["destinations_count"] > 1).sum())
    sentences = [
        "Senders, the path between them, and destinations, as the metadata of the runs names them",
        "; ".join(
            [
                f"{count_things(runs.height, 'run')} between {reached}{f', at {rtts}' if rtts else ''}",
                *(f"{count_things(count, 'more run')} {why}" for why, count in absent.items() if count),
            ]
        ),
        "A range is that of all runs of the sender",
        "Delay, loss and limit are those of netem as tc printed them, of the direction that loses packets, if one does"
        if any((path.qdiscs["qdisc"] == "netem").any() for path in paths)
        else "No run recorded a network emulator",
    ]
    if several:
        sentences.append(f"{count_things(several, 'run')} to several destinations at once: only the first is drawn")
    if destinations["host_address"].drop_nulls().is_duplicated().any():
        sentences.append("Each sender has its own destinations: an address under two of them need not be the same host")
    return fold_sentences(sentences)


def _write_alternative(lanes: Sequence[Lane]) -> str:
    told = []
    for lane in lanes:
        sender, path = (", ".join([box.name, *box.lines]) for box in (lane.sender, lane.path))
        hosts = "; ".join(", ".join([box.name, *box.lines]) for box in lane.destinations)
        told.append(f"From {sender}; through {path}; to {hosts}")
    return write_sentences(["Diagram of the testbed", *told])
