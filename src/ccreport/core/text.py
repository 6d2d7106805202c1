"""Texts for people: names that may hold bytes that are not UTF-8, counted things, and labels that links lead to."""

import itertools
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

HALF_LETTER: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
FIRST_SIGNS: Final = re.compile(r"[\W_]+")
LABEL_GAP: Final = re.compile(r"[^a-z0-9]+")
# II · 3a · A · A1
EXHIBIT_NUMBER: Final = r"[IVXLC]+|[A-Z]?\d+[a-z]?|[A-Z]"
NUMBERED: Final = re.compile(rf"(Table|Figure) ({EXHIBIT_NUMBER}): ")


def display_name(name: str) -> str:
    """Return a file name as valid Unicode: bytes that are not UTF-8 and control characters are escaped."""
    if name.isascii() and name.isprintable():
        return name
    # JSON may hold halves of letters (`"\\ud800"`) that no file name has; a byte that is no UTF-8 is one of the others.
    whole = name if name.isascii() else HALF_LETTER.sub(lambda half: f"\\u{ord(half[0]):x}", name)
    text = os.fsencode(whole).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def count_things(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural but for one thing: `1 row`, `2,000 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def count_are(count: int) -> str:
    """Return a count with the verb of so many things: `1 is`, `2,000 are`."""
    return f"{count:,} {'is' if count == 1 else 'are'}"


def count_alike(said: Iterable[tuple[str, str]], noun: str = "file") -> list[str]:
    """Return a line for each message about files or what `noun` says, with the first of them and how many these are.

    `said` are their names with what is said of each: `a.json: empty`, or `3 files, such as a.json: empty`.
    """
    files: dict[str, dict[str, None]] = {}
    for name, message in said:
        files.setdefault(message, {})[name] = None
    counts = {text: f"{count_things(len(own), noun)}, such as " if len(own) > 1 else "" for text, own in files.items()}
    return [f"{counts[message]}{next(iter(own))}: {message}" for message, own in files.items()]


def make_label(kind: str, name: str) -> str:
    """Return a cross-reference label such as `tbl-table-2`: the kind and, of [a-z0-9-] only, the name.

    Quarto reserves the prefixes; underscores in labels break PDF output.
    """
    return f"{kind}-{LABEL_GAP.sub('-', name.lower()).strip('-')}"


def split_number(title: str, kind: str) -> tuple[str, str]:
    """Return the number by which a title says that a publication calls a table or figure, if it does, and the rest.

    `kind` is Table or Figure: "Table II: mean and CV" is ("II", "mean and CV").
    """
    numbered = NUMBERED.match(title)
    return (numbered[2], title[numbered.end() :]) if numbered and numbered[1] == kind else ("", title)


def write_report_command(archive: Path, checkout: Path) -> str:
    """Return the command that reports on an archive, as it can be typed here: in the checkout, or in another folder."""
    if Path.cwd() == checkout:
        return f"make report ARCHIVE={shlex.quote(str(archive))}"
    return f"make -C {shlex.quote(str(checkout))} report ARCHIVE={shlex.quote(str(archive.absolute()))}"


def name_author(author: Mapping[str, str]) -> str:
    """Return the name of an author, which is an entity's or a person's in parts."""
    parts = (author.get(part) for part in ("given-names", "name-particle", "family-names", "name-suffix"))
    return author.get("name") or " ".join(part for part in parts if part)


def hint_at_letters(text: str, pattern: str) -> str:
    """Return what a text has to leave out to match a pattern: its first signs, a letter or two; nothing for no such."""
    if (signs := FIRST_SIGNS.match(text)) and re.search(pattern, text[signs.end() :]):
        return f"; leave out `{signs[0]}` at the beginning"
    for count in (1, 2):
        for letters in itertools.combinations(dict.fromkeys(text), count):
            rest = "".join(letter for letter in text if letter not in letters)
            if rest and re.search(pattern, rest):
                return (
                    f"; leave out {' and '.join(f'`{letter}`' if letter.strip() else 'blanks' for letter in letters)}"
                )
    return ""


def complete_name(end: str, examples: Iterable[str]) -> str:
    """Return a name with what stands in front of a dot in one that ends alike: net.ipv4.tcp_sack for tcp_sack.

    Names end alike that begin with the same word behind their last dot, as tcp. No text where no example does.
    """
    for name in examples:
        before, _, last = name.rpartition(".")
        if last.partition("_")[0] == end.partition("_")[0]:
            return f"{before}.{end}"
    return ""
