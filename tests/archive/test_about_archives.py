"""What the committed archives are said to be: the files that say so are about these very archives."""

import json
from pathlib import Path

import pytest
from archives import FIXTURES, list_batches

from ccreport.compare.claims import load_explanations
from ccreport.core.evaluation import load_evaluation, resolve_evaluation


@pytest.mark.parametrize(
    ("archive", "explanations", "evaluation", "words"),
    [
        ("edge/archive", "edge.yaml", "edge-bbr2", "not of real users"),
        ("rpc_load.tar.xz", "rpc_load.yaml", "brakmo-bbr", "results of netperf"),
    ],
)
def test_pages_of_a_committed_archive_say_what_its_data_is(
    archive: str, explanations: str, evaluation: str, words: str, tmp_path: Path
) -> None:
    list_batches(FIXTURES / archive, tmp_path)
    facts = tmp_path / "archive.json"
    claims = load_evaluation(resolve_evaluation(evaluation))["claims"]
    told = load_explanations([FIXTURES / explanations], evaluation, claims, facts)
    assert words in told["reproduction"]["note"]
    assert json.loads(facts.read_text(encoding="utf-8"))["files_count"] > 0


@pytest.mark.parametrize("evaluation", ["esnet-dtn", "mininet-bbr2", "brakmo-bbr", "edge-bbr2"])
def test_every_evaluation_says_what_its_pages_show_and_how_bounds_were_read(evaluation: str) -> None:
    declared = load_evaluation(resolve_evaluation(evaluation))
    assert declared["notes"]["claims"]
    # Bounds are read from words that stand beside them.
    assert all(check["quote"] for claim in declared["claims"].values() for check in claim["checks"])
    if evaluation != "esnet-dtn":
        assert declared["notes"]["tables"]
        assert declared["notes"]["figures"]
        # A page without a figure says in words what it would be made of.
        assert all(figure["needs"] for figure in declared["figures"].values())
