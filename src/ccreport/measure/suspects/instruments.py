"""Rules by which the instruments themselves tell that the host was busy with something else."""

from typing import Final

import polars as pl

from ccreport.measure.suspects.rule import Rule

SAMPLE_GAP: Final = Rule(
    name="sample_gap",
    label="a gap between samples of ss",
    definition="The longest time between two stamps of `ss` is more than twice their median distance.",
    reason=(
        "A sampler that only wakes up late within an interval leaves at most two intervals between two stamps. After "
        "more than that its host did not run it, and may not have run the sender either."
    ),
    unit="s",
    observed=pl.col("sample_gap_max_s"),
    bound=2 * pl.col("sample_interval_s"),
)

CLOCK_STEP: Final = Rule(
    name="clock_step",
    label="the clock stepped",
    definition=(
        "From one sample of `ss` to the next, with data outstanding at both, the clock of the samples and the "
        "kernel's count of busy time (median over flows) moved by amounts that differ by more than the sampling "
        "interval, and no neighbouring sample takes that back."
    ),
    reason=(
        "The kernel counts busy time by a clock that nobody sets. A sample that is read late shifts only itself, and "
        "is at most an interval late, or the next would have been due; a step stays."
    ),
    unit="s",
    observed=pl.col("clock_step_s"),
    bound=pl.col("sample_interval_s"),
)

KERNEL_DROPS: Final = Rule(
    name="kernel_drops",
    label="drops outside the declared path",
    definition=(
        "The testbed's kernel dropped packets or shortened queues elsewhere than where the path is declared to drop."
    ),
    reason="The declared path is all that may drop packets; the first drop anywhere else is a loss of another cause.",
    unit="events",
    observed=pl.col("host_drops_count"),
    bound=pl.lit(0),
)
