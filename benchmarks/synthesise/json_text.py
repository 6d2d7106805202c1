"""JSON as cJSON prints it, which iperf3 uses: on many lines with tabs, or in one; from parts that are text already."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

Pairs = Sequence[tuple[str, str]]


class Layout:
    """How objects and lists are written; `depth` is that of an object's keys."""

    def __init__(self, *, is_pretty: bool) -> None:
        self._is_pretty = is_pretty

    def object(self, pairs: Pairs, depth: int) -> str:
        """Return an object of these keys, equal ones kept, and values that are text already."""
        if not self._is_pretty:
            return "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"
        tabs = "\t" * depth
        return "{\n" + ",\n".join(f'{tabs}"{key}":\t{value}' for key, value in pairs) + f"\n{tabs[1:]}}}"

    def array(self, items: Iterable[str]) -> str:
        """Return a list of these objects."""
        return f"[{(', ' if self._is_pretty else ',').join(items)}]"


PRETTY: Final = Layout(is_pretty=True)
COMPACT: Final = Layout(is_pretty=False)


def quoted(text: str) -> str:
    """Return a text as a JSON string; no text of these archives needs an escape."""
    return f'"{text}"'


def time_of(start_us: int) -> str:
    """Return a time as iperf3 prints it, in whole seconds."""
    return f"{datetime.fromtimestamp(start_us // 1_000_000, UTC):%a, %d %b %Y %H:%M:%S GMT}"
