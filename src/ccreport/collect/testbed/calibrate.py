"""Calibration before a sweep: what the testbed really does to packets, next to what the campaign declares of it.

Each distinct path is made as for a run. Its RTT is that of `ping`; its loss is counted with small UDP packets that
nothing but netem drops, or by netem itself where too few could be sent; the rate is what leaves a shaper that is
offered more. The last measurement, without any path, is what this machine can carry at all; in virtual time, where work
takes no time, it would never end.
"""

import json
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from ccreport.collect.plan import Loss, Route, Run, Sender
from ccreport.collect.testbed.calibrated_paths import (
    Shaper,
    anonymous,
    describe_path,
    distinct_paths,
    narrowest,
    one_path,
    slow_pace_pps,
)
from ccreport.collect.testbed.calibration_bounds import (
    judge,
    loss_bounds_pct,
    mean_loss,
    needed_packets,
    rate_bounds_bps,
    rtt_bounds_ms,
)
from ccreport.collect.testbed.testbed import Testbed, TestbedError
from ccreport.collect.testbed.udp_load import count_arrivals, measure_departures

ECHOES_COUNT: Final = 40
ECHOES_JITTER_COUNT: Final = 200
ECHO_INTERVAL_S: Final = 0.01
# Enough to see that a path that is to lose nothing does not.
LOSSLESS_PACKETS_COUNT: Final = 1000
LOSS_TIME_S: Final = 8.0
CAPACITY_S: Final = 3
# Whatever else the machine does disturbs times and rates; losses are left to chance and measured once.
TRIES_COUNT: Final = 3
# 64 bytes from 10.201.1.2: icmp_seq=1 ttl=62 time=20.3 ms
ECHO: Final = re.compile(r"time=([0-9.]+) ms")

Measurement = dict[str, Any]


def measure_paths(runs: Sequence[Run], packets_count: int) -> dict[str, Any]:
    """Return the content of `calibration.json`: RTT and loss of each distinct path, each rate, and the capacity.

    A loss is counted on `packets_count` packets at most.
    """
    began = time.monotonic()
    measured_utc = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    measurements: list[Measurement] = []
    lossy: set[Route] = set()
    shaped: set[tuple[object, ...]] = set()
    for run, host in distinct_paths(runs):
        (route,) = run.routes
        with Testbed(run) as testbed:
            found = [_repeated(lambda: _measure_rtt(testbed, route))]  # noqa: B023
            if anonymous(route) not in lossy:
                lossy.add(anonymous(route))
                found += _measure_losses(testbed, route, packets_count)
            shaper = narrowest(run)
            if shaper is not None and (key := (run.bottleneck, run.senders, run.mtu_bytes)) not in shaped:
                shaped.add(key)
                found.append(_repeated(lambda: _measure_rate(testbed, shaper)))  # noqa: B023
        conditions = describe_path(run)
        measurements += [
            {**measurement, "host": host, "conditions": conditions + measurement["conditions"]} for measurement in found
        ]
    return {
        "measured_utc": measured_utc,
        "elapsed_s": round(time.monotonic() - began, 1),
        "capacity_bps": measure_capacity(runs) if runs[0].virtual_clock is None else None,
        "measurements": measurements,
    }


def measure_capacity(runs: Sequence[Run]) -> float:
    """Return the goodput of one flow over a testbed without delay, loss and limits, in bit/s, on the smallest MTU."""
    smallest = min(runs, key=lambda run: (run.mtu_bytes, run.has_offloads))
    route = Route("capacity", smallest.routes[0].address, None, 0.0)
    run = replace(one_path(smallest, route, Sender(1)), bottleneck=None)
    with Testbed(run) as testbed:
        server = testbed.popen("receiver1", ("iperf3", "-s", "-1"), stdout=subprocess.DEVNULL)
        try:
            words = ("iperf3", "-c", route.address, "-t", str(CAPACITY_S), "-J")
            for _ in range(20):
                done = testbed.execute("sender1", words, timeout_s=CAPACITY_S + 20)
                # With -J iperf3 ends with 0 even where no server listens yet.
                if received := json.loads(done.stdout or "{}").get("end", {}).get("sum_received"):
                    return float(received["bits_per_second"])
                time.sleep(0.1)
            raise TestbedError(f"iperf3 cannot measure the capacity of the testbed: {done.stdout.strip()}")
        finally:
            server.kill()
            server.wait()


def _repeated(measure: Callable[[], Measurement]) -> Measurement:
    """Return the first measurement that is within its bounds, else the last, with the number of tries."""
    found, tries = measure(), 1
    while not found["is_within"] and tries < TRIES_COUNT:
        found, tries = measure(), tries + 1
    return {**found, "conditions": found["conditions"] + (f"; try {tries}" if tries > 1 else "")}


def _measure_rtt(testbed: Testbed, route: Route) -> Measurement:
    is_varied = bool(route.jitter_ms or route.reordering_pct)
    count = ECHOES_JITTER_COUNT if is_varied else ECHOES_COUNT
    words = ("ping", "-n", "-c", str(count), "-i", f"{ECHO_INTERVAL_S:g}", "-W", "1", route.address)
    rtts = [float(match) for match in ECHO.findall(testbed.execute("sender1", words).stdout)]
    if not rtts:
        raise TestbedError(f"no echo comes back over the path with RTT {route.rtt_ms:g} ms")
    # The least is what the path takes, as minrtt is of TCP; what a busy machine adds to some echoes shows beside it.
    median = statistics.median(rtts)
    measured = median if is_varied else min(rtts)
    low, high = rtt_bounds_ms(route, len(rtts), testbed.run.receive_coalescing_us or 0.0)
    how = "; median" if is_varied else f"; least of {len(rtts)} echoes, median {median:g} ms"
    return _measurement("rtt", "ms", "ping", route.rtt_ms, measured, low, high, len(rtts), how)


def _measure_losses(testbed: Testbed, route: Route, packets_count: int) -> list[Measurement]:
    ways = {"forward": ["forward"], "return": ["return"], "both": ["forward", "return"]}[route.loss_direction]
    return [_measure_loss(testbed, route, way, packets_count) for way in ways]


def _measure_loss(testbed: Testbed, route: Route, way: str, packets_count: int) -> Measurement:
    loss = route.loss or Loss("random", 0.0)
    needed = needed_packets(loss) or LOSSLESS_PACKETS_COUNT
    ends = ("sender1", "receiver1", route.address, "far", "c1")
    if way == "return":
        ends = ("receiver1", "sender1", "10.202.1.2", "receiver1", "d0")
    near, far, address, place, device = ends
    before = _drops(testbed, place, device)
    pace = slow_pace_pps(testbed.run, route)
    sent, arrived = count_arrivals(testbed, near, far, address, min(needed, packets_count), pace, LOSS_TIME_S)
    is_counted = sent >= needed
    lost = sent - arrived if is_counted else _drops(testbed, place, device) - before
    low, high = loss_bounds_pct(route.loss, sent)
    method = "packets" if is_counted else "qdisc"
    measured = 100 * lost / sent
    found = _measurement("loss", "%", method, 100 * mean_loss(loss), measured, low, high, sent, f"; {way}")
    return {**found, "lost_count": lost}


def _measure_rate(testbed: Testbed, shaper: Shaper) -> Measurement:
    measured = measure_departures(testbed, shaper.place, shaper.device, shaper.rate_bps)
    low, high = rate_bounds_bps(shaper.rate_bps)
    return _measurement("rate", "bit/s", "qdisc", float(shaper.rate_bps), measured, low, high, None, "")


def _drops(testbed: Testbed, place: str, device: str) -> int:
    done = testbed.execute(place, ("tc", "-s", "-j", "qdisc", "show", "dev", device))
    return sum(int(queue["drops"]) for queue in json.loads(done.stdout) if queue["kind"] == "netem")


def _measurement(
    quantity: str,
    unit: str,
    method: str,
    nominal: float,
    measured: float,
    low: float,
    high: float,
    packets_count: int | None,
    conditions: str,
) -> Measurement:
    return {
        "quantity": quantity,
        "host": None,
        "nominal": nominal,
        "measured": measured,
        "unit": unit,
        "method": method,
        "packets_count": packets_count,
        "lost_count": None,
        "low": low,
        "high": high,
        "is_within": judge(measured, low, high),
        "conditions": conditions,
    }
