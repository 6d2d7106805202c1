"""Texts for people: names that may hold bytes that are not UTF-8, and counted things."""

import os
import re
from typing import Final

HALF_LETTER: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")


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
