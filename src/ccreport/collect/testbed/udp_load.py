"""UDP from one host of the testbed to another, counted by the kernel at either end.

Both ends are sockets of this process, made in the hosts' namespaces. Nobody reads at the far end: its kernel counts
what arrives before it drops it, and so the counting takes no time of the CPU that carries the packets. One call sends
a dozen packets of one length (UDP_SEGMENT, udp(7)), which the sending device takes apart before anything counts them;
the kernel grants that only to a device that sums up checksums.
"""

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ccreport.collect.testbed.testbed import Testbed, TestbedError, entered

PORT: Final = 5999
MOST_PPS: Final = 25_000
UDP_SEGMENT: Final = 103
# So many packets go out with one call: far below the kernel's backlog of 1000 between two namespaces.
BATCH_COUNT: Final = 40
SMALL_BYTES: Final = 8
# With the kernel's own buffer a sender that sleeps between calls leaves a line of 10 Gbit/s idle.
SEND_BUFFER_BYTES: Final = 4 << 20
SETTLE_S: Final = 0.3
RATE_TIME_S: Final = 2.0
OVERLOAD: Final = 1.3
UDP_HEADER_BYTES: Final = 28
ETHERNET_BYTES: Final = 14


def count_arrivals(
    testbed: Testbed, near: str, far: str, address: str, packets_count: int, pace_pps: float, time_s: float
) -> tuple[int, int]:
    """Send up to so many small packets, no faster than the pace, for so long; return the counts sent and arrived."""
    pace = min(pace_pps, MOST_PPS)
    with _sockets(testbed, near, far, address, SMALL_BYTES) as sending:
        before = _received(testbed, far)
        began = time.monotonic()
        sent = 0
        while sent < packets_count and time.monotonic() - began < time_s:
            batch = min(BATCH_COUNT, packets_count - sent, max(1, int(pace * 0.01)))
            if near.startswith("sender"):
                sending.send(b"\0" * SMALL_BYTES * batch)
            else:
                # The receiver's netem is the device's own: it would see the datagram before that is taken apart.
                for _ in range(batch):
                    sending.send(b"\0" * SMALL_BYTES)
            sent += batch
            time.sleep(max(0.0, began + sent / pace - time.monotonic()))
        return sent, _settled(testbed, far) - before


def measure_departures(testbed: Testbed, place: str, device: str, rate_bps: int) -> float:
    """Return the rate at which frames leave a device, in bit/s, while more than its rate is offered by one socket."""
    (route,) = testbed.run.routes
    payload = testbed.run.mtu_bytes - UDP_HEADER_BYTES
    pace = OVERLOAD * rate_bps / 8 / (testbed.run.mtu_bytes + ETHERNET_BYTES)
    with _sockets(testbed, "sender1", "receiver1", route.address, payload) as sending:
        began = time.monotonic()
        start: tuple[float, int] | None = None
        sent = 0
        while (now := time.monotonic()) - began < SETTLE_S + RATE_TIME_S:
            if start is None and now - began >= SETTLE_S:
                # What a bucket had saved up, and the filling of the queue, are over.
                start = (now, _departed(testbed, place, device))
            # As many as there are in 2 ms, and not more bytes than one datagram may have.
            batch = max(1, min(60_000 // payload, int(pace * 0.002)))
            sending.send(b"\0" * payload * batch)
            sent += batch
            time.sleep(max(0.0, began + sent / pace - time.monotonic()))
        assert start is not None  # noqa: S101
        end = (time.monotonic(), _departed(testbed, place, device))
    return 8 * (end[1] - start[1]) / (end[0] - start[0])


@contextlib.contextmanager
def _sockets(testbed: Testbed, near: str, far: str, address: str, packet_bytes: int) -> Iterator[socket.socket]:
    """Have a socket connected to one at the other end, which keeps the kernel there from answering with ICMP."""
    device = "s0" if near.startswith("sender") else "d0"
    switched = testbed.execute(near, ("ethtool", "-K", device, "tx", "on", "tx-udp-segmentation", "off"))
    if switched.returncode != 0:
        raise TestbedError(f"ethtool cannot prepare {device} for calibration: {switched.stderr.strip()}")
    with entered(testbed.namespaces[far]):
        listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with entered(testbed.namespaces[near]):
        sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with listening, sending:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
        listening.bind((address, PORT))
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        sending.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, packet_bytes)
        sending.connect((address, PORT))
        yield sending


def _settled(testbed: Testbed, place: str) -> int:
    """Return the count of packets that a host has received once it no longer grows."""
    count = -1
    while (now := _received(testbed, place)) != count:
        count = now
        time.sleep(max(0.1, 2e-3 * testbed.run.routes[0].rtt_ms))
    return count


def _received(testbed: Testbed, place: str) -> int:
    # Ip: Forwarding DefaultTTL InReceives …  (names, then values)
    with entered(testbed.namespaces[place]):
        names, values = Path("/proc/thread-self/net/snmp").read_text().splitlines()[:2]
    return int(dict(zip(names.split(), values.split(), strict=True))["InReceives"])


def _departed(testbed: Testbed, place: str, device: str) -> int:
    # "    r0:    1960      20    0 …": eight numbers of what was received, then the bytes sent
    with entered(testbed.namespaces[place]):
        lines = Path("/proc/thread-self/net/dev").read_text().splitlines()
    (numbers,) = (line.split(":")[1].split() for line in lines if line.split(":")[0].strip() == device)
    return int(numbers[8])
