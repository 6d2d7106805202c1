import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from archives import list_archive, list_one, write_archive
from readings import read_files

from ccreport.ingest.edge.nginx import LogFormatError, compile_format

LAYOUT = r"(?:(?:.*/)?(?P<machine>[^/]+)/)?(?P<label>[^/]+)/[^/:]+(?::(?P<time>.+))?"
COMBINED = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
    '"$http_user_agent" $request_time'
)
LINE = '203.0.113.7 - - [20/Nov/2026:23:10:05 +0100] "GET /a HTTP/1.1" 200 1250000 "-" "curl/8" 0.500'


def ingest(content: str | bytes, folder: Path, log_format: str = COMBINED, name: str = "access.log"):
    root = write_archive(folder / "raw", {f"tokyo-1/bbr2/{name}": content, "tokyo-2/bbr/access.log": LINE})
    manifests = list_all(root, folder / "work")
    tables = read_files("nginx", manifests, root, folder, edge_paths=LAYOUT, access_log_format=log_format)
    return tables["web_requests"], tables["rejects"]


def list_all(root: Path, work: Path) -> Path:
    for experiment, manifest in list_archive(root, work).items():
        if any(file.path.startswith("tokyo-1/") for file in manifest.files):
            return work / "manifests" / f"{experiment}.json"
    raise AssertionError


def test_a_line_becomes_bytes_time_and_goodput(tmp_path: Path) -> None:
    requests, rejects = ingest(f"{LINE}\n", tmp_path)
    row = requests.row(0, named=True)
    # 23:10:05 at +01:00; 1,250,000 B · 8 / 0.5 s = 20 Mbit/s.
    assert row["logged_utc"] == datetime(2026, 11, 20, 22, 10, 5, tzinfo=UTC)
    assert (row["status"], row["answer_bytes"], row["request_s"], row["request_goodput_bps"]) == (
        200,
        1250000,
        0.5,
        2e7,
    )
    assert (row["machine"], row["label"], row["cc"], row["line_number"]) == ("tokyo-1", "bbr2", "bbr2", 1)
    assert rejects.is_empty()


@pytest.mark.parametrize("year", ["0000", "-001", "10000"])
def test_a_year_that_python_does_not_know_is_no_time(year: str, tmp_path: Path) -> None:
    requests, rejects = ingest(f"{LINE}\n{LINE.replace('/2026:', f'/{year}:')}\n", tmp_path)
    assert requests["logged_utc"].is_null().to_list() == [False, True]
    assert requests["answer_bytes"].to_list() == [1250000] * 2
    assert rejects.is_empty()


@pytest.mark.parametrize("number", ["9223372036854775807", "9007199254740993", "18446744073709551616"])
def test_a_number_of_bytes_beyond_any_request_leaves_the_line_out(number: str, tmp_path: Path) -> None:
    requests, rejects = ingest(f"{LINE}\n{LINE.replace('1250000', number)}\n", tmp_path)
    assert requests["answer_bytes"].to_list() == [1250000]
    assert rejects["reason"].to_list() == ["malformed_record"]


@pytest.mark.parametrize("time", ["1e-320", "1e-290", "0.0000009"])
def test_a_time_too_short_to_be_one_has_no_goodput(time: str, tmp_path: Path) -> None:
    # 1,250,000 B * 8 / 1e-320 s is beyond the largest number, and so are a few of 1e-290 s together.
    requests, _ = ingest(LINE.replace("0.500", time), tmp_path)
    assert requests["request_goodput_bps"].to_list() == [None]


@pytest.mark.parametrize("times", ["0.100", "-", "0.100, 0.200", "0.100, - : 0.300", "a,b, c"])
def test_upstream_variables_are_lists_where_several_servers_were_asked(times: str, tmp_path: Path) -> None:
    log_format = "$msec $upstream_response_time $status $body_bytes_sent $request_time"
    requests, rejects = ingest(f"1795211405.123 {times} 200 1250000 0.500\n", tmp_path, log_format)
    assert requests.select("status", "request_goodput_bps").rows() == [(200, 2e7)]
    assert rejects.is_empty()


@pytest.mark.parametrize("text", ["7,0.500", "7, 8,0.500"])
def test_a_list_of_an_upstream_variable_ends_at_the_comma_of_the_format(text: str, tmp_path: Path) -> None:
    requests, _ = ingest(f"1250000,{text}\n", tmp_path, "$bytes_sent,$upstream_status,$request_time")
    assert requests["request_s"].to_list() == [0.5]


def test_a_request_logged_as_zero_seconds_has_no_goodput(tmp_path: Path) -> None:
    requests, _ = ingest(LINE.replace("0.500", "0.000"), tmp_path)
    assert requests.select("request_s", "request_goodput_bps").row(0) == (0.0, None)


def test_lines_of_another_form_are_named_and_the_others_kept(tmp_path: Path) -> None:
    dashed = LINE.replace("0.500", "-")
    requests, rejects = ingest(f"{LINE}\nrubbish <b>\n\n{dashed}\n{LINE}\n{LINE[:40]}", tmp_path)
    assert requests["line_number"].to_list() == [1, 5]
    assert rejects["line_number"].to_list() == [2, 4, 6]
    assert set(rejects["reason"]) == {"malformed_record"}
    assert not rejects["is_whole_file"].any()


def test_the_format_is_nginxs_own_also_json_and_with_braces(tmp_path: Path) -> None:
    log_format = '{"t":$msec,"u":"$request","b":${bytes_sent},"s":"$request_time"}'
    line = json.dumps({"t": 1795212605.25, "u": 'GET /"a"\\ 9', "b": 1000, "s": "0.004"}, separators=(",", ":"))
    requests, rejects = ingest(f"{line}\r\n", tmp_path, log_format)
    row = requests.row(0, named=True)
    assert rejects.is_empty()
    # 1795212605.25 s after 1970; 8000 bit / 4 ms = 2 Mbit/s.
    assert row["logged_utc"] == datetime(2026, 11, 20, 22, 10, 5, 250000, tzinfo=UTC)
    assert (row["answer_bytes"], row["request_goodput_bps"], row["status"]) == (1000, 2e6, None)


def test_bytes_with_headers_come_before_those_of_the_body(tmp_path: Path) -> None:
    requests, _ = ingest("10 20 1.0\n", tmp_path, "$body_bytes_sent $bytes_sent $request_time")
    assert requests["answer_bytes"].to_list() == [20]


def test_a_quote_in_a_variable_does_not_end_it(tmp_path: Path) -> None:
    requests, _ = ingest(LINE.replace("curl/8", r"a\x22 0.1 \" b"), tmp_path)
    assert requests["request_s"].to_list() == [0.5]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("hello\n", "no_measurement"),
        (gzip.compress(b"x" * 9, mtime=0)[:12], "truncated_compression"),
    ],
)
def test_a_log_without_a_request_is_rejected_with_the_reason(content: str | bytes, reason: str, tmp_path: Path) -> None:
    requests, rejects = ingest(content, tmp_path)
    assert requests.is_empty()
    assert rejects.select("reason", "is_whole_file").rows() == [(reason, True)]


def test_a_log_cut_while_compressed_keeps_what_came_before(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"{LINE}{n % 10}\n" for n in range(50000)).encode(), 1)
    requests, rejects = ingest(whole[: len(whole) // 2], tmp_path, name="access.log.gz")
    assert 0 < requests.height < 50000
    assert "truncated_compression" in rejects["reason"].to_list()


@pytest.mark.parametrize("number", ["99999999999999999999999", "-5", "1e400", "nan", "٣"])
def test_a_number_that_cannot_be_is_no_value(number: str, tmp_path: Path) -> None:
    requests, _ = ingest(f"{LINE}\n{LINE.replace('1250000', number)}\n{LINE.replace('0.500', number)}\n", tmp_path)
    assert requests["answer_bytes"].is_between(0, 1250000).all()
    assert requests["request_s"].is_finite().all()


@pytest.mark.parametrize("log_format", ["$status", "$bytes_sent$request_time", "", "$request_time"])
def test_a_format_that_cannot_be_read_is_refused(log_format: str) -> None:
    with pytest.raises(LogFormatError, match="access_log_format"):
        compile_format(log_format)


def test_a_hostile_line_is_read_in_one_pass() -> None:
    pattern = compile_format(COMBINED)
    assert pattern.findall('a "' * 20000) == []


def test_an_archive_of_logs_alone_is_listed_as_access_logs(tmp_path: Path) -> None:
    root = write_archive(tmp_path / "raw", {"m/access.log.1": LINE, "m/www.access.log": LINE})
    manifest = pl.read_json(list_one(root, tmp_path / "work"))
    assert [file["kind"] for file in manifest["files"][0]] == ["access-log", "access-log"]
