from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from archives import list_archive, write_archive
from readings import read_files

from ccreport.ingest.edge.paths import EdgePathError, compile_layout, parse_time, read_place

LAYOUT = r"(?:(?:.*/)?(?P<machine>[^/]+)/)?(?P<label>[^/]+)/[^/:]+(?::(?P<time>.+))?"
NSTAT = (
    "#kernel\n"
    "IpInReceives                    340808             0.0\n"
    "TcpRetransSegs                  11                 0.0\n"
)
PROC = "Tcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 11\nTcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 0 7\n"


def ingest(content: str | bytes, folder: Path, name: str = "nstat:1795212605") -> tuple[pl.DataFrame, pl.DataFrame]:
    root = write_archive(folder / "raw", {f"tokyo-1/cubic/{name}": content, "tokyo-2/cubic/zzz": "x"})
    manifest = find_manifest(root, folder / "work")
    tables = read_files("nstat", manifest, root, folder, edge_paths=LAYOUT)
    return tables["machine_counters"], tables["rejects"]


def find_manifest(root: Path, work: Path) -> Path:
    (experiment,) = (name for name, held in list_archive(root, work).items() if held.files_for("ingest_nstat"))
    return work / "manifests" / f"{experiment}.json"


def values(counters: pl.DataFrame) -> dict[str, int]:
    return dict(counters.select("counter", "counter_value_count").rows())


def test_nstats_lines_become_counters_at_the_time_of_the_name(tmp_path: Path) -> None:
    counters, rejects = ingest(NSTAT, tmp_path)
    assert values(counters) == {"IpInReceives": 340808, "TcpRetransSegs": 11}
    assert counters["time_utc"].unique().to_list() == [datetime(2026, 11, 20, 22, 10, 5, tzinfo=UTC)]
    assert counters["cc"].unique().to_list() == ["cubic"]
    assert rejects.is_empty()


def test_nstats_json_and_proc_net_give_the_same_names(tmp_path: Path) -> None:
    json_counters, _ = ingest('{"kernel":{"TcpRetransSegs":11,"TcpExtTCPTimeouts":7}}', tmp_path / "a")
    proc_counters, rejects = ingest(PROC, tmp_path / "b", "snmp:1795212605")
    assert values(json_counters) == {"TcpRetransSegs": 11, "TcpExtTCPTimeouts": 7}
    assert values(proc_counters) == {
        "TcpRtoAlgorithm": 1,
        "TcpMaxConn": -1,
        "TcpRetransSegs": 11,
        "TcpExtSyncookiesSent": 0,
        "TcpExtTCPTimeouts": 7,
    }
    assert rejects.is_empty()


def test_stamps_alone_do_not_make_a_copy_of_snmp_an_ss_log(tmp_path: Path) -> None:
    text = (
        "# 1795212605.5\nTcp: OutSegs RetransSegs\nTcp: 100 5\n# 1795212606.5\nTcp: OutSegs RetransSegs\nTcp: 110 7\n"
    )
    counters, rejects = ingest(text, tmp_path, "snmp")
    assert counters["counter_value_count"].to_list() == [100, 5, 110, 7]
    assert rejects.is_empty()


def test_snapshots_below_stamps_have_times_of_their_own(tmp_path: Path) -> None:
    text = f"# 1795212605.5\n{NSTAT}# 1795212615\n{NSTAT.replace('11 ', '19 ')}"
    counters, _ = ingest(text, tmp_path, "nstat")
    retransmits = counters.filter(counter="TcpRetransSegs")
    assert retransmits["counter_value_count"].to_list() == [11, 19]
    assert retransmits["snapshot_number"].to_list() == [0, 1]
    assert [time.second + time.microsecond / 1e6 for time in retransmits["time_utc"]] == [5.5, 15.0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        ("#kernel\n", "no_measurement"),
        ('{"kernel":{"TcpRet', "no_measurement"),
        ("{}", "no_measurement"),
    ],
)
def test_a_file_without_counters_is_rejected(content: str, reason: str, tmp_path: Path) -> None:
    counters, rejects = ingest(content, tmp_path)
    assert counters.is_empty()
    assert rejects.select("reason", "is_whole_file").rows() == [(reason, True)]


def test_lines_that_are_no_counters_are_named_and_the_others_kept(tmp_path: Path) -> None:
    counters, rejects = ingest(f"{NSTAT}<script>\nTcp: 5\nTcpHuge 99999999999999999999 0.0\n", tmp_path)
    assert values(counters) == {"IpInReceives": 340808, "TcpRetransSegs": 11}
    assert rejects.height == 3
    assert not rejects["is_whole_file"].any()


def test_a_cut_line_of_values_gives_what_is_whole(tmp_path: Path) -> None:
    counters, rejects = ingest("Tcp: RtoMin RetransSegs InErrs\nTcp: 200 11\n", tmp_path, "snmp:1795212605")
    assert values(counters) == {"TcpRtoMin": 200, "TcpRetransSegs": 11}
    assert rejects["reason"].to_list() == ["malformed_record"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1795212605", "2026-11-20T22:10:05+00:00"),
        ("1795212605.25", "2026-11-20T22:10:05.250000+00:00"),
        ("2026-11-20T22:10:05Z", "2026-11-20T22:10:05+00:00"),
        ("20261120T221005", "2026-11-20T22:10:05+00:00"),
        ("2026-11-20:22:10", "2026-11-20T22:10:00+00:00"),
        ("2026-13-20:22:10", None),
        ("noon", None),
        ("", None),
    ],
)
def test_times_in_names(text: str, expected: str | None) -> None:
    time = parse_time(text)
    assert (time.isoformat() if time else None) == expected


def test_places_are_read_from_paths() -> None:
    layout = compile_layout(LAYOUT)
    place = read_place("asia/tokyo-1/bbr2/ss-neit:1795212605.zst", layout)
    assert (place.machine, place.label, place.cc) == ("tokyo-1", "bbr2", "bbr2")
    assert place.time_utc is not None
    assert read_place("ss-neit", layout).machine is None
    own = compile_layout(r"dumps/(?P<cc>\w+)-(?P<machine>[^-]+)-(?P<time>\d+)\.txt")
    place = read_place("dumps/cubic-fra2-1795212605.txt", own)
    assert (place.machine, place.label, place.cc) == ("fra2", "cubic", "cubic")


@pytest.mark.parametrize("layout", ["(", "(?P<other>.*)"])
def test_a_layout_that_cannot_be_used_is_refused(layout: str) -> None:
    with pytest.raises(EdgePathError, match=r"edge\.paths"):
        compile_layout(layout)
