"""The parameters of a run as two texts, as the table `runs` has them: names, and their values in the same order."""

from collections.abc import Mapping
from typing import Final

SEPARATOR: Final = ", "
# Of a name or a value that has it, so that as many values as names are read again.
WITHIN: Final = "; "


def join_parameters(told: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the names of parameters and their values; None for both where there is none."""
    names, values = (
        SEPARATOR.join(text.replace(SEPARATOR, WITHIN) for text in texts) for texts in (told, told.values())
    )
    return (names, values) if told else (None, None)


def split_parameters(names: str | None, values: str | None) -> dict[str, str]:
    """Return the values of parameters by their names."""
    return dict(zip(*((text or "").split(SEPARATOR) for text in (names, values)), strict=True)) if names else {}
