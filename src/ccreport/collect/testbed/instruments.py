"""Instruments: what watches a run from within its testbed, each a file of the archive.

`ss` is asked at fixed times after the start, as the harness does it: a line `# <epoch>`, then what ss printed, with
iperf3's control connections, which have the same remote port. tcpdump writes packets as they come and ends with its
counts on standard error. mpstat closes its JSON on SIGINT only. `nstat` and the dumps of an edge network (`ss -neit`)
carry their time as the pipeline's readers expect it.
"""

import json
import math
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ccreport.collect.plan import Run
from ccreport.collect.testbed.commands import WrongCallError, find_port
from ccreport.collect.testbed.testbed import Testbed

STOP_LIMIT_S: Final = 10.0
START_LIMIT_S: Final = 10.0
# A core is busy above this share of a sample, a run CPU-bound above this share of samples with such a core.
BUSY_PCT: Final = 95.0
BOUND_SAMPLES_RATIO: Final = 0.1


@dataclass
class Watch:
    """The instruments of one run, at work between `start` and `stop`."""

    run: Run
    testbed: Testbed
    folder: Path
    programs: list[subprocess.Popen[bytes]] = field(default_factory=list)
    samplers: list[threading.Thread] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start all but what counts from the clients' start, and wait until it listens."""
        wanted, suffix = self.run.instruments, self.run.suffix
        if wanted.tcpdump_snap_bytes is not None:
            self._start_tcpdump(wanted.tcpdump_snap_bytes, wanted.tcpdump_filter or "tcp")
        if watches_cpu(self.run):
            command = ["mpstat", "-P", "ALL", "-o", "JSON", str(wanted.mpstat_interval_s)]
            self._start_program(command, f"mpstat-sender:{suffix}.json")
        if wanted.ping_interval_s is not None:
            command = ["ping", "-D", "-n", "-i", f"{wanted.ping_interval_s:g}", self.run.routes[0].address]
            self._start_program(command, f"ping:{suffix}")

    def start_sampling(self) -> None:
        """Start what is asked at fixed times after now."""
        wanted, suffix, now = self.run.instruments, self.run.suffix, time.monotonic()
        if wanted.ss_interval_s is not None:
            self._sample(now, _every(now, wanted.ss_interval_s), self._ask_ss(self.folder / f"ss:{suffix}"))
        if wanted.nstat_interval_s is not None:
            self._sample(now, _every(now, wanted.nstat_interval_s), self._ask_nstat(self.folder / f"nstat:{suffix}"))
        if wanted.dumps_at_s:
            self._sample(now, sorted(wanted.dumps_at_s), self._dump_sockets)

    def stop(self) -> None:
        """End all instruments in the way each needs to leave a whole file."""
        self.stopped.set()
        for sampler in self.samplers:
            sampler.join(STOP_LIMIT_S)
        for program in self.programs:
            program.send_signal(signal.SIGINT)
        for program in self.programs:
            try:
                program.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()

    def _start_program(self, command: list[str], output: str) -> None:
        with (self.folder / output).open("wb") as stream:
            started = self.testbed.popen("sender1", command, stdout=stream, stderr=subprocess.STDOUT)
        self.programs.append(started)

    def _start_tcpdump(self, snap_bytes: int, kept: str) -> None:
        log = self.folder / f"tcpdump-log:{self.run.suffix}"
        capture = self.folder / f"tcpdump:{self.run.suffix}"
        command = ["tcpdump", "-i", "s0", "-s", str(snap_bytes), "-U", "--immediate-mode", "-Z", "root", "-n"]
        self._start_program([*command, "-w", str(capture), kept], log.name)
        # Only what tcpdump listens for is captured, so the clients have to wait for it.
        last = time.monotonic() + START_LIMIT_S
        while "listening on" not in log.read_text(errors="replace") and time.monotonic() < last:
            if self.programs[-1].poll() is not None:
                said = log.read_text(errors="replace").strip()
                if self.run.instruments.tcpdump_filter and not said.startswith("tcpdump: s0"):
                    raise WrongCallError(f"instruments.capture.filter: `{kept}`: {said}")
                raise OSError(f"tcpdump: {said}")
            time.sleep(0.02)

    def _sample(self, start: float, times_s: Iterable[float], ask: Callable[[], None]) -> None:
        def keep_asking() -> None:
            for at_s in times_s:
                if self.stopped.wait(max(start + at_s - time.monotonic(), 0)):
                    return
                ask()

        self.samplers.append(threading.Thread(target=keep_asking, daemon=True))
        self.samplers[-1].start()

    def _ask(self, place: str, command: list[str]) -> str:
        return self.testbed.execute(place, command, timeout_s=STOP_LIMIT_S).stdout

    def _ask_ss(self, output: Path) -> Callable[[], None]:
        command = ["ss", self.run.instruments.ss_flags, *_filter_sockets(self.run)]

        def ask() -> None:
            stamp = f"# {time.time():.6f}\n"
            told = [self._ask(f"sender{sender.number}", command) for sender in self.run.senders]
            # One header for the sockets of all senders.
            sockets = [text.partition("\n")[2] for text in told[1:]]
            with output.open("a", encoding="utf-8") as stream:
                stream.write("".join([stamp, told[0], *sockets]))

        return ask

    def _ask_nstat(self, output: Path) -> Callable[[], None]:
        def ask() -> None:
            stamp = f"# {time.time():.6f}\n"
            with output.open("a", encoding="utf-8") as stream:
                stream.write(stamp + self._ask("sender1", ["nstat", "-asz"]))

        return ask

    def _dump_sockets(self) -> None:
        algorithms = {client.congestion_control or self.run.default_congestion_control for client in self.run.clients}
        folder = self.folder / "edge" / (algorithms.pop() if len(algorithms) == 1 else "mixed")
        folder.mkdir(parents=True, exist_ok=True)
        now = int(time.time())
        for name, command in (("ss-neit", ["ss", "-neit"]), ("nstat", ["nstat", "-asz"])):
            (folder / f"{name}:{now}").write_text(self._ask("sender1", command), encoding="utf-8")


def watches_cpu(run: Run) -> bool:
    """Tell whether mpstat looks at the processor in a run: in virtual time none is ever busy, so it does not."""
    return run.instruments.mpstat_interval_s is not None and run.virtual_clock is None


def judge_cpu(text: str) -> bool:
    """Tell from mpstat's JSON whether a run was CPU-bound: some core busy in more than a tenth of the samples."""
    samples = json.loads(text)["sysstat"]["hosts"][0]["statistics"]
    if not samples:
        return False
    busy = sum(any(_is_busy(core) for core in sample["cpu-load"]) for sample in samples)
    return busy / len(samples) > BOUND_SAMPLES_RATIO


def _is_busy(core: dict[str, float | str]) -> bool:
    return core["cpu"] not in ("all", "-1") and 100 - float(core["idle"]) > BUSY_PCT


def _every(start: float, interval_s: float) -> Iterable[float]:
    """Yield the multiples of an interval, without those that passed while the last was still at work."""
    number = 0
    while True:
        yield number * interval_s
        number = max(number + 1, math.ceil((time.monotonic() - start) / interval_s))


def _filter_sockets(run: Run) -> list[str]:
    """Return ss's filter for the connections of a run's clients."""
    addresses = {route.host: route.address for route in run.routes}
    peers = sorted({(addresses[client.host], find_port(client)) for client in run.clients})
    words = " or ".join(f"( dst {address} and dport = :{port} )" for address, port in peers)
    return words.split()
