"""Testbeds in virtual time: a user-mode kernel is started for each order, and watched by how its clock goes on.

A kernel of this clock has no input from outside: its order is in a file when it starts, its answers in another when
it has ended, and its seed makes all chance in it, so that the same order leaves the same bytes. How long it takes the
host says nothing; what says that it will never end is a clock that stands still, as it does for a program that waits
without sleeping.
"""

import contextlib
import json
import os
import re
import socket
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ccreport.collect.engines import CONSOLE_LINES_COUNT, GuestEnded, Place, start_guard
from ccreport.collect.kernel.processor import hint_at_processor
from ccreport.collect.plan import VirtualClock
from ccreport.collect.testbed.guest import ANSWERS, CLOCK, MARK, ORDER

CONSOLE: Final = "console.txt"
LOOK_INTERVAL_S: Final = 0.1
# The clock is written down every second of its own, which takes the host a few seconds at 10 Gbit/s.
STILL_LIMIT_S: Final = 300.0
CLOSE_LIMIT_S: Final = 10.0
# linux/arch/um/drivers/mconsole.h: magic, version, length, then the command.
MCONSOLE: Final = struct.Struct("III512s")
MCONSOLE_MAGIC, MCONSOLE_VERSION, CRASH = 0xCAFEBABE, 2, b"sysrq c"
# CPU: 0 PID: 40 Comm: python3 Not tainted 6.1.192 #1
RUNNING: Final = re.compile(r"Comm: (\S+)")


@dataclass
class VirtualGuest:
    """A testbed that is to carry out one order: `perform` starts it and waits for its end."""

    place: Place
    slot: Path
    memory_bytes: int
    parameters: dict[str, str]
    slot_number: int
    process: subprocess.Popen[bytes] | None = None
    lifeline: int | None = None
    is_stopped: bool = False

    def perform(self, clock: VirtualClock, still_limit_s: float = STILL_LIMIT_S, **order: Any) -> list[dict[str, Any]]:
        """Carry out an order and return all answers, first what the testbed says of itself.

        Raise GuestEnded if it ends without an answer to the order, or its clock stands still.
        """
        for name in (ANSWERS, CLOCK):
            (self.slot / name).unlink(missing_ok=True)
        (self.slot / ORDER).write_text(json.dumps(order | {"seed": clock.seed}), encoding="utf-8")
        with (self.slot / CONSOLE).open("wb") as console:
            self.process, self.lifeline = start_guard(
                self.place,
                self.slot,
                self.memory_bytes,
                self.parameters,
                self.slot_number,
                stdin=subprocess.DEVNULL,
                stdout=console.fileno(),
                start_ns=clock.start_ns,
            )
        try:
            self._wait(still_limit_s)
        finally:
            self._end()
        answers = self._read_answers()
        if len(answers) < 2 and (not answers or answers[0]["event"] == "ready"):
            hint = "" if answers else hint_at_processor()
            raise GuestEnded(f"{self._describe_end('the testbed ended')}{hint}")
        return answers

    def close(self) -> None:
        """Stop the testbed with everything in it before it has answered, and wait until it is gone."""
        self.is_stopped = True
        self._end()

    def _end(self) -> None:
        if self.lifeline is not None:
            with contextlib.suppress(OSError):
                os.close(self.lifeline)
            self.lifeline = None
        if self.process is not None:
            try:
                self.process.wait(CLOSE_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _wait(self, still_limit_s: float) -> None:
        assert self.process is not None  # noqa: S101
        last, since = "", time.monotonic()
        while not self.is_stopped:
            try:
                self.process.wait(LOOK_INTERVAL_S)
                return
            except subprocess.TimeoutExpired:
                pass
            now = self._read_clock()
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > still_limit_s:
                program = self._name_running()
                raise GuestEnded(
                    f"virtual time stands still at {last or '0'} s{f'; {program} would not sleep' if program else ''}"
                )

    def _read_clock(self) -> str:
        try:
            return (self.slot / CLOCK).read_text(encoding="ascii")
        except OSError:
            return ""

    def _read_answers(self) -> list[dict[str, Any]]:
        try:
            lines = (self.slot / ANSWERS).read_text(encoding="utf-8").splitlines()
        except OSError:
            return []
        return [json.loads(line.removeprefix(MARK)) for line in lines if line.startswith(MARK)]

    def _describe_end(self, how: str) -> str:
        text = (self.slot / CONSOLE).read_text(encoding="utf-8", errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"{how}{': ' + ' | '.join(lines[-CONSOLE_LINES_COUNT:]) if lines else ''}"

    def _name_running(self) -> str | None:
        """Return the program at work: a kernel that is told to crash says which it was (mconsole, sysrq c)."""
        assert self.process is not None  # noqa: S101
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
                # It is where only processes of the testbed see it.
                for child in [*children.split(), str(self.process.pid)]:
                    for path in Path(f"/proc/{child}/root").glob("*/ccreport*/guest/mconsole"):
                        asking.connect(str(path))
                        asking.send(MCONSOLE.pack(MCONSOLE_MAGIC, MCONSOLE_VERSION, len(CRASH), CRASH))
            self.process.wait(CLOSE_LIMIT_S)
        found = RUNNING.search((self.slot / CONSOLE).read_text(encoding="utf-8", errors="replace"))
        return found[1] if found else None
