"""One run: testbed up, servers, instruments, clients at their times, stages, all stopped, files left in a folder.

In virtual time the processor tells nothing, and so is not looked at; clients begin up to one RTT later than declared,
by chance from the run's seed, since clocks that are exact would have flows meet in the same way every time.

Files are written to memory while the run goes on, so that no disk of the machine slows it, and copied when all is
over. A run failed when a client says so, outlives its time or leaves no result; its files are then not kept.
"""

import glob
import json
import os
import random
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from ccreport.collect.plan import Client, Run
from ccreport.collect.testbed.commands import (
    WrongCallError,
    find_background_port,
    find_fault,
    find_port,
    last_expected_s,
    limit_s,
    list_background_commands,
    list_client_commands,
    list_server_command,
    name_output,
)
from ccreport.collect.testbed.instruments import Watch, judge_cpu, watches_cpu
from ccreport.collect.testbed.kernel_drops import compare_drops, name_host_limit, read_drops
from ccreport.collect.testbed.pause_polling import pause_polling
from ccreport.collect.testbed.read_blocks import read_in_blocks
from ccreport.collect.testbed.testbed import Testbed, TestbedError
from ccreport.collect.testbed.topology import receiver_of, stage_changes
from ccreport.core.errors import InputError

LISTEN_LIMIT_S: Final = 10.0
COMMAND_LIMIT_S: Final = 120.0
NOT_FOUND: Final = 127
END_LIMIT_S: Final = 10.0
# ls: unrecognized option '--all-of-it' · Option "-nosuch" is unknown, try "ip -help". · sh: 1: Syntax error: …
USAGE: Final = re.compile(
    r"^\s*usage:|(unrecogni[sz]ed|invalid|unknown|illegal) option|is unknown, try |^Try '.* --help'|: Syntax error: ",
    re.IGNORECASE | re.MULTILINE,
)
FAULTS: Final = (OSError, ValueError, subprocess.SubprocessError)


class RunFailedError(Exception):
    """What went wrong in a run, in a few words."""


def perform_run(run: Run, work: Path, target: Path) -> dict[str, Any]:
    """Make one run and return its outcome, message and elapsed time; its files are in `target` unless it failed.

    `is_refused` tells that it failed by a setting that this kernel does not take, as it would each time, and
    `is_wrong_call` that a program refused what the campaign has it called with, or that one of its commands failed.
    """
    start, folder = time.monotonic(), work / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    outcome, message, is_refused, is_wrong_call = "completed", None, False, False
    try:
        with Testbed(run) as testbed:
            message = _Performance(run, testbed, folder).perform()
        mpstat = folder / f"mpstat-sender:{run.suffix}.json"
        if message is not None:
            outcome = "host_limited"
        elif mpstat.exists() and judge_cpu(mpstat.read_text(encoding="utf-8")):
            outcome = "cpu_bound"
        _copy_whole(folder, target)
    except (RunFailedError, WrongCallError, TestbedError, InputError, *FAULTS) as error:
        outcome, message, is_refused = "failed", str(error), isinstance(error, InputError)
        is_wrong_call = isinstance(error, WrongCallError)
    return {
        "outcome": outcome,
        "message": message,
        "elapsed_s": round(time.monotonic() - start, 3),
        "is_refused": is_refused,
        "is_wrong_call": is_wrong_call,
    }


class _Performance:
    """The processes of one run, and the order in which they come and go."""

    def __init__(self, run: Run, testbed: Testbed, folder: Path) -> None:
        self.run, self.testbed, self.folder = run, testbed, folder
        self.addresses = {route.host: route.address for route in run.routes}
        self.receivers = {route.host: receiver_of(run, route.host) for route in run.routes}
        self.servers: list[subprocess.Popen[bytes]] = []
        self.clients: list[tuple[Client, Path, subprocess.Popen[bytes]]] = []
        # What only virtual time has, to be ended when the clients have.
        self.helping: list[Callable[[], None]] = []
        self.fault: str | None = None

    def perform(self) -> str | None:
        """Make the run; return what its kernel dropped in place of the path; raise RunFailedError if it fails."""
        run, before = self.run, read_drops(self.testbed)
        self._run_commands("before_source", "pre-src-cmd", ["sender1"])
        self._run_commands("before_destination", "pre-dst-cmd", list(self.receivers.values()))
        self._write("pre-netem", self.testbed.qdisc_record())
        watch = Watch(run, self.testbed, self.folder)
        try:
            self._start_servers()
            watch.start()
            self._run_clients(watch)
        finally:
            watch.stop()
            for process in [*(client for _, _, client in self.clients), *self.servers]:
                _end(process)
        self._write("post-netem", self.testbed.qdisc_record())
        drops = compare_drops(before, read_drops(self.testbed))
        self._write("kernel-drops", json.dumps(drops) + "\n")
        self._run_commands("after_source", "post-src-cmd", ["sender1"])
        self._run_commands("after_destination", "post-dst-cmd", list(self.receivers.values()))
        self._judge()
        return name_host_limit(drops) if run.virtual_clock is not None else None

    def _write(self, item: str, text: str) -> None:
        (self.folder / f"{item}:{self.run.suffix}").write_text(text, encoding="utf-8")

    def _run_commands(self, key: str, item: str, namespaces: list[str]) -> None:
        """Run the campaign's own shell lines of this key, and keep what they print as the harness does."""
        told = []
        commands: Sequence[str] = getattr(self.run.commands, key)
        for namespace in namespaces if commands else []:
            for command in commands:
                done = self.testbed.execute(namespace, ["sh", "-c", command], input_text="", timeout_s=COMMAND_LIMIT_S)
                told.append(done.stdout + done.stderr)
                if done.returncode:
                    said = told[-1].strip()[-200:]
                    if USAGE.search(told[-1]):
                        # Behind the fault may be all of the program's options.
                        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[0]
                    problem = f"commands.{key}: `{command}` ended with {done.returncode}: {said}"
                    # What is not found is in no run of the sweep.
                    raise InputError(problem) if done.returncode == NOT_FOUND else WrongCallError(problem)
        if told:
            self._write(item, "".join(told))

    def _start_servers(self) -> None:
        ports = []
        for client in self.run.clients:
            self._start_server(self.receivers[client.host], list_server_command(client))
            ports.append(find_port(client))
        if self.run.background_udp_bps is not None:
            server, _ = list_background_commands(self.run, "")
            self._start_server(self.receivers[self.run.routes[0].host], server)
            ports.append(find_background_port(self.run))
        for process, port in zip(self.servers, ports, strict=True):
            _wait_until_listening(process, port)

    def _start_server(self, namespace: str, command: list[str]) -> None:
        self.servers.append(self._start(namespace, command, subprocess.DEVNULL))

    def _start(self, namespace: str, command: list[str], output: Any) -> subprocess.Popen[bytes]:
        return self.testbed.popen(namespace, command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def _run_clients(self, watch: Watch) -> None:
        """Start clients and make the stages at their times, and wait until all clients have ended."""
        run = self.run
        if run.background_udp_bps is not None:
            _, command = list_background_commands(run, run.routes[0].address)
            with (self.folder / f"xtraffic:{run.suffix}").open("wb") as stream:
                self.servers.append(self._start(f"sender{run.background_udp_sender or 1}", command, stream))
        watch.start_sampling()
        start = time.monotonic()
        stages = threading.Thread(target=self._make_stages, args=(start,), daemon=True)
        stages.start()
        for delay_s, client in sorted(
            ((client.start_s + self._draw_delay_s(client), client) for client in run.clients),
            key=lambda delayed: delayed[0],
        ):
            _sleep_until(start + delay_s)
            self._start_client(client)
        self._read_in_blocks()
        for client, _, process in self.clients:
            try:
                process.wait(max(start + limit_s(client, run) - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                process.kill()
                self.fault = self.fault or f"client {client.number} did not end within {limit_s(client, run):.0f} s"
        for end_helping in self.helping:
            end_helping()
        if run.background_udp_bps is not None and self.servers:
            _wait_quietly(self.servers[-1], start + last_expected_s(run) + END_LIMIT_S)

    def _draw_delay_s(self, client: Client) -> float:
        """Return by how much a client begins later than declared: in virtual time by chance, up to its path's RTT."""
        if self.run.virtual_clock is None:
            return 0.0
        rtt_ms = next(route.rtt_ms for route in self.run.routes if route.host == client.host)
        return random.Random(f"{self.run.virtual_clock.seed}/{client.number}").uniform(0, rtt_ms / 1000)  # noqa: S311

    def _read_in_blocks(self) -> None:
        if self.run.virtual_clock is not None:
            pairs = zip(self.run.clients, self.servers, strict=False)
            iperf3 = [server.pid for client, server in pairs if client.program == "iperf3" and not client.is_reverse]
            self.helping.append(read_in_blocks(iperf3))

    def _start_client(self, client: Client) -> None:
        name = name_output(client, self.run.suffix)
        for number, command in enumerate(list_client_commands(client, self.addresses[client.host])):
            # Processes of one client write aside of each other.
            output = self.folder / (name if number == 0 else f".{name}.{number}")
            with output.open("wb") as stream:
                process = self._start(f"sender{client.sender_number}", command, stream)
            self.clients.append((client, output, process))
            if self.run.virtual_clock is not None and client.program == "iperf3" and not client.is_reverse:
                length_s = client.omit_s + client.duration_s if client.duration_s is not None else None
                self.helping.append(pause_polling(process.pid, length_s))

    def _make_stages(self, start: float) -> None:
        for change in stage_changes(self.run):
            _sleep_until(start + change.at_s)
            try:
                self.testbed.apply(change.commands)
            except (TestbedError, OSError, subprocess.SubprocessError) as error:
                self.fault = f"stage at {change.at_s:g} s: {error}"

    def _judge(self) -> None:
        """Raise what went wrong, after the outputs of one client's processes were put together."""
        for client in self.run.clients:
            output = self.folder / name_output(client, self.run.suffix)
            for other in sorted(self.folder.glob(f".{glob.escape(output.name)}.*")):
                with output.open("ab") as stream:
                    stream.write(other.read_bytes())
                other.unlink()
            self.fault = self.fault or find_fault(client, output)
        if self.fault:
            raise RunFailedError(self.fault)
        wanted, suffix = self.run.instruments, self.run.suffix
        needed = [f"ss:{suffix}"] if wanted.ss_interval_s is not None else []
        needed += [f"mpstat-sender:{suffix}.json"] if watches_cpu(self.run) else []
        needed += [f"tcpdump:{suffix}"] if wanted.tcpdump_snap_bytes is not None else []
        for name in needed:
            if not (self.folder / name).stat().st_size:
                raise RunFailedError(f"{name} is empty")


def _wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server listens, which the kernel tells of the server's own namespace."""
    last = time.monotonic() + LISTEN_LIMIT_S
    # 0: 00000000:1451 00000000:0000 0A …
    wanted, folder = f":{port:04X}", Path(f"/proc/{process.pid}/net")
    while time.monotonic() < last:
        if process.poll() is not None:
            raise RunFailedError(f"the server of port {port} ended with {process.returncode}")
        # A kernel without IPv6 has no second table.
        tables = [path for path in (folder / "tcp", folder / "tcp6") if path.exists()]
        lines = [line for table in tables for line in table.read_text(encoding="ascii").splitlines()[1:]]
        if any(line.split()[1].endswith(wanted) and line.split()[3] == "0A" for line in lines):
            return
        time.sleep(0.02)
    raise RunFailedError(f"no server listens on port {port}")


def _sleep_until(moment: float) -> None:
    time.sleep(max(moment - time.monotonic(), 0))


def _wait_quietly(process: subprocess.Popen[bytes], moment: float) -> None:
    try:
        process.wait(max(moment - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        process.kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def _copy_whole(folder: Path, target: Path) -> None:
    """Copy a run's files, and return when they are on the disk."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.rglob("*")):
        copy = target / path.relative_to(folder)
        if path.is_dir():
            copy.mkdir(exist_ok=True)
            continue
        with path.open("rb") as source, copy.open("wb") as stream:
            shutil.copyfileobj(source, stream, 1 << 20)
            stream.flush()
            os.fsync(stream.fileno())
