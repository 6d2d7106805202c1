"""The capture reader beside tcptrace and tshark, on generated captures, the sample archive's and the corpus.

Counts a direction are compared with tcptrace, the roles of packets with tshark's marks, by frame number. Four
differences from tshark and one from tcptrace are proven packet by packet from tshark's own fields; each other one
stands in `capture_differences` by file: the exact numbers, and who is right and why.
"""

import re
import tarfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard
from archives import SHARED
from capture_differences import DAMAGED, EXPECTED, TCPTRACE, TSHARK, UNREAD_BY_TCPTRACE, UNREADABLE
from capture_tools import TcptraceFlow, TsharkPacket, run_tcptrace, run_tool, run_tshark
from capture_transfer import Plan, simulate
from captures import Packet, save, shift, write_pcap

from ccreport.archive.raw_file import RawFileError
from ccreport.core.evaluation import SAMPLE
from ccreport.ingest.captures.file import CaptureTables, read_capture

CORPUS = SHARED / "corpus" / "pcap"

# Column of `packet_flows`: what tcptrace calls it.
COLUMNS = {
    "frames_count": "frames",
    "data_packets_count": "data_packets",
    "unique_bytes": "unique_bytes",
    "retransmits_seen_count": "rexmt_packets",
}
# Roles that are one thing for both: ours, tshark's marks. tshark marks what repeats a SYN or FIN like repeated data.
KINDS = {
    "retransmit": (
        ("retransmit_fast", "retransmit_timeout", "retransmit_probe", "control_retransmit"),
        ("retransmission", "fast_retransmission", "spurious_retransmission"),
    ),
    "reordered": (("reordered",), ("out_of_order",)),
    "probe": (("keep_alive", "zero_window_probe"), ("keep_alive", "zero_window_probe")),
    "dup_ack": (("dup_ack",), ("duplicate_ack",)),
}
GENERATED = {
    "losses": Plan(segments=200, lost_after=frozenset({5, 6, 90, 199})),
    "losses before": Plan(segments=200, share=1, lost_before=frozenset({5, 6, 90, 198})),
    "losses between": Plan(segments=200, share=0.5, lost_before=frozenset({9}), lost_after=frozenset({50, 199})),
    "timeout": Plan(has_probes=False, lost_after=frozenset({37, 38, 39})),
    "lost again": Plan(lost_after=frozenset({20}), lost_again=frozenset({20})),
    "reordered": Plan(share=1, delayed_before={10: 2.3, 20: 1.3}),
    "spurious": Plan(delayed_after={10: 9}),
    "zero window": Plan(closes_after=20),
    "keep-alives": Plan(keep_alives=2),
    "wraps": Plan(sequence=2**32 - 7000, tsval=2**32 - 30, lost_after=frozenset({3, 9})),
    "not captured": Plan(uncaptured=frozenset({3, 4, 20})),
    "IPv6": Plan(lost_after=frozenset({5}), conversation={"local": "2001:db8::1", "remote": "2001:db8::2"}),
}
Found = dict[str, tuple[Any, ...]]


def compare_with_tcptrace(tables: CaptureTables, flows: list[TcptraceFlow]) -> Found:
    """Return what differs: `address:port address:port number column` to our value and tcptrace's."""
    theirs: dict[tuple[str, ...], list[TcptraceFlow]] = defaultdict(list)
    for flow in flows:
        theirs[name_ends(flow.source, flow.source_port, flow.destination, flow.destination_port)].append(flow)
    ours: dict[tuple[str, ...], list[dict[str, object]]] = defaultdict(list)
    for row in tables.flows.sort("first_utc", "connection_number").to_dicts():
        local, remote = (row["local_address"], row["local_port"]), (row["remote_address"], row["remote_port"])
        ends = (*local, *remote) if row["direction"] == "out" else (*remote, *local)
        ours[name_ends(*ends)].append(row)
    found: Found = {}
    for ends in ours.keys() | theirs.keys():
        name = " ".join(ends)
        if len(ours[ends]) != len(theirs[ends]):
            found[f"{name} connections"] = (len(ours[ends]), len(theirs[ends]))
            continue
        for number, (row, flow) in enumerate(zip(ours[ends], theirs[ends], strict=True)):
            for column, attribute in COLUMNS.items():
                if row[column] != getattr(flow, attribute):
                    found[f"{name} {number} {column}"] = (row[column], getattr(flow, attribute))
    return found


def name_ends(source: str, source_port: int, destination: str, destination_port: int) -> tuple[str, ...]:
    """Return the ends of a flow as text."""
    return f"{source}:{source_port}", f"{destination}:{destination_port}"


def compare_with_tshark(tables: CaptureTables, packets: list[TsharkPacket]) -> Found:
    """Return what differs: the kind to the packets that only we, and that only tshark has of it."""
    roles = dict(zip(tables.packets["packet_number"], tables.packets["role"], strict=True))
    found: Found = {}
    for kind, (names, marks) in KINDS.items():
        ours = {number for number, role in roles.items() if role in names}
        theirs = {packet.number for packet in packets if packet.marks.intersection(marks)}
        if ours != theirs:
            found[kind] = (sorted(ours - theirs), sorted(theirs - ours))
    return found


class Evidence:
    """What tshark's own fields of the packets before say of one packet."""

    def __init__(self, packets: list[TsharkPacket]) -> None:
        self._before: dict[tuple[int, int], list[TsharkPacket]] = defaultdict(list)
        self._packets = {packet.number: packet for packet in packets}
        for packet in packets:
            self._before[packet.stream, packet.source_port].append(packet)

    def is_repeat(self, number: int) -> bool:
        """Return whether an earlier packet holds a byte of this one."""
        packet = self._packets[number]
        return any(
            -before.payload < modulo(before.sequence - packet.sequence) < packet.payload
            for before in self._data(packet)
        )

    def sent_after(self, number: int) -> bool | None:
        """Return whether it was sent after the first packet seen that lies above it: by TSval, else by IP id."""
        packet = self._packets[number]
        for other in self._data(packet):
            if modulo(other.sequence - packet.sequence) >= packet.payload:
                if packet.tsval is not None and other.tsval is not None and packet.tsval != other.tsval:
                    return modulo(packet.tsval - other.tsval) > 0
                if packet.ip_id and other.ip_id and packet.ip_id != other.ip_id:
                    return (packet.ip_id - other.ip_id) % 65536 < 32768
                return None
        return None

    def is_no_keep_alive(self, number: int) -> bool:
        """Return whether a repeated byte cannot be a keep-alive, by the timestamps (ticks of 1 ms).

        It was sent within a second of its sender's last packet (Linux has no shorter TCP_KEEPIDLE), or its TSecr is
        older than the acknowledgement of the byte, which its sender had not seen.
        """
        packet = self._packets[number]
        before = [other for other in self._before[packet.stream, packet.source_port] if other.number < number]
        if None not in (packet.tsval, before[-1].tsval) and modulo(packet.tsval - before[-1].tsval) < 1000:
            return True
        end = packet.sequence + packet.payload
        answers = (
            other
            for (stream, port), others in self._before.items()
            if stream == packet.stream and port != packet.source_port
            for other in others
            if other.number < number and modulo(other.acknowledgement - end) >= 0
        )
        first = next(answers, None)
        return first is None or (None not in (packet.tsecr, first.tsval) and modulo(packet.tsecr - first.tsval) < 0)

    def is_all_acknowledged(self, number: int) -> bool:
        """Return whether no data above its acknowledgement were seen, so that it duplicates nothing (RFC 5681 2)."""
        packet = self._packets[number]
        return not any(
            modulo(other.sequence + other.payload - packet.acknowledgement) > 0
            for (stream, port), others in self._before.items()
            if stream == packet.stream and port != packet.source_port
            for other in others
            if other.number < number and other.payload
        )

    def _data(self, packet: TsharkPacket) -> list[TsharkPacket]:
        others = self._before[packet.stream, packet.source_port]
        return [other for other in others if other.number < packet.number and other.payload]


def modulo(difference: int) -> int:
    """Return a difference of 32-bit numbers in -2³¹ … 2³¹-1."""
    return (difference + 2**31) % 2**32 - 2**31


def leave_control_packets_out(found: Found, packets: list[TsharkPacket]) -> Found:
    """Return the differences from tcptrace without SYNs and FINs sent again, which it counts as data sent again."""
    ends = defaultdict(set)
    for packet in packets:
        ends[packet.stream].add(packet.source_port)

    def is_proven(name: str, ours: int, theirs: int) -> bool:
        source, destination, *_, column = name.split()
        port, other = (int(end.rpartition(":")[2]) for end in (source, destination))
        again = [p for p in packets if p.source_port == port and other in ends[p.stream] and not p.payload]
        return column == "retransmits_seen_count" and theirs - ours == sum("retransmission" in p.marks for p in again)

    return {name: sides for name, sides in found.items() if not is_proven(name, *sides)}


def leave_proven_out(found: Found, packets: list[TsharkPacket]) -> Found:
    """Return the differences from tshark without those that are proven.

    tshark takes what comes within 3 ms or an RTT of the highest data for out of order: not so where the bytes were seen
    before, or TSval or IP id say that it was sent after what overtook it; it is, where they say the opposite. It counts
    a repeated acknowledgement as duplicate also where nothing is outstanding, and any repeated byte that ends where the
    highest one did as a keep-alive, which is not sent while that byte is outstanding, nor within a second.
    """
    evidence = Evidence(packets)
    ours, theirs = found.get("retransmit", ([], [])), found.get("reordered", ([], []))
    again = {n for n in set(ours[0]) & set(theirs[1]) if evidence.is_repeat(n) or evidence.sent_after(n)}
    late = {n for n in set(ours[1]) & set(theirs[0]) if not evidence.is_repeat(n) and evidence.sent_after(n) is False}
    idle = {n for n in found.get("dup_ack", ([], []))[1] if evidence.is_all_acknowledged(n)}
    byte = {n for n in set(ours[0]) & set(found.get("probe", ([], []))[1]) if evidence.is_no_keep_alive(n)}
    proven = {
        "retransmit": (again | byte, late),
        "reordered": (late, again),
        "dup_ack": (set(), idle),
        "probe": (set(), byte),
    }
    rest = {
        kind: tuple([n for n in side if n not in known] for side, known in zip(sides, proven[kind], strict=True))
        for kind, sides in found.items()
    }
    return {kind: sides for kind, sides in rest.items() if any(sides)}


def strip_reasons(differences: dict[str, tuple[object, object, str]]) -> Found:
    """Return the numbers of expected differences."""
    return {name: (ours, theirs) for name, (ours, theirs, _) in differences.items()}


def several_flows() -> list[Packet]:
    """Return two transfers at once on neighbouring ports, and a third that reuses the ports of the first."""
    wires = [
        simulate(Plan(lost_after=frozenset({5, 39}), sequence=sequence, conversation={"local_port": port}))[0]
        for port, sequence in ((40000, 1000), (40002, 5000))
    ]
    later = simulate(Plan(lost_after=frozenset({7}), sequence=10**9))[0]
    return sorted([*wires[0], *wires[1], *shift(later, 60000)], key=lambda packet: packet.time_ns)


@cache
def generated(name: str) -> bytes:
    """Return a generated capture."""
    return write_pcap(several_flows() if name == "several" else simulate(GENERATED[name])[0])


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the sample archive's captures."""
    folder = tmp_path_factory.mktemp("sample")
    for part in sorted(SAMPLE.glob("*.tar.zst")):
        with zstandard.open(part) as stream, tarfile.open(fileobj=stream, mode="r|") as packed:
            for member in packed:
                if member.isfile() and Path(member.name).name.startswith("tcpdump:") and "log" not in member.name:
                    packed.extract(member, folder, filter="data")
    return folder


def leave_damaged_out(path: Path, numbers: tuple[int, ...], folder: Path) -> Path:
    """Return a copy of a capture without these packets."""
    whole = folder / "whole.pcap"
    run_tool("editcap", "-F", "pcap", str(path), str(whole), *map(str, numbers))
    return whole


def check(path: Path, name: str, folder: Path | None = None) -> None:
    """Compare one capture with both tools; one with damaged segments, which no receiver took, without these."""
    tables = read_capture(path, wants_packets=True)
    if name in DAMAGED:
        assert folder is not None
        path = leave_damaged_out(path, DAMAGED[name], folder)
        whole = read_capture(path, wants_packets=True)
        assert tables.flows.equals(whole.flows)
        tables = whole
    packets = run_tshark(path)
    if name not in UNREAD_BY_TCPTRACE:
        found = leave_control_packets_out(compare_with_tcptrace(tables, run_tcptrace(path)), packets)
        assert found == strip_reasons(TCPTRACE.get(name, {})), "tcptrace"
    found = leave_proven_out(compare_with_tshark(tables, packets), packets)
    assert found == strip_reasons(TSHARK.get(name, {})), "tshark"


@pytest.mark.parametrize("name", [*GENERATED, "several"])
def test_generated_captures(tmp_path: Path, name: str) -> None:
    check(save(tmp_path / "capture.pcap", generated(name)), name)


@pytest.mark.slow
def test_sample_captures(sample: Path) -> None:
    paths = sorted(path for path in sample.rglob("tcpdump:*"))
    assert len(paths) == 22
    for path in paths:
        check(path, "/".join(path.parts[-2:]))


@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.glob("*")) if CORPUS.exists() else ["absent"])
def test_corpus(tmp_path: Path, name: str) -> None:
    if not CORPUS.exists():
        pytest.skip("the corpus is not there")
    if name in UNREADABLE:
        with pytest.raises(RawFileError):
            read_capture(CORPUS / name)
        assert not run_tshark(CORPUS / name)
    else:
        check(CORPUS / name, name, tmp_path)


def test_expected_counts() -> None:
    """Frames, TCP packets and connections of the corpus as its list gives them (from tshark)."""
    if not CORPUS.exists():
        pytest.skip("the corpus is not there")
    found: Found = {}
    for line in (CORPUS.parent / "EXPECTED.tsv").read_text().splitlines():
        name = line.split("\t")[0].removeprefix("pcap/")
        counts = re.search(r"tshark: frames=(\d+) tcp=(\d+) streams=(\d+)", line)
        if counts is None or name in UNREADABLE:
            continue
        row = read_capture(CORPUS / name).capture.to_dicts()[0]
        ours = (row["frames_count"], row["tcp_packets_count"], row["connections_count"])
        theirs = tuple(int(count) for count in counts.groups())
        if ours != theirs:
            found[name] = (ours, theirs)
    assert found == strip_reasons(EXPECTED)
