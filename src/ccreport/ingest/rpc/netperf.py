"""netperf's output: omni tests as key=value (`-k`), CSV (`-o`) and columns (`-O`), and the fixed columns of old tests.

Definition: netperf's manual, chapters on omni tests and output selectors (2.5.0 and newer, also flent's builds).
Quirks, seen in 2.7.0: `-P 0` leaves out banner and CSV header, so CSV without them says nothing and is rejected; demo
mode (`-D`) writes interim results before the result, in another form for each output form; `-nan` and -1 mean
unknown; THROUGHPUT comes in the unit of `-f` and has none of its own without THROUGHPUT_UNITS; text in CSV is put in
quotes, but quotes in it are not doubled; SOURCE_ADDR is 0.0.0.0 unless bound (`-L`); latencies beside RT_LATENCY need
`-j`, and there is no selector for the 99.9th percentile; several tests may follow each other in one file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.rpc.netperf_bulk import Interim
from ccreport.ingest.rpc.netperf_forms import FIRST_INTERIM, INTERIM_WORDS, find_banners, find_interim, read_forms
from ccreport.ingest.rpc.netperf_histogram import parse_histogram, summarise_histogram
from ccreport.ingest.rpc.netperf_selectors import UNIT_BITS, direction_of_name
from ccreport.ingest.rpc.rows import Block, RpcRows, shown

HISTOGRAM: Final = re.compile(r"^Histogram of .*\n((?:(?:[A-Z]+_[A-Z]+ *:|>100_SECS|HIST_TOTAL).*\n?)*)", re.MULTILINE)
WARNING_WORD: Final = "!"
HISTOGRAM_WORD: Final = "Histogram of "
WARNING: Final = re.compile(r"^!!!.*\n?", re.MULTILINE)
ERROR: Final = re.compile(
    r"^(?:establish[_ ]control|netperf|[a-z]+_[a-z_]+|shutdown_control|catcher)\b.*", re.MULTILINE
)
NAMES: Final = {
    "STREAM": "STREAM",
    "MAERTS": "MAERTS",
    "SENDFILE": "SENDFILE",
    "REQUEST/RESPONSE": "RR",
    "CONNECT/REQUEST/RESPONSE": "CRR",
    "CONNECT/CLOSE": "CC",
}
RESULT_SELECTORS: Final = frozenset({"THROUGHPUT", "TRANSACTION_RATE", "RT_LATENCY", "MEAN_LATENCY", "P50_LATENCY"})
STOPPED: Final = "netperf was stopped before its result; the interim results were kept"


@dataclass(frozen=True)
class Section:
    """The output of one test, or of several without banners; `line` is its first line's number."""

    banner: re.Match[str] | None
    text: str
    line: int


def read_netperf(content: bytes) -> RpcRows:
    """Return the tests of one file, as make_tests takes them.

    Raise RawFileError (`empty`, `not_text`) where it is not text at all.
    """
    if not content or content.isspace():
        raise RawFileError("empty", "the file is empty: netperf did not run or was killed before its first output")
    if b"\0" in content:
        raise RawFileError("not_text", "this is not text; copy netperf's output again from its source")
    rows = RpcRows()
    text = content.decode("utf-8", "backslashreplace")
    # Whether there is a certain character is found much faster than where two are.
    text = text.replace("\r\n", "\n") if "\r" in text else text
    # Looking for each word in each section takes nearly as long as reading it.
    words = frozenset(word for word in (WARNING_WORD, HISTOGRAM_WORD, *INTERIM_WORDS) if word in text)
    for section in _split(text):
        _read_section(section, words, rows)
    return rows


def _split(text: str) -> Iterator[Section]:
    banners = list(find_banners(text))
    starts = [banner.start() for banner in banners] + [len(text)]
    line = 1
    if text[: starts[0]].strip():
        yield Section(None, text[: starts[0]], line)
    begin = 0
    for banner, end in zip(banners, starts[1:], strict=True):
        line += text.count("\n", begin, banner.start())
        begin = banner.start()
        yield Section(banner, text[banner.end() : end].lstrip("\n"), line)


def _read_section(section: Section, words: frozenset[str], rows: RpcRows) -> None:
    text = WARNING.sub("", section.text) if WARNING_WORD in words else section.text
    histogram = HISTOGRAM.search(text) if HISTOGRAM_WORD in words else None
    if histogram is not None:
        text = text[: histogram.start()] + text[histogram.end() :]
    parts = [(text, Interim())] if words.isdisjoint(INTERIM_WORDS) else _split_at_interim(text)
    for number, (part, interim) in enumerate(parts):
        known = _read_banner(section.banner)
        tests = read_forms(part, known, lambda reason, message: rows.note(reason, message, section.line))
        if isinstance(tests, pl.DataFrame):
            if not interim.values and histogram is None and not RESULT_SELECTORS.isdisjoint(tests.columns):
                rows.blocks.append(Block(rows.count, tests, known | {"output_form": "csv", "line": section.line}))
                continue
            tests = [("csv", fields) for fields in tests.iter_rows(named=True)]
        if not tests:
            _note_absence(section, part, interim, known, rows)
        for test_number, (form, fields) in enumerate(tests):
            own = interim if test_number == 0 else Interim()
            _add_test(form, fields, known, own, histogram if number == 0 else None, section, rows)


def _split_at_interim(text: str) -> Iterator[tuple[str, Interim]]:
    """Yield each test's result without its interim results, and these; a new list of them begins a new test."""
    starts = [match.start() for match in FIRST_INTERIM.finditer(text)]
    if not starts or text[: starts[0]].strip():
        starts = [0, *starts]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield find_interim(text[start:end])


def _read_banner(banner: re.Match[str] | None) -> dict[str, Any]:
    if banner is None:
        return {}
    # Versions before 2.4 name the server alone: `TCP STREAM TEST to 10.0.0.2 : histogram`.
    server = banner["server"] or (banner["other"] or "").partition(" ")[0]
    row: dict[str, Any] = {"client_host": _host(banner["client"] or ""), "server_host": _host(server)}
    words = banner["name"].replace("MIGRATED ", "").split()
    if words[0].upper() == "OMNI":
        row["test_name"] = "OMNI"
        row["payload_direction"] = {"Send": "send", "Receive": "receive", "Recv": "receive"}.get(
            words[-1], "transactions"
        )
    elif (kind := NAMES.get(words[-1].upper())) is not None:
        row |= {"test_name": f"{words[0].upper()}_{kind}", "transport": words[0].upper().removesuffix("IPV6")}
        row["payload_direction"] = direction_of_name(kind)
    if (burst := re.search(r"first burst (\d{1,9})\b", banner[0])) is not None:
        row["burst_count"] = int(burst[1])
    return row


def _host(text: str) -> str | None:
    return None if text in ("0.0.0.0", "::", "") else shown(text)  # noqa: S104 (a value, not a binding)


def _add_test(
    form: str,
    row: dict[str, Any],
    known: dict[str, Any],
    interim: Interim,
    histogram: re.Match[str] | None,
    section: Section,
    rows: RpcRows,
) -> None:
    if RESULT_SELECTORS.isdisjoint(row):
        rows.note(
            "no_measurement", "a test reports neither rate nor latency; select THROUGHPUT or -k all", section.line
        )
        return
    row.update(known, output_form=form, line=section.line)
    if interim.unit is not None:
        row.setdefault("THROUGHPUT_UNITS", interim.unit)
    if histogram is not None:
        _add_histogram(histogram[1], row, section, rows)
    _add_interim(interim, row, rows)
    rows.tests.append(row)


def _add_histogram(text: str, row: dict[str, Any], section: Section, rows: RpcRows) -> None:
    try:
        buckets = parse_histogram(text.splitlines())
    except ValueError as error:
        rows.note("malformed_record", f"the histogram cannot be used: {shown(str(error))}", section.line)
        return
    for bucket in buckets:
        edges = {"latency_from_ms": bucket.from_ms, "latency_to_ms": bucket.to_ms, "transactions_count": bucket.count}
        rows.histograms.append({"test_number": rows.count, "bucket_number": bucket.number} | edges)
    row |= summarise_histogram(buckets)


def _add_interim(interim: Interim, row: dict[str, Any], rows: RpcRows) -> None:
    if not interim.values:
        return
    factor = UNIT_BITS.get(interim.unit or "")
    unit = "bit/s" if factor is not None else shown(interim.unit or "") or None
    begin = interim.ends[0] - interim.intervals[0]
    values = [value * factor for value in interim.values] if factor is not None else interim.values
    rows.add_samples([end - begin for end in interim.ends], interim.intervals, values, unit)
    row["value_unit"] = unit


def _note_absence(section: Section, part: str, interim: Interim, known: dict[str, Any], rows: RpcRows) -> None:
    """Note why a section has no result; interim results alone are kept as a test without one."""
    error = ERROR.search(part)
    if interim.values:
        row = {"output_form": "keyval", "line": section.line, **known}
        _add_interim(interim, row, rows)
        rows.tests.append(row)
        rows.note("interrupted", STOPPED, section.line)
    elif error is not None:
        rows.note("error_only", f"netperf failed: {shown(error[0])}; run the test again", section.line)
    elif not part.strip():
        rows.note("truncated_text", "netperf was stopped before its result; run the test again", section.line)
    elif "malformed_record" not in rows.problems:
        message = f"no result of netperf that names its values: {shown(part)}; run it without -P 0, or with -k"
        rows.note("no_measurement", message, section.line)
