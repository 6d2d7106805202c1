"""Engines: where a testbed lives, in namespaces of this machine's kernel or inside a user-mode kernel.

Both are started the same way: `guard` as the first process of new namespaces, below it the guest, which is told line by
line what to do and answers in lines of JSON. A user-mode kernel sees the machine's root file system read-only and, of
all that lies on it, may write the one folder that is its own below `.partial`.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from ccreport.collect.guest import MARK
from ccreport.collect.plan import Plan
from ccreport.errors import InputError

Engine = Literal["namespaces", "user-mode-kernel"]

PACKAGES: Final = "user-mode-linux iperf3 iproute2 tcpdump sysstat kmod ethtool iputils-ping"
TOOLS: Final = {
    "iperf3": "iperf3",
    "ip": "iproute2",
    "tc": "iproute2",
    "ss": "iproute2",
    "tcpdump": "tcpdump",
    "mpstat": "sysstat",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
    "nsenter": "util-linux",
}
KERNEL_TOOLS: Final = {"linux.uml": "user-mode-linux", "modprobe": "kmod"}
SEARCH_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
IN_USER: Final = ("--user", "--map-root-user")
ISOLATION: Final = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "--uts")
BOOT_LIMIT_S: Final = 60.0
CONSOLE_LINES_COUNT: Final = 8
PROBE_LIMIT_S: Final = 20
CLOSE_LIMIT_S: Final = 10.0


class GuestEnded(Exception):  # noqa: N818
    """A testbed that ended, or that no longer answers; its message says the last that was seen of it."""


@cache
def find_isolation(*, has_network: bool) -> tuple[str, ...] | None:
    """Return the options of unshare(1) that this machine allows, null if it allows none."""
    network = ("--net",) if has_network else ()
    # A user's own namespace does not let tcpdump change its groups, so root goes without one.
    users = ((), IN_USER) if os.geteuid() == 0 else (IN_USER,)
    for user in users:
        options = (*user, *ISOLATION, *network)
        # A namespace that may not mount is of no use.
        if _succeeds(["unshare", *options, "sh", "-c", "mount -t tmpfs tmpfs /dev/shm"]):
            return options
    return None


def list_missing_tools(names: dict[str, str]) -> list[str]:
    """Return the packages of the programs that are not here."""
    return sorted({package for name, package in names.items() if shutil.which(name, path=SEARCH_PATH) is None})


def explain_missing_namespaces(plan: Plan) -> str | None:
    """Return why this campaign cannot be run in namespaces of this machine's kernel, null if it can."""
    if any(run.module_parameters for run in plan.runs):
        return "module_parameters are the whole machine's: runs with them need the user-mode kernel"
    options = find_isolation(has_network=True)
    if options is None:
        return "this machine does not allow network namespaces"
    if IN_USER[0] in options and any(run.instruments.tcpdump_snap_bytes for run in plan.runs):
        return "tcpdump captures in namespaces for root only"
    disciplines = {run.bottleneck.discipline for run in plan.runs if run.bottleneck} - {"fifo"}
    needed = {"netem": "delay 1ms", "tbf": "rate 1mbit burst 10kb limit 10kb", "fq": ""}
    needed |= {"red": "limit 100kb avpkt 1000"} if "red" in disciplines else {}
    needed |= dict.fromkeys(sorted(disciplines - {"red"}), "")
    for name, arguments in needed.items():
        if not _succeeds(["unshare", *options, "tc", "qdisc", "add", "dev", "lo", "root", name, *arguments.split()]):
            return f"this machine's kernel has no {name}"
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
    if missing := sorted(list_algorithms(plan) - set(known)):
        return f"this machine's kernel has not loaded {', '.join(missing)} (modprobe tcp_{missing[0]})"
    return None


def list_algorithms(plan: Plan) -> set[str]:
    """Return every congestion control algorithm that a campaign uses."""
    named = {client.congestion_control for run in plan.runs for client in run.clients}
    return {name for name in named | {run.default_congestion_control for run in plan.runs} if name}


def choose_engine(plan: Plan) -> Engine:
    """Return the engine to use, and raise an InputError that says what is missing where none can be."""
    if missing := list_missing_tools(TOOLS):
        raise InputError(f"collect needs programs that are not installed: apt-get install {' '.join(missing)}")
    asked, reason = plan.testbed.engine, None
    if asked != "user-mode-kernel":
        reason = explain_missing_namespaces(plan)
        if reason is None:
            return "namespaces"
        if asked == "namespaces":
            raise InputError(f"engine: namespaces is not possible: {reason}")
    if missing := list_missing_tools(KERNEL_TOOLS):
        because = f"{reason}, and " if reason else ""
        raise InputError(f"{because}{' and '.join(missing)} is not installed: apt-get install {PACKAGES}")
    return "user-mode-kernel"


@dataclass
class Guest:
    """A testbed that was started: what to tell it, what it answers, and how to end it."""

    process: subprocess.Popen[bytes]
    orders: int
    answers: int
    lifeline: int
    rest: bytes = b""
    console: tuple[str, ...] = ()
    is_closed: bool = False
    closing: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, **order: Any) -> None:
        """Send one order."""
        try:
            os.write(self.orders, f"{json.dumps(order)}\n".encode())
        except OSError as error:
            raise GuestEnded(self.describe_end("ended")) from error

    def hear(self, limit_s: float) -> dict[str, Any]:
        """Return the next answer; raise GuestEnded if the guest ends first or takes longer."""
        last = time.monotonic() + limit_s
        while True:
            line, found, rest = self.rest.partition(b"\n")
            if found:
                self.rest = rest
                text = line.decode(errors="replace").strip()
                if text.startswith(MARK):
                    answer: dict[str, Any] = json.loads(text.removeprefix(MARK))
                    return answer
                self.console = (*self.console, text)[-CONSOLE_LINES_COUNT:] if text else self.console
                continue
            left = last - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise GuestEnded(self.describe_end(f"gave no answer for {limit_s:.0f} s"))
            read = os.read(self.answers, 65536)
            if not read:
                raise GuestEnded(self.describe_end("ended"))
            self.rest += read

    def describe_end(self, how: str) -> str:
        """Return what became of the testbed, with the last lines of its console."""
        return f"the testbed {how}{': ' + ' | '.join(self.console) if self.console else ''}"

    def close(self) -> None:
        """End the testbed with everything in it, and wait until it is gone."""
        with self.closing:
            if self.is_closed:
                return
            self.is_closed = True
            os.close(self.lifeline)
            try:
                self.process.wait(CLOSE_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def start_guest(
    engine: Engine, slot: Path, memory_bytes: int, parameters: dict[str, str], slot_number: int = 1
) -> tuple[Guest, dict[str, Any]]:
    """Start a testbed that may write in `slot`; return it and what it says of itself.

    Module parameters are given to a user-mode kernel when it boots, since CUBIC computes more from them when it
    starts; single elements of a vector are set by the testbed. Testbeds side by side have numbers, from 1. Raises
    GuestEnded if it does not come up.
    """
    end, lifeline = os.pipe()
    told, orders = os.pipe()
    answers, said = os.pipe()
    asked = {
        "engine": engine,
        "slot": str(slot.resolve()),
        # What works in a testbed needs no package, and a virtual environment may lie where a testbed does not see it.
        "python": sys._base_executable,  # type: ignore[attr-defined]
        "kernel": shutil.which("linux.uml", path=SEARCH_PATH),
        "memory_bytes": memory_bytes,
        "kernel_arguments": [f"{name}={value}" for name, value in parameters.items() if "[" not in name],
        "core": find_core(slot_number) if engine == "user-mode-kernel" else None,
        "has_cores_left": len(os.sched_getaffinity(0)) > 1,
        "lifeline": end,
    }
    guard = [asked["python"], "-I", "-S", "-B", str(Path(__file__).with_name("guard.py")), json.dumps(asked)]
    options = find_isolation(has_network=engine == "namespaces")
    process = subprocess.Popen(
        ["unshare", *options, *guard] if options else guard,
        stdin=told,
        stdout=said,
        stderr=subprocess.STDOUT,
        pass_fds=(end,),
        # Ctrl-C is for the command, which then ends its testbeds in its own order.
        start_new_session=True,
    )
    for theirs in (end, told, said):
        os.close(theirs)
    guest = Guest(process, orders, answers, lifeline)
    try:
        return guest, guest.hear(BOOT_LIMIT_S)
    except BaseException:
        guest.close()
        raise


def find_core(slot_number: int) -> int:
    """Return the core on which the user-mode kernel of this number runs, the last of this machine's for the first.

    Its processes take turns. On one core they hand over without waking another, which carries three times as much and
    leaves most of the core idle where, spread over two, it was busy.
    """
    cores = sorted(os.sched_getaffinity(0))
    return cores[-slot_number % len(cores)]


def _succeeds(command: list[str]) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
