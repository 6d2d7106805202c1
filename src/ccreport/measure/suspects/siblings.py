"""Rules that compare a run with its siblings, by the median and the median absolute deviation (MAD).

Both stay where they are as long as fewer than half of the runs are disturbed. A deviation of 3.5 standard deviations,
each estimated as 1.4826 MAD, makes an outlier (B. Iglewicz and D. Hoaglin, How to Detect and Handle Outliers, ASQC
1993). Siblings may agree by chance, or exactly in virtual time, and then the MAD is next to nothing: a deviation of
less than a tenth is none.
"""

from typing import Final

import polars as pl

from ccreport.measure.suspects.rule import Rule

# Besides the run itself.
SIBLINGS_AT_LEAST: Final = 3
OUTLIER: Final = 3.5
# Standard deviations of a normal distribution in a MAD.
MAD_SCALE: Final = 1.4826
# Of the siblings' median rate, or of a processor's time.
TENTH: Final = 0.1
TENTH_PCT: Final = 10.0

# Runs that differ by nothing but chance.
CONDITION: Final = ("condition_id", "mode")
# What the path is, whoever sends: an RTT that was measured differs from run to run, and is left out.
PATH: Final = (
    *("host", "sender_host", "rtt_nominal_ms", "loss_pct", "buffer_bytes", "limit_packets_count", "pacing_bps"),
    *("bottleneck_bps", "background_udp_bps", "nic_bps", "mtu_bytes", "queue_discipline", "stages_json"),
    *("parameter_name", "parameter_value", "flows_count", "volume_bytes", "tool"),
)

RATE_BPS: Final = pl.coalesce("goodput_bps", "throughput_bps")


def _median(values: pl.Expr, keys: tuple[str, ...]) -> pl.Expr:
    return pl.when(values.count().over(keys) > SIBLINGS_AT_LEAST).then(values.median().over(keys))


def _spread(values: pl.Expr, keys: tuple[str, ...], floor: pl.Expr | float) -> pl.Expr:
    """Return how far from the median of its siblings a value may be."""
    mad = (values - values.median().over(keys)).abs().median().over(keys)
    return pl.max_horizontal(OUTLIER * MAD_SCALE * mad, floor)


PATH_RATE_BPS: Final = _median(RATE_BPS, PATH)
IS_WITHOUT_LOSS: Final = pl.col("retransmits_count") == 0
# The congestion window would have carried the siblings' rate.
IS_WINDOW_ENOUGH: Final = pl.col("window_bps") >= PATH_RATE_BPS
# A run that waited for a share of its time for a window or its application may have lost that share of its rate.
IS_LIMIT_TOO_SMALL: Final = pl.col("limited_ratio") < 1 - RATE_BPS / PATH_RATE_BPS
# An algorithm none of whose runs reaches the others' rate is slower, not disturbed.
IS_RATE_REACHED: Final = RATE_BPS.max().over(*PATH, "mode") >= (1 - TENTH) * PATH_RATE_BPS

RATE: Final = Rule(
    name="rate_below_siblings",
    label="slower than others over the path",
    definition=(
        "The rate (goodput, else throughput) is further below the median of the runs over the same path, whichever "
        "their algorithm, than 3.5 · 1.4826 MAD and than a tenth of it, although no segment was retransmitted, the "
        "mean congestion window would have carried that median over the smallest RTT, waiting for the receive window, "
        "the send buffer or the application took a smaller share of the time than is missing of the rate, and another "
        "run of the same algorithm came within a tenth of it."
    ),
    reason=(
        "A sender that loses nothing and waits for no window and no application is limited by the path alone, which "
        "is the same for every algorithm. Outliers by median and MAD: Iglewicz and Hoaglin 1993."
    ),
    unit="bit/s",
    observed=RATE_BPS,
    bound=PATH_RATE_BPS - _spread(RATE_BPS, PATH, TENTH * PATH_RATE_BPS),
    is_minimum=True,
    condition=IS_WITHOUT_LOSS & IS_WINDOW_ENOUGH & IS_LIMIT_TOO_SMALL & IS_RATE_REACHED,
)


def _load_rule(side: str) -> Rule:
    load = pl.col(f"cpu_{side}_busiest_pct")
    return Rule(
        name=f"{side}_cpu_above_siblings",
        label=f"a busier processor of the {side} than others of the condition",
        definition=(
            f"The busiest processor of the {side} had a load further above the median of the runs of the same "
            "condition and algorithm than 3.5 · 1.4826 MAD and than 10 percentage points."
        ),
        reason=(
            "The same transfer costs the same work, so that the rest was done for something else. Outliers by median "
            "and MAD: Iglewicz and Hoaglin 1993."
        ),
        unit="%",
        observed=load,
        bound=_median(load, CONDITION) + _spread(load, CONDITION, TENTH_PCT),
    )


SENDER_CPU: Final = _load_rule("sender")
RECEIVER_CPU: Final = _load_rule("receiver")
