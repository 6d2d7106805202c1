"""The kinds of figures on the page about evaluations."""

from pathlib import Path

from archives import ROOT
from PIL import Image

from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.figures.kinds import BUILDERS
from ccreport.report.fragments.gallery_pages.figure_kinds import ALL_TOPICS, find_examples, render_figure_kinds
from ccreport.report.kind_pictures import FRAGMENT, list_shown, show_sections_examples


def test_every_kind_has_a_topic() -> None:
    kinds = [kind for _, _, kinds in ALL_TOPICS for kind in kinds]
    assert sorted(kinds) == sorted(BUILDERS)
    schema = load_yaml(SCHEMAS / "evaluation.schema.yaml")
    figure = schema["properties"]["figures"]["additionalProperties"]["properties"]
    assert sorted(figure["kind"]["enum"]) == sorted(BUILDERS)


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
