"""A release verified: all checks one after the other, their summary as text and as a page, and a status for scripts."""

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import yaml

from ccreport import __version__
from ccreport.core.declarations import SCHEMAS
from ccreport.core.declared_files import DeclarationError
from ccreport.core.errors import InputError
from ccreport.publish import SUMS
from ccreport.publish.checks import FAILED, FAULTS, UNCHECKED, Check, describe_fault
from ccreport.publish.checks.descriptors import check_crate, check_package
from ccreport.publish.checks.sums import check_beside, check_sums, gather_folders
from ccreport.report.markup.escape import show_text
from ccreport.report.markup.standalone_page import format_page, format_paragraph, format_rows
from ccreport.storage.places import is_remote
from ccreport.storage.sums import hash_file
from ccreport.storage.writable import check_file
from ccreport.verify.cells import check_csv
from ccreport.verify.claims import check_claims
from ccreport.verify.fetch import open_release
from ccreport.verify.ledger import check_ledger, check_raw
from ccreport.verify.recompute import check_recomputed
from ccreport.verify.schemas import check_schemas

SHOWN: Final = 50
RAW_LIST: Final = f"raw/{SUMS}"
# What each of the later checks trusts: what is damaged there is said once, and not read as if it were whole. What is
# compared with it, the raw archive with its list and tables with those made anew, may be damaged: the check says where.
TRUSTED: Final = {
    "schemas": ("tables/*", "code/schemas/*", "evaluations/*"),
    "raw files": (RAW_LIST,),
    "ledger": (RAW_LIST, "tables/*"),
    "claims": ("raw/archive.json", "tables/*", "evaluations/*", "code/config.yaml"),
    "recomputed": ("raw/*", "code/config.yaml", "code/layout.*", "evaluations/*.yaml", "evaluations/*/expected/*"),
}
CITATION: Final = "CITATION.cff"
# What a folder may be named that is of a version: 1.0 · v2.1-rc1
VERSION: Final = re.compile(r"v?\d+(\.\d+)*([-+]\w+)?")
EVALUATION_SCHEMA: Final = "evaluation.schema.yaml"


def verify(place: str, /, *, quick: bool, html: str = "") -> int:
    """Check a release (a folder, a .tar.zst, or an https:// or s3:// address of one) and print what was found.

    `place` is its path or address. `quick` does not make the tables anew. `html` is the path of a page to write. Return
    0 where all passed, 1 where something failed, 2 where something could not be checked. Nothing is written into the
    release. Raise InputError where none of it can be checked.
    """
    with tempfile.TemporaryDirectory(prefix="ccreport-verify-") as work:
        if html:
            check_file(Path(html), "--html")
        release, left_out = open_release(place, Path(work))
        if html and not is_remote(place) and Path(html).resolve().is_relative_to(release):
            raise InputError(f"{html} is inside of the release; name a page elsewhere")
        sha256 = hash_file(release / SUMS)
        told = None if is_remote(place) else check_beside(Path(place) if Path(place).is_file() else release)
        checks = [_say(told)] if told else []
        checks += _list_checks(release, left_out, Path(work), quick=quick)
        about = _describe_release(release, "" if is_remote(place) or Path(place).is_file() else release.name)
    states = [check.state for check in checks]
    verdict = FAILED if FAILED in states else UNCHECKED if UNCHECKED in states else "verified"
    asked = " (quick: the tables were not made anew)" if quick else ""
    head = f"{verdict}: {place}{about}{asked}"
    print(f"{show_text(head)}\n{sha256}  {SUMS}", flush=True)
    if html:
        page = _format_page(f"{head}; SHA-256 of its {SUMS} {sha256}", checks)
        Path(html).write_text(page, encoding="utf-8")
    return 1 if FAILED in states else 2 if UNCHECKED in states else 0


def _describe_release(release: Path, name: str) -> str:
    """Return title and version of a release, by its CITATION.cff, and that its folder is named as another version."""
    try:
        cited = yaml.safe_load((release / CITATION).read_bytes())
        title, version = str(cited["title"]), str(cited["version"])
    except FAULTS:
        return ""
    is_other = VERSION.fullmatch(name) and name.removeprefix("v") != version.removeprefix("v")
    return f": {title}, version {version}" + (f", in a folder that is named {name}" if is_other else "")


def _list_checks(release: Path, left_out: list[str], work: Path, *, quick: bool) -> Iterator[Check]:
    """Yield each check when it is done, after a line on it was printed."""
    sums, there, damaged = check_sums(release, left_out)
    for listed in (sums, check_package(release, there), check_crate(release, there)):
        yield _say(replace(listed, failures=gather_folders(release, listed.failures)))
    # Also of files that are not as SHA256SUMS says: it tells which cell was changed.
    yield _say(_try("csv", release, lambda: check_csv(release, there, work)))
    later: dict[str, Callable[[], Check]] = {
        "schemas": lambda: check_schemas(release, there),
        "raw files": lambda: check_raw(release, work),
        "ledger": lambda: check_ledger(release),
        "claims": lambda: check_claims(release, work),
    }
    if not quick:
        later["recomputed"] = lambda: check_recomputed(release, work)
    for name, check in later.items():
        unfit = sorted(path for path in damaged if any(fnmatchcase(path, pattern) for pattern in TRUSTED[name]))
        if unfit:
            yield _say(Check(name, unchecked=f"it reads what is not as {SUMS} says: {', '.join(unfit[:5])}"))
            continue
        yield _say(_try(name, release, check))


def _try(name: str, release: Path, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except DeclarationError as error:
        # What breaks the very schema that it was published with is a fault of the release.
        if _has_our_schema(release):
            return Check(name, failures=(str(error),))
        other = f"ccreport {__version__} does not read what this release declares"
        return Check(name, unchecked=f"{other}; verify it with the version that published it: {error}")
    except FAULTS as error:
        return Check(name, failures=(describe_fault(error, release),))


def _has_our_schema(release: Path) -> bool:
    published = release / "code/schemas" / EVALUATION_SCHEMA
    return not published.is_file() or published.read_bytes() == (SCHEMAS / EVALUATION_SCHEMA).read_bytes()


def _say(check: Check) -> Check:
    about = check.unchecked or check.facts
    print(show_text(f"{check.state:<11}  {check.name}{f': {about}' if about else ''}"))
    for sha256, what in check.hashes:
        print(f"{'':13}{sha256}  {show_text(what)}")
    for line in _shorten(check.failures):
        print(f"{'':13}{show_text(line)}")
    sys.stdout.flush()
    return check


def _describe(check: Check) -> str:
    return "; ".join([check.unchecked or check.facts, *(f"{what} {sha256}" for sha256, what in check.hashes)])


def _shorten(failures: tuple[str, ...]) -> list[str]:
    more = len(failures) - SHOWN
    return [*failures[:SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _format_page(head: str, checks: list[Check]) -> str:
    rows = [(check.state, check.name, _describe(check), "; ".join(_shorten(check.failures))) for check in checks]
    table = format_rows(("State", "Check", "What was looked at", "What failed"), rows)
    return format_page("Verification of a release", (format_paragraph(head), table))
