"""ccreport itself, as the first page has it cited."""

from pathlib import Path

import yaml

from ccreport.core.text import name_author
from ccreport.figures.wording.runs import join_names
from ccreport.report.markup.escape import escape_text


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
