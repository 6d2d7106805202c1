"""Rules by which a transfer was not the one that was asked for."""

from typing import Final

import polars as pl

from ccreport.measure.suspects.rule import Rule

UNDELIVERED: Final = Rule(
    name="receiver_not_drained",
    label="the receiver read too little",
    definition=(
        "What the sender's sockets took and the receiver had not read at the end is more than twice the largest send "
        "buffers and offered windows that `ss` sampled."
    ),
    reason=(
        "Such bytes can only be in the sender's socket or in the receiver's. The buffers are sampled, and the kernel "
        "at most doubles them from one round trip to the next (Linux, tcp_sndbuf_expand and tcp_rcv_space_adjust)."
    ),
    unit="B",
    observed=pl.col("undelivered_bytes"),
    bound=2 * pl.col("socket_buffers_bytes"),
)

MISSING_FLOWS: Final = Rule(
    name="flows_missing",
    label="flows missing",
    definition="The run has fewer TCP flows than streams were asked of its clients.",
    reason="The flows that are there shared the path with fewer others than the condition says.",
    unit="flows",
    observed=pl.col("flows_count"),
    bound=pl.col("flows_asked_count"),
    is_minimum=True,
)

REPEATED: Final = Rule(
    name="attempt_repeated",
    label="an earlier try failed or was disturbed",
    definition="The run is not the first try of its kind: an earlier one failed or was disturbed.",
    reason=(
        "What ended the earlier try may have lasted, and a run that is repeated until it looks right is a selected one."
    ),
    unit="attempts",
    observed=pl.col("attempts_count"),
    bound=pl.lit(1),
)

# Start and rate tell all digits that the tool wrote.
SAME_TEST: Final = ("start_utc", "duration_s", "host", "sender_host", "throughput_bps", "retransmits_count")

COPIED: Final = Rule(
    name="test_twice",
    label="a copy of another run",
    definition="A run before it in the table of runs has the same start, duration, hosts, rate and retransmits.",
    reason="Two tests never agree in all digits of all of these: it is one test, which is there twice and counts once.",
    unit="runs",
    observed=pl.int_range(1, pl.len() + 1).over(SAME_TEST),
    bound=pl.lit(1),
    condition=pl.col("start_utc").is_not_null() & pl.col("throughput_bps").is_not_null(),
)
