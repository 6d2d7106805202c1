"""Files of one format read by themselves, without an archive."""

from pathlib import Path

import polars as pl
import pytest
from archives import CONFORMANCE, ROOT

from ccreport.__main__ import main

MPSTAT = str(CONFORMANCE / "mpstat" / "mpstat_ALL.json")
IPERF3 = str(CONFORMANCE / "iperf3" / "iperf3_p2.json")


def test_rows_are_printed_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", "mpstat", MPSTAT]) == 0
    title, names, first, *others = capsys.readouterr().out.splitlines()
    assert title == "cpu_samples: 6 rows"
    assert names.split()[:5] == ["side", "sample_number", "time", "cpu", "cpu_usr_pct"]
    assert first.split()[:5] == ["sender", "0", "21:41:55", "0", "13.0"]
    assert len(others) == 5


def test_one_table_is_written_as_csv_and_several_into_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", "mpstat", MPSTAT, "--output", str(tmp_path / "loads.csv")]) == 0
    assert pl.read_csv(tmp_path / "loads.csv")["cpu_usr_pct"].to_list() == [13.0, 18.37, 15.66, 6.06, 11.88, 9.0]
    assert main(["ingest", "iperf3", IPERF3, "--output", str(tmp_path / "all.csv")]) == 1
    assert "these files make 3 tables (tests, intervals, streams)" in capsys.readouterr().err
    assert main(["ingest", "iperf3", IPERF3, "--output", str(tmp_path / "all")]) == 0
    assert pl.read_parquet(tmp_path / "all/streams.parquet")["sender_bytes"].to_list() == [4506255360, 4432855040]


def test_a_folder_is_not_made_by_the_name_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["ingest", "mpstat", MPSTAT, "--output", "x.json"]) == 1
    said = "--output x.json ends in .json; name a file that ends in .parquet or .csv, or a folder"
    assert capsys.readouterr().err == f"ccreport: {said}\n"
    assert not Path("x.json").exists()
    Path("old.d").mkdir()
    for folder in ("loads-6.12", "old.d"):
        assert main(["ingest", "mpstat", MPSTAT, "--output", folder]) == 0
        assert Path(folder, "cpu_samples.parquet").is_file()


def test_pairs_of_a_column_become_text_in_csv(tmp_path: Path) -> None:
    stamped = (
        "# 1795211351.663251\nESTAB 0 0 10.0.0.1:43802 10.0.0.2:5201\n\t cubic rtt:1.5/0.5 mss:1448 new:5 cwnd:43\n"
    )
    (tmp_path / "sockets.txt").write_text(stamped)
    assert main(["ingest", "ss", str(tmp_path / "sockets.txt"), "--output", str(tmp_path / "s.csv")]) == 0
    row = pl.read_csv(tmp_path / "s.csv").row(0, named=True)
    assert (row["rtt_ms"], row["extra"]) == (1.5, "new=5")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["iperf", IPERF3], "there is no format `iperf`; did you mean `iperf3`?"),
        (
            ["netem", IPERF3],
            "`netem`; `metadata` reads jobmeta, host-meta, pre-netem and results files: type `ingest met",
        ),
        (["qdisc", IPERF3], "`metadata` reads jobmeta,"),
        (["flent", IPERF3], "`rpc` reads netperf and flent files: type `ingest rpc FILE`"),
        (["netperf", IPERF3], "`rpc` reads netperf and flent files: type `ingest rpc FILE`"),
        (["pcap", IPERF3], "`captures` reads tcpdump and tcpdump-log files: type `ingest captures FILE`"),
        (["kernel_drops", str(ROOT / "README.md")], "README.md: not_json: the file is not whole JSON"),
        (
            ["iperf3", str(ROOT / "README.md")],
            "README.md: not_json: no line begins with `{`: this is not JSON of iperf3",
        ),
        (
            ["nginx", IPERF3, "--access-log-format", "combined"],
            "edge.access_log_format, or --access-log-format of `ingest`: it needs $request_time and $bytes_sent",
        ),
        (["nothing", IPERF3], "there is no format `nothing`; there are campaign, captures, edge, iperf3,"),
        (["ss", "/nowhere"], "/nowhere is not a file"),
        (["ss", IPERF3], "iperf3_p2.json: no_measurement:"),
    ],
)
def test_what_cannot_be_read_is_said(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", *words]) == 1
    assert message in capsys.readouterr().err


def test_a_file_that_another_reader_takes_by_its_name_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "session.json"
    path.write_text("{}", encoding="utf-8")
    assert main(["ingest", "metadata", str(path)]) == 1
    assert capsys.readouterr().err == f"ccreport: `campaign` reads session.json: type `ingest campaign {path}`\n"


def test_a_recorded_qdisc_alone_lacks_the_metadata_of_its_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = tmp_path / "pre-netem:10.0.0.2:1"
    recorded.write_text("qdisc netem 1: dev eth0 root refcnt 2 limit 1000 delay 10ms\n", encoding="utf-8")
    metadata = tmp_path / "jobmeta.json"
    metadata.write_text('{"name": "j"}', encoding="utf-8")
    assert main(["ingest", "metadata", str(recorded)]) == 0
    said = capsys.readouterr().err
    assert "no_metadata: none of these files is a readable jobmeta.json: " in said
    assert said.endswith("; give its jobmeta.json, too\n")
    assert main(["ingest", "metadata", str(recorded), str(metadata)]) == 0
    assert "no_metadata" not in capsys.readouterr().err


def test_an_empty_file_beside_a_usable_one_is_told_and_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.json"
    empty.touch()
    assert main(["ingest", "iperf3", IPERF3, str(empty)]) == 0
    assert "empty.json: empty: " in capsys.readouterr().err
    assert main(["ingest", "iperf3", str(empty)]) == 1
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["ingest", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "is printed on stderr; the exit status is 0 all the same where `files` have rows" in told
