"""The page of a command, where its user says: a mistyped path is refused before the command has worked for minutes."""

from pathlib import Path

from ccreport.core.errors import InputError


def check_place(page: str) -> None:
    """Raise InputError where a page cannot be written: its folder, or the one that this is in, has to be there."""
    path = Path(page)
    if path.is_dir():
        raise InputError(f"--html {page} is a folder; name a file in it")
    if not path.parent.is_dir() and not path.parent.parent.is_dir():
        raise InputError(f"--html {page}: {path.parent.parent} does not exist; name a file in a folder that does")
    if path.parent.is_file():
        raise InputError(f"--html {page}: {path.parent} is a file")


def write_page(page: str, content: str) -> None:
    """Write a page, and make its own folder if need be."""
    path = Path(page)
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
