"""Files and folders that are there with all that belongs into them, or not at all.

Snakemake takes a folder that is there as made, and what is kept from one build to the next is believed. A job that is
killed while it writes must leave none, also where Snakemake is killed with it and cannot remove what it had begun.
"""

import inspect
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Give a new folder beside `folder`, whose place it takes at the end; after an error nothing is left of it."""
    aside = name_aside(folder)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
    except BaseException:
        shutil.rmtree(aside)
        raise
    move_folder(aside, folder)


def replaces_folder(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function write into a new folder, which then takes the place of the one that its argument `name` is."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @wraps(function)
        def write(*args: P.args, **options: P.kwargs) -> T:
            given = signature.bind(*args, **options)
            with replace_folder(given.arguments[name]) as given.arguments[name]:
                return function(*given.args, **given.kwargs)

        return write

    return decorate


def move_folder(made: Path, folder: Path) -> None:
    """Let a complete folder take the place of another, if there is one."""
    remove_folder(folder)
    made.rename(folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder, if there is one, so that no part of it is left under its name at any moment."""
    if folder.exists():
        gone = folder.with_name(f".{folder.name}.gone")
        shutil.rmtree(gone, ignore_errors=True)
        folder.rename(gone)
        shutil.rmtree(gone)


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Give the path of a file to write beside `path`, whose place it takes at the end; after an error it is removed.

    Who has a second name for the former file keeps what it held.
    """
    aside = name_aside(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside.unlink(missing_ok=True)
    try:
        yield aside
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a file anew, whole or not; who has a second name for it keeps what it held."""
    with replace_file(path) as aside:
        aside.write_text(text, encoding="utf-8")


def name_aside(path: Path) -> Path:
    """Return where a file or folder is written before it takes its place; it stays there where that was interrupted."""
    return path.with_name(f".{path.name}.part")
