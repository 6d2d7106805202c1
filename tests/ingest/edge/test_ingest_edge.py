import gzip
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from archives import FIXTURES, list_archive, write_archive
from readings import read_files

from ccreport.ingest.edge.paths import EdgePathError, compile_layout, read_place

LAYOUT = r"(?:(?:.*/)?(?P<machine>[^/]+)/)?(?P<label>[^/]+)/[^/:]+(?::(?P<time>.+))?"
HEADER = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"


def connection(client: int, sent: int = 2000, again: int = 40, more: str = "", cookie: str = "1a") -> str:
    """Return the two lines of a connection to 10.9.0.<client> that acked 5 MB."""
    return (
        f"ESTAB 0 0 10.8.0.1:443 10.9.0.{client}:50000 ino:7 sk:{cookie} cgroup:/ <->\n"
        f"\t ts sack ecn ecnseen bbr wscale:10,10 rto:252 rtt:51.5/3.5 mss:1448 cwnd:10 bytes_acked:5000000 "
        f"data_segs_out:{sent} bbr:(bw:99500000bps,mrtt:24.5,pacing_gain:1,cwnd_gain:2) delivery_rate 24609760bps "
        f"busy:400ms rwnd_limited:100ms(25.0%) unacked:12 retrans:0/{again} minrtt:24.0{more}\n"
    )


def ingest(files: dict[str, str | bytes], folder: Path, layout: str = LAYOUT) -> tuple[pl.DataFrame, pl.DataFrame]:
    # The folder beside it keeps the names of the others' from being the root.
    root = write_archive(folder / "raw", {**files, "elsewhere/none/notes.txt": "x"})
    tables = [
        read_files("edge", folder / f"work/manifests/{name}.json", root, folder / name, edge_paths=layout)
        for name, manifest in list_archive(root, folder / "work").items()
        if manifest.files_for("ingest_edge")
    ]
    return pl.concat(one["connections"] for one in tables), pl.concat(one["rejects"] for one in tables)


def test_a_dump_without_stamps_has_the_time_of_its_name(tmp_path: Path) -> None:
    connections, rejects = ingest({"tokyo-1/bbr/ss-neit:1795212605": HEADER + connection(1)}, tmp_path)
    row = connections.row(0, named=True)
    # 1795212605 s after 1970 is 2026-11-20 22:10:05.
    assert row["time_utc"] == datetime(2026, 11, 20, 22, 10, 5, tzinfo=UTC)
    assert (row["machine"], row["label"], row["cc"]) == ("tokyo-1", "bbr", "bbr")
    assert (row["local_port"], row["remote_address"], row["remote_port"]) == (443, "10.9.0.1", 50000)
    assert (row["socket_id"], row["unacked_count"], row["bbr_bw_bps"]) == ("1a", 12, 99_500_000)
    # 40 of 2000 segments; 100 of 400 ms.
    assert (row["retransmit_ratio"], row["rwnd_limited_ratio"]) == (0.02, 0.25)
    assert (row["has_ecn"], row["has_ecnseen"], row["is_last"]) == (True, True, True)
    assert rejects.is_empty()


def test_stamps_inside_a_dump_come_before_its_name(tmp_path: Path) -> None:
    text = f"# 1795212700.500000\n{HEADER}{connection(1)}"
    connections, _ = ingest({"tokyo-1/bbr/ss-neit:1795212605": text}, tmp_path)
    assert connections["time_utc"].to_list() == [datetime(2026, 11, 20, 22, 11, 40, 500000, tzinfo=UTC)]


@pytest.mark.parametrize("name", ["ss-neit", "ss-neit:when"])
def test_a_dump_without_any_time_is_read_all_the_same(name: str, tmp_path: Path) -> None:
    connections, rejects = ingest({f"tokyo-1/bbr/{name}": HEADER + connection(1)}, tmp_path)
    assert connections["time_utc"].to_list() == [None]
    assert rejects.is_empty()


def test_compressed_dumps_are_read_as_plain_ones(tmp_path: Path) -> None:
    text = HEADER + connection(1)
    plain, _ = ingest({"tokyo-1/bbr/ss-neit:1795212605": text}, tmp_path / "plain")
    packed, _ = ingest({"tokyo-1/bbr/ss-neit:1795212605.gz": gzip.compress(text.encode())}, tmp_path / "packed")
    assert plain.drop("raw_file_id").equals(packed.drop("raw_file_id"))


def test_only_the_last_row_of_a_connection_counts(tmp_path: Path) -> None:
    files = {
        # In the order of names the later one stands first.
        "tokyo-1/bbr/ss-neit:1795212610": HEADER + connection(1, again=50) + connection(2),
        "tokyo-1/bbr/ss-neit:1795212605": HEADER + connection(1, again=40) + connection(3, cookie="old"),
        # The same addresses again, in another socket.
        "tokyo-1/bbr/ss-neit:1795212615": HEADER + connection(3, cookie="new"),
    }
    connections, _ = ingest(files, tmp_path)
    last = connections.filter("is_last").sort("time_utc", "remote_address")
    assert last.select("remote_address", "socket_id", "retransmits_ss_count").rows() == [
        ("10.9.0.3", "old", 40),
        ("10.9.0.1", "1a", 50),
        ("10.9.0.2", "1a", 40),
        ("10.9.0.3", "new", 40),
    ]
    assert connections.height == 5


def test_a_connection_that_both_sides_closed_keeps_the_algorithm_of_its_machine(tmp_path: Path) -> None:
    # misc/ss.c of iproute2 prints `---` where neither direction is open: no algorithm.
    closing = connection(1).replace("<->", "---").replace("ESTAB", "LAST-ACK")
    connections, _ = ingest({"tokyo-1/bbr/ss-neit:1795212605": HEADER + closing}, tmp_path)
    assert connections["cc"].to_list() == ["bbr"]


def test_layouts_name_kernel_and_population(tmp_path: Path) -> None:
    layout = r"(?P<population>[^/]+)/(?P<kernel>[^/]+)-(?P<cc>[^/]+)/ss-neit:(?P<time>.+)"
    connections, _ = ingest({"desktop/5.3-bbr2/ss-neit:2026-11-20T22:10": HEADER + connection(1)}, tmp_path, layout)
    row = connections.row(0, named=True)
    assert (row["population"], row["kernel"], row["label"], row["machine"]) == ("desktop", "5.3", "bbr2", None)
    # What the dump itself says of the algorithm comes first: the kernel calls both bbr.
    assert row["cc"] == "bbr"
    assert row["time_utc"] == datetime(2026, 11, 20, 22, 10, tzinfo=UTC)


def test_a_layout_with_unknown_groups_is_refused() -> None:
    with pytest.raises(EdgePathError, match="host"):
        compile_layout("(?P<host>.*)")


def test_names_that_try_to_be_markup_or_control_codes_are_shown_not_obeyed() -> None:
    place = read_place("<b>\x1b[31m/'; DROP TABLE x --/ss-neit:1", compile_layout(LAYOUT))
    assert place.machine is not None
    assert "\x1b" not in place.machine
    assert place.label == "'; DROP TABLE x --"


@pytest.mark.parametrize(
    ("content", "reason"),
    [("", "empty"), (HEADER, "no_measurement"), ("hello\nworld\n", "no_measurement"), (b"\0" * 5000, "not_text")],
    ids=["empty", "no connection", "prose", "binary"],
)
def test_a_dump_without_connections_is_rejected_with_its_reason(
    content: str | bytes, reason: str, tmp_path: Path
) -> None:
    connections, rejects = ingest({"tokyo-1/bbr/ss-neit:1795212605": content}, tmp_path)
    assert connections.is_empty()
    assert rejects.select("reason", "is_whole_file").rows() == [(reason, True)]


def test_a_cut_or_broken_dump_gives_what_is_whole(tmp_path: Path) -> None:
    text = HEADER + connection(1) + "ESTAB 0 0 nonsense <script>\n\t bbr rtt:1/1\n" + connection(2)[:-40]
    connections, rejects = ingest({"tokyo-1/bbr/ss-neit:1795212605": text}, tmp_path)
    assert connections["remote_address"].to_list() == ["10.9.0.1", "10.9.0.2"]
    assert connections["is_partial"].to_list() == [False, True]
    assert set(rejects["reason"]) <= {"malformed_record", "truncated_text"}
    assert rejects.height >= 2


def test_a_compressed_dump_that_was_cut_is_rejected_in_part(tmp_path: Path) -> None:
    text = HEADER + "".join(connection(n, cookie=f"{n * 7919:x}") for n in range(1, 250))
    packed = gzip.compress(text.encode())
    connections, rejects = ingest({"tokyo-1/bbr/ss-neit:1795212605.gz": packed[: len(packed) * 2 // 3]}, tmp_path)
    assert 0 < connections.height < 249
    assert not rejects.is_empty()


def test_recorded_dumps_are_read_whole(tmp_path: Path) -> None:
    for cc in ("cubic", "bbr", "reno"):
        folder = FIXTURES / "edge/archive" / f"edge-{cc}" / cc
        dumps = {f"edge-{cc}/{cc}/{path.name}": path.read_bytes() for path in sorted(folder.glob("ss-neit*"))}
        connections, rejects = ingest(dumps, tmp_path / cc)
        # Lines of `zcat ss-neit* | grep -c 10.8.0.1:443` but those that only listen.
        sockets = sum(gzip.decompress(dump).count(b"10.8.0.1:443 ") for dump in dumps.values())
        listening = sum(gzip.decompress(dump).count(b"LISTEN") for dump in dumps.values())
        assert connections.height == sockets - listening, cc
        assert rejects.is_empty()
        assert connections["cc"].unique().to_list() == [cc]
        assert connections["has_ecn"].unique().to_list() == [cc == "reno"]
        assert connections.filter("is_last").select("remote_address", "remote_port").is_unique().all()
