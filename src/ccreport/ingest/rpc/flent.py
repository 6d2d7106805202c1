"""flent's data files (`.flent.gz`, also netperf-wrapper's), file format versions 1 to 4, one row for each data series.

Definition: flent's documentation of its data file format, and what flent does on loading older ones. Quirks:
`results` are interpolated to a common grid of STEP_SIZE, so `raw_values` are read wherever a series has some; a series
`a::b` is in the raw values of `a` under the key `b`; version 1 keeps raw values in SERIES_META or has none; before
version 4 raw values of UDP pings are transactions per second and HTTP latencies s; times before 1.0 are local without
a zone, and flent guesses it from the raw values; TCP_RETRANSMIT is sometimes a text; METADATA may be null anywhere.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

import orjson

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.plausible import is_not_counted
from ccreport.ingest.rpc.flent_series import (
    Series,
    parse_time,
    read_grid,
    read_raw,
    summarise_latencies,
    take_number,
    take_text,
)
from ccreport.ingest.rpc.rows import RpcRows, shown

NEWEST_VERSION: Final = 4
NO_FLENT: Final = "this is not a data file of flent: `{key}` is missing or of another type; copy the file again"
TEST: Final = re.compile(r"\s-t\s*(TCP|UDP|SCTP|DCCP)_([A-Z]{2,10})\b")
# Ping (ms) ICMP · Ping (ms) UDP BE1; their mean and the delays of one direction are not such series.
PING: Final = re.compile(r"Ping \(ms\) (ICMP|UDP)(?: [A-Z]{2}\w{0,3})?(?:::\d{1,4})?$")
SERVER: Final = re.compile(r"\s-H\s*([^\s,]{1,255})")
DIRECTIONS: Final = {"STREAM": "send", "MAERTS": "receive", "SENDFILE": "send", "RR": "transactions"}
# What `--socket-stats` samples with ss.
SOCKET_UNITS: Final = {
    **dict.fromkeys(("tcp_rtt", "tcp_rtt_var", "tcp_bbr_mrtt"), "ms"),
    **dict.fromkeys(("tcp_pacing_rate", "tcp_delivery_rate", "tcp_bbr_bw"), "Mbits/s"),
    "tcp_cwnd": "segments",
}
MBIT: Final = 1e6
BIT_UNITS: Final = {"Mbits/s": MBIT, "Mbit/s": MBIT, "bits/s": 1.0}

Document = dict[str, Any]


def read_flent(content: bytes) -> RpcRows:
    """Return the series of one file. Raise RawFileError where it is not a data file of a known version."""
    document = _load(content)
    version = _read_version(document)
    metadata, results = document["metadata"], document["results"]
    series_metadata = metadata.get("SERIES_META")
    raw_values = _find_raw(document, metadata, version)
    begin = parse_time(metadata.get("T0")) or parse_time(metadata.get("TIME"))
    # The first raw value tells the zone that old files leave out.
    zone_s = _guess_zone(begin.timestamp(), raw_values) if begin is not None else 0.0
    epoch_s = begin.timestamp() + zone_s if begin is not None else None
    shared = _read_metadata(metadata) | {
        "start_utc": begin and parse_time(begin.timestamp() + zone_s),
    }
    rows = RpcRows()
    # Such a series may have no values but those of its parts, `cpu_stats_host` those of `cpu_stats_host::cpu0`.
    parents = {name.rpartition("::")[0] for name in results}
    for name in sorted({*results, *raw_values}):
        facts = series_metadata.get(name) if isinstance(series_metadata, dict) else None
        facts = facts if isinstance(facts, dict) else {}
        series = read_raw(name, raw_values, epoch_s, version, rows) or read_grid(
            name, results.get(name), document["x_values"], rows
        )
        _add_series(name, series, facts, shared, rows, has_parts=name in parents)
    _add_load(rows.tests, metadata.get("TEST_PARAMETERS"))
    return rows


def _load(content: bytes) -> Document:
    if not content.strip():
        raise RawFileError("empty", "the file is empty: flent did not run or was killed before it wrote its data")
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        document = _load_leniently(content)
    if not isinstance(document, dict):
        raise RawFileError("unexpected_structure", NO_FLENT.format(key="metadata"))
    for key, kind in (("metadata", dict), ("results", dict), ("x_values", list)):
        if not isinstance(document.get(key), kind):
            raise RawFileError("unexpected_structure", NO_FLENT.format(key=key))
    return cast("Document", document)


def _load_leniently(content: bytes) -> Any:
    """Return a document with NaN, numbers without bounds, or bytes that are no UTF-8, as Python writes and reads it."""
    text = content.decode("utf-8", "backslashreplace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        is_cut = not text.rstrip().endswith("}")
        reason = "truncated_json" if is_cut else "not_json"
        raise RawFileError(reason, f"this is not complete JSON ({shown(str(error))}); copy it again") from error


def _read_version(document: Document) -> int:
    version = document.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= NEWEST_VERSION:
        message = f"file format version {shown(str(version))} of flent is not known (1 to {NEWEST_VERSION} are)"
        raise RawFileError("unexpected_structure", message)
    return version


def _find_raw(document: Document, metadata: Mapping[str, Any], version: int) -> dict[str, list[Any]]:
    held = document.get("raw_values")
    if version == 1 and not held:
        series = metadata.get("SERIES_META")
        facts = series.items() if isinstance(series, dict) else ()
        held = {name: fact.get("RAW_VALUES") for name, fact in facts if isinstance(fact, dict)}
    if held is None:
        held = {}
    if not isinstance(held, dict):
        raise RawFileError("unexpected_structure", NO_FLENT.format(key="raw_values"))
    return {name: values for name, values in held.items() if isinstance(values, list) and values}


def _guess_zone(begin_s: float, raw_values: Mapping[str, list[Any]]) -> float:
    """Return the s to add to the start so that it is within a quarter of an hour before or after the first value."""
    times = [take_number(values[0].get("t")) for values in raw_values.values() if isinstance(values[0], dict)]
    first = min((time for time in times if time is not None), default=None)
    # ASSUME: zones are whole half hours within 14 h of UTC; what is further off is another clock.
    offset = 1800.0 * round((first - begin_s) / 1800.0) if first is not None else 0.0
    return offset if abs(offset) <= 14 * 3600 else 0.0


def _read_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rpc_tool": "flent",
        "output_form": "data",
        "test_name": take_text(metadata.get("NAME")),
        "test_label": take_text(metadata.get("TITLE")),
        "client_host": take_text(metadata.get("LOCAL_HOST")),
        "server_host": take_text(metadata.get("HOST")),
    }


def _add_load(tests: list[dict[str, Any]], parameters: object) -> None:
    """Add to each test how many bulk transfers the file has, the load of its pings, and the algorithm of them all.

    Files of before version 4 do not name the algorithm of a connection, their test parameters may.
    """
    asked = parameters if isinstance(parameters, dict) else {}
    bulk = [test for test in tests if test.get("payload_direction") in ("send", "receive")]
    named = take_text(asked.get("tcp_cong_control")) or take_text(asked.get("cc_algos"))
    for test in bulk:
        # Several names belong to one connection each, in an order that is not told.
        test["cc"] = test.get("cc") or (named if named is not None and "," not in named else None)
    ccs = {test.get("cc") for test in bulk}
    shared = ccs.pop() if len(ccs) == 1 else None
    for test in tests:
        test["load_count"] = len(bulk) or None
        if test.get("payload_direction") == "transactions" and test.get("cc") is None:
            test["cc"] = shared


def _add_series(
    name: str,
    series: Series | None,
    facts: Mapping[str, Any],
    shared: Mapping[str, Any],
    rows: RpcRows,
    *,
    has_parts: bool,
) -> None:
    if series is None or not series.values:
        if has_parts:
            return
        # A series without any value is what a test leaves whose tool failed or was not there.
        rows.note("no_measurement", f"series {shown(name)} has no values; look at flent's log of that test")
        return
    row = {**shared, "data_series": shown(name), **_read_command(name, facts)}
    socket_value = name.rpartition("::")[2] if "::tcp_" in name else None
    unit = take_text(facts.get("UNITS")) or _find_unit(name, socket_value)
    factor = BIT_UNITS.get(unit or "")
    values = series.values if factor is None else [value * factor for value in series.values]
    row["value_unit"] = "bit/s" if factor is not None else unit
    if factor is not None and socket_value is None:
        mean = take_number(facts.get("MEAN_VALUE"))
        rate = mean * factor if mean is not None else sum(values) / len(values)
        row["payload_rate_bps"] = rate if 0 <= rate < float("inf") else None
    elif unit == "ms" and "jitter" not in name.lower() and socket_value in (None, "tcp_rtt"):
        row |= summarise_latencies(values)
    _add_counters(row, facts)
    rows.add_samples(series.times, series.intervals, values, row["value_unit"], is_resampled=series.is_resampled)
    rows.tests.append(row)


def _find_unit(name: str, socket_value: str | None) -> str | None:
    """Return the unit of a series that names none, as those of sockets and of old files do."""
    if socket_value is not None:
        return SOCKET_UNITS.get(socket_value)
    # ASSUME: series of old files are ms where their names say ping, else 10^6 bit/s of TCP.
    if "(ms)" in name or "Ping" in name:
        return "ms"
    return "Mbits/s" if name.startswith("TCP ") else None


def _read_command(name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    command = take_text(facts.get("COMMAND"), limit=2000)
    row: dict[str, Any] = {"command": command}
    # ASSUME: series of these names are of the tools that flent has always used for them; old files name no runner.
    ping = PING.match(name)
    if ping is not None or facts.get("RUNNER") == "PingRunner":
        row |= {"transport": ping[1] if ping is not None else "ICMP", "payload_direction": "transactions"}
    if command is None:
        return row
    if (test := TEST.search(command)) is not None:
        row |= {"transport": test[1], "payload_direction": DIRECTIONS.get(test[2])}
        if (server := SERVER.search(command)) is not None:
            row["server_host"] = shown(server[1])
    return row


def _add_counters(row: dict[str, Any], facts: Mapping[str, Any]) -> None:
    """Add what flent says about the connection; its counters are those of the side that sends."""
    row["cc"] = take_text(facts.get("CONG_CONTROL"))
    row["elapsed_s"] = take_number(facts.get("ELAPSED_TIME"), least=0)
    row["mss_bytes"] = _take_count(facts.get("TCP_MSS"))
    if row.get("payload_direction") not in ("send", "receive"):
        return
    side = "local" if row["payload_direction"] == "send" else "remote"
    row["send_bytes"] = _take_count(facts.get("SEND_SIZE"))
    row[f"cc_{side}"] = row["cc"]
    retransmits = _take_count(facts.get("TCP_RETRANSMIT"))
    row[f"retransmits_{side}_count"] = None if is_not_counted(retransmits) else retransmits
    row[f"sent_{side}_bytes"] = _take_count(facts.get("BYTES_SENT"))


def _take_count(value: object) -> int | None:
    number = take_number(value, least=0)
    return int(number) if number is not None and number < 2**53 else None
