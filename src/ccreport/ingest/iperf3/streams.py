"""Read the streams and the intervals of one iperf3 result object, of any version from 3.0 on.

    "intervals": [{"streams": [{"socket": 5, "start": 0, "end": 1.0, "bytes": …, "rtt": …}, …], "sum": …}, …]
    "end": {"streams": [{"sender": {"socket": 5, …}, "receiver": {…}} | {"udp": {…}}, …], "sum_sent": …}

Keys come with versions: rttvar and pmtu 3.2, `sender` 3.7, snd_wnd 3.10. Rows are read stream by stream; the sums only
serve to check them. What the other host measured arrives at the end of the test: an interrupted client, and every
server, prints zeros for it.
"""

from dataclasses import dataclass
from typing import Final, TypeGuard

from ccreport.archive.raw_file import RawFileError
from ccreport.core.identifiers import normalise_address
from ccreport.ingest.iperf3.tables import Row
from ccreport.ingest.json_values import Json, JsonObject, as_text, get_object, get_objects, get_values
from ccreport.ingest.plausible import clear_not_counted

INTERVAL_COLUMNS: Final = {
    "start_s": "start",
    "end_s": "end",
    "interval_bytes": "bytes",
    "interval_bps": "bits_per_second",
    "retransmits_iperf3_count": "retransmits",
    "cwnd_bytes": "snd_cwnd",
    "snd_wnd_bytes": "snd_wnd",
    "rtt_ms": "rtt",
    "rttvar_ms": "rttvar",
    "pmtu_bytes": "pmtu",
}
SUMS: Final = (
    ("sum_sent", "sender"),
    ("sum_received", "receiver"),
    ("sum_sent_bidir_reverse", "sender"),
    ("sum_received_bidir_reverse", "receiver"),
)
# ASSUME: totals of streams and sums agree to this share; old versions print large numbers with seven digits.
SUM_TOLERANCE: Final = 1e-6
NUMBER_TYPES: Final = (int, float)
NUMBER_LIMIT: Final = 10**18


@dataclass(frozen=True)
class Document:
    """The parts of a result object, and what holds for every stream in it.

    `blocks` are the streams of all intervals in a row, with their stream number and the position of their interval.
    """

    start: JsonObject
    header: JsonObject
    blocks: list[JsonObject]
    numbers: list[int | None]
    positions: list[int]
    end: JsonObject
    is_server: bool
    is_interrupted: bool

    def sends(self, *blocks: JsonObject) -> bool:
        """Return whether the host that ran the tool sends on the stream of these blocks."""
        for block in blocks:
            told = block.get("sender")
            if isinstance(told, bool):
                return told
        return self.is_server == bool(self.header.get("reverse"))

    @property
    def knows_both_hosts(self) -> bool:
        """Return whether the other host's figures came over the control connection."""
        return not (self.is_server or self.is_interrupted)


def split_document(document: JsonObject, *, is_interrupted: bool) -> Document:
    """Return the parts of a result object; raise RawFileError (`unexpected_structure`) where one is something else."""
    start, end = get_object(document, "start"), get_object(document, "end")
    intervals = [get_objects(interval, "streams") for interval in get_objects(document, "intervals")]
    blocks = [block for interval in intervals for block in interval]
    end = _with_streams(start, blocks, end)
    return Document(
        start=start,
        header=get_object(start, "test_start"),
        blocks=blocks,
        numbers=_plain_numbers(get_values(blocks, "socket")),
        positions=[position for position, interval in enumerate(intervals) for _ in interval],
        end=end,
        is_server="accepted_connection" in start,
        is_interrupted=is_interrupted or not (end.get("streams") or _has_totals(end)),
    )


def _with_streams(start: JsonObject, blocks: list[JsonObject], end: JsonObject) -> JsonObject:
    """Return the end of a test with its streams, which some results lack beside their sums.

    The sums are those of a single stream; of several streams the intervals tell more, if there are any.
    """
    sums = {side: get_object(end, key) for side, key in (("sender", "sum_sent"), ("receiver", "sum_received"))}
    if end.get("streams") or not _has_totals(end):
        return end
    sockets = dict.fromkeys(_socket(block) for block in (blocks or get_objects(start, "connected")))
    if blocks and len(sockets) > 1:
        return end
    socket: JsonObject = {"socket": next(iter(sockets), None) or 1}
    streams: list[Json] = [{side: socket | total for side, total in sums.items() if total}]
    if get_object(start, "test_start").get("protocol") == "UDP":
        streams = [{"udp": socket | (get_object(end, "sum") or sums["receiver"] or sums["sender"])}]
    return end | {"streams": streams}


def _has_totals(end: JsonObject) -> bool:
    """Return whether the sums of an end say that something was sent; an interrupted client prints zeros."""
    told = (get_object(end, key).get("bytes") for key in ("sum_sent", "sum_received"))
    return any(_is_number(count) and count > 0 for count in told)


def read_streams(document: Document) -> list[Row]:
    """Return the totals of every stream: from its end block, else from the intervals that count."""
    rows = [
        _udp_row(document, get_object(blocks, "udp")) if "udp" in blocks else _tcp_row(document, blocks)
        for blocks in get_objects(document.end, "streams")
    ]
    seen = {row["stream_number"] for row in rows}
    rows += [_interval_totals(document, number) for number in dict.fromkeys(document.numbers) if number not in seen]
    ends = {_socket(connection): connection for connection in get_objects(document.start, "connected")}
    for row in rows:
        row.update(_connection(ends.get(_number(row), {})))
    return rows


def read_intervals(document: Document) -> dict[str, list[Json]]:
    """Return every stream's intervals as columns, numbered in the order of the output."""
    columns: dict[str, list[Json]] = {
        "stream_number": [*document.numbers],
        "interval_number": [*document.positions],
        "is_omitted": get_values(document.blocks, "omitted", False),
    }
    return columns | {name: get_values(document.blocks, key) for name, key in INTERVAL_COLUMNS.items()}


def check_sums(document: Document) -> list[RawFileError]:
    """Return a note for every sum of the tool that is not the sum of its streams."""
    if document.is_interrupted:
        return []
    notes = []
    blocks = get_objects(document.end, "streams")
    for key, side in SUMS:
        total = get_object(document.end, key)
        told, direction = total.get("bytes"), total.get("sender")
        parts = [get_object(block, side) for block in blocks] if _is_number(told) else []
        added = _total([part.get("bytes") for part in parts if part.get("sender") == direction])
        if _is_number(told) and _is_number(added) and abs(told - added) > SUM_TOLERANCE * abs(told):
            message = (
                f"the bytes of the streams add up to {added:.0f}, but `{key}` says {told:.0f}; was the file edited?"
            )
            notes.append(RawFileError("malformed_record", message))
    return notes


def _number(row: Row) -> int | None:
    number = row["stream_number"]
    return number if isinstance(number, int) else None


def _socket(block: JsonObject) -> int | None:
    number = block.get("socket")
    return number if type(number) is int else None


def _plain_numbers(numbers: list[Json]) -> list[int | None]:
    """Return the numbers of streams, None for one that is not an integer."""
    if set(map(type, numbers)) == {int}:
        return numbers  # type: ignore[return-value]
    return [number if type(number) is int else None for number in numbers]


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, NUMBER_TYPES) and -NUMBER_LIMIT < value < NUMBER_LIMIT


def _connection(connection: JsonObject) -> Row:
    return {
        "local_address": _address(connection.get("local_host")),
        "local_port": connection.get("local_port"),
        "remote_address": _address(connection.get("remote_host")),
        "remote_port": connection.get("remote_port"),
    }


def _address(value: Json) -> Json:
    return normalise_address(as_text(value)) if isinstance(value, str) else value


def _tcp_row(document: Document, blocks: JsonObject) -> Row:
    sender, receiver = get_object(blocks, "sender"), get_object(blocks, "receiver")
    number = _socket(sender or receiver)
    is_sending = document.sends(sender, receiver)
    remote = receiver if is_sending else sender
    if not document.knows_both_hosts and not remote.get("bytes"):
        sender, receiver = (sender, {}) if is_sending else ({}, receiver)
    return {
        "stream_number": number,
        "is_reverse": is_sending == document.is_server,
        "sender_bytes": sender.get("bytes"),
        "sender_s": _seconds(sender),
        "receiver_bytes": receiver.get("bytes"),
        "receiver_s": _seconds(receiver),
        "retransmits_iperf3_count": sender.get("retransmits"),
        # With -R the sender's window stays at the server; the client prints 0 for it.
        "cwnd_max_bytes": sender.get("max_snd_cwnd") or None,
        "rtt_mean_ms": sender.get("mean_rtt"),
        "rtt_min_ms": sender.get("min_rtt"),
        "rtt_max_ms": sender.get("max_rtt"),
    }


def _udp_row(document: Document, udp: JsonObject) -> Row:
    is_sending = document.sends(udp)
    knows_sender = is_sending or document.knows_both_hosts
    knows_receiver = not is_sending or document.knows_both_hosts
    receiver = _udp_receiver(document, udp, is_sending=is_sending) if knows_receiver else {}
    return {
        "stream_number": _socket(udp),
        "is_reverse": is_sending == document.is_server,
        "sender_bytes": udp.get("bytes") if knows_sender else None,
        "sender_s": _seconds(udp) if knows_sender else None,
        "receiver_bytes": receiver.get("bytes"),
        "receiver_s": receiver.get("seconds"),
        "packets_count": udp.get("packets"),
        "lost_packets_count": udp.get("lost_packets") if knows_receiver else None,
        "jitter_ms": udp.get("jitter_ms") if knows_receiver else None,
    }


def _udp_receiver(document: Document, udp: JsonObject, *, is_sending: bool) -> JsonObject:
    """Return bytes and seconds of what arrived of a stream of datagrams: iperf3's blocks have only what was sent.

    A receiver's own intervals tell of each stream; `sum_received` (3.10 and newer) is that of all. Older clients that
    send are not told it.
    """
    total = get_object(document.end, "sum_received")
    flows = [get_object(blocks, "udp") for blocks in get_objects(document.end, "streams")]
    if len(flows) > 1 and not is_sending:
        number = _socket(udp)
        blocks = [block for block, its in zip(document.blocks, document.numbers, strict=True) if its == number]
        counted = [block for block in blocks if not block.get("omitted")]
        arrived = _total([block.get("bytes") for block in counted])
        return {"bytes": arrived, "seconds": _total([_seconds(block) for block in counted])}
    told = total.get("bytes")
    if not _is_number(told) or len(flows) == 1:
        return {"bytes": told, "seconds": _seconds(total)} if total else {}
    # ASSUME: all datagrams of a test are of one size, so that the streams share its bytes as they do its datagrams.
    of_stream, of_all = _arrived(udp), _total([_arrived(flow) for flow in flows])
    if not _is_number(of_stream) or not _is_number(of_all) or not of_all:
        return {}
    return {"bytes": round(told * of_stream / of_all), "seconds": _seconds(total)}


def _arrived(udp: JsonObject) -> Json:
    """Return how many datagrams of a stream arrived, None where that is not known."""
    sent, lost = udp.get("packets"), udp.get("lost_packets")
    return max(sent - lost, 0) if _is_number(sent) and _is_number(lost) else None


def _interval_totals(document: Document, number: int | None) -> Row:
    """Return the totals of a stream without an end block, on the side that ran the tool."""
    blocks = [block for block, its in zip(document.blocks, document.numbers, strict=True) if its == number]
    counted = [block for block in blocks if not block.get("omitted")]
    is_sending = document.sends(*blocks)
    side = "sender" if is_sending else "receiver"
    return {
        "stream_number": number,
        "is_reverse": is_sending == document.is_server,
        f"{side}_bytes": _total([block.get("bytes") for block in counted]),
        f"{side}_s": _total([_seconds(block) for block in counted]),
        # A block that is not counted makes the sum unknown.
        "retransmits_iperf3_count": _total(clear_not_counted([block.get("retransmits") for block in counted])),
    }


def _total(values: list[Json]) -> int | float | None:
    """Return the sum of numbers, None where there is none or one of the values is something else."""
    numbers = [value for value in values if _is_number(value)]
    return sum(numbers) if numbers and len(numbers) == len(values) else None


def _seconds(block: JsonObject) -> Json:
    """Return the length of a block by its own clock; a receiver's `seconds` are the sender's from 3.7 on."""
    start, end = block.get("start"), block.get("end")
    if isinstance(start, NUMBER_TYPES) and isinstance(end, NUMBER_TYPES):
        try:
            return end - start
        except OverflowError:
            return None
    return end if _is_number(start) else start
