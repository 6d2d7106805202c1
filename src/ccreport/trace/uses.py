"""Uses of runs: the tables and figures that each is for, which the explorer and lists of runs name."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.figures.exhibits import Exhibit, list_exhibits
from ccreport.figures.select.declaration import RUNS, choose_view
from ccreport.summarise.database import quote_name
from ccreport.summarise.open_database import open_database
from ccreport.summarise.suspect_runs import include_suspects

SCHEMA: Final = {"run_id": pl.String, "kind": pl.String, "number": pl.String}
# What numbers of our own begin with.
OURS: Final = "S"
IS_PUBLISHED: Final = ~pl.col("number").str.starts_with(OURS)


def list_uses(database: Path, declared: Mapping[str, Any], figures: Path | None = None) -> pl.DataFrame:
    """Return a row for each run and each exhibit whose condition it meets, in the order of the pages.

    `kind` is Table or Figure, `number` that of the exhibit. The publication's tables and all numbered figures with data
    are among them, but for figures of all runs, of tables and of RPCs. Without the folder of `figures` all are taken to
    have data. Suspect runs are listed as if they counted.
    """
    with open_database(database) as connection, include_suspects(connection):
        found: list[pl.DataFrame] = [
            connection.sql(f"SELECT DISTINCT run_id FROM ({query}) ORDER BY run_id")  # noqa: S608 (the evaluation's own)
            .pl()
            .with_columns(kind=pl.lit("Figure" if exhibit.is_figure else "Table"), number=pl.lit(exhibit.number))
            for exhibit, query in _list_queries(declared, figures)
        ]
    return pl.concat([pl.DataFrame(schema=SCHEMA), *found])


def _list_queries(declared: Mapping[str, Any], figures: Path | None) -> Iterator[tuple[Exhibit, str]]:
    for table in list_exhibits(declared["tables"]):
        if table.name in declared["reproduction"]:
            yield table, f"FROM {quote_name(f'{table.name}_runs')}"
    for figure in list_exhibits(declared["figures"], figures):
        facts = declared["figures"][figure.name]
        is_of_runs = choose_view(facts["kind"], facts.get("table", "")) == RUNS
        # Without a publication, a run is for none of the figures rather than another.
        is_told = figure.number.startswith(OURS) or not figure.is_ours
        if is_told and not figure.is_missing and is_of_runs and facts["where"].strip() != "TRUE":
            yield figure, f"FROM {RUNS} WHERE (\n{facts['where']}\n)"


def is_published(uses: pl.DataFrame) -> bool:
    """Tell whether one of some rows of `list_uses` is an exhibit of the publication."""
    return not uses.filter(IS_PUBLISHED).is_empty()


def list_published(uses: pl.DataFrame) -> pl.DataFrame:
    """Return `run_id` and `exhibit`, such as Table II, of the rows of `list_uses` that are of the publication."""
    return uses.filter(IS_PUBLISHED).select("run_id", exhibit=pl.format("{} {}", "kind", "number"))


def name_uses(uses: pl.DataFrame) -> str:
    """Return the exhibits of some rows of `list_uses` in a few words, empty without any.

    Those of the publication, `Table II; Figures 2–5, 7`, or, without one, ours: `Figures S1, S3–S5`.
    """
    exhibits = uses.select("kind", "number").unique(maintain_order=True)
    published = exhibits.filter(IS_PUBLISHED)
    parts = []
    for kind in ("Table", "Figure"):
        numbers = (exhibits if published.is_empty() else published).filter(kind=kind)["number"].to_list()
        if numbers:
            parts.append(f"{kind}{'s' if len(numbers) > 1 else ''} {', '.join(_join_ranges(numbers))}")
    return "; ".join(parts)


def _join_ranges(numbers: list[str]) -> Iterator[str]:
    """Yield numbers, three and more that follow each other as a range: `2–5`, `S3–S5`."""
    ordered = sorted(numbers, key=lambda name: int(digits[0]) if (digits := re.search(r"\d+", name)) else 0)
    ranges: list[list[str]] = []
    for name in ordered:
        if ranges and name == _follow(ranges[-1][-1]):
            ranges[-1].append(name)
        else:
            ranges.append([name])
    for names in ranges:
        yield from [f"{names[0]}–{names[-1]}"] if len(names) > 2 else names


def _follow(name: str) -> str:
    """Return the number behind one in digits, S4 behind S3; nothing follows Roman numerals."""
    digits = re.search(r"\d+$", name)
    return f"{name[: digits.start()]}{int(digits[0]) + 1}" if digits else ""
