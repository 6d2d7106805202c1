"""What is known of captured connections while a capture is read: one row a connection, one row for each direction.

`links` has a row for each connection, `sides` two: the first for the end that opened the connection (the local
end), the second for the other. What a packet acknowledges is noted with the direction whose data it acknowledges.
Sequence numbers are unwrapped to 64 bits (they count from 2³² plus the first one seen), so are TSvals as far as
they are compared. What a direction has more than one of (data in flight, gaps, recent retransmits, data that came
late) is in `cells`, one ring for each, which grow by doubling.
"""

import math
import mmap
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ccreport.ingest.captures.decode.layout import ABSENT, Ints

# links. The ends are A and B by the order of address and port; LOCAL_IS_A tells which opened the connection.
A_HIGH, A_LOW, B_HIGH, B_LOW, PORTS, LOCAL_IS_A, SERIAL, NUMBER, FIRST_TIME, LAST_TIME = range(10)
SYN_TIME, SYNS, SYN_ACK_TIME, SYN_ACKS, HANDSHAKE_TIME, IS_RESET = range(10, 16)
# Time of the latest packet of each direction; whether the directions were seen to have two clocks, and packets to be
# captured on both sides of a router.
OUT_TIME, IN_TIME, HAS_TWO_CLOCKS, IS_ROUTED, LINK_SIZE = range(16, 21)

# sides: how far the direction is. LOW, MAX: lowest sequence number seen and end of the highest; FIRST: that of the
# first data byte; UNA: highest acknowledgement of its data. BARRIER: data below it give no RTT (Karn); RECOVERY: what
# was sent before the last timeout ends there. TS_*: the last TSval; WINDOW: as the other end offered it, unscaled.
# *_IP_ID(S), *_TTL: by which copies are known, those of the last SYN, FIN and newest data, and of eight pure ACKs.
(
    HAS_SEQUENCE,
    LOW,
    FIRST,
    MAX,
    UNA,
    BARRIER,
    RECOVERY,
    PROBED,
    WINDOW_RAW,
    WINDOW_END,
    ZERO_SINCE,
    PROBE_END,
    SRTT,
    RTTVAR,
    DATA_TIME,
    DATA_FIRST_TIME,
    DATA_ACKED_TIME,
    DATA_END,
    HAS_SYN,
    HAS_FIN,
    SCALE,
    MSS,
    KINDS,
    ACK_SKETCH,
    TIMESTAMP_SKETCH,
    LAST_IP_ID,
    HAS_IP_IDS,
    SYN_SENT_TIME,
    SYN_IP_ID,
    SYN_TTL,
    FIN_IP_ID,
    FIN_TTL,
    NEW_DATA_TTL,
    ACK_IP_IDS,
    OLDER_ACK_IP_IDS,
    ACK_TTL,
    CHECKSUMS_RIGHT,
    CHECKSUMS_WRONG,
    DATA_COPIES,
) = range(39)
# Rings: where it is in `cells`, how many rows it has room for, the first in use, how many are in use.
RING_START, RING_ROOM, RING_HEAD, RING_COUNT = range(4)
IN_FLIGHT, GAPS, REPEATS, LATE = 39, 43, 47, 51
# Counters of the whole connection.
(
    FRAMES,
    FRAMES_BYTES,
    DATA_PACKETS,
    PAYLOAD_BYTES,
    UNIQUE_BYTES,
    RETRANSMITS,
    RETRANSMITS_SEEN,
    RETRANSMITTED_BYTES,
    RETRANSMITS_FAST,
    RETRANSMITS_TIMEOUT,
    RETRANSMITS_PROBE,
    RETRANSMITS_SPURIOUS,
    CONTROL_RETRANSMITS,
    REORDERED,
    REORDERING_EXTENT,
    DUPLICATE_FRAMES,
    KEEP_ALIVES,
    WINDOW_PROBES,
    MISSING_BYTES,
    ACKS,
    DUP_ACKS,
    SACK_BLOCKS,
    DSACK_BLOCKS,
    ZERO_WINDOWS,
    STALLED,
    WINDOW_MIN,
    WINDOW_MAX,
    ECT_PACKETS,
    CE_PACKETS,
    ECE_PACKETS,
    CWR_PACKETS,
    ACK_RTT_SAMPLES,
    ACK_RTT_MIN,
    TIMESTAMP_RTT_SAMPLES,
    TIMESTAMP_RTT_MIN,
    IN_FLIGHT_SUM,
    IN_FLIGHT_PACKETS,
    IN_FLIGHT_MAX,
) = range(55, 93)
# Counters of the present step of 100 ms, in the order of a row of `steps`.
STEP: Final = 93
(
    STEP_SERIAL,
    STEP_SIDE,
    STEP_NUMBER,
    STEP_FRAMES,
    STEP_DATA_PACKETS,
    STEP_PAYLOAD,
    STEP_UNIQUE,
    STEP_RETRANSMITS,
    STEP_RETRANSMITTED,
    STEP_REORDERED,
    STEP_ACKED,
    STEP_DUP_ACKS,
    STEP_SACKS,
    STEP_DSACKS,
    STEP_ZERO_WINDOWS,
    STEP_CE,
    STEP_RTT_SAMPLES,
    STEP_RTT_SUM,
    STEP_RTT_MIN,
    STEP_RTT_MAX,
    STEP_IN_FLIGHT_SUM,
    STEP_IN_FLIGHT_PACKETS,
    STEP_IN_FLIGHT_MAX,
    STEP_SEQUENCE_END,
    STEP_ACKED_END,
    STEP_WINDOW_END,
    STEP_SIZE,
) = range(27)
SIDE_SIZE: Final = STEP + STEP_SIZE
# The counters of a step that start at 0 with each.
STEP_COUNTERS: Final = (STEP + STEP_FRAMES, STEP + STEP_SEQUENCE_END)
STEP_NS: Final = 100_000_000
# No path has an RTT of an hour: beyond it the clock was set, or two clocks stamped the packets.
RTT_LIMIT: Final = 3_600_000_000_000
# Packets of two directions come out of order by what network cards merge, which is ms; two clocks differ by more.
CLOCKS_DIFFERENCE: Final = 100_000_000

# cells: data in flight and gaps (of gaps the facts of the packet that opened it).
CELL_START, CELL_END, CELL_TIME, CELL_TSVAL, CELL_IP_ID, CELL_PACKETS, CELL_SIZE = range(7)

# rows of `packets`.
(
    ROW_NUMBER,
    ROW_TIME,
    ROW_SERIAL,
    ROW_SIDE,
    ROW_FRAME,
    ROW_SEQUENCE,
    ROW_ACKNOWLEDGEMENT,
    ROW_PAYLOAD,
    ROW_FLAGS,
    ROW_WINDOW,
    ROW_ROLE,
    ROW_SACKS,
    ROW_SACK_START,
    ROW_SACK_END,
    ROW_IN_FLIGHT,
    ROW_RTT,
    ROW_SIZE,
) = range(17)
# Roles, in the order of the names of the schema.
ROLES: Final = (
    "data",
    "retransmit_fast",
    "retransmit_timeout",
    "retransmit_probe",
    "reordered",
    "duplicate_frame",
    "keep_alive",
    "zero_window_probe",
    "control",
    "control_retransmit",
    "ack",
    "dup_ack",
)
(
    DATA,
    FAST,
    TIMEOUT,
    PROBE,
    OUT_OF_ORDER,
    DUPLICATE,
    KEEP_ALIVE,
    WINDOW_PROBE,
    CONTROL,
    CONTROL_AGAIN,
    PURE_ACK,
    DUP_ACK,
) = range(12)

# totals: of the file, and how much of each array is in use. FREE_CELLS begins a list of freed rings for each size.
(
    PACKETS_SEEN,
    TCP_PACKETS,
    OTHER_PACKETS,
    FRAGMENTS,
    MALFORMED,
    ALL_BYTES,
    TIME_REVERSALS,
    START_TIME,
    END_TIME,
    LINKS_USED,
    LINKS_MADE,
    CELLS_USED,
    SKETCHES_USED,
    STEPS_USED,
    ROWS_USED,
    WANTS_ROWS,
    LAST_LINK,
    TWO_CLOCKS_LINKS,
    IMPOSSIBLE_RTTS,
    DAMAGED,
    FREE_CELLS,
) = range(21)
RING_SIZES: Final = 19
TOTALS_SIZE: Final = FREE_CELLS + RING_SIZES
FIRST_RING_ROOM: Final = 8
# At most so much of one ring: 2¹⁸ packets in flight are 380 MB of 1448 bytes.
LARGEST_RING_ROOM: Final = FIRST_RING_ROOM << (RING_SIZES - 4)
LARGEST_GAPS: Final = 4096
LARGEST_REPEATS: Final = 256
LARGEST_LATE: Final = 64

# What bounds memory: beyond these connections the oldest are given up; beyond these cells rings lose their oldest rows.
LINKS_LIMIT: Final = 1 << 12
CELLS_LIMIT: Final = 1 << 21
STEPS_ROOM: Final = 1 << 15
ROWS_ROOM: Final = 1 << 16

# RTT sketch: 32 buckets an octave from 1 µs to 137 s, so that the middle of a bucket is at most 1/64 off.
BUCKET_BITS: Final = 5
SMALLEST_OCTAVE: Final = 10
OCTAVES: Final = 27
BUCKETS: Final = OCTAVES << BUCKET_BITS

WORD: Final = 1 << 32
WORD_MASK: Final = WORD - 1


class State(NamedTuple):
    """All arrays of a capture that is being read; see the names above for their columns."""

    links: Ints
    sides: Ints
    slots: npt.NDArray[np.int32]
    cells: Ints
    sketches: npt.NDArray[np.int32]
    steps: Ints
    rows: Ints
    totals: Ints
    record: Ints
    packet: Ints
    options: Ints


def make_zeros(shape: tuple[int, ...], kind: type[np.generic] = np.int64) -> npt.NDArray[Any]:
    """Return an array whose memory the system gives when it is first written to, and has back with the last use.

    NumPy's zeros would come from the process's heap after the first capture, all of them paid for and kept.
    """
    memory = mmap.mmap(-1, math.prod(shape) * np.dtype(kind).itemsize)
    return np.frombuffer(memory, kind).reshape(shape)


def make_state(*, wants_packets: bool, options_size: int, packet_size: int, record_size: int) -> State:
    """Return the empty state of a capture."""
    totals = np.zeros(TOTALS_SIZE, np.int64)
    totals[FREE_CELLS:] = ABSENT
    totals[[START_TIME, LAST_LINK]] = ABSENT
    totals[WANTS_ROWS] = wants_packets
    return State(
        links=make_zeros((LINKS_LIMIT, LINK_SIZE)),
        sides=make_zeros((2 * LINKS_LIMIT, SIDE_SIZE)),
        slots=np.full(4 * LINKS_LIMIT, ABSENT, np.int32),
        cells=make_zeros((CELLS_LIMIT, CELL_SIZE)),
        sketches=make_zeros((4 * LINKS_LIMIT, BUCKETS), np.int32),
        steps=make_zeros((STEPS_ROOM, STEP_SIZE)),
        rows=make_zeros((ROWS_ROOM if wants_packets else 1, ROW_SIZE)),
        totals=totals,
        record=np.zeros(record_size, np.int64),
        packet=np.zeros(packet_size, np.int64),
        options=np.zeros(options_size, np.int64),
    )
