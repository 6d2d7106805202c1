"""Runs that the configuration names and the archive does not have."""

import json
from pathlib import Path

import pytest

from ccreport.rebuild.unknown_runs import list_unknown_runs

EXPERIMENT = "2026-11-25-22-03-both_p4_loss0.1-c243050142"
RUN = f"{EXPERIMENT}.10.201.1.2-1-40.0ms-2b02c9354f"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (RUN, []),
        # A letter in the name of the run, or in that of its experiment.
        (RUN.replace("40.0ms", "4.0ms"), [f"did you mean `{RUN}`?"]),
        (RUN.replace("both", "botth"), [f"did you mean `{RUN}`?"]),
        ("other.1", ["the archive has no run `other.1`; `python -m ccreport sql"]),
    ],
)
def test_a_run_that_is_misspelt_is_named(wanted: str, said: list[str], tmp_path: Path) -> None:
    others = [f"2026-11-25-22-03-both_p{number}_lossnone-0123456789" for number in range(9)]
    (tmp_path / "batches.txt").write_text(f"first {EXPERIMENT} {' '.join(others)}\n")
    facts = [
        {"experiment_id": name, "runs": [{"run_id": run}]}
        for name, run in [(EXPERIMENT, RUN), *((name, f"{name}.10.0.0.1-1") for name in others)]
    ]
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/first.json").write_text(json.dumps(facts))
    told = list(list_unknown_runs([wanted], tmp_path / "batches.txt", tmp_path / "manifests"))
    assert [number for number, _ in told] == [0] * len(said)
    assert all(text in problem for text, (_, problem) in zip(said, told, strict=True))
