"""Where a line's name fits beside it: direct labels that touch no other data and cannot be taken for another line's.

All positions are in px of the plot area, y downward as on the screen.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt

Point = tuple[float, float]
Heights = npt.NDArray[np.float64]

CHARACTER_PX: Final = 9.0
LABEL_HEIGHT_PX: Final = 16.0
# Free space between a label and its own line, and the least between it and any other.
DISTANCES_PX: Final = (4.0, 9.0, 14.0)
CLEARANCE_PX: Final = 16.0
# Of a bar that is as high as a plot, points are less than two labels apart.
BAR_PARTS: Final = 12
# Lines that are nowhere farther apart are one line to the eye.
APART_PX: Final = 1.5


def place_labels(
    names: Mapping[str, str],
    lines: Mapping[str, Sequence[Point]],
    obstacles: Sequence[Point],
    width_px: int,
    height_px: int,
    clearance_px: float = CLEARANCE_PX,
) -> dict[str, Point]:
    """Return the middle of each label that fits close above or below its line, as far to the right as one fits.

    `names` has the text and `lines` the points of each series, in order of x. Labels keep `clearance_px` from all
    other lines but those on the far side of their own, and clear of the obstacles and of earlier labels; one without a
    free place is left out.
    """
    profiles = {key: _trace(line, width_px) for key, line in lines.items()}
    blocked = list(obstacles)
    placed: dict[str, Point] = {}
    for key, name in names.items():
        label_px = int(len(name) * CHARACTER_PX)
        others = [profile for other_key, profile in profiles.items() if other_key != key]
        places = _find_places(profiles[key], others, blocked, (label_px, clearance_px), height_px)
        if places:
            placed[key] = places[0]
            blocked += cover_label(name, places[0])
    return placed


def cover_label(name: str, middle: Point) -> list[Point]:
    """Return points along a name, so close that no label fits between two, for others to keep clear of."""
    half_px = len(name) * CHARACTER_PX / 2
    count = math.ceil(2 * half_px / LABEL_HEIGHT_PX) + 1
    return [(float(x), middle[1]) for x in np.linspace(middle[0] - half_px, middle[0] + half_px, count)]


def list_bar_points(lows: Sequence[Point], highs: Sequence[Point]) -> list[Point]:
    """Return points along the bar from each low end to its high one, so close that no label fits between two."""
    return [
        (x, low + (high - low) * part / BAR_PARTS)
        for (x, low), (_, high) in zip(lows, highs, strict=True)
        for part in range(BAR_PARTS + 1)
    ]


def _trace(line: Sequence[Point], width_px: int) -> Heights:
    """Return the height of a line at every px of the width, NaN before its first and after its last point."""
    across, down = np.array(line, dtype=np.float64).reshape(-1, 2).T
    if not len(across):
        return np.full(width_px + 1, np.nan)
    return np.interp(np.arange(width_px + 1), across, down, left=np.nan, right=np.nan)


def _find_places(
    own: Heights, others: Sequence[Heights], blocked: Sequence[Point], size_px: tuple[int, float], height_px: int
) -> list[Point]:
    """Return the free places, nearest to the line first, then from right to left, then above it."""
    label_px, clearance_px = size_px
    if label_px > len(own):
        return []
    highest, lowest = _range_in_windows(own, label_px)
    crossed = [(_range_in_windows(profile, label_px), _range_in_windows(profile - own, label_px)) for profile in others]
    left = np.arange(len(highest), dtype=np.float64)
    places: list[tuple[float, Point]] = []
    for distance, is_above in product(DISTANCES_PX, (True, False)):
        middle = highest - distance - LABEL_HEIGHT_PX / 2 if is_above else lowest + distance + LABEL_HEIGHT_PX / 2
        reach = LABEL_HEIGHT_PX / 2
        free = ~np.isnan(own[: len(left)]) & ~np.isnan(own[label_px - 1 :])
        free &= (middle > reach) & (middle < height_px - reach)
        for (top, bottom), (least, most) in crossed:
            is_beyond = (least >= 0) & (most > APART_PX) if is_above else (most <= 0) & (least < -APART_PX)
            is_near = (top < middle + reach + clearance_px) & (bottom > middle - reach - clearance_px)
            free &= is_beyond | ~is_near
        for x, y in blocked:
            free &= (np.abs(left + label_px / 2 - x) > label_px / 2 + reach) | (np.abs(middle - y) > 2 * reach)
        places += [(distance, (float(at + label_px / 2), float(middle[at]))) for at in np.flatnonzero(free)]
    return [place for _, place in sorted(places, key=lambda found: (found[0], -found[1][0]))]


def _range_in_windows(heights: Heights, label_px: int) -> tuple[Heights, Heights]:
    """Return the smallest and largest height under a label at each place; NaN where the line is absent under it."""
    windows = np.lib.stride_tricks.sliding_window_view(heights, label_px)
    return np.fmin.reduce(windows, axis=1), np.fmax.reduce(windows, axis=1)
