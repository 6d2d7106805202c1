"""Damaged captures: whatever the bytes are, the reader ends, within its arrays, with tables or an error of its own."""

import contextlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from archives import ROOT
from capture_transfer import Plan, simulate
from captures import SLL, SLL2, Conversation, write_pcap, write_pcapng

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.captures.file import CaptureReader
from ccreport.ingest.captures.follow import state as at

pytestmark = pytest.mark.slow

INPUTS = 100_000
PACKETS = simulate(Plan(segments=8, lost_after=frozenset({2}), delayed_before={5: 3.0}, closes_after=6))[0]
IPV6 = (
    Conversation(local="2001:db8::1", remote="2001:db8::2")
    .handshake(scale=7, timestamps=True)
    .data(30, 0)
    .ack(50, 1000)
)
SEEDS = (
    write_pcap(PACKETS),
    write_pcap(PACKETS, big_endian=True, nanosecond=True, snap_length=96),
    write_pcap(PACKETS, modified=True, vlan=(10, 20)),
    write_pcap(IPV6.packets, version=(2, 2)),
    write_pcap(IPV6.packets, link_type=SLL),
    write_pcap(PACKETS, link_type=SLL2),
    write_pcapng(PACKETS, sections=2, interfaces=2, tsresol=9),
    write_pcapng(IPV6.packets, big_endian=True, tsresol=0x94),
    write_pcapng(IPV6.packets, simple_blocks=True),
)
# Two bytes that make lengths, counts and flags extreme.
EXTREMES = (b"\x00\x00", b"\xff\xff", b"\x7f\xff", b"\x80\x00", b"\x00\x01", b"\xff\xfe")


def damage(seed: bytes, chance: random.Random) -> bytes:
    """Return a capture with a few bytes changed, cut out, doubled or cut off."""
    data = bytearray(seed)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(data)) if data else 0
        match chance.randrange(5):
            case 0:
                data[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                data[place : place + 2] = chance.choice(EXTREMES)
            case 2:
                del data[place : place + chance.randint(1, 40)]
            case 3:
                data[place:place] = data[place : place + chance.randint(1, 200)]
            case _:
                del data[max(place, 24) :]
    return bytes(data)


def cut(data: bytes, chance: random.Random) -> list[bytes]:
    """Return a file in blocks of any size."""
    place = chance.randint(0, len(data))
    return [block for block in (data[:place], data[place:]) if block]


def fuzz(count: int) -> None:
    """Read so many damaged captures; of every hundredth also make the tables, which takes a hundred times as long."""
    chance = random.Random(1)  # noqa: S311 (not for secrets)
    # Arrays so small that they get full too, and that making them anew for each input takes no time.
    at.LINKS_LIMIT, at.CELLS_LIMIT = 8, 256
    for number in range(count):
        data = damage(chance.choice(SEEDS), chance)
        reader = CaptureReader(cut(data, chance), wants_packets=chance.random() < 0.5)
        with contextlib.suppress(RawFileError):
            for _, piece in reader.read() if number % 100 == 0 else reader._analyse_all():
                assert piece.width


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_an_undamaged_seed_is_read_whole(seed: int) -> None:
    reader = CaptureReader([SEEDS[seed]], wants_packets=True)
    assert sum(piece.height for table, piece in reader.read() if table == "packets") == reader.packets_count > 0
    assert reader.error is None


def test_no_damage_leads_out_of_the_arrays(tmp_path: Path) -> None:
    # With bounds checks compiled in, a read or write beyond an array raises IndexError.
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = f"{Path(__file__).parent}{os.pathsep}{ROOT / 'tests/support'}"
    command = [sys.executable, "-c", f"import test_capture_fuzz; test_capture_fuzz.fuzz({INPUTS})"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
