"""One JSON object of ccreport's own files, value by value: what has a wrong type is left out and rejected by key."""

import math
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from ccreport.archive.manifest import RawFile
from ccreport.core.text import display_name
from ccreport.core.units import UnitError
from ccreport.ingest.json_values import as_text, quote
from ccreport.ingest.rejects import Rejects


class Recorded:
    """A JSON value that should be an object, with the file, and the line or entry of it, where it is."""

    def __init__(
        self, file: RawFile, value: Any, rejected: Rejects, *, line: int | None = None, place: str = ""
    ) -> None:
        self._file = file
        self._values = value if isinstance(value, dict) else {}
        self._rejected = rejected
        self._line = line
        self._place = place

    def reject(self, reason: str, message: str) -> None:
        """Note that this object, which is a part of its file, could not be used."""
        message = f"{self._place}: {message}" if self._place else message
        self._rejected.add(self._file, reason, message, is_whole_file=False, line=self._line)

    def _leave_out(self, key: str, expected: str) -> None:
        self._refuse(key, f" where {expected} belongs")

    def _refuse(self, key: str, why: str) -> None:
        shown = quote(as_text(str(self._values[key])[:400]))
        self.reject("bad_metadata", f"{key} is {shown!r}{why}; the value is left out")

    def read_text(self, key: str) -> str | None:
        """Return a text as valid Unicode on one line; None where there is none, or an empty one."""
        value = self._values.get(key)
        if isinstance(value, str):
            return display_name(as_text(value)) or None
        if value is not None:
            self._leave_out(key, "a text")
        return None

    def read_parsed(self, key: str, parse: Callable[[str], Any]) -> str | None:
        """Return a text, or a number as one, that this function reads; it raises UnitError for others."""
        value = self._values.get(key)
        if value is None:
            return None
        try:
            parse(str(value))
        except UnitError as error:
            self._refuse(key, f": {error}")
            return None
        return display_name(str(value))

    def read_choice(self, key: str, choices: Collection[str]) -> str | None:
        """Return a text that is one of these."""
        value = self._values.get(key)
        if isinstance(value, str) and value in choices:
            return value
        if value is not None:
            self._leave_out(key, f"one of {', '.join(choices)}")
        return None

    def read_number(self, key: str, *, at_least: float = -math.inf) -> float | None:
        """Return a finite number."""
        value = self._values.get(key)
        # An integer may have more digits than a float can hold.
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and value >= at_least:
            return float(value)
        if value is not None:
            self._leave_out(key, "a number" if at_least == -math.inf else f"a number of at least {at_least:g}")
        return None

    def read_count(self, key: str) -> int | None:
        """Return a whole number from 0 that fits 64 bits."""
        value = self._values.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
            return value
        if value is not None:
            self._leave_out(key, "a whole number from 0 on")
        return None

    def read_bool(self, key: str) -> bool | None:
        """Return true or false."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, bool):
            self._leave_out(key, "true or false")
            return None
        return value

    def read_nanoseconds(self, key: str) -> datetime | None:
        """Return a time that is told in nanoseconds since 1970, in whole microseconds."""
        value = self.read_count(key)
        try:
            return None if value is None else datetime.fromtimestamp(0, UTC) + timedelta(microseconds=value // 1000)
        except OverflowError:
            self._leave_out(key, "nanoseconds since 1970")
            return None

    def read_time(self, key: str) -> datetime | None:
        """Return an ISO time in UTC, which it is too where it names no zone."""
        value = self._values.get(key)
        try:
            time = datetime.fromisoformat(value) if isinstance(value, str) else None
            if time is not None:
                return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        if value is not None:
            self._leave_out(key, "a time such as 2026-11-20T22:10:05Z")
        return None

    def read_texts(self, key: str) -> dict[str, str]:
        """Return an object of texts, such as versions by program; entries that are none are left out."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, dict):
            self._leave_out(key, "an object of texts")
        texts = Recorded(self._file, value, self._rejected, line=self._line, place=key)
        found = {display_name(as_text(name)): texts.read_text(name) for name in texts.keys()}  # noqa: SIM118
        return {name: text for name, text in found.items() if text is not None}

    def read_lines(self, key: str) -> list[str]:
        """Return a list of texts; entries that are not are left out."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, list):
            self._leave_out(key, "a list of texts")
        texts = dict(enumerate(value)) if isinstance(value, list) else {}
        entries = Recorded(
            self._file, {str(n): text for n, text in texts.items()}, self._rejected, line=self._line, place=key
        )
        return [text for name in entries.keys() if (text := entries.read_text(name)) is not None]  # noqa: SIM118

    def keys(self) -> Iterator[str]:
        """Return the keys of the object."""
        return iter(self._values)

    def read_objects(self, key: str) -> "list[Recorded]":
        """Return the entries of a list; what is not an object has no values."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, list):
            self._leave_out(key, "a list")
        entries = value if isinstance(value, list) else []
        places = (f"{key}[{number}]" for number in range(len(entries)))
        return [
            Recorded(self._file, entry, self._rejected, line=self._line, place=place)
            for entry, place in zip(entries, places, strict=True)
        ]
