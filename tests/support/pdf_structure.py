"""Tags of a PDF: what a screen reader would miss."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pikepdf


def find_faults(path: Path) -> list[str]:
    """Return skipped levels of headings, pictures and formulas without words for them, and tables without headings."""
    with pikepdf.open(path) as pdf:
        tags = list(_list_tags(pdf.Root.StructTreeRoot.K))
        levels = [int(kind[1:]) for kind, _ in tags if kind[0] == "H" and kind[1:].isdigit()]
        faults = [f"H{level} after H{above}" for above, level in pairwise([0, *levels]) if level > above + 1]
        faults += [f"{kind} without /Alt" for kind, tag in tags if kind in ("Figure", "Formula") and "/Alt" not in tag]
        tables = [[kind for kind, _ in _list_tags(tag.K)] for kind, tag in tags if kind == "Table"]
        return faults + ["Table without TH" for kinds in tables if "TH" not in kinds]


def _list_tags(tags: pikepdf.Object) -> Iterator[tuple[str, pikepdf.Object]]:
    if isinstance(tags, pikepdf.Array):
        for tag in tags:
            yield from _list_tags(tag)
    elif isinstance(tags, pikepdf.Dictionary):
        if "/S" in tags:
            yield str(tags.S).removeprefix("/"), tags
        if "/K" in tags:
            yield from _list_tags(tags.K)
