"""The testbed itself: makes the namespaces of one run in the network it is called in, and removes them again.

Runs inside a user-mode kernel or a namespace that the caller made, so it needs root there and nothing outside. Starting
a process takes 20 ms and more in a user-mode kernel: commands of `ip` and `tc` go in batches, sysctls are written
directly, and a process enters its namespace by being started from a thread that has entered it.
"""

import array
import contextlib
import ctypes
import fcntl
import itertools
import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from ccreport.collect.plan import Run
from ccreport.collect.testbed import topology
from ccreport.collect.testbed.topology import Command
from ccreport.core.errors import InputError

NAMESPACES: Final = Path("/run/netns")
CLONE_NEWNET: Final = 0x40000000
SIOCGIFFLAGS: Final = 0x8913
SIOCETHTOOL: Final = 0x8946
# What `ethtool -K` sends for tso, gso, gro, sg, tx and rx (linux/ethtool.h: ETHTOOL_STSO …); veth has no lro.
OFFLOADS: Final = (0x1F, 0x24, 0x2C, 0x19, 0x17, 0x15)
IFF_RUNNING: Final = 0x40
COMMAND_TIMEOUT_S: Final = 30.0
LINKS_TIMEOUT_S: Final = 5.0
# tcp_cubic.beta · tcp_bbr.gain[2]
PARAMETER: Final = re.compile(r"(\w+)\.(\w+)(?:\[(\d+)\])?")
# qdisc netem 1: dev c1 root refcnt 2 limit 10000 delay 10ms
DEVICE: Final = re.compile(r"qdisc \S+ \S+ dev (\S+)")
COUNTER: Final = itertools.count(1)
# Python has setns only from 3.12 on.
LIBRARY: Final = ctypes.CDLL(None, use_errno=True)


class TestbedError(Exception):
    """A command of the testbed failed: its message says which, and what it printed."""

    __test__ = False


@contextlib.contextmanager
def entered(namespace: str) -> Iterator[None]:
    """Have this thread, and the sockets and processes that it makes, in a network namespace meanwhile."""
    with Path("/proc/thread-self/ns/net").open() as home, (NAMESPACES / namespace).open() as there:
        _set_namespace(there.fileno(), namespace)
        try:
            yield
        finally:
            _set_namespace(home.fileno(), "the thread's own")


class Testbed:
    """The network of one run: a context manager that has it up inside, and leaves nothing of it behind."""

    __test__ = False

    def __init__(self, run: Run) -> None:
        """Name the namespaces of a run by place (`sender1`, `router`, `far`, `receiver1` …); nothing is made yet."""
        self.run = run
        prefix = f"cc{os.getpid()}-{next(COUNTER)}"
        self.namespaces = {place: f"{prefix}-{place}" for place in topology.places(run)}
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> "Testbed":
        try:
            self._set_up()
        except BaseException:
            self._undo.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._undo.close()

    def execute(
        self, place: str, words: Sequence[str], *, input_text: str | None = None, timeout_s: float = COMMAND_TIMEOUT_S
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a host of the testbed and return it with what it printed, whatever its exit code is."""
        with entered(self.namespaces[place]):
            return subprocess.run(
                list(words), input=input_text, capture_output=True, text=True, timeout=timeout_s, check=False
            )

    def popen(self, place: str, words: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
        """Start a command on a host of the testbed; the options are those of subprocess.Popen."""
        with entered(self.namespaces[place]):
            return subprocess.Popen(list(words), **options)

    def apply(self, commands: Sequence[Command]) -> None:
        """Carry commands out, those of one host and program together; raise TestbedError when one fails."""
        for (place, program), group in _grouped(commands).items():
            lines = "".join(" ".join(words[1:]) + "\n" for words in group)
            _check(self.execute(place, (program, "-batch", "-"), input_text=lines), lines)

    def qdisc_record(self) -> str:
        """Return what the harness writes to `pre-netem`: half of each RTT and the loss as set, then `tc -s qdisc`.

        Of the disciplines only those on the run's routes: the router's port, the far router's towards each receiver,
        and the receivers'. One line represents several routes alike.
        """
        settings = [f"setting latency to {route.rtt_ms / 2:g}ms" for route in self.run.routes]
        settings += [f"setting loss to {route.loss.loss_pct:g}" for route in self.run.routes if route.loss]
        devices = {"router": ["r0"], "far": [f"c{number}" for number, _ in enumerate(self.run.routes, start=1)]}
        devices |= {place: ["d0"] for place in self.namespaces if place.startswith("receiver")}
        text = ""
        for place, names in devices.items():
            # Asked for one device, tc leaves its name out of what it prints.
            text += of_devices(_check(self.execute(place, ("tc", "-s", "qdisc"))).stdout, names)
        return "".join(f"{line}\n" for line in dict.fromkeys(settings)) + text

    def _set_up(self) -> None:
        self._undo.callback(self._remove_namespaces)
        lines = "".join(" ".join(words) + "\n" for words in topology.link_words(self.run, self.namespaces))
        _check(_plain(("ip", "-batch", "-"), lines), lines)
        for place in self.namespaces:
            with entered(self.namespaces[place]):
                _write_sysctls(topology.sysctls(self.run, place))
        if not self.run.has_offloads:
            for pair in topology.links(self.run):
                for end in pair:
                    with entered(self.namespaces[end.place]):
                        _switch_offloads_off(end.device)
        self.apply(topology.network_commands(self.run))
        self.apply(topology.discipline_commands(self.run))
        for name, value in self.run.module_parameters.items():
            self._undo.callback(set_module_parameter(name, value))
        self._wait_for_links()

    def _wait_for_links(self) -> None:
        until = time.monotonic() + LINKS_TIMEOUT_S
        for pair in topology.links(self.run):
            for end in pair:
                with entered(self.namespaces[end.place]), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
                    while not _is_running(asking, end.device):
                        if time.monotonic() > until:
                            raise TestbedError(f"the link {end.device} of {end.place} did not come up")
                        time.sleep(0.002)

    def _remove_namespaces(self) -> None:
        # Links go with their namespaces, and those only when the last process in them is gone.
        there = [name for name in self.namespaces.values() if (NAMESPACES / name).exists()]
        for process in _processes_in(there):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        _check(_plain(("ip", "-batch", "-"), "".join(f"netns del {name}\n" for name in there)))


def of_devices(text: str, devices: Sequence[str]) -> str:
    """Return what `tc -s qdisc` printed about these devices: each `qdisc …` line and those below it."""
    blocks = re.split(r"(?m)^(?=qdisc )", text)
    return "".join(block for block in blocks if (match := DEVICE.match(block)) and match[1] in devices)


def set_module_parameter(name: str, value: str, root: Path = Path("/sys/module")) -> Callable[[], None]:
    """Set `module.parameter`, or one element `module.parameter[i]` of a vector; return what sets it back.

    Raise InputError where there is no such parameter or element, or the kernel refuses the value.
    """
    match = PARAMETER.fullmatch(name)
    if match is None:
        raise InputError(f"{name}: a module parameter is written as module.parameter or module.parameter[2]")
    path = root / match[1] / "parameters" / match[2]
    if not path.exists():
        raise InputError(f"the kernel has no module parameter {match[1]}.{match[2]}")
    try:
        before = path.read_text().strip()
        elements = before.split(",")
        if match[3] is not None:
            elements[int(match[3])] = value
        path.write_text(value if match[3] is None else ",".join(elements))
    except (OSError, IndexError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it has {len(elements)} elements"
        raise InputError(f"the kernel refuses {name} = {value}: {reason}") from error

    def restore() -> None:
        path.write_text(before)

    return restore


def _set_namespace(descriptor: int, name: str) -> None:
    if LIBRARY.setns(descriptor, CLONE_NEWNET) != 0:
        raise TestbedError(f"cannot enter the network namespace {name}: {os.strerror(ctypes.get_errno())}")


def _write_sysctls(settings: dict[str, str]) -> None:
    for name, value in settings.items():
        path = Path("/proc/sys", *name.split("."))
        # A kernel without IPv6 needs none switched off.
        if name.startswith("net.ipv6.") and not path.exists():
            continue
        if not path.exists():
            raise InputError(f"a network namespace of this kernel has no setting {name}")
        try:
            path.write_text(value)
        except OSError as error:
            raise InputError(f"the kernel refuses {name} = {value}: {error.strerror}") from error


def _switch_offloads_off(device: str) -> None:
    """Do what `ethtool -K` does, without a process for each of a dozen devices."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for command in OFFLOADS:
            request = array.array("B", struct.pack("II", command, 0))
            fcntl.ioctl(asking, SIOCETHTOOL, struct.pack("16sP16x", device.encode(), request.buffer_info()[0]))


def _is_running(asking: socket.socket, device: str) -> bool:
    answer = fcntl.ioctl(asking, SIOCGIFFLAGS, struct.pack("16sH14x", device.encode(), 0))
    return bool(struct.unpack("16sH14x", answer)[1] & IFF_RUNNING)


def _grouped(commands: Sequence[Command]) -> dict[tuple[str, str], list[tuple[str, ...]]]:
    groups: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for command in commands:
        groups.setdefault((command.place, command.words[0]), []).append(command.words)
    return groups


def _processes_in(namespaces: Sequence[str]) -> list[int]:
    """Return the processes in these namespaces, this one never among them."""
    found = {(status.st_dev, status.st_ino) for name in namespaces if (status := (NAMESPACES / name).stat())}
    processes = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            status = (entry / "ns/net").stat()
            if (status.st_dev, status.st_ino) in found and int(entry.name) != os.getpid():
                processes.append(int(entry.name))
    return processes


def _plain(words: Sequence[str], input_text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(words), input=input_text, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
    )


def _check(done: subprocess.CompletedProcess[str], lines: str = "") -> subprocess.CompletedProcess[str]:
    if done.returncode != 0:
        raise TestbedError(
            f"{' '.join(done.args)} failed: {done.stderr.strip() or done.stdout.strip()}\n{lines}".strip()
        )
    return done
