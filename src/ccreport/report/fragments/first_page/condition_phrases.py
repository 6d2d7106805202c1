"""Names of conditions, "40G sender, ESnet, both, 16 flows, RTT < 30 ms", as phrases of a sentence."""

import re
from collections.abc import Iterator
from typing import Final

from ccreport.report.markup.escape import escape_text

FLOWS: Final = re.compile(r"[\d,]+ flows?")
# both · both BBRv2 and CUBIC · alone
SHARING: Final = re.compile(r"(?P<how>both|alone)(?: (?P<names>.+))?")
# 40G sender
SENDER: Final = re.compile(r"(?P<speed>\S+) sender")
LOSS: Final = re.compile(r"(?:no|([\d.]+) %) loss")
# buffer 12 MB
BUFFER: Final = re.compile(r"buffer (?P<size>.+)")
RTT: Final = re.compile(r"RTT .+")
END: Final = escape_text(")")


def phrase_conditions(question: str, rtts: str = "") -> str:
    """Return the name of conditions as a phrase, "with 16 flows alone from a 40G sender (ESnet) at RTT < 30 ms".

    `rtts` are the round-trip times that its bucket pools here, "5, 9 ms": of algorithms that share a path they are said
    in its place. What is not known is said as it is, in brackets.
    """
    return " ".join(filter(None, _list_phrases(question, rtts)))


def add_bracket(phrase: str, words: str) -> str:
    """Return a phrase, escaped, with words in a bracket after it, or within that which ends it; both as Markdown."""
    return f"{phrase.removesuffix(END)}; {words}{END}" if phrase.endswith(END) else f"{phrase} ({words})"


def _list_phrases(question: str, rtts: str) -> Iterator[str]:
    left = [part for part in question.split(", ") if part]

    def take(pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = next((match for part in left if (match := pattern.fullmatch(part))), None)
        if found:
            left.remove(found[0])
        return found

    flows, sharing, sender, loss, buffer, rtt = map(take, (FLOWS, SHARING, SENDER, LOSS, BUFFER, RTT))
    shares = bool(rtt and rtts and sharing and sharing["how"] == "both")
    yield _name_flows(flows, sharing, rtts if shares else "")
    yield f"from a {sender['speed']} sender" if sender else ""
    yield f"({', '.join(left)})" if left else ""
    yield f"{'with' if loss[0].startswith('no') else 'at'} {loss[0]}" if loss else ""
    yield f"with a buffer of {buffer['size']}" if buffer else ""
    if rtt and not shares:
        yield f"at {rtt[0]}{f' (here {rtts})' if rtts and rtt[0] != f'RTT {rtts}' else ''}"


def _name_flows(flows: re.Match[str] | None, sharing: re.Match[str] | None, rtts: str) -> str:
    counted = f"with {flows[0] if flows else 'flows'}" if flows or sharing else ""
    if not sharing:
        return counted
    if sharing["how"] == "alone":
        return f"{counted} alone"
    shared = f"sharing a path of {span_rtts(rtts)}" if rtts else "together"
    if rtts and not flows and not sharing["names"]:
        return shared
    return f"{counted} of {sharing['names'] or 'both algorithms'} {shared}"


def span_rtts(rtts: str) -> str:
    """Return the least and the greatest of some round-trip times, "5, 9 ms", as "5–9 ms"."""
    numbers = rtts.removesuffix(" ms").split(", ")
    return f"{'–'.join(dict.fromkeys((numbers[0], numbers[-1])))} ms"


def read_loss_pct(condition: str) -> float | None:
    """Return the loss that conditions say, in per cent; None where they do not."""
    losses = [found[1] for part in condition.split(", ") if (found := LOSS.fullmatch(part))]
    return float(losses[0] or 0) if losses else None
