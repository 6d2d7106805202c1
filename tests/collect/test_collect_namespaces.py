"""A sweep in network namespaces, inside a user-mode kernel: it has what they need where this machine may not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from archives import ROOT
from user_kernel import KERNEL, needs_kernel

CAMPAIGN = """\
title: One run of one second
testbed:
  engine: namespaces
  calibration: {packets_count: 1000, on_failure: warn}
sessions:
  - label: main
    hostname: sender
    jobs:
      - name: both_p2
        congestion_control: [cubic, bbr]
        flows_count: 2
        duration_s: 1
        sender_mbps: 10
        rtt_ms: 10
        instruments: {capture: {snap_bytes: 128}}
"""
# /tmp stays the machine's own, read-only, since the campaign lies there.
START = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH='{sources}' PYTHONDONTWRITEBYTECODE=1 TMPDIR=/run HOME=/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /dev/shm /run/root/lib
mount -t tmpfs shm /dev/shm
ln -s /usr/lib/uml/modules /run/root/lib/modules
modprobe -a -d /run/root sch_netem sch_fq sch_tbf tcp_bbr veth inet_diag tcp_diag af_packet
ip link set lo up
cd /run
printf '\\nlink-before %s\\n' $(ls /sys/class/net)
'{python}' -m ccreport collect --campaign '{campaign}' --archive /run/archive --summary /run/summary.json
printf '\\nsummary %s\\n' "$(cat /run/summary.json)"
printf 'file %s\\n' /run/archive/*/both_p2/*
printf 'link %s\\n' $(ls /sys/class/net)
printf 'process %s\\n' $(ps -e -o comm= | grep -E 'iperf3|tcpdump|mpstat|python|unshare')
printf 'qdisc %s\\n' "$(tc qdisc show | grep -v noqueue)"
ls /run/netns 2>/dev/null | sed 's/^/namespace /'
poweroff -f
"""

pytestmark = [pytest.mark.slow, needs_kernel("iperf3", "mpstat", "modprobe")]


def test_namespaces_carry_a_sweep_out_and_nothing_stays(tmp_path: Path) -> None:
    campaign, start = tmp_path / "one.yaml", tmp_path / "start"
    campaign.write_text(CAMPAIGN)
    start.write_text(START.format(sources=ROOT / "src", python=sys.executable, campaign=campaign))
    start.chmod(0o755)
    command = [str(KERNEL), "mem=768M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={start}"]
    command += ["con=null", "con0=fd:0,fd:1", "quiet", f"uml_dir={tmp_path}/", "umid=namespaces", "panic=-1"]
    # On one core its processes take turns without waking another.
    done = subprocess.run(
        ["taskset", "--cpu-list", "0", *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        word, _, rest = line.partition(" ")
        told.setdefault(word, []).append(rest.strip())
    assert told["summary"] != [""], done.stdout
    summary = json.loads(told["summary"][0])
    assert (summary["engine"], summary["completed_count"], summary["attempts_count"]) == ("namespaces", 1, 1), (
        done.stdout
    )
    run = "10.201.1.2:1:10.0ms"
    items = ["post-netem", "pre-netem", "src-cmd", "src-cmd-2", "ss", "tcpdump", "tcpdump-log"]
    expected = [
        *(f"{item}:{run}" for item in items),
        f"kernel-drops:{run}",
        f"mpstat-sender:{run}.json",
        "jobmeta.json",
        "10.201.1.2-meta.json",
    ]
    assert sorted(Path(path).name for path in told["file"]) == sorted(expected)
    # The kernel's own, as lo.
    assert told["link"] == told["link-before"]
    assert [told[word] for word in ("process", "qdisc")] == [[""], [""]]
    assert "namespace" not in told
