"""Runs in virtual time: what a seed repeats, what physics asks of exact clocks, and what would stand still for ever."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ccreport.collect.declare.campaign import read_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.engines import GuestEnded, Place, _virtual_place, choose_place
from ccreport.collect.kernel import processor
from ccreport.collect.kernel.find_kernel import find_user_kernel, read_user_kernel
from ccreport.collect.plan import Plan, VirtualClock
from ccreport.collect.slots import Slot
from ccreport.collect.virtual_time import VirtualGuest
from ccreport.core.errors import InputError

KERNEL = find_user_kernel(None)
has_virtual_time = pytest.mark.skipif(
    KERNEL is None or not KERNEL.has_virtual_time,
    reason="there is no user-mode kernel with virtual time; `make kernel` builds one",
)

LOSSY = {"name": "both", "congestion_control": ["cubic", "bbr"], "flows_count": 4, "rtt_ms": 20, "loss_pct": 0.5}
SMALL = {"memory_mib": 256, "clock": "virtual", "calibration": {"packets_count": 1000}}


def plan(*jobs: dict[str, Any], testbed: dict[str, Any] = SMALL, **defaults: Any) -> Plan:
    settings = {"duration_s": 2, "sender_mbps": 20} | defaults
    declared = {"title": "T", "testbed": testbed, "defaults": settings}
    return plan_campaign(read_campaign(declared | {"sessions": [{"label": "main", "jobs": list(jobs)}]}), "virtual")


def make_slot(planned: Plan, folder: Path) -> Slot:
    place = choose_place(planned)
    return Slot(planned, place, 1, folder, {(run.session, run.job): "sender" for run in planned.runs})


def perform(planned: Plan, folder: Path, seed: str) -> dict[str, bytes]:
    """Return the files of the first run by name."""
    slot, run = make_slot(planned, folder), planned.runs[0]
    clock = VirtualClock(1_795_600_000_000_000_000, seed)
    told = slot.make(run, "out", clock)
    assert told["outcome"] == "completed", told
    return {path.name: path.read_bytes() for path in sorted((folder / "out").iterdir())}


@pytest.mark.slow
@has_virtual_time
def test_one_seed_gives_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    planned = plan(LOSSY)
    first = perform(planned, tmp_path / "first", "one")
    # Nor does it matter how long the path is, by which memory in the testbed would move.
    for name in ("a folder elsewhere", "x" * 13, "x" * 31):
        assert perform(planned, tmp_path / name, "one") == first
    other = perform(planned, tmp_path / "other", "two")
    assert other.keys() == first.keys()
    suffix = "10.201.1.2:1:20.0ms"
    assert other[f"src-cmd:{suffix}"] != first[f"src-cmd:{suffix}"]
    # Processors are never busy here, so nothing is said of them.
    items = ("kernel-drops", "post-netem", "pre-netem", "src-cmd", "src-cmd-2", "ss")
    assert sorted(first) == sorted(f"{item}:{suffix}" for item in items)


@pytest.mark.slow
@has_virtual_time
def test_round_trips_losses_and_clocks_are_exact(tmp_path: Path) -> None:
    files = perform(plan(LOSSY), tmp_path / "slot", "one")
    suffix = "10.201.1.2:1:20.0ms"
    results = [json.loads(files[f"{item}:{suffix}"]) for item in ("src-cmd", "src-cmd-2")]
    streams = [stream["sender"] for result in results for stream in result["end"]["streams"]]
    assert all(stream["min_rtt"] >= 20_000 for stream in streams)
    drops = {one["counter"]: one["after"] - one["before"] for one in json.loads(files[f"kernel-drops:{suffix}"])}
    lost = drops.pop("c1 netem 1: dropped")
    assert lost > 0
    assert not any(drops.values())
    # Each lost packet was sent again once, or is still on its way at the end.
    assert abs(sum(stream["retransmits"] for stream in streams) - lost) <= 4
    # The clock of the run starts where it was told to.
    assert all(1_795_600_000 <= result["start"]["timestamp"]["timesecs"] <= 1_795_600_005 for result in results)


@pytest.mark.slow
@has_virtual_time
def test_a_program_that_would_not_sleep_is_named_and_ended(tmp_path: Path) -> None:
    planned = plan(LOSSY | {"commands": {"before_source": ["exec python3 -c 'while True: pass'"]}})
    slot, clock = make_slot(planned, tmp_path / "slot"), VirtualClock(0, "one")
    slot._write_spec([replace(planned.runs[0], virtual_clock=clock)])
    guest = VirtualGuest(slot.place, slot.folder, planned.testbed.memory_bytes, {}, 1)
    with pytest.raises(GuestEnded, match=r"virtual time stands still at [\d.]+ s; python3 would not sleep"):
        guest.perform(clock, still_limit_s=4, do="run", number=0, folder="out")


@pytest.mark.slow
@has_virtual_time
@pytest.mark.parametrize(
    ("wrong", "message", "kind"),
    [
        # What is not found is in no run of the sweep, which ends with it.
        (
            {"commands": {"before_source": ["nosuchcommand"]}},
            "commands.before_source: `nosuchcommand` ended with 127: sh",
            "is_refused",
        ),
        (
            {"commands": {"before_source": ["ls --nosuchoption"]}},
            "commands.before_source: `ls --nosuchoption` ended with 2: ls: unrecognized option '--nosuchoption'",
            "is_wrong_call",
        ),
        (
            {"instruments": {"capture": {"filter": "tcp prt 1"}}},
            "instruments.capture.filter: `tcp prt 1`: tcpdump: ",
            "is_wrong_call",
        ),
        (
            {"extra_arguments": ["--bogus"]},
            "extra_arguments: iperf3: unrecognized option '--bogus'",
            "is_wrong_call",
        ),
    ],
)
def test_what_a_program_refuses_is_told_by_its_key(
    tmp_path: Path, wrong: dict[str, Any], message: str, kind: str
) -> None:
    planned = plan(LOSSY | wrong)
    told = make_slot(planned, tmp_path / "slot").make(planned.runs[0], "out", VirtualClock(0, "one"))
    assert told["outcome"] == "failed"
    assert [flag for flag in ("is_refused", "is_wrong_call") if told[flag]] == [kind]
    assert told["message"].startswith(message)


@pytest.mark.slow
@has_virtual_time
def test_a_path_that_delivers_packets_together_is_within_its_bounds(tmp_path: Path) -> None:
    planned = plan({"name": "together", "rtt_ms": 40, "receive_coalescing_us": 500})
    told = make_slot(planned, tmp_path / "slot").calibrate(list(planned.runs), 0)
    assert all(probe["is_within"] for probe in told["measurements"])
    # A lone echo waits on either way.
    assert [probe["measured"] for probe in told["measurements"] if probe["quantity"] == "rtt"] == [41.0]


@pytest.mark.slow
@has_virtual_time
def test_a_sweep_that_is_stopped_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    campaign, archive = tmp_path / "two.yaml", tmp_path / "archive"
    # Without loss: iperf3's client polls while it waits for its server, for seconds of the host where a packet is lost.
    job = LOSSY | {"iterations_count": 2, "duration_s": 4, "sender_mbps": 20, "loss_pct": None}
    declared = {"title": "T", "testbed": SMALL, "sessions": [{"label": "main", "jobs": [job]}]}
    campaign.write_text(json.dumps(declared))
    command = [sys.executable, "-m", "ccreport", "collect", "--campaign", str(campaign), "--archive", str(archive)]
    begun = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    last = time.monotonic() + 60
    while not list(archive.glob(".partial/slot-1/attempt.json")) and time.monotonic() < last:
        time.sleep(0.02)
    begun.send_signal(signal.SIGTERM)
    _, told = begun.communicate(timeout=60)
    assert begun.returncode == 1
    assert "the same command goes on with the missing runs" in told
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    (session,) = archive.glob("2*")
    attempts = [json.loads(line) for line in (session / "attempts.jsonl").read_text().splitlines()]
    assert [one["outcome"] for one in attempts] == ["interrupted", "completed", "completed"]
    assert attempts[0]["seed"] == attempts[1]["seed"]
    assert attempts[0]["clock_start_ns"] == attempts[1]["clock_start_ns"] < attempts[2]["clock_start_ns"]
    described = json.loads((session / "session.json").read_text())
    assert KERNEL is not None
    assert (described["clock"], described["kernel_sha256"]) == ("virtual", KERNEL.sha256)
    assert described["kernel_ticks_hz"] == 1000
    measured = json.loads((session / "calibration.json").read_text())
    rtts = [one["measured"] for one in measured["measurements"] if one["quantity"] == "rtt"]
    assert rtts == [20.0]
    assert measured["capacity_bps"] is None


@pytest.mark.slow
@has_virtual_time
@pytest.mark.parametrize("loss_pct", [0.01, 0.1])
def test_cubic_alone_has_the_rate_of_its_response_function(tmp_path: Path, loss_pct: float) -> None:
    job = {"name": "cubic", "congestion_control": "cubic", "rtt_ms": 100, "loss_pct": loss_pct}
    planned = plan(job, duration_s=100, omit_s=20, sender_mbps=200, instruments={"ss_interval_s": 5})
    files = perform(planned, tmp_path / "slot", "one")
    result = json.loads(files["src-cmd:10.201.1.2:1:100.0ms"])
    # RFC 9438, 5.1 with C = 0.4 and beta = 0.7; 4.3: never less than Reno with the same loss.
    loss, rtt_s = loss_pct / 100, 0.1
    window = max(1.054 * rtt_s**0.75 / loss**0.75, math.sqrt(1.5 / loss))
    expected_bps = window * 1448 * 8 / rtt_s
    # 20 to 40 losses in that time, which come by chance.
    assert 0.6 < result["end"]["sum_received"]["bits_per_second"] / expected_bps < 1.6


@pytest.mark.slow
@has_virtual_time
def test_background_packets_are_lost_at_the_bottleneck_and_not_in_their_receivers_socket(tmp_path: Path) -> None:
    """What iperf3 sends within a millisecond, 14 packets of 9000 bytes, is more than a socket takes by default."""
    job = {"name": "udp", "congestion_control": "cubic", "rtt_ms": 2, "mtu_bytes": 9000, "offloads": True}
    job |= {"bottleneck_mbps": 1100, "buffer_bytes": 500_000, "sender_mbps": 2000}
    planned = plan(job | {"background_udp_mbps": 1000, "background_udp_sender": 2}, duration_s=1)
    # It would not be completed but host-limited.
    files = perform(planned, tmp_path / "slot", "one")
    background = json.loads(files["xtraffic:10.201.1.2:1:2.0ms"])
    assert background["start"]["connected"][0]["local_host"] == "10.202.2.2"
    assert background["end"]["sum_sent"]["bits_per_second"] == pytest.approx(1e9, rel=0.01)


@pytest.mark.slow
@has_virtual_time
def test_sixteen_flows_share_the_line(tmp_path: Path) -> None:
    job = {"name": "bbr", "congestion_control": "bbr", "flows_count": 16, "rtt_ms": 20}
    files = perform(plan(job, duration_s=20, sender_mbps=100), tmp_path / "slot", "one")
    result = json.loads(files["src-cmd:10.201.1.2:1:20.0ms"])
    rates = [stream["receiver"]["bits_per_second"] for stream in result["end"]["streams"]]
    # Of each frame of 1,514 bytes 1,448 are payload.
    assert 0.93 * 100e6 * 1448 / 1514 < sum(rates) <= 100e6 * 1448 / 1514
    assert sum(rates) ** 2 / (16 * sum(rate**2 for rate in rates)) > 0.95


def test_a_path_without_a_rate_would_stand_still() -> None:
    planned = plan(LOSSY, sender_mbps=None)
    kernel = replace(KERNEL, has_virtual_time=True) if KERNEL else None
    if kernel is None:
        pytest.skip("no user-mode kernel is installed")
    with pytest.raises(InputError, match="both: nothing limits the rate, so virtual time would stand still"):
        _virtual_place(planned, kernel)


def test_virtual_time_in_namespaces_is_refused() -> None:
    with pytest.raises(InputError, match="clock: virtual needs a user-mode kernel, and engine is namespaces"):
        choose_place(plan(LOSSY, testbed=SMALL | {"engine": "namespaces"}))


def test_what_is_not_a_user_mode_kernel_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/bin/true is not a user-mode kernel"):
        read_user_kernel(Path("/bin/true"))
    with pytest.raises(InputError, match="cannot be run as a user-mode kernel"):
        read_user_kernel(tmp_path / "missing")


@pytest.mark.skipif(not os.access("/usr/bin/linux.uml", os.X_OK), reason="user-mode-linux is not installed")
def test_a_kernel_without_virtual_time_is_refused() -> None:
    with pytest.raises(InputError, match=r"linux\.uml was built without it; `make kernel` builds one"):
        choose_place(plan(LOSSY, testbed=SMALL | {"kernel": "/usr/bin/linux.uml"}))


@pytest.mark.parametrize(("flags", "is_named"), [("fpu avx512f amx_tile", True), ("fpu avx512f", False)])
def test_a_processor_with_too_many_registers_is_named(
    flags: str, is_named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = tmp_path / "cpuinfo"
    described.write_text(f"model name\t: made up\nflags\t\t: {flags}\n")
    monkeypatch.setattr(processor, "PROCESSOR", described)
    assert ("`make kernel`" in processor.hint_at_processor()) == is_named


def test_auto_takes_virtual_time_where_the_kernel_has_it() -> None:
    planned = plan(LOSSY, testbed=SMALL | {"clock": "auto"})
    place = choose_place(planned)
    assert isinstance(place, Place)
    assert place.clock == ("virtual" if KERNEL is not None and KERNEL.has_virtual_time else "real")
