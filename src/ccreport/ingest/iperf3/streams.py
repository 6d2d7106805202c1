"""Read the streams and the intervals of one iperf3 result object, of any version from 3.0 on.

    "intervals": [{"streams": [{"socket": 5, "start": 0, "end": 1.0, "bytes": …, "rtt": …}, …], "sum": …}, …]
    "end": {"streams": [{"sender": {"socket": 5, …}, "receiver": {…}} | {"udp": {…}}, …], "sum_sent": …}

Keys come with versions: rttvar and pmtu 3.2, `sender` 3.7, snd_wnd 3.10. Rows are read stream by stream; the sums only
serve to check them. What the other host measured arrives at the end of the test: an interrupted client, and every
server, prints zeros for it.
"""

from dataclasses import dataclass
from typing import Final, TypeGuard

from ccreport.flow_identity import normalise_address
from ccreport.ingest.client_tables import Row
from ccreport.ingest.json_values import Json, JsonObject, as_text, get_object, get_objects, get_values
from ccreport.raw import RawFileError

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
    return Document(
        start=start,
        header=get_object(start, "test_start"),
        blocks=blocks,
        numbers=_plain_numbers(get_values(blocks, "socket")),
        positions=[position for position, interval in enumerate(intervals) for _ in interval],
        end=end,
        is_server="accepted_connection" in start,
        is_interrupted=is_interrupted or not end.get("streams"),
    )


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
    """Return every stream's intervals as columns, numbered as they stand in the output."""
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
    """Return the numbers of streams, None for one that is no integer."""
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
    return {
        "stream_number": _socket(udp),
        "is_reverse": is_sending == document.is_server,
        "sender_bytes": udp.get("bytes") if knows_sender else None,
        "sender_s": _seconds(udp) if knows_sender else None,
        "packets_count": udp.get("packets"),
        "lost_packets_count": udp.get("lost_packets") if knows_receiver else None,
        "jitter_ms": udp.get("jitter_ms") if knows_receiver else None,
    }


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
        "retransmits_iperf3_count": _total([block.get("retransmits") for block in counted]),
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
