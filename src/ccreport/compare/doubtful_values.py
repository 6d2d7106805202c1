"""What an evaluation declares and its archive does not have, or has in another unit: said after a build.

An evaluation that comes with the pipeline is for any archive, so that nothing is said of what one archive lacks.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.algorithms import NAMES, suggest_name
from ccreport.core.configuration import LISTS_RUNS
from ccreport.core.declared_files import DeclarationError, blame
from ccreport.core.evaluation import EVALUATIONS, SHIPPED, load_evaluation
from ccreport.core.identifiers import match_runs
from ccreport.core.schema_problems import Place, format_place
from ccreport.core.text import count_things
from ccreport.summarise.database import connect, has_rows, quote_name
from ccreport.summarise.label_values import list_unmet
from ccreport.summarise.published import PUBLISHED_VALUES, list_cells

Doubts = Iterator[tuple[Place, str]]
ALL: Final = "TRUE"
# Powers of ten between units, and between a ratio and per cent.
BETWEEN_UNITS: Final = (-9, -6, -3, 3, 6, 9)
BETWEEN_PERCENT: Final = (-2, 2)
# Rates of two archives differ by less than thousandfold, other quantities may not.
RATE: Final = "bit/s"
NEARLY: Final = math.log10(2)
SCALE_OF_QUOTIENT: Final = "scale x of the dividend alone, as by `if(is_divisor, 1, 100)`, or it cancels out"


def list_doubtful_values(results: Path, evaluation: Path) -> Iterator[DeclarationError]:
    """Yield what to say of each doubtful value of an evaluation, with its line; `results` is the folder of its own.

    So of texts in conditions, as `list_unmet` does. Nothing is doubtful before there is a database.
    """
    if not (database := results / "archive.duckdb").exists():
        return
    yield from list_unmet(database, evaluation)
    declared = load_evaluation(evaluation)
    numbers = _read_numbers(results / f"summaries/{PUBLISHED_VALUES}.parquet", declared["published"])
    doubts = _list_other_units(numbers, declared["published"])
    with connect(database) as connection:
        is_shipped = evaluation.stem in SHIPPED and evaluation.resolve().parent == EVALUATIONS.resolve()
        if not is_shipped and has_rows(connection, "labelled_runs"):
            missing = _list_missing_numbers(numbers, declared["published"])
            cases, tables = _list_cases(connection, declared["labels"]), _list_tables(connection, declared["tables"])
            runs = _list_runs(connection, declared["figures"])
            doubts = itertools.chain(_list_shared_names(connection, declared), doubts, cases, tables, runs, missing)
        for place, said in doubts:
            yield blame(evaluation, DeclarationError(f"{format_place(place)}: {said}", place))


def _list_shared_names(connection: duckdb.DuckDBPyConnection, declared: Mapping[str, Any]) -> Doubts:
    """Yield each algorithm of the archive whose usual name the evaluation gives to another one."""
    own = declared["algorithm_names"]
    others = {name: cc for cc, name in own.items()}
    for (cc,) in connection.table("algorithms").select("cc").order("cc").fetchall():
        if cc not in own and (name := NAMES.get(cc, "")) in others:
            is_group = name in declared["algorithms"]
            place: Place = ("algorithms", name) if is_group else ("algorithm_names", others[name])
            free = suggest_name(cc, [*declared["algorithms"], *others])
            said = f"`{name}` is {others[name]}, so that the archive's {cc} goes by the kernel's name"
            yield place, f"{said}; `algorithm_names: {{{cc}: {free}}}` gives it another"


def _read_numbers(path: Path, published: Mapping[str, Any]) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the rows of `published_values` by the names of their exhibits and the numbers of their cells."""
    rows = pl.read_parquet(path).to_dicts() if published and path.exists() else []
    found = {(row["exhibit"], row["cell"]): row for row in rows}
    return {
        exhibit: {
            number: found[facts["title"], cell]
            for number, (cell, _, _) in enumerate(list_cells(facts))
            if (facts["title"], cell) in found
        }
        for exhibit, facts in published.items()
    }


def _list_other_units(numbers: Mapping[str, Mapping[int, Mapping[str, Any]]], published: Mapping[str, Any]) -> Doubts:
    """Yield the first number that is off by a unit of each exhibit of which half the numbers are, or any rate is."""
    for exhibit, rows in numbers.items():
        facts = published[exhibit]
        ratios = {number: row["value_ratio"] for number, row in rows.items() if (row["value_ratio"] or 0) > 0}
        powers = {number: _find_power(ratio, facts["unit"]) for number, ratio in ratios.items()}
        counts = Counter(power for power in powers.values() if power is not None)
        for power, count in counts.most_common(1):
            if RATE not in facts["unit"] and 2 * count < len(ratios):
                continue
            number = next(number for number, other in powers.items() if other == power)
            times = f"{10 ** abs(power):,} times as much" if power > 0 else f"1/{10**-power:,} of it"
            published_value, found = (rows[number][name] for name in ("published_value", "found_mean"))
            told = f"{published_value:g} {facts['unit']} is published and `sql` gives {found:.3g}"
            advice = SCALE_OF_QUOTIENT if facts["is_quotient"] else "compare `unit` with the unit of x over y"
            yield ("published", exhibit, "cells", number), f"{told}, about {times}; {advice}"


def _find_power(ratio: float, unit: str) -> int | None:
    powers = (*BETWEEN_UNITS, *(BETWEEN_PERCENT if unit.startswith("%") else ()))
    return next((power for power in powers if abs(math.log10(ratio) - power) <= NEARLY), None)


def _list_missing_numbers(
    numbers: Mapping[str, Mapping[int, Mapping[str, Any]]], published: Mapping[str, Any]
) -> Doubts:
    """Yield the first number of each exhibit for which its query gives no value."""
    for exhibit, rows in numbers.items():
        missing = [number for number, row in rows.items() if row["found_mean"] is None]
        for number in missing[:1]:
            values = zip(published[exhibit]["columns"], published[exhibit]["cells"][number], strict=False)
            named = ", ".join(f"{column} = {value!r}" for column, value in values)
            others = f", nor of {count_things(len(missing) - 1, 'other number')}" if len(missing) > 1 else ""
            yield ("published", exhibit, "cells", number), f"`sql` gives no value of {named}{others}"


def _list_cases(connection: duckdb.DuckDBPyConnection, labels: Mapping[str, Any]) -> Doubts:
    """Yield each value of a label that no run has."""
    columns = connection.table("labelled_runs").columns
    for label, facts in ((label, facts) for label, facts in labels.items() if label in columns):
        held = {value for (value,) in connection.table("labelled_runs").select(quote_name(label)).distinct().fetchall()}
        for number, case in enumerate(facts["cases"]):
            if case["value"] not in held:
                runs = connection.table("labelled_runs").filter(f"(\n{case['when']}\n)").count("*").fetchall()[0][0]
                taken = f"; earlier cases have all {count_things(runs, 'run')} of its condition" if runs else ""
                yield ("labels", label, "cases", number), f"no run has {label} = '{case['value']}'{taken}"


def _list_tables(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Any]) -> Doubts:
    """Yield each condition of a table that no run meets."""
    for table, facts in tables.items():
        if facts["where"] != ALL and not has_rows(connection, f"{table}_runs"):
            yield ("tables", table, "where"), "no run meets it, so that the table is empty"


def _list_runs(connection: duckdb.DuckDBPyConnection, figures: Mapping[str, Any]) -> Doubts:
    """Yield each run that a figure or a panel names and that there is not, or that its condition leaves out."""
    known = [run for (run,) in connection.table("labelled_runs").select("run_id").fetchall()]
    for place, among, facts in _list_panels(figures):
        if (run := facts.get("run")) is None:
            continue
        # A condition ends before the line does: it may close with a comment.
        query = f"""
            WITH figure_runs AS (FROM labelled_runs WHERE (\n{among}\n))
            SELECT run_id FROM figure_runs WHERE (\n{facts["where"]}\n)
        """  # noqa: S608
        if not match_runs(run, known):
            yield (*place, "run"), f"no run has `{run}` in its name; {LISTS_RUNS} lists them"
        elif not match_runs(run, (met for (met,) in connection.execute(query).fetchall())):
            yield (*place, "run"), f"no run that meets `where` has `{run}` in its name"


def _list_panels(figures: Mapping[str, Any]) -> Iterator[tuple[Place, str, Mapping[str, Any]]]:
    """Yield the place of each figure and of each panel, the condition that its own is within, and what it declares."""
    for figure, facts in figures.items():
        yield ("figures", figure), ALL, facts
        for number, panel in enumerate(facts.get("panels", ())):
            yield ("figures", figure, "panels", number), facts["where"], panel
