"""Which tables and figures a claim leads to: those of its own algorithms, and each figure that its source names."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import ROOT

from ccreport.core.evaluation import load_evaluation
from ccreport.report.fragments.claims_page.claim_exhibits import leave_out_unrelated

# Section V.A, Figures 4 and 5 · Section V.C, Figure 9
NAMED_FIGURES = re.compile(r"Figures? (\d+[a-z]?(?:(?:, | and )\d+[a-z]?)*)")


def show(tmp_path: Path, *queries: str, **more: Any) -> dict[str, Any]:
    """Return a claim with these queries; a table has BBR and CUBIC, a figure all three, another does not say."""
    summaries, figures = tmp_path / "summaries", tmp_path / "figures"
    for folder in (summaries, figures / "versions", figures / "drawing"):
        folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"algorithm": ["BBR", "CUBIC"]}).write_parquet(summaries / "rates.parquet")
    pl.DataFrame({"cc": ["bbr", "bbr2", "cubic"]}).write_csv(figures / "versions/figure.csv")
    pl.DataFrame({"x": [1]}).write_csv(figures / "drawing/figure.csv")
    claim = {"shown_in": ["rates", "versions", "drawing", "missing"], "explorer": {}} | more
    declared = {
        "algorithms": {"BBR": {"members": ["bbr2", "bbr"]}, "CUBIC": {"members": ["cubic"]}},
        "claims": {"c": claim | {"checks": [{"sql": sql} for sql in queries]}},
    }
    return leave_out_unrelated(declared, ["bbr", "bbr2", "cubic"], summaries, figures)["c"]


def test_an_exhibit_without_an_algorithm_of_the_claim_is_not_linked_but_its_runs_are(tmp_path: Path) -> None:
    # The table's BBR is bbr2; bbr1 is not in the archive.
    claim = show(tmp_path, "FROM runs WHERE algorithm = 'CUBIC'", "FROM runs WHERE cc IN ('bbr', 'bbr1')")
    assert claim["shown_in"] == ["versions", "drawing", "missing"]
    assert claim["explorer"] == {"cc": "bbr"}
    declared = show(tmp_path, "FROM runs WHERE cc = 'bbr'", explorer={"find": "loop"})
    assert declared["explorer"] == {"find": "loop"}


@pytest.mark.parametrize("sql", ["FROM runs WHERE algorithm = 'BBR'", "FROM runs WHERE cc IN ('bbr2', 'cubic')"])
def test_a_claim_about_what_an_exhibit_holds_leads_to_it(tmp_path: Path, sql: str) -> None:
    claim = show(tmp_path, sql)
    assert claim["shown_in"] == ["rates", "versions", "drawing", "missing"]
    assert claim["explorer"] == {}


@pytest.mark.parametrize("path", sorted((ROOT / "evaluations").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_claim_is_beside_each_figure_that_its_source_names(path: Path) -> None:
    evaluation = load_evaluation(path)
    for claim, facts in evaluation["claims"].items():
        numbers = (number for listed in NAMED_FIGURES.findall(facts["source"]) for number in re.findall(r"\d+", listed))
        named = {f"figure_{number}" for number in numbers} & evaluation["figures"].keys()
        assert named <= set(facts["shown_in"]), claim
