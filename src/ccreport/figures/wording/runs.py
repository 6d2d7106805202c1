"""The words of a figure: numbers with their units, title, legend, notes on the path, caption and text alternative.

Names of hosts, runs and algorithms come from an archive. They are shown as they are, except that control characters
are escaped; whoever puts a caption into a page escapes it for that page.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ccreport.archive.direction import BOTH, FORWARD, REVERSE, read_direction
from ccreport.core.text import count_things, display_name
from ccreport.figures.kit import theme
from ccreport.figures.select.declaration import Rate
from ccreport.summarise.grids.grid import format_size
from ccreport.summarise.grids.settings import RATE_UNITS, name_rate

Row = Mapping[str, Any]

# Between what ran and where it ran.
# results-c099142bc3.run1-34e9aedeff
RUN_ID: Final = re.compile(r"^.*?-[0-9a-f]{10}\.(.+)-[0-9a-f]{10}$", re.DOTALL)
PATH_DASH: Final = " — "
# One recorded delay for each direction.
BOTH_WAYS: Final = 2
TITLE_CHARACTERS: Final = 80
SUBTITLE_CHARACTERS: Final = 105
RULE: Final = (
    "the medoid of its iterations in the rate of each algorithm and the retransmit ratio, each divided by its median "
    "absolute deviation: typical in its means, so its line may leave the range of the others at times"
)


@dataclass(frozen=True)
class DrawnRun:
    """One run that a figure draws: its row of `labelled_runs`, how many iterations it stands for, and why it does."""

    run: Row
    runs_count: int
    is_declared: bool


@dataclass(frozen=True)
class DrawnAlgorithm:
    """One line of a figure, with its means over the run, of which the rate is the sum over its flows."""

    cc: str
    rate_bps: float | None
    retransmit_ratio: float | None
    flows_count: int = 1

    @property
    def name(self) -> str:
        """Return the algorithm's name as figures write it."""
        return theme.style_of(self.cc).name


def format_significant(number: float, digits: int) -> str:
    """Return a number with this many significant digits, never as a power of ten."""
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    rounded = float(f"{number:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(decimals, 0)}f}"


def format_rate(rate_bps: float | None, unit: str) -> str:
    """Return a rate with three significant digits, `unknown` for none."""
    return "unknown" if rate_bps is None else f"{format_significant(rate_bps / RATE_UNITS[unit], 3)} {unit}"


def format_ratio(ratio: float | None) -> str:
    """Return a ratio in percent with two significant digits, `unknown` for none."""
    return "unknown" if ratio is None else f"{format_significant(100 * ratio, 2)} %"


def join_names(names: Sequence[str]) -> str:
    """Return `A`, `A and B`, or `A, B and C`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def tell_flows(count: int | None, other: int | None, names: tuple[str, str] | None = None) -> str:
    """Return how many flows a rate is of that is compared with one of more or fewer; nothing of as many.

    With `names` it says of which algorithm they are, where the sentence before does not.
    """
    if not count or not other or count == other:
        return ""
    of_one, of_other = (f" of {name}" for name in names) if names else ("", "")
    return f", with {count_things(count, 'flow')}{of_one} beside {other}{of_other}"


def describe_runs(ccs: Iterable[str], drawn: Sequence[DrawnRun], *, overlapped: bool) -> str:
    """Return the conditions in one line: algorithms, flows, both or alone, hosts and RTT."""
    return join_conditions(*list_conditions(ccs, drawn, overlapped=overlapped))


def list_conditions(ccs: Iterable[str], drawn: Sequence[DrawnRun], *, overlapped: bool) -> tuple[list[str], list[str]]:
    """Return the conditions one by one: what ran (algorithms, flows, both or alone), and where (hosts, RTT)."""
    flows = _list_values(drawn, "flows_count", "{:d}")
    ran = [join_names([theme.style_of(cc).name for cc in ccs])]
    if flows:
        ran.append(f"{flows} {'flow' if flows == '1' else 'flows'}")
    ran.append("both" if overlapped else "alone")
    rtts, path = _list_values(drawn, "rtt_ms", "{:.3g}"), find_ends(drawn).name()
    # Of a path that nobody declared it is the smallest of all its runs, not that of the run.
    is_measured = all(one.run.get("rtt_source") in ("ss", "iperf3") for one in drawn)
    return ran, [*filter(None, [path]), f"{'smallest ' if is_measured else ''}RTT {rtts} ms" if rtts else "RTT unknown"]


@dataclass(frozen=True)
class Ends:
    """The names of the hosts at the ends of `count` paths, as text, and in which directions data went."""

    senders: str
    hosts: str
    count: int
    directions: Collection[str]
    is_emulated: bool

    def name(self) -> str:
        """Return the ends, or that the path is one of a testbed, whose hosts are names only; empty where unknown."""
        if not self.hosts:
            return ""
        if not self.is_emulated:
            return name_ends(self.senders, self.hosts, self.directions)
        paths = "emulated path" if self.count == 1 else f"{self.count} emulated paths"
        one_way = {*self.directions} == {FORWARD}
        return paths if one_way else f"{paths}, {name_ends('sender', 'receiver', self.directions)}"

    def tell_names(self) -> list[str]:
        """Return the sentence that has the names that `name` leaves out."""
        named = self.is_emulated and self.hosts
        return [f"Emulated hosts: {name_ends(self.senders, self.hosts, self.directions)}"] if named else []


def find_ends(drawn: Sequence[DrawnRun]) -> Ends:
    """Return the ends of the paths of the runs that are drawn."""
    return Ends(
        _list_values(drawn, "sender_host", "{}"),
        _list_values(drawn, "host", "{}"),
        len({(one.run["host"], one.run["rtt_ms"]) for one in drawn}),
        {read_direction(one.run.get("parameter_name"), one.run.get("parameter_value")) for one in drawn},
        all(one.run.get("is_emulated") for one in drawn),
    )


def name_ends(senders: str, hosts: str, directions: Collection[str]) -> str:
    """Return the ends of a path in the direction of the data, which several runs may send in several."""
    told = {*directions}
    if told == {REVERSE}:
        return f"{hosts} to {senders}" if senders else f"from {hosts}"
    if told == {FORWARD}:
        return f"{senders} to {hosts}" if senders else f"to {hosts}"
    if not senders:
        return f"to and from {hosts}"
    return f"{senders} and {hosts}, both directions" if told == {BOTH} else f"between {senders} and {hosts}"


def join_conditions(ran: Sequence[str], where: Sequence[str]) -> str:
    """Return conditions as one line; each part may be empty."""
    return PATH_DASH.join(", ".join(part) for part in (ran, where) if part)


def wrap_title(conditions: str, characters: int = TITLE_CHARACTERS) -> list[str]:
    """Return the conditions as one line of a title, or as two where one would be too long."""
    return [conditions] if len(conditions) <= characters else conditions.split(PATH_DASH, 1)


def _list_values(drawn: Sequence[DrawnRun], column: str, style: str) -> str:
    values = (drawn_run.run[column] for drawn_run in drawn)
    texts = [display_name(style.format(value)) for value in values if value is not None]
    return join_names(list(dict.fromkeys(texts))) if texts else ""


def name_run(drawn: DrawnRun, *, overlapped: bool) -> str:
    """Return the line of the title that says which run is drawn (of which algorithm alone) and by which rule."""
    if drawn.is_declared:
        rule = "chosen by name"
    elif drawn.runs_count == 1:
        rule = "the only iteration with data"
    else:
        rule = f"the most typical of {drawn.runs_count} in mean rate and retransmits"
    # The caption has the identifier, which would not fit here.
    iteration = drawn.run["iteration"]
    name = f"iteration {iteration}" if iteration is not None else display_name(_shorten(drawn.run["run_id"]))
    # Each session of a repeated experiment has an iteration 1.
    if iteration is not None and drawn.run.get("session"):
        name = f"session {display_name(drawn.run['session'])}, {name}"
    of_algorithm = "" if overlapped else f"{theme.style_of(drawn.run['mode']).name}: "
    return f"{of_algorithm}{name}, {rule}"


def _shorten(run_id: str) -> str:
    """Return the part of a run's identifier by which people called it."""
    return RUN_ID.sub(r"\1", run_id)


def write_legend(algorithm: DrawnAlgorithm, rate: Rate, unit: str, *, is_cut: bool = False) -> str:
    """Return an algorithm's entry of the legend: mean rate and retransmit ratio of the run that is drawn.

    Where the time axis ends before the test (`is_cut`), it says that these are of the whole test.
    """
    name = f"{algorithm.name}, whole test" if is_cut else algorithm.name
    mean = format_rate(algorithm.rate_bps, unit)
    return f"{name}: mean {rate} {mean}, retransmits {format_ratio(algorithm.retransmit_ratio)}"


def write_band(drawn: Sequence[DrawnRun]) -> str | None:
    """Return what the band is, None where no condition has other iterations."""
    others = sorted({drawn_run.runs_count - 1 for drawn_run in drawn} - {0})
    if not others:
        return None
    if others == [1]:
        return "the other iteration"
    return f"range of the other {join_names([str(number) for number in others])} iterations"


def write_choice(drawn: Sequence[DrawnRun]) -> str | None:
    """Return by what a run is chosen whose line may leave the band, None where it is declared or the only one."""
    is_chosen = any(drawn_run.runs_count > 1 and not drawn_run.is_declared for drawn_run in drawn)
    return "line: the run closest to the mean" if is_chosen else None


def write_notes(qdiscs: pl.DataFrame, run: Row) -> list[str]:
    """Return the settings of the path of a run: netem as recorded, else what is declared; then the bottleneck.

    `qdiscs` has the run's rows of that table.
    """
    netem = qdiscs.filter(pl.col("qdisc") == "netem")
    recorded = _describe_netem(netem)
    bottleneck = (
        ("port buffer", run["buffer_bytes"], format_size),
        ("bottleneck", run["bottleneck_bps"], name_rate),
        ("background UDP", run["background_udp_bps"], name_rate),
        ("queue", run["queue"], display_name),
    )
    second = ", ".join(f"{name} {write(value)}" for name, value, write in bottleneck if value is not None)
    return [note for note in (recorded or _describe_declared(run), second) if note]


def _describe_netem(netem: pl.DataFrame) -> str:
    recorded = [f"{delay:g} ms" for delay in netem["delay_ms"].drop_nulls()]
    if not recorded:
        return ""
    # Of a port for each path, each direction has all of them.
    delays = recorded if len(recorded) <= BOTH_WAYS else list(dict.fromkeys(recorded))
    lossy = netem.filter(pl.col("loss_pct") > 0)
    limits: list[int] = (lossy if lossy.height else netem)["limit_packets_count"].drop_nulls().to_list()
    facts = [f"delay {delays[0]} {'each way' if len(delays) > 1 else 'one way'}"]
    if len(set(delays)) > 1:
        facts = [f"delays {join_names(delays)}"]
    jitters = sorted(set(netem["delay_jitter_ms"].drop_nulls()) - {0.0})
    facts += [f"jitter {join_names([f'{jitter:g}' for jitter in jitters])} ms"] if jitters else []
    # tc prints 0.001 % as 0.00100001%: netem keeps a loss as a 32-bit fraction.
    losses = dict.fromkeys(f"{loss:.3g}" for loss in lossy["loss_pct"].sort())
    facts += [f"loss {join_names(list(losses))} %"] if losses else ["no loss"]
    facts += [f"limit {min(limits):,} packets"] if limits else []
    return "netem: " + ", ".join(facts)


def _describe_declared(run: Row) -> str:
    if run["rtt_nominal_ms"] is None:
        return ""
    loss = "" if run["loss_pct"] is None else f", loss {run['loss_pct']:.3g} %"
    return f"as declared: RTT {run['rtt_nominal_ms']:g} ms{loss}"
