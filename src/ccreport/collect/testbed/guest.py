"""The guest: what runs inside a testbed's namespaces or user-mode kernel, one order after another.

It makes the place fit for work first: a user-mode kernel begins with nothing mounted but the machine's root file
system, read-only, and has its modules in a folder of their own (/usr/lib/uml/modules). Orders come as lines of JSON
on standard input, answers go to standard output behind a mark, since the rest there is the kernel's; the end of input
is the end.
"""

import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import traceback
from pathlib import Path
from typing import Any, Final

from ccreport.collect.calibrate import measure_paths
from ccreport.collect.guard import mount
from ccreport.collect.plan import Run, from_json
from ccreport.collect.worker import perform_run

MARK: Final = "ccreport:"
PLACE: Final = Path("/run/ccreport")
SLOT, WORK = PLACE / "slot", PLACE / "work"
KERNEL_MODULES: Final = Path("/usr/lib/uml/modules")
# What is used before a testbed is there, or by instruments.
MODULES: Final = ("inet_diag", "tcp_diag", "af_packet")
BIND, POWER_OFF = 4096, 0x4321FEDC
VERSIONS: Final = {
    "iperf3": (["iperf3", "--version"], r"iperf (\S+)"),
    "ss": (["ss", "-V"], r"iproute2-(\S+)"),
    "tc": (["tc", "-V"], r"iproute2-([^,\s]+)"),
    "tcpdump": (["tcpdump", "--version"], r"tcpdump version (\S+)"),
    "mpstat": (["mpstat", "-V"], r"sysstat version (\S+)"),
    "ping": (["ping", "-V"], r"iputils (\S+)"),
    "netperf": (["netperf", "-V"], r"version (\S+)"),
}


class UnfitError(Exception):
    """Something that this testbed lacks, as an answer that ends it."""


def main() -> None:
    """Answer orders until there are no more."""
    engine, slot = sys.argv[1], Path(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        (_prepare_kernel if engine == "user-mode-kernel" else _prepare_namespaces)(slot)
        WORK.mkdir()
        os.environ["TMPDIR"] = str(WORK)
        spec = json.loads((SLOT / "spec.json").read_text(encoding="utf-8"))
        if engine == "user-mode-kernel":
            _load_modules(spec["algorithms"], spec["modules"])
        _say(event="ready", **_describe_machine())
        _answer_orders(spec)
    except UnfitError as error:
        _say(event="unfit", message=str(error))
    except OSError as error:
        _say(event="unfit", message=f"the testbed could not be prepared: {error}")
    finally:
        if engine == "user-mode-kernel":
            os.sync()
            ctypes.CDLL(None).reboot(POWER_OFF)


def _answer_orders(spec: dict[str, Any]) -> None:
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if order["do"] == "run":
                run = from_json(Run, spec["runs"][order["number"]])
                socket.sethostname(spec["hostnames"][order["number"]])
                _say(event="ran", **perform_run(run, WORK, SLOT / order["folder"]))
            elif order["do"] == "calibrate":
                _say(event="calibrated", **measure_paths(_read_runs(spec, order), spec["packets_count"]))
        except Exception as error:  # noqa: BLE001
            # A fault of the program fails one attempt, with the place of it, and not the sweep.
            place = traceback.extract_tb(error.__traceback__)[-1]
            message = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
            _say(event="failed", outcome="failed", message=message)


def _read_runs(spec: dict[str, Any], order: dict[str, Any]) -> tuple[Run, ...]:
    numbers = json.loads((SLOT / order["numbers"]).read_text(encoding="utf-8"))
    return tuple(from_json(Run, spec["runs"][number]) for number in numbers)


def _say(**answer: Any) -> None:
    # A line of the kernel's may stand unfinished on the console.
    os.write(1, f"\n{MARK}{json.dumps(answer)}\n".encode())


def _prepare_namespaces(slot: Path) -> None:
    """Cover /run, where ip(8) keeps names of namespaces, with a tmpfs that has the slot in it."""
    opened = os.open(slot, os.O_PATH)
    mount("tmpfs", Path("/run"), "tmpfs", "mode=0755")
    SLOT.mkdir(parents=True)
    mount(f"/proc/self/fd/{opened}", SLOT, "none", flags=BIND)
    os.close(opened)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def _prepare_kernel(slot: Path) -> None:
    """Mount what a Linux system has, and the slot by the machine's path of it, whatever is in that path."""
    mount("proc", Path("/proc"), "proc")
    mount("sysfs", Path("/sys"), "sysfs")
    for path in ("/run", "/dev/shm", "/tmp"):  # noqa: S108
        # An interpreter that lives there must stay in sight.
        if not Path(sys.base_prefix).is_relative_to(path):
            Path(path).mkdir(exist_ok=True)
            mount("tmpfs", Path(path), "tmpfs", "mode=1777")
    SLOT.mkdir(parents=True)
    mount("none", SLOT, "hostfs", str(slot))
    attributes = termios.tcgetattr(0)
    # Orders are not to be echoed among the answers.
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, attributes)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def _load_modules(algorithms: list[str], modules: list[str]) -> None:
    """Load what testbeds need; modprobe reads their parameters from the kernel's command line."""
    root = PLACE / "root/lib"
    root.mkdir(parents=True)
    (root / "modules").symlink_to(KERNEL_MODULES)
    # What is built in, or not there, shows in what there is afterwards.
    command = ["modprobe", "-q", "-a", "-d", str(root.parent), *MODULES, *modules]
    subprocess.run(command, check=False, capture_output=True)
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
    if missing := sorted(set(algorithms) - set(known)):
        raise UnfitError(f"the user-mode kernel has no congestion control {', '.join(missing)}; it has {known}")


def _describe_machine() -> dict[str, Any]:
    tools = {}
    for name, (command, pattern) in VERSIONS.items():
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if found := re.search(pattern, done.stdout + done.stderr):
            tools[name] = found[1]
    return {
        "kernel": os.uname().release,
        "cores_count": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "tools": tools,
    }
