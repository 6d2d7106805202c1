"""The state of captured connections as tables: arrays of counters to polars columns with units."""

import ipaddress
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from ccreport.ingest.captures.columns import DIRECTIONS, divide, nanoseconds, optional, utc
from ccreport.ingest.captures.decode import layout
from ccreport.ingest.captures.decode.layout import ABSENT, Ints
from ccreport.ingest.captures.follow import state as at

# Columns of `packet_flows` that are counters of a direction as they are.
_COUNTERS: Final = {
    "frames_count": at.FRAMES,
    "data_packets_count": at.DATA_PACKETS,
    "payload_bytes": at.PAYLOAD_BYTES,
    "unique_bytes": at.UNIQUE_BYTES,
    "frames_bytes": at.FRAMES_BYTES,
    "retransmits_capture_count": at.RETRANSMITS,
    "retransmits_seen_count": at.RETRANSMITS_SEEN,
    "retransmitted_capture_bytes": at.RETRANSMITTED_BYTES,
    "retransmits_fast_count": at.RETRANSMITS_FAST,
    "retransmits_timeout_count": at.RETRANSMITS_TIMEOUT,
    "retransmits_probe_count": at.RETRANSMITS_PROBE,
    "retransmits_spurious_count": at.RETRANSMITS_SPURIOUS,
    "control_retransmits_count": at.CONTROL_RETRANSMITS,
    "reordered_count": at.REORDERED,
    "reordering_extent_count": at.REORDERING_EXTENT,
    "duplicate_frames_count": at.DUPLICATE_FRAMES,
    "keep_alives_count": at.KEEP_ALIVES,
    "zero_window_probes_count": at.WINDOW_PROBES,
    "missing_bytes": at.MISSING_BYTES,
    "acks_count": at.ACKS,
    "dup_acks_count": at.DUP_ACKS,
    "sack_blocks_count": at.SACK_BLOCKS,
    "dsack_blocks_count": at.DSACK_BLOCKS,
    "zero_windows_count": at.ZERO_WINDOWS,
    "ect_count": at.ECT_PACKETS,
    "ce_count": at.CE_PACKETS,
    "ece_count": at.ECE_PACKETS,
    "cwr_count": at.CWR_PACKETS,
    "ack_rtt_samples_count": at.ACK_RTT_SAMPLES,
    "timestamp_rtt_samples_count": at.TIMESTAMP_RTT_SAMPLES,
}
_UNKNOWN_WHERE_ABSENT: Final = {
    "window_min_bytes": at.WINDOW_MIN,
    "window_max_bytes": at.WINDOW_MAX,
    "mss_announced_bytes": at.MSS,
    "window_scale": at.SCALE,
}
_OPTION_NAMES: Final = {
    2: "mss",
    3: "wscale",
    4: "sackOK",
    5: "sack",
    8: "timestamp",
    19: "md5",
    27: "quickstart",
    28: "uto",
    29: "ao",
    30: "mptcp",
    34: "tfo",
    253: "exp1",
    254: "exp2",
}
# The share of the handshake beyond the capture from which it was taken beside one end.
NEAR_SHARE: Final = 0.75


def quantiles(sketches: npt.NDArray[np.int32], numbers: Ints, shares: tuple[float, ...]) -> list[pl.Series]:
    """Return quantiles in ms of these sketches (ABSENT for none): the middle of the bucket that holds each."""
    results: list[list[float | None]] = [[] for _ in shares]
    for number in numbers:
        if number == ABSENT:
            for values in results:
                values.append(None)
            continue
        cumulative = np.cumsum(sketches[number], dtype=np.int64)
        for values, share in zip(results, shares, strict=True):
            rank = max(1, int(np.ceil(share * cumulative[-1])))
            values.append(_middle_of(int(np.searchsorted(cumulative, rank))) / 1e6)
    return [pl.Series(values, dtype=pl.Float64) for values in results]


def _middle_of(bucket: int) -> float:
    octave, fraction = divmod(bucket, 1 << at.BUCKET_BITS)
    width = 2.0 ** (octave + at.SMALLEST_OCTAVE - at.BUCKET_BITS)
    return width * ((1 << at.BUCKET_BITS) + fraction + 0.5)


def name_options(kinds: int) -> str:
    """Return the names of the option kinds that are in the bytes of a number, the first lowest."""
    names = []
    while kinds > 0:
        kind = kinds & 0xFF
        names.append(_OPTION_NAMES.get(kind, str(kind)))
        kinds >>= 8
    return ",".join(names)


def _address(high: int, low: int) -> str:
    number = (int(high) & (1 << 64) - 1) << 64 | int(low) & (1 << 64) - 1
    address = ipaddress.IPv6Address(number)
    return str(address.ipv4_mapped or address)


def list_links(state: at.State) -> pl.DataFrame:
    """Return who the connections are: flow_number, local and remote ends, connection_number."""
    rows = []
    for link in state.links[: state.totals[at.LINKS_USED]].tolist():
        ends = [
            (_address(link[at.A_HIGH], link[at.A_LOW]), link[at.PORTS] >> 16),
            (_address(link[at.B_HIGH], link[at.B_LOW]), link[at.PORTS] & 0xFFFF),
        ]
        local, remote = ends if link[at.LOCAL_IS_A] else reversed(ends)
        rows.append((link[at.SERIAL], *local, *remote, link[at.NUMBER]))
    schema = {
        "flow_number": pl.Int64,
        "local_address": pl.String,
        "local_port": pl.Int64,
        "remote_address": pl.String,
        "remote_port": pl.Int64,
        "connection_number": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def describe_container(file: Ints) -> dict[str, object]:
    """Return what the headers of a file say, as columns of `captures`."""
    link_types = file[layout.LINK_TYPES : layout.LINK_TYPES + file[layout.LINK_TYPES_COUNT]].tolist()
    snap_length = int(file[layout.SNAP_LENGTH])
    is_pcapng = file[layout.FILE_FORM] in (layout.PCAPNG_LITTLE, layout.PCAPNG_BIG)
    return {
        "container": "pcapng" if is_pcapng else "pcap",
        "link_types": ",".join(map(str, link_types)),
        "snap_length_bytes": snap_length if snap_length > 0 else None,
    }


def list_directions(state: at.State, count: int, *, is_cut: bool) -> pl.DataFrame:
    """Return the first `count` connections as rows of `packet_flows` with a flow_number, two for each."""
    links = np.repeat(state.links[:count], 2, axis=0)
    sides, others = state.sides[: 2 * count], _swapped(state.sides[: 2 * count])
    columns: dict[str, object] = {
        "flow_number": links[:, at.SERIAL],
        "direction": list(DIRECTIONS) * count,
        "first_utc": utc(links[:, at.FIRST_TIME]),
        "last_utc": utc(links[:, at.LAST_TIME]),
        "syn_utc": utc(np.where(links[:, at.SYN_TIME] > 0, links[:, at.SYN_TIME], ABSENT)),
    }
    columns |= {name: sides[:, fact] for name, fact in _COUNTERS.items()}
    columns |= {name: optional(sides[:, fact]) for name, fact in _UNKNOWN_WHERE_ABSENT.items()}
    columns |= _list_rtts(state, sides)
    columns["stalled_s"] = _stalled(sides, links) / 1e9
    columns["in_flight_mean_bytes"] = divide(sides[:, at.IN_FLIGHT_SUM], sides[:, at.IN_FLIGHT_PACKETS])
    columns["in_flight_max_bytes"] = optional(
        np.where(sides[:, at.IN_FLIGHT_PACKETS] > 0, sides[:, at.IN_FLIGHT_MAX], ABSENT)
    )
    columns["options"] = [
        name_options(kinds) if has_syn else None for kinds, has_syn in sides[:, [at.KINDS, at.HAS_SYN]].tolist()
    ]
    columns["ended"] = _list_ends(sides, others, links, is_cut=is_cut)
    columns |= _list_times(sides, links)
    return pl.DataFrame(columns)


def _swapped(sides: Ints) -> Ints:
    return sides.reshape(-1, 2, sides.shape[1])[:, ::-1].reshape(sides.shape)


def _stalled(sides: Ints, links: Ints) -> Ints:
    since = sides[:, at.ZERO_SINCE]
    rest = np.where(since != ABSENT, np.maximum(links[:, at.LAST_TIME] - since, 0), 0)
    stalled: Ints = sides[:, at.STALLED] + rest
    return stalled


def _list_rtts(state: at.State, sides: Ints) -> dict[str, object]:
    columns: dict[str, object] = {}
    for name, minimum, sketch in (
        ("ack_rtt", at.ACK_RTT_MIN, at.ACK_SKETCH),
        ("timestamp_rtt", at.TIMESTAMP_RTT_MIN, at.TIMESTAMP_SKETCH),
    ):
        middle, high, highest = quantiles(state.sketches, sides[:, sketch], (0.5, 0.95, 0.99))
        columns |= {
            f"{name}_min_ms": nanoseconds(sides[:, minimum], 1e6),
            f"{name}_p50_ms": middle,
            f"{name}_p95_ms": high,
            f"{name}_p99_ms": highest,
        }
    return columns


def _list_ends(sides: Ints, others: Ints, links: Ints, *, is_cut: bool) -> list[str]:
    is_closed = (sides[:, at.HAS_FIN] != 0) & (others[:, at.HAS_FIN] != 0)
    open_end = "cut" if is_cut else "open"
    ends: list[str] = np.where(links[:, at.IS_RESET] != 0, "rst", np.where(is_closed, "fin", open_end)).tolist()
    return ends


def _list_times(sides: Ints, links: Ints) -> dict[str, object]:
    """Return handshake RTT, capture side, completion time and goodput of each direction."""
    syn, syn_ack, done = (links[:, fact] for fact in (at.SYN_TIME, at.SYN_ACK_TIME, at.HANDSHAKE_TIME))
    # A host's clock may be set back between two packets.
    is_in_order = (syn <= syn_ack) & (syn_ack <= done) & (done - syn < at.RTT_LIMIT)
    is_in_order &= links[:, at.HAS_TWO_CLOCKS] == 0
    is_whole = (links[:, at.SYNS] == 1) & (links[:, at.SYN_ACKS] == 1) & (done > 0) & is_in_order
    handshake = np.where(is_whole, done - syn, ABSENT)
    # Seen from the local end: the share of the handshake between the capture and the remote end.
    beyond = np.where(is_whole & (handshake > 0), (syn_ack - syn) / np.maximum(handshake, 1), np.nan)
    is_out = np.arange(len(sides)) % 2 == 0
    share = np.where(is_out, beyond, 1 - beyond)
    side = [
        None
        if np.isnan(value)
        else "sender"
        if value >= NEAR_SHARE
        else "receiver"
        if value <= 1 - NEAR_SHARE
        else "between"
        for value in share
    ]
    acked = sides[:, at.DATA_ACKED_TIME]
    has_data = sides[:, at.PAYLOAD_BYTES] > 0
    completion = np.where(has_data & (syn > 0) & (acked >= syn), acked - syn, ABSENT)
    end = np.where(acked > sides[:, at.DATA_FIRST_TIME], acked, sides[:, at.DATA_TIME])
    seconds = np.where(has_data, end - sides[:, at.DATA_FIRST_TIME], 0)
    return {
        "handshake_rtt_ms": nanoseconds(handshake, 1e6),
        "capture_side": pl.Series(side, dtype=pl.String),
        "completion_capture_s": nanoseconds(completion, 1e9),
        "goodput_capture_bps": divide(sides[:, at.UNIQUE_BYTES] * 8_000_000_000, seconds),
    }
