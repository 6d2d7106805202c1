"""Clocks of captures that cannot be right: two in one file, 1970 in between, fractions beyond the second."""

import struct
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from archives import JOB, list_one, write_archive
from captures import EPOCH_NS, Conversation, Packet, write_pcap
from readings import read_files

RTTS = ("handshake_rtt_ms", "ack_rtt_min_ms", "ack_rtt_p50_ms", "timestamp_rtt_min_ms")


def ingest(tmp_path: Path, content: bytes) -> dict[str, pl.DataFrame]:
    """Return the tables of an archive of one capture."""
    archive = write_archive(tmp_path / "archive", {f"{JOB}/tcpdump:10.0.0.2:1": content})
    return read_files("captures", list_one(archive, tmp_path / "work"), archive, tmp_path)


def reasons(tables: dict[str, pl.DataFrame]) -> list[tuple[str, bool]]:
    return tables["rejects"].select("reason", "is_whole_file").rows()


def transfer() -> list[Packet]:
    """Return a handshake of 20 ms and 20 segments, one a ms, each acknowledged after 20 ms, in the order of time."""
    talk = Conversation().handshake(0, 20)
    for number in range(20):
        talk.packet(30 + number, 1000 * number, 0, length=1000)
    for number in range(20):
        talk.packet(50 + number + 0.5, 0, 1000 * (number + 1), back=True)
    talk.packet(80, 20000, 0)
    return sorted(talk.packets, key=lambda packet: packet.time_ns)


def shift_back(packets: list[Packet], seconds: int) -> list[Packet]:
    """Return packets whose clock, in the direction to the local end, is so many seconds ahead."""
    ahead = seconds * 10**9
    return [replace(p, time_ns=p.time_ns + ahead) if p.source_port == 5201 else p for p in packets]


def test_one_clock_is_as_before(tmp_path: Path) -> None:
    tables = ingest(tmp_path, write_pcap(transfer()))
    out = tables["packet_flows"].filter(direction="out").row(0, named=True)
    assert (out["handshake_rtt_ms"], out["ack_rtt_min_ms"], out["ack_rtt_samples_count"]) == (20, 20.5, 20)
    assert reasons(tables) == []


# 37 s is TAI less UTC, as `tcpdump -j adapter_unsynced` has it; two hours are beyond every RTT.
@pytest.mark.parametrize("seconds", [37, -37, 1, 7200, -7200])
@pytest.mark.parametrize("has_handshake", [True, False])
def test_two_clocks_give_no_rtt(tmp_path: Path, seconds: int, has_handshake: bool) -> None:
    packets = transfer()[0 if has_handshake else 3 :]
    tables = ingest(tmp_path, write_pcap(shift_back(packets, seconds)))
    assert tables["packet_flows"].select(pl.col(RTTS).is_not_null().any()).row(0) == (False,) * 4
    assert tables["packet_flows"]["ack_rtt_samples_count"].to_list() == [0, 0]
    assert tables["packet_intervals"]["ack_rtt_max_ms"].drop_nulls().to_list() == []
    assert reasons(tables)[0] == ("two_clocks", False)
    assert "two clocks" in tables["rejects"]["message"][0]
    assert tables["packet_flows"].filter(direction="out")["payload_bytes"].to_list() == [20000]


def test_a_clock_that_is_set_back_is_not_two_clocks(tmp_path: Path) -> None:
    packets = transfer()
    # Set back by 1 s in the middle of the acknowledgements.
    packets[30:] = [replace(packet, time_ns=packet.time_ns - 10**9) for packet in packets[30:]]
    tables = ingest(tmp_path, write_pcap(packets))
    assert tables["packet_flows"]["handshake_rtt_ms"].to_list() == [20, 20]
    assert reasons(tables) == []


def test_a_clock_from_1970_does_not_overflow(tmp_path: Path) -> None:
    # Sent packets are of 1970: every RTT would be 57 years, and six of them more than 64 bits of ns hold.
    packets = [replace(p, time_ns=p.time_ns - EPOCH_NS + 10**9) if p.source_port != 5201 else p for p in transfer()]
    tables = ingest(tmp_path, write_pcap(packets))
    assert tables["packet_intervals"]["ack_rtt_mean_ms"].drop_nulls().to_list() == []
    assert {reason for reason, _ in reasons(tables)} == {"two_clocks"}


def set_fractions(content: bytes, fractions: dict[int, int], order: str = "<") -> bytes:
    """Return a pcap with these fractions in the records of these numbers."""
    changed, at, number = bytearray(content), 24, 0
    while at < len(changed):
        if number in fractions:
            struct.pack_into(order + "I", changed, at + 4, fractions[number])
        at += 16 + struct.unpack_from(order + "I", changed, at + 8)[0]
        number += 1
    return bytes(changed)


@pytest.mark.parametrize("order", ["<", ">"])
def test_nanoseconds_under_the_magic_of_microseconds(tmp_path: Path, order: str) -> None:
    content = write_pcap(transfer(), nanosecond=True, big_endian=order == ">")
    tables = ingest(tmp_path, struct.pack(order + "I", 0xA1B2C3D4) + content[4:])
    assert tables["packet_flows"]["handshake_rtt_ms"].to_list() == [20, 20]
    assert tables["packet_flows"].filter(direction="out")["ack_rtt_min_ms"].to_list() == [20.5]
    assert reasons(tables) == [("repaired", False)]
    assert "nanoseconds" in tables["rejects"]["message"][0]


# 2^31 µs are 2,147 s, the offset of one damaged bit.
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_damaged_fraction_is_noticed(tmp_path: Path, number: int) -> None:
    tables = ingest(tmp_path, set_fractions(write_pcap(transfer()), {number: 2**31 + 20_000}))
    handshake = tables["packet_flows"]["handshake_rtt_ms"].drop_nulls().to_list()
    assert all(rtt < 1000 for rtt in handshake)
    assert ("malformed_record", False) in reasons(tables)
    assert "in 1 packet:" in tables["rejects"]["message"][0]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"snoop\0\0\0\0\0\0\2\0\0\0\4" + bytes(40), "snoop"),
        (b"GMBU" + bytes(60), "Network Monitor"),
        (b"iptrace 2.0" + bytes(40), "iptrace"),
        # Two ERF records of type 2 (Ethernet), 64 bytes each.
        ((bytes(8) + b"\2\4\0\x40\0\0\0\x3a" + bytes(48)) * 2, "ERF"),
    ],
)
def test_other_formats_are_named_with_the_command_that_converts_them(tmp_path: Path, head: bytes, name: str) -> None:
    tables = ingest(tmp_path, head)
    assert reasons(tables) == [("not_a_capture", True)]
    assert name in tables["rejects"]["message"][0]
    assert "editcap -F pcap" in tables["rejects"]["message"][0]


def test_captures_that_were_joined_by_cat(tmp_path: Path) -> None:
    content = write_pcap(transfer())
    tables = ingest(tmp_path, content + content)
    assert tables["captures"]["frames_count"].to_list() == [len(transfer())]
    assert "mergecap" in tables["rejects"]["message"][0]
