"""Copies of packets, as monitor ports and two points of capture make them, and segments that fail their checksum."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from archives import JOB, list_one, write_archive
from capture_tools import run_tcptrace, run_tool
from capture_transfer import Plan, simulate
from captures import ACK, Conversation, Packet, save, write_pcap
from readings import read_files

from ccreport.ingest.captures.file import CaptureTables, read_capture

# What copies must not change; frames, data packets and payload count what the capture holds.
COUNTED = {
    *("frames_count", "data_packets_count", "payload_bytes", "frames_bytes", "duplicate_frames_count"),
    *("in_flight_mean_bytes", "last_utc"),
}
Change = Callable[[Packet, int], Packet]


def read(tmp_path: Path, packets: list[Packet], **way: Any) -> CaptureTables:
    return read_capture(save(tmp_path / "capture", write_pcap(packets, **way)), wants_packets=True)


def transfer(share: float = 0) -> list[Packet]:
    """Return a connection with losses, reordering, a keep-alive and both FINs, in order of time.

    `share` is the part of the path before the capture: at 1 it is beside the receiver, which acknowledges at once.
    """
    plan = Plan(segments=60, share=share, lost_after=frozenset({5, 6, 30, 59}), delayed_before={20: 2.3}, keep_alives=1)
    return simulate(plan)[0]


def doubled(
    packets: list[Packet], times: int, after_us: int, change: Change = lambda packet, _: packet
) -> list[Packet]:
    """Return packets, each followed by copies so much later, in order of time."""
    copies = [
        change(replace(packet, time_ns=packet.time_ns + number * after_us * 1000), number)
        for packet in packets
        for number in range(times)
    ]
    return sorted(copies, key=lambda packet: packet.time_ns)


def facts(tables: CaptureTables) -> list[dict[str, object]]:
    rows = tables.flows.sort("direction").to_dicts()
    return [{name: value for name, value in row.items() if name not in COUNTED} for row in rows]


# As close as a mirror makes them, so that copies follow at once; and so late that others, and acknowledgements, are
# in between.
@pytest.mark.parametrize("after_us", [2, 700, 1500])
@pytest.mark.parametrize("times", [2, 4])
@pytest.mark.parametrize("share", [0, 1])
def test_copies_change_nothing_but_the_number_of_frames(
    tmp_path: Path, times: int, after_us: int, share: float
) -> None:
    packets = transfer(share)
    once, again = read(tmp_path, packets), read(tmp_path, doubled(packets, times, after_us))
    assert facts(again) == facts(once)
    before, after = once.flows["frames_count"].sum(), again.flows["frames_count"].sum()
    assert (after, again.flows["duplicate_frames_count"].sum()) == (times * before, (times - 1) * before)


@pytest.mark.parametrize("after_us", [2, 1500])
@pytest.mark.parametrize("has_ids", [True, False])
def test_copies_behind_a_router_are_known_by_their_ttl(tmp_path: Path, after_us: int, has_ids: bool) -> None:
    # Without ids, as in IPv6 and with hosts that set them to 0.
    packets = transfer() if has_ids else [replace(packet, ip_id=0) for packet in transfer()]
    routed = doubled(packets, 2, after_us, lambda packet, number: replace(packet, ttl=64 - number))
    once, again = read(tmp_path, packets), read(tmp_path, routed)
    assert facts(again) == facts(once)
    assert again.flows["duplicate_frames_count"].sum() == len(packets)


def test_copies_of_ipv6_are_known_by_their_hop_limit(tmp_path: Path) -> None:
    ends = {"10.0.0.1": "2001:db8::1", "10.0.0.2": "2001:db8::2"}
    packets = [replace(p, source=ends[p.source], destination=ends[p.destination]) for p in transfer()]
    routed = doubled(packets, 2, 100, lambda packet, number: replace(packet, ttl=64 - number))
    assert facts(read(tmp_path, routed)) == facts(read(tmp_path, packets))


def test_a_path_that_becomes_longer_makes_no_copies(tmp_path: Path) -> None:
    packets = [replace(packet, ip_id=0) for packet in transfer()]
    middle = len(packets) // 2
    longer = [replace(packet, ttl=63) if number > middle else packet for number, packet in enumerate(packets)]
    assert facts(read(tmp_path, longer)) == facts(read(tmp_path, packets))


def test_what_is_sent_again_is_no_copy(tmp_path: Path) -> None:
    talk = Conversation().syn(0).syn(1000).syn(1020, back=True).ack(1020, 0, back=False)
    # Data that were acknowledged, a second acknowledgement, and a FIN, each with an IP id of its own.
    talk.data(1030, 0).data(1031, 1000).ack(1050, 1000).data(1052, 0).ack(1053, 1000)
    talk.ack(1060, 2000).fin(1070, 2000).fin(1300, 2000)
    tables = read(tmp_path, talk.packets)
    assert tables.flows["duplicate_frames_count"].to_list() == [0, 0]
    out = tables.flows.filter(direction="out").row(0, named=True)
    assert (out["control_retransmits_count"], out["retransmits_capture_count"], out["dup_acks_count"]) == (2, 1, 1)
    assert out["handshake_rtt_ms"] is None


def test_a_copied_syn_answer_without_an_id_keeps_the_handshake(tmp_path: Path) -> None:
    # Linux sends SYN-ACKs with the id 0.
    talk = Conversation().syn(0).syn(0.01, ip_id=1).syn(20, back=True, ip_id=0).syn(20.01, back=True, ip_id=0)
    talk.packet(20.1, 0, 0, flags=ACK).data(30, 0).ack(50, 1000)
    out = read(tmp_path, talk.packets).flows.filter(direction="out").row(0, named=True)
    assert (out["handshake_rtt_ms"], out["control_retransmits_count"], out["duplicate_frames_count"]) == (
        pytest.approx(20.1),
        0,
        1,
    )


def test_tools_see_the_copies_as_sent_again(tmp_path: Path) -> None:
    # The witnesses: both tools count copies of acknowledged data as retransmits where ours are copies.
    packets = doubled(transfer(share=1), 2, 1500)
    path = save(tmp_path / "doubled.pcap", write_pcap(packets))
    ours = read_capture(path).flows.filter(direction="out").row(0, named=True)
    theirs = next(flow for flow in run_tcptrace(path) if flow.source == "10.0.0.1")
    assert ours["frames_count"] == theirs.frames
    assert ours["data_packets_count"] == theirs.data_packets
    assert ours["unique_bytes"] == theirs.unique_bytes
    assert ours["retransmits_seen_count"] < theirs.rexmt_packets
    # Without the copies of each id, which editcap takes out by their bytes, it counts as we do.
    run_tool("editcap", "-F", "pcap", "-D", "1000", str(path), str(tmp_path / "once.pcap"))
    alone = next(flow for flow in run_tcptrace(tmp_path / "once.pcap") if flow.source == "10.0.0.1")
    assert (alone.unique_bytes, alone.rexmt_packets) == (ours["unique_bytes"], ours["retransmits_seen_count"])


def set_checksums(packets: list[Packet], kinds: dict[int, int | str], rest: int | str = "right") -> list[Packet]:
    """Return packets with these checksums, by their place, and the rest with another."""
    return [replace(packet, checksum=kinds.get(number, rest)) for number, packet in enumerate(packets)]


def talk_with_damage() -> Conversation:
    """Return a handshake and three segments of which the second (packet 4) comes again, as packet 7."""
    talk = Conversation().handshake().data(30, 0).data(31, 1000).data(32, 2000).ack(50, 1000)
    return talk.data(80, 1000).ack(100, 3000)


@pytest.mark.parametrize("version", [4, 6])
def test_a_segment_that_fails_its_checksum_counts_nothing(tmp_path: Path, version: int) -> None:
    packets = talk_with_damage().packets
    if version == 6:
        ends = {"10.0.0.1": "2001:db8::1", "10.0.0.2": "2001:db8::2"}
        packets = [replace(p, source=ends[p.source], destination=ends[p.destination]) for p in packets]
    tables = read(tmp_path, set_checksums(packets, {4: "damaged"}))
    out = tables.flows.filter(direction="out").row(0, named=True)
    # Three segments arrived whole; the one in the middle once, later, to fill its gap.
    assert (out["unique_bytes"], out["payload_bytes"], out["data_packets_count"]) == (3000, 3000, 3)
    assert (out["retransmits_seen_count"], out["missing_bytes"]) == (0, 0)
    assert tables.capture.select("tcp_packets_count", "malformed_packets_count").row(0) == (8, 1)
    right = read(tmp_path, set_checksums(packets, {})).flows.filter(direction="out").row(0, named=True)
    assert (right["unique_bytes"], right["payload_bytes"], right["retransmits_seen_count"]) == (3000, 4000, 1)


@pytest.mark.parametrize(
    ("kinds", "way"),
    [
        # Left to the card: the pseudo-header's sum, 0, or anything, in all of a direction.
        (dict.fromkeys((0, 2, 3, 4, 5, 7), "pseudo"), {}),
        (dict.fromkeys((0, 2, 3, 4, 5, 7), 0), {}),
        (dict.fromkeys((0, 2, 3, 4, 5, 7), 0x1234), {}),
        # Not captured whole.
        ({4: "damaged"}, {"snap_length": 128}),
        ({4: "damaged"}, {"snap_length": 1000}),
    ],
)
def test_a_checksum_that_tells_nothing_leaves_out_nothing(
    tmp_path: Path, kinds: dict[int, int | str], way: dict[str, Any]
) -> None:
    packets = talk_with_damage().packets
    tables = read(tmp_path, set_checksums(packets, kinds), **way)
    assert facts(tables) == facts(read(tmp_path, packets))
    assert tables.capture["malformed_packets_count"].to_list() == [0]


def test_segments_that_a_card_merged_are_not_judged(tmp_path: Path) -> None:
    # Hardware merges three segments, and leaves the checksum of the first.
    talk = Conversation().handshake().data(30, 0, 4380).ack(50, 4380)
    tables = read(tmp_path, set_checksums(talk.packets, {3: 0x1234}))
    assert tables.flows.filter(direction="out")["unique_bytes"].to_list() == [4380]


def test_damaged_segments_are_noted_and_tshark_finds_the_same(tmp_path: Path) -> None:
    content = write_pcap(set_checksums(talk_with_damage().packets, {4: "damaged"}))
    archive = write_archive(tmp_path / "archive", {f"{JOB}/tcpdump:10.0.0.2:1": content})
    (message,) = read_files("captures", list_one(archive, tmp_path / "work"), archive, tmp_path)["rejects"]["message"]
    assert "the TCP checksum fails in 1 segment:" in message
    path = save(tmp_path / "x.pcap", content)
    shown = run_tool(
        "tshark", "-n", "-r", str(path), "-o", "tcp.check_checksum:TRUE", "-Y", "tcp.checksum.status == 0",
        "-T", "fields", "-e", "frame.number",
    )  # fmt: skip
    assert shown.split() == ["5"]
