"""Which runs only one of two releases has, and which count in only one of them."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from ccreport.publish.changes.differences import ReleaseFolder
from ccreport.trace.rows.candidates import explain_uncounted

# What tells whether a run could count; releases of older versions have less.
COUNTED_BY: Final = ("is_counted", "is_interrupted", "throughput_bps", "is_host_limited", "is_cpu_bound")

Names = tuple[tuple[str, tuple[str, ...]], ...]


def name_sides(old: ReleaseFolder, new: ReleaseFolder) -> tuple[str, str]:
    """Return how two releases are called, by their versions where these tell them apart."""
    if old.version and new.version and old.version != new.version:
        return f"version {old.version}", f"version {new.version}"
    return "the former release", "the later release" if new.version else "this build"


def list_other_runs(old: ReleaseFolder, new: ReleaseFolder) -> Names:
    """Return the runs that only one release has, and of both those that only one leaves out; all with the reason."""
    before, after = name_sides(old, new)
    was, is_now = explain_left_out(old), explain_left_out(new)
    alone = ((before, old.runs - new.runs, was), (after, new.runs - old.runs, is_now))
    names = [(f"runs only in {side}", _describe(runs, reasons)) for side, runs, reasons in alone if runs]
    both = old.runs & new.runs
    for side, reasons, others in ((before, was, is_now), (after, is_now, was)):
        if runs := {run for run in both if run in reasons and run not in others}:
            names.append((f"runs left out of all means only in {side}", _describe(runs, reasons)))
    return tuple(names)


def _describe(runs: set[str], reasons: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{run} (left out of all means: {reasons[run]})" if run in reasons else run for run in sorted(runs))


def explain_left_out(side: ReleaseFolder) -> dict[str, str]:
    """Return why runs of a release count in no mean: the rule by which each is suspect, or what else is true of it."""
    left_out: dict[str, str] = {}
    if not side.config.get("include_suspect"):
        files = sorted((side.folder / "tables/suspects").glob("*.parquet"))
        rules = [pl.read_parquet(file, columns=["run_id", "suspect_rule"], glob=False) for file in files]
        if rules:
            pairs = pl.concat(rules).unique().sort("run_id", "suspect_rule").group_by("run_id", maintain_order=True)
            told = pairs.agg(pl.col("suspect_rule").str.join(", "))
            left_out = {run: f"suspect by {names}" for run, names in told.iter_rows()}
    for file in sorted((side.folder / "tables/runs").glob("*.parquet")):
        if set(COUNTED_BY) <= set(pl.read_parquet_schema(file)):
            runs = pl.read_parquet(file, columns=["run_id", *COUNTED_BY], glob=False)
            told = runs.select("run_id", explain_uncounted()).drop_nulls()
            left_out |= dict(told.iter_rows())
    return left_out
