"""Why rates and smallest RTTs of one flow differ between iperf3, ss and a capture; see `retransmits` for the method."""

from typing import Final

from ccreport.measure.reconcile.retransmits import (
    COOKIE_BYTES,
    RATE_TOLERANCE,
    READING_US,
    RTT_TOLERANCE_MS,
    RTT_TOLERANCE_RATIO,
    Finding,
    Flow,
)

ACKED: Final = "acknowledged_end_bytes"


def _is_near(value: float, reference: float) -> bool:
    return abs(value - reference) <= RATE_TOLERANCE * reference


def compare_iperf3_goodput(flow: Flow) -> list[Finding]:
    """Return why iperf3's goodput differs from the capture's; nothing where they are the same within 5 %.

    What the receiver had at its end is what the capture sees acknowledged one round trip after the start of the test
    and the receiver's seconds; a receiver that is late to read has less.
    """
    by_tool, by_capture = flow.facts["goodput_iperf3_bps"], flow.facts["goodput_capture_bps"]
    if by_tool is None or by_capture is None or _is_near(by_tool, by_capture):
        return []
    seconds, received, started = flow.facts["receiver_s"], flow.facts["receiver_bytes"], flow.started_us
    if started is None:
        return [Finding("when iperf3 began is not in the capture", holds=False)]
    omitted_us = round((flow.facts["omit_s"] or 0.0) * 1e6)
    first, last = (time + omitted_us for time in started)
    end = first + round(seconds * 1e6) - READING_US, last + round(seconds * 1e6)
    low, high = flow.steps.bounds(ACKED, flow.steps.window(*end))
    least = most = COOKIE_BYTES
    if omitted_us:
        least, most = flow.steps.bounds(ACKED, flow.steps.window(first, last))
    low, high = max(0, low - most), max(0, high - least)
    cause = f"goodput: iperf3's receiver took {received} B in {seconds:.2f} s, the capture"
    if flow.is_open and end[1] > flow.capture_end_us:
        high += (flow.left_count or 0) * (flow.facts["mss_bytes"] or 0)
        cause = f"{cause} ended early, {flow.left_count or 'unknown'} packets unread, and"
    text = f"{cause} shows {low} to {high} B acknowledged by then, {flow.facts['unique_bytes']} B sent in all"
    return [Finding(text, low * (1 - RATE_TOLERANCE) <= received <= high * (1 + RATE_TOLERANCE))]


def compare_ss_goodput(flow: Flow) -> list[Finding]:
    """Return why the goodput between the samples of ss differs from the capture's; nothing within 5 %.

    Every sample's acknowledged bytes must be those of the capture at some time between its stamp and the next.
    """
    by_ss, by_capture = flow.facts["goodput_ss_bps"], flow.facts["goodput_capture_bps"]
    if by_ss is None or by_capture is None or _is_near(by_ss, by_capture):
        return []
    seen = [sample for sample in flow.samples_inside if sample.acked_bytes is not None]
    found = sum(flow.find(sample) is not None for sample in seen)
    text = f"goodput: ss sampled part of the flow; of {len(seen)} samples {found} agree with the capture"
    return [Finding(text, found == len(seen))]


def compare_rtt_minima(flow: Flow) -> list[Finding]:
    """Return why the smallest RTTs differ; nothing where they are the same within 1 ms or 10 %."""
    smallest = flow.facts["rtt_min_capture_ms"]
    if smallest is None:
        return []
    tolerance = max(RTT_TOLERANCE_MS, RTT_TOLERANCE_RATIO * smallest)
    findings = []
    by_ss = flow.facts["rtt_min_ss_ms"]
    if by_ss is not None and abs(by_ss - smallest) > tolerance:
        findings.append(_judge_kernel(flow, by_ss, smallest, tolerance))
    by_tool = flow.facts["rtt_min_iperf3_ms"]
    if by_tool is not None and abs(by_tool - smallest) > tolerance:
        findings.append(_judge_smoothed(flow, by_tool, smallest, tolerance))
    return findings


def _judge_smoothed(flow: Flow, by_tool: float, smallest: float, tolerance: float) -> Finding:
    """Judge iperf3's smallest smoothed RTT: not below the smallest, and not above the largest where that is known.

    Segments that were sent again have RTTs for the kernel (timestamps, selective acknowledgements) that Karn's rule
    leaves out of the capture's. Above the largest it must have been in a queue that a capture on the sender is below:
    then ss's samples of the same value reach as high.
    """
    largest = None if flow.facts["retransmits_capture_count"] else flow.steps.rtt_max_ms
    within = "" if largest is None else f" to {largest:.1f}"
    text = f"RTT: iperf3 reads smoothed values, {by_tool:.1f} ms, the capture {smallest:.1f}{within} ms"
    if largest is not None and by_tool > largest + tolerance and flow.facts["capture_side"] == "sender":
        of_ss = [sample.rtt_ms for sample in flow.samples if sample.rtt_ms is not None]
        if of_ss:
            largest = max(of_ss)
            text = f"{text} below the queue of the sender, ss {min(of_ss):.1f} to {largest:.1f} ms above it"
    return Finding(text, by_tool >= smallest - tolerance and (largest is None or by_tool <= largest + tolerance))


def _judge_kernel(flow: Flow, by_ss: float, smallest: float, tolerance: float) -> Finding:
    known = [flow.facts["handshake_rtt_ms"]]
    window = flow.find(flow.samples_inside[-1]) if flow.samples_inside else None
    if window is not None and flow.facts["capture_side"] == "sender":
        known.append(flow.steps.rtt_min_before(window))
    until = min((rtt for rtt in known if rtt is not None), default=None)
    text = f"RTT: at the last sample of ss {by_ss:.1f} ms, the capture {smallest:.1f} ms"
    if until is None or window is None:
        return Finding(text, holds=False)
    text = f"{text}, {until:.1f} ms before the sample"
    return Finding(text, smallest - tolerance <= by_ss <= until + max(RTT_TOLERANCE_MS, RTT_TOLERANCE_RATIO * until))
