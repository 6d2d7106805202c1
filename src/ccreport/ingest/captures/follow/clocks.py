"""Whether one clock stamped both directions of a connection; where two did, differences between them are not times."""

from ccreport.ingest.captures.decode.layout import ABSENT, numba_function, numba_inline
from ccreport.ingest.captures.follow import state as at


@numba_inline
def compare_clocks(state: at.State, side: int, time: int) -> None:
    """Mark the connection where one direction's clock runs on while it is behind that of the other.

    A clock that is set back takes both directions along: there a packet is before the last of its own direction too.
    """
    links, link = state.links, side >> 1
    own, other = at.OUT_TIME + (side & 1), at.IN_TIME - (side & 1)
    is_behind = time < links[link, other] - at.CLOCKS_DIFFERENCE and 0 < links[link, own] <= time
    if is_behind and links[link, at.HAS_TWO_CLOCKS] == 0:
        _drop_rtts(state, link)
    elif time < links[link, own] - at.CLOCKS_DIFFERENCE:
        # Set back: what the other direction said before does not count.
        links[link, other] = min(links[link, other], time)
    links[link, own] = time


@numba_function
def _drop_rtts(state: at.State, link: int) -> None:
    """Note that the directions of a connection have two clocks, and take back its RTTs of before that was seen."""
    sides, totals = state.sides, state.totals
    state.links[link, at.HAS_TWO_CLOCKS] = 1
    totals[at.TWO_CLOCKS_LINKS] += 1
    for side in range(2 * link, 2 * link + 2):
        for fact in (at.ACK_RTT_SAMPLES, at.TIMESTAMP_RTT_SAMPLES, at.SRTT, at.RTTVAR):
            sides[side, fact] = 0
        for fact in (at.STEP_RTT_SAMPLES, at.STEP_RTT_SUM, at.STEP_RTT_MAX):
            sides[side, at.STEP + fact] = 0
        sides[side, at.ACK_RTT_MIN] = sides[side, at.TIMESTAMP_RTT_MIN] = ABSENT
        sides[side, at.STEP + at.STEP_RTT_MIN] = ABSENT
        for fact in (at.ACK_SKETCH, at.TIMESTAMP_SKETCH):
            sides[side, fact] = ABSENT
