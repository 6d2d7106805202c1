"""What the capture reader says of captures whose answers are worked out by hand, and of transfers that are played.

Unless said otherwise the capture stands beside the sender, the handshake takes 20 ms, and segments have 1000 bytes.
"""

import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest
import zstandard
from capture_transfer import Plan, simulate
from captures import CWR, ECE, Conversation, Packet, merge, save, write_pcap, write_pcapng
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ccreport.ingest.captures.file import CaptureTables, read_capture

Row = dict[str, Any]


def read(tmp_path: Path, capture: Conversation | list[Packet] | bytes, **way: Any) -> CaptureTables:
    """Return the tables of a capture written to a file."""
    packets = capture.packets if isinstance(capture, Conversation) else capture
    content = packets if isinstance(packets, bytes) else write_pcap(packets, **way)
    return read_capture(save(tmp_path / "capture", content), wants_packets=True)


def flow(tmp_path: Path, capture: Conversation | list[Packet] | bytes, direction: str = "out", **way: Any) -> Row:
    """Return the one row of this direction."""
    rows = read(tmp_path, capture, **way).flows.to_dicts()
    (row,) = [row for row in rows if row["direction"] == direction]
    return row


def roles(tmp_path: Path, capture: Conversation | list[Packet]) -> list[str]:
    """Return the role of each packet."""
    return read(tmp_path, capture).packets["role"].to_list()


def lost_one() -> Conversation:
    """Return four segments of which the second is lost, told by SACK, sent again and acknowledged."""
    talk = Conversation().handshake()
    talk.data(30, 0).data(31, 1000).data(32, 2000).data(33, 3000)
    talk.ack(50, 1000).ack(52, 1000, sacks=[(2000, 3000)]).ack(53, 1000, sacks=[(2000, 4000)])
    return talk.data(54, 1000).ack(74, 4000)


@pytest.mark.parametrize("times", [(0, 20, 10), (20, 10, 30)])
def test_handshake_of_a_clock_set_back_has_no_rtt(tmp_path: Path, times: tuple[int, int, int]) -> None:
    first, second, third = times
    talk = Conversation().syn(first).syn(second, back=True).packet(third, 0, 0).data(40, 0).ack(60, 1000)
    row = flow(tmp_path, talk)
    assert (row["handshake_rtt_ms"], row["capture_side"]) == (None, None)


def test_fast_retransmit(tmp_path: Path) -> None:
    row = flow(tmp_path, lost_one())
    # SYN, ACK, 4 segments, 1 repeat; the answer's SYN-ACK is not a pure acknowledgement.
    expected = {
        "frames_count": 7,
        "data_packets_count": 5,
        "payload_bytes": 5000,
        "unique_bytes": 4000,
        "retransmits_capture_count": 1,
        "retransmits_seen_count": 1,
        "retransmitted_capture_bytes": 1000,
        "retransmits_fast_count": 1,
        "retransmits_timeout_count": 0,
        "retransmits_probe_count": 0,
        "retransmits_spurious_count": 0,
        "reordered_count": 0,
        "acks_count": 4,
        "dup_acks_count": 2,
        "sack_blocks_count": 2,
        "dsack_blocks_count": 0,
        "missing_bytes": 0,
        "ended": "open",
    }
    assert {name: row[name] for name in expected} == expected
    # 14 + 20 + 20 bytes of headers, SYN with 8 bytes of options.
    assert row["frames_bytes"] == (54 + 8) + 54 + 5 * 1054
    assert (row["local_address"], row["local_port"]) == ("10.0.0.1", 40000)
    assert (row["remote_address"], row["remote_port"]) == ("10.0.0.2", 5201)
    assert roles(tmp_path, lost_one())[3:] == ["data"] * 4 + ["ack", "dup_ack", "dup_ack", "retransmit_fast", "ack"]


def test_times_of_a_flow(tmp_path: Path) -> None:
    row = flow(tmp_path, lost_one())
    assert row["handshake_rtt_ms"] == 20
    assert row["completion_capture_s"] == pytest.approx(0.074)
    # From the first data packet (30 ms) to the acknowledgement of the last (74 ms).
    assert row["goodput_capture_bps"] == pytest.approx(4000 * 8 / 0.044)
    # 1000 acknowledged after 20 ms; 4000 gives none, since it was sent before the latest retransmit (Karn).
    assert (row["ack_rtt_samples_count"], row["ack_rtt_min_ms"]) == (1, 20)
    assert row["ack_rtt_p50_ms"] == pytest.approx(20, rel=0.016)


def test_in_flight(tmp_path: Path) -> None:
    # 1000, 2000, 3000, 4000; at the repeat 1000 are acknowledged of 4000.
    row = flow(tmp_path, lost_one())
    assert (row["in_flight_mean_bytes"], row["in_flight_max_bytes"]) == (2600, 4000)
    packets = read(tmp_path, lost_one()).packets
    assert packets["in_flight_bytes"].drop_nulls().to_list() == [1000, 2000, 3000, 4000, 3000]


def test_packets_of_a_flow(tmp_path: Path) -> None:
    packets = read(tmp_path, lost_one()).packets
    assert packets["packet_number"].to_list() == list(range(1, 13))
    assert packets["flags"].to_list() == ["S", "S.", "."] + ["."] * 9
    assert packets["sequence_bytes"].to_list()[:6] == [-1, -1, 0, 0, 1000, 2000]
    assert packets["acknowledgement_bytes"].to_list()[7:] == [1000, 1000, 1000, 0, 4000]
    assert packets["sack_start_bytes"].to_list()[8:10] == [2000, 2000]
    assert packets["sack_end_bytes"].to_list()[8:10] == [3000, 4000]
    assert packets["ack_rtt_ms"].to_list()[7] == 20
    assert packets["capture_s"].to_list()[3] == pytest.approx(0.03, abs=1e-9)


def test_timeout_and_what_follows(tmp_path: Path) -> None:
    talk = Conversation().handshake().data(30, 0).data(31, 1000).data(32, 2000).data(33, 3000)
    # 267 ms of silence; then all that was sent before is still due to the timeout, until 4000 is acknowledged.
    talk.data(300, 0).ack(320, 1000).data(320, 1000).data(320.1, 2000).ack(340, 4000)
    row = flow(tmp_path, talk)
    assert (row["retransmits_timeout_count"], row["retransmits_fast_count"], row["retransmits_probe_count"]) == (
        3,
        0,
        0,
    )
    assert row["retransmitted_capture_bytes"] == 3000


def test_tail_loss_probe(tmp_path: Path) -> None:
    # 45 ms after the last news: more than the RTT of 20 ms, less than a timeout (200 ms), and the last segment.
    talk = Conversation().handshake().data(30, 0).data(31, 1000).ack(50, 1000).data(95, 1000).ack(115, 2000)
    row = flow(tmp_path, talk)
    assert (row["retransmits_probe_count"], row["retransmits_timeout_count"], row["retransmits_fast_count"]) == (
        1,
        0,
        0,
    )
    assert row["retransmits_spurious_count"] == 0


def test_spurious_retransmit(tmp_path: Path) -> None:
    talk = Conversation().handshake().data(30, 0).data(31, 1000).ack(50, 1000).data(95, 1000).ack(96, 2000)
    row = flow(tmp_path, talk.ack(115, 2000, sacks=[(1000, 2000)]))
    assert (row["retransmits_capture_count"], row["retransmits_spurious_count"]) == (1, 1)
    # The D-SACK's acknowledgement repeats a number, but nothing is outstanding (RFC 5681 2).
    assert (row["dsack_blocks_count"], row["sack_blocks_count"], row["dup_acks_count"]) == (1, 0, 0)


def test_dsack_inside_a_block(tmp_path: Path) -> None:
    # RFC 2883 4.2: the first block lies in the second.
    talk = Conversation().handshake().data(30, 0).data(31, 1000).data(32, 2000).data(33, 3000).ack(50, 1000)
    row = flow(tmp_path, talk.ack(53, 1000, sacks=[(2000, 3000), (2000, 4000)]))
    assert (row["dsack_blocks_count"], row["sack_blocks_count"]) == (1, 1)


def three(*stamps: tuple[float, int, int, int | None]) -> Conversation:
    """Return a handshake and segments given by ms, sequence, IP id and TSval."""
    talk = Conversation().handshake(timestamps=stamps[0][3] is not None)
    for ms, sequence, ip_id, tsval in stamps:
        talk.data(ms, sequence, ip_id=ip_id, ts=None if tsval is None else (tsval, 7020))
    return talk


FILLED = [
    ("older TSval", [(30, 0, 0, 30), (32, 2000, 0, 32), (33, 1000, 0, 31)], True),
    ("younger TSval", [(30, 0, 0, 30), (32, 2000, 0, 32), (54, 1000, 0, 54)], False),
    ("TSval over IP id", [(30, 0, 1, 30), (32, 2000, 2, 32), (33, 1000, 3, 31)], True),
    ("TSval wraps", [(30, 0, 0, 2**32 - 2), (32, 2000, 0, 1), (33, 1000, 0, 2**32 - 1)], True),
    ("same TSval, older IP id", [(30, 0, 10, 30), (32, 2000, 12, 30), (33, 1000, 11, 30)], True),
    ("older IP id", [(30, 0, 10, None), (32, 2000, 12, None), (54, 1000, 11, None)], True),
    ("younger IP id", [(30, 0, 10, None), (32, 2000, 11, None), (33, 1000, 12, None)], False),
    ("IP id wraps", [(30, 0, 65534, None), (32, 2000, 1, None), (33, 1000, 65535, None)], True),
    ("by time, within the RTT", [(30, 0, 0, None), (32, 2000, 0, None), (37, 1000, 0, None)], True),
    ("by time, after the RTT", [(30, 0, 0, None), (32, 2000, 0, None), (57, 1000, 0, None)], False),
]


@pytest.mark.parametrize(("name", "stamps", "is_reordered"), FILLED)
def test_filled_gap(tmp_path: Path, name: str, stamps: list[Any], is_reordered: bool) -> None:
    row = flow(tmp_path, three(*stamps))
    assert row["reordered_count"] == is_reordered, name
    assert row["reordering_extent_count"] == is_reordered
    assert row["retransmits_capture_count"] == (not is_reordered)
    # A filled gap repeats all of its packet, though the capture saw none of it before.
    assert row["retransmitted_capture_bytes"] == (0 if is_reordered else 1000)
    assert row["retransmits_seen_count"] == 0
    assert row["unique_bytes"] == 3000
    assert row["missing_bytes"] == 0


def test_reordering_extent(tmp_path: Path) -> None:
    # 2000, 3000 and 4000 overtook 1000; then 6000 overtook 5000.
    order = [0, 2000, 3000, 4000, 1000, 6000, 5000]
    row = flow(tmp_path, three(*[(30 + i, s, 10 + s // 1000, None) for i, s in enumerate(order)]))
    assert (row["reordered_count"], row["reordering_extent_count"]) == (2, 3)


def test_copy_of_a_packet(tmp_path: Path) -> None:
    row = flow(tmp_path, three((30, 0, 10, 30), (30.1, 0, 10, 30), (31, 1000, 11, 31)))
    assert (row["duplicate_frames_count"], row["retransmits_capture_count"], row["unique_bytes"]) == (1, 0, 2000)


def test_missing_bytes(tmp_path: Path) -> None:
    # 1000 is acknowledged and never seen; so are 500 bytes beyond the highest data seen.
    talk = Conversation().handshake().data(30, 0).data(32, 2000).ack(50, 1000).ack(52, 3500)
    row = flow(tmp_path, talk)
    assert (row["missing_bytes"], row["unique_bytes"], row["retransmits_capture_count"]) == (1500, 2000, 0)


@pytest.mark.parametrize("length", [0, 1])
def test_keep_alive(tmp_path: Path, length: int) -> None:
    talk = Conversation().handshake().data(30, 0).ack(50, 1000)
    talk.packet(5000, 999, 0, length=length).ack(5020, 1000)
    row = flow(tmp_path, talk)
    assert (row["keep_alives_count"], row["retransmits_capture_count"], row["unique_bytes"]) == (1, 0, 1000)
    assert row["dup_acks_count"] == 0
    assert roles(tmp_path, talk)[5] == "keep_alive"


def test_last_byte_not_acknowledged_is_no_keep_alive(tmp_path: Path) -> None:
    row = flow(tmp_path, Conversation().handshake().data(30, 0).data(300, 999, 1))
    assert (row["keep_alives_count"], row["retransmits_timeout_count"]) == (0, 1)
    assert row["retransmitted_capture_bytes"] == 1


@pytest.mark.parametrize(("sequence", "length"), [(1000, 1), (999, 0), (999, 1)])
def test_zero_window(tmp_path: Path, sequence: int, length: int) -> None:
    talk = Conversation().handshake().data(30, 0).ack(50, 1000, window=0)
    talk.packet(300, sequence, 0, length=length).ack(320, 1000, window=0).ack(500, 1000)
    row = flow(tmp_path, talk.data(501, 1000).ack(521, 2000))
    assert (row["zero_windows_count"], row["zero_window_probes_count"]) == (2, 1)
    assert (row["keep_alives_count"], row["retransmits_capture_count"], row["dup_acks_count"]) == (0, 0, 0)
    assert row["stalled_s"] == pytest.approx(0.45)
    assert row["unique_bytes"] == 2000
    assert row["window_min_bytes"] == 0


def test_dup_acks_need_data_and_the_same_window(tmp_path: Path) -> None:
    talk = Conversation().handshake().data(30, 0).data(31, 1000)
    # The first acknowledges new data, the second has another window, the third and fourth are duplicates; the last
    # repeats a number with nothing outstanding.
    talk.ack(50, 1000).ack(51, 1000, window=900).ack(52, 1000, window=900).ack(53, 1000, window=900)
    row = flow(tmp_path, talk.ack(54, 2000, window=900).ack(55, 2000, window=900))
    assert (row["dup_acks_count"], row["acks_count"]) == (2, 6)


def test_window(tmp_path: Path) -> None:
    # Scale 7: 1000 and 900 on the wire; windows of SYNs are never scaled and not counted.
    talk = Conversation().handshake(scale=7).data(30, 0).ack(50, 1000).data(51, 1000).ack(71, 2000, window=900)
    row = flow(tmp_path, talk)
    assert (row["window_min_bytes"], row["window_max_bytes"], row["window_scale"]) == (900 * 128, 1000 * 128, 7)
    assert (row["mss_announced_bytes"], row["options"]) == (1460, flow(tmp_path, talk, "in")["options"])
    largest = Conversation().handshake(scale=15).data(30, 0).ack(50, 1000)
    assert (flow(tmp_path, largest)["window_max_bytes"], flow(tmp_path, largest)["window_scale"]) == (1000 * 2**14, 14)
    unknown = Conversation().data(30, 0).ack(50, 1000)
    assert flow(tmp_path, unknown)["window_max_bytes"] is None


def test_ecn(tmp_path: Path) -> None:
    talk = Conversation().syn(0, flags=ECE | CWR).syn(20, back=True, flags=ECE).ack(20, 0, back=False)
    talk.data(30, 0, ecn=2).data(31, 1000, ecn=3).data(32, 2000, ecn=1)
    talk.packet(51, 0, 2000, back=True, flags=16 | ECE).data(52, 3000, ecn=2, flags=16 | CWR).ack(72, 4000)
    row = flow(tmp_path, talk)
    # Marks in the handshake only negotiate.
    assert (row["ce_count"], row["ece_count"], row["cwr_count"]) == (1, 1, 1)
    assert row["ect_count"] in (3, 4)


def test_handshake_rtt_and_side(tmp_path: Path) -> None:
    for syn_ack, sides in ((19.9, ("sender", "receiver")), (8, ("between", "between")), (0.1, ("receiver", "sender"))):
        talk = Conversation().syn(0).syn(syn_ack, back=True).ack(20, 0, back=False)
        talk.data(30, 0).ack(30 + syn_ack, 1000)
        row = flow(tmp_path, talk)
        assert row["handshake_rtt_ms"] == 20
        assert (row["capture_side"], flow(tmp_path, talk, "in")["capture_side"]) == sides


def test_repeated_syn(tmp_path: Path) -> None:
    talk = Conversation().syn(0).syn(1000).syn(1020, back=True).ack(1020, 0, back=False).data(1030, 0).ack(1050, 1000)
    row = flow(tmp_path, talk)
    assert row["handshake_rtt_ms"] is None
    assert (row["control_retransmits_count"], row["retransmits_capture_count"]) == (1, 0)
    assert row["completion_capture_s"] == pytest.approx(1.05)


def test_repeated_fin(tmp_path: Path) -> None:
    talk = (
        Conversation().handshake().data(30, 0).ack(50, 1000).fin(51, 1000).fin(300, 1000).fin(320, 0, 1001, back=True)
    )
    row = flow(tmp_path, talk.ack(320, 1, back=False, sequence=1001))
    assert (row["control_retransmits_count"], row["retransmits_capture_count"], row["ended"]) == (1, 0, "fin")


def test_timestamp_rtt(tmp_path: Path) -> None:
    talk = Conversation().handshake(timestamps=True)
    # Two packets of one TSval: the first counts, and the acknowledgement at 52 echoes it once more.
    talk.data(30, 0, ts=(30, 7020)).data(30.5, 1000, ts=(30, 7020)).data(35, 2000, ts=(35, 7020))
    talk.ack(51, 1000, ts=(7050, 30)).ack(52, 1000, ts=(7051, 30), sacks=[(2000, 3000)])
    # The repeat has its own TSval, so its echo gives an RTT where Karn's rule gives none.
    talk.data(54, 1000, ts=(54, 7051)).ack(79, 3000, ts=(7078, 54))
    row = flow(tmp_path, talk)
    assert (row["ack_rtt_samples_count"], row["ack_rtt_min_ms"]) == (1, 21)
    assert (row["timestamp_rtt_samples_count"], row["timestamp_rtt_min_ms"]) == (2, 21)


def test_percentiles_of_rtt(tmp_path: Path) -> None:
    # RTTs of 1, 2, … 100 ms.
    talk = Conversation().handshake()
    for turn in range(100):
        talk.data(1000 * turn + 100, 1000 * turn).ack(1000 * turn + 101 + turn, 1000 * turn + 1000)
    row = flow(tmp_path, talk)
    for name, value in (("p50", 50), ("p95", 95), ("p99", 99)):
        assert row[f"ack_rtt_{name}_ms"] == pytest.approx(value, rel=0.016, abs=1)
    assert (row["ack_rtt_min_ms"], row["ack_rtt_samples_count"]) == (1, 100)


def test_sequence_wraps(tmp_path: Path) -> None:
    talk = lost_one()
    wrapped = Conversation(first=2**32 - 1500, remote_first=2**32 - 1).handshake()
    wrapped.data(30, 0).data(31, 1000).data(32, 2000).data(33, 3000)
    wrapped.ack(50, 1000).ack(52, 1000, sacks=[(2000, 3000)]).ack(53, 1000, sacks=[(2000, 4000)])
    wrapped.data(54, 1000).ack(74, 4000)
    assert read(tmp_path, wrapped).flows.equals(read(tmp_path, talk).flows)
    assert read(tmp_path, wrapped).packets.equals(read(tmp_path, talk).packets)


def test_reused_ports(tmp_path: Path) -> None:
    first = Conversation().handshake().data(30, 0).ack(50, 1000)
    first.fin(51, 1000).fin(71, 0, 1001, back=True).ack(71, 1, back=False, sequence=1001)
    second = Conversation(first=900000, remote_first=800000).handshake(5000).data(5030, 0, 500).ack(5050, 500)
    rows = read(tmp_path, merge(first, second)).flows.to_dicts()
    found = [(row["connection_number"], row["unique_bytes"], row["ended"]) for row in rows if row["direction"] == "out"]
    assert found == [(0, 1000, "fin"), (1, 500, "open")]


@pytest.mark.parametrize("direction", [False, True])
def test_reset(tmp_path: Path, direction: bool) -> None:
    talk = Conversation().handshake().data(30, 0).ack(50, 1000)
    talk.rst(51, 0 if direction else 1000, 1000 if direction else 0, back=direction)
    assert flow(tmp_path, talk)["ended"] == "rst"


def test_one_fin_is_open_and_cut_is_cut(tmp_path: Path) -> None:
    talk = Conversation().handshake().data(30, 0).ack(50, 1000).fin(51, 1000)
    assert flow(tmp_path, talk)["ended"] == "open"
    tables = read(tmp_path, write_pcap(talk.packets)[:-1])
    assert tables.error is not None
    assert tables.flows["ended"].unique().to_list() == ["cut"]
    # All whole packets stand; the FIN was cut. 24 bytes of header, 16 a record: the offset is the FIN's record.
    assert tables.capture["frames_count"].to_list() == [5]
    assert tables.error.offset == len(write_pcap(talk.packets)) - 16 - 54
    assert tables.capture["is_cut"].to_list() == [True]


SIX = {"local": "2001:db8::1", "remote": "2001:db8::2"}
SAME = ["frames_count", "data_packets_count", "payload_bytes", "unique_bytes", "retransmits_capture_count"]


def test_every_way_to_write_gives_the_same(tmp_path: Path) -> None:
    packets, _ = simulate(Plan(lost_after=frozenset({5, 39}), keep_alives=1))
    plain = read(tmp_path, packets)
    ways = {
        "big-endian": write_pcap(packets, big_endian=True),
        "ns": write_pcap(packets, nanosecond=True),
        "ns big-endian": write_pcap(packets, nanosecond=True, big_endian=True),
        "modified": write_pcap(packets, modified=True),
        "version 2.2": write_pcap(packets, version=(2, 2)),
        "VLAN": write_pcap(packets, vlan=(5,)),
        "three VLANs": write_pcap(packets, vlan=(5, 6, 7)),
        "raw": write_pcap(packets, link_type=101),
        "null": write_pcap(packets, link_type=0),
        "loopback": write_pcap(packets, link_type=108),
        "SLL": write_pcap(packets, link_type=113),
        "SLL2": write_pcap(packets, link_type=276),
        "IP options": write_pcap(packets, ip_options=b"\x94\4\0\0"),
        "-s 128": write_pcap(packets, snap_length=128),
        "pcapng": write_pcapng(packets),
        "pcapng big-endian ns": write_pcapng(packets, big_endian=True, tsresol=9),
        "pcapng 2^-30": write_pcapng(packets, tsresol=0x80 | 30),
        "pcapng sections": write_pcapng(packets, sections=3, interfaces=2),
        "gzip": gzip.compress(write_pcap(packets)),
        "zstd": zstandard.ZstdCompressor().compress(write_pcap(packets)),
        "xz": lzma.compress(write_pcap(packets)),
    }
    for name, content in ways.items():
        tables = read(tmp_path, content)
        assert tables.error is None, name
        assert tables.flows.drop("frames_bytes").equals(plain.flows.drop("frames_bytes")), name
        assert tables.intervals.equals(plain.intervals), name
        assert tables.packets.drop("frame_bytes").equals(plain.packets.drop("frame_bytes")), name


def test_simple_packet_blocks(tmp_path: Path) -> None:
    # They have no times, so all that rests on times is left out.
    row = flow(tmp_path, write_pcapng(lost_one().packets, simple_blocks=True))
    assert {name: row[name] for name in SAME} == {name: flow(tmp_path, lost_one())[name] for name in SAME}


@pytest.mark.parametrize("extensions", [(), (0,), (0, 60, 43)])
def test_ipv6(tmp_path: Path, extensions: tuple[int, ...]) -> None:
    packets, key = simulate(Plan(lost_after=frozenset({5, 39}), conversation=SIX))
    row = flow(tmp_path, packets, extensions=extensions)
    assert (row["local_address"], row["remote_address"]) == ("2001:db8::1", "2001:db8::2")
    assert {name: row[name] for name in SAME} == {name: key[name] for name in SAME}


@pytest.mark.parametrize("vlan", [(), (5, 6, 7)])
def test_cut_options(tmp_path: Path, vlan: tuple[int, ...]) -> None:
    # 14 + 12 + 20 + 20 = 66 bytes up to the options; timestamps and three blocks need 40, 96 bytes keep 30 of them:
    # the SACK option is cut, and lost.
    talk = Conversation().handshake(timestamps=True)
    for number in (0, 1, 3, 5, 7):
        talk.data(30 + number, 1000 * number, ts=(30 + number, 7020))
    talk.ack(57, 2000, ts=(7057, 31), sacks=[(7000, 8000), (5000, 6000), (3000, 4000)])
    row = flow(tmp_path, talk, snap_length=96, vlan=vlan)
    assert (row["unique_bytes"], row["payload_bytes"], row["acks_count"]) == (5000, 5000, 1)
    assert row["sack_blocks_count"] == (0 if vlan else 3)
    assert read(tmp_path, talk, snap_length=96, vlan=vlan).capture["malformed_packets_count"].item() == 0


@pytest.mark.parametrize("extensions", [(), (0,)])
@pytest.mark.parametrize("ends", [{}, SIX])
def test_merged_segments(tmp_path: Path, ends: dict[str, str], extensions: tuple[int, ...]) -> None:
    # IP length 0: the offload's packet is longer than the field can say, or is not filled in yet.
    talk = Conversation(**ends).handshake()  # type: ignore[arg-type]
    talk.data(30, 0, 60000, ip_length=0).data(31, 60000, 150000, ip_length=0).ack(51, 210000)
    row = flow(tmp_path, talk, snap_length=128, extensions=extensions)
    assert (row["data_packets_count"], row["payload_bytes"], row["unique_bytes"]) == (2, 210000, 210000)
    assert row["retransmits_capture_count"] == 0


def test_intervals(tmp_path: Path) -> None:
    # Steps of 100 ms: the handshake and the first segments; the repeat after the timeout.
    talk = Conversation().handshake().data(30, 0).data(31, 1000).ack(50, 1000).data(310, 1000).ack(330, 2000)
    steps = read(tmp_path, talk).intervals
    out = steps.filter(steps["direction"] == "out")
    assert out["data_packets_count"].to_list() == [2, 1]
    assert out["retransmits_capture_count"].to_list() == [0, 1]
    assert out["newly_acked_bytes"].to_list() == [1000, 1000]
    assert out["unique_bytes"].to_list() == [2000, 0]
    assert out["sequence_end_bytes"].to_list() == [2000, 2000]
    assert out["acknowledged_end_bytes"].to_list() == [1000, 2000]
    assert [time.microsecond for time in out["interval_utc"]] == [0, 300000]


SEGMENTS = 60
segment_numbers = st.frozensets(st.integers(0, SEGMENTS - 1), max_size=4)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a transfer: where it was captured, losses or delays on either side of the capture, wraps, pauses."""
    share = draw(st.sampled_from([0.0, 0.5, 1.0]))
    size = draw(st.sampled_from([500, 1448, 9000]))
    rtt = draw(st.sampled_from([10.0, 20.0, 60.0]))
    is_lossy = draw(st.booleans())
    delays = st.dictionaries(st.integers(1, SEGMENTS - 10), st.sampled_from([1.3, 2.3, 7.7]), max_size=2)
    # What is lost before the capture, and nothing follows it, leaves no gap that a capture could know of.
    lost_before = draw(segment_numbers) - {SEGMENTS - 1} if is_lossy and share else frozenset()
    return Plan(
        segments=SEGMENTS,
        size=size,
        rtt_ms=rtt,
        share=share,
        lost_before=lost_before,
        lost_after=draw(segment_numbers) if is_lossy and share < 1 else frozenset(),
        delayed_before=draw(delays) if not is_lossy and share else {},
        delayed_after=draw(delays) if not is_lossy and share < 1 else {},
        has_probes=draw(st.booleans()),
        closes_after=None if lost_before else draw(st.none() | st.integers(5, SEGMENTS - 5)),
        keep_alives=draw(st.integers(0, 2)),
        sequence=draw(st.sampled_from([1, 10**9, 2**32 - 1, 2**32 - 20 * size])),
        tsval=draw(st.sampled_from([None, 1, 2**32 - 40])),
        conversation={"ip_id": draw(st.sampled_from([1, 65500]))},
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=plans())
def test_key_in_table_out(tmp_path: Path, plan: Plan) -> None:
    packets, key = simulate(plan)
    row = flow(tmp_path, packets)
    expected = {name: value if not isinstance(value, float) else pytest.approx(value) for name, value in key.items()}
    assert {name: row[name] for name in key} == expected
