"""Figures over made-up conditions, plotted and read back."""

import re
from pathlib import Path
from typing import Any

import polars as pl
from condition_runs import Rows, build_database, gather, make_run, write_evaluation

from ccreport.figures.select.declaration import read_declaration
from ccreport.figures.write import plot_declaration

HOSTILE = '"><script>x</script>\n{{< y >}}'


def plot(folder: Path, tables: Rows, **figure: Any) -> Path:
    database = folder / "archive.duckdb"
    if not database.exists():
        build_database(folder, tables)
    declaration = read_declaration(write_evaluation(folder, **figure), "f")
    plot_declaration(declaration, database, folder / "out")
    return folder / "out"


def read(output: Path, name: str) -> str:
    return (output / name).read_text(encoding="utf-8")


def read_means(output: Path) -> pl.DataFrame:
    return pl.read_csv(output / "figure.csv").filter(drawn_as="mean")


def texts_of(output: Path) -> list[str]:
    return re.findall(r">([^<>]+)</(?:text|tspan)>", read(output, "figure.svg"))


def sweep(column: str, values: tuple[Any, ...], **facts: Any) -> Rows:
    """Return two runs at each value: CUBIC with 10 and 12, BBR with 30 and 34 Mbit/s, over 1, 2, … by place."""
    return gather(
        *(
            make_run(
                10 * place + repeat,
                {"cubic": (10.0 + 2 * repeat) / (place + 1), "bbr": (30.0 + 4 * repeat) / (place + 1)},
                **{column: value},
                **facts,
            )
            for place, value in enumerate(values)
            for repeat in (0, 1)
        )
    )
