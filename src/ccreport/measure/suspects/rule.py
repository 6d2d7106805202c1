"""What a rule is that finds suspect runs: an observed quantity, its bound, and why the bound is there."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Rule:
    """A rule over the runs of a whole archive, one row a run.

    `observed` and `bound` are quantities in `unit`, null where a run does not tell; a run breaks the rule where
    `observed` is on the wrong side of `bound` (above, or below if `is_minimum`) and `condition` is true.
    `definition` says this in words, `label` in a few, `reason` where the bound comes from.
    """

    name: str
    label: str
    definition: str
    reason: str
    unit: str
    observed: pl.Expr
    bound: pl.Expr
    is_minimum: bool = False
    condition: pl.Expr = pl.lit(value=True)  # noqa: RUF009 (an expression is immutable)

    def find(self, runs: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of `suspects` of the runs that break the rule."""
        is_broken = self.observed < self.bound if self.is_minimum else self.observed > self.bound
        judged = runs.select(
            "run_id",
            suspect_rule=pl.lit(self.name),
            observed=self.observed.cast(pl.Float64),
            bound=self.bound.cast(pl.Float64),
            bound_unit=pl.lit(self.unit),
            is_broken=(is_broken & self.condition).fill_null(value=False),
        )
        return judged.filter("is_broken").drop("is_broken")
