"""The first process of a testbed: it starts what does the work, and when it ends, everything of the testbed ends.

A kernel with a clock of its own is kept from whatever the host would add by chance: the addresses of its memory, the
host's random numbers (the guest gives it a seed instead), and the path of its slot, whose length would move memory.

Where the machine allows namespaces it is the first process of its own process namespace, whose end the kernel makes the
end of all others in it, detached ones and those of a user-mode kernel too; its files are in a tmpfs that is gone with
its mount namespace. Elsewhere it kills the process group and removes its folder. It ends when the pipe `lifeline`
closes, which is how it learns that the command was killed, by whatever signal.

Run as a script by `engines`, before any package can be imported.
"""

import contextlib
import ctypes
import errno
import json
import os
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# What is covered by a tmpfs for the testbed's own files: folders that are everywhere, with nothing of a user's in them.
# A user-mode kernel covers /dev itself before its first process starts, and has a /sys of its own later.
OWN_MEMORY = {"namespaces": Path("/dev/shm"), "user-mode-kernel": Path("/sys")}  # noqa: S108

ADDR_NO_RANDOMIZE = 0x0040000
# Of x86-64, the only architecture that a user-mode kernel runs on besides i386.
GETRANDOM = 318
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_FILTER = 38, 22, 2
MS_BIND = 4096


def stay_nice(session: int) -> None:
    """Give a new session the priority of this process: the kernel schedules by session, and a new one starts at 0."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{session}/autogroup").write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))


def mount(source: str, target: Path, kind: str, data: str = "", flags: int = 0) -> None:
    """Mount by the system call itself: mount(8) would read commas and quotes of a path as syntax."""
    names = (os.fsencode(source), os.fsencode(target), kind.encode())
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(*names, ctypes.c_ulong(flags), os.fsencode(data) if data else None):
        number = ctypes.get_errno()
        raise OSError(number, f"mount {kind}: {os.strerror(number)}", str(target))


def copy_sources(folder: Path) -> Path:
    """Copy the modules that work inside a testbed; the place of the package may be hidden or unreadable there."""
    package = Path(__file__).resolve().parents[2]
    target = folder / "sources/ccreport"
    for path in [
        package / "__init__.py",
        package / "core/__init__.py",
        package / "core/errors.py",
        *package.glob("collect/**/*.py"),
    ]:
        copy = target / path.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return target.parent


def list_guest_command(folder: Path, asked: dict[str, Any]) -> list[str]:
    """Return the command that works inside the testbed, which is in `folder`."""
    sources = str(copy_sources(folder))
    start = f"import sys; sys.path.insert(0, {sources!r}); from ccreport.collect.testbed.guest import main; main()"
    return [asked["python"], "-I", "-S", "-B", "-c", start, asked["engine"], asked["slot"], asked["clock"]]


def list_kernel_command(folder: Path, asked: dict[str, Any]) -> list[str]:
    """Return the command that boots a user-mode kernel on the machine's own root file system, which it cannot write.

    Its first process is a script, since the kernel splits its command line at blanks.
    """
    start = folder / "init"
    guest = shlex.join(list_guest_command(folder, asked))
    start.write_text(f"#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\nexec {guest}\n", encoding="utf-8")
    start.chmod(0o755)
    console = ["con0=fd:0,fd:1"]
    if asked["clock"] == "virtual":
        # Input would come when the host has time for it, so a kernel of this clock has none.
        console = ["con0=null,fd:1", "time-travel=inf-cpu", f"time-travel-start={asked['start_ns']}", "norandmaps"]
    return [
        asked["kernel"],
        f"mem={asked['memory_bytes'] // 1024}K",
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={start}"),
        *("con=null", *console, "quiet", "panic=-1", f"uml_dir={folder}/", "umid=guest"),
        *asked["kernel_arguments"],
    ]


def place_slot(folder: Path, slot: str, *, has_namespaces: bool) -> str:
    """Have a slot at a place below the testbed's folder, and return that: a path of the same length wherever it is."""
    place = folder / "slot"
    if has_namespaces:
        place.mkdir()
        mount(slot, place, "none", flags=MS_BIND)
    else:
        place.symlink_to(slot)
    return str(place)


def exclude_chance() -> None:
    """Have all programs started from here on at the same addresses, and without the host's random numbers.

    getrandom(2) answers that there is no such call, for which every program has another way; a kernel that is asked for
    its own random numbers then has only those that its seed gives it.
    """
    library = ctypes.CDLL(None, use_errno=True)
    library.personality(ADDR_NO_RANDOMIZE)
    # Load the call's number; where it is getrandom's fail with ENOSYS, else allow it (linux/filter.h, seccomp(2)).
    lines = ((0x20, 0, 0, 0), (0x15, 0, 1, GETRANDOM), (6, 0, 0, 0x00050000 | errno.ENOSYS), (6, 0, 0, 0x7FFF0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HP", len(lines), ctypes.addressof(code))
    if library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or library.prctl(PR_SET_SECCOMP, SECCOMP_FILTER, program):
        raise OSError(ctypes.get_errno(), "the host's random numbers cannot be kept out")


def wait_for(child: int, lifeline: int) -> int:
    """Wait until the child ends or the lifeline closes, and bury every process that has lost its parent."""
    alarm, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    return os.waitstatus_to_exitcode(ended[1])
        except ChildProcessError:
            return 0
        readable, _, _ = select.select([alarm, lifeline], [], [])
        if lifeline in readable:
            return 1
        os.read(alarm, 4096)


def main() -> None:
    """Keep a testbed as the JSON in the first argument asks."""
    asked = json.loads(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    has_namespaces = os.getpid() == 1
    if has_namespaces:
        memory = OWN_MEMORY[asked["engine"]]
        mount("tmpfs", memory, "tmpfs", "mode=0755")
        folder = memory / "ccreport"
        folder.mkdir()
    else:
        folder = Path(tempfile.mkdtemp(prefix="ccreport-", dir="/tmp"))
    if asked["clock"] == "virtual":
        asked["slot"] = place_slot(folder, asked["slot"], has_namespaces=has_namespaces)
    is_kernel = asked["engine"] == "user-mode-kernel"
    command = (list_kernel_command if is_kernel else list_guest_command)(folder, asked)
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder), "LC_ALL": "C", "TZ": "UTC"}
    if has_namespaces:
        # The memory of a user-mode kernel is a file there.
        environment["TMPDIR"] = str(folder)
    if asked["core"] is not None:
        os.sched_setaffinity(0, {asked["core"]})
    if asked["clock"] == "virtual":
        exclude_chance()
    elif is_kernel and asked["has_cores_left"]:
        # What else the machine does is not to be measured: with other work on its core a user-mode kernel took 14 s for
        # runs of 9 s, and was busy throughout. Only root may put it before all else.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    child = subprocess.Popen(command, env=environment, cwd="/", stderr=subprocess.STDOUT, start_new_session=True)
    stay_nice(child.pid)
    code = 1
    try:
        code = wait_for(child.pid, asked["lifeline"])
    finally:
        if not has_namespaces:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            shutil.rmtree(folder, ignore_errors=True)
    os._exit(max(code, 0))


if __name__ == "__main__":
    main()
