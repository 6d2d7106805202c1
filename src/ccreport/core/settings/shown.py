"""What pages show of a configuration: all that is declared of the results, whichever files they come from and go to."""

from collections.abc import Mapping
from typing import Any, Final

# Where results lie, and how files come and go.
UNSHOWN: Final = frozenset({"connections_count", "offline", "pathvars", "store_results", "verify"})
UNSHOWN_OF_RELEASE: Final = frozenset({"pack", "replace", "target"})


def select_shown(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with the keys that pages show."""
    shown = {key: value for key, value in config.items() if key not in UNSHOWN}
    return shown | {
        "release": {key: value for key, value in config["release"].items() if key not in UNSHOWN_OF_RELEASE}
    }


def list_unshown() -> list[str]:
    """Return the keys that no page shows, those of a group with its name, as `release.target`."""
    return sorted((*UNSHOWN, *(f"release.{key}" for key in UNSHOWN_OF_RELEASE)))
