"""The guest: what runs inside a testbed's namespaces or user-mode kernel, one order after another.

It makes the place fit for work first: a user-mode kernel begins with nothing mounted but the machine's root file
system, read-only, and has its modules in a folder of their own (/usr/lib/uml/modules). Orders come as lines of JSON
on standard input, answers go to standard output behind a mark, since the rest there is the kernel's; the end of input
is the end. A kernel in virtual time lives for one order, which is in a file as its answers are: input that comes when
the host has time for it would be an event that no seed repeats.
"""

import ctypes
import difflib
import fcntl
import hashlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from ccreport.collect.plan import Run, from_json
from ccreport.collect.testbed.calibrate import measure_paths
from ccreport.collect.testbed.init import mount
from ccreport.collect.testbed.run import perform_run
from ccreport.collect.testbed.testbed import TestbedError

MARK: Final = "ccreport:"
PLACE: Final = Path("/run/ccreport")
SLOT, WORK = PLACE / "slot", PLACE / "work"
ORDER, ANSWERS, CLOCK = "order.json", "answers", "clock"
# linux/random.h: RNDADDENTROPY, and how many bits the kernel's generator takes.
ADD_ENTROPY, SEED_BYTES = 0x40085203, 32
# What a kernel may hold at once that only serves the testbed: limits of a machine that would drop packets in place of
# the path. tcp_mem is counted in pages, the others in packets and bytes.
KERNEL_SETTINGS: Final = {
    "net.core.netdev_max_backlog": "1000000",
    "net.core.rmem_max": str(1 << 30),
    # Of a UDP socket; the kernel's own 208 KiB are twelve packets of 9000 bytes. TCP has limits of its own.
    "net.core.rmem_default": str(1 << 24),
    "net.core.wmem_max": str(1 << 30),
    "net.ipv4.tcp_mem": " ".join([str(1 << 22)] * 3),
}
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
    engine, slot, clock = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        (_prepare_kernel if engine == "user-mode-kernel" else _prepare_namespaces)(slot)
        if clock == "virtual":
            _prepare_virtual_time()
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
    has_one = (SLOT / ORDER).exists()
    for line in [(SLOT / ORDER).read_text(encoding="utf-8")] if has_one else sys.stdin:
        order = json.loads(line)
        try:
            if order["do"] == "run":
                run = from_json(Run, spec["runs"][order["number"]])
                socket.sethostname(spec["hostnames"][order["number"]])
                _say(event="ran", **perform_run(run, WORK, SLOT / order["folder"]))
            elif order["do"] == "calibrate":
                _say(event="calibrated", **measure_paths(_read_runs(spec, order), spec["packets_count"]))
            elif order["do"] == "describe":
                _say(event="described")
        except Exception as error:  # noqa: BLE001
            # A fault fails one attempt, and not the sweep; one of the program is told with its place.
            place = traceback.extract_tb(error.__traceback__)[-1]
            message = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
            message = str(error) if isinstance(error, TestbedError) else message
            _say(event="failed", outcome="failed", message=message)


def _read_runs(spec: dict[str, Any], order: dict[str, Any]) -> tuple[Run, ...]:
    numbers = json.loads((SLOT / order["numbers"]).read_text(encoding="utf-8"))
    return tuple(from_json(Run, spec["runs"][number]) for number in numbers)


def _say(**answer: Any) -> None:
    # A line of the kernel's may be unfinished on the console.
    text = f"\n{MARK}{json.dumps(answer)}\n".encode()
    if (SLOT / ORDER).exists():
        with (SLOT / ANSWERS).open("ab") as stream:
            stream.write(text)
    else:
        os.write(1, text)


def _prepare_virtual_time() -> None:
    """Seed the kernel's random numbers, and write its clock to a file each second, by which the host sees it go on."""
    order = json.loads((SLOT / ORDER).read_text(encoding="utf-8"))
    seed = hashlib.sha256(str(order["seed"]).encode()).digest()
    with Path("/dev/urandom").open("wb", buffering=0) as stream:
        fcntl.ioctl(stream, ADD_ENTROPY, struct.pack(f"ii{SEED_BYTES}s", 8 * SEED_BYTES, SEED_BYTES, seed))

    def tell_clock() -> None:
        while True:
            (SLOT / CLOCK).write_text(f"{time.monotonic():.3f}", encoding="ascii")
            time.sleep(1)

    threading.Thread(target=tell_clock, daemon=True).start()


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
    if os.isatty(0):
        attributes = termios.tcgetattr(0)
        # Orders are not to be echoed among the answers.
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(0, termios.TCSANOW, attributes)
    for name, value in KERNEL_SETTINGS.items():
        Path("/proc/sys", *name.split(".")).write_text(value, encoding="ascii")
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
    if problem := name_missing_algorithms(algorithms, known):
        raise UnfitError(problem)


def name_missing_algorithms(algorithms: Iterable[str], known: Iterable[str]) -> str | None:
    """Return what to say of algorithms that a user-mode kernel lacks, null where it has all; `known` are its own."""
    missing = sorted({*algorithms} - {*known})
    if not missing:
        return None
    meant = [f"`{near}`" for name in missing for near in difflib.get_close_matches(name, known, n=1)]
    hint = f"did you mean {', '.join(meant)}? Else name another kernel by --kernel"
    return (
        f"the user-mode kernel has no congestion control {', '.join(missing)}; it has {', '.join(sorted(known))}; "
        f"{hint if meant else 'choose one of these, or another kernel by --kernel'}"
    )


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
