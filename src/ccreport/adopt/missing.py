"""What runs lack, what is not known without it, and how it is recorded or said."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from ccreport.adopt.rows import Row
from ccreport.archive.layout import Layout
from ccreport.archive.manifest import Manifest

# Kinds of files that say more of a run: what is not known without them, and how they are recorded beside a test.
WANTED: Final = {
    "ss": (
        "retransmits and RTTs of each flow, congestion windows",
        'while :; do echo "# $(date +%s.%N)"; ss -tinm; sleep 0.5; done > NAME_ss.txt',
    ),
    "mpstat": ("whether a processor was the limit", "mpstat -P ALL -o JSON 1 > NAME_mpstat.json"),
    "tcpdump": (
        "completion times, and which segments were retransmitted",
        "tcpdump -i INTERFACE -s 128 -w NAME.pcap tcp{ports}",
    ),
}
# In names of parameters that may be the round-trip time, or the loss, of a path.
DELAYS: Final = frozenset({"delay", "owd", "oneway", "lat", "latency", "rtt", "ping"})
LOSSES: Final = frozenset({"loss", "losses", "lossrate", "drop", "drops", "droprate", "plr"})
UNITS: Final = {
    **dict.fromkeys(("percent", "percentage", "prozent"), "pct"),
    **dict.fromkeys(("fraction", "prob", "probability"), "ratio"),
    "msec": "ms",
    "usec": "us",
    "sec": "s",
}
# A filter of a capture names so many ports at most.
PORTS: Final = 10


def describe_missing(rows: Sequence[Row], manifests: Iterable[Manifest], layout: Layout | None) -> Iterator[str]:
    """Yield what runs lack, what is not known without it, and how it is recorded or said."""
    for kind, (unknown, command) in WANTED.items():
        if lacking := [row for row in rows if not row.kinds[kind]]:
            yield f"{_count(lacking, rows)} no {kind} ({unknown}). Beside the next test, run:"
            yield f"  {command.replace('{ports}', _name_ports(lacking))}"
    has_jobmeta = any(file.kind == "jobmeta" for manifest in manifests for file in manifest.files)
    if has_jobmeta:
        return
    if lacking := [row for row in rows if row.run.rtt_nominal_ms is None]:
        yield f"{_count(lacking, rows)} no declared RTT; the smallest that is measured counts. Declare it by `rtt_ms`."
        yield from _list_alike(lacking, layout, DELAYS, {"ms": "rtt_ms", "us": "rtt_us", "s": "rtt_s"})
    if lacking := [row for row in rows if not ("loss_pct" in (row.run.conditions or {}) or row.kinds["pre-netem"])]:
        yield f"{_count(lacking, rows)} no declared loss: nothing says which loss the path was set to."
        yield from _list_alike(lacking, layout, LOSSES, {"pct": "loss_pct", "ratio": "loss_ratio"})
        yield "Say it by a group or a column `loss_pct`, or record the path:"
        yield "  tc -s qdisc > NAME_netem.txt    (with `kind: netem` in the layout)"


def _list_alike(
    rows: Iterable[Row], layout: Layout | None, words: frozenset[str], groups: Mapping[str, str]
) -> Iterator[str]:
    """Yield of parameters with one of some words in their names what to call them; `groups` are by their unit."""
    columns = (
        {name for told in (layout.by_path, layout.by_run) for row in told.values() for name in row} if layout else {}
    )
    for name in sorted({name for row in rows for name in row.parameters}):
        parts = [part for part in re.split("[^a-z]+", name.lower().replace("%", "_pct")) if part]
        if not words.intersection(parts):
            continue
        unit = UNITS.get(parts[-1], parts[-1])
        group = groups.get(unit, next(iter(groups.values())))
        is_column = name in columns
        scaled = f"scale: {{{group}: 2}}"
        where = "beside `table`" if is_column else "below its pattern"
        also = f", and write `{scaled}` {where} where it is one-way" if words is DELAYS else ""
        yield f"Is it the {'column' if is_column else 'group'} `{name}`? Then call that `{group}`{also}."


def _name_ports(rows: Sequence[Row]) -> str:
    """Return the filter of a capture for the ports that results name, none where they are many, else iperf3's own."""
    ports = sorted({port for row in rows for _, _, _, port in row.connections} - {0}) or [5201]
    return " port " + " or port ".join(map(str, ports)) if len(ports) <= PORTS else ""


def _count(lacking: Sequence[Row], rows: Sequence[Row]) -> str:
    if len(lacking) == len(rows):
        return {1: "The run has", 2: "Both runs have"}.get(len(rows), f"All {len(rows)} runs have")
    # Names of runs may have commas themselves.
    names = "; ".join(row.run.suffix for row in lacking[:3]) + ("; …" if len(lacking) > 3 else "")
    return f"{len(lacking)} of {len(rows)} runs ({names}) {'has' if len(lacking) == 1 else 'have'}"
