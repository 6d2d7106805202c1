"""What the kernel of the testbed dropped or ran short of itself, before and after a run.

Packets are to be lost by the path as it is declared, not because the kernel that emulates all hosts ran out of memory
or of room in a queue that belongs to no path. Counters are those of nstat(8) (linux/snmp.h), the second column of
/proc/net/softnet_stat (packets beyond net.core.netdev_max_backlog) and the drops of every qdisc. A run in which one of
them rose that is not the path's is limited by its host.
"""

import json
from pathlib import Path
from typing import Any, Final

from ccreport.collect.testbed.testbed import Testbed, entered

# Packets dropped at a receiver or a sender for want of memory or of room, and a receive queue that had to be shortened.
WATCHED: Final = (
    "TcpExtPruneCalled",
    "TcpExtRcvPruned",
    "TcpExtOfoPruned",
    "TcpExtTCPOFODrop",
    "TcpExtTCPRcvQDrop",
    "TcpExtTCPBacklogDrop",
    "TcpExtTCPMemoryPressures",
    "TcpExtTCPZeroWindowDrop",
    "TcpExtTCPWqueueTooBig",
    "TcpExtListenDrops",
    "IpInDiscards",
    "IpOutDiscards",
    "UdpRcvbufErrors",
)
# Where packets are dropped because the path is declared so, by place and device: the bottleneck, and netem either way.
PATH_DEVICES: Final = {"router": ("r0",), "far": ("c",), "receiver": ("d0",)}

Counts = dict[tuple[str, str], int]


def read_drops(testbed: Testbed) -> Counts:
    """Return the counts by host and counter.

    Drops between two devices, which all hosts share, are those of the host `kernel`. They are counted in virtual time
    only: in real time the kernel may be the whole machine's, whose other traffic is not the run's.
    """
    counts: Counts = {}
    for place in testbed.namespaces:
        with entered(testbed.namespaces[place]):
            told = _read_counters("snmp") | _read_counters("netstat")
        counts |= {(place, name): told[name] for name in WATCHED if name in told}
        for qdisc in json.loads(testbed.execute(place, ("tc", "-s", "-j", "qdisc")).stdout or "[]"):
            if qdisc["kind"] != "noqueue":
                name = f"{qdisc['dev']} {qdisc['kind']} {qdisc['handle']} dropped"
                counts[place, name] = int(qdisc["drops"])
    if testbed.run.virtual_clock is not None:
        lines = Path("/proc/net/softnet_stat").read_text(encoding="ascii").splitlines()
        counts["kernel", "softnet dropped"] = sum(int(line.split()[1], 16) for line in lines)
    return counts


def compare_drops(before: Counts, after: Counts) -> list[dict[str, Any]]:
    """Return a record for each counter: host, counter, whether the path is declared to drop there, and both counts."""
    return [
        {
            "host": place,
            "counter": name,
            "is_path": _is_path(place, name),
            "before": before.get((place, name), 0),
            "after": count,
        }
        for (place, name), count in sorted(after.items())
    ]


def name_host_limit(records: list[dict[str, Any]]) -> str | None:
    """Return what the host's kernel dropped in a run in place of the path, null where it dropped nothing."""
    grown = [
        f"{record['counter']} of {record['host']} rose by {record['after'] - record['before']}"
        for record in records
        if not record["is_path"] and record["after"] > record["before"]
    ]
    return "; ".join(grown) or None


def _is_path(place: str, name: str) -> bool:
    device = name.split(maxsplit=1)[0]
    return name.endswith("dropped") and any(
        place.startswith(host) and any(device.startswith(prefix) for prefix in devices)
        for host, devices in PATH_DEVICES.items()
    )


def _read_counters(name: str) -> dict[str, int]:
    # Tcp: RtoAlgorithm RtoMin …  (names, then values)
    lines = Path(f"/proc/thread-self/net/{name}").read_text(encoding="ascii").splitlines()
    counters: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        group = names.split(":")[0]
        counters |= {
            f"{group}{key}": int(value) for key, value in zip(names.split()[1:], values.split()[1:], strict=True)
        }
    return counters
