"""The tokens of `ss`: what each is called, how it is written and which columns of `samples` it fills.

A field of a newer ss is one line here, and its column in the schema. From iproute2's `misc/ss.c` up to 7.1 and Linux's
`struct tcp_info`. ss prints a counter only when it is not zero, so where one is missing it is zero, if this ss prints
it and this kernel counts it (`ss`, `kernel`: the first versions that do); any field as new proves that.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from ccreport.core.tables import load_schema
from ccreport.ingest.ss import layout
from ccreport.ingest.ss.layout import FLAG, GLUED_GROUP, GROUP, KEPT, MILLISECONDS, PLAIN, RATE, ROOT, VALUE, Ints


@dataclass(frozen=True)
class Token:
    """One token; `name` is `group.name` in a group. Of `columns`, `zeros` are zero (or false) where it is missing."""

    name: str
    columns: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()
    shape: int = VALUE
    unit: int = PLAIN
    ss: str | None = "2.6"
    kernel: str = "2.6"
    is_info: bool = True
    ends_cc: bool = True


def _value(name: str, *columns: str, unit: int = PLAIN, ss: str = "2.6", kernel: str = "2.6") -> Token:
    return Token(name, columns, unit=unit, ss=ss, kernel=kernel)


def _count(name: str, *columns: str, unit: int = PLAIN, ss: str = "2.6", kernel: str = "2.6") -> Token:
    return Token(name, columns, columns, unit=unit, ss=ss, kernel=kernel)


def _rate(name: str, *columns: str, ss: str = "2.6", kernel: str = "2.6") -> Token:
    return Token(name, columns, shape=layout.BLANK_VALUE, unit=RATE, ss=ss, kernel=kernel)


def _memory(name: str, column: str) -> Token:
    return Token(name, (column,), ss=None, ends_cc=False)


def _option(name: str, column: str) -> Token:
    return Token(name, (column,), (column,), FLAG, ss=OPTIONS, ends_cc=False)


def _limited(name: str, column_ms: str, column_pct: str) -> Token:
    return Token(name, (column_ms, column_pct), (column_ms,), unit=MILLISECONDS, ss="4.10", kernel="4.10")


def _kept(name: str, *, is_info: bool = True) -> Token:
    return Token(name, shape=KEPT, ss=None, is_info=is_info, ends_cc=is_info)


# Printed with `-o` and `-e` only; any of them proves that they are.
OPTIONS: Final = "options"
TOKENS: Final = (
    # Behind the addresses, with -o, -e and -p.
    *(_kept(name, is_info=False) for name in ("timer", "users", "uid", "ino", "sk", "cgroup", "v6only", "fwmark")),
    *(_kept(name, is_info=False) for name in ("<->", "-->", "<--", "---")),
    Token("skmem", shape=GLUED_GROUP, ss=None, ends_cc=False),
    _memory("skmem.r", "skmem_rmem_bytes"),
    _memory("skmem.rb", "skmem_rcvbuf_bytes"),
    _memory("skmem.t", "skmem_wmem_bytes"),
    _memory("skmem.tb", "skmem_sndbuf_bytes"),
    _memory("skmem.f", "skmem_fwd_bytes"),
    _memory("skmem.w", "skmem_wmem_queued_bytes"),
    _memory("skmem.o", "skmem_opt_bytes"),
    _memory("skmem.bl", "skmem_backlog_bytes"),
    _memory("skmem.d", "skmem_drops_count"),
    # From kernels that report less.
    Token("mem", shape=GLUED_GROUP, ss=None, ends_cc=False),
    _memory("mem.r", "skmem_rmem_bytes"),
    _memory("mem.w", "skmem_wmem_queued_bytes"),
    _memory("mem.f", "skmem_fwd_bytes"),
    _memory("mem.t", "skmem_wmem_bytes"),
    _option("ts", "has_ts"),
    Token("usec_ts", shape=KEPT, ss=OPTIONS, ends_cc=False),
    _option("sack", "has_sack"),
    _option("ecn", "has_ecn"),
    _option("ecnseen", "has_ecnseen"),
    _option("fastopen", "has_fastopen"),
    _value("wscale", "wscale_snd_count", "wscale_rcv_count"),
    _value("rto", "rto_ms"),
    _count("backoff", "backoff_count"),
    _value("rtt", "rtt_ms", "rttvar_ms"),
    _value("ato", "ato_ms"),
    _value("qack", "quick_acks_count"),
    Token("bidir", ("is_bidir",), shape=FLAG),
    _value("mss", "mss_bytes"),
    _value("pmtu", "pmtu_bytes", ss="4.15"),
    _value("rcvmss", "rcv_mss_bytes", ss="4.15"),
    _value("advmss", "adv_mss_bytes", ss="4.15"),
    _value("cwnd", "cwnd_segments_count"),
    _value("ssthresh", "ssthresh_segments_count"),
    _count("bytes_sent", "sent_bytes", ss="4.20", kernel="4.19"),
    _count("bytes_retrans", "retransmitted_bytes", ss="4.20", kernel="4.19"),
    _count("bytes_acked", "acked_bytes", ss="4.2", kernel="4.1"),
    _count("bytes_received", "received_bytes", ss="4.2", kernel="4.1"),
    _count("segs_out", "segments_out_count", ss="4.2", kernel="4.2"),
    _count("segs_in", "segments_in_count", ss="4.2", kernel="4.2"),
    _count("data_segs_out", "data_segments_out_count", ss="4.7", kernel="4.6"),
    _count("data_segs_in", "data_segments_in_count", ss="4.7", kernel="4.6"),
    # dctcp:(ce_state:0,alpha:0,ab_ecn:0,ab_tot:0) or dctcp:fallback_mode
    Token("dctcp", shape=GROUP, ss="4.0", kernel="3.18"),
    *(_kept(f"dctcp.{name}") for name in ("ce_state", "alpha", "ab_ecn", "ab_tot")),
    Token("bbr", shape=GROUP, ss="4.9", kernel="4.9"),
    _value("bbr.bw", "bbr_bw_bps", unit=RATE, ss="4.9", kernel="4.9"),
    _value("bbr.mrtt", "bbr_rtt_min_ms", ss="4.9", kernel="4.9"),
    _value("bbr.pacing_gain", "bbr_pacing_gain_ratio", ss="4.9", kernel="4.9"),
    _value("bbr.cwnd_gain", "bbr_cwnd_gain_ratio", ss="4.9", kernel="4.9"),
    _rate("send", "send_bps"),
    _count("lastsnd", "last_send_ms"),
    _count("lastrcv", "last_receive_ms"),
    _count("lastack", "last_ack_ms"),
    _rate("pacing_rate", "pacing_rate_bps", "pacing_rate_max_bps", ss="3.15", kernel="3.15"),
    _rate("delivery_rate", "delivery_rate_bps", ss="4.10", kernel="4.9"),
    _count("delivered", "delivered_count", ss="4.20", kernel="4.18"),
    _count("delivered_ce", "delivered_ce_count", ss="4.20", kernel="4.18"),
    Token("app_limited", ("is_app_limited",), ("is_app_limited",), FLAG, ss="4.10", kernel="4.9"),
    _count("busy", "busy_ms", unit=MILLISECONDS, ss="4.10", kernel="4.10"),
    _limited("rwnd_limited", "rwnd_limited_ms", "rwnd_limited_pct"),
    _limited("sndbuf_limited", "sndbuf_limited_ms", "sndbuf_limited_pct"),
    _count("unacked", "unacked_count"),
    _count("retrans", "retransmits_in_flight_count", "retransmits_ss_count"),
    _count("lost", "lost_count"),
    _count("sacked", "sacked_count"),
    _count("dsack_dups", "dsack_dups_count", ss="4.20", kernel="4.19"),
    _count("fackets", "fackets_count"),
    _value("reordering", "reordering_count"),
    _count("reord_seen", "reord_seen_count", ss="4.20", kernel="4.19"),
    _value("rcv_rtt", "rcv_rtt_ms"),
    _value("rcv_space", "rcv_space_bytes"),
    _value("rcv_ssthresh", "rcv_ssthresh_bytes", ss="4.15"),
    _count("notsent", "not_sent_bytes", ss="4.6", kernel="4.6"),
    _value("minrtt", "rtt_min_ms", ss="4.6", kernel="4.6"),
    _count("rcv_ooopack", "rcv_ooopack_count", ss="5.18", kernel="5.4"),
    _value("snd_wnd", "snd_wnd_bytes", ss="5.18", kernel="5.4"),
    _value("rcv_wnd", "rcv_wnd_bytes", ss="6.6", kernel="6.2"),
    _count("rehash", "rehash_count", ss="6.6", kernel="6.2"),
    # Behind the TCP information.
    *(_kept(name) for name in ("tcp-ulp-tls", "tcp-ulp-mptcp", "inet-sockopt", "md5keys", "tos", "tclass", "class_id")),
)
# Cumulative over the life of a connection: one that goes down shows that the port was used again.
COUNTERS: Final = (
    "sent_bytes",
    "retransmitted_bytes",
    "acked_bytes",
    "received_bytes",
    "segments_out_count",
    "segments_in_count",
    "data_segments_out_count",
    "data_segments_in_count",
    "retransmits_ss_count",
)
# What is at the end of a line, by which a cut one is known; the first two once a connection was established.
TRAILING: Final = ("rcv_space_bytes", "rtt_min_ms", "rcv_ssthresh_bytes", "snd_wnd_bytes", "rcv_wnd_bytes")
TABLE_SIZE: Final = 1024


def _slots() -> dict[str, int]:
    columns = dict.fromkeys(column for token in TOKENS for column in token.columns)
    return {column: layout.FIRST_SLOT + number for number, column in enumerate(columns)}


# The line of the cells that each column is in.
SLOTS: Final = _slots()


@cache
def token_table() -> Ints:
    """Return the tokens as the hash table that `read_tokens` looks names up in."""
    types = {column.name: column.type for column in load_schema("samples").columns}
    table = np.zeros((TABLE_SIZE, layout.TOKEN_FACTS), np.int64)
    lines = {"": ROOT}
    for number, token in enumerate(TOKENS):
        group, _, name = token.name.rpartition(".")
        head, tail = (int.from_bytes(name[start : start + 8].encode(), "big") for start in (0, 8))
        products = zip((head, tail, lines[group]), layout.HASH_FACTORS, strict=True)
        line = (sum(word * factor for word, factor in products) >> layout.HASH_SHIFT) % TABLE_SIZE
        while table[line, layout.LENGTH]:
            line = (line + 1) % TABLE_SIZE
        slots = [SLOTS[column] for column in token.columns] + [layout.ABSENT] * (2 - len(token.columns))
        is_float = bool(token.columns) and types[token.columns[0]] == "float"
        facts = (head, tail, len(name), lines[group], number, token.shape, token.unit, *slots)
        table[line] = (*facts, is_float, token.is_info, token.ends_cc)
        lines[token.name] = line
    return table


def columns_known_zero(seen: int) -> list[str]:
    """Return the columns in which a missing value is zero, from the tokens that a file has shown (one bit each)."""
    shown = [token for number, token in enumerate(TOKENS) if seen >> number & 1 and token.ss]
    versions = [(_version(token.ss or ""), _version(token.kernel)) for token in shown if token.ss != OPTIONS]
    ss = max((ss for ss, _ in versions), default=())
    kernel = max((kernel for _, kernel in versions), default=())
    known: list[str] = []
    for token in TOKENS:
        if token.ss == OPTIONS:
            is_known = any(other.ss == OPTIONS for other in shown)
        else:
            is_known = token.ss is not None and _version(token.ss) <= ss and _version(token.kernel) <= kernel
        known.extend(token.zeros if is_known else ())
    return known


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
