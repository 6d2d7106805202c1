"""netperf's output selectors: their labels in CSV and human output, and the columns of `rpc_tests` they become.

The definition is the chapter on omni output selectors of netperf's manual (2.5.0 and newer). A selector that no
column holds is not kept. What netperf could not know it writes as -1, a mask of ones, `-nan`, an empty text or
`Deprecated`.
"""

from typing import Final

SELECTOR_OF_LABEL: Final = {
    "Protocol": "PROTOCOL",
    "Direction": "DIRECTION",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Local Send Size": "LOCAL_SEND_SIZE",
    "Remote Send Size": "REMOTE_SEND_SIZE",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Local CPU Util %": "LOCAL_CPU_UTIL",
    "Remote CPU Util %": "REMOTE_CPU_UTIL",
    "Transaction Rate Tran/s": "TRANSACTION_RATE",
    "Round Trip Latency usec/tran": "RT_LATENCY",
    "Initial Burst Requests": "BURST_SIZE",
    "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
    "Remote Transport Retransmissions": "REMOTE_TRANSPORT_RETRANS",
    "Transport MSS bytes": "TRANSPORT_MSS",
    "Source Address": "SOURCE_ADDR",
    "Destination Address": "DEST_ADDR",
    "Local Bytes Sent": "LOCAL_BYTES_SENT",
    "Remote Bytes Sent": "REMOTE_BYTES_SENT",
    "Result Tag": "RESULT_BRAND",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "Local Congestion Control Algorithm": "LOCAL_CONG_CONTROL",
    "Remote Congestion Control Algorithm": "REMOTE_CONG_CONTROL",
    "Command Line": "COMMAND_LINE",
}
MICROSECONDS: Final = {
    "MIN_LATENCY": "latency_min_ms",
    "MEAN_LATENCY": "latency_mean_ms",
    "P50_LATENCY": "latency_p50_ms",
    "P90_LATENCY": "latency_p90_ms",
    "P99_LATENCY": "latency_p99_ms",
    "MAX_LATENCY": "latency_max_ms",
    "STDDEV_LATENCY": "latency_stddev_ms",
}
COUNTS: Final = {
    "REQUEST_SIZE": "request_bytes",
    "RESPONSE_SIZE": "response_bytes",
    "BURST_SIZE": "burst_count",
    "LOCAL_TRANSPORT_RETRANS": "retransmits_local_count",
    "REMOTE_TRANSPORT_RETRANS": "retransmits_remote_count",
    "TRANSPORT_MSS": "mss_bytes",
    "LOCAL_BYTES_SENT": "sent_local_bytes",
    "REMOTE_BYTES_SENT": "sent_remote_bytes",
}
FLOATS: Final = {
    "ELAPSED_TIME": "elapsed_s",
    "LOCAL_CPU_UTIL": "cpu_local_pct",
    "REMOTE_CPU_UTIL": "cpu_server_pct",
}
TEXTS: Final = {
    "PROTOCOL": "transport",
    "LOCAL_CONG_CONTROL": "cc_local",
    "REMOTE_CONG_CONTROL": "cc_remote",
    "SOURCE_ADDR": "client_host",
    "DEST_ADDR": "server_host",
    "RESULT_BRAND": "test_label",
    "COMMAND_LINE": "command",
}
# Bits of one unit; bytes are counted in powers of 2, bits in powers of 10 (netperf's `-f`).
UNIT_BITS: Final = {
    "10^3bits/s": 1e3,
    "10^6bits/s": 1e6,
    "10^9bits/s": 1e9,
    "KBytes/s": 8 * 2.0**10,
    "MBytes/s": 8 * 2.0**20,
    "GBytes/s": 8 * 2.0**30,
    "bits/s": 1.0,
    "Bytes/s": 8.0,
}
TRANSACTION_UNITS: Final = frozenset({"Trans/s"})
NO_NUMBER: Final = frozenset({"", "Deprecated"})
# 0.0.0.0 and :: are an address that netperf was not bound to.
NO_TEXT: Final = frozenset({"", "Deprecated", "0.0.0.0", "::", "unknown"})  # noqa: S104 (a value, not a binding)
LARGEST: Final = 2.0**53


def read_number(text: str) -> float | None:
    """Return a number that polars does not take for one, None where netperf says that it has none.

    Raise ValueError for other text.
    """
    try:
        value = float(text)
    except ValueError:
        if text in NO_NUMBER:
            return None
        raise
    # What Python takes for a number beside netperf's: 1_000, and the digits of other scripts.
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return value


def read_direction(text: str) -> str | None:
    """Return the direction that netperf's `DIRECTION` means, None for one that is not known."""
    parts = set(text.split("|"))
    if {"Send", "Recv"} <= parts or parts == {"Connect", "Close"} or parts == {"Connect"}:
        return "transactions"
    return "send" if "Send" in parts else "receive" if "Recv" in parts or "Receive" in parts else None


def direction_of_name(name: str) -> str:
    """Return the direction of a test by its name, as in `TCP_STREAM`, or the last part of one."""
    kind = name.rpartition("_")[2].upper()
    return {"STREAM": "send", "SENDFILE": "send", "MAERTS": "receive"}.get(kind, "transactions")
