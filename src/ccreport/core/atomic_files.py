"""Files and folders that are there with all that belongs into them, or not at all.

Snakemake takes a folder that is there as made, and what is kept from one build to the next is believed. A job that is
killed while it writes must leave none, also where Snakemake is killed with it and cannot remove what it had begun.
"""

import inspect
import shutil
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def replaces_folder(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function write into a new folder, which then takes the place of the one that its argument `name` is."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @wraps(function)
        def write(*args: P.args, **options: P.kwargs) -> T:
            given = signature.bind(*args, **options)
            output: Path = given.arguments[name]
            aside = output.with_name(f".{output.name}.part")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            given.arguments[name] = aside
            result = function(*given.args, **given.kwargs)
            remove_folder(output)
            aside.rename(output)
            return result

        return write

    return decorate


def remove_folder(folder: Path) -> None:
    """Remove a folder, if there is one, so that no part of it is left under its name at any moment."""
    if folder.exists():
        gone = folder.with_name(f".{folder.name}.gone")
        shutil.rmtree(gone, ignore_errors=True)
        folder.rename(gone)
        shutil.rmtree(gone)


def replace_text(path: Path, text: str) -> None:
    """Write a file anew, whole or not; who has a second name for it keeps what it held."""
    partial = path.with_name(f"{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
