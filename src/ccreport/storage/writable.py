"""Whether something can be written at a place: tried before a command works for minutes to have something to write."""

import tempfile
from pathlib import Path

from ccreport.core.errors import InputError
from ccreport.core.schema_problems import guess_path


def check_file(path: Path, option: str) -> None:
    """Raise InputError where a file cannot be written; the folder that it is in has to be there.

    `option` is what the path was given by, such as `--html`.
    """
    try:
        if path.is_dir():
            raise InputError(f"{option} {path} is a folder; name a file in it")
        if not path.parent.exists():
            hint = guess_path(path.parent) or "; name a file in a folder that does"
            raise InputError(f"{option} {path}: {path.parent} does not exist{hint}")
        if path.exists():
            path.open("ab").close()
        else:
            _try_folder(path.parent)
    except OSError as error:
        raise _describe(path, option, error) from error


def check_folder(path: Path, option: str) -> None:
    """Raise InputError where nothing can be written into a folder, which need not be there yet, nor what it is in."""
    try:
        _try_folder(next(place for place in (path.absolute(), *path.absolute().parents) if place.exists()))
    except OSError as error:
        raise _describe(path, option, error) from error


def _try_folder(folder: Path) -> None:
    # A file without a name, where the file system has such ones: not even the folder's time changes.
    with tempfile.TemporaryFile(dir=folder):
        pass


def _describe(path: Path, option: str, error: OSError) -> InputError:
    return InputError(f"{option}: {path} cannot be written: {(error.strerror or str(error)).lower()}")
