"""SQL of an evaluation is tried before there is any data."""

from pathlib import Path

import pytest
from archives import ROOT

from ccreport.core.declared_files import DeclarationError
from ccreport.figures.select.check_sql import check_sql
from ccreport.summarise.view_columns import open_without_rows

GENERIC = ROOT / "evaluations/generic.yaml"
LABEL = "labels:\n  far:\n    cases:\n      - {value: far, when: %s}\n    otherwise: %s"


@pytest.mark.parametrize("path", sorted(ROOT.glob("evaluations/*.yaml")), ids=lambda path: path.stem)
def test_no_shipped_evaluation_is_refused(path: Path) -> None:
    with open_without_rows(path) as connection:
        check_sql(connection, path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "where: loss_pct IS",
            "where: los_pct IS",
            "figure 'rate_by_loss': .* its `where`: .*; did you mean `loss_pct`",
        ),
        ("where: volume_bytes > 0", "where: volume_bytes >> '", "tables.completion.where: the database refuses it: "),
        (
            "panels_by: [host",
            "panels_by: [hosst",
            "figure 'throughput_alone': .* `panels_by`: .*; did you mean `host`",
        ),
        ("labels: {}", LABEL % ("rtt_mss > 3", "\"'near'\""), "labels.far: .*; did you mean `rtt_ms`"),
        ("labels: {}", LABEL % ("rtt_ms <<< 30", "\"'near'\""), "labels: .*<<<"),
        ("labels: {}", LABEL % ("rtt_ms > 3", "near"), 'labels.far: .* "near" not found'),
        ("edges_ms: [1, 2,", "edges_ms: [2, 1,", r"rtt_bucket_edges_ms: not ascending; write \[1, 2, 5, 10"),
        ("where: mode = 'both'", 'where: mode = "both"', "figure 'throughput_both': .*\"both\""),
        ("mode <> 'both'\n    panels_by", "mod <> 'both'\n    panels_by", "figure 'throughput_alone': .*`mode`"),
    ],
)
def test_what_the_database_refuses_is_one_line_with_its_place(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = GENERIC.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DeclarationError, match=said) as refused, open_without_rows(path) as connection:
        check_sql(connection, path)
    assert str(refused.value).startswith(f"{path}:")
    assert "\n" not in str(refused.value)
