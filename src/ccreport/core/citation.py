"""CITATION.cff: whom to name."""

from collections.abc import Mapping


def name_author(author: Mapping[str, str]) -> str:
    """Return the name of an author, which is an entity's or a person's in parts."""
    parts = (author.get(part) for part in ("given-names", "name-particle", "family-names", "name-suffix"))
    return author.get("name") or " ".join(part for part in parts if part)
