"""User-mode kernels: which one a campaign runs on, and what a kernel says of itself.

A kernel is a program that prints its release (`--version`) and its configuration (`--showconfig`). One that was built
with CONFIG_UML_TIME_TRAVEL_SUPPORT can run in virtual time: its clock stands still while it works, and jumps to the
next event when it has nothing to do. Debian's `linux.uml` cannot; `build_kernel` makes one that can.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ccreport.core.errors import InputError
from ccreport.core.schema_problems import guess_path

RECIPE: Final = Path(__file__).with_name("kernel.config")
DEBIAN_KERNEL: Final = "linux.uml"
SEARCH_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
MANIFEST: Final = "kernel.json"
HAS_MODULES: Final = "CONFIG_MODULES=y"
HAS_VIRTUAL_TIME: Final = "CONFIG_UML_TIME_TRAVEL_SUPPORT=y"
# CONFIG_TCP_CONG_BBR=y
ALGORITHM: Final = re.compile(r"CONFIG_TCP_CONG_(\w+)=[ym]")
ASK_LIMIT_S: Final = 20
# What a program of Linux begins with.
ELF: Final = b"\x7fELF"


@dataclass(frozen=True)
class UserKernel:
    """A user-mode kernel. `config_sha256` is that of the set options, sorted; `ticks_hz` is CONFIG_HZ.

    `source` is where it was built from, known of kernels that `build_kernel` made, else null. `algorithms` are those of
    congestion control that its configuration names. `has_modules` tells that it may load more than is built in.
    """

    path: Path
    release: str
    config_sha256: str
    sha256: str
    ticks_hz: int | None
    has_virtual_time: bool
    source: str | None
    algorithms: frozenset[str] = frozenset()
    has_modules: bool = True

    def describe(self) -> dict[str, Any]:
        """Return what a session records of its kernel."""
        return {
            "kernel_config_sha256": self.config_sha256,
            "kernel_sha256": self.sha256,
            "kernel_ticks_hz": self.ticks_hz,
            "kernel_source": self.source,
        }


def find_user_kernel(declared: str | None) -> UserKernel | None:
    """Return the kernel that a campaign names, else the one that `make kernel` built, else Debian's, else null.

    Raise InputError where the one that is named is not a user-mode kernel.
    """
    if declared is not None:
        return read_user_kernel(Path(declared).expanduser())
    if (built := built_folder() / "linux").exists():
        return read_user_kernel(built)
    found = shutil.which(DEBIAN_KERNEL, path=SEARCH_PATH)
    return read_user_kernel(Path(found)) if found else None


def built_folder() -> Path:
    """Return the folder of the kernel that `build_kernel` makes by its present recipe, below the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "ccreport/kernels" / hashlib.sha256(RECIPE.read_bytes()).hexdigest()[:12]


def read_user_kernel(path: Path) -> UserKernel:
    """Return what a kernel says of itself; raise InputError for a file that is not a user-mode kernel."""
    if path.is_dir():
        near = (kernel for pattern in ("linux", "*/linux") for kernel in path.glob(pattern) if kernel.is_file())
        such = f", such as {found}" if (found := min(near, default=None)) else ""
        raise InputError(f"{path} is a folder; name the kernel's file in it{such}")
    if path.is_file() and not os.access(path, os.X_OK):
        if not _is_program(path):
            raise InputError(f"{path} is not a program, as a user-mode kernel is; `make kernel` builds one")
        raise InputError(f"{path} cannot be run as a user-mode kernel; if it is one, type `chmod +x {path}`")
    options = sorted(line for line in _ask(path, "--showconfig").splitlines() if line.startswith("CONFIG_"))
    if "CONFIG_UML=y" not in options:
        raise InputError(
            f"{path} is not a user-mode kernel (built with ARCH=um): it does not print its configuration for "
            "--showconfig; `make kernel` builds one"
        )
    ticks = next((line.partition("=")[2] for line in options if line.startswith("CONFIG_HZ=")), "")
    manifest = path.with_name(MANIFEST)
    return UserKernel(
        path=path.resolve(),
        release=_ask(path, "--version").strip(),
        config_sha256=hashlib.sha256("\n".join(options).encode()).hexdigest(),
        sha256=(sha256 := hashlib.sha256(path.read_bytes()).hexdigest()),
        ticks_hz=int(ticks) if ticks.isdigit() else None,
        has_virtual_time=HAS_VIRTUAL_TIME in options,
        source=_read_source(manifest, sha256) if manifest.exists() else None,
        algorithms=frozenset({"reno", *_list_algorithms(options)}),
        has_modules=HAS_MODULES in options,
    )


def _is_program(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(ELF)) == ELF
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _list_algorithms(options: list[str]) -> Iterator[str]:
    for option in options:
        if (found := ALGORITHM.fullmatch(option)) and found[1] != "ADVANCED":
            yield "highspeed" if found[1] == "HSTCP" else found[1].lower()


def _read_source(manifest: Path, sha256: str) -> str | None:
    told = json.loads(manifest.read_text(encoding="utf-8"))
    return str(told["source"]) if told["sha256"] == sha256 else None


def _ask(path: Path, option: str) -> str:
    try:
        # Without a folder in front it would be looked for where commands are.
        done = subprocess.run(
            [path.absolute(), option], capture_output=True, text=True, timeout=ASK_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        others = "leave it out for one that `make kernel` or Debian's package user-mode-linux gives"
        hint = guess_path(path) or f"; {others}"
        raise InputError(f"{path} cannot be run as a user-mode kernel: {reason}{hint}") from error
    return done.stdout
