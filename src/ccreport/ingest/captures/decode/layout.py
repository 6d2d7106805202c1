"""What the compiled parts of the capture reader share: the layout of the arrays they work on.

Arrays instead of objects, because numba passes those at no cost. One packet passes through three of them: `record` is
where it is in the block and when it was seen, `packet` what its headers say, and the rows of a connection (`links`)
and of its two directions (`sides`) what is known so far. Times are ns since 1970, lengths bytes.
"""

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from ccreport.ingest.compiled import kernel_of, numba_function, numba_inline

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
__all__ = ["kernel", "numba_function", "numba_inline"]

# Where a record's packet is: START is the offset in the block of its link layer, NEXT that of the next record.
TIME, START, CAPTURED, ORIGINAL, LINK_TYPE, NEXT, RECORD_SIZE = range(7)
# What `next_record` found: a packet, nothing whole before the end of the block, something without a packet (a pcapng
# block), or what cannot be (the reasons follow).
IS_PACKET, NEEDS_MORE, NO_PACKET, BAD_LENGTH, BAD_BLOCK, BAD_VERSION, BAD_LINK_TYPE, TOO_MANY_INTERFACES = range(8)

# What the headers of a packet say. Addresses are two big-endian words each, IPv4 in the last 32 bits of the IPv4-mapped
# form, so that one comparison serves both. OPTIONS is the offset in the block of the TCP options, OPTIONS_END where the
# captured ones end. A TSval or TSecr that is not there is ABSENT. FRAME is the length on the wire. TTL is the hop limit
# of IPv6.
(
    SOURCE_HIGH,
    SOURCE_LOW,
    DESTINATION_HIGH,
    DESTINATION_LOW,
    SOURCE_PORT,
    DESTINATION_PORT,
    SEQUENCE,
    ACKNOWLEDGEMENT,
    FLAGS,
    WINDOW,
    PAYLOAD,
    FRAME,
    IP_ID,
    ECN,
    OPTIONS,
    OPTIONS_END,
    IS_WHOLE,
    TTL,
    CHECKSUM,
    PACKET_SIZE,
) = range(20)
# What the checksum of a segment is: not to be told (cut, or left to the network card), right, wrong.
UNKNOWN_CHECKSUM, RIGHT_CHECKSUM, WRONG_CHECKSUM = range(3)
# What `decode_packet` found.
IS_TCP, IS_OTHER, IS_FRAGMENT, IS_MALFORMED = range(4)

# What the TCP options say. KINDS holds up to 7 kinds in their order without padding, the first in the lowest byte. From
# SACK on come the edges of as many blocks as SACK_BLOCKS says, as on the wire. What is not there is ABSENT.
(
    OPT_TSVAL,
    OPT_TSECR,
    OPT_MSS,
    OPT_WINDOW_SCALE,
    OPT_SACK_PERMITTED,
    OPT_KINDS,
    OPT_SACK_BLOCKS,
    OPT_SACK,
) = range(8)
SACK_BLOCKS_LIMIT: Final = 4
OPTIONS_SIZE: Final = OPT_SACK + 2 * SACK_BLOCKS_LIMIT

# What the header of a file says. FORM is one of the below. UNIT is the length of a tick of pcap in ns. SNAP_LENGTH is 0
# where it is not limited, ABSENT where it differs. ODD_FRACTIONS counts packets whose fraction of a second is a second
# or more, HAS_WRONG_MAGIC tells that nanoseconds are under the magic number of microseconds. LINK_TYPES are those
# seen, as many as LINK_TYPES_COUNT says.
(
    FILE_FORM,
    FIRST_RECORD,
    HEADER_SIZE,
    UNIT,
    LENGTHS_ORDER,
    LENGTH_LIMIT,
    FILE_LINK_TYPE,
    SNAP_LENGTH,
    INTERFACES_COUNT,
    LAST_PACKET_TIME,
    LINK_TYPES_COUNT,
    ODD_FRACTIONS,
    HAS_WRONG_MAGIC,
    LINK_TYPES,
) = range(14)
LINK_TYPES_LIMIT: Final = 16
FILE_SIZE: Final = LINK_TYPES + LINK_TYPES_LIMIT
PCAP_LITTLE, PCAP_BIG, PCAPNG_LITTLE, PCAPNG_BIG = range(4)
# Which of the two lengths of a pcap record comes first: the captured one, the original one, or whichever is smaller.
CAPTURED_FIRST, ORIGINAL_FIRST, SMALLER_IS_CAPTURED = range(3)
# pcapng interfaces. RESOLUTION is if_tsresol as it is there; MULTIPLIER is ns per tick, 0 where that is not a whole
# number; OFFSET is in seconds.
INTERFACE_LINK_TYPE, INTERFACE_SNAP_LENGTH, RESOLUTION, MULTIPLIER, OFFSET, INTERFACE_SIZE = range(6)
INTERFACES_LIMIT: Final = 64
# Lengths of a packet that cannot be, unless the snap length allows it up to the second; pcapng blocks that cannot be.
PACKET_LIMIT_BYTES: Final = 262144
SNAP_LIMIT_BYTES: Final = 2**20
BLOCK_LIMIT_BYTES: Final = 2**24
# ASSUME: no packet was captured after 2116; such a time is a damaged one, and set to this.
TIME_LIMIT_NS: Final = 2**62

FIN, SYN, RST, PUSH, ACK, URGENT, ECE, CWR = 1, 2, 4, 8, 16, 32, 64, 128
ABSENT: Final = -1

kernel = kernel_of("capture", sorted(Path(__file__).parents[1].glob("**/*.py")))
