"""The kinds of figures on the page about evaluations."""

import html
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from archives import ROOT
from figure_inputs import declare
from PIL import Image

from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.evaluation import list_evaluations, load_evaluation, resolve_evaluation
from ccreport.core.schema_problems import find_problem
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.select.declaration import KINDS_OF_KEY, FigureDeclaration, FigureError, read_declarations
from ccreport.report.fragments.gallery_pages.figure_kinds import ALL_TOPICS, find_examples, render_figure_kinds
from ccreport.report.kind_pictures import FRAGMENT, list_shown, show_sections_examples
from ccreport.report.reference import render_figure_keys


def test_every_kind_has_a_topic() -> None:
    kinds = [kind for _, _, kinds in ALL_TOPICS for kind in kinds]
    assert sorted(kinds) == sorted(BUILDERS)
    schema = load_yaml(SCHEMAS / "evaluation.schema.yaml")
    figure = schema["properties"]["figures"]["additionalProperties"]["properties"]
    assert sorted(figure["kind"]["enum"]) == sorted(BUILDERS)


def test_every_key_of_a_figure_is_told_with_its_kinds_and_an_example_that_the_schema_takes() -> None:
    figure = load_yaml(SCHEMAS / "evaluation.schema.yaml")["properties"]["figures"]["additionalProperties"]
    assert {field.name for field in fields(FigureDeclaration)} - {"name", "names", "shown", "among"} == {
        *figure["properties"]
    }
    *rows, last = html.unescape(render_figure_keys()).split("<tr>")[2:]
    last, _, over_time = last.partition("Those of a run over time are ")
    rows.append(last)
    assert len(rows) == len(figure["properties"])
    for (key, facts), row in zip(figure["properties"].items(), rows, strict=True):
        assert f"<code>{key}</code>" in row
        example = yaml.safe_load(row.partition('<code class="long">')[2].partition("</code>")[0])
        assert example == {key: facts["examples"][0]}
        assert find_problem(example, figure | {"required": []}) is None
        assert set(BUILDERS) >= KINDS_OF_KEY.get(key, frozenset())
        for kind in KINDS_OF_KEY.get(key, ()):
            assert f"<code>{kind}</code>" in row or (f"`{kind}`" in over_time and ">those of a run over time" in row)
        assert (key in KINDS_OF_KEY) != ('<td data-head="Kinds">all</td>' in row)


def test_what_comes_along_declares_no_key_that_its_kind_does_not_take() -> None:
    for evaluation in map(resolve_evaluation, list_evaluations()):
        figures = [*load_evaluation(evaluation)["figures"]]
        assert len(read_declarations(evaluation, figures)) == len(figures)


def test_a_key_that_a_kind_does_not_take_is_refused(tmp_path: Path) -> None:
    evaluation = declare(tmp_path, kind="rate_by_rtt", run="one")
    with pytest.raises(FigureError, match=r"^figure 'f': the kind 'rate_by_rtt' has no `run`; delete it$"):
        read_declarations(evaluation, ["f"])
    assert read_declarations(declare(tmp_path, kind="rate_by_rtt", overlapped=True), ["f"])


def test_every_kind_has_a_picture_of_example_data_in_few_bytes() -> None:
    pictures = sorted((ROOT / "reports/kinds").iterdir())
    assert [picture.name for picture in pictures] == sorted(f"{kind}.png" for kind in BUILDERS), "run `make pictures`"
    for picture in pictures:
        with Image.open(picture) as image:
            assert max(image.size) == 240, picture.name
        assert picture.stat().st_size < 8_000, picture.name


def test_every_kind_has_a_thumbnail_from_the_report_a_section_or_example_data(tmp_path: Path) -> None:
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
    own = find_examples(declared, tmp_path)
    files = {"figure": "figures/first/figure.svg", "thumbnail": "figures/first/thumbnail.png"}
    assert own == {"topology": files | {"title": "Hosts &#38; paths", "size": " width=80 height=52"}}
    joins = {"figure": "figures/j/figure.svg", "thumbnail": "figures/j/thumbnail.png", "title": "Joins", "size": ""}
    (tmp_path / FRAGMENT).parent.mkdir()
    (tmp_path / FRAGMENT).write_text(render_figure_kinds(own))
    of_sections = {"topology": joins, "joins_over_time": joins}
    show_sections_examples(tmp_path, [("edge", {}), ("mininet", of_sections), ("last", of_sections)])
    text = (tmp_path / FRAGMENT).read_text()
    assert text.count("<img ") == text.count('loading="lazy"') == len(BUILDERS)
    assert '<a href="figures/first/figure.svg"><img src="figures/first/thumbnail.png" alt="" width=80' in text
    assert "<code>topology</code>: Hosts &#38; paths</span>" in text
    assert '<a href="mininet/figures/j/figure.svg"><img src="mininet/figures/j/thumbnail.png"' in text
    assert "<code>joins&#95;over&#95;time</code>: Joins (mininet)</span>" in text
    assert '<div><img src="kinds/heat_map.png"' in text
    assert text.count("<a ") == 2


def test_a_section_gives_no_examples_that_its_site_lacks(tmp_path: Path) -> None:
    examples = {kind: {"thumbnail": f"figures/{kind}/thumbnail.png"} for kind in ("topology", "loss_episodes")}
    (tmp_path / "figures/topology").mkdir(parents=True)
    (tmp_path / "figures/topology/thumbnail.png").touch()
    assert list(list_shown(examples, tmp_path)) == ["topology"]
