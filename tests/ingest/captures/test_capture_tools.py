"""The parsers of tshark's and tcptrace's output, and the generator of captures against both."""

from pathlib import Path

import pytest
from capture_tools import TcptraceFlow, TsharkPacket, parse_tcptrace, parse_tshark, run_tcptrace, run_tshark
from capture_transfer import Plan, simulate
from captures import Conversation, save, write_pcap, write_pcapng

LONG_OUTPUT = """\
1 arg remaining, starting with 'a.pcap'
2 TCP connections traced:
TCP connection 1:
	host a:        10.0.0.1:40000
	host b:        10.0.0.2:5201
	complete conn: yes
	total packets: 87
	filename:      a.pcap
   a->b:			      b->a:
     total packets:            45           total packets:            42
     unique bytes sent:     40000           unique bytes sent:         0
     actual data pkts:         41           actual data pkts:          0
     rexmt data pkts:           1           rexmt data pkts:           0
     rexmt data bytes:       1000           rexmt data bytes:          0
     urgent data pkts:          0 pkts      urgent data pkts:          0 pkts
     throughput:           543210 Bps       throughput:                0 Bps

     RTT samples:              19           RTT samples:               1
     RTT min:                20.1 ms        RTT min:                 0.0 ms
     RTT from 3WHS:          20.1 ms        RTT from 3WHS:           0.0 ms
================================
TCP connection 2:
	host c:        2001:db8::1:40001
	host d:        2001:db8::2:5201
     total packets:             1           total packets:             0
     unique bytes sent:         0           unique bytes sent:         0
     actual data pkts:          0           actual data pkts:          0
     rexmt data pkts:           0           rexmt data pkts:           0
     rexmt data bytes:          0           rexmt data bytes:          0
"""


def test_parse_tcptrace() -> None:
    flows = list(parse_tcptrace(LONG_OUTPUT))
    assert flows[0] == TcptraceFlow("10.0.0.1", 40000, "10.0.0.2", 5201, 45, 40000, 41, 1, 1000, 19, 20.1)
    assert flows[1] == TcptraceFlow("10.0.0.2", 5201, "10.0.0.1", 40000, 42, 0, 0, 0, 0, 1, 0.0)
    assert flows[2] == TcptraceFlow("2001:db8::1", 40001, "2001:db8::2", 5201, 1, 0, 0, 0, 0, 0, None)
    assert len(flows) == 4


def test_parse_tshark() -> None:
    # Eleven values, then a field for each of twelve marks.
    values = "41|0|40000|6000|5000|1000|0x0029|131|7020|21000|"
    marks = frozenset({"retransmission", "fast_retransmission"})
    packet = parse_tshark(f"{values}|1|1" + "|" * 10)
    assert packet == TsharkPacket(41, 0, 40000, 6000, 5000, 1000, 41, 131, 7020, 21000, None, marks)
    acknowledgement = parse_tshark("42|0|5201|5000|6000|0|||||0.0205" + "|" * 12)
    assert acknowledgement == TsharkPacket(42, 0, 5201, 5000, 6000, 0, None, None, None, None, 20.5, frozenset())


def test_generated_transfer_in_tcptrace(tmp_path: Path) -> None:
    packets, key = simulate(Plan(lost_after=frozenset({5, 39})))
    out, _ = run_tcptrace(save(tmp_path / "a.pcap", write_pcap(packets)))
    assert out.frames == key["frames_count"] == 46  # SYN, ACK, 40 segments, 2 repeats, FIN, ACK
    assert out.data_packets == key["data_packets_count"] == 42
    assert out.rexmt_packets == key["retransmits_seen_count"] == 2
    assert out.unique_bytes == key["unique_bytes"] == 40000
    assert out.rtt_min_ms == 20


@pytest.mark.slow
def test_writers_are_read_alike_by_tshark(tmp_path: Path) -> None:
    four = Conversation().handshake(timestamps=True).data(21, 0, ts=(21, 7020)).ack(41, 1000, sacks=[(2000, 3000)])
    six = Conversation("2001:db8::1", remote="2001:db8::2").handshake().data(21, 0).ack(41, 1000)
    ways = {
        "plain": write_pcap(four.packets),
        "big": write_pcap(four.packets, big_endian=True),
        "ns": write_pcap(four.packets, nanosecond=True, big_endian=True),
        "modified": write_pcap(four.packets, modified=True),
        "old": write_pcap(four.packets, version=(2, 2)),
        "cut": write_pcap(four.packets, snap_length=96),
        "vlan": write_pcap(four.packets, vlan=(5, 6, 7)),
        "raw": write_pcap(four.packets, link_type=101),
        "null": write_pcap(four.packets, link_type=0),
        "loop": write_pcap(four.packets, link_type=108),
        "sll": write_pcap(four.packets, link_type=113),
        "sll2": write_pcap(four.packets, link_type=276),
        "ip options": write_pcap(four.packets, ip_options=b"\x94\4\0\0"),
        "six": write_pcap(six.packets),
        "extensions": write_pcap(six.packets, extensions=(0, 60, 43)),
        "six sll2": write_pcap(six.packets, link_type=276),
        "ng": write_pcapng(four.packets),
        "ng big": write_pcapng(four.packets, big_endian=True, tsresol=9),
        "ng binary": write_pcapng(four.packets, tsresol=0x80 | 30),
        "ng sections": write_pcapng(four.packets, sections=2, interfaces=2),
        "ng simple": write_pcapng(four.packets, simple_blocks=True),
    }
    expected = [(1, 0), (2, 0), (3, 0), (4, 1000), (5, 0)]
    for name, content in ways.items():
        packets = run_tshark(save(tmp_path / "a.pcap", content))
        assert [(packet.number, packet.payload) for packet in packets] == expected, name
        if name != "ng simple":  # Simple packet blocks have no time.
            assert packets[-1].ack_rtt_ms is not None, name
            assert round(packets[-1].ack_rtt_ms, 2) == 20, name
