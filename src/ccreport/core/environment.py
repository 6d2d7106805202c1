"""Environment variables that people set."""

import os

from ccreport.core.errors import InputError


def read_whole_number(variable: str, least: int, most: int) -> int | None:
    """Return the number that an environment variable holds, None where it is unset or empty; raise InputError."""
    text = os.environ.get(variable, "")
    if not text:
        return None
    if text.isascii() and text.isdigit() and least <= int(text) <= most:
        return int(text)
    raise InputError(
        f"{variable} is {text!r} in the environment; write a whole number from {least} to {most}, or unset it"
    )
