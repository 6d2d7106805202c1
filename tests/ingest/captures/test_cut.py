"""Whether captures end early, by the lengths of their records alone."""

import gzip
from pathlib import Path

import pytest
from captures import Conversation, save, write_pcap, write_pcapng

from ccreport.ingest.captures.cut import CUT_MESSAGE, find_cut

PACKETS = Conversation().handshake().data(1, 0, 100).data(2, 100, 100).packets
WHOLE = {
    "pcap": write_pcap(PACKETS),
    "big-endian pcap": write_pcap(PACKETS, big_endian=True, nanosecond=True),
    "modified pcap": write_pcap(PACKETS, modified=True),
    "old pcap": write_pcap(PACKETS, version=(2, 2), snap_length=60),
    "pcapng": write_pcapng(PACKETS, sections=2),
    "big-endian pcapng": write_pcapng(PACKETS, big_endian=True, simple_blocks=True),
}


@pytest.mark.parametrize("whole", WHOLE.values(), ids=WHOLE)
def test_a_capture_ends_early_wherever_it_is_cut_but_between_packets(whole: bytes, tmp_path: Path) -> None:
    assert find_cut(save(tmp_path / "whole", whole)) is None
    assert find_cut(save(tmp_path / "in its data", whole[:-3])) == CUT_MESSAGE
    # 9 bytes of a header of 12, 16 or 24.
    assert find_cut(save(tmp_path / "in a header", whole + whole[24:33])) == CUT_MESSAGE


def test_what_is_damaged_or_nothing_known_is_left_to_the_reader(tmp_path: Path) -> None:
    damaged = WHOLE["pcap"][:32] + b"\xff" * 8 + WHOLE["pcap"][40:]
    for content in (b"", b"no capture, only text", damaged):
        assert find_cut(save(tmp_path / "capture", content)) is None


def test_compressed_data_that_end_early_are_told(tmp_path: Path) -> None:
    path = save(tmp_path / "capture.gz", gzip.compress(WHOLE["pcap"])[:-12])
    assert find_cut(path) == "the compressed file ends early; copy it again from its source"
