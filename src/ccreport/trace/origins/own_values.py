"""What values of runs are that a published table's query, or its view, computes under the name of another column."""

from collections.abc import Mapping
from typing import Final

from ccreport.summarise.table_sources import RPC_TABLES

# Of each value what it is, and what it is read from.
Meanings = Mapping[str, tuple[str, str]]

OF_TESTS: Final[Meanings] = {
    "retransmits_count": (
        "Segments that the side of the test that sends more retransmitted.",
        "rpc_tests `retransmits_local_count`, `retransmits_remote_count`",
    ),
    "segments_count": (
        "Segments that this side sent, of transactions each of which begins a segment.",
        "rpc_tests `transaction_rate_tps`, `elapsed_s`, `request_bytes`, `response_bytes`, `mss_bytes`",
    ),
    "flow_rtt_ms": ("Mean RTT of the test's connections.", "flows `rtt_p50_ms`, else flent's samples of its sockets"),
}
OF_FLOWS: Final = "; of all flows the sum, null where one does not say"
OWN: Final[Mapping[str, Meanings]] = {
    **dict.fromkeys(RPC_TABLES, OF_TESTS),
    "servers": {
        "rate_bps": (
            "Bytes of the client's flows over the time from first start to last end; of an RPC test of its payload.",
            "flows, labelled_rpc",
        ),
        "rate_min_bps": ("Rate of the client's slowest single flow of the run.", "flows"),
        "rate_max_bps": ("Rate of the client's fastest single flow of the run.", "flows"),
        "cwnd_mean_segments_count": (
            "Mean of the congestion windows of the client's flows, weighted by their samples.",
            "flows `cwnd_mean_segments_count`",
        ),
        "rtt_mean_ms": (
            "Mean over the client's flows of their mean RTT; of an RPC test that of its connections.",
            "flows `rtt_mean_ms`, labelled_rpc `flow_rtt_ms`",
        ),
        "retransmits_count": (
            "Segments that the client's flows, or the side of an RPC test that sends more, retransmitted.",
            "flows `retransmits_count`, labelled_rpc",
        ),
        "segments_count": ("Segments that these sent.", "flows `segments_count`, labelled_rpc"),
    },
    "staggered_flows": {
        "start_s": ("When the flow started, from the start of the run's first.", "flows `start_offset_s`"),
        "rate_bps": (
            "Rate of the flow over its own life; of all flows from the first one's start to the last one's end.",
            "flows",
        ),
        "moved_bytes": ("Bytes that the flow moved, by the side that has the rate.", "flows"),
        "moving_s": ("How long the flow moved them.", "flows"),
        "rtt_mean_ms": (
            "Mean RTT of the flow; of all flows the mean weighted by how long they moved bytes.",
            "flows `rtt_mean_ms`",
        ),
        "retransmits_count": (f"Segments that the flow retransmitted{OF_FLOWS}.", "flows `retransmits_count`"),
        "segments_count": (f"Segments that the flow sent{OF_FLOWS}.", "flows `segments_count`"),
    },
}
