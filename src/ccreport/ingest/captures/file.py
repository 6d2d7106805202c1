"""One capture file, block by block: pcap or pcapng, plain or compressed, in bounded memory.

Only the state of connections is kept. A file that ends early or is damaged gives all that comes before, and the error.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from ccreport.archive.raw_file import BLOCK_BYTES, RawFileError, iterate_blocks
from ccreport.core.text import count_things
from ccreport.ingest.captures.cut import CUT_MESSAGE
from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    BAD_BLOCK,
    BAD_LENGTH,
    BAD_LINK_TYPE,
    BAD_VERSION,
    FIRST_RECORD,
    HAS_WRONG_MAGIC,
    NEEDS_MORE,
    ODD_FRACTIONS,
    OPTIONS_SIZE,
    PACKET_SIZE,
    RECORD_SIZE,
    TOO_MANY_INTERFACES,
    Bytes,
)
from ccreport.ingest.captures.decode.pcap import is_capture, open_capture
from ccreport.ingest.captures.follow import state as at
from ccreport.ingest.captures.follow.connections import rebuild_slots
from ccreport.ingest.captures.follow.packet_loop import FULL_ROWS, analyse_block, close_links
from ccreport.ingest.captures.tables import describe_container, list_directions, list_links
from ccreport.ingest.captures.time_tables import list_packets, list_steps

HEAD_BYTES: Final = 65536
HEADER_BYTES: Final = 24
LINKS_AT_ONCE: Final = 4096
KEYS: Final = ("flow_number", "connection_number")
_SKETCHES: Final = (at.ACK_SKETCH, at.TIMESTAMP_SKETCH)
# A header-only capture compresses to about a tenth; what unpacks to so many times its size and to so much is a bomb.
RATIO_LIMIT: Final = 200
RATIO_FREE_BYTES: Final = 2**30

_ERRORS: Final = {
    BAD_LENGTH: ("malformed_record", "a packet has an impossible length here; the rest of the capture is lost"),
    BAD_BLOCK: (
        "malformed_record",
        "a pcapng block is impossible here; the rest of the capture is lost",
    ),
    BAD_VERSION: ("malformed_record", "a pcapng section of an unknown version begins here; convert it with editcap"),
    BAD_LINK_TYPE: (
        "unknown_link_type",
        "a packet has a link type that is not read; leave it out",
    ),
    TOO_MANY_INTERFACES: (
        "malformed_record",
        "the section has more than 64 interfaces; split it with editcap",
    ),
}


@dataclass(frozen=True)
class CaptureTables:
    """A whole small capture as tables of the schemas' columns, flow_number in place of run and flow identifiers."""

    capture: pl.DataFrame
    flows: pl.DataFrame
    intervals: pl.DataFrame
    packets: pl.DataFrame
    error: RawFileError | None


def read_capture(path: Path, *, wants_packets: bool = False) -> CaptureTables:
    """Return all tables of one capture; raise RawFileError where nothing of it can be used."""
    reader = CaptureReader(iterate_capture(path), wants_packets=wants_packets)
    pieces: dict[str, list[pl.DataFrame]] = {"packet_flows": [], "packet_intervals": [], "packets": []}
    for table, piece in reader.read():
        pieces[table].append(piece)
    flows, intervals, packets = (
        pl.concat(pieces[table]).sort("flow_number", maintain_order=True)
        if table != "packets"
        else pl.concat(pieces[table])
        for table in pieces
    )
    return CaptureTables(reader.describe(), flows, intervals, packets, reader.error)


def iterate_capture(path: Path) -> Iterator[bytes]:
    """Yield the decompressed blocks of a capture file; raise RawFileError where they grow out of all proportion."""
    size_bytes = path.stat().st_size
    length = 0
    for block in iterate_blocks(path):
        length += len(block)
        if length > RATIO_FREE_BYTES and length > RATIO_LIMIT * size_bytes:
            message = f"{size_bytes} bytes unpack to more than {length}; no capture shrinks like that"
            raise RawFileError("unpacks_too_large", message, offset=length)
        yield block


class CaptureReader:
    """Reads the decompressed blocks of one capture; `error` says after `read` why it ended early, if it did."""

    def __init__(self, blocks: Iterable[bytes], *, wants_packets: bool) -> None:
        self.error: RawFileError | None = None
        self._blocks = iter(blocks)
        self._state = at.make_state(
            wants_packets=wants_packets,
            options_size=OPTIONS_SIZE,
            packet_size=PACKET_SIZE,
            record_size=RECORD_SIZE,
        )
        self._file = self._interfaces = np.zeros(0, np.int64)

    @property
    def packets_count(self) -> int:
        """Return the number of packets read so far."""
        return int(self._state.totals[at.PACKETS_SEEN])

    def notes(self) -> list[RawFileError]:
        """Return what was odd about the clock of the capture, as parts of the file that could not be used."""
        totals, found = self._state.totals.tolist(), []
        if self._file.size and self._file[HAS_WRONG_MAGIC]:
            message = "nanoseconds under the magic number of microseconds: read as nanoseconds"
            found.append(RawFileError("repaired", message, offset=0))
        if self._file.size and self._file[ODD_FRACTIONS]:
            packets = count_things(self._file[ODD_FRACTIONS], "packet")
            message = f"a second or more as fraction of a second in {packets}: damaged"
            found.append(RawFileError("malformed_record", f"{message}; times there may be wrong by seconds"))
        if totals[at.DAMAGED]:
            segments = count_things(totals[at.DAMAGED], "segment")
            message = f"the TCP checksum fails in {segments}: damaged, so taken by no receiver, and left out"
            found.append(RawFileError("malformed_record", message))
        if totals[at.TWO_CLOCKS_LINKS]:
            connections = count_things(totals[at.TWO_CLOCKS_LINKS], "connection")
            message = f"two clocks: in {connections} the times of the two directions differ; RTTs there are left out"
            found.append(RawFileError("two_clocks", f"{message}; capture with tcpdump -j host"))
        if totals[at.IMPOSSIBLE_RTTS]:
            round_trips = count_things(totals[at.IMPOSSIBLE_RTTS], "round trip")
            message = f"two clocks: {round_trips} of an hour or more, left out"
            found.append(
                RawFileError("two_clocks", f"{message}; was the clock set, or are captures of two hosts mixed?")
            )
        return found

    def links(self) -> pl.DataFrame:
        """Return the connections whose state is kept now: flow_number, their ends, connection_number."""
        return list_links(self._state)

    def read(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield pieces of `packet_flows`, `packet_intervals` and `packets` under these names.

        Raise RawFileError where the file is not a capture, or has an error before its first packet.
        """
        try:
            yield from self._analyse_all()
        except RawFileError as error:
            self.error = error
            if not self.packets_count:
                raise
        yield from self._close(int(self._state.totals[at.LINKS_USED]), is_cut=self.error is not None)

    def describe(self) -> pl.DataFrame:
        """Return the row of `captures` (without its identifiers) that the capture makes."""
        totals = self._state.totals.tolist()
        first, last = (
            [datetime.fromtimestamp(totals[time] // 10**9, UTC) + timedelta(microseconds=totals[time] // 1000 % 10**6)]
            if totals[at.PACKETS_SEEN]
            else [None]
            for time in (at.START_TIME, at.END_TIME)
        )
        return pl.DataFrame(
            {
                **describe_container(self._file),
                "frames_count": totals[at.PACKETS_SEEN],
                "tcp_packets_count": totals[at.TCP_PACKETS],
                "other_packets_count": totals[at.OTHER_PACKETS],
                "fragments_count": totals[at.FRAGMENTS],
                "malformed_packets_count": totals[at.MALFORMED],
                "frames_bytes": totals[at.ALL_BYTES],
                "connections_count": totals[at.LINKS_MADE],
                "time_reversals_count": totals[at.TIME_REVERSALS],
                "first_utc": pl.Series(first, dtype=pl.Datetime("us", "UTC")),
                "last_utc": pl.Series(last, dtype=pl.Datetime("us", "UTC")),
                "is_cut": self.error is not None,
            }
        )

    def _analyse_all(self) -> Iterator[tuple[str, pl.DataFrame]]:
        # A record may cross two blocks: what is left of one is put before the next.
        buffer = at.make_zeros((2 * BLOCK_BYTES,), np.uint8)
        left, offset, position = 0, 0, ABSENT
        failure: RawFileError | None = None
        while True:
            try:
                block = next(self._blocks, b"")
            except RawFileError as error:
                failure, block = error, b""
            if not block:
                break
            end = left + len(block)
            if end > len(buffer):
                buffer = np.concatenate([buffer[:left], np.zeros(2 * end - left, np.uint8)])
            buffer[left:end] = np.frombuffer(block, np.uint8)
            if position == ABSENT:
                if end < HEADER_BYTES:
                    left = end
                    continue
                self._file, self._interfaces = open_capture(buffer[: min(end, HEAD_BYTES)].tobytes())
                position = int(self._file[FIRST_RECORD])
            position = yield from self._analyse(buffer, position, end, offset)
            left = end - position
            buffer[:left] = buffer[position:end].copy()
            offset, position = offset + position, 0
        if failure is not None:
            raise failure
        if position == ABSENT and left:
            self._file, self._interfaces = open_capture(buffer[:left].tobytes())
        if position == ABSENT:
            raise RawFileError("empty", "the file is empty; tcpdump wrote nothing to it", offset=0)
        if left:
            raise RawFileError("truncated_capture", CUT_MESSAGE, offset=offset)

    def _analyse(
        self, buffer: Bytes, position: int, end: int, offset: int
    ) -> Generator[tuple[str, pl.DataFrame], None, int]:
        """Analyse the whole records of a buffer and return where they end; `offset` is the place in the file of 0."""
        while True:
            code, position = analyse_block(self._state, buffer, position, end, self._file, self._interfaces)
            if code == NEEDS_MORE:
                return position
            if code in _ERRORS:
                reason, message = _ERRORS[code]
                if code == BAD_LENGTH and is_capture(buffer[position : position + 4].tobytes()):
                    message = "a second capture begins here, and is not read; join captures with mergecap -w, not cat"
                raise RawFileError(reason, message, offset=offset + position)
            yield from self._put_out() if code == FULL_ROWS else self._give_up()

    def _put_out(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield the steps and packets that wait, and forget them."""
        state = self._state
        identities = list_links(state).select(*KEYS)
        for table, make in (("packet_intervals", list_steps), ("packets", list_packets)):
            yield table, make(state).join(identities, on="flow_number", how="left", maintain_order="left")
        state.totals[[at.STEPS_USED, at.ROWS_USED]] = 0

    def _close(self, count: int, *, is_cut: bool) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield the first connections with their last steps, and free what they hold."""
        for first in range(0, max(1, count), LINKS_AT_ONCE):
            close_links(self._state, first, min(count, first + LINKS_AT_ONCE))
            yield from self._put_out()
        directions = list_directions(self._state, count, is_cut=is_cut)
        yield "packet_flows", directions.join(list_links(self._state), on="flow_number", maintain_order="left")

    def _give_up(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Put out half of the connections, those that ended first, then those silent longest, and make room."""
        state = self._state
        links = state.links
        # ASSUME: of more connections than LINKS_LIMIT at once, the ones silent longest are over.
        has_fin = state.sides[:, at.HAS_FIN].reshape(-1, 2).all(axis=1)
        is_open = ~has_fin & (links[:, at.IS_RESET] == 0)
        order = np.lexsort((links[:, at.LAST_TIME], is_open))
        gone, kept = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        rearranged = np.concatenate([gone, kept])
        sides = np.stack([2 * rearranged, 2 * rearranged + 1], axis=1).reshape(-1)
        yield from self._put_out()
        links[:], state.sides[:] = links[rearranged], state.sides[sides]
        yield from self._close(len(gone), is_cut=True)
        count = len(kept)
        links[:count], state.sides[: 2 * count] = links[len(gone) :], state.sides[2 * len(gone) :]
        state.totals[at.LINKS_USED] = count
        self._keep_sketches(2 * count)
        rebuild_slots(state)

    def _keep_sketches(self, count: int) -> None:
        sides, sketches = self._state.sides, self._state.sketches
        used = np.concatenate([sides[:count, fact][sides[:count, fact] != ABSENT] for fact in _SKETCHES])
        sketches[: len(used)] = sketches[used]
        places = np.full(len(sketches) + 1, ABSENT, np.int64)
        places[used] = np.arange(len(used))
        for fact in _SKETCHES:
            sides[:count, fact] = places[sides[:count, fact]]
        self._state.totals[at.SKETCHES_USED] = len(used)


def compile_capture_reader() -> None:
    """Compile the reader, which takes some 10 s once for each version of its source, so that no job has to."""
    nothing = np.zeros(0, np.uint8)
    file, interfaces = open_capture(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    state = at.make_state(
        wants_packets=False, options_size=OPTIONS_SIZE, packet_size=PACKET_SIZE, record_size=RECORD_SIZE
    )
    analyse_block(state, nothing, 0, 0, file, interfaces)
    close_links(state, 0, 0)
    rebuild_slots(state)
