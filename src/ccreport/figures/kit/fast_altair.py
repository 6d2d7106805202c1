"""Charts put together as fast as drawing needs it: by reference, and without a check of every piece."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import altair as alt
from altair.utils.schemapi import debug_mode

# What Altair asks an object for when it copies a chart with all that is in it.
HOOK: Final = "__deepcopy__"


@contextmanager
def compose_by_reference() -> Iterator[None]:
    """Let charts that become part of another stay the same objects, unchecked.

    Altair would copy all of a chart each time, once for every level above it, and check every piece as it is made: half
    of the time of a figure. Here nothing is changed that is part of a chart already, and tests check figures against
    Vega-Lite's schema. The drawing instructions are the same, byte for byte.
    """
    with debug_mode(False):
        setattr(alt.TopLevelMixin, HOOK, _copy_top)
        try:
            yield
        finally:
            delattr(alt.TopLevelMixin, HOOK)


def _copy_top(chart: Any, _: object = None) -> Any:
    return chart.copy(deep=False)
