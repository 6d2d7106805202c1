"""Queueing disciplines of the testbed: what is declared of a path becomes the words behind `tc qdisc … root`.

Sources: tc(8), tc-tbf(8), tc-red(8), tc-netem(8), tc-fq_codel(8), tc-cake(8) of iproute2 6.1; RFC 8290 (fq_codel);
RFC 8257 and Alizadeh et al., SIGCOMM 2010 (the marking threshold of DCTCP); Floyd, "RED: Discussions of Setting
Parameters", 1997. tbf, fq and cake count the bytes of the Ethernet frame, 14 more than those of the IP packet.
"""

import math
from typing import Final

from ccreport.collect.plan import Bottleneck, Loss, Route, Run, Sender
from ccreport.core.errors import InputError

ETHERNET_BYTES: Final = 14
# A tbf that wakes late makes up for it out of its burst, of one tick of a kernel with HZ = 100 (tc-tbf(8): rate / HZ).
# In virtual time none wakes late.
BURST_S: Final = 0.01
# With segmentation offload on, what tbf sees as one packet is up to this long.
AGGREGATE_BYTES: Final = 65_536
RED_PACKET_BYTES: Final = 1000
RED_PROBABILITY: Final = 0.1
FQ_CODEL_TARGET_MS: Final = 5.0
# The path back is never to drop for want of room, whatever the declared limit of the way there is.
RETURN_LIMIT_PACKETS: Final = 100_000
FQ_LIMIT_PACKETS: Final = 100_000

Words = list[str]


def frame_bytes(run: Run) -> int:
    """Return the length of a full Ethernet frame on this run's links."""
    return run.mtu_bytes + ETHERNET_BYTES


def burst_bytes(run: Run, rate_bps: int) -> int:
    """Return the burst of a tbf: 10 ms of its rate, at least two frames (one aggregate with offloads on).

    In virtual time it is two frames. That also has tbf take aggregates apart, so that the path loses single packets.
    """
    if run.virtual_clock is not None:
        return 2 * frame_bytes(run)
    least = AGGREGATE_BYTES + ETHERNET_BYTES if run.has_offloads else 2 * frame_bytes(run)
    return max(least, math.ceil(rate_bps * BURST_S / 8))


def tbf(run: Run, rate_bps: int, limit_bytes: int) -> Words:
    """Return a token bucket of this rate; the limit is that of its own fifo in bytes, until a child replaces it."""
    # A packet that the fifo could never take would stop the path altogether.
    limit = max(limit_bytes, frame_bytes(run))
    return ["tbf", "rate", f"{rate_bps}bit", "burst", str(burst_bytes(run, rate_bps)), "limit", str(limit)]


def fq(run: Run, sender: Sender) -> Words:
    """Return the sender's fair queue, with the limit of each flow where one is declared.

    It never drops: what TCP hands down at once may be more packets than fq's own limits (100 of a flow) once a tbf
    above it has taken aggregates apart. In virtual time, where a timer that may be late always is, it has no slack:
    with the usual 10 µs a flow paced to 9.9 Gbit/s has 5.6.
    """
    words = ["fq", "limit", str(FQ_LIMIT_PACKETS), "flow_limit", str(FQ_LIMIT_PACKETS)]
    words += ["timer_slack", "0ns"] if run.virtual_clock is not None else []
    return words + (["maxrate", f"{sender.flow_maxrate_bps}bit"] if sender.flow_maxrate_bps else [])


def netem_forward(route: Route, coalescing_us: float | None = None) -> Words:
    """Return netem towards a receiver: half of the RTT, jitter, reordering, and loss if it is declared for this way.

    The limit stays as declared even where it is below delay × rate: it is a variable of the experiment, in packets.
    netem sorts by the time at which a packet is due, so jitter reorders too.
    """
    words = ["netem", "limit", str(route.limit_packets_count), "delay", _microseconds(route.rtt_ms / 2)]
    if route.jitter_ms:
        words.append(_microseconds(route.jitter_ms))
    if route.reordering_pct:
        words += ["reorder", _percent(route.reordering_pct)]
    words += _loss(route.loss) if route.loss_direction in ("forward", "both") else []
    return words + _slot(coalescing_us)


def netem_return(route: Route, coalescing_us: float | None = None) -> Words:
    """Return netem of the path back: the other half of the RTT, and loss if it is declared for this way."""
    limit = max(route.limit_packets_count, RETURN_LIMIT_PACKETS)
    words = ["netem", "limit", str(limit), "delay", _microseconds(route.rtt_ms / 2)]
    words += _loss(route.loss) if route.loss_direction in ("return", "both") else []
    return words + _slot(coalescing_us)


def shaper(run: Run, bottleneck: Bottleneck) -> Words:
    """Return the root discipline of the bottleneck, which holds its rate: cake's own shaper, else a tbf.

    Raise InputError for cake without ECN where a client asks for ECN: cake marks whatever can be marked.
    """
    if bottleneck.discipline != "cake":
        return tbf(run, bottleneck.rate_bps, bottleneck.buffer_bytes)
    if not bottleneck.has_ecn and any(
        asks_for_ecn(client.has_ecn, client.congestion_control) for client in run.clients
    ):
        raise InputError(
            f"{run.key}: cake cannot leave ECN out: declare ecn for the bottleneck or none for the clients"
        )
    # cake's limit counts the kernel's memory for a frame, not its bytes.
    limit = math.ceil(bottleneck.buffer_bytes / frame_bytes(run)) * frame_memory_bytes(run)
    return ["cake", "bandwidth", f"{bottleneck.rate_bps}bit", "besteffort", "memlimit", str(limit)]


def child(run: Run, bottleneck: Bottleneck) -> Words | None:
    """Return the discipline below the shaper's tbf; null where the shaper queues by itself (fifo, cake)."""
    if bottleneck.discipline == "red":
        return _red(run, bottleneck)
    if bottleneck.discipline == "fq_codel":
        limit = max(1, math.ceil(bottleneck.buffer_bytes / frame_bytes(run)))
        # RFC 8290, 5.2.2: the target is not to be less than the time that one full packet takes at this rate.
        target_ms = max(FQ_CODEL_TARGET_MS, 1.5 * frame_bytes(run) * 8000 / bottleneck.rate_bps)
        words = ["fq_codel", "limit", str(limit), "quantum", str(frame_bytes(run)), "target", _microseconds(target_ms)]
        return [*words, "ecn" if bottleneck.has_ecn else "noecn"]
    return None


def _red(run: Run, bottleneck: Bottleneck) -> Words:
    """Return RED: its limit is the buffer, its maximum half of that, its minimum a third of the maximum (Floyd).

    With ECN and a DCTCP client it marks by a step instead, of the least averaging that tc grants (weight 1/2).
    """
    is_step = bottleneck.has_ecn and any(client.congestion_control == "dctcp" for client in run.clients)
    if is_step:
        high = low = dctcp_threshold_bytes(run, bottleneck)
        burst, probability = math.ceil(low / RED_PACKET_BYTES), 1.0
    else:
        high = max(bottleneck.buffer_bytes // 2, 3 * RED_PACKET_BYTES)
        low = high // 3
        burst, probability = math.ceil((2 * low + high) / (3 * RED_PACKET_BYTES)), RED_PROBABILITY
    limit = max(bottleneck.buffer_bytes, high + frame_bytes(run))
    words = ["red", "limit", str(limit), "min", str(low), "max", str(high), "avpkt", str(RED_PACKET_BYTES)]
    words += ["burst", str(burst), "probability", f"{probability:g}", "bandwidth", f"{bottleneck.rate_bps}bit"]
    return words + (["ecn"] if bottleneck.has_ecn else [])


def dctcp_threshold_bytes(run: Run, bottleneck: Bottleneck) -> int:
    """Return DCTCP's marking threshold: rate × RTT / 7 (Alizadeh et al., eq. 13), within 2 frames and half the buffer.

    The longest RTT of the run counts: below its threshold that flow could not fill the path.
    """
    rtt_s = max(route.rtt_ms for route in run.routes) / 1000
    needed = math.ceil(bottleneck.rate_bps / 8 * rtt_s / 7)
    return max(2 * frame_bytes(run), min(needed, bottleneck.buffer_bytes // 2))


def frame_memory_bytes(run: Run) -> int:
    """Return what one full packet takes of the kernel's memory: a power of two for the data, 256 for its descriptor."""
    # Room for headers in front and the 320 bytes of fragment pointers behind the data: 1500 → 2048 + 256.
    return 256 + (1 << math.ceil(math.log2(run.mtu_bytes + 480)))


def asks_for_ecn(has_ecn: bool, congestion_control: str | None) -> bool:
    """Return whether a connection asks for ECN: DCTCP always does (RFC 8257)."""
    return has_ecn or congestion_control == "dctcp"


def _loss(loss: Loss | None) -> Words:
    if loss is None:
        return []
    if loss.model == "random":
        return ["loss", "random", _percent(loss.loss_pct)]
    if loss.enter_bad_pct is None or loss.leave_bad_pct is None:
        raise InputError("a Gilbert–Elliott loss needs the chances to enter and to leave its bad state")
    chances = (loss.enter_bad_pct, loss.leave_bad_pct, loss.bad_loss_pct, loss.good_loss_pct)
    return ["loss", "gemodel", *map(_percent, chances)]


def _slot(coalescing_us: float | None) -> Words:
    # netem's slots represent a network card that raises an interrupt for all that came since the last.
    return ["slot", f"{coalescing_us:g}us"] if coalescing_us is not None else []


def _percent(value: float) -> str:
    return f"{value:.7f}".rstrip("0").rstrip(".") + "%"


def _microseconds(value_ms: float) -> str:
    return f"{round(value_ms * 1000)}us"
