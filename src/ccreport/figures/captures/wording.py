"""The words of the figures of captures: titles, names of flows, captions and text alternatives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.wording.captions import name_runs
from ccreport.figures.wording.runs import DrawnAlgorithm, DrawnRun, describe_runs, name_run, wrap_title

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
        is_overlapped = all(one.run["mode"] == "both" for one in self.drawn)
        algorithms = [DrawnAlgorithm(cc, None, None) for cc in self.algorithms]
        return describe_runs(algorithms, self.drawn, overlapped=is_overlapped)


def write_title(facts: CaptureFacts) -> tuple[list[str], list[str]]:
    """Return the lines of title and subtitle of a figure of one run."""
    subtitle = [name_run(one, overlapped=True) for one in facts.drawn]
    return [" ".join(facts.declaration.title.split()), *wrap_title(facts.conditions)], subtitle


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def name_flow(flow: dict[str, Any]) -> str:
    """Return how a panel names a flow: algorithm, local port and retransmits."""
    retransmits = count(flow["retransmits_capture_count"], "retransmit")
    return f"{theme.style_of(flow['cc']).name}, port {flow['local_port']}: {retransmits}"


def join_sentences(sentences: Sequence[str]) -> str:
    """Return sentences as one paragraph."""
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences if sentence)


def write_capture_caption(facts: CaptureFacts, drawn: Sequence[str], *, is_one_run: bool = True) -> str:
    """Return the caption: conditions, what is drawn, the run and the rule that chose it, where it was captured."""
    runs = name_runs(facts.drawn) if is_one_run else []
    return join_sentences([facts.conditions, *drawn, *runs, _name_sides(facts.captured), *_describe_choice(facts)])


def _name_sides(captured: pl.DataFrame) -> str:
    sides = captured["capture_side"].unique().to_list()
    if len(sides) != 1 or sides == [None]:
        return "Where the flows were captured is not the same or not known for all of them"
    return f"Captured {SIDES[sides[0]]}"


def _describe_choice(facts: CaptureFacts) -> list[str]:
    if not facts.left_out_count:
        return []
    others = "1 other condition matches" if facts.left_out_count == 1 else f"{facts.left_out_count} others match"
    return [f"{others} as well; drawn is the one with the most captured runs, then the first by its identifier"]
