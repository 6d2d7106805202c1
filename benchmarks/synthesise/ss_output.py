"""What `ss -tinm`, called again and again, prints of a run's sockets: iproute2 4.9 to 7.1.

    # 1795211351.663251
    State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
    ESTAB 0      0          10.0.0.1:48238    10.0.0.2:5201
             skmem:(r0,rb131072,…) bbr wscale:10,10 rto:204 rtt:0.032/0.015 … minrtt:0.008

By version: fields that came (pmtu and rcv_ssthresh 4.15, bytes_sent and delivered 4.20, snd_wnd 5.18, rcv_wnd 6.6),
rates as `%.1fMbps` or (5.2 on, with -n) as whole bit/s, the header, blanks, brackets around IPv6 addresses (4.13 on),
and no newline at the end of a sample's last record in 5.4. Times have six significant digits in all versions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from .draws import COOKIE_BYTES, PORT, Floats, Flow, Run
from .plan import Job, Order

Ints = npt.NDArray[np.int64]

# As many as tell that a last line was cut, or a port used again.
SAMPLES_MIN: Final = 4
PADDING: Final = " " * 40
# By the first version: the header, and a record's first line up to its addresses.
HEADERS: Final = (
    ((4, 9), "State      Recv-Q Send-Q Local Address:Port               Peer Address:Port              "),
    ((4, 15), "State   Recv-Q    Send-Q        Local Address:Port         Peer Address:Port             "),
    ((5, 4), "State    Recv-Q    Send-Q       Local Address:Port         Peer Address:Port    Process    "),
    ((5, 6), f"State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess{PADDING}"),
    ((6, 8), "State Recv-Q Send-Q Local Address:Port  Peer Address:Port"),
)
ADDRESS_LINES: Final = (
    ((4, 9), "ESTAB      0      %%-6d %s              %s             "),
    ((4, 15), "ESTAB   0         %%-6d              %s           %s             "),
    ((5, 6), "ESTAB 0      %%-6d    %s    %s"),
)
Version = tuple[int, int]


def print_ss(order: Order, job: Job, run: Run, room_bytes: int, *, is_retried: bool = False) -> str:
    """Return the log of a run, of about so many bytes unless the order asks for a sampling interval.

    A retried run begins with the samples of an attempt before it, whose first flow had the port that this one's has.
    """
    printer = Printer(order, job, run)
    count = printer.count_samples(room_bytes)
    duration_us = order.duration_s * 1_000_000
    text = ""
    if is_retried:
        few = max(SAMPLES_MIN, count // 8)
        ends_us = run.start_us - 1_000_000 + np.arange(-few + 1, 1) * (1_500_000 // few)
        earlier = [run.flows[0], *(_moved(flow, 100) for flow in run.flows[1:])]
        # It got as far as two thirds, so that the counters of the port fall when it is used again.
        text = printer.samples(ends_us, np.linspace(0.5, 0.67, few), earlier)
    progress = np.arange(1, count + 1) / count
    stamps_us = run.start_us + (progress * duration_us).astype(np.int64)
    return text + printer.samples(stamps_us, progress, run.flows)


def print_silence(order: Order, job: Job, run: Run) -> str:
    """Return the log of a run that never connected: stamps and headers."""
    printer = Printer(order, job, run)
    return "".join(f"{stamp(run.start_us + step * 500_000)}{printer.header}\n" for step in range(SAMPLES_MIN))


def stamp(time_us: int) -> str:
    """Return the line that the harness writes above each sample."""
    return f"# {time_us // 1_000_000}.{time_us % 1_000_000:06d}\n"


def _moved(flow: Flow, ports: int) -> Flow:
    return Flow(**(vars(flow) | {"local_port": flow.local_port + ports}))


@dataclass
class _Columns:
    """The numbers of one flow in every sample."""

    send_q: Ints
    rtt_us: Ints
    cwnd: Ints
    acked: Ints
    retransmits: Ints
    segments: Ints
    busy_ms: Ints


class Printer:
    """Prints the sockets of one run in the manner of one version."""

    def __init__(self, order: Order, job: Job, run: Run) -> None:
        self._job, self._run = job, run
        self._rng = np.random.default_rng([order.seed, 6, run.number])
        major, minor = job.ss_version.split(".")
        self._version = int(major), int(minor)
        self._interval_s, self._duration_s = order.sample_interval_s, order.duration_s
        self.header = _newest(HEADERS, self._version)
        self._address_line = _newest(ADDRESS_LINES, self._version)
        # 5.6 to 6.7 fill lines up to the width of the widest.
        self._padding = PADDING if (5, 6) <= self._version < (6, 8) else ""

    def count_samples(self, room_bytes: int) -> int:
        """Return how many samples the log has."""
        if self._interval_s:
            return max(SAMPLES_MIN, round(self._duration_s / self._interval_s))
        sample = self.samples(np.array([self._run.start_us]), np.array([0.9]), self._run.flows)
        return max(SAMPLES_MIN, round(room_bytes / len(sample)))

    def samples(self, stamps_us: Ints, progress: Floats, flows: Sequence[Flow]) -> str:
        """Return samples of these flows, and of the control connection, at these times and shares of their totals."""
        control = self._control_record()
        records = [self._records(flow, self._draw(flow, progress)) for flow in flows]
        ending = "" if self._version == (5, 4) else "\n"
        blocks = (
            f"{stamp(time)}{self.header}\n{control}\n" + "\n".join(sockets) + ending
            for time, *sockets in zip(stamps_us.tolist(), *records, strict=True)
        )
        return "".join(blocks)

    def _draw(self, flow: Flow, progress: Floats) -> _Columns:
        count = len(progress)
        noise = self._rng.random((2, count))
        total = flow.sender_bytes + COOKIE_BYTES
        window = max(4, flow.sender_bytes * flow.rtt_min_us // self._run.sender_us // self._job.mss_bytes)
        rtt_us = (flow.rtt_min_us * (1 + 0.3 * noise[0])).astype(np.int64) + 1
        return _Columns(
            send_q=(noise[1] * 400_000).astype(np.int64),
            rtt_us=rtt_us,
            cwnd=(window * (1 + noise[1])).astype(np.int64),
            acked=np.maximum(1, (total * progress).astype(np.int64)),
            retransmits=(flow.retransmits * progress).astype(np.int64),
            segments=np.maximum(1, (flow.segments * progress).astype(np.int64)),
            busy_ms=np.maximum(1, (self._duration_s * 1000 * progress).astype(np.int64)),
        )

    def _ends(self, local_port: int) -> str:
        ends = (self._job.destination.sender_address, local_port), (self._job.destination.address, PORT)
        has_brackets = self._version >= (4, 13)
        return self._address_line % tuple(
            f"[{address}]:{port}" if ":" in address and has_brackets else f"{address}:{port}" for address, port in ends
        )

    def _records(self, flow: Flow, columns: _Columns) -> list[str]:
        """Return the two lines of a flow in every sample, without the last newline."""
        template = f"{self._ends(flow.local_port)}\n\t {self._information(flow)}{self._padding}"
        return [template % values for values in zip(*self._values(flow, columns), strict=True)]

    def _information(self, flow: Flow) -> str:
        version, mss = self._version, self._job.mss_bytes
        rate = "%dbps" if version >= (5, 2) else "%.1fMbps"
        fields = ["skmem:(r0,rb131072,t0,tb4194304,f2360,w%d,o0,bl0,d0)", flow.cc, "wscale:11,11 rto:%d rtt:%g/%g"]
        fields.append(f"mss:{mss}")
        fields += [f"pmtu:{mss + 52} rcvmss:536 advmss:{mss}"] * (version >= (4, 15))
        fields.append("cwnd:%d ssthresh:%d" if flow.cc == "cubic" else "cwnd:%d")
        fields += ["bytes_sent:%d%s"] * (version >= (4, 20))
        fields.append("bytes_acked:%d segs_out:%d segs_in:%d data_segs_out:%d")
        if flow.cc.startswith("bbr"):
            fields.append(f"bbr:(bw:{rate},mrtt:{flow.rtt_min_us / 1000:g},pacing_gain:1.25,cwnd_gain:2)")
        fields.append(f"send {rate} lastrcv:2000 pacing_rate {rate}")
        fields += [f"delivery_rate {rate}"] * (version >= (4, 10))
        fields += ["delivered:%d"] * (version >= (4, 20))
        fields += ["busy:%dms"] * (version >= (4, 10))
        fields.append("unacked:%d%s rcv_space:14480")
        fields += ["rcv_ssthresh:64088"] * (version >= (4, 15))
        fields.append(f"notsent:%d minrtt:{flow.rtt_min_us / 1000:g}")
        fields += ["snd_wnd:12582912"] * (version >= (5, 18)) + ["rcv_wnd:65536"] * (version >= (6, 6))
        return " ".join(fields)

    def _values(self, flow: Flow, columns: _Columns) -> list[list[object]]:
        """Return what stands in the places of a flow's lines, one column for each, in their order."""
        version, mss = self._version, self._job.mss_bytes
        send = columns.cwnd * mss * 8e6 / columns.rtt_us
        rates = send.astype(np.int64) if version >= (5, 2) else send / 1e6
        paced = (1.2 * rates).astype(rates.dtype)
        again = columns.retransmits.tolist()
        retrans: list[object] = [f" retrans:0/{count}" if count else "" for count in again]
        numbers: list[Ints | Floats] = [columns.send_q, columns.send_q + 4096, 200 + columns.rtt_us // 500]
        numbers += [columns.rtt_us / 1000, columns.rtt_us / 20_000, columns.cwnd]
        values: list[list[object]] = [column.tolist() for column in numbers]
        if flow.cc == "cubic":
            values.append((columns.cwnd // 2 + 2).tolist())
        if version >= (4, 20):
            values.append((columns.acked + columns.retransmits * mss).tolist())
            values.append([f" bytes_retrans:{count * mss}" if count else "" for count in again])
        counters = (columns.acked, columns.segments + 2, columns.segments // 2 + 1, columns.segments)
        values += [column.tolist() for column in counters]
        if flow.cc.startswith("bbr"):
            values.append(rates.tolist())
        values += [rates.tolist(), paced.tolist()]
        if version >= (4, 10):
            values.append(rates.tolist())
        if version >= (4, 20):
            values.append((columns.segments - columns.retransmits + 1).tolist())
        if version >= (4, 10):
            values.append(columns.busy_ms.tolist())
        return [*values, columns.cwnd.tolist(), retrans, columns.send_q.tolist()]

    def _control_record(self) -> str:
        """Return the lines of iperf3's control connection, which stay the same."""
        port = self._run.flows[0].local_port - 2
        control = Flow(0, port, "cubic", 272, 272, 0, 4, self._run.flows[0].rtt_min_us)
        ones = np.ones(1, np.int64)
        columns = _Columns(0 * ones, control.rtt_min_us * ones, 10 * ones, 309 * ones, 0 * ones, 4 * ones, ones)
        return self._records(control, columns)[0]


def _newest(choices: tuple[tuple[Version, str], ...], version: Version) -> str:
    return next(text for first, text in reversed(choices) if version >= first)
