"""Why iperf3, ss and a capture say different things of one flow: each cause predicts a number, which must hold.

The capture is the measure: it counts what was sent again in steps of 100 ms, so what another witness should have seen
by the time at which it looked is between the steps that had ended then and those that had begun.

- ss looks between the stamp of its last sample and the next stamp, up to a second late on a busy machine.
  The bytes that it counts as acknowledged tell the time better: the step in which the capture saw just as many. The
  kernel counts a repeated SYN or FIN too (tcp_info.tcpi_total_retrans).
- iperf3 looks when its seconds are over. It sends a cookie of 37 bytes on each stream as soon as it is connected, and
  data when all streams are and the server has answered, at least one round trip later. Data and acknowledgements
  that are still under way at the end are the capture's alone: the server closes its sockets with the test. Packet by
  packet, the sample archive's captures count what iperf3 counts when its seconds have passed since the first data,
  within 7 ms; steps of 100 ms only bound it.
- tcpdump that is stopped loses what the kernel had not handed over: `received by filter` less `captured` in its log.
- Offloads hand segments to the capture in one piece, so there bytes are compared.
- On the sender tcpdump sees packets when they leave the queue of the interface, the kernel counts their RTT from before
  it. What iperf3 reads there is above all that the capture saw, and ss, which reads the same value, shows it too.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ccreport.measure.reconcile.captured_flows import STEP_US, Steps

# Rates that differ by less are the same; the witnesses' seconds begin and end at different packets.
RATE_TOLERANCE: Final = 0.05
# Smallest RTTs that differ by less than the larger of these are the same: the kernel measures above the queue of the
# interface, and reports of iperf3 are smoothed values.
RTT_TOLERANCE_RATIO: Final = 0.1
RTT_TOLERANCE_MS: Final = 1.0
# iperf.h: COOKIE_SIZE
COOKIE_BYTES: Final = 37
# A receiver's program may read up to this much later what its kernel has acknowledged.
READING_US: Final = STEP_US


@dataclass(frozen=True)
class Finding:
    """A cause with its numbers, and whether it predicts the difference."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Sample:
    """What ss sampled of a flow between a stamp and the next; None where it did not say."""

    time_us: int
    until_us: int
    retransmits: int
    retransmitted_bytes: int | None
    acked_bytes: int | None
    # The kernel's smoothed RTT.
    rtt_ms: float | None


@dataclass(frozen=True)
class Flow:
    """One captured flow: its row of all witnesses, its steps and samples, and what is known of the capture's end."""

    facts: dict[str, Any]
    steps: Steps
    samples: list[Sample]
    # Where the last of the client's streams was connected, and where the file ends; microseconds.
    connected_us: int | None
    capture_end_us: int
    # Packets that the kernel had not handed to tcpdump at its end, and those it dropped; None without a log.
    left_count: int | None
    drops_count: int | None

    @property
    def is_open(self) -> bool:
        """Whether the capture ends before the flow."""
        return self.facts["ended"] in ("open", "cut")

    def find(self, sample: Sample) -> tuple[int, int] | None:
        """Return the window of a sample in the capture; None where stamps and acknowledged bytes do not meet."""
        window = self.steps.window(sample.time_us, sample.until_us)
        return window if sample.acked_bytes is None else self.steps.narrow(window, sample.acked_bytes)

    @property
    def samples_inside(self) -> list[Sample]:
        """The samples that were taken before the capture ended."""
        if not self.is_open:
            return self.samples
        return [
            sample
            for sample in self.samples
            if sample.until_us <= self.capture_end_us
            or ((sample.acked_bytes or 0) > 0 and (sample.acked_bytes or 0) <= self.steps.acked_bytes)
        ]

    @property
    def is_merged(self) -> bool:
        """Whether offloads merged segments before the capture: its packets have more than an MSS in the mean."""
        mss, packets = self.facts["mss_bytes"], self.facts["data_packets_count"]
        return bool(mss and packets) and self.facts["payload_bytes"] / packets > mss

    @property
    def started_us(self) -> tuple[int, int] | None:
        """Earliest and latest time at which iperf3 started to send; None where the capture does not hold it."""
        step = self.steps.start_of(COOKIE_BYTES)
        if step is None or self.connected_us is None:
            return None
        # The server must have answered the cookie; one that sends itself needs no answer.
        answer_ms = 0.0 if self.facts["is_reverse"] else self.facts["rtt_min_capture_ms"] or 0.0
        latest = step + STEP_US
        return min(max(step, self.connected_us + int(answer_ms * 1000)), latest), latest


def to_us(time: datetime) -> int:
    """Return a time as microseconds since 1970."""
    return round(time.timestamp() * 1_000_000)


def _span(low: float, high: float) -> str:
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


def compare_ss_retransmits(flow: Flow) -> list[Finding]:
    """Return why the retransmits of ss differ from the capture's; nothing where they do not."""
    if not flow.samples:
        return [Finding("ss took no sample of it", holds=True)]
    last, inside = flow.samples[-1], flow.samples_inside
    if last.retransmits == flow.facts["retransmits_capture_count"]:
        return []
    findings = []
    if not inside or inside[-1] is not last:
        later = last.retransmits - (inside[-1].retransmits if inside else 0)
        text = f"capture ended early: ss counts {later} more from its end on, {_left(flow)}"
        findings.append(Finding(text, holds=flow.left_count is None or later <= flow.left_count))
    return [*findings, _judge_sample(flow, inside[-1])] if inside else findings


def _judge_sample(flow: Flow, sample: Sample) -> Finding:
    window = flow.find(sample)
    at = "at its last sample" if sample.acked_bytes is None else f"at {sample.acked_bytes} B acknowledged"
    cause = f"sampling ended early, {at}"
    if window is None:
        return Finding(f"{cause}: the capture had not as many at that time", holds=False)
    if not flow.is_merged or sample.retransmitted_bytes is None:
        bounds = flow.steps.bounds("retransmits_capture_count", window)
        return _judge(flow, "ss", cause, sample.retransmits, bounds)
    bounds = flow.steps.bounds("retransmitted_capture_bytes", window)
    cause = f"offload aggregates, {_packet_size(flow)}; {cause}"
    return _judge(flow, "ss", cause, sample.retransmitted_bytes, bounds, " B")


def _left(flow: Flow) -> str:
    return "tcpdump left no log" if flow.left_count is None else f"tcpdump left {flow.left_count} packets unread"


def _packet_size(flow: Flow) -> str:
    return f"{flow.facts['payload_bytes'] / flow.facts['data_packets_count']:.0f} B a packet"


def _judge(flow: Flow, name: str, cause: str, value: int, bounds: tuple[int, int], unit: str = "") -> Finding:
    """Return whether a count is within its bounds, those widened by what else the capture cannot show."""
    low, high = bounds
    if value > high:
        unseen = _list_unseen(flow)
        high += sum(unseen.values()) * (flow.facts["mss_bytes"] if unit else 1)
        cause = "; ".join([cause, *(f"{what}, {count} packets" for what, count in unseen.items())])
    text = f"{cause}: {name} counts {value}{unit}, the capture {_span(low, high)}{unit} by then"
    return Finding(text, low <= value <= high)


def _list_unseen(flow: Flow) -> dict[str, int]:
    """Return the packets that a sender may count as sent again and the capture does not, by cause."""
    facts, mss = flow.facts, flow.facts["mss_bytes"]
    drops = flow.drops_count
    if drops is None:
        # Without tcpdump's log, the gaps in the capture tell what it dropped.
        drops = -(-facts["missing_bytes"] // mss) if mss else 0
    lost = 0
    if facts["capture_side"] != "sender" and facts["data_segments_out_count"] and not flow.is_merged:
        lost = max(0, facts["data_segments_out_count"] - facts["data_packets_count"])
    causes = {
        "retransmitted SYN or FIN": facts["control_retransmits_count"],
        "capture drops": drops,
        "lost before the capture": lost,
    }
    return {cause: count for cause, count in causes.items() if count}


def compare_iperf3_retransmits(flow: Flow) -> list[Finding]:
    """Return why the retransmits of iperf3 differ from the capture's; nothing where they do not."""
    count, omitted_s = flow.facts["retransmits_iperf3_count"], flow.facts["omit_s"] or 0.0
    if count is None or (count == flow.facts["retransmits_capture_count"]):
        return []
    started, seconds = flow.started_us, flow.facts["sender_s"]
    if started is None or seconds is None:
        return [Finding(f"iperf3 counts {count}, and when it began or ended is not known", holds=False)]
    first, last = (time + round(omitted_s * 1e6) for time in started)
    end = first + round(seconds * 1e6), last + round(seconds * 1e6)
    measure = "retransmitted_capture_bytes" if flow.is_merged else "retransmits_capture_count"
    low, high = flow.steps.bounds(measure, flow.steps.window(*end))
    cause = f"iperf3 ended after {seconds:.2f} s"
    if omitted_s:
        least, most = flow.steps.bounds(measure, flow.steps.window(first, last))
        low, high = max(0, low - most), high - least
        cause = f"omitted interval of {omitted_s:g} s, {cause}"
    if flow.is_open and end[1] > flow.capture_end_us:
        high += (flow.left_count or 0) * (flow.facts["mss_bytes"] if flow.is_merged else 1)
        cause = f"{cause}; capture ended early, {_left(flow)}"
    if not flow.is_merged:
        return [_judge(flow, "iperf3", cause, count, (low, high))]
    # The last segment of a packet may be less than an MSS, so that as many MSS are more bytes.
    mss = flow.facts["mss_bytes"]
    high += mss * flow.facts["retransmits_capture_count"]
    cause = f"offload aggregates, {_packet_size(flow)}; {cause}"
    return [_judge(flow, "iperf3", cause, count * mss, (low, high), " B")]
