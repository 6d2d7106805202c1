"""Headers of packets, from the link layer to the TCP options, byte by byte."""

import struct
from typing import Any

import pytest
from capture_frames import (
    BOTTOM,
    FRAME,
    LABEL,
    LINKS,
    MAPPED,
    PPPOE,
    STAMPS,
    SYN_OPTIONS,
    decode,
    ethernet,
    ipv4,
    ipv6,
    pcap,
    read,
    tcp,
)
from numba.core.dispatcher import Dispatcher

from ccreport.ingest.captures.decode import layout as at
from ccreport.ingest.captures.decode import pcap as decode_pcap
from ccreport.ingest.captures.decode.pcapng import READABLE_LINK_TYPES

EACH_LINK = pytest.mark.parametrize(
    ("link", "frame"), LINKS, ids=[f"{link}-{number}" for number, (link, _) in enumerate(LINKS)]
)


@pytest.mark.slow
@EACH_LINK
def test_each_link_layer_is_read(link: int, frame: bytes) -> None:
    # 9 bytes of padding behind the payload are not of the segment.
    for padded in (frame, frame + b"padding!!"):
        result = decode(padded, link)
        assert result.found == ["tcp"]
        packet = result.packets[0]
        is_ipv4 = packet[at.IP_ID] == 0x1234
        source, destination = (0, MAPPED), (0, MAPPED + 1)
        if not is_ipv4:
            # fe80 at the top makes a negative number.
            source, destination = (0x20010DB8 << 32, 1), ((0xFE80 << 48) - 2**64, 2)
        assert packet[: at.SOURCE_PORT] == [*source, *destination]
        assert packet[at.IP_ID] == (0x1234 if is_ipv4 else at.ABSENT)
        assert packet[at.SOURCE_PORT : at.PAYLOAD] == [40000, 5201, 0xFFFFFFF0, 7, 0x18, 500]
        assert (packet[at.PAYLOAD], packet[at.FRAME], packet[at.IS_WHOLE]) == (3, len(padded), 1)
        # The segment is the last 23 bytes of the frame.
        end = result.records[0][at.START] + len(frame) - 3
        assert (packet[at.OPTIONS], packet[at.OPTIONS_END]) == (end, end)


@EACH_LINK
def test_a_frame_cut_anywhere(link: int, frame: bytes) -> None:
    # Up to the window are 16 of the 20 bytes of the TCP header, which the 3 bytes of payload follow.
    needed = len(frame) - 7
    for length in range(len(frame)):
        result = decode(frame[:length], link, len(frame))
        # Without the whole SNAP header, a frame with a length in place of a type is of another protocol.
        is_other = frame[14:16] == b"\xaa\xaa" and 14 <= length < 22
        assert result.found == ["tcp" if length >= needed else "other" if is_other else "malformed"]
        if length >= needed:
            packet = result.packets[0]
            assert (packet[at.PAYLOAD], packet[at.WINDOW]) == (3, 500)
            assert packet[at.IS_WHOLE] == (length >= len(frame) - 3)
            assert packet[at.OPTIONS] == packet[at.OPTIONS_END]


@pytest.mark.parametrize(
    ("frame", "link"),
    [
        (ethernet(bytes(40), 0x0806), 1),
        (ethernet(ipv4(bytes(8), protocol=17)), 1),
        (ethernet(ipv6(bytes(8), protocol=17), 0x86DD), 1),
        (ethernet(ipv6(b"", protocol=59), 0x86DD), 1),
        (ethernet(b"\x42\x42\3" + bytes(35), 38), 1),
        (ethernet(b"\x42\x42\3", 38), 1),
        (ethernet(b"\0\1\x81\0" * 8 + b"\0\1\x08\0" + ipv4(tcp()), 0x8100), 1),
        (ethernet(LABEL * 9 + BOTTOM + ipv4(tcp()), 0x8847), 1),
        (ethernet(BOTTOM + bytes(60), 0x8847), 1),
        (ethernet(PPPOE + b"\xc0\x21" + bytes(10), 0x8864), 1),
        (b"\0\1\1\0" + ipv4(tcp()), 0),
        (b"\2\0\0\0" + bytes(60), 0),
        (bytes(14) + b"\x08\x06" + bytes(28), 113),
    ],
)
def test_other_packets(frame: bytes, link: int) -> None:
    assert decode(frame, link).found == ["other"]


@pytest.mark.parametrize(
    "frame",
    [
        ethernet(b"\x35" + ipv4(tcp())[1:]),
        ethernet(b"\x44" + ipv4(tcp())[1:]),
        ethernet(b"\x45" + ipv6(tcp())[1:], 0x86DD),
        ethernet(ipv4(tcp(offset=4))),
        ethernet(ipv4(tcp(offset=6))),
        ethernet(ipv4(tcp(), length=39)),
        ethernet(ipv4(tcp(), length=19)),
        ethernet(ipv4(tcp(), options=bytes(40), length=60)),
        ethernet(ipv6(tcp(), length=19), 0x86DD),
    ],
)
def test_headers_that_contradict_themselves(frame: bytes) -> None:
    assert decode(frame).found == ["malformed"]


def test_raw_ip_of_no_version() -> None:
    assert decode(bytes(60), 101).found == ["malformed"]


def test_a_segment_without_a_length_has_what_the_frame_has() -> None:
    # 14 + 20 + 20 bytes of headers; the frame had 100 bytes.
    assert decode(ethernet(ipv4(tcp(), length=0)), original=100).packets[0][at.PAYLOAD] == 46


def test_the_length_of_a_segment_is_that_of_ip_where_the_frame_is_said_to_be_shorter() -> None:
    # As in captures that were cut afterwards: 1000 bytes less 20 + 20.
    assert decode(ethernet(ipv4(tcp(), length=1000)), original=100).packets[0][at.PAYLOAD] == 960


def test_big_tcp_takes_its_length_from_the_frame() -> None:
    # 14 + 40 + 8 + 20 bytes of headers and 180000 of payload; the jumbo option is not even looked at.
    jumbo = b"\6\0\xc2\4" + struct.pack("!I", 180028)
    frame = ethernet(ipv6(jumbo + tcp(), protocol=0, length=0), 0x86DD)
    assert decode(frame, original=180082).packets[0][at.PAYLOAD] == 180000
    frame = ethernet(ipv6(tcp(), length=0), 0x86DD)
    assert decode(frame, original=180074).packets[0][at.PAYLOAD] == 180000
    frame = bytes(14) + b"\x08\0" + ipv4(tcp(), length=0)
    assert decode(frame, 113, original=180056).packets[0][at.PAYLOAD] == 180000


@pytest.mark.parametrize("fragment", [0x2000, 0x0001, 0x1FFF])
def test_fragments(fragment: int) -> None:
    assert decode(ethernet(ipv4(tcp(), fragment=fragment))).found == ["fragment"]
    assert decode(ethernet(ipv4(bytes(8), protocol=17, fragment=fragment))).found == ["fragment"]
    # The offset is in units of 8 bytes, three bits up; the lowest is M.
    bits = (fragment & 0x1FFF) << 3 | fragment >> 13
    header = struct.pack("!BBHI", 6, 0, bits, 77)
    assert decode(ethernet(ipv6(header + tcp(), protocol=44), 0x86DD)).found == ["fragment"]


def test_an_atomic_fragment_is_whole() -> None:
    frame = ethernet(ipv6(struct.pack("!BBHI", 6, 0xFF, 6, 77) + tcp(b"ab"), protocol=44), 0x86DD)
    result = decode(frame)
    assert (result.found, result.packets[0][at.PAYLOAD]) == (["tcp"], 2)


EXTENSIONS = [
    (0, b"\x2b\0" + bytes(6)),  # hop by hop, then
    (43, b"\x3c\2" + bytes(22)),  # routing, then
    (60, b"\x33\1" + bytes(14)),  # destination options, then
    (51, b"\x2c\4" + bytes(22)),  # authentication, then
    (44, b"\x06\0" + bytes(6)),  # an atomic fragment, then TCP
]


@pytest.mark.parametrize("first", range(len(EXTENSIONS)))
def test_extension_headers(first: int) -> None:
    body = b"".join(header for _, header in EXTENSIONS[first:]) + tcp(b"abcd")
    frame = ethernet(ipv6(body, protocol=EXTENSIONS[first][0]), 0x86DD)
    result = decode(frame)
    assert (result.found, result.packets[0][at.PAYLOAD]) == (["tcp"], 4)
    for length in range(54, len(frame) - 8):
        assert decode(frame[:length], original=len(frame)).found == ["malformed"]


def test_extension_headers_without_end() -> None:
    assert decode(ethernet(ipv6((b"\x3c\0" + bytes(6)) * 40, protocol=60), 0x86DD)).found == ["other"]


def test_ipv4_has_no_extension_headers_but_authentication() -> None:
    assert decode(ethernet(ipv4(b"\6\0" + bytes(6) + tcp(), protocol=60))).found == ["other"]
    assert decode(ethernet(ipv4(b"\6\4" + bytes(22) + tcp(), protocol=51))).found == ["tcp"]


@pytest.mark.parametrize("mark", range(4))
def test_ecn(mark: int) -> None:
    assert decode(ethernet(ipv4(tcp(), tos=0xB8 | mark))).packets[0][at.ECN] == mark
    assert decode(ethernet(ipv4(tcp(), tos=0xB8 | mark, options=b"\1" * 8))).packets[0][at.ECN] == mark
    assert decode(ethernet(ipv6(tcp(), traffic_class=0xB8 | mark), 0x86DD)).packets[0][at.ECN] == mark


@EACH_LINK
def test_what_was_not_captured_does_not_count(link: int, frame: bytes) -> None:
    for length in range(len(frame)):
        record = struct.pack("<IIII", 1, 2, length, len(frame)) + frame[:length]
        alone, followed = (read(pcap(link=link) + record + rest) for rest in (b"", frame[length:][:15]))
        assert (alone.found, alone.options) == (followed.found, followed.options)
        if alone.found == ["tcp"]:
            assert alone.packets == followed.packets


def test_each_readable_link_type_is_read() -> None:
    assert list(READABLE_LINK_TYPES) == sorted({link for link, _ in LINKS})


def test_a_header_is_read_without_compiling() -> None:
    assert not [name for name, value in vars(decode_pcap).items() if isinstance(value, Dispatcher)]
    file, _ = decode_pcap.open_capture(pcap())
    assert file[at.FILE_LINK_TYPE] == 1


def options_of(options: bytes, captured: int | None = None) -> dict[str, Any]:
    """Return what is read of the options of a segment of which so many option bytes were captured."""
    frame = ethernet(ipv4(tcp(options=options)))
    result = decode(frame if captured is None else frame[: 54 + captured], original=len(frame))
    assert result.found == ["tcp"]
    facts = result.options[0]
    count = facts[at.OPT_SACK_BLOCKS]
    kinds = facts[at.OPT_KINDS].to_bytes(8, "little").rstrip(b"\0")
    edges = facts[at.OPT_SACK : at.OPT_SACK + 2 * count]
    return {
        "ts": tuple(facts[at.OPT_TSVAL : at.OPT_TSECR + 1]),
        "mss": facts[at.OPT_MSS],
        "scale": facts[at.OPT_WINDOW_SCALE],
        "permitted": facts[at.OPT_SACK_PERMITTED],
        "kinds": list(kinds),
        "sacks": list(zip(edges[::2], edges[1::2], strict=True)),
    }


NO_OPTIONS = {"ts": (-1, -1), "mss": -1, "scale": -1, "permitted": 0, "kinds": [], "sacks": []}


@pytest.mark.parametrize(
    ("options", "captured", "facts"),
    [
        (b"", None, {}),
        (b"\1\1" + STAMPS, None, {"ts": (256, 2**32 - 1), "kinds": [8]}),
        (STAMPS + b"\1\1", None, {"ts": (256, 2**32 - 1), "kinds": [8]}),
        (
            SYN_OPTIONS,
            None,
            {"ts": (256, 2**32 - 1), "mss": 1460, "scale": 14, "permitted": 1, "kinds": [2, 4, 8, 3]},
        ),
        (
            b"\1\1" + STAMPS + b"\1\1\5\x12" + struct.pack("!4I", 1, 2, 2**32 - 1, 4),
            None,
            {"ts": (256, 2**32 - 1), "kinds": [8, 5], "sacks": [(1, 2), (2**32 - 1, 4)]},
        ),
        (
            b"\1\1\5\x22" + struct.pack("!8I", *range(8)),
            None,
            {"kinds": [5], "sacks": [(0, 1), (2, 3), (4, 5), (6, 7)]},
        ),
        # A shift that counts as 14.
        (b"\3\3\xff\1", None, {"scale": 14, "kinds": [3]}),
        # The end of the list, and garbage behind it.
        (b"\2\4\5\xb4\0\3\3\7", None, {"mss": 1460, "kinds": [2]}),
        # Lengths of 0 and 1, and one beyond the header.
        (b"\2\4\5\xb4\x1b\0\3\3", None, {"mss": 1460, "kinds": [2]}),
        (b"\2\4\5\xb4\x1b\1\3\3", None, {"mss": 1460, "kinds": [2]}),
        (b"\2\4\5\xb4\1\1\1\x08", None, {"mss": 1460, "kinds": [2]}),
        (b"\2\4\5\xb4\x08\x0a\1\1", None, {"mss": 1460, "kinds": [2, 8]}),
        # Lengths that are not those of the kind.
        (b"\2\3\5\3\4\7\7\4", None, {"kinds": [2, 3]}),
        (b"\5\x03\1\4\3\1\1\1", None, {"kinds": [5, 4]}),
        # More than 7 kinds, and ones above 127.
        (b"\xfe\2" * 10, None, {"kinds": [254] * 7}),
        # Cut by the snap length.
        (b"\1\1" + STAMPS, 11, {"kinds": [8]}),
        (b"\1\1" + STAMPS, 2, {}),
        (SYN_OPTIONS, 7, {"mss": 1460, "permitted": 1, "kinds": [2, 4]}),
        (SYN_OPTIONS, 18, {"ts": (256, 2**32 - 1), "mss": 1460, "permitted": 1, "kinds": [2, 4, 8]}),
        (b"\1\1\5\x12" + bytes(16), 12, {"kinds": [5]}),
    ],
)
def test_options(options: bytes, captured: int | None, facts: dict[str, Any]) -> None:
    assert options_of(options, captured) == NO_OPTIONS | facts


def test_options_are_not_those_of_the_packet_before() -> None:
    frames = [ethernet(ipv4(tcp(options=SYN_OPTIONS))), FRAME]
    last = read(pcap(*frames)).options[1]
    assert last[: at.OPT_SACK] == [-1, -1, -1, -1, 0, 0, 0]
