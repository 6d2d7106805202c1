"""Errors that are the archive's or the configuration's, not this program's."""


class InputError(Exception):
    """Something that the user can mend; its message says what and how, and is shown without a traceback."""
