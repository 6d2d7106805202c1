"""How packets are lost: as netem's recorded model says, but where the evaluation has a label for it."""

from pathlib import Path
from typing import Any

import pytest
from archives import ROOT, write_yaml
from condition_runs import build_database, gather, make_run

from ccreport.core.declarations import load_yaml
from ccreport.summarise.database import connect

GENERIC = ROOT / "evaluations/generic.yaml"


def make_archive(model: str | None) -> dict[str, list[dict[str, Any]]]:
    """Return a run of each: no loss, random loss, loss by a recorded model, unknown loss."""
    losses = [0.0, 0.01, 0.01, None]
    tables = gather(*(make_run(n, {"cubic": 10.0 * n}, loss_pct=loss) for n, loss in enumerate(losses, 1)))
    return tables | {"qdiscs": [{"run_id": "r003", "line_number": 1, "qdisc": "netem", "loss_model": model}]}


@pytest.mark.parametrize(
    ("model", "pattern"),
    [("gemodel", "bursts"), ("state", "bursts"), ("25%", "bursts"), ("0%", "random"), ("ecn", "random")],
)
def test_the_recorded_model_tells_the_pattern(tmp_path: Path, model: str, pattern: str) -> None:
    with connect(build_database(tmp_path, make_archive(model), GENERIC)) as connection:
        found = connection.sql("SELECT loss_pattern FROM algorithm_runs ORDER BY run_id").fetchall()
    assert [value for (value,) in found] == ["none", "random", pattern, None]


def test_a_job_can_record_the_model(tmp_path: Path) -> None:
    tables = make_archive(None) | {"experiments": [{"experiment_id": "e", "loss_model": "gemodel"}]}
    with connect(build_database(tmp_path, tables, GENERIC)) as connection:
        found = connection.sql("SELECT loss_pattern FROM labelled_runs ORDER BY run_id").fetchall()
    assert [value for (value,) in found] == ["none", "bursts", "bursts", None]


def test_means_tell_bursts_from_random_loss_of_the_same_mean(tmp_path: Path) -> None:
    with connect(build_database(tmp_path, make_archive("gemodel"), GENERIC)) as connection:
        found = connection.sql("SELECT loss_pct, loss_pattern, rate_mean_bps FROM means ORDER BY 3").fetchall()
    # Without loss, or where it is not known, there is no pattern.
    assert found == [(0.0, None, 10e6), (0.01, "random", 20e6), (0.01, "bursts", 30e6), (None, None, 40e6)]


def test_a_label_of_the_evaluation_takes_its_place(tmp_path: Path) -> None:
    label = {"cases": [{"value": "rare", "when": "loss_pct < 1"}], "otherwise": "'often'"}
    path = tmp_path / "own.yaml"
    write_yaml(path, load_yaml(GENERIC) | {"labels": {"loss_pattern": label}})
    with connect(build_database(tmp_path, make_archive("gemodel"), path)) as connection:
        found = connection.sql("SELECT DISTINCT loss_pattern FROM labelled_runs ORDER BY ALL").fetchall()
    assert found == [("often",), ("rare",)]
