"""Read pscheduler's throughput results (tools iperf3 and iperf2) as the iperf3 result that they were made from.

    {"succeeded": true, "diags": "Participant 0:\\n…", "error": …,
     "intervals": [{"streams": [S…], "summary": S}…], "summary": {"streams": [S…], "summary": S}}

pscheduler renames a few of iperf3's keys and drops the rest, among them ports, congestion control and what the receiver
says but its rate (`receiver-throughput-bits` of the summary, from 4.1 on). But each participant's part of `diags` has
its command line and, where iperf3 succeeded, its whole output; so that is read where it is there. Else the renamed keys
are given their names back. Written down in pscheduler's `pscheduler-tool-iperf3` (`run`, `merged-results`,
`iperf3_parser.py`) and `pscheduler-tool-iperf2`.
"""

import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.iperf3.document import interrupted, read_document
from ccreport.ingest.iperf3.json_repair import OBJECT_LINE, Content, parse_json, read_defective
from ccreport.ingest.iperf3.pscheduler_record import RECORD_KEYS, describe_task, read_spec
from ccreport.ingest.iperf3.tables import Outcome
from ccreport.ingest.json_values import Json, JsonObject, get_object, get_objects, quote

# `diag` until 2016.
DIAGS_KEYS: Final = ("diags", "diag")
RESULT_KEYS: Final = frozenset({*DIAGS_KEYS, "succeeded", "summary"})
WRAPPERS: Final = ("result", "result-merged")
IPERF3_KEYS: Final = {
    "start": "start",
    "end": "end",
    "omitted": "omitted",
    "throughput-bytes": "bytes",
    "throughput-bits": "bits_per_second",
    "retransmits": "retransmits",
    # Bytes, so it is the congestion window; there is none in the totals.
    "tcp-window-size": "snd_cwnd",
    "jitter": "jitter_ms",
    "sent": "packets",
    "lost": "lost_packets",
}
REVERSE_OPTIONS: Final = frozenset({"-R", "--reverse"})
UDP_KEYS: Final = ("sent", "lost", "jitter")

# Participant 0: · Client: (both in a test over loopback)
PARTICIPANT: Final = re.compile(r"^(?:Participant \d+|Client|Server):[ \t]*$", re.MULTILINE)
# numactl -N 0 /usr/bin/iperf3 -p 5201 -c 10.0.0.2 -t 10 --json -P 4 -C bbr2
COMMAND: Final = re.compile(r"^.*\biperf3? .*$", re.MULTILINE)
# iperf3: error - unable to connect to server: Connection refused · bwctl: ... timed out
CAUSE: Final = re.compile(
    r"^.*(?:\b(?:error|failed|refused|unreachable|denied)\b|timed out|unable to ).*$", re.MULTILINE | re.IGNORECASE
)
DIAGS_LETTERS: Final = 20_000
# -Cbbr2 · --congestion=bbr2
CONGESTION: Final = re.compile(r"(?:-C|--congestion=?|--linux-congestion=?)(.*)")


@dataclass(frozen=True)
class _Participant:
    """What one host of the test left in `diags`: its command line and iperf3's own output, where they are there."""

    command: str | None
    output: Content | None

    @property
    def header(self) -> JsonObject:
        value = self.output.value if self.output else None
        return value if isinstance(value, dict) else {}

    @property
    def is_client(self) -> bool:
        start = self.header.get("start")
        return isinstance(start, dict) and "connecting_to" in start


def find_result(value: Json) -> JsonObject | None:
    """Return the pscheduler result that a JSON value is, or wraps as a run or a list of one; None for anything else.

    Beside the result's keys are those of a record that wraps it and say what was asked for (`pscheduler_record`).
    """
    if isinstance(value, list) and len(value) == 1:
        return find_result(value[0]) if not isinstance(value[0], list) else None
    if not isinstance(value, dict):
        return None
    if value.keys() & RESULT_KEYS:
        # A failed participant leaves null where its part would be.
        return {key: part for key, part in value.items() if part is not None}
    for key in WRAPPERS:
        wrapped = value.get(key)
        if isinstance(wrapped, dict) and wrapped.keys() & RESULT_KEYS:
            found = find_result(wrapped) or {}
            return {name: value[name] for name in RECORD_KEYS if name in value} | found
    return None


def read_result(result: JsonObject, content: Content) -> Outcome:
    """Return the rows of a pscheduler result; raise RawFileError as `read_document` does."""
    participants = _read_diags(result)
    commands = [participant.command for participant in participants if participant.command]
    is_reverse = any(REVERSE_OPTIONS.intersection(_words(command)) for command in commands)
    is_reverse = is_reverse or read_spec(result).get("reverse") is True
    error = _error_text(result, participants)
    notes = list(content.notes)
    outcome = _recover(participants, is_reverse=is_reverse, notes=notes)
    if outcome is None:
        outcome = _read_summary(result, error, notes, is_reverse=is_reverse)
    elif error is not None and not outcome.test["is_interrupted"]:
        outcome.test["is_interrupted"] = True
        notes.append(interrupted(error))
    outcome.notes[:0] = notes
    client = next((participant.command for participant in participants if participant.is_client), None)
    command = client or next(iter(commands), None)
    outcome.test |= {"tool": "pscheduler", "command": command, "cc_command": _congestion(command)}
    for name, value in describe_task(result).items():
        # A result restored from a summary is TCP where nothing in it says otherwise.
        is_guess = name == "protocol" and not outcome.test["is_recovered"]
        if outcome.test.get(name) is None or is_guess:
            outcome.test[name] = value
    outcome.test |= {"error": error or outcome.test["error"]}
    outcome.test |= {"is_doubled": content.is_doubled or outcome.test["is_doubled"]}
    return outcome


def _error_text(result: JsonObject, participants: list[_Participant]) -> str | None:
    error = result.get("error")
    if error:
        return quote(error if isinstance(error, str) else repr(error))
    if result.get("succeeded") is not False:
        return None
    return _find_cause(result, participants) or "the task did not succeed and does not say why"


def _find_cause(result: JsonObject, participants: list[_Participant]) -> str | None:
    """Return why a task failed, from what its tool left in `diags`: iperf3's own error, else a line that names one."""
    for participant in participants:
        error = participant.header.get("error")
        if isinstance(error, str):
            return quote(error)
    texts = [text for key in DIAGS_KEYS if isinstance(text := result.get(key), str)]
    # In a longer text the words of an error may be in anything.
    lines = [line for text in texts for line in CAUSE.findall(text[:DIAGS_LETTERS])]
    return quote(lines[0].strip()) if lines else None


def _read_summary(result: JsonObject, error: str | None, notes: list[RawFileError], *, is_reverse: bool) -> Outcome:
    """Return what pscheduler's own summary says; raise RawFileError with the cause where nothing was measured."""
    try:
        outcome = read_document(Content(_restore(result, error, is_reverse=is_reverse)))
    except RawFileError as failure:
        cause = next((note for note in notes if note.reason == "error_only"), None)
        if failure.reason == "no_measurement" and cause is not None:
            raise cause from None
        raise
    if error is None:
        _share_receiver_rate(outcome, result)
    return outcome


def _share_receiver_rate(outcome: Outcome, result: JsonObject) -> None:
    """Give the streams the rate at the receiver, by their bytes: from 4.1 on the summary has it, for all together."""
    summary = result.get("summary")
    total = summary.get("summary") if isinstance(summary, dict) else None
    rate = total.get("receiver-throughput-bits") if isinstance(total, dict) else None
    sizes = [size if isinstance(size := row.get("sender_bytes"), int | float) else 0 for row in outcome.streams]
    if isinstance(rate, int | float) and not isinstance(rate, bool) and sum(sizes) > 0:
        for row, size in zip(outcome.streams, sizes, strict=True):
            row["receiver_bps"] = rate * (size / sum(sizes))


def _read_diags(result: JsonObject) -> list[_Participant]:
    diags = [text for key in DIAGS_KEYS if isinstance(text := result.get(key), str)]
    sections = [section for text in diags for section in PARTICIPANT.split(text) if section.strip()]
    participants = [_Participant(_command(section), _output(section)) for section in sections]
    # The error of a tool that failed can quote what it printed.
    error = result.get("error")
    return participants + ([_Participant(None, _output(error))] if isinstance(error, str) else [])


def _command(section: str) -> str | None:
    lines = COMMAND.findall(section.partition("{")[0])
    return lines[-1].strip() if lines else None


def _output(section: str) -> Content | None:
    """Return the whole JSON object that is in a section; one that is cut says less than pscheduler's summary."""
    brace = OBJECT_LINE.search(section)
    if brace is None:
        return None
    text = section[brace.start(1) :]
    with suppress(ValueError):
        return parse_json(text.encode())
    with suppress(RawFileError):
        content = read_defective(text)
        return None if content.is_cut else content
    return None


def _recover(participants: list[_Participant], *, is_reverse: bool, notes: list[RawFileError]) -> Outcome | None:
    """Return what the client's own output says, else the server's; None where neither is there.

    pscheduler takes a reverse test's result from participant 1, the server, who sends. The client's output has both
    hosts' totals and the ports as `ss` sees them, so it goes first in every test.
    """
    found = [participant for participant in participants if participant.header.keys() & {"start", "intervals"}]
    ordered = sorted(reversed(found) if is_reverse else found, key=lambda participant: not participant.is_client)
    for participant in ordered:
        if participant.output is not None:
            try:
                outcome = read_document(participant.output)
            except RawFileError as error:
                notes.append(error)
                continue
            outcome.test["is_recovered"] = True
            return outcome
    return None


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _congestion(command: str | None) -> str | None:
    for word, following in pairwise([*_words(command or ""), ""]):
        if match := CONGESTION.fullmatch(word):
            return match[1] or following or None
    return None


def _restore(result: JsonObject, error: str | None, *, is_reverse: bool) -> JsonObject:
    """Return the iperf3 result that pscheduler's summary was made from, as far as it can be told."""
    # Old versions of the iperf2 tool give the totals as a bare list.
    is_list = isinstance(result.get("summary"), list)
    totals = _flows(
        get_objects(result, "summary") if is_list else get_objects(get_object(result, "summary"), "streams")
    )
    intervals = [_flows(get_objects(interval, "streams")) for interval in get_objects(result, "intervals")]
    everything = [block for blocks in (totals, *intervals) for block in blocks]
    # ASSUME: what counts no datagrams is TCP; pscheduler's throughput test knows nothing else.
    is_udp = any(block.get(key) is not None for block in everything for key in UDP_KEYS)
    document: JsonObject = {
        "start": {"test_start": {"protocol": "UDP" if is_udp else "TCP", "reverse": is_reverse}},
        "intervals": [
            {"streams": [_rename(block, "rtt") for block in blocks]} for blocks in _without_total(intervals, totals)
        ],
        "end": {"streams": [{"udp" if is_udp else "sender": _rename(block, "mean_rtt")} for block in totals]},
    }
    return document if error is None else document | {"error": error}


def _flows(blocks: list[JsonObject]) -> list[JsonObject]:
    """Return the blocks of single streams; iperf2's `SUM` is none."""
    return [block for block in blocks if block.get("stream-id") != "SUM"]


def _without_total(intervals: list[list[JsonObject]], totals: list[JsonObject]) -> list[list[JsonObject]]:
    """Return the intervals less the one of the whole test that the iperf2 tool lists among them."""
    spans = [(block.get("start"), block.get("end")) for block in totals if isinstance(block.get("stream-id"), str)]
    is_total = [bool(blocks) and all((b.get("start"), b.get("end")) in spans for b in blocks) for blocks in intervals]
    if len(intervals) <= 1:
        return intervals
    return [blocks for blocks, total in zip(intervals, is_total, strict=True) if not total]


def _rename(block: JsonObject, rtt: str) -> JsonObject:
    renamed = {new: block[old] for old, new in IPERF3_KEYS.items() if old in block}
    number = block.get("stream-id")
    # iperf3's are numbers, iperf2's strings of digits.
    renamed["socket"] = int(number) if isinstance(number, str) and re.fullmatch("[0-9]{1,9}", number) else number
    return renamed | {rtt: block.get("rtt")}
