"""How evenly flows share what there is."""

import polars as pl


def jain_index(rates: pl.Expr) -> pl.Expr:
    """Return Jain's index of a group's rates, (Σx)² / (n Σx²): 1 if all are equal, 1/n if one has all (RFC 5166).

    Null where no rate is known or all are 0.
    """
    known = rates.drop_nulls()
    squares = known.len() * (known**2).sum()
    return pl.when(squares > 0).then((known.sum() ** 2 / squares).clip(0, 1))
