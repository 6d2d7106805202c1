"""Names that a release has from others: the ORCID of a person, the identifier of a licence."""

import difflib
import re
from typing import Final

from ccreport.core.schema_problems import guess_near

# The last digit of the address checks the others.
ORCID: Final = re.compile(r"https://orcid\.org/(\d{4}-\d{4}-\d{4}-\d{3})([\dX])", re.ASCII)
# That of ORCID's own documentation.
EXAMPLE_ORCID: Final = "https://orcid.org/0000-0002-1825-0097"
# What data and programs are published by most, the first first: BSD means BSD-3-Clause.
USUAL_LICENSES: Final = (
    *("CC-BY-4.0", "CC0-1.0", "MIT", "BSD-3-Clause", "Apache-2.0", "GPL-3.0-or-later", "LGPL-3.0-or-later"),
    *("AGPL-3.0-or-later", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "ODbL-1.0", "PDDL-1.0", "MPL-2.0", "EUPL-1.2"),
)


def find_orcid_problem(orcid: str) -> str:
    """Return what is wrong with an ORCID, whose last digit checks the others by ISO 7064, mod 11-2; else no text."""
    if not (match := ORCID.fullmatch(orcid)):
        return f"{orcid} is not an ORCID, four groups of four digits as in {EXAMPLE_ORCID}"
    total = 0
    for digit in match[1].replace("-", ""):
        total = (total + int(digit)) * 2
    check = "0123456789X"[(12 - total % 11) % 11]
    return "" if match[2] == check else f"{orcid} is not an ORCID: by its other digits the last would be {check}"


def find_license_problem(name: str | None) -> str | None:
    """Return what is wrong with the name of a licence, which is to be an identifier of SPDX; None also for no name."""
    if name is None:
        return None
    # Of most commands no configuration is read.
    from packaging.licenses._spdx import LICENSES  # noqa: PLC0415

    if name in (license["id"] for license in LICENSES.values()):
        return None
    known = [license["id"] for license in LICENSES.values() if not license["deprecated"]]
    meant = _guess_license(_strip(name), known)
    hint = f"; did you mean `{meant}`?" if meant else guess_near(name, known)
    return f"`{name}` is not an identifier of SPDX{hint or '; https://spdx.org/licenses lists them, as CC-BY-4.0'}"


def _guess_license(word: str, known: list[str]) -> str | None:
    """Return the licence that is meant by its letters and digits, or by the first of them.

    BSD means BSD-3-Clause, the usual one that begins so, MITT means MIT, and BSD1 BSD-1-Clause, the shortest.
    """
    begun = [one for one in known if word and _strip(one).startswith(word)]
    if usual := next((one for one in USUAL_LICENSES if one in begun), None):
        return usual
    stripped = {_strip(one): one for one in reversed(known)}
    near = difflib.get_close_matches(word, stripped, 1, 0.8)
    return stripped[near[0]] if near else min(begun, key=len, default=None)


def _strip(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[^0-9a-z]", "", name.lower())
