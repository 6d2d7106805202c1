"""netperf itself over loopback, read as soon as it has printed."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rpc_inputs import ingest

pytestmark = pytest.mark.skipif(shutil.which("netserver") is None, reason="netperf is not installed")
SECONDS = 20


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = int(free.getsockname()[1])
    command = ["netserver", "-D", "-4", "-L", "127.0.0.1", "-p", str(number)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", number), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield number
    finally:
        server.kill()
        server.wait()


def run_netperf(port: int, *options: str) -> str:
    command = ["netperf", "-H", "127.0.0.1", "-p", str(port), "-l", "1", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS).stdout


def test_a_test_of_transactions_has_the_numbers_that_netperf_prints(port: int, tmp_path: Path) -> None:
    printed = run_netperf(port, "-j", "-t", "omni", "--", "-d", "rr", "-r", "10,20", "-k", "all")
    named = dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)
    (row,) = ingest({"netperf:1": printed}, tmp_path).tests.rows(named=True)
    assert (row["request_bytes"], row["response_bytes"]) == (10, 20)
    assert row["transaction_rate_tps"] == float(named["TRANSACTION_RATE"])
    assert row["latency_p99_ms"] == pytest.approx(float(named["P99_LATENCY"]) / 1000)
    assert row["cc"] == named["REMOTE_CONG_CONTROL"]
    # One transaction after the other: rate and mean latency tell the same.
    assert row["transaction_rate_tps"] * row["latency_mean_ms"] == pytest.approx(1000, rel=0.1)


def test_a_bulk_test_in_the_old_form_has_its_rate(port: int, tmp_path: Path) -> None:
    printed = run_netperf(port, "-t", "TCP_STREAM")
    # The last of the line's five numbers, in 10^6 bit/s.
    rate = float(printed.split()[-1])
    (row,) = ingest({"netperf:1": printed}, tmp_path).tests.rows(named=True)
    assert row["payload_rate_bps"] == pytest.approx(rate * 1e6)
