"""Checks of a release: what each found, what reading a release may raise, and those that publishing needs as well.

A release that is compared or copied has to be whole, and what its descriptors say it is: `verify` checks that and more.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import polars as pl
import pyarrow as pa
import yaml

from ccreport.core.errors import InputError
from ccreport.core.tables import TableError

PASSED: Final = "passed"
FAILED: Final = "FAILED"
UNCHECKED: Final = "not checked"
# What reading a release that is not what it should be may raise.
FAULTS: Final = (
    *(InputError, TableError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError),
    *(pa.ArrowException, pl.exceptions.PolarsError, duckdb.Error, yaml.YAMLError),
)


@dataclass(frozen=True)
class Check:
    """One check: what was looked at, which files or cells failed, or why it could not be made.

    `hashes` are SHA-256 sums to compare with those told elsewhere, each with what it is of.
    """

    name: str
    facts: str = ""
    failures: tuple[str, ...] = ()
    unchecked: str = ""
    hashes: tuple[tuple[str, str], ...] = ()

    @property
    def state(self) -> str:
        """Return how it ended; what failed before the rest could not be looked at is a failure."""
        return FAILED if self.failures else UNCHECKED if self.unchecked else PASSED


def describe_fault(error: Exception, release: Path) -> str:
    """Return what reading a release raised as a failure: of a file that is not there its path in the release."""
    if not isinstance(error, FileNotFoundError) or error.filename is None:
        return str(error) if isinstance(error, InputError | TableError) else f"cannot be read ({describe_cause(error)})"
    named = Path(error.filename)
    return f"{named.relative_to(release) if named.is_relative_to(release) else named}: missing"


def describe_cause(error: Exception) -> str:
    """Return in a line why something could not be read."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return next(iter(str(error).splitlines()), "no reason is known")
