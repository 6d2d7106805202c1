"""How to cite: ccreport itself, the release that the report is part of, and the report as an entry for BibTeX."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

import ccreport
from ccreport.core.evaluation import has_known_authors
from ccreport.core.text import name_author
from ccreport.figures.wording.runs import join_names
from ccreport.report.markup.blocks import render_quotation
from ccreport.report.markup.escape import escape_text, link_address

# What the folder `raw` of a release has, by the configuration's `release.raw`.
RAW: Final = {"archive": "the raw archive", "manifest": "the list of the raw files with their SHA-256"}
# Where nobody is named there is not a release yet.
DECLARED: Final = "The release's `CITATION.cff` says the same, and its folder `raw` has {raw}. "
UNDECLARED: Final = (
    "No author is named: a release needs `release.creators` in the configuration, which says who measured. "
)
# The last day that something was measured on is at the end of all days: 2026-11-25 to 2026-11-28.
LAST_YEAR: Final = re.compile(r"(\d{4})-\d{2}-\d{2}$")
# What means something to BibTeX within a field.
SPECIAL: Final = re.compile(r"[\\{}%&$#_^~]")


def describe_software(citation: Path) -> dict[str, str]:
    """Return title and address of ccreport itself as its CITATION.cff has them; the address with a comma."""
    cited = yaml.safe_load(citation.read_text(encoding="utf-8"))
    address = next((cited[key] for key in ("doi", "url", "repository-code") if key in cited), None)
    return {"title": escape_text(cited["title"]), "address": escape_text(f", {address}" if address else "")}


def list_authors(release: Mapping[str, Any], citation: Path, archive_sha256: str) -> list[str]:
    """Return the names of a release's creators; where none are declared, those of CITATION.cff for the sample archive.

    `release` is that of the configuration. Who made other measurements is not known, and nobody is named.
    """
    cited = yaml.safe_load(citation.read_text(encoding="utf-8"))["authors"] if has_known_authors(archive_sha256) else []
    return [creator["name"] for creator in release["creators"]] or [name_author(author) for author in cited]


def add_licence(release: Mapping[str, Any], citation: Path, archive_sha256: str) -> dict[str, Any]:
    """Return a release with its licence; where it declares none, with that of CITATION.cff for the sample archive."""
    cited = yaml.safe_load(citation.read_text(encoding="utf-8")) if has_known_authors(archive_sha256) else {}
    return {**release, "license": release["license"] or cited.get("license")}


def describe_release(release: Mapping[str, Any], authors: Sequence[str], title: str) -> dict[str, str]:
    """Return who made the release, its title and the name after it, and what it says and has, as Markdown.

    `release` is that of the configuration, `title` that of the report. Without authors, `contents` says where to name
    them; without a licence nothing is said of one.
    """
    names = escape_text(join_names(authors))
    named = f", release {escape_text(release['version'])} of the data"
    named += f" of {escape_text(release['date'])}" if release["date"] else ""
    licensed = f"The data's licence is {escape_text(release['license'])}. " if release["license"] else ""
    if release["doi"]:
        named += f", {link_address('https://doi.org/' + release['doi'])}"
    return {
        "authors": names,
        # The citation begins with it.
        "by": f"{names[0].upper()}{names[1:]}: " if authors else "",
        "title": escape_text(release["title"] or title),
        "name": named,
        "contents": f"{licensed}{DECLARED.format(raw=RAW[release['raw']]) if authors else UNDECLARED}",
    }


def render_bibtex(release: Mapping[str, Any], authors: Sequence[str], title: str, days: str, sha256: str) -> str:
    """Return the report as an entry for BibTeX; `days` are those of its data, the others as `describe_release` has."""
    made = f"made with ccreport {ccreport.__version__}"
    fields = {
        "author": " and ".join(f"{{{_escape(name)}}}" for name in authors),
        "title": f"{{{_escape(release['title'] or title)}}}",
        "year": match[1] if (match := LAST_YEAR.search(release["date"] or days)) else "",
        "version": _escape(release["version"]),
        "doi": release["doi"] or "",
        "note": f"Measured {days}, {made} from the raw archive with the SHA-256 {sha256}",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return render_quotation("\n".join([f"@misc{{ccreport-{sha256[:8]},", *lines, "}"]), "BibTeX")


def _escape(words: str) -> str:
    return SPECIAL.sub(lambda sign: f"\\{sign[0]}" if sign[0] in "%&$#_{}" else " ", words)
