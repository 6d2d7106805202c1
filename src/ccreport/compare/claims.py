"""Claims: what a publication says, checked against this archive by the queries and bounds of the evaluation.

A check holds where the whole interval of its value is within the bounds, and does not hold where the whole interval is
outside: a value that other runs of the same conditions could move over a bound decides nothing.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.compare.check_values import describe_columns, measure_check
from ccreport.compare.claim_verdicts import FAILS, HOLDS, UNKNOWN, name_checks, name_verdict
from ccreport.compare.intervals import Measured, count_runs, find_extreme, is_within, widen
from ccreport.core.configuration import check_explained
from ccreport.core.csv_files import write_csv
from ccreport.core.declarations import read_query
from ccreport.core.declared_files import DeclarationError, blame, load_declared
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import conform, write_table
from ccreport.summarise.compute_table import compute_table
from ccreport.summarise.database import QueryError, connect, quote_name, read_files
from ccreport.summarise.refused_sql import refuse_sql
from ccreport.summarise.suspect_runs import include_suspects

WORD: Final = re.compile(r"\w+")


class CheckError(DeclarationError, QueryError):
    """The query of a check does not return what it has to, which only the archive's rows tell."""


def judge_claims(
    evaluation: Path,
    database: Path,
    summaries: Path,
    archive: Path,
    explanations: list[Path],
    parquet: Path,
    csv: Path,
) -> None:
    """Write the table `claims`, one row for each check of each claim, and name what lacks an explanation.

    `summaries` is the folder of the published tables; `archive` the inventory's JSON object about the archive as a
    whole; `explanations` none or one file about an archive, which counts if that is this one.
    Raise CheckError where a query fails, or returns anything but its one row where it has no `extreme`.
    """
    declared = load_evaluation(evaluation)
    explained = load_explanations(explanations, evaluation.stem, declared["claims"], archive)["claims"]
    with connect(database) as connection:
        prepare_claims(connection, summaries, declared["tables"])
        rows = list(_judge_all(connection, evaluation, declared["claims"]))
        first_run = connection.sql("SELECT min(start_utc) FROM runs").pl().item()
    with connect(database) as connection, include_suspects(connection):
        if suspects_count := _count_suspects(connection):
            _prepare_suspects(connection, declared)
            others = _judge_all(connection, evaluation, declared["claims"])
            rows = [row | _compare(other, suspects_count) for row, other in zip(rows, others, strict=True)]
    dated = {claim: date_bounds(declared, claim, first_run) for claim in declared["claims"]}
    rows = [row | dated[row["claim"]] | {"about_archive": explained.get(row["claim"])} for row in rows]
    judged = conform(pl.DataFrame(rows, infer_schema_length=None), "claims")
    write_table(judged, "claims", parquet)
    write_csv(judged, csv)
    for claim in list_unexplained(judged):
        verdict = judged.filter(claim=claim)["claim_verdict_shown"][0]
        print(f"claim {claim}: {verdict}, and nothing explains it")


def check_claims(connection: duckdb.DuckDBPyConnection, evaluation: Path) -> None:
    """Raise DeclarationError for the first check of a claim whose query the database refuses, or has other columns.

    `connection` is what `open_without_rows` opens.
    """
    prepare_claims(connection, Path(), {})
    for claim, facts in load_evaluation(evaluation)["claims"].items():
        for number, check in enumerate(facts["checks"]):
            place = ("claims", claim, "checks", number, "sql")
            said = f"claims.{claim}, check `{check['name']}`"
            try:
                found = connection.sql(check["sql"])
            except duckdb.Error as error:
                raise blame(evaluation, refuse_sql(error, place, said)) from error
            columns, kinds = found.columns, found.types
            if len(columns) == 1 and kinds[0].id == "struct":
                columns = [name for name, _ in kinds[0].children]
            if wrong := describe_columns(columns):
                raise blame(evaluation, DeclarationError(f"{said}: {wrong}", place))


def date_bounds(declared: Mapping[str, Any], claim: str, first_run: datetime | None) -> dict[str, Any]:
    """Return which commit set the bounds of a claim and when, and whether that was before the archive's first run.

    An evaluation declares it of all its claims, and of single ones that changed later: a release has no history.
    """
    bounds_set = declared["claims"][claim]["bounds_set"] or declared["bounds_set"]
    time = datetime.fromisoformat(bounds_set["time"]) if bounds_set else None
    return {
        "bounds_commit": bounds_set.get("commit"),
        "bounds_set_utc": time,
        "first_run_utc": first_run,
        "is_preregistered": None if time is None or first_run is None else time < first_run,
    }


def explains_archive(path: Path, archive_sha256: str) -> bool:
    """Tell whether a file of explanations is about the archive of a hash; raise DeclarationError as it is loaded."""
    return bool(load_declared(path, "explanations")["archive_sha256"] == archive_sha256)


def load_explanations(
    paths: Sequence[Path], evaluation: str, claims: Mapping[str, Any], archive: Path
) -> dict[str, Any]:
    """Return what is said of an archive in an evaluation: of `claims` by name, the claims of `causes`, and for
    `reproduction` `note` and `pairs`.

    All are empty without a file, where it says nothing of the evaluation, and, with a warning, where it is about an
    archive of another hash than `archive` has, the inventory's JSON object. Raise DeclarationError where the file
    breaks its schema, or is about both and explains a claim that is not made.
    """
    nothing: dict[str, Any] = {"claims": {}, "causes": {}, "reproduction": {"note": "", "pairs": {}}}
    if not paths:
        return nothing
    (path,) = paths
    explanations = load_declared(path, "explanations")
    own: dict[str, Any] = explanations["evaluations"].get(evaluation, nothing)
    sha256 = json.loads(archive.read_text(encoding="utf-8"))["sha256"]
    if explanations["archive_sha256"] != sha256:
        if own is not nothing:
            # The same of all evaluations, so that a build says it once.
            said = f"warning: {path} explains another archive, and what it says is left out"
            holds = f"if it holds for this one, write `archive_sha256: {sha256}` there"
            print(f"{said}; {holds}; if not, `explanations: null` in config.yaml ends this warning")
        return nothing
    check_explained(path, evaluation, own, claims)
    return own


def prepare_claims(connection: duckdb.DuckDBPyConnection, summaries: Path, tables: Mapping[str, Any]) -> None:
    """Give the queries their macros, and the published tables as they were written, in place of their views."""
    for table in tables:
        path = summaries / f"{table}.parquet"
        if path.exists():
            connection.execute(f"CREATE TEMP VIEW {quote_name(table)} AS {read_files([path])}")
    try:
        connection.execute(read_query("claims"))
    except duckdb.Error as error:
        raise QueryError(f"claims.sql: {error}") from error


def _prepare_suspects(connection: duckdb.DuckDBPyConnection, declared: Mapping[str, Any]) -> None:
    """Give the queries their macros, and the published tables that they name as these are with suspect runs."""
    words = {
        word
        for claim in declared["claims"].values()
        for check in claim["checks"]
        for word in WORD.findall(check["sql"])
    }
    for table in declared["tables"].keys() & words:
        connection.register(table, compute_table(connection, table).to_arrow())
    prepare_claims(connection, Path(), {})


def _compare(other: Mapping[str, Any], suspects_count: int) -> dict[str, Any]:
    """Return what a check's row says of its value with so many suspect runs, of the row that it has then."""
    values = {f"with_suspects_{name}": other[name] for name in ("value", "verdict")}
    return values | {"suspects_count": suspects_count}


def _count_suspects(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many suspect runs the views of a connection that includes them count, beyond those of others."""
    (count,) = connection.sql("SELECT count(*) FROM labelled_runs WHERE is_suspect AND is_counted").fetchall()[0]
    return int(count)


def _judge_all(
    connection: duckdb.DuckDBPyConnection, evaluation: Path, claims: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each check of each claim."""
    for number, (claim, facts) in enumerate(claims.items(), 1):
        try:
            rows = judge_claim(connection, claim, facts["checks"])
        except CheckError as error:
            raise blame(evaluation, error) from error
        yield from (row | {"claim_number": number, "claim": claim} for row in rows)


def judge_claim(
    connection: duckdb.DuckDBPyConnection, claim: str, checks: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a row for each check, with the verdict on the claim: it holds if all checks hold.

    Raise CheckError, with its place, where a query fails, or has not the row or rows that it must have.
    """
    rows = []
    for number, check in enumerate(checks, 1):
        try:
            cells = measure_check(connection, check["sql"], check.get("extreme"))
        except QueryError as error:
            place = ("claims", claim, "checks", number - 1, "sql")
            raise CheckError(f"claims.{claim}, check `{check['name']}`: {error}", place) from error
        found = (
            find_extreme(cells, check["extreme"], len(checks)) if "extreme" in check else widen(cells[0], len(checks))
        )
        rows.append(
            {
                "check_number": number,
                "check": check["name"],
                "paper_value": check.get("paper"),
                "at_least": check.get("at_least"),
                "at_most": check.get("at_most"),
                "value": found.value,
                "low": found.low,
                "high": found.high,
                "runs_count": found.runs,
                "minimum_runs_count": check["minimum_runs"],
                "verdict": (verdict := judge_value(found, check)),
                "needed_runs_count": count_runs(found, *_bounds(check)) if verdict == UNKNOWN else None,
            }
        )
    verdicts = [row["verdict"] for row in rows]
    verdict = FAILS if FAILS in verdicts else UNKNOWN if UNKNOWN in verdicts else HOLDS
    rows = [row | {"claim_verdict": verdict} for row in rows]
    # Bounds and values are not in per cent or Mbit/s here.
    facts: dict[str, Any] = {"checks": [{**check, "is_as_stored": True} for check in checks]}
    named = zip(rows, name_checks(rows, facts), strict=True)
    words = name_verdict(rows, facts)
    return [row | {"claim_verdict_shown": words, "verdict_shown": of_check} for row, of_check in named]


def judge_value(measured: Measured, check: Mapping[str, Any]) -> str:
    """Return the verdict on a value: its whole interval is within the bounds of its check, or outside, or neither.

    Neither is an interval that holds a bound, nor what has no interval or is made of too few runs.
    """
    if measured.value is None or measured.runs < check["minimum_runs"]:
        return UNKNOWN
    return {True: HOLDS, False: FAILS, None: UNKNOWN}[is_within(measured, *_bounds(check))]


def _bounds(check: Mapping[str, Any]) -> tuple[float, float]:
    return check.get("at_least", -math.inf), check.get("at_most", math.inf)


def list_unexplained(judged: pl.DataFrame) -> list[str]:
    """Return the names of the claims that do not hold here, or cannot be judged, and have no explanation."""
    open_claims = judged.filter((pl.col("claim_verdict") != HOLDS) & pl.col("about_archive").is_null())
    return open_claims["claim"].unique(maintain_order=True).to_list()
