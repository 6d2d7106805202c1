"""Tables as CSV that a spreadsheet program shows and does not run.

Spreadsheets take a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return for a formula, quoted or not
(OWASP, "CSV Injection"), and names in a table are an archive's. So a *text* that begins like that gets an apostrophe in
front; one that begins with apostrophes and then like that gets one more, so that the rule can be undone. Numbers, times
and booleans are never changed: `-1.5` in a column of numbers is a number to every program. A text that is a number in
full (`-1`) is left as it is too, since it runs nothing.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

# =1+1 · '@x · -cmd, and not -1.5e3
RUNS: Final = r"^('*)([=+\-@\t\r\n＝＋－＠])"
NUMBER: Final = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
MARKED: Final = re.compile(r"'(?='*[=+\-@\t\r\n＝＋－＠])")


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV: a header, then a line for each row; null is an empty cell."""
    mark_texts(frame).write_csv(path)


def format_csv(frame: pl.DataFrame) -> str:
    """Return a table as CSV, as `write_csv` writes it."""
    return mark_texts(frame).write_csv()


def mark_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose texts no spreadsheet program runs."""
    return frame.select(_mark(name, kind) for name, kind in frame.schema.items())


def _mark(name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(f"^{re.escape(name)}$") if name.startswith("^") else pl.col(name)
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        return column
    texts = column.cast(pl.String)
    runs = texts.str.contains(RUNS) & ~texts.str.contains(NUMBER)
    return pl.when(runs).then(pl.lit("'") + texts).otherwise(texts).alias(name)


def restore_text(cell: str) -> str:
    """Return the text that a cell of such a file stands for."""
    return MARKED.sub("", cell, count=1) if MARKED.match(cell) else cell
