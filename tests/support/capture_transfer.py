"""A bulk transfer, played packet by packet past a capture, with what is true of it.

The sender paces segments of one size and repairs losses as Linux does: by SACK with a reordering window of a quarter of
the RTT (RFC 8985), by a tail-loss probe after two RTTs without news, by a timeout after RTT plus 200 ms. The receiver
acknowledges each packet at once, with SACK and D-SACK (RFC 2883). The answer is what the play knows of each
transmission when it passes the capture, not what packets look like.
"""

import heapq
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from captures import Conversation, Packet, mss_option, sack_permitted_option, scale_option

SCALE = 7
WINDOW = 8000
RTO_EXTRA_MS = 200


@dataclass(frozen=True)
class Plan:
    """What happens in a transfer; segments are numbered from 0, times are ms.

    `share` is the part of the way from the sender to the capture. `delayed_*` add to the way of a segment's first
    transmission. `uncaptured` segments arrive and are missing in the capture. `lost_again` lose their first repeat
    too, after the capture. After segment `closes_after` the receiver offers no window for `closed_ms`.
    """

    segments: int = 40
    size: int = 1000
    rtt_ms: float = 20
    gap_ms: float = 1
    share: float = 0
    lost_before: frozenset[int] = frozenset()
    lost_after: frozenset[int] = frozenset()
    lost_again: frozenset[int] = frozenset()
    delayed_before: Mapping[int, float] = field(default_factory=dict)
    delayed_after: Mapping[int, float] = field(default_factory=dict)
    uncaptured: frozenset[int] = frozenset()
    has_probes: bool = True
    closes_after: int | None = None
    closed_ms: float = 700
    keep_alives: int = 0
    idle_ms: float = 5000
    sequence: int = 1000
    tsval: int | None = 100
    conversation: Mapping[str, object] = field(default_factory=dict)


KEY = (
    "frames_count",
    "data_packets_count",
    "payload_bytes",
    "unique_bytes",
    "retransmits_capture_count",
    "retransmits_seen_count",
    "retransmitted_capture_bytes",
    "retransmits_fast_count",
    "retransmits_timeout_count",
    "retransmits_probe_count",
    "retransmits_spurious_count",
    "control_retransmits_count",
    "reordered_count",
    "reordering_extent_count",
    "duplicate_frames_count",
    "keep_alives_count",
    "zero_window_probes_count",
    "missing_bytes",
    "dup_acks_count",
    "sack_blocks_count",
    "dsack_blocks_count",
    "zero_windows_count",
)


class Transfer:
    """The play: what the sender, the receiver and the capture know, and what is to happen."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now = 0.0
        self.events: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self.order = count()
        self.wire = Conversation(first=plan.sequence, **plan.conversation)  # type: ignore[arg-type]
        self.key: dict[str, float | str | None] = dict.fromkeys(KEY, 0)
        # Sender.
        self.next = self.una = 0
        self.sent_at: dict[int, list[float]] = {}
        self.sacked: set[int] = set()
        self.recovery = 0
        self.timer = 0
        self.is_probed = self.is_closed = False
        self.ts_recent = 0
        # Receiver.
        self.received: set[int] = set()
        self.expected = 0
        self.recent_blocks: list[int] = []
        self.last_tsval = 0
        self.offers = WINDOW
        # Capture.
        self.seen: set[int] = set()
        self.passed: list[int] = []
        self.highest = -1
        self.last_ack: tuple[int, int] = (-1, -1)
        self.zero_since: float | None = None
        self.rtts: dict[int, float] = {}

    def later(self, ms: float, action: Callable[..., None], *arguments: object) -> None:
        """Let something happen after so many ms, rounded to µs."""
        heapq.heappush(self.events, (round(self.now + ms, 3), next(self.order), action, arguments))

    def clock(self, back: bool = False) -> int:
        """Return the TSval of one end."""
        assert self.plan.tsval is not None
        return self.plan.tsval + int(self.now) + (7000 if back else 0)

    def stamps(self, back: bool = False) -> tuple[int, int] | None:
        """Return TSval and TSecr of a packet that is sent now."""
        if self.plan.tsval is None:
            return None
        return self.clock(back), self.last_tsval if back else self.ts_recent

    @property
    def to_capture(self) -> float:
        """Return the ms from the sender to the capture."""
        return self.plan.share * self.plan.rtt_ms / 2

    @property
    def to_receiver(self) -> float:
        """Return the ms from the capture to the receiver."""
        return (1 - self.plan.share) * self.plan.rtt_ms / 2

    def run(self) -> "Transfer":
        """Play all."""
        self.open()
        while self.events:
            self.now, _, action, arguments = heapq.heappop(self.events)
            action(*arguments)
        self.wire.packets.sort(key=lambda packet: packet.time_ns)
        return self

    def open(self) -> None:
        """Shake hands, and start sending a ms later."""
        options = mss_option(self.plan.size) + sack_permitted_option() + scale_option(SCALE)
        rtt, here = self.plan.rtt_ms, self.to_capture
        own = None if self.plan.tsval is None else (self.plan.tsval, 0)
        self.wire.syn(here, options=options, window=60000, ts=own)
        self.ts_recent, self.last_tsval = (0, 0) if own is None else (own[0] + int(rtt / 2) + 7000, own[0])
        answer = None if own is None else (self.ts_recent, own[0])
        self.wire.syn(here + 2 * self.to_receiver, back=True, options=options, window=60000, ts=answer)
        third = None if own is None else (own[0] + int(rtt), self.ts_recent)
        self.wire.ack(here + rtt, 0, back=False, ts=third, window=WINDOW)
        self.key["frames_count"] = 2
        self.later(rtt + 1, self.send_next)

    def send_next(self) -> None:
        """Send the next new segment, unless the window closes after what is sent."""
        plan = self.plan
        if self.next == plan.segments or (self.next - 1 == plan.closes_after and self.una < self.next):
            return
        if self.is_closed:
            return
        self.next += 1
        self.transmit(self.next - 1, "data")
        self.later(plan.gap_ms, self.send_next)

    def transmit(self, number: int, kind: str) -> None:
        """Send a segment, the first time or again."""
        plan, turn = self.plan, len(self.sent_at.setdefault(number, []))
        self.sent_at[number].append(self.now)
        self.arm()
        if turn == 0 and number in plan.lost_before:
            self.wire._sent[False] += 1
            return
        extra = plan.delayed_before.get(number, 0) if turn == 0 else 0
        stamps, ip_id = self.stamps(), self.wire.ip_id + self.wire._sent[False]
        self.wire._sent[False] += 1
        self.later(self.to_capture + extra, self.pass_data, number, turn, kind, stamps, ip_id)

    def pass_data(self, number: int, turn: int, kind: str, stamps: tuple[int, int] | None, ip_id: int) -> None:
        """Let a data packet pass the capture."""
        plan, key, size = self.plan, self.key, self.plan.size
        if not (turn == 0 and number in plan.uncaptured):
            self.wire.data(self.now, number * size, size, ts=stamps, ip_id=ip_id, window=WINDOW)
            self.note_data(number, turn, kind)
        elif number not in self.seen:
            key["missing_bytes"] += size
        if (turn == 0 and number in plan.lost_after) or (turn == 1 and number in plan.lost_again):
            return
        extra = plan.delayed_after.get(number, 0) if turn == 0 else 0
        self.later(self.to_receiver + extra, self.arrive, number, stamps)

    def note_data(self, number: int, turn: int, kind: str) -> None:
        """Count a data packet that is captured."""
        key, size = self.key, self.plan.size
        for name, amount in (("frames_count", 1), ("data_packets_count", 1), ("payload_bytes", size)):
            key[name] += amount
        if turn:
            key["retransmits_capture_count"] += 1
            key["retransmitted_capture_bytes"] += size
            key[f"retransmits_{kind}_count"] += 1
            key["retransmits_seen_count"] += number in self.seen
            # What was sent before a repeat may be held back by the receiver until the repeat has come.
            self.rtts.clear()
        else:
            # RFC 4737 4.2.1: how far behind the first packet that overtook it.
            first = next((place for place, earlier in enumerate(self.passed) if earlier > number), len(self.passed))
            overtook = len(self.passed) - first
            if overtook:
                key["reordered_count"] += 1
                key["reordering_extent_count"] = max(key["reordering_extent_count"], overtook)
            self.rtts[number] = self.now
        self.passed.append(number)
        if number not in self.seen:
            key["unique_bytes"] += size
            self.seen.add(number)
            self.highest = max(self.highest, number)
        key.setdefault("first_data_ms", self.now)

    def arrive(self, number: int, stamps: tuple[int, int] | None) -> None:
        """Receive a data packet and acknowledge it."""
        plan = self.plan
        duplicate = number if number in self.received or number < self.expected else None
        if stamps is not None and number <= self.expected:
            self.last_tsval = max(self.last_tsval, stamps[0])
        if duplicate is None:
            self.received.add(number)
        was = self.expected
        while self.expected in self.received:
            self.received.discard(self.expected)
            self.expected += 1
        if plan.closes_after is not None and was <= plan.closes_after < self.expected:
            self.offers = 0
            self.later(plan.closed_ms, self.reopen)
        self.answer(duplicate, number)

    def reopen(self) -> None:
        """Offer the window again."""
        self.offers = WINDOW
        self.answer(None, None)

    def blocks(self, duplicate: int | None, newest: int | None) -> list[tuple[int, int]]:
        """Return the SACK blocks in segments: a D-SACK, the block of the newest, then the highest ones."""
        runs: list[tuple[int, int]] = []
        for number in sorted(self.received):
            if runs and runs[-1][1] == number:
                runs[-1] = (runs[-1][0], number + 1)
            else:
                runs.append((number, number + 1))
        runs.sort(key=lambda run: (newest is not None and run[0] <= newest < run[1], run[0]), reverse=True)
        return ([(duplicate, duplicate + 1)] if duplicate is not None else []) + runs[
            : 2 if duplicate is not None else 3
        ]

    def answer(self, duplicate: int | None, newest: int | None) -> None:
        """Send an acknowledgement towards the capture."""
        blocks = self.blocks(duplicate, newest)
        self.later(
            self.to_receiver, self.pass_ack, self.expected, duplicate, blocks, self.offers, self.stamps(back=True)
        )

    def pass_ack(
        self,
        expected: int,
        duplicate: int | None,
        blocks: list[tuple[int, int]],
        window: int,
        stamps: tuple[int, int] | None,
    ) -> None:
        """Let an acknowledgement pass the capture."""
        key, size = self.key, self.plan.size
        wire_blocks = [(start * size, end * size) for start, end in blocks]
        self.wire.ack(self.now, expected * size, ts=stamps, sacks=wire_blocks, window=window)
        key["dup_acks_count"] += self.last_ack == (expected, window) and self.highest >= expected
        key["dsack_blocks_count"] += duplicate is not None
        key["retransmits_spurious_count"] += duplicate is not None
        key["sack_blocks_count"] += len(blocks) - (duplicate is not None)
        key["zero_windows_count"] += window == 0
        if window == 0 and self.zero_since is None:
            self.zero_since = self.now
        elif window and self.zero_since is not None:
            key["stalled_s"] = (self.now - self.zero_since) / 1000
            self.zero_since = None
        self.note_acked(expected)
        self.last_ack = (expected, window)
        self.later(self.to_capture, self.learn, expected, blocks, window, stamps)

    def note_acked(self, expected: int) -> None:
        """Measure the RTT of what is newly acknowledged at the capture; Karn, and only the last byte's packet."""
        key = self.key
        if expected <= self.last_ack[0]:
            return
        sent = self.rtts.get(expected - 1)
        if sent is not None:
            sample = self.now - sent
            key["ack_rtt_min_ms"] = min(key.get("ack_rtt_min_ms", sample), sample)
        if expected == self.plan.segments:
            key["completion_capture_s"] = (self.now - self.to_capture) / 1000
            key["goodput_capture_bps"] = key["unique_bytes"] * 8 / ((self.now - key["first_data_ms"]) / 1000)

    def learn(self, expected: int, blocks: list[tuple[int, int]], window: int, stamps: tuple[int, int] | None) -> None:
        """Take in an acknowledgement at the sender."""
        if stamps is not None:
            self.ts_recent = stamps[0]
        advances = expected > self.una
        self.una = max(self.una, expected)
        fresh = {n for start, end in blocks for n in range(start, end) if n >= self.una} - self.sacked
        self.sacked = {n for n in self.sacked | fresh if n >= self.una}
        was_closed, self.is_closed = self.is_closed, window == 0
        if advances or fresh:
            self.is_probed = False
            self.arm()
        self.repair()
        if self.plan.closes_after is not None and self.una == self.plan.closes_after + 1 and not self.is_closed:
            self.later(0, self.send_next)
        elif was_closed and not self.is_closed:
            self.arm()
        if advances and self.una == self.plan.segments:
            self.close()

    def repair(self) -> None:
        """Send again what is lost: told by later packets that arrived, or by the timeout before."""
        if self.una < self.recovery:
            holes = [n for n in range(self.una, self.recovery) if n not in self.sacked and len(self.sent_at[n]) == 1]
            for number in holes[:2]:
                self.transmit(number, "timeout")
            return
        if not self.sacked:
            return
        order = sorted(self.sacked)
        newest = max(self.sent_at[n][-1] for n in self.sacked)
        for number in range(self.una, order[-1]):
            above = len(order) - bisect_right(order, number)
            is_late = newest > self.sent_at[number][-1] + self.plan.rtt_ms / 4
            if number not in self.sacked and len(self.sent_at[number]) == 1 and (above >= 3 or is_late):
                self.transmit(number, "fast")
        self.later(self.plan.rtt_ms / 4, self.settle)

    def settle(self) -> None:
        """Hold for lost, when the reordering window is over, what lies below the highest SACK."""
        if self.una < self.recovery:
            return
        top = max(self.sacked, default=0)
        for number in range(self.una, top):
            age = self.now - self.sent_at[number][-1]
            if number not in self.sacked and len(self.sent_at[number]) == 1 and age >= self.plan.rtt_ms * 1.25:
                self.transmit(number, "fast")

    def arm(self) -> None:
        """Start the timer anew: of the tail-loss probe, of the timeout, or of the window probe."""
        self.timer += 1
        rtt = self.plan.rtt_ms
        may_probe = self.plan.has_probes and not self.is_probed and not self.sacked
        if self.una < self.next and may_probe and self.una >= self.recovery and 2 * rtt < rtt + RTO_EXTRA_MS:
            self.later(2 * rtt + 2, self.expire, self.timer, True)
        elif self.una < self.next or self.is_closed:
            self.later(rtt + RTO_EXTRA_MS, self.expire, self.timer, False)

    def expire(self, timer: int, is_probe: bool) -> None:
        """Send a probe, or all again from the first that is not acknowledged."""
        if timer != self.timer:
            return
        if self.una == self.next:
            if self.is_closed:
                self.pass_later_probe()
                self.arm()
        elif is_probe:
            self.is_probed = True
            self.transmit(self.next - 1, "probe")
        else:
            self.recovery = self.next
            self.transmit(self.una, "timeout")

    def pass_later_probe(self) -> None:
        """Send a window probe: no data, one below what is acknowledged, as Linux does."""
        self.later(self.to_capture, self.pass_empty, self.una * self.plan.size - 1, "zero_window_probes_count")
        self.later(self.plan.rtt_ms / 2, self.answer, None, None)

    def pass_empty(self, sequence: int, column: str) -> None:
        """Let a packet without data pass the capture."""
        self.wire.ack(self.now, 0, back=False, sequence=sequence, ts=self.stamps(), window=WINDOW)
        self.key[column] += 1
        self.key["frames_count"] += 1

    def close(self) -> None:
        """Send keep-alives after idle seconds, then close both ways."""
        end, idle = self.plan.segments * self.plan.size, self.plan.idle_ms
        for turn in range(self.plan.keep_alives):
            self.later(idle * (turn + 1) + self.to_capture, self.pass_empty, end - 1, "keep_alives_count")
            self.later(idle * (turn + 1) + self.plan.rtt_ms / 2, self.answer, None, None)
        self.later(idle * (self.plan.keep_alives + 1), self.finish, end)

    def finish(self, end: int) -> None:
        """Send FIN, FIN and the last acknowledgement."""
        here, back = self.to_capture, self.to_capture + 2 * self.to_receiver
        self.wire.fin(self.now + here, end, ts=self.stamps(), window=WINDOW)
        self.wire.fin(self.now + back, 0, end + 1, back=True, ts=self.stamps(back=True), window=WINDOW)
        self.wire.ack(self.now + here + self.plan.rtt_ms, 1, back=False, sequence=end + 1, ts=self.stamps())
        self.key["frames_count"] += 2


def simulate(plan: Plan) -> tuple[list[Packet], dict[str, float | str | None]]:
    """Return the packets of a transfer in the order of the capture, and its row of `packet_flows` (direction out)."""
    transfer = Transfer(plan).run()
    key = transfer.key
    key.pop("first_data_ms", None)
    key.setdefault("stalled_s", 0.0)
    key.setdefault("ack_rtt_min_ms", None)
    sides = {0: "sender", 0.5: "between", 1: "receiver"}
    return transfer.wire.packets, key | {
        "handshake_rtt_ms": plan.rtt_ms,
        "mss_announced_bytes": plan.size,
        "window_scale": SCALE,
        "ended": "fin",
        "capture_side": sides.get(plan.share),
        "local_port": transfer.wire.local_port,
    }
