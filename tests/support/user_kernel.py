"""The user-mode kernel of tests that boot one: the one that `make kernel` built, else Debian's."""

import shutil
from pathlib import Path

import pytest

from ccreport.collect.kernel.find_kernel import SEARCH_PATH, find_user_kernel

FOUND = find_user_kernel(None)
# Debian's, so that tests can be collected where there is no kernel.
KERNEL = FOUND.path if FOUND else Path("linux.uml")


def needs_kernel(*programs: str) -> pytest.MarkDecorator:
    """Skip tests where no user-mode kernel is, or one of these programs is not."""
    missing = [name for name in programs if shutil.which(name, path=SEARCH_PATH) is None]
    missing += [] if FOUND else ["a user-mode kernel (user-mode-linux, or `make kernel`)"]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")
