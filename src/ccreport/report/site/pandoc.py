"""pandoc, a process for each page, and what it made of pages before: one that did not change is not converted again.

What comes out is made of the page's text, the options, our templates and filters, and pandoc itself; a digest of all of
them names what is kept.
"""

import hashlib
import os
import re
import subprocess
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pypandoc

from ccreport.core.atomic_files import replace_text
from ccreport.rebuild.batches import IGNORE_CACHES
from ccreport.report.markup.html_blocks import Line
from ccreport.report.site.links import PageError

# In the folder of what is kept: the names of the files beside it.
LISTING: Final = "pages.txt"
REPORT: Final = Path(__file__).parents[1]
# "dangling: fig-one" of filter.lua · "[WARNING] Div at line 5 column 1 unclosed at line 9 column 1" of pandoc
FAULT: Final = re.compile(
    r"^(?:dangling|twice|no caption|no fig-alt): (?P<text>\S+)|at line (?P<line>\d+)", re.MULTILINE
)


class Pandoc:
    """pandoc for the pages of one site or document; `kept` is a folder of its own, none for nothing to be kept."""

    def __init__(self, kept: Path | None = None) -> None:
        self._kept = kept
        self._used: set[str] = set()
        if kept is not None:
            kept.mkdir(parents=True, exist_ok=True)

    def convert(self, lines: Sequence[Line], options: Sequence[str]) -> str:
        """Return what pandoc makes of a page, now or before.

        Raise PageError, with file and line where they are known, where it fails.
        """
        text = "\n".join(line.text for line in lines)
        if self._kept is None:
            return _run(lines, text, options)
        # The digest has what is in the filters and templates; where they are makes no difference.
        named = (option.replace(str(REPORT), "") for option in options)
        name = hashlib.sha256("\0".join((digest_pandoc(), *named, text)).encode()).hexdigest()
        kept = self._kept / name
        if kept.is_file() and IGNORE_CACHES not in os.environ:
            self._used.add(name)
            return kept.read_text(encoding="utf-8")
        made = _run(lines, text, options)
        # Whole or not at all; another thread may keep the same.
        partial = kept.with_name(f"{name}.{threading.get_ident()}")
        partial.write_text(made, encoding="utf-8")
        partial.rename(kept)
        self._used.add(name)
        return made

    def prune(self) -> None:
        """Remove what is kept of pages that were not converted since, and list what is kept."""
        if self._kept is None:
            return
        for path in self._kept.iterdir():
            if path.is_file() and path.name not in self._used:
                path.unlink()
        replace_text(self._kept / LISTING, "".join(f"{name}\n" for name in sorted(self._used)))


@cache
def digest_pandoc() -> str:
    """Return a digest of what makes pages of text: pandoc's version, and all filters and templates."""
    digest = hashlib.sha256(pypandoc.get_pandoc_version().encode())
    for asset in sorted((*REPORT.glob("*/*.lua"), *REPORT.glob("*/*.html"))):
        digest.update(asset.read_bytes())
    return digest.hexdigest()


def _run(lines: Sequence[Line], text: str, options: Sequence[str]) -> str:
    command = [pypandoc.get_pandoc_path(), *options]
    finished = subprocess.run(command, input=text.encode(), capture_output=True, check=False)  # noqa: S603 (no shell)
    if finished.returncode:
        raise PageError(_explain(lines, finished.stderr.decode(errors="replace")))
    return finished.stdout.decode()


def _explain(lines: Sequence[Line], message: str) -> str:
    """Return pandoc's message with the file and line it speaks of in front, where that can be told."""
    fault = FAULT.search(message)
    places = [lines[0].place]
    if fault and fault["line"]:
        places = [lines[min(int(fault["line"]), len(lines)) - 1].place]
    elif fault:
        places = [line.place for line in lines if fault["text"] in line.text] or places
    return f"{places[0]}: {message.strip()}"
