"""The testbed for real, in one user-mode kernel: what is declared is there, does what it says, and goes again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from user_kernel import KERNEL, needs_kernel

import ccreport

pytestmark = [pytest.mark.slow, needs_kernel()]

MARK = "answer: "
SOURCES = Path(ccreport.__file__).parents[1]
# The first process of the kernel, which sees this machine's files but cannot write them.
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs run /run
mkdir -p /run/netns /run/root/lib; ln -s /usr/lib/uml/modules /run/root/lib/modules
modprobe -a -d /run/root veth sch_netem sch_fq sch_tbf sch_red tcp_dctcp
ip link set lo up
TMPDIR=/run {python} -I -S -B {folder}/inside.py {sources} 2>&1
halt -f
"""
INSIDE = """
import json, sys, os
sys.path.insert(0, sys.argv[1])
from ccreport.collect.testbed.calibrate import _measure_losses, _measure_rate, _measure_rtt
from ccreport.collect.testbed.calibrated_paths import narrowest
from ccreport.collect.plan import Bottleneck, Client, Loss, Route, Run, Sender
from ccreport.collect.testbed.testbed import Testbed

route = Route("h", "10.201.1.2", None, 20.0, loss=Loss("random", 1.0))
run = Run("s", "j", "x", 1, (route,), (Sender(1),), (Client(1, "h", duration_s=1.0, congestion_control="dctcp"),), 1.0,
          bottleneck=Bottleneck(10_000_000, 100_000, "red", True))
devices = set(os.listdir("/sys/class/net"))
with Testbed(run) as testbed:
    left = testbed.popen("receiver1", ("sleep", "100"))
    answer = {"record": testbed.qdisc_record(), "rtt": _measure_rtt(testbed, route),
              "loss": _measure_losses(testbed, route, 5000), "rate": _measure_rate(testbed, narrowest(run)),
              "sender": testbed.execute("sender1", ("sh", "-c", "tc qdisc; sysctl -n net.ipv4.tcp_ecn")).stdout}
answer |= {"namespaces": os.listdir("/run/netns"), "sleep": left.wait(5),
           "devices": sorted(set(os.listdir("/sys/class/net")) - devices)}
print("\\n" + "MARK" + json.dumps(answer))
"""


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("live")
    (folder / "inside.py").write_text(INSIDE.replace("MARK", MARK))
    init = folder / "init"
    init.write_text(INIT.format(python=sys.executable, folder=folder, sources=SOURCES))
    init.chmod(0o755)
    command = [str(KERNEL), "mem=256M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}"]
    command += ["con=null", "con0=fd:0,fd:1", "quiet", f"uml_dir={folder}/"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    found = [line.removeprefix(MARK) for line in done.stdout.splitlines() if line.startswith(MARK)]
    assert found, done.stdout[-3000:]
    value: dict[str, Any] = json.loads(found[0])
    return value


def test_the_declared_disciplines_are_in_place(answer: dict[str, Any]) -> None:
    lines = answer["record"].splitlines()
    assert lines[:2] == ["setting latency to 10ms", "setting loss to 1"]
    kinds = [line.split()[1:5:3] for line in lines if line.startswith("qdisc")]
    assert kinds == [["tbf", "r0"], ["red", "r0"], ["netem", "c1"], ["netem", "d0"]]
    # 10 Mbit/s · 20 ms / 7 = 3571.4 bytes
    assert "min 3572b max 3572b ecn" in answer["record"]
    assert "limit 10000 delay 10ms loss 1%" in answer["record"]
    assert "qdisc fq 1: dev s0 root" in answer["sender"]
    assert answer["sender"].split()[-1] == "1"  # DCTCP asks for ECN


def test_packets_are_delayed_lost_and_held_back_as_declared(answer: dict[str, Any]) -> None:
    # On a machine with other work an echo comes late; none comes early.
    assert 19.9 <= answer["rtt"]["measured"] < 30
    (loss,) = answer["loss"]
    assert (loss["method"], loss["packets_count"]) == ("packets", 2000)
    assert loss["is_within"]
    assert loss["lost_count"] == round(loss["measured"] * 20)
    # A busy machine sends less than it was asked to, but no shaper lets more pass.
    assert 1e6 < answer["rate"]["measured"] < 10.3e6


def test_nothing_is_left(answer: dict[str, Any]) -> None:
    assert answer["namespaces"] == []
    assert answer["sleep"] == -9
    assert answer["devices"] == []
