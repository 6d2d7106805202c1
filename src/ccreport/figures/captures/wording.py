"""The words of the figures of captures: titles, names of flows, captions and text alternatives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.wording.captions import describe_left_out, name_runs, write_heading
from ccreport.figures.wording.conditions import fold_sentences
from ccreport.figures.wording.runs import DrawnRun, describe_runs

SIDES: Final = {
    "sender": "beside the sender",
    "receiver": "beside the receiver, so that an RTT here is only the way from the capture to the receiver and back",
    "between": "between the two hosts, so that an RTT here is only the way from the capture to the receiver and back",
}


@dataclass(frozen=True)
class CaptureFacts:
    """What texts say about a figure of captured runs; `captured` has the rows of `list_captured_flows` drawn."""

    declaration: FigureDeclaration
    drawn: Sequence[DrawnRun]
    captured: pl.DataFrame
    left_out_count: int

    @property
    def algorithms(self) -> list[str]:
        """Return the algorithms of the flows, in order."""
        return theme.order_algorithms(self.captured["cc"].unique())

    @property
    def conditions(self) -> str:
        """Return the conditions in one line."""
        is_overlapped = all(drawn_run.run["mode"] == "both" for drawn_run in self.drawn)
        return describe_runs(self.algorithms, self.drawn, overlapped=is_overlapped)


def write_title(facts: CaptureFacts) -> tuple[list[str], list[str]]:
    """Return the lines of title and subtitle of a figure of one run."""
    return write_heading(facts.declaration, facts.conditions, facts.drawn, overlapped=True)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def name_flow(flow: dict[str, Any]) -> str:
    """Return how a panel names a flow: algorithm, local port and retransmits."""
    retransmits = count(flow["retransmits_capture_count"], "retransmit")
    return f"{theme.style_of(flow['cc']).name}, port {flow['local_port']}: {retransmits}"


def write_capture_caption(facts: CaptureFacts, drawn: Sequence[str], *, is_one_run: bool = True) -> str:
    """Return the caption: conditions, what is drawn, the run and the rule that chose it, where it was captured."""
    runs = name_runs(facts.drawn) if is_one_run else []
    left_out = describe_left_out(facts.left_out_count, "the one with the most captured runs")
    return fold_sentences([facts.conditions, *drawn, *runs, _name_sides(facts.captured), *left_out])


def _name_sides(captured: pl.DataFrame) -> str:
    sides = captured["capture_side"].unique().to_list()
    if len(sides) != 1 or sides == [None]:
        return "Where the flows were captured is not the same or not known for all of them"
    return f"Captured {SIDES[sides[0]]}"
