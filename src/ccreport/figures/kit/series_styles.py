"""Names and colours of the series of an edge network's figures."""

from collections.abc import Sequence

from ccreport.core.text import display_name
from ccreport.figures.kit import theme


def style_series(series: Sequence[str]) -> dict[str, str]:
    """Return for each series, in the order in which figures name them, the algorithm whose colour and dash it has.

    A series that is called as an algorithm has that one's, by its kernel name where another name means it too; others
    have those that are left, in order.
    """
    usual = {style.name: cc for cc, style in theme.STYLES.items()}
    named = usual | {theme.style_of(cc).name: cc for cc in theme.STYLES} | {cc: cc for cc in theme.STYLES}
    own = {name: named[name] for name in series if name in named and (named[name] == name or named[name] not in series)}
    taken = {theme.STYLES[cc].colour for cc in own.values()}
    free = iter(cc for cc, style in theme.STYLES.items() if style.colour not in taken and cc != "bbr1")
    chosen = {name: own[name] if name in own else next(free, "") for name in sorted(series)}
    known = theme.order_algorithms(set(chosen.values()))
    return dict(sorted(chosen.items(), key=lambda item: (known.index(item[1]), item[0])))


def name_series(series: str) -> str:
    """Return a series' name as figures show it: it may come from a path of the archive."""
    return display_name(series)
