"""Which claims of an evaluation are of a publication, and which checks quote it."""

from collections.abc import Mapping
from typing import Any


def is_published(facts: Mapping[str, Any]) -> bool:
    """Tell whether a claim is of a publication, by words or a value of it in some check."""
    return any(key in check for check in facts["checks"] for key in ("quote", "paper"))


def tell_quotes(claims: Mapping[str, Any]) -> str:
    """Return whether the checks of an evaluation's claims quote a publication; nothing where none does."""
    quoted = ["quote" in check for facts in claims.values() for check in facts["checks"]]
    checks = "Each check quotes" if all(quoted) else "Some checks quote"
    return f"{checks} the publication’s wording behind its bounds." if any(quoted) else ""
