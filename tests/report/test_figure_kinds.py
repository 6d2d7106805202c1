"""The kinds of figures on the page about evaluations."""

from pathlib import Path

from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.figures.kinds import BUILDERS
from ccreport.report.fragments.figure_kinds import ALL_TOPICS, render_figure_kinds


def test_every_kind_has_a_topic() -> None:
    kinds = [kind for _, _, kinds in ALL_TOPICS for kind in kinds]
    assert sorted(kinds) == sorted(BUILDERS)
    schema = load_yaml(SCHEMAS / "evaluation.schema.yaml")
    figure = schema["properties"]["figures"]["additionalProperties"]["properties"]
    assert sorted(figure["kind"]["enum"]) == sorted(BUILDERS)


def test_the_first_drawn_figure_of_a_kind_is_its_example(tmp_path: Path) -> None:
    declared = {
        "undrawn": {"kind": "topology", "title": "No hosts"},
        "first": {"kind": "topology", "title": "Hosts & paths"},
        "second": {"kind": "topology", "title": "More hosts"},
    }
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thumbnail.png").touch()
        (tmp_path / name / "figure.svg").write_text('<svg class="marks" width="80" height="52" viewBox="0 0 80 52">')
    (tmp_path / "undrawn").mkdir()
    text = render_figure_kinds(declared, tmp_path)
    assert text.count("<img ") == 1
    assert '<a href="figures/first/figure.svg"><img src="figures/first/thumbnail.png"' in text
    assert "<code>topology</code>: Hosts &#38; paths</span>" in text
    assert "Without an example in this report: `share_over_time`, `fairness_over_time`" in text
