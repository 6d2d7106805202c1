"""The Quarto renderer: `quarto render` of a website project, in an environment of its own.

Quarto writes beside its sources and caches below HOME; both are folders of ours here. It sends nothing anywhere; the
Deno inside it would look for updates, which is switched off. Its pages get a content security policy that allows the
scripts of Quarto's own (`content_security`). conda's Quarto finds its parts by QUARTO_* and DENO_* variables, which are
passed on.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ccreport.report.markup.content_security import (
    BLANK_PAGE,
    hash_handlers,
    hash_scripts,
    make_quarto_policy,
    set_policy,
)
from ccreport.report.site.links import PageError
from ccreport.report.site.search import write_search

# Before 1.4 Quarto ran shortcodes that only came about when text was decoded (see escape.py).
OLDEST: Final = (1, 4)
VERSION: Final = re.compile(r"(\d+)\.(\d+)")
SETTINGS: Final = ("QUARTO_", "DENO_")
# A profile or a log file of the caller's would change what is made.
LEFT_OUT: Final = ("QUARTO_PROFILE", "QUARTO_LOG", "QUARTO_LOG_LEVEL", "QUARTO_PROJECT_DIR")

STYLES: Final = Path(__file__).with_name("quarto.css")
PAPER: Final = "report.pdf"
PAPER_LINKS: Final = f"[This report as PDF]({PAPER}) · [Supplement](supplement.pdf)"


@dataclass(frozen=True)
class Quarto:
    """A Quarto that is installed."""

    program: str
    version: str


def find_quarto(home: Path) -> Quarto | None:
    """Return the Quarto on the PATH, none where there is none; raise PageError where it is too old or broken."""
    program = shutil.which("quarto")
    if program is None:
        return None
    printed = _run([program, "--version"], home, home).strip()
    version = VERSION.match(printed)
    # Builds from source call themselves 99.9.9.
    if version is None or (int(version[1]), int(version[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise PageError(f"Quarto {printed or 'of unknown version'} cannot be used; install {wanted} or newer")
    return Quarto(program, printed)


def add_to_theme(project: Path, settings: dict[str, Any]) -> None:
    """Add to a project and its settings what Quarto's pages lack beside those of the embedded renderer."""
    shutil.copyfile(STYLES, project / STYLES.name)
    options = settings["format"]["html"]
    options["css"] = [options["css"], STYLES.name]
    if (project / PAPER).exists():
        settings["website"]["page-footer"] += f" {PAPER_LINKS}"


def render_quarto(quarto: Quarto, project: Path, home: Path, output: Path) -> None:
    """Render the website project in a folder into the new folder `output`; Quarto keeps its caches in `home`.

    Raise PageError with Quarto's own message where it fails.
    """
    blank = project / "without-archive.qmd"
    blank.write_text(BLANK_PAGE, encoding="utf-8")
    _run([quarto.program, "render", "."], project, home)
    site = project / "_site"
    made = site / f"{blank.stem}.html"
    page = made.read_text(encoding="utf-8") if made.exists() else ""
    made.unlink(missing_ok=True)
    set_policy(site, make_quarto_policy(hash_scripts(page), hash_handlers(page)))
    # Older ones write the index of a search that is switched off.
    (site / "search.json").unlink(missing_ok=True)
    site.rename(output)
    write_search(output)


def _make_environment(home: Path) -> dict[str, str]:
    passed_on = {
        name: value for name, value in os.environ.items() if name.startswith(SETTINGS) and name not in LEFT_OUT
    }
    return passed_on | {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CACHE_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
        "DENO_NO_UPDATE_CHECK": "1",
        "DO_NOT_TRACK": "1",
    }


def _run(command: list[str], folder: Path, home: Path) -> str:
    finished = subprocess.run(  # noqa: S603 (no shell, fixed arguments)
        command,
        cwd=folder,
        env=_make_environment(home),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if finished.returncode:
        message = (finished.stderr + finished.stdout).strip()
        raise PageError(f"`{' '.join(['quarto', *command[1:]])}` failed:\n{message}")
    # Warnings of what succeeded belong in the log.
    print(finished.stderr, end="", file=sys.stderr)
    return finished.stdout
