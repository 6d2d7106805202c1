"""Queries of claims tried on the tables of earlier results."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from archives import ROOT, write_yaml
from condition_runs import build_database
from test_claims import BBR_OVER_CUBIC, STEADY

from ccreport.compare.claims import check_claims
from ccreport.compare.try_claims import find_database, find_several_rows
from ccreport.core.declarations import load_yaml
from ccreport.summarise.view_columns import open_without_rows

SEVERAL = "SELECT retransmit_ratio AS value, 3 AS n FROM labelled_runs"
SAID = "claims.one, check `c`: its query returns 6 rows, not one; with `extreme` it may have a row for each cell"


def try_check(folder: Path, check: dict[str, Any], *, is_built: bool = True, **others: Any) -> str:
    """Return what is said of a check where the results are those of an evaluation without it, which `others` change.

    The results have its database if it `is_built` and nothing else is changed.
    """
    declared = load_yaml(ROOT / "evaluations/esnet-dtn.yaml") | {"claims": {}}
    declared.pop("printed", None)
    evaluation = folder / "evaluation.yaml"
    write_yaml(evaluation, declared)
    own = folder / "evaluation/archive.duckdb"
    own.parent.mkdir()
    built = build_database(folder, STEADY, evaluation).rename(own if is_built else folder / "other.duckdb")
    shutil.copy(folder / "experiments.txt", folder / "batches.txt")
    checks = [{"name": "c", "at_least": 1} | check]
    write_yaml(evaluation, declared | {"claims": {"one": {"text": "T", "source": "S", "checks": checks}}} | others)
    with open_without_rows(evaluation) as connection:
        check_claims(connection, evaluation)
        with find_database(connection, folder, evaluation) as database:
            assert (database == built) is (is_built and not others)
            return str(find_several_rows(connection, database, evaluation) or "")


@pytest.mark.slow
@pytest.mark.parametrize("is_built", [True, False])
def test_a_check_of_several_rows_is_refused_before_the_build(tmp_path: Path, is_built: bool) -> None:
    assert try_check(tmp_path, {"sql": SEVERAL}, is_built=is_built).endswith(SAID)


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [
        {"sql": BBR_OVER_CUBIC},
        {"sql": f"{SEVERAL} LIMIT 1"},
        {"sql": SEVERAL, "extreme": "least"},
        # Only runs that are not here yet may make it one.
        {"sql": f"{SEVERAL} WHERE host = 'nowhere'"},
        # What a value breaks the build says.
        {"sql": f"{SEVERAL} WHERE host::INT > 1"},
    ],
)
def test_a_check_of_one_row_passes_and_so_does_what_only_the_build_tells(tmp_path: Path, check: dict[str, Any]) -> None:
    assert try_check(tmp_path, check) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "others",
    [{"algorithms": {"BBR": {"members": ["cubic"]}}}, {"condition": "host"}, {"rtt_bucket_edges_ms": [0, 5]}],
)
def test_in_place_of_a_database_of_other_views_one_is_made(tmp_path: Path, others: dict[str, Any]) -> None:
    assert try_check(tmp_path, {"sql": SEVERAL}, **others, reproduction={}).endswith(SAID)
