"""The command `build_kernel`: a user-mode kernel with virtual time, from the source that Debian packages.

The source is Debian's package linux-source-6.1, installed or downloaded with `apt-get download`, which needs no root.
It is unpacked and compiled below the user's cache, once; only the kernel and a note of what it was made from stay.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ccreport.collect.kernel.find_kernel import MANIFEST, RECIPE, built_folder, read_user_kernel
from ccreport.core.errors import InputError

PACKAGE: Final = "linux-source-6.1"
INSTALLED: Final = Path(f"/usr/src/{PACKAGE}.tar.xz")
TOOLS: Final = {"gcc": "gcc", "make": "make", "bc": "bc", "bison": "bison", "flex": "flex", "xz": "xz-utils"}
# Instructions that copy up to 255 bytes in a loop, and more as one block.
COPY_BLOCKS: Final = "cmpq $256, %rdx\n\tjb memcpy_orig\n"
# arch/um/Kconfig: config HZ / int / default 100
KCONFIG_TICKS: Final = r"(?<=^config HZ\n\tint\n\tdefault )\d+$"
TICKS: Final = re.compile(r"^# ticks: (\d+)$", re.MULTILINE)
# The room for a process's registers. A processor with AMX has 11,008 bytes of them; Linux 6.1 keeps 2,696, so that on
# such a processor its first process crashes.
REGISTERS_BYTES: Final = 12_288
# Changes to the source: a file, the pattern of the one place in it, and what replaces that.
CHANGES: Final = (
    ("arch/x86/um/user-offsets.c", r"(?<=DEFINE_LONGS\(HOST_FP_SIZE, )2696(?=\))", str(REGISTERS_BYTES)),
    # Each timer that fires would clear room for a process's registers, which nobody reads: a twelfth of the time at
    # 10 Gbit/s.
    ("arch/um/os-Linux/signal.c", r"memset\(&regs, 0, sizeof\(regs\)\);", "regs.is_user = 0;"),
    # An idle kernel would ask the host for its own number, which stays the same, between any two events.
    ("arch/um/kernel/process.c", r"\tcpu_tasks\[current_thread_info\(\)->cpu\]\.pid = os_getpid\(\);\n", ""),
    # User-mode kernels never learn that the processor copies blocks by itself faster than a loop does.
    ("arch/x86/lib/memcpy_64.S", r'ALTERNATIVE_2 "jmp memcpy_orig".*\\\n.*X86_FEATURE_ERMS\n', COPY_BLOCKS),
)
# About so many files are compiled, for the progress only.
EXPECTED_COUNT: Final = 1130
SHOWN_EACH: Final = 50


def build_kernel() -> None:
    """Build a user-mode kernel with virtual time, once; print where it is."""
    folder = built_folder()
    if not (folder / "linux").exists():
        _check_tools()
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=folder.parent) as aside:
            made = _build(Path(aside))
            # A second build that ended first has made the same.
            if not folder.exists():
                made.rename(folder)
    kernel = read_user_kernel(folder / "linux")
    print(f"{kernel.path}\nLinux {kernel.release}, {kernel.source}")


def _check_tools() -> None:
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        raise InputError(f"building a kernel needs: apt-get install {' '.join([*missing, 'libc6-dev'])}")


def _build(aside: Path) -> Path:
    """Return the folder with the kernel and its note."""
    packed, version = _find_source(aside)
    _say(f"unpacking {PACKAGE} {version}")
    source = aside / "source"
    source.mkdir()
    _run(["tar", "--extract", "--file", str(packed), "--strip-components=1", "--directory", str(source)])
    ticks = TICKS.search(recipe := RECIPE.read_text(encoding="utf-8"))
    if ticks is None:
        raise InputError(f"{RECIPE.name} does not say how many ticks a second has")
    for name, pattern, value in (("arch/um/Kconfig", KCONFIG_TICKS, ticks[1]), *CHANGES):
        _substitute(source / name, pattern, value)
    make = ["make", "-C", str(source), "ARCH=um", f"-j{len(os.sched_getaffinity(0))}"]
    _run([*make, "tinyconfig"])
    with (source / ".config").open("a", encoding="utf-8") as stream:
        stream.write(recipe)
    _run([*make, "olddefconfig"])
    _check_options(source / ".config", recipe)
    _compile([*make, "linux"])
    made = aside / "made"
    made.mkdir()
    shutil.copy2(source / "linux", made / "linux")
    _run(["strip", str(made / "linux")])
    note = {
        "source": f"{PACKAGE} {version} of Debian, {ticks[1]} ticks a second, {len(CHANGES)} places changed",
        "sha256": hashlib.sha256((made / "linux").read_bytes()).hexdigest(),
    }
    (made / MANIFEST).write_text(json.dumps(note) + "\n", encoding="utf-8")
    return made


def _substitute(path: Path, pattern: str, value: str) -> None:
    """Put a value at the one place of a source file that a pattern describes; raise InputError where it has none."""
    text, count = re.subn(pattern, lambda _: value, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if count != 1:
        raise InputError(f"{path.name} of {PACKAGE} is not as expected: {count} places where one is to be changed")
    path.write_text(text, encoding="utf-8")


def _find_source(aside: Path) -> tuple[Path, str]:
    """Return the packed source and its version, from where the package is installed, else from Debian."""
    asked = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}", PACKAGE], capture_output=True, text=True, check=False
    )
    if INSTALLED.exists() and asked.returncode == 0:
        return INSTALLED, asked.stdout
    _say(f"downloading {PACKAGE}, 140 MB")
    try:
        _run(["apt-get", "download", "-qq", PACKAGE], folder=aside)
    except InputError as error:
        raise InputError(f"{error}; install the source instead: apt-get install {PACKAGE}") from error
    (package,) = aside.glob(f"{PACKAGE}_*.deb")
    _run(["dpkg-deb", "--extract", str(package), str(aside / "package")])
    package.unlink()
    version = package.name.split("_")[1].replace("%3a", ":")
    return aside / "package" / INSTALLED.relative_to("/"), version


def _check_options(config: Path, recipe: str) -> None:
    """Raise InputError for options that this source does not know, or that depend on others."""
    chosen = set(config.read_text(encoding="utf-8").splitlines())
    wanted = [line for line in recipe.splitlines() if line.startswith("CONFIG_") and not line.endswith("=n")]
    if missing := [line for line in wanted if line not in chosen]:
        raise InputError(f"the kernel's source does not take {', '.join(missing)}")


def _compile(command: Sequence[str]) -> None:
    """Run make, and show how many files it has compiled."""
    count, last = 0, ""
    with subprocess.Popen(
        [*command, "KBUILD_BUILD_TIMESTAMP=@0", "KBUILD_BUILD_USER=ccreport", "KBUILD_BUILD_HOST=ccreport"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            last = line.strip() if "rror" in line else last
            if line.lstrip().startswith("CC "):
                count += 1
                if count % SHOWN_EACH == 0:
                    _say(f"compiling: {min(99, 100 * count // EXPECTED_COUNT)} %")
    if process.returncode:
        raise InputError(f"the kernel could not be compiled: {last}")


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{' '.join(command[:2])} failed: {(done.stderr or done.stdout).strip()[-300:]}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
