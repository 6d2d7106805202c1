"""How to cite: ccreport itself, and the report as an entry for BibTeX."""

import re
from pathlib import Path
from typing import Final

import polars as pl
import yaml

import ccreport
from ccreport.core.text import name_author
from ccreport.figures.wording.runs import join_names
from ccreport.report.archive_fragments.archive_facts import show_dates
from ccreport.report.markup.blocks import render_quotation
from ccreport.report.markup.escape import escape_text

# What means something to BibTeX within a field.
SPECIAL: Final = re.compile(r"[\\{}%&$#_^~]")


def describe_software(citation: Path) -> dict[str, str]:
    """Return authors, title and address of ccreport itself as its CITATION.cff has them; the address with a comma."""
    cited = yaml.safe_load(citation.read_text(encoding="utf-8"))
    address = next((cited[key] for key in ("doi", "url", "repository-code") if key in cited), None)
    facts = {
        "authors": join_names([name_author(author) for author in cited["authors"]]),
        "title": cited["title"],
        "address": f", {address}" if address else "",
    }
    return {name: escape_text(fact) for name, fact in facts.items()}


def render_bibtex(citation: Path, title: str, times: pl.Series, sha256: str) -> str:
    """Return the report as an entry for BibTeX, with the authors of CITATION.cff; `times` are those of its runs."""
    cited = yaml.safe_load(citation.read_text(encoding="utf-8"))
    authors = " and ".join(f"{{{_escape(name_author(author))}}}" for author in cited["authors"])
    days = show_dates(times)
    made = f"made with ccreport {ccreport.__version__}"
    fields = {
        "author": authors,
        "title": f"{{{_escape(title)}}}",
        "year": days[-10:-6] if times.count() else "",
        "note": f"Measured {days}, {made} from the raw archive with the SHA-256 {sha256}",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return render_quotation("\n".join([f"@misc{{ccreport-{sha256[:8]},", *lines, "}"]), "BibTeX")


def _escape(words: str) -> str:
    return SPECIAL.sub(lambda sign: f"\\{sign[0]}" if sign[0] in "%&$#_{}" else " ", words)
