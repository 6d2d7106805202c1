"""What iperf3 prints with `-J`, or `--json-stream`, in versions 3.1 to 3.20.

Keys come with versions, as in real outputs of each: rttvar, pmtu and socket buffers 3.2, target_bitrate and `sender`
3.7, snd_wnd 3.10, target_bitrate inside `test_start` 3.11, fq_rate and `bidir` 3.13, `interval` 3.17, milliseconds and
`reorder` 3.20. Before 3.14 the socket buffers of each of several streams repeat the keys. 3.1 prints all fractions with
six digits and the receiver's totals in the sender's time; later ones print an interval's time in single precision.
"""

from typing import Final

import numpy as np

from .draws import COOKIE_BYTES, PORT, Run
from .intervals import Intervals
from .json_text import COMPACT, PRETTY, Layout, Pairs, quoted, time_of
from .plan import Job

SENDER_HOST: Final = "dtn-1"
KERNEL: Final = "6.1.176"
SYSTEM: Final = f"Linux {SENDER_HOST} {KERNEL} #1 SMP PREEMPT_DYNAMIC Sat Jul 4 15:38:16 UTC 2026 x86_64"
BLOCK_BYTES: Final = 131_072
REFUSED_OLD: Final = "error - unable to connect to server: Connection refused"
REFUSED: Final = (
    "unable to connect to server - server may have stopped running or use a different port, "
    "firewall issue, etc.: Connection refused"
)
INTERRUPTED: Final = "interrupt - the client has terminated"
INTERRUPTED_BY: Final = "interrupt - the client has terminated by signal Interrupt(2)"


def print_iperf3(job: Job, run: Run, intervals: Intervals, duration_s: int, *, is_interrupted: bool = False) -> str:
    """Return the whole output of a run; an interrupted one lacks what the server sends at the end."""
    printer = Printer(job, run, duration_s)
    parts = printer.intervals(intervals)
    if not job.client.is_stream:
        pairs = [("start", printer.start()), ("intervals", PRETTY.array(parts))]
        pairs.append(("end", printer.end(intervals, is_interrupted=is_interrupted)))
        if is_interrupted:
            pairs.append(("error", quoted(INTERRUPTED_BY if job.client.release >= 20 else INTERRUPTED)))
        return PRETTY.object(pairs, 1) + "\n"
    events = [("start", printer.start()), *(("interval", part) for part in parts)]
    if not is_interrupted:
        events.append(("end", printer.end(intervals)))
    return "".join(f'{{"event":"{name}","data":{data}}}\n' for name, data in events)


def print_raw(job: Job, run: Run, intervals: Intervals, duration_s: int, *, is_interrupted: bool) -> str:
    """Return the output as pscheduler keeps it: on one line, the host's name blotted out."""
    printer = Printer(job, run, duration_s, layout=COMPACT, system="REDACTED")
    pairs = [("start", printer.start()), ("intervals", COMPACT.array(printer.intervals(intervals)))]
    pairs.append(("end", printer.end(intervals, is_interrupted=is_interrupted)))
    if is_interrupted:
        pairs.append(("error", quoted(INTERRUPTED)))
    return COMPACT.object(pairs, 1)


def print_refusal(job: Job) -> str:
    """Return what a client prints that found no server."""
    client = job.client
    error = quoted(REFUSED if client.release >= 7 else REFUSED_OLD)
    layout = COMPACT if client.is_stream else PRETTY
    facts = [("connected", "[]"), ("version", quoted(f"iperf {client.version}")), ("system_info", quoted(SYSTEM))]
    start = layout.object(facts, 2)
    if client.is_stream:
        return (
            f'{{"event":"start","data":{start}}}\n{{"event":"error","data":{error}}}\n{{"event":"end","data":{{}}}}\n'
        )
    return layout.object([("start", start), ("intervals", "[]"), ("end", "{\n\t}"), ("error", error)], 1) + "\n"


class Printer:
    """Prints the parts of one run's result in the manner of its version."""

    def __init__(
        self, job: Job, run: Run, duration_s: int, *, layout: Layout | None = None, system: str = SYSTEM
    ) -> None:
        self._job, self._run, self._duration_s, self._system = job, run, duration_s, system
        self._release = job.client.release
        self._layout = layout or (COMPACT if job.client.is_stream else PRETTY)
        self._sender: Pairs = [("sender", "true")] if self._release >= 7 else []

    def _seconds(self, time_us: int) -> str:
        return f"{time_us / 1e6:.6f}" if self._release < 7 else repr(time_us / 1e6)

    def _rate(self, count: int, time_us: int) -> str:
        rate = count * 8e6 / time_us
        return f"{rate:.6f}" if self._release < 7 else repr(rate)

    def start(self) -> str:
        """Return the header."""
        job, run, release = self._job, self._run, self._release
        ends = job.destination
        connected = [
            self._layout.object(
                [
                    ("socket", str(flow.socket)),
                    ("local_host", quoted(ends.sender_address)),
                    ("local_port", str(flow.local_port)),
                    ("remote_host", quoted(ends.address)),
                    ("remote_port", str(PORT)),
                ],
                4,
            )
            for flow in run.flows
        ]
        stamp = [("time", quoted(time_of(run.start_us))), ("timesecs", str(run.start_us // 1_000_000))]
        if release >= 20:
            stamp.append(("timemillisecs", str(run.start_us // 1000)))
        peer = [("host", quoted(job.destination.name)), ("port", str(PORT))]
        pairs = [
            ("connected", self._layout.array(connected)),
            ("version", quoted(f"iperf {job.client.version}")),
            ("system_info", quoted(self._system)),
            ("timestamp", self._layout.object(stamp, 3)),
            ("connecting_to", self._layout.object(peer, 3)),
            ("cookie", quoted(f"{run.number:0{COOKIE_BYTES - 1}d}")),
            ("tcp_mss_default", str(job.mss_bytes)),
        ]
        if release >= 7:
            pairs.append(("target_bitrate", "0"))
        if release >= 13:
            pairs.append(("fq_rate", "0"))
        if release >= 2:
            buffers = [("sock_bufsize", "0"), ("sndbuf_actual", "16384"), ("rcvbuf_actual", "131072")]
            pairs += buffers * (len(run.flows) if release < 14 else 1)
        return self._layout.object([*pairs, ("test_start", self._test_start())], 2)

    def _test_start(self) -> str:
        facts = [("protocol", '"TCP"'), ("num_streams", str(len(self._run.flows))), ("blksize", str(BLOCK_BYTES))]
        facts += [("omit", "0"), ("duration", str(self._duration_s)), ("bytes", "0"), ("blocks", "0"), ("reverse", "0")]
        added = ((2, ("tos",)), (11, ("target_bitrate",)), (13, ("bidir", "fqrate")))
        facts += [(key, "0") for release, keys in added if self._release >= release for key in keys]
        return self._layout.object([*facts, *([("interval", "1")] if self._release >= 17 else [])], 3)

    def intervals(self, intervals: Intervals) -> list[str]:
        """Return every interval: its streams and their sum."""
        stream, total = self._stream_template(), self._sum_template()
        starts = [0, *intervals.ends_us[:-1]]
        printed = []
        for place, (start_us, end_us) in enumerate(zip(starts, intervals.ends_us, strict=True)):
            length_us = end_us - start_us
            seconds = self._seconds(length_us) if self._release < 7 else repr(float(np.float32(length_us / 1e6)))
            span = (self._seconds(start_us) if start_us else "0", self._seconds(end_us), seconds)
            streams = []
            for number, flow in enumerate(self._run.flows):
                sent = intervals.sent[number][place]
                values: tuple[object, ...] = (intervals.retransmits[number][place], intervals.cwnd[number][place])
                if self._release >= 10:
                    values += (intervals.snd_wnd[number][place],)
                values += (intervals.rtt[number][place],)
                if self._release >= 2:
                    values += (intervals.rttvar[number][place],)
                streams.append(stream % (flow.socket, *span, sent, self._rate(sent, length_us), *values))
            sent = sum(column[place] for column in intervals.sent)
            again = sum(column[place] for column in intervals.retransmits)
            sums = total % (*span, sent, self._rate(sent, length_us), again)
            printed.append(self._layout.object([("streams", self._layout.array(streams)), ("sum", sums)], 3))
        return printed

    def _stream_template(self) -> str:
        keys = ["socket", "start", "end", "seconds", "bytes", "bits_per_second", "retransmits", "snd_cwnd"]
        keys += ["snd_wnd"] * (self._release >= 10) + ["rtt"] + ["rttvar"] * (self._release >= 2)
        fixed = [("pmtu", str(self._job.mss_bytes + 52))] if self._release >= 2 else []
        fixed += [("reorder", "0")] if self._release >= 20 else []
        pairs = [*((key, "%s") for key in keys), *fixed, ("omitted", "false"), *self._sender]
        return self._layout.object(pairs, 5)

    def _sum_template(self) -> str:
        keys = ("start", "end", "seconds", "bytes", "bits_per_second", "retransmits")
        return self._layout.object([*((key, "%s") for key in keys), ("omitted", "false"), *self._sender], 4)

    def end(self, intervals: Intervals, *, is_interrupted: bool = False) -> str:
        """Return the totals; an interrupted client knows nothing of the receiver."""
        run = self._run
        sent_us = intervals.ends_us[-1]
        received_us = sent_us if is_interrupted else run.receiver_us
        received = [0 if is_interrupted else flow.receiver_bytes for flow in run.flows]
        sent = [sum(parts) for parts in intervals.sent]
        again = [sum(parts) for parts in intervals.retransmits]
        streams = []
        for number, flow in enumerate(run.flows):
            socket = [("socket", str(flow.socket))]
            # The seconds of a receiver are the sender's from 3.7 on; its end is its own.
            of_receiver = [*self._total(received[number], received_us, sent_us), *self._sender]
            of_sender = [*self._total(sent[number], sent_us, sent_us), ("retransmits", str(again[number]))]
            of_sender += [*self._extremes(intervals, number), *self._sender]
            sides = [("sender", [*socket, *of_sender]), ("receiver", [*socket, *of_receiver])]
            streams.append(self._layout.object([(side, self._layout.object(pairs, 5)) for side, pairs in sides], 4))
        sum_sent = [*self._total(sum(sent), sent_us, sent_us), ("retransmits", str(sum(again))), *self._sender]
        sum_received = [*self._total(sum(received), received_us, received_us), *self._sender]
        pairs = [
            ("streams", self._layout.array(streams)),
            ("sum_sent", self._layout.object(sum_sent, 3)),
            ("sum_received", self._layout.object(sum_received, 3)),
            ("cpu_utilization_percent", self._layout.object(self._cpu(is_interrupted=is_interrupted), 3)),
            ("sender_tcp_congestion", quoted(self._job.cc)),
        ]
        # The server's algorithm comes over the control connection.
        return self._layout.object(pairs if is_interrupted else [*pairs, ("receiver_tcp_congestion", '"cubic"')], 2)

    def _total(self, count: int, end_us: int, seconds_us: int) -> Pairs:
        pairs = [("start", "0"), ("end", self._seconds(end_us)), ("seconds", self._seconds(seconds_us))]
        return [*pairs, ("bytes", str(count)), ("bits_per_second", self._rate(count, end_us))]

    def _extremes(self, intervals: Intervals, number: int) -> Pairs:
        rtts = intervals.rtt[number]
        pairs = [("reorder", "0")] if self._release >= 20 else []
        pairs.append(("max_snd_cwnd", str(max(intervals.cwnd[number]))))
        if self._release >= 10:
            pairs.append(("max_snd_wnd", str(max(intervals.snd_wnd[number]))))
        mean = sum(rtts) // len(rtts)
        return [*pairs, ("max_rtt", str(max(rtts))), ("min_rtt", str(min(rtts))), ("mean_rtt", str(mean))]

    def _cpu(self, *, is_interrupted: bool) -> Pairs:
        busy = 100 - self._run.cpu_idle_pct
        hosts = (("host", busy / 2), ("remote", 0 if is_interrupted else busy / 3))
        shares = (("total", 1.0), ("user", 0.1), ("system", 0.9))
        # Six digits as 3.1 has them, also of newer versions: nobody reads more into a CPU's share.
        return [(f"{host}_{name}", f"{value * share:.6f}") for host, value in hosts for name, share in shares]
