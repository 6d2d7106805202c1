"""Engines: where a testbed lives, in namespaces of this machine's kernel or inside a user-mode kernel.

Both are started the same way: `testbed.init` as the first process of new namespaces, below it the guest, which is told
line by line what to do and answers in lines of JSON. A user-mode kernel sees the machine's root file system read-only
and, of all that is on it, may write the one folder that is its own below `.partial`. One in virtual time is started
for each order (`virtual_time`).
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

from ccreport.collect.declare.describe import find_rate_bps
from ccreport.collect.kernel.find_kernel import SEARCH_PATH, UserKernel, find_user_kernel
from ccreport.collect.kernel.processor import hint_at_processor
from ccreport.collect.plan import Plan, Run
from ccreport.collect.testbed.guest import MARK
from ccreport.core.algorithms import list_available
from ccreport.core.errors import InputError

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
Clock = Literal["virtual", "real"]
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
    if missing := sorted(list_algorithms(plan) - {*list_available()}):
        return f"this machine's kernel has not loaded {', '.join(missing)} (modprobe tcp_{missing[0]})"
    return None


def list_algorithms(plan: Plan) -> set[str]:
    """Return every congestion control algorithm that a campaign uses."""
    return {name for run in plan.runs for name in list_used(run)}


def list_used(run: Run) -> set[str]:
    """Return every congestion control algorithm that a run uses."""
    named = {client.congestion_control for client in run.clients} | {run.default_congestion_control}
    return {name for name in named if name}


@dataclass(frozen=True)
class Place:
    """Where the runs of a campaign are made, and by which clock; `kernel` is null in namespaces."""

    engine: Engine
    clock: Clock
    kernel: UserKernel | None = None


def choose_place(plan: Plan) -> Place:
    """Return where to make the runs, and raise an InputError that says what is missing where they cannot be."""
    if missing := list_missing_tools(TOOLS):
        raise InputError(f"collect needs programs that are not installed: apt-get install {' '.join(missing)}")
    asked = plan.testbed
    reason = None
    kernel = None if asked.engine == "namespaces" else find_user_kernel(asked.kernel)
    if asked.clock == "virtual" or (asked.clock == "auto" and kernel is not None and kernel.has_virtual_time):
        return _virtual_place(plan, kernel)
    if asked.engine != "user-mode-kernel" and asked.kernel is None:
        reason = explain_missing_namespaces(plan)
        if reason is None:
            return Place("namespaces", "real")
        if asked.engine == "namespaces":
            raise InputError(f"engine: namespaces is not possible: {reason}; auto takes a user-mode kernel instead")
    if kernel is None or list_missing_tools({"modprobe": "kmod"}):
        because = f"{reason}, and " if reason else ""
        raise InputError(f"{because}the user-mode kernel is not installed: apt-get install {PACKAGES}")
    return Place("user-mode-kernel", "real", kernel)


def _virtual_place(plan: Plan, kernel: UserKernel | None) -> Place:
    if plan.testbed.engine == "namespaces":
        raise InputError("clock: virtual needs a user-mode kernel, and engine is namespaces")
    if kernel is None or not kernel.has_virtual_time:
        what = f"{kernel.path} was built without it" if kernel else "there is no user-mode kernel"
        raise InputError(f"clock: virtual is not possible: {what}; `make kernel` builds one that has virtual time")
    if unlimited := sorted({run.job for run in plan.runs if find_rate_bps(run) is None}):
        raise InputError(
            f"{', '.join(unlimited[:3])}: nothing limits the rate, so virtual time would stand still for ever; "
            "declare sender_mbps, bottleneck_mbps or flow_pacing_mbps"
        )
    return Place("user-mode-kernel", "virtual", kernel)


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


def start_guard(
    place: Place,
    slot: Path,
    memory_bytes: int,
    parameters: dict[str, str],
    slot_number: int,
    *,
    stdin: int,
    stdout: int,
    start_ns: int = 0,
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a testbed that may write in `slot`; return its process and the lifeline, which ends it when it is closed.

    Module parameters are given to a user-mode kernel when it boots, since CUBIC computes more from them when it
    starts; single elements of a vector are set by the testbed. Testbeds side by side have numbers, from 1. A virtual
    clock starts at `start_ns`, in ns since 1970.
    """
    end, lifeline = os.pipe()
    is_kernel = place.kernel is not None
    asked = {
        "engine": place.engine,
        "clock": place.clock,
        "start_ns": start_ns,
        "slot": str(slot.resolve()),
        # What works in a testbed needs no package, and a virtual environment may be where a testbed does not see it.
        "python": sys._base_executable,  # type: ignore[attr-defined]
        "kernel": str(place.kernel.path) if place.kernel else None,
        "memory_bytes": memory_bytes,
        "kernel_arguments": [f"{name}={value}" for name, value in parameters.items() if "[" not in name],
        "core": find_core(slot_number) if is_kernel else None,
        "has_cores_left": len(os.sched_getaffinity(0)) > 1,
        "lifeline": end,
    }
    guard = [asked["python"], "-I", "-S", "-B", str(Path(__file__).parent / "testbed/init.py"), json.dumps(asked)]
    options = find_isolation(has_network=place.engine == "namespaces")
    process = subprocess.Popen(
        ["unshare", *options, *guard] if options else guard,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        pass_fds=(end,),
        # Ctrl-C is for the command, which then ends its testbeds in its own order.
        start_new_session=True,
    )
    os.close(end)
    return process, lifeline


def start_guest(
    place: Place, slot: Path, memory_bytes: int, parameters: dict[str, str], slot_number: int = 1
) -> tuple[Guest, dict[str, Any]]:
    """Start a testbed in real time, as `start_guard` does; return it and what it says of itself.

    Raises GuestEnded if it does not come up, with the likely cause where the processor is known for it.
    """
    told, orders = os.pipe()
    answers, said = os.pipe()
    process, lifeline = start_guard(place, slot, memory_bytes, parameters, slot_number, stdin=told, stdout=said)
    for theirs in (told, said):
        os.close(theirs)
    guest = Guest(process, orders, answers, lifeline)
    try:
        return guest, guest.hear(BOOT_LIMIT_S)
    except GuestEnded as error:
        guest.close()
        raise GuestEnded(f"{error}{hint_at_processor() if place.kernel else ''}") from error
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
