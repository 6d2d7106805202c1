"""Pages that a report has nothing for: left out with what leads to them, and with the sections that explain them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def name_absent(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return what says among the variables of the pages which are absent, by their names without ending."""
    return {"absent": {"pages": " ".join(names)}}


def list_absent(variables: Mapping[str, Any]) -> list[str]:
    """Return the names of absent pages that the variables of the pages have."""
    pages: str = variables.get("absent", {}).get("pages", "")
    return pages.split()


def leave_out_pages(folder: Path, names: Sequence[str]) -> None:
    """Remove pages from a folder of pages and fragments; of links to them and to their sections the words stay.

    An item of a list that begins with such a link goes with it. A section of another page whose label is `sec-` and the
    name of a page explains that page, and goes with it.
    """
    if not names:
        return
    alternatives = "|".join(map(re.escape, names))
    # ## Reproduction {#sec-reproduction} · [Each pair in numbers](reproduction.qmd#paper)
    section = re.compile(rf"^## [^\n]*\{{#sec-(?:{alternatives})\}}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    link = re.compile(rf"\[([^\]]*)\]\((?:(?:{alternatives})\.qmd[^)]*|\w+\.qmd#sec-(?:{alternatives}))\)")
    # - [which claims do not hold](claims.qmd), and why;
    item = re.compile(rf"^- {link.pattern}[^\n]*\n", re.MULTILINE)
    for name in names:
        (folder / f"{name}.qmd").unlink()
    for page in sorted((*folder.glob("*.qmd"), *folder.glob("fragments/*.md"))):
        text = page.read_text(encoding="utf-8")
        shortened = link.sub(r"\1", item.sub("", section.sub("", text)))
        if shortened != text:
            page.write_text(shortened, encoding="utf-8")
