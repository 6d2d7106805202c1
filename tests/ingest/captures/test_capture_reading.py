"""Containers of captures, pcap and pcapng, byte by byte; damaged ones, and those of others."""

import contextlib
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from archives import ROOT, SHARED
from capture_frames import (
    FRAME,
    LINKS,
    SYN_OPTIONS,
    block,
    enhanced,
    ethernet,
    interface,
    ipv4,
    pcap,
    read,
    resolution,
    section,
    tcp,
)
from numba import njit

from ccreport.archive.raw_file import RawFileError, iterate_blocks
from ccreport.ingest.captures.decode import layout as at
from ccreport.ingest.captures.decode.byte_order import big32
from ccreport.ingest.captures.decode.pcap import open_capture

CORPUS = SHARED / "corpus" / "pcap"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "ns"), [(0xA1B2C3D4, 5000), (0xA1B23C4D, 5), (0xA1B2CD34, 5000)])
def test_each_pcap_is_read(order: str, magic: int, ns: int) -> None:
    result = read(pcap(FRAME, FRAME, order=order, magic=magic))
    header = 24 if magic == 0xA1B2CD34 else 16
    assert result.of(at.TIME) == [1_800_000_000 * 10**9 + ns] * 2
    # A frame is 14 + 20 + 20 + 3 bytes.
    assert result.records[0][1:] == [24 + header, 57, 57, 1, 24 + header + 57]
    assert (result.found, result.code) == (["tcp", "tcp"], "needs more")
    assert result.position == 24 + 2 * (header + 57)
    assert result.container == {"container": "pcap", "link_types": "1", "snap_length_bytes": 262144}


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("version", "first", "second", "captured"),
    [
        ((2, 4), 3, 60, 3),
        ((2, 3), 3, 60, 3),
        ((2, 3), 60, 3, 3),
        ((2, 2), 60, 3, 3),
        ((2, 0), 60, 3, 3),
        ((543, 0), 60, 3, 3),
    ],
)
def test_old_versions_have_the_original_length_first(
    version: tuple[int, int], first: int, second: int, captured: int, order: str
) -> None:
    result = read(pcap(order=order, version=version) + struct.pack(order + "IIII", 1, 2, first, second) + b"abc")
    assert result.of(at.CAPTURED) == [captured]
    assert result.of(at.ORIGINAL) == [60]


def test_a_time_beyond_the_second_and_the_last_one() -> None:
    # tcpdump wrote such nanoseconds once; 2^32 - 1 µs in a fraction are damage, and only the second counts.
    times = [read(pcap(FRAME, magic=0xA1B23C4D, time=(1, 1_000_000_001))).of(at.TIME)]
    times.append(read(pcap(FRAME, time=(2**32 - 1, 2**32 - 1))).of(at.TIME))
    assert times == [[2_000_000_001], [4294967295000000000]]


def test_the_length_of_a_check_sequence_is_no_link_type() -> None:
    # 2 words of 16 bits, and the bit that says so.
    assert read(pcap(FRAME, link=0x24000001)).container["link_types"] == "1"


def test_no_snap_length_is_null() -> None:
    assert read(pcap(snap=0)).container["snap_length_bytes"] is None


@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B2CD34])
@pytest.mark.parametrize("order", ["<", ">"])
def test_a_cut_file_gives_its_whole_records(magic: int, order: str) -> None:
    whole = pcap(FRAME, FRAME, magic=magic, order=order)
    second = (len(whole) - 24) // 2 + 24
    for length in range(24, len(whole)):
        result = read(whole[:length])
        assert len(result.records) == (length >= second)
        assert (result.position, result.code) == (second if length >= second else 24, "needs more")


@pytest.mark.parametrize(
    ("captured", "original", "snap", "code"),
    [
        (262144, 262144, 65535, "needs more"),
        (262145, 262145, 65535, "bad length"),
        (300000, 300000, 300000, "needs more"),
        (300001, 300001, 300000, "bad length"),
        (2**20, 2**20, 2**32 - 1, "needs more"),
        (2**20 + 1, 2**20 + 1, 2**32 - 1, "bad length"),
        (2**32 - 1, 2**32 - 1, 65535, "bad length"),
        (0, 0, 65535, "bad length"),
        (60, 2**32 - 1, 65535, "needs more"),
    ],
)
@pytest.mark.parametrize("order", ["<", ">"])
def test_lengths_that_cannot_be(captured: int, original: int, snap: int, code: str, order: str) -> None:
    raw = pcap(FRAME, snap=snap, order=order)
    result = read(raw + struct.pack(order + "IIII", 1, 2, captured, original))
    assert (len(result.records), result.code, result.position) == (1, code, len(raw))


def test_a_record_without_captured_bytes() -> None:
    result = read(pcap() + struct.pack("<IIII", 1, 2, 0, 60))
    assert (result.found, result.of(at.ORIGINAL)) == (["malformed"], [60])


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"{", "not_a_capture"),
        (b"hello, this is not a capture", "not_a_capture"),
        (bytes(30), "not_a_capture"),
        (b"\xa1\xb2\xc3\xd5" + bytes(30), "not_a_capture"),
        (b"\n\r\r\n" + bytes(30), "not_a_capture"),
        (b"\n\r\r\n" + bytes(7), "truncated_capture"),
        (pcap()[:23], "truncated_capture"),
        (pcap()[:4], "truncated_capture"),
        (pcap(order=">")[:1], "truncated_capture"),
        (b"", "truncated_capture"),
        (pcap(version=(2, 5)), "malformed_record"),
        (pcap(version=(1, 2)), "malformed_record"),
        (pcap(link=0x00300001), "malformed_record"),
        (pcap(link=105), "unknown_link_type"),
    ],
)
def test_no_capture(head: bytes, reason: str) -> None:
    with pytest.raises(RawFileError) as raised:
        open_capture(head)
    assert raised.value.reason == reason
    assert len(raised.value.message) > 30


@pytest.mark.parametrize("order", ["<", ">"])
def test_each_packet_block_is_read(order: str) -> None:
    old = struct.pack(order + "HHIIII", 0, 9, 0, 7, 57, 57) + FRAME
    simple = struct.pack(order + "I", 57) + FRAME
    blocks = [enhanced(FRAME, 5, order=order), block(0xBAD, b"skipped", order), block(2, old, order)]
    raw = section(order) + interface(order) + b"".join(blocks) + block(3, simple, order)
    result = read(raw)
    # Ticks are µs; a simple packet has the time of the one before.
    assert result.of(at.TIME) == [5000, 7000, 7000]
    assert (result.of(at.CAPTURED), result.of(at.ORIGINAL)) == ([57] * 3, [57] * 3)
    assert (result.found, result.code, result.position) == (["tcp"] * 3, "needs more", len(raw))
    assert [packet[at.PAYLOAD] for packet in result.packets] == [3] * 3


def test_sections_have_their_own_byte_order_and_interfaces() -> None:
    sll = bytes(14) + b"\x08\x00" + ipv4(tcp())
    second = section(">", (1, 2)) + interface(">", 113, 96) + enhanced(sll, 2, order=">")
    result = read(section() + interface(snap=96) + interface(link=113, snap=96) + enhanced(FRAME, 1) + second)
    assert (result.of(at.LINK_TYPE), result.of(at.TIME)) == ([1, 113], [1000, 2000])
    assert result.container == {"container": "pcapng", "link_types": "1,113", "snap_length_bytes": 96}
    # The interfaces of the first section are gone.
    assert read(section() + interface() + section() + enhanced(FRAME)).code == "bad block"


def test_snap_lengths_that_differ_are_null() -> None:
    assert read(section() + interface(snap=96) + interface(snap=128)).container["snap_length_bytes"] is None
    assert read(section() + interface(snap=0)).container["snap_length_bytes"] is None


@pytest.mark.parametrize(
    ("ticks", "value", "ns"),
    [
        (7, 0, 7_000_000_000),
        (7, 3, 7_000_000),
        (7, 6, 7_000),
        (7, 9, 7),
        (7_999, 12, 7),
        (2**64 - 1, 27, 18),  # 18446744073709551615 / 10^18
        (2**64 - 1, 28, 0),
        (2**64 - 1, 127, 0),
        # Powers of two of a second.
        (3, 0x80, 3_000_000_000),
        (3 << 9 | 256, 0x8A, 1_750_000_000),  # 1792 / 1024
        (5 << 31, 0xA0, 2_500_000_000),
        (5 << 39, 0xA8, 2_500_000_000),
        (2**63, 0xBF, 1_000_000_000),
        (2**63, 0xC0, 500_000_000),
        (2**63, 0xC1, 250_000_000),
        (2**64 - 1, 0xFF, 0),
        # What is beyond 2116 is set to its limit.
        (2**64 - 1, 6, 2**62),
        (2**62 + 1, 9, 2**62),
        (2**63, 9, 2**62),
        (2**64 - 1, 0x80, 2**62),
    ],
)
@pytest.mark.parametrize("order", ["<", ">"])
def test_units_of_time(ticks: int, value: int, ns: int, order: str) -> None:
    raw = section(order) + interface(order, options=resolution(value, order)) + enhanced(FRAME, ticks, order=order)
    assert read(raw).of(at.TIME) == [ns]


@pytest.mark.parametrize(
    ("seconds", "ns"),
    [(1000, 1003 * 10**9), (-2, 10**9), (-1000, 0), (2**63 - 1, 2**62), (-(2**63), 0), (10**10, 2**62)],
)
@pytest.mark.parametrize("order", ["<", ">"])
def test_offsets_of_time(seconds: int, ns: int, order: str) -> None:
    options = struct.pack(order + "HH5s3x", 2, 5, b"name!") + struct.pack(order + "HHq", 14, 8, seconds)
    raw = section(order) + interface(order, options=options) + enhanced(FRAME, 3_000_000, order=order)
    # 10^10 s is beyond the limit, and so is 2^63 s.
    assert read(raw).of(at.TIME) == [ns]


@pytest.mark.parametrize(
    "options", [struct.pack("<HHI", 9, 40, 9), struct.pack("<HH", 9, 1), struct.pack("<HH", 0, 0) + resolution(9)]
)
def test_options_of_an_interface_that_do_not_count(options: bytes) -> None:
    assert read(section() + interface(options=options) + enhanced(FRAME, 1)).of(at.TIME) == [1000]


def test_a_simple_packet_is_as_long_as_its_interface_keeps() -> None:
    # 57 bytes are padded to 60; the frame had 90, and the interface keeps 54.
    simple = block(3, struct.pack("<I", 90) + FRAME)
    assert read(section() + interface(snap=54) + simple).of(at.CAPTURED) == [54]
    assert read(section() + interface() + simple).of(at.CAPTURED) == [60]


@pytest.mark.parametrize(
    ("blocks", "code"),
    [
        (struct.pack("<III", 6, 8, 8), "bad block"),
        (struct.pack("<III", 6, 2**24 + 4, 0), "bad block"),
        (struct.pack("<III", 6, 2**32 - 1, 0), "bad block"),
        (struct.pack("<III", 6, 2**24, 0), "needs more"),
        (block(5, bytes(8))[:-4] + struct.pack("<I", 24), "bad block"),
        (section()[:8] + bytes(20), "bad block"),
        (section(version=(1, 1)), "bad version"),
        (section(version=(0, 1)), "bad version"),
        (block(0x0A0D0D0A, struct.pack("<I", 0x1A2B3C4D)), "bad block"),
        (block(1, bytes(4)), "bad block"),
        (block(6, bytes(16)), "bad block"),
        (block(2, bytes(16)), "bad block"),
        (block(3, b""), "bad block"),
        (section() + block(3, struct.pack("<I", 57) + FRAME), "bad block"),
        (enhanced(FRAME, number=1), "bad block"),
        (enhanced(FRAME, number=2**32 - 1), "bad block"),
        (block(6, struct.pack("<5I", 0, 0, 0, 58 + 3, 61) + FRAME), "bad block"),
        (enhanced(FRAME, original=0), "bad length"),
        (enhanced(bytes(262145)), "bad length"),
        (interface(link=105) + enhanced(FRAME) + enhanced(FRAME, number=1), "bad link type"),
        (interface() * 63, "needs more"),
        (interface() * 64, "too many interfaces"),
    ],
)
def test_blocks_that_cannot_be(blocks: bytes, code: str) -> None:
    result = read(section() + interface() + blocks)
    assert result.code == code
    assert result.position >= 48


def test_a_cut_pcapng_gives_its_whole_blocks() -> None:
    raw = section() + interface() + enhanced(FRAME)
    for length in range(12, len(raw)):
        result = read(raw[:length])
        assert (result.records, result.code) == ([], "needs more")
        assert result.position == (0 if length < 28 else 28 if length < 48 else 48)


SEEDS = [
    *((pcap(frame, frame, link=link)) for link, frame in LINKS),
    pcap(ethernet(ipv4(tcp(options=SYN_OPTIONS))), order=">"),
    pcap(ethernet(ipv4(tcp(options=b"\1\1\5\x22" + bytes(32)))), magic=0xA1B2CD34),
    section() + interface(options=resolution(0xBF)) + enhanced(FRAME, 2**63) + section(">") + interface(">"),
    section(">") + interface(">") + enhanced(FRAME, 1, order=">") + block(3, struct.pack(">I", 57) + FRAME, ">"),
]


# What makes lengths and counts extreme, or another protocol.
EXTREMES = (0, 1, 4, 5, 6, 8, 44, 127, 255)


def damage_and_read(count: int) -> None:
    """Read damaged files, each in an array that ends where the file does; IndexError is of an index beyond it."""
    chance = np.random.default_rng(7)
    with pytest.raises(IndexError):
        njit(lambda data: big32(data, 0))(np.zeros(3, np.uint8))
    for _ in range(count):
        data = bytearray(SEEDS[chance.integers(len(SEEDS))])
        for place in chance.integers(len(data), size=chance.integers(1, 5)):
            data[place] = (*EXTREMES, chance.integers(256))[chance.integers(len(EXTREMES) + 1)]
        cut = len(data) if chance.random() < 0.5 else chance.integers(len(data))
        with contextlib.suppress(RawFileError):
            read(bytes(data[:cut]))


@pytest.mark.slow
def test_no_index_leaves_its_array(tmp_path: Path) -> None:
    # Machine code with bounds checks, in a cache of its own.
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = f"{Path(__file__).parent}{os.pathsep}{ROOT / 'tests/support'}"
    command = [sys.executable, "-c", "import test_capture_reading; test_capture_reading.damage_and_read(20000)"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# What is told otherwise than by tshark: TCP in GTP tunnels is not opened; 37 records without a packet are not packets.
FRAMES = {"tcpdump__bgp_vpn_rt-oobr.pcap": (1, 1), "arkime__gtp-iphone.pcap": (106, 0)}
ENDS = {
    "tcpdump__bgp_vpn_rt-oobr.pcap": "bad length",
    "libpcap__pcapng-invalid-vers-1.pcapng": "bad version",
    "libpcap__pcapng-invalid-vers-2.pcapng": "bad version",
}
REASONS = {"libpcap__linktype-reserved-field-not-zero.pcap": "malformed_record"}


def list_expected() -> list[tuple[str, int, int]]:
    """Return name, frames and TCP packets of the captures of the corpus, as tshark counted them."""
    table = SHARED / "corpus" / "EXPECTED.tsv"
    lines = table.read_text(encoding="utf-8").splitlines() if table.exists() else []
    captures = [re.match(r"pcap/(\S+)\t.*frames=(\d+) tcp=(\d+)", line) for line in lines]
    return [(match[1], int(match[2]), int(match[3])) for match in captures if match]


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of captures is not here")
def test_the_frames_of_the_corpus() -> None:
    expected = list_expected()
    assert len(expected) == len(list(CORPUS.iterdir()))
    for name, frames, segments in expected:
        raw = b"".join(iterate_blocks(CORPUS / name))
        if name in REASONS:
            with pytest.raises(RawFileError) as raised:
                read(raw)
            assert raised.value.reason == REASONS[name]
            continue
        result = read(raw)
        assert (len(result.records), result.found.count("tcp")) == FRAMES.get(name, (frames, segments)), name
        assert result.code == ENDS.get(name, "needs more"), name
        # Only this one is cut in the middle of a packet.
        if result.code == "needs more":
            assert (result.position < len(raw)) == (name == "dpkt__truncated_dns_2.pcap"), name
