"""Names and colours of the series of an edge network's figures."""

from collections.abc import Sequence

from ccreport.core.text import display_name
from ccreport.figures.kit import theme


def style_series(series: Sequence[str]) -> dict[str, str]:
    """Return for each series, in the order in which figures name them, the algorithm whose colour and dash it has.

    A series that is called as an algorithm has that one's, others those that are left, in order.
    """
    named = {style.name: cc for cc, style in theme.STYLES.items()} | {cc: cc for cc in theme.STYLES}
    own = {one: named[one] for one in series if one in named}
    taken = {theme.STYLES[cc].colour for cc in own.values()}
    free = iter(cc for cc, style in theme.STYLES.items() if style.colour not in taken and cc != "bbr1")
    chosen = {one: own[one] if one in own else next(free, "") for one in sorted(series)}
    known = theme.order_algorithms(set(chosen.values()))
    return dict(sorted(chosen.items(), key=lambda item: (known.index(item[1]), item[0])))


def name_series(series: str) -> str:
    """Return a series' name as figures show it: it may come from a path of the archive."""
    return display_name(series)
