import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from archives import SHARED
from hypothesis import given, settings
from hypothesis import strategies as st
from ss_inputs import ADDRESSES, END, LINE, OUTPUTS, STAMP, ingest, ingest_information, ingest_text, read_ss

from ccreport.archive.manifest import Manifest, RawFile, write_manifests
from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.ss import file, flows, parse_sockets, rows, words
from ccreport.ingest.ss.file import compile_reader, cut_blocks

LATER = "# 1795211352.163251\n"
WHOLE = f"{LINE}\t cubic wscale:7,7 rtt:1.5/0.5 mss:1448 cwnd:43 bytes_sent:5384729 segs_out:69 {END}"
REAL = [path.read_bytes() for path in sorted(OUTPUTS.iterdir())]


@pytest.mark.parametrize(
    ("content", "reason", "hint"),
    [
        (b"", "empty", "empty"),
        (b"\n \n\t", "no_measurement", "ESTAB 0 0"),
        (STAMP * 3, "no_measurement", "3 time stamps"),
        (f"{STAMP}State Recv-Q Send-Q Local Address:Port Peer Address:Port\n", "no_measurement", "filter"),
        (f"{STAMP}LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n\t cubic cwnd:10\n", "no_measurement", "filter"),
        (f"{STAMP}{LINE}{LATER}{LINE}", "no_measurement", "-i"),
        ("ss: command not found\n", "no_measurement", "date '+# %s.%N'"),
        (bytes(range(256)) * 50, "not_text", "not text"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 60, "corrupt_compression", "copy it again"),
        (gzip.compress(WHOLE.encode(), mtime=0)[:20], "truncated_compression", "copy it again"),
    ],
)
def test_files_without_a_sample(content: str | bytes, reason: str, hint: str, tmp_path: Path) -> None:
    tables = ingest_text(content, tmp_path)
    assert tables.samples.is_empty()
    assert tables.reasons == [(reason, True)]
    assert hint in tables.rejects["message"][0]


def test_a_missing_file_and_a_file_of_no_run(tmp_path: Path) -> None:
    file = RawFile("id", "nowhere", "ss", None, 1, "", "ingest", "ingest_ss", run_id="run")
    other = RawFile(**(vars(file) | {"raw_file_id": "b", "path": "there", "run_id": None}))
    (tmp_path / "there").write_text(f"{STAMP}{WHOLE}")
    write_manifests([Manifest("e", None, None, (), (file, other))], tmp_path / "m.json")
    rejects = read_ss(tmp_path / "m.json", tmp_path, tmp_path).rejects
    assert sorted(rejects["reason"]) == ["no_run", "unreadable"]


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        # The whole text of the last sample up to here; what of it is kept beside mss:1448.
        ("cwnd:4", {"cwnd_segments_count": None}),
        ("cwnd:43 ", {"cwnd_segments_count": 43}),
        ("cwnd:43 bytes_s", {"cwnd_segments_count": 43, "extra": []}),
        ("cwnd:43 bytes_sent:53", {"cwnd_segments_count": 43, "sent_bytes": None, "connection_number": 0}),
        ("cwnd:43 bytes_sent:5484729 segs_out:70 send 19", {"sent_bytes": 5484729, "send_bps": None}),
        ("cwnd:43 bbr:(bw:1bps,mr", {"bbr_bw_bps": 1.0, "extra": []}),
        ("cwnd:43 bytes_sent:5484729 rcv_space:14480 rcv_ssthresh:64088 minrtt:20.1", {"rtt_min_ms": None}),
    ],
)
@pytest.mark.parametrize("later", ["", LATER + WHOLE.replace("5384729", "9384729").replace(":69", ":99")])
def test_a_cut_line(cut: str, kept: dict[str, object], later: str, tmp_path: Path) -> None:
    text = f"{STAMP}{WHOLE}# 1795211351.9\n{LINE}\t cubic mss:1448 {cut}"
    tables = ingest_text(text + later, tmp_path)
    row = tables.samples.row(1, named=True)
    assert tables.samples["is_partial"].to_list() == [False, True, False][: tables.samples.height]
    assert tables.samples["connection_number"].max() == 0
    assert row["mss_bytes"] == 1448
    assert {name: row[name] for name in kept} == kept
    # Behind the cut a counter may have stood: it is not known to be zero.
    assert row["lost_count"] is None
    assert tables.reasons == [("truncated_text", False)]
    assert tables.rejects["byte_offset_bytes"].to_list() == [len(text)]
    assert tables.rejects["line_number"].to_list() == [6]


@pytest.mark.parametrize(
    "tail", ["# 17952", "ESTAB 0", "ESTAB 0 0 10.0.0.1:43", f"ESTAB 0 0 {ADDRESSES}", f"ESTAB 0 0 {ADDRESSES}\n\t sk"]
)
def test_a_cut_before_anything_was_told(tail: str, tmp_path: Path) -> None:
    tables = ingest_text(STAMP + WHOLE + tail, tmp_path)
    assert not tables.sample["is_partial"]
    assert tables.reasons == [("truncated_text", False)]
    assert tables.rejects["byte_offset_bytes"].to_list() == [len(STAMP + WHOLE)]


def test_a_line_that_lost_its_end_but_not_its_newline(tmp_path: Path) -> None:
    cut = f"{LINE}\t cubic mss:1448 cwnd:43 bytes_sent:6384729\n"
    tables = ingest_text(STAMP + WHOLE + LATER + cut, tmp_path)
    assert tables.samples["is_partial"].to_list() == [False, True]
    assert tables.reasons == [("truncated_text", False)]


def test_a_truncated_gzip_keeps_what_came(tmp_path: Path) -> None:
    content = gzip.compress((OUTPUTS / "both_p16_loss1").read_bytes())
    tables = ingest_text(content[: len(content) // 2], tmp_path)
    assert 10 < tables.samples.height < 63
    assert tables.samples["is_partial"].sum() <= 1
    assert ("truncated_compression", False) in tables.reasons
    assert not tables.rejects["is_whole_file"].any()


def test_stamps_that_are_none(tmp_path: Path) -> None:
    other = WHOLE.replace("43802", "43803")
    text = f"{other}# yesterday\n{other}{STAMP}{WHOLE}# 17952113\n{other}# 1795211352\n{WHOLE}#1795211353.5\n{WHOLE}"
    tables = ingest_text(text, tmp_path)
    assert tables.samples["local_port"].to_list() == [43802] * 3
    assert [time.microsecond for time in tables.samples["time_utc"]] == [663251, 0, 500000]
    assert tables.reasons == [("malformed_record", False)] * 5
    # Lines 1 and 2 have no stamp, 3 is none, 4 and 5 stand below it; 6 is STAMP, 7 and 8 are WHOLE, 9 is not a stamp.
    assert tables.rejects["line_number"].to_list() == [1, 3, 4, 9, 10]
    assert tables.rejects["byte_offset_bytes"].to_list()[1] == len(other)
    assert "`# yesterday`" in tables.rejects["message"][1]


@pytest.mark.parametrize(
    ("token", "column"),
    [
        ("cwnd:99999999999999999999", "cwnd_segments_count"),
        ("cwnd:-1", "cwnd_segments_count"),
        ("cwnd:1.5", "cwnd_segments_count"),
        ("cwnd:1e3", "cwnd_segments_count"),
        ("cwnd:43x", "cwnd_segments_count"),
        ("cwnd:", "cwnd_segments_count"),
        ("rto:1e400", "rto_ms"),
        ("rto:nan", "rto_ms"),
        ("rto:inf", "rto_ms"),
        ("rto:-4", "rto_ms"),
        ("rtt:1.5/-2", "rttvar_ms"),
        ("rtt:x/2", "rtt_ms"),
        ("send -5Mbps", "send_bps"),
        ("send 5M", "send_bps"),
        ("send 1e300Gbps", "send_bps"),
        ("rto:1e308", "rto_ms"),
        ("busy:48s", "busy_ms"),
        ("busy:4 rwnd_limited:4ms(5", "rwnd_limited_pct"),
        ("retrans:1/", "retransmits_ss_count"),
        ("skmem:(r0,rb-1,t0)", "skmem_rcvbuf_bytes"),
        ("bbr:(bw:fast,mrtt:1)", "bbr_bw_bps"),
    ],
)
def test_values_that_ss_does_not_print(token: str, column: str, tmp_path: Path) -> None:
    tables = ingest_information(f"cubic mss:1448 {token} {END}", tmp_path)
    # A counter that is shown but cannot be read is not known to be zero.
    assert tables.sample[column] is None
    assert tables.sample["mss_bytes"] == 1448
    assert tables.sample["rtt_min_ms"] == 20.12
    assert tables.reasons == [("malformed_record", False)]
    assert tables.rejects["line_number"].to_list() == [3]


def test_one_of_many_problems_is_the_last_reject(tmp_path: Path) -> None:
    text = "".join(f"# {1795211351 + second}.5\n{LINE}\t cubic cwnd:x {END}" for second in range(100))
    tables = ingest_text(text + "garbage\nESTAB", tmp_path)
    assert tables.samples.height == 100
    assert tables.rejects.height == 20
    # 100 values, a line of garbage and the cut at the end; 18 of the values and the cut are told.
    assert tables.rejects["reason"].to_list() == ["malformed_record"] * 18 + ["truncated_text", "malformed_record"]
    assert tables.rejects["message"][19].startswith("83 more")


def test_a_time_that_does_not_go_on(tmp_path: Path) -> None:
    tables = ingest_text((STAMP + WHOLE) * 2 + LATER + WHOLE, tmp_path)
    assert tables.samples.height == 2
    assert tables.samples.n_unique(["flow_id", "connection_number", "time_utc"]) == 2
    assert tables.reasons == [("doubled", False)]


def test_a_record_with_too_many_unknown_tokens(tmp_path: Path) -> None:
    tables = ingest_information("cubic " + "a:1 " * 5000 + END, tmp_path)
    assert len(tables.sample["extra"]) == 999
    assert tables.sample["rtt_min_ms"] == 20.12
    assert tables.reasons == [("malformed_record", False)]


def test_a_column_of_another_dump(tmp_path: Path) -> None:
    corpus = SHARED / "corpus/ss/jc__centos77_ss-a.txt"
    if not corpus.exists():
        pytest.skip("the collection of other people's files is not here")
    assert ingest_text(corpus.read_bytes(), tmp_path / "1").reasons == [("no_measurement", True)]
    # No line of it is taken for a sample of TCP: two sockets are connected, none has information.
    stamped = ingest_text(STAMP.encode() + corpus.read_bytes() + STAMP.encode(), tmp_path / "2")
    assert stamped.reasons == [("no_measurement", True)]


def mutations() -> st.SearchStrategy[bytes]:
    pieces = [b"\n", b"\n\t", b" ", b":", b"(", b")", b",", b"#", b"bps", b"nan", b"-", b"1e400", b"\x00", b"\xff"]
    pieces += [b"9" * 25, STAMP.encode(), LINE.encode(), b"bbr:(", b" users:((", b"\xe2\x80\xa8"]

    def change(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
        for where, length, new in edits:
            place = int(where * len(content))
            content = content[:place] + new + content[place + length :]
        return content

    edit = st.tuples(st.floats(0, 1), st.integers(0, 300), st.sampled_from(pieces) | st.binary(max_size=5))
    return st.builds(change, st.sampled_from(REAL), st.lists(edit, max_size=8))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300) | mutations())
def test_no_bytes_make_it_fail(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        tables = ingest_text(content, Path(folder))
        # Every file ends in the table or in the rejects, and what is read is unique.
        key = ["flow_id", "connection_number", "time_utc"]
        assert tables.samples.n_unique(key) == tables.samples.height
        whole = tables.rejects["is_whole_file"].to_list()
        assert (True in whole) == tables.samples.is_empty()
        assert len(whole) <= 20
        assert tables.rejects.filter(~pl.col("is_whole_file") & (pl.col("byte_offset_bytes") > len(content))).is_empty()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.sampled_from([path for path in sorted(OUTPUTS.iterdir()) if "versions" not in path.name]), st.data())
def test_samples_do_not_depend_on_how_the_text_is_cut(path: Path, data: st.DataObject) -> None:
    content = path.read_bytes()
    # Not one row: the versions are told by the rows that are written together, and the first has no snd_wnd yet.
    size, capacity = data.draw(st.integers(1, 9000)), data.draw(st.integers(2, 40))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        whole = ingest_text(content, Path(folder) / "whole")
        patch.setattr(file, "BLOCK_BYTES", size)
        patch.setattr(rows, "CAPACITY", capacity)
        patch.setattr(file, "iterate_blocks", lambda path: iter_pieces(path.read_bytes(), size))
        cut = ingest_text(content, Path(folder) / "cut")
    assert cut.samples.equals(whole.samples)
    assert cut.rejects.equals(whole.rejects)


def iter_pieces(content: bytes, size: int) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def test_blocks_end_before_a_stamp_or_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "BLOCK_BYTES", 10)
    monkeypatch.setattr(file, "BLOCK_LIMIT_BYTES", 40)

    def cut(*pieces: bytes) -> list[tuple[bytes, bool]]:
        return [(block[:end], is_last) for block, end, is_last in cut_blocks(pieces)]

    assert cut(b"# 1\nab", b"c\n\td\n# 2\nab") == [(b"# 1\nabc\n\td\n", False), (b"# 2\nab", True)]
    assert cut(b"x0.4# 123", b"4\n") == [(b"x0.4", False), (b"# 1234\n", True)]
    assert cut(b"abc\n\tde\nfg", b"\n\th\n") == [(b"abc\n\tde\n", False), (b"fg\n\th\n", True)]
    assert cut(b"x" * 30, b"x" * 30) == [(b"x" * 60, False)]
    assert cut() == []

    def broken() -> object:
        yield b"# 1\nabc"
        raise RawFileError("truncated_compression", "…", offset=7)

    blocks = cut_blocks(broken())  # type: ignore[arg-type]
    assert next(blocks) == (b"# 1\nabc", 7, True)
    with pytest.raises(RawFileError):
        next(blocks)


FUZZ = """
import json, random, sys
from pathlib import Path
import numpy as np
from ccreport.ingest.ss import layout
from ccreport.ingest.ss.file import find_glued_stamps
from ccreport.ingest.ss.rows import SampleBatch
from ccreport.ingest.ss.tokens import token_table
from ccreport.ingest.ss.flows import FlowTable
from ccreport.ingest.ss.parse_sockets import parse_block

chance = random.Random(7)
pieces = [bytes.fromhex(piece) for piece in json.loads(sys.argv[2])]
files = [path.read_bytes() for path in sorted(Path(sys.argv[1]).iterdir())]
batch, tokens = SampleBatch(), token_table()
for _ in range(3000):
    content = bytearray(chance.choice(files)[: chance.randint(0, 6000)])
    for _ in range(chance.randint(0, 12)):
        place = chance.randint(0, len(content))
        content[place : place + chance.choice((0, 0, 1, 30))] = chance.choice(pieces)
    text = np.frombuffer(bytes(content), np.uint8)
    glued = find_glued_stamps(bytes(content), len(content))
    breaks = np.sort(np.concatenate([np.flatnonzero(text == layout.NEWLINE), glued]))
    state, flows, place = layout.make_state(0), FlowTable(), 0
    state.now = 0
    while place < len(content):
        first = int(state.rows)
        is_last = chance.random() < 0.5
        stop = parse_block(text, place, len(content), is_last, breaks, tokens, batch.cells, batch.notes, state)
        flows.track(text, first, batch.cells, batch.notes, state)
        assert stop > place
        state.notes, place = 0, stop
print("no index left its array")
"""


@pytest.mark.slow
def test_the_compiled_reader_stays_within_its_arrays(tmp_path: Path) -> None:
    # Machine code with bounds checks, in a cache of its own.
    pieces = [b"\n", b"\n\t", b" ", b":", b"(", b")", b",", b"#", b"# ", b"/", b"\x00", b"\xff", b"9" * 25, b"1e", b"."]
    pieces += [STAMP.encode(), STAMP.encode()[:-1], LINE.encode(), b"bbr:(", b"skmem:(", b"dctcp:", b"%)", b"bps"]
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FUZZ, str(OUTPUTS), json.dumps([piece.hex() for piece in pieces])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "no index left its array\n", done.stderr


def test_the_reader_can_be_compiled_beforehand(tmp_path: Path) -> None:
    compile_reader()
    ingest_information(f"cubic new:1 {END}", tmp_path)
    # What the ingest calls is what was compiled, for no other types.
    kernels = (parse_sockets.parse_block, flows._track_flows, words.copy_spans)
    assert [len(kernel.signatures) for kernel in kernels] == [1, 1, 1]  # type: ignore[attr-defined]


def test_several_files_keep_apart(tmp_path: Path) -> None:
    tables = ingest({"b": STAMP + WHOLE, "a": STAMP + "garbage\n" + WHOLE, "c": ""}, tmp_path)
    assert tables.samples["run_id"].to_list() == ["run of b", "run of a"]
    assert tables.samples["flow_id"].n_unique() == 2
    assert dict(tables.rejects.select("path", "reason").iter_rows()) == {"a": "malformed_record", "c": "empty"}


@pytest.mark.parametrize(("bytes_count", "reasons"), [(126, []), (127, [("malformed_record", False)])])
def test_addresses_longer_than_their_row_are_no_socket(
    bytes_count: int, reasons: list[tuple[str, bool]], tmp_path: Path
) -> None:
    # With a blank after each they are to fill 128 bytes; `[fe80::1%]:5201` is 15 bytes long.
    scopes = [f"[fe80::{end}%{'x' * (length - 15)}]:5201" for end, length in ((1, 63), (2, bytes_count - 63))]
    long = WHOLE.replace(ADDRESSES, " ".join(scopes))
    tables = ingest_text(f"{STAMP}{long}{WHOLE}", tmp_path)
    assert tables.reasons == reasons
    assert tables.samples["flow_id"].n_unique() == 2 - len(reasons)
