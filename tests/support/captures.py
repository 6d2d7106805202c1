"""Captures with known answers: single packets said one by one, their writers, and a bulk transfer that is played.

A Conversation takes packets in the order of the capture; its sequence numbers are those of the schemas: the first data
byte of a direction is 0, so a SYN is at -1. Times are ms after EPOCH_NS. Checksums are
left 0 unless told; lengths are right.
"""

import ipaddress
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

EPOCH_NS = 1795212600 * 10**9
FIN, SYN, RST, PUSH, ACK, ECE, CWR = 1, 2, 4, 8, 16, 64, 128
ETHERNET, NULL, LOOP, RAW, SLL, SLL2 = 1, 0, 108, 101, 113, 276
WORD = 1 << 32


@dataclass(frozen=True, slots=True)
class Packet:
    """One TCP packet as it passes the capture; `ip_length` stands in the IP header instead of the right length.

    `checksum` is TCP's as a number, or "right", "damaged", or "pseudo" (left to the network card).
    """

    time_ns: int
    source: str
    source_port: int
    destination: str
    destination_port: int
    sequence: int
    acknowledgement: int
    flags: int
    window: int
    payload: int = 0
    options: bytes = b""
    ip_id: int = 0
    ecn: int = 0
    ip_length: int | None = None
    ttl: int = 64
    checksum: int | str = 0


def mss_option(size: int) -> bytes:
    """Return the option that announces this segment size."""
    return struct.pack("!BBH", 2, 4, size)


def scale_option(shift: int) -> bytes:
    """Return the window scale option, padded."""
    return struct.pack("!BBBB", 1, 3, 3, shift)


def sack_permitted_option() -> bytes:
    """Return the option that allows SACK, padded."""
    return b"\1\1\4\2"


def timestamps_option(tsval: int, tsecr: int) -> bytes:
    """Return the timestamps option, padded."""
    return struct.pack("!BBBBII", 1, 1, 8, 10, tsval % WORD, tsecr % WORD)


def sack_option(blocks: Sequence[tuple[int, int]]) -> bytes:
    """Return the SACK option of these blocks, given as they stand on the wire, padded."""
    return b"\1\1" + bytes([5, 2 + 8 * len(blocks)]) + b"".join(struct.pack("!II", *block) for block in blocks)


@dataclass
class Conversation:
    """One connection that a test writes down; `packets` has it in the order of the calls.

    `first` and `remote_first` are the sequence numbers of the first data byte of each direction. IP ids count up for
    each end on its own unless a call gives one.
    """

    local: str = "10.0.0.1"
    local_port: int = 40000
    remote: str = "10.0.0.2"
    remote_port: int = 5201
    first: int = 1000
    remote_first: int = 5000
    window: int = 1000
    ip_id: int = 1
    remote_ip_id: int = 30001
    packets: list[Packet] = field(default_factory=list)
    _sent: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})

    def packet(
        self,
        ms: float,
        sequence: int,
        acknowledgement: int | None,
        *,
        back: bool = False,
        length: int = 0,
        flags: int = ACK,
        window: int | None = None,
        ts: tuple[int, int] | None = None,
        sacks: Sequence[tuple[int, int]] = (),
        options: bytes = b"",
        ip_id: int | None = None,
        ecn: int = 0,
        ip_length: int | None = None,
    ) -> "Conversation":
        """Add a packet of the local end, or of the remote one (`back`); sequence numbers are relative."""
        ends = [(self.local, self.local_port), (self.remote, self.remote_port)]
        first, other = (self.remote_first, self.first) if back else (self.first, self.remote_first)
        (source, source_port), (destination, destination_port) = reversed(ends) if back else ends
        if ts is not None:
            options += timestamps_option(*ts)
        if sacks:
            options += sack_option([((start + other) % WORD, (end + other) % WORD) for start, end in sacks])
        if ip_id is None:
            ip_id = (self.remote_ip_id if back else self.ip_id) + self._sent[back]
            self._sent[back] += 1
        self.packets.append(
            Packet(
                time_ns=EPOCH_NS + round(ms * 1000) * 1000,
                source=source,
                source_port=source_port,
                destination=destination,
                destination_port=destination_port,
                sequence=(first + sequence) % WORD,
                acknowledgement=0 if acknowledgement is None else (other + acknowledgement) % WORD,
                flags=flags if acknowledgement is not None else flags & ~ACK,
                window=self.window if window is None else window,
                payload=length,
                options=options,
                ip_id=ip_id % 65536,
                ecn=ecn,
                ip_length=ip_length,
            )
        )
        return self

    def syn(self, ms: float, *, back: bool = False, flags: int = 0, **rest: object) -> "Conversation":
        """Add the SYN of the local end, or the SYN-ACK (`back`)."""
        return self.packet(ms, -1, 0 if back else None, back=back, flags=SYN | ACK | flags, **rest)  # type: ignore[arg-type]

    def handshake(
        self, ms: float = 0, rtt_ms: float = 20, *, scale: int | None = None, timestamps: bool = False
    ) -> "Conversation":
        """Add SYN, SYN-ACK and ACK as seen beside the local end; TSvals are the ms (local) and 7000 more (remote)."""
        options = mss_option(1460) + sack_permitted_option() + (b"" if scale is None else scale_option(scale))
        at = int(ms + rtt_ms)
        ts = [(int(ms), 0), (7000 + int(ms), int(ms)), (at, 7000 + int(ms))] if timestamps else [None] * 3
        self.syn(ms, options=options, ts=ts[0], window=60000)
        self.syn(ms + rtt_ms, back=True, options=options, ts=ts[1], window=60000)
        return self.packet(ms + rtt_ms, 0, 0, ts=ts[2])

    def data(
        self,
        ms: float,
        sequence: int,
        length: int = 1000,
        *,
        back: bool = False,
        acknowledgement: int = 0,
        **rest: object,
    ) -> "Conversation":
        """Add a data packet."""
        return self.packet(ms, sequence, acknowledgement, back=back, length=length, **rest)  # type: ignore[arg-type]

    def ack(
        self, ms: float, acknowledgement: int, *, back: bool = True, sequence: int = 0, **rest: object
    ) -> "Conversation":
        """Add a pure acknowledgement, of the remote end unless told."""
        return self.packet(ms, sequence, acknowledgement, back=back, **rest)  # type: ignore[arg-type]

    def fin(
        self, ms: float, sequence: int, acknowledgement: int = 0, *, back: bool = False, **rest: object
    ) -> "Conversation":
        """Add a FIN."""
        return self.packet(ms, sequence, acknowledgement, back=back, flags=FIN | ACK, **rest)  # type: ignore[arg-type]

    def rst(
        self, ms: float, sequence: int, acknowledgement: int = 0, *, back: bool = False, **rest: object
    ) -> "Conversation":
        """Add a RST."""
        return self.packet(ms, sequence, acknowledgement, back=back, flags=RST | ACK, **rest)  # type: ignore[arg-type]


def checksum_of(packet: Packet, segment: bytes) -> int:
    """Return what stands in the checksum's field, of a segment in which that is 0 (RFC 9293 3.1)."""
    if isinstance(packet.checksum, int):
        return packet.checksum
    addresses = [ipaddress.ip_address(end).packed for end in (packet.source, packet.destination)]
    pseudo = b"".join(addresses) + struct.pack("!II", len(segment), 6)
    content = pseudo if packet.checksum == "pseudo" else pseudo + segment + b"\0" * (len(segment) % 2)
    total = sum(struct.unpack(f"!{len(content) // 2}H", content))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    if packet.checksum == "pseudo":
        return total
    return (total ^ 0xFFFF) ^ (0x0100 if packet.checksum == "damaged" else 0)


def tcp_bytes(packet: Packet) -> bytes:
    """Return the TCP header, options and payload (zeros)."""
    options = packet.options + b"\0" * (-len(packet.options) % 4)
    header = struct.pack(
        "!HHIIBBHHH",
        packet.source_port,
        packet.destination_port,
        packet.sequence,
        packet.acknowledgement,
        (5 + len(options) // 4) << 4,
        packet.flags,
        packet.window,
        0,
        0,
    )
    segment = header + options + bytes(packet.payload)
    return segment[:16] + struct.pack("!H", checksum_of(packet, segment)) + segment[18:]


def ip_bytes(packet: Packet, *, ip_options: bytes = b"", extensions: Sequence[int] = ()) -> bytes:
    """Return the IP packet; `extensions` are IPv6 header numbers (0, 43, 60), each 8 bytes long."""
    tcp = tcp_bytes(packet)
    source, destination = ipaddress.ip_address(packet.source), ipaddress.ip_address(packet.destination)
    if source.version == 4:
        length = 20 + len(ip_options) + len(tcp) if packet.ip_length is None else packet.ip_length
        version = 0x40 | (5 + len(ip_options) // 4)
        header = struct.pack("!BBHHHBBH", version, packet.ecn, length % 65536, packet.ip_id, 0x4000, packet.ttl, 6, 0)
        return header + source.packed + destination.packed + ip_options + tcp
    kinds = [*extensions, 6]
    chain = b"".join(bytes([following, 0, 1, 4, 0, 0, 0, 0]) for following in kinds[1:])
    length = len(chain) + len(tcp) if packet.ip_length is None else packet.ip_length
    header = struct.pack("!IHBB", 0x60000000 | packet.ecn << 20, length % 65536, kinds[0], packet.ttl)
    return header + source.packed + destination.packed + chain + tcp


def frame_bytes(packet: Packet, link_type: int = ETHERNET, vlan: Sequence[int] = (), **rest: object) -> bytes:
    """Return the frame with its link layer; `vlan` are tag numbers, outermost first (802.1ad if there are two)."""
    body = ip_bytes(packet, **rest)  # type: ignore[arg-type]
    is_six = body[0] >> 4 == 6
    kind = 0x86DD if is_six else 0x0800
    if link_type == ETHERNET:
        tags = b""
        for place, number in enumerate(vlan):
            tags += struct.pack("!HH", 0x88A8 if place == 0 and len(vlan) > 1 else 0x8100, number)
        return bytes(range(2, 14)) + tags + struct.pack("!H", kind) + body
    headers = {
        RAW: b"",
        NULL: struct.pack("<I", 10 if is_six else 2),
        LOOP: struct.pack("!I", 24 if is_six else 2),
        SLL: struct.pack("!HHH8sH", 0, 1, 6, bytes(8), kind),
        SLL2: struct.pack("!HHIHBB8s", kind, 0, 2, 1, 0, 6, bytes(8)),
    }
    return headers[link_type] + body


def write_pcap(
    packets: Iterable[Packet],
    *,
    nanosecond: bool = False,
    big_endian: bool = False,
    modified: bool = False,
    version: tuple[int, int] = (2, 4),
    snap_length: int = 65535,
    link_type: int = ETHERNET,
    **frame: object,
) -> bytes:
    """Return a pcap file; `frame` goes to `frame_bytes`. Versions below 2.3 have the lengths the other way round."""
    order = ">" if big_endian else "<"
    magic = 0xA1B2CD34 if modified else 0xA1B23C4D if nanosecond else 0xA1B2C3D4
    parts = [struct.pack(order + "IHHiIII", magic, *version, 0, 0, snap_length, link_type)]
    for packet in packets:
        whole = frame_bytes(packet, link_type, **frame)  # type: ignore[arg-type]
        kept = whole[:snap_length]
        second, rest = divmod(packet.time_ns, 10**9)
        lengths = [len(kept), len(whole)]
        if version < (2, 3) or version[0] == 543:
            lengths.reverse()
        parts.append(struct.pack(order + "IIII", second, rest if nanosecond else rest // 1000, *lengths))
        if modified:
            parts.append(struct.pack(order + "IHBB", 1, 0x0800, 0, 0))
        parts.append(kept)
    return b"".join(parts)


def block_bytes(order: str, kind: int, body: bytes) -> bytes:
    """Return a pcapng block."""
    body += b"\0" * (-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def write_pcapng(
    packets: Sequence[Packet],
    *,
    big_endian: bool = False,
    tsresol: int | None = None,
    sections: int = 1,
    interfaces: int = 1,
    simple_blocks: bool = False,
    snap_length: int = 65535,
    link_type: int = ETHERNET,
    **frame: object,
) -> bytes:
    """Return a pcapng file of equal sections; packets go to the interfaces by turns.

    `tsresol` is the option's byte: a power of ten, or of two with the top bit set. A block of an unknown kind stands
    after each interface. With more than one section every second one has the other byte order.
    """
    resolution = 6 if tsresol is None else tsresol
    units = 1 << (resolution & 127) if resolution & 128 else 10**resolution
    parts = []
    size = -(-len(packets) // sections)
    for section in range(sections):
        order = ">" if big_endian ^ (section % 2 == 1) else "<"
        parts.append(block_bytes(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)))
        options = b"" if tsresol is None else struct.pack(order + "HHB3xHH", 9, 1, tsresol, 0, 0)
        for _ in range(interfaces):
            interface = struct.pack(order + "HHI", link_type, 0, snap_length)
            parts += [block_bytes(order, 1, interface + options), block_bytes(order, 0x0ABC, b"ignored")]
        for number, packet in enumerate(packets[section * size : (section + 1) * size]):
            whole = frame_bytes(packet, link_type, **frame)  # type: ignore[arg-type]
            kept = whole[:snap_length]
            if simple_blocks:
                parts.append(block_bytes(order, 3, struct.pack(order + "I", len(whole)) + kept))
                continue
            # Rounded up, so that a reader that rounds down gets the same ns back.
            ticks = -(-packet.time_ns * units // 10**9)
            head = (number % interfaces, ticks >> 32, ticks % WORD, len(kept), len(whole))
            parts.append(block_bytes(order, 6, struct.pack(order + "IIIII", *head) + kept))
    return b"".join(parts)


def save(path: Path, content: bytes) -> Path:
    """Write a capture and return its path."""
    path.write_bytes(content)
    return path


def merge(*conversations: Conversation) -> list[Packet]:
    """Return the packets of several conversations by time."""
    return sorted((p for c in conversations for p in c.packets), key=lambda packet: packet.time_ns)


def shift(packets: Iterable[Packet], ms: float) -> list[Packet]:
    """Return the packets so much later."""
    return [replace(packet, time_ns=packet.time_ns + round(ms * 1000) * 1000) for packet in packets]
