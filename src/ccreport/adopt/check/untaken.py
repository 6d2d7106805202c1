"""Files that no pattern of a layout takes, and the pattern to mend, or to add, for them."""

import contextlib
import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ccreport.adopt.path_words import split_path
from ccreport.adopt.patterns import make_pattern
from ccreport.archive.layout import IGNORED, Layout, Pattern
from ccreport.archive.manifest import Manifest
from ccreport.core.text import count_things, display_name

# Files on which mended patterns are tried.
TRIED: Final = 20
WORD: Final = re.compile("[A-Za-z0-9]+")
# Of an expression: an escape, a class, a count, the beginning of a group, a word of text, any other sign.
PIECE: Final = re.compile(
    r"\\.|\[(?:\\.|[^\]])*\]|\{[^}]*\}|\(\?P?<\w+>|\(\?[a-zA-Z]*:|(?P<word>[A-Za-z0-9]+)|.", re.DOTALL
)


def list_untaken(layout: Layout, manifests: Iterable[Manifest]) -> list[str]:
    """Return the files that no pattern of a layout takes, nor a row of its table."""
    files = [file for manifest in manifests for file in manifest.files if file.kind != "layout"]
    told = layout.read_paths([file.path for file in files])
    return sorted(file.path for file in files if file.path not in told and file.path != layout.table)


def describe_untaken(layout: Layout, manifests: Sequence[Manifest]) -> Iterator[str]:
    """Yield how many files no pattern takes, and a pattern that fits the first of them."""
    if untaken := list_untaken(layout, manifests):
        paths = [file.path for manifest in manifests for file in manifest.files]
        unused = (own for own in layout.patterns if own.kind != IGNORED and not any(layout.fit(own, paths)))
        if (mended := _mend(layout, unused, untaken)) is not None:
            yield from mended
            return
        first = display_name(untaken[0])
        pattern = _propose(layout, first).replace("'", "''")
        counted = f"{count_things(len(untaken), 'file')}, such as {first}"
        yield f"No pattern takes {counted}. Add one below `files:` that fits, as this fits the first:"
        yield f"  - pattern: '{pattern}'"


def _propose(layout: Layout, path: str) -> str:
    """Return a pattern for a file: with the folders of a pattern that fits files beside it, else of its own words."""
    *folders, name = path.split("/")
    for own in layout.patterns:
        *named, _ = own.expression.split("/")
        near = folders[len(folders) - len(named) :]
        if own.kind != IGNORED and named and len(near) == len(named):
            expression = "/".join([*named, _write(name)])
            # A group may be there twice, or reach over folders.
            with contextlib.suppress(re.error):
                if all(map(re.fullmatch, named, near)) and re.compile(expression).fullmatch("/".join([*near, name])):
                    return expression
    return _write(path)


def _write(path: str) -> str:
    return make_pattern("", [(path, split_path(path))]).write_pattern()


def _mend(layout: Layout, unused: Iterable[Pattern], untaken: Sequence[str]) -> list[str] | None:
    """Return which word of a pattern that fits no file to replace, so that it fits most of those without a pattern."""
    tried = untaken[:TRIED]
    words = sorted(
        {word for path in tried for found in WORD.findall(path) for word in (found, found.rstrip("0123456789"))} - {""}
    )
    mends = []
    for own in unused:
        pieces = [piece for piece in PIECE.finditer(own.expression) if piece["word"]]
        for piece, word in itertools.product(pieces, words):
            expression = own.expression[: piece.start()] + word + own.expression[piece.end() :]
            mended = replace(own, expression=expression)
            likeness = difflib.SequenceMatcher(None, piece["word"], word).ratio()
            mends.append((sum(layout.fit(mended, tried)), likeness, piece["word"], word, mended, own))
    best = max(mends, key=lambda mend: mend[:2], default=None)
    if best is None or not best[0]:
        return None
    _, _, former, word, mended, own = best
    count = sum(layout.fit(mended, untaken))
    counted = f"{count} of {count_things(len(untaken), 'file')}"
    fitting = f"No pattern takes {count_things(len(untaken), 'file')}, such as {display_name(untaken[0])}."
    return [
        f"{fitting} Did you mean `{word}` for `{former}` in {layout.locate(own)}? Then it fits {counted}:",
        f"  - pattern: '{mended.expression.replace(chr(39), chr(39) * 2)}'",
    ]
