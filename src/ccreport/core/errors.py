"""Errors that are the archive's, the configuration's or the disk's, not this program's."""

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

# The disk is full, or what its user may have of it.
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
# A folder is missing, is a file, or belongs to others.
NO_PLACE: Final = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS)


class InputError(Exception):
    """Something that the user can mend; its message says what and how, and is shown without a traceback."""


def explain_unwritten(error: OSError, options: Mapping[str, Any]) -> str | None:
    """Return what its user can mend of an error of the disk, None for any other.

    These are a full disk, and a path among the options of a call, such as `--output`, at which nothing can be written.
    """
    if error.errno in NO_ROOM:
        return f"{error}: make room there and give the same command again"
    if error.filename is None or error.errno not in NO_PLACE:
        return None
    place = Path(error.filename).absolute()
    for option, path in options.items():
        if not isinstance(path, Path):
            continue
        # What is written first may have a name of its own, beside that which was given.
        given = path.absolute()
        is_beside = place.parent == given.parent and given.name in place.name
        if is_beside or place.is_relative_to(given) or given.is_relative_to(place):
            reason = (error.strerror or "").lower()
            which = "" if place == given else f" ({error.filename})"
            return f"--{option.replace('_', '-')}: {path} cannot be written: {reason}{which}"
    return None
