"""Captures of an archive: tables with the identifiers of runs and flows, and a reject for each way to be broken."""

import gzip
import lzma
import random
import resource
import struct
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
import zstandard
from archives import JOB, list_one, write_archive
from capture_transfer import Plan, simulate
from captures import Conversation, write_pcap, write_pcapng
from fuzz.mutations import mutate
from fuzz.targets import list_inputs
from readings import read_files

from ccreport.archive.manifest import read_manifest
from ccreport.core.identifiers import flow_id_of_connection
from ccreport.ingest.captures import file

NAME = f"{JOB}/tcpdump:10.0.0.2:1"
PACKETS = simulate(Plan(segments=10))[0]
WHOLE = write_pcap(PACKETS)
LOG = "tcpdump: listening on s0, link-type EN10MB (Ethernet), snapshot length 128 bytes\n24 packets captured\n"
TABLES = ("captures", "capture_logs", "packet_flows", "packet_intervals", "packets")


def ingest(
    tmp_path: Path, content: bytes, packet_runs: list[str] | None = None, others: Mapping[str, bytes] | None = None
) -> dict[str, pl.DataFrame]:
    """Return the tables and rejects of an archive of one capture and its log, and of others."""
    files = {NAME: content, f"{JOB}/tcpdump-log:10.0.0.2:1": LOG, **(others or {})}
    archive = write_archive(tmp_path / "archive", files)
    manifest = list_one(archive, tmp_path / "work")
    return read_files("captures", manifest, archive, tmp_path, packet_runs=tuple(packet_runs or ()))


def run_id(tmp_path: Path) -> str:
    (manifest,) = (tmp_path / "work" / "manifests").iterdir()
    return read_manifest(manifest).runs[0].run_id


def test_tables_have_the_identifiers_of_run_file_and_flow(tmp_path: Path) -> None:
    tables = ingest(tmp_path, WHOLE)
    run = run_id(tmp_path)
    flow = flow_id_of_connection(run, "10.0.0.1", 40000, "10.0.0.2", 5201)
    assert tables["packet_flows"].select("run_id", "flow_id", "direction").rows() == [
        (run, flow, "out"),
        (run, flow, "in"),
    ]
    assert set(tables["packet_intervals"]["flow_id"]) == {flow}
    assert tables["captures"].select("run_id", "frames_count", "is_cut").rows() == [(run, len(PACKETS), False)]
    assert tables["capture_logs"]["captured_packets_count"].to_list() == [24]
    assert tables["packets"].is_empty()
    assert tables["rejects"].is_empty()


def test_a_long_capture_stands_beside_a_short_one(tmp_path: Path) -> None:
    # The length on the wire of the first frame, 36 bytes into the file; and no snap length, 16 bytes into it.
    long = WHOLE[:36] + struct.pack("<I", 3_000_000_000) + WHOLE[40:]
    endless = WHOLE[:16] + bytes(4) + WHOLE[20:]
    tables = ingest(tmp_path, WHOLE, others={f"{NAME[:-1]}2": long, f"{NAME[:-1]}3": endless})
    short = len(WHOLE) - 24 - 16 * len(PACKETS)
    (first,) = struct.unpack("<I", WHOLE[36:40])
    captures = tables["captures"].sort("run_id")
    assert captures["frames_bytes"].to_list() == [short, short - first + 3_000_000_000, short]
    assert captures["snap_length_bytes"].is_null().to_list() == [False, False, True]


@pytest.mark.slow
def test_what_a_capture_took_of_memory_goes_back(tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311 (not for secrets)
    inputs = list(list_inputs("capture"))
    others = {f"{NAME[:-1]}{number}": mutate(chance.choice(inputs), chance) for number in range(2, 102)}
    ingest(tmp_path, WHOLE)
    before = read_memory_mb()
    ingest(tmp_path, WHOLE, others=others)
    # 3 to 4 MB for each where the arrays were not mapped.
    assert read_memory_mb() - before < 150


def read_memory_mb() -> float:
    """Return the memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def test_packets_are_kept_of_the_runs_that_are_named(tmp_path: Path) -> None:
    ingest(tmp_path, WHOLE)
    packets = ingest(tmp_path, WHOLE, [run_id(tmp_path)])["packets"]
    assert packets["packet_number"].to_list() == list(range(1, len(PACKETS) + 1))
    assert packets["capture_s"].is_sorted()


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, zstandard.compress])
def test_compressed_captures(tmp_path: Path, compress: object) -> None:
    assert callable(compress)
    assert ingest(tmp_path, compress(WHOLE))["captures"]["frames_count"].item() == len(PACKETS)


def test_a_capture_cut_in_a_packet_keeps_the_whole_ones(tmp_path: Path) -> None:
    # The last record is a FIN's acknowledgement: 16 bytes of header, 14 + 20 + 20 and options of packet, less 5.
    tables = ingest(tmp_path, WHOLE[:-5])
    assert tables["captures"].select("frames_count", "is_cut").rows() == [(len(PACKETS) - 1, True)]
    (reject,) = tables["rejects"].to_dicts()
    last = write_pcap(PACKETS[-1:])
    assert reject["reason"] == "truncated_capture"
    assert reject["byte_offset_bytes"] == len(WHOLE) - (len(last) - 24)
    assert not reject["is_whole_file"]


def test_a_gzip_that_ends_early_keeps_what_it_gave(tmp_path: Path) -> None:
    packed = gzip.compress(write_pcap(simulate(Plan(segments=2000))[0]))
    tables = ingest(tmp_path, packed[: len(packed) // 2])
    assert tables["captures"]["is_cut"].item()
    assert tables["captures"]["frames_count"].item() > 0
    assert tables["rejects"]["reason"].to_list() == ["truncated_compression"]


RECORD = struct.pack("<IIII", 1, 0, 2**31, 2**31)
SECTION = write_pcapng([])
BROKEN = {
    "empty": (b"", "empty"),
    "noise": (bytes(range(7, 256)) * 40, "not_a_capture"),
    "half a header": (WHOLE[:20], "truncated_capture"),
    "an unknown link type": (write_pcap([])[:20] + struct.pack("<I", 147), "unknown_link_type"),
    "an impossible length": (write_pcap([]) + RECORD + bytes(100), "malformed_record"),
    "a block of 4 GB": (SECTION + struct.pack("<II", 6, 0xFFFFFFFC) + bytes(64), "malformed_record"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_used_is_rejected_with_a_reason(tmp_path: Path, name: str) -> None:
    content, reason = BROKEN[name]
    tables = ingest(tmp_path, content)
    assert tables["captures"].is_empty()
    assert tables["rejects"].select("reason", "is_whole_file").rows() == [(reason, True)]


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "RATIO_FREE_BYTES", 2**20)
    one = write_pcap(Conversation().data(0, 0).packets)[24:]
    tables = ingest(tmp_path, gzip.compress(write_pcap([]) + one * 200_000))
    assert tables["rejects"]["reason"].to_list() == ["unpacks_too_large"]


def test_a_damaged_record_keeps_what_stands_before(tmp_path: Path) -> None:
    tables = ingest(tmp_path, WHOLE + RECORD + WHOLE)
    assert tables["captures"].select("frames_count", "is_cut").rows() == [(len(PACKETS), True)]
    assert tables["rejects"].select("reason", "byte_offset_bytes").rows() == [("malformed_record", len(WHOLE))]


def test_more_connections_than_are_kept_are_given_up_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Room for 64 connections: of 300 that each send one packet, all are in the table, once. The first sends another
    # now and then, so that it is never the one silent longest.
    monkeypatch.setattr(file.at, "LINKS_LIMIT", 64)
    first = Conversation(local_port=20000)
    packets = []
    for number in range(300):
        packets.append(Conversation(local_port=20000 + number).data(number, 0).packets[0])
        if number % 20 == 10:
            packets.append(first.data(number, number * 1000).packets[-1])
    flows = ingest(tmp_path, write_pcap(packets))["packet_flows"].filter(direction="out")
    assert sorted(flows["local_port"]) == [20000 + number for number in range(300)]
    # 1000 bytes, and 15 times as much again.
    assert flows.sort("local_port")["payload_bytes"].to_list() == [16000] + [1000] * 299
    # The ones still kept at the end are open, the others cut.
    assert set(flows["ended"]) == {"cut", "open"}
