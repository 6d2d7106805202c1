"""Which columns are the ends of the interval of another one, by their names."""

from collections.abc import Collection


def find_ends(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the columns of the lower and the upper end of an interval, by the column of the number between.

    That is the mean, where there is one beside a number of nearly the same name: `rate_low_bps` and `rate_high_bps` are
    of `rate_mean_bps`, and those of `retransmit_mean_ratio` not of `retransmit_ratio`. A CV is a number of its own.
    """
    ends = {}
    for low in names:
        before, _, after = f"_{low}_".partition("_low_")
        mean, number, high = (f"{before}{word}{after}".strip("_") for word in ("_mean_", "_", "_high_"))
        between = mean if mean in names else number
        if between != low and between in names and high in names:
            ends[between] = (low, high)
    return ends
