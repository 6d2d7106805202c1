"""Errors that are the archive's, the configuration's or the disk's, not this program's."""

import errno
from typing import Final

# The disk is full, or what its user may have of it.
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


class InputError(Exception):
    """Something that the user can mend; its message says what and how, and is shown without a traceback."""
