"""The words of a path that say something: an algorithm, a number with its unit, a run, a host.

`results/run1_cubic_20ms.json` is a run, an algorithm and a round-trip time between words that only separate.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ccreport.archive.layout_groups import NO_LOSS, point_decimals
from ccreport.core.algorithms import name_algorithm

# A unit behind a number, in small letters → the group, the factor to the group's unit (1: none), and the group's own.
UNITS: Final = {
    **dict.fromkeys(("ms", "msec"), ("rtt_ms", 1.0)),
    "us": ("rtt_ms", 0.001),
    **dict.fromkeys(("pct", "percent", "%", "loss"), ("loss_pct", 1.0)),
    **dict.fromkeys(("mbps", "mbit", "mbits"), ("bottleneck_bps", 1e6)),
    **dict.fromkeys(("gbps", "gbit", "gbits"), ("bottleneck_bps", 1e9)),
    **dict.fromkeys(("flows", "flow", "streams", "stream"), ("flows", 1.0)),
    **dict.fromkeys(("pkts", "packets"), ("limit_packets_count", 1.0)),
    "bdp": ("bdp", 1.0),
}
LOSSES: Final = ("loss", "plr", "verlust", "perte", "pertes")
LOSS: Final = rf"{NO_LOSS}|[0-9.]+"
RATIO: Final = rf"{NO_LOSS}|[0-9.]+(?:[eE]-[0-9]+)?"
# A word before a number → its group.
NAMED: Final = {
    **dict.fromkeys(("rtt", "delay", "owd", "lat", "latency", "delai", "latenz"), "rtt_ms"),
    **dict.fromkeys(LOSSES, "loss_pct"),
    **dict.fromkeys(
        ("iter", "iteration", "rep", "repeat", "repetition", "trial", "it", "try", "attempt", "round"), "iteration"
    ),
    **dict.fromkeys(("versuch", "lauf", "wiederholung", "essai"), "iteration"),
    **dict.fromkeys(("p", "flows", "streams", "parallel"), "flows"),
}
# Words of delays in one direction or in both.
DELAYS: Final = frozenset({"delay", "lat", "latency", "delai", "latenz"})
# Words of delays in one direction, of which a round-trip time has two.
ONE_WAY: Final = frozenset({"owd"})
RUNS: Final = frozenset({"run", "test", "exp", "experiment", "measurement"})
NUMBER: Final = r"[0-9]+(?:\.[0-9]+)?"
# 0.1s, which is an RTT behind a word of one, or where others have milliseconds
SECONDS: Final = rf"(?P<seconds>{NUMBER})(?P<second>[Ss](?:ec)?)"
# In a path: all of its digits or none, as the 0 of loss_0.01% is another number. Without a 0: loss=.01
WHOLE: Final = rf"(?>{NUMBER}|(?<=[=_ -])\.[0-9]+)"
# Before a unit: 1e-4%
EXPONENT: Final = "[eE]-[0-9]+"
# Before a number that only a ratio has: p1e-4.
RATIOS: Final = (*LOSSES, "p", "l", "per", "ploss", "lossrate", "drop")
# Behind a blank, a number's unit is one that nothing else is called.
APART: Final = r"(?i: (?:ms|us|pct|percent|%|[kmg]bps|[kmg]bits?)(?![A-Za-z0-9%]))"
# Words of what has a unit, which may be apart from the number: rtt 500 us.
MEASURED: Final = "|".join(sorted((word for word in NAMED if NAMED[word] in ("rtt_ms", "loss_pct")), reverse=True))
DELAYED: Final = "|".join(sorted((word for word in NAMED if NAMED[word] == "rtt_ms"), reverse=True))
# A known word whose number ends with a capital: Loss0.1 of Run1Loss0.1Rtt20.
CAPITAL: Final = rf"(?i:{'|'.join(sorted({*NAMED, *RUNS} - {'p', 'it'}, reverse=True))})(?=[=_ -]?{NUMBER}[A-Z][a-z])"
UNIT: Final = rf"(?i:{'|'.join(sorted(UNITS, reverse=True))})"
# Of any language, also where a sign is a character of its own: u and two dots.
LETTER: Final = r"(?:[^\W\d_]|[\u0300-\u036f])"
END: Final = rf"(?!{LETTER}|[0-9%])"
CC: Final = r"(?P<cc>[A-Za-z0-9]+)"
# Two words that are one algorithm.
SPELT: Final = "(?i:bbr[ ._-]v[1-9]|new-reno|h-tcp)"
# Queueing disciplines of Linux, and what people call the plain ones.
QUEUES: Final = "fq[_-]codel|fq[_-]pie|pfifo[_-]fast|[pb]?fifo|droptail|fq|codel|cake|red|pie|sfq|hhf|choke|dualpi2"
QUEUE_DISCIPLINE: Final = "(?P<queue_discipline>[A-Za-z0-9]+(?:[_-](?i:codel|pie|fast))?)"
DAY: Final = r"(?:19|20)[0-9]{2}[-/]?[01][0-9][-/]?[0-3][0-9]"
DATE: Final = rf"{DAY}(?:[T_-][0-9]{{2}}[-:]?[0-9]{{2}}(?:[-:]?[0-9]{{2}})?Z?)?"
STAMP: Final = rf"{DATE}|1[4-9][0-9]{{8}}(?:\.[0-9]+)?"
# Between a word and its number; a date behind a word is not one: test_20261120_2210.
BETWEEN: Final = rf"(?:=|[_ -](?!{DATE}{END}))?"
# 2026-11-20T22:10 · plr1e-4 · 20ms · 1pct · owd_20ms · rtt 5 us · BBR v2 · fq · rtt20 · loss=0.1 · run_1 · h3 · 7
WORD: Final = re.compile(
    rf"(?P<stamp>{STAMP}){END}"
    rf"|(?P<losing>(?:(?i:{'|'.join(RATIOS)})[=_ -]?)?)(?P<ratio>{WHOLE}{EXPONENT}){END}"
    rf"|(?P<amount>{WHOLE}(?:{EXPONENT})?)(?P<unit>{UNIT}(?=[A-Z][a-z])|(?:[A-Za-z]+|%|{APART}){END})"
    rf"|(?P<label>[A-Za-z]+=?|(?i:{'|'.join(ONE_WAY)})[_ -])(?P<labelled>{WHOLE}(?:{EXPONENT})?)(?P<known>{UNIT}){END}"
    rf"|(?P<measured>(?i:{MEASURED})[=_ -]?)(?P<size>{WHOLE}(?:{EXPONENT})?)(?P<apart>{APART})"
    rf"|(?P<delayed>(?i:{DELAYED})[=_ -]?){SECONDS}{END}"
    rf"|(?P<lossless>(?i:{'|'.join(LOSSES)})[=_ -]?)none{END}"
    rf"|(?P<algorithm>{SPELT}){END}"
    rf"|(?P<queue>(?i:{QUEUES})){END}"
    rf"|(?:(?P<capital>{CAPITAL})|(?P<name>{LETTER}+))(?P<between>{BETWEEN})(?P<value>{WHOLE})(?(capital)|{END})"
    rf"|(?P<number>{WHOLE}){END}"
    rf"|(?P<word>(?:{LETTER}|[0-9%])(?:{LETTER}|[0-9%]|(?<=[0-9])\.(?=[0-9]))*)"
    r"|(?P<separator>.)",
    re.DOTALL,
)


class Word(NamedTuple):
    """A piece of a path: its text, what kind of piece it is, and, of a known group, the expression of its place.

    `kind` is separator, word, number, counted (`h3`: a word with a number) or the name of a group.
    """

    text: str
    kind: str
    expression: str = ""
    value: str = ""
    factor: float = 1


def split_path(path: str) -> list[Word]:
    """Return the words of a path and what separates them; their texts together are the path."""
    words: list[Word] = []
    position = 0
    pointed = point_decimals(path)
    while position < len(path):
        match = WORD.match(pointed, position)
        assert match is not None  # noqa: S101 (the last alternative fits any character)
        word = _read(match)
        end = position + len(word.text)
        words.append(word._replace(text=path[position:end]))
        position = end
    return words


def _read(match: re.Match[str]) -> Word:
    text = match[0]
    if match["separator"]:
        return Word(text, "separator")
    if match["stamp"]:
        signs = next((sign for sign in "/." if sign in text), "" if text.isdigit() else "TZ:_-")
        return Word(text, "run", rf"(?P<run>[0-9{signs}]+)", text)
    if match["ratio"]:
        return Word(text, "loss_ratio", rf"{escape(match['losing'])}(?P<loss_ratio>{RATIO})", match["ratio"])
    if match["unit"] and match["unit"].strip().lower() in UNITS:
        return _read_amount(text, "", match["amount"], match["unit"])
    if match["label"] and not name_algorithm(match["label"].rstrip("=_ -")):
        return _read_amount(text, match["label"], match["labelled"], match["known"])
    if match["measured"]:
        return _read_amount(text, match["measured"], match["size"], match["apart"])
    if match["delayed"]:
        return _read_seconds(match, match["delayed"])
    if match["lossless"]:
        return Word(text, "loss_pct", rf"{escape(match['lossless'])}(?P<loss_pct>{LOSS})", NO_LOSS)
    if name_algorithm(text):
        return Word(text, "cc", CC, text)
    if match["queue"]:
        return Word(text, "queue_discipline", QUEUE_DISCIPLINE, text)
    if match["capital"] or match["name"]:
        return _read_named(match)
    if match["number"]:
        return Word(text, "number", value=text)
    return Word(text, "word", value=text)


def escape(text: str) -> str:
    """Return the expression of a text, in which signs stay as they are that mean nothing there."""
    return re.sub(r"\\([ #&~-])", r"\1", re.escape(text))


def is_without_unit(word: Word) -> bool:
    """Tell whether a word says a loss without its unit."""
    return f"loss_pct>{LOSS}" in word.expression


def read_as_ratio(word: Word) -> Word:
    """Return a word that says a loss without a unit as one that says a ratio, others as they are."""
    if not is_without_unit(word):
        return word
    expression = word.expression.replace(f"loss_pct>{LOSS}", f"loss_ratio>{RATIO}")
    return word._replace(kind="loss_ratio", expression=expression)


def read_as_seconds(word: Word) -> Word | None:
    """Return a word that is a number of seconds as one that says an RTT; None for any other."""
    match = re.fullmatch(SECONDS, point_decimals(word.text)) if word.kind == "word" else None
    return _read_seconds(match, "")._replace(text=word.text) if match is not None else None


def _read_seconds(match: re.Match[str], label: str) -> Word:
    expression = rf"{escape(label)}(?P<rtt_ms>[0-9.]+){match['second']}"
    return Word(match[0], "rtt_ms", expression, match["seconds"], 1000.0 * _count_ways(label))


def _read_amount(text: str, label: str, amount: str, unit: str) -> Word:
    group, factor = UNITS[unit.strip().lower()]
    factor *= _count_ways(label)
    # 1stream · 16streams
    ending = f"{re.sub('s$', '', unit)}s?" if group == "flows" else escape(unit)
    digits = f"[0-9.]+{EXPONENT}" if "-" in amount else "[0-9.]+"
    return Word(text, group, rf"{escape(label)}(?P<{group}>{digits}){ending}", amount, factor)


def list_delays(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the words of a path that say a delay, which may be that of one direction: delay10 · 10ms behind delay-."""
    before = ""
    for word in words:
        label = re.sub(r"[^A-Za-z].*", "", word.text).lower() or before
        if word.kind == "rtt_ms" and label in DELAYS:
            yield word
        before = before if word.kind == "separator" else label


def _count_ways(word: str) -> int:
    """Return by what a number behind a word has to be multiplied: a delay in one direction by 2."""
    return 2 if word.rstrip("=_ -").lower() in ONE_WAY else 1


def _read_named(match: re.Match[str]) -> Word:
    text, word = match[0], match["capital"] or match["name"]
    name = word.lower()
    start = escape(word + match["between"])
    if name in RUNS:
        return Word(text, "run", rf"(?P<run>{start}[0-9.]+)", text)
    if name in NAMED and (match["between"] or name not in ("p", "it") or "." not in match["value"]):
        values = LOSS if name in LOSSES else "[0-9.]+"
        return Word(text, NAMED[name], rf"{start}(?P<{NAMED[name]}>{values})", match["value"], _count_ways(name))
    if match["between"] and name_algorithm(name):
        return Word(word, "cc", CC, word)
    if match["between"] and match["between"] != "=":
        # loss_test-3: the word is one of its own.
        return Word(word, "word", value=word)
    return Word(text, "counted", value=text)
