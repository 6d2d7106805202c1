"""Pages through pandoc: kept ones are taken again only where nothing that they are made of changed; pages in parts."""

import re
from pathlib import Path

import pytest
from archives import ROOT

import ccreport.report.site.pandoc as module
from ccreport.rebuild.batches import IGNORE_CACHES
from ccreport.report.markup.html_blocks import Line
from ccreport.report.site.links import PageError
from ccreport.report.site.pandoc import Pandoc

OPTIONS = ("--from=markdown", "--to=html")


def make_lines(text: str) -> list[Line]:
    return [Line(line, "page.qmd", number) for number, line in enumerate(text.split("\n"), 1)]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the texts that pandoc itself is given."""
    given: list[str] = []
    run = module._run

    def record(lines: list[Line], text: str, options: list[str]) -> str:
        given.append(text)
        return run(lines, text, options)

    monkeypatch.setattr(module, "_run", record)
    return given


def test_a_page_is_converted_anew_only_where_text_or_options_changed(tmp_path: Path, runs: list[str]) -> None:
    pandoc = Pandoc(tmp_path)
    first = pandoc.convert(make_lines("*one*"), OPTIONS)
    assert first == "<p><em>one</em></p>\n"
    assert (
        pandoc.convert(make_lines("*one*"), OPTIONS) == Pandoc(tmp_path).convert(make_lines("*one*"), OPTIONS) == first
    )
    assert runs == ["*one*"]
    assert pandoc.convert(make_lines("*two*"), OPTIONS) == "<p><em>two</em></p>\n"
    assert pandoc.convert(make_lines("*one*"), (*OPTIONS, "--wrap=none")) == first
    assert runs == ["*one*", "*two*", "*one*"]


def test_a_page_is_known_again_in_a_checkout_that_moved(
    tmp_path: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module.digest_pandoc()
    for place in ("here", "there"):
        assets = tmp_path / place / "site"
        assets.mkdir(parents=True)
        (assets / "filter.lua").write_text("")
        monkeypatch.setattr(module, "REPORT", tmp_path / place)
        Pandoc(tmp_path / "kept").convert(make_lines("one"), (*OPTIONS, f"--lua-filter={assets / 'filter.lua'}"))
    assert runs == ["one"]


def test_without_a_folder_nothing_is_kept(runs: list[str]) -> None:
    pandoc = Pandoc()
    assert pandoc.convert(make_lines("one"), OPTIONS) == pandoc.convert(make_lines("one"), OPTIONS) == "<p>one</p>\n"
    pandoc.prune()
    assert len(runs) == 2


def test_other_templates_and_a_build_afresh_convert_again(
    tmp_path: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Pandoc(tmp_path).convert(make_lines("one"), OPTIONS)
    monkeypatch.setattr(module, "digest_pandoc", lambda: "another filter")
    Pandoc(tmp_path).convert(make_lines("one"), OPTIONS)
    monkeypatch.setenv(IGNORE_CACHES, "1")
    Pandoc(tmp_path).convert(make_lines("one"), OPTIONS)
    assert len(runs) == 3


def test_the_digest_is_of_every_filter_and_template(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = set()
    names = ("site/filter.lua", "pdf/paper_tables.lua", "site/page.html")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("old")
    monkeypatch.setattr(module, "REPORT", tmp_path)
    for name in ("", *names):
        if name:
            (tmp_path / name).write_text("new")
        module.digest_pandoc.cache_clear()
        found.add(module.digest_pandoc())
    module.digest_pandoc.cache_clear()
    assert len(found) == 4


def test_what_was_not_converted_goes_and_a_page_that_fails_is_not_kept(tmp_path: Path) -> None:
    Pandoc(tmp_path).convert(make_lines("old"), OPTIONS)
    (tmp_path / "half").write_text("of a killed build")
    pandoc = Pandoc(tmp_path)
    pandoc.convert(make_lines("new"), OPTIONS)
    with pytest.raises(PageError, match=r"page\.qmd:1: .*--no-such-option"):
        pandoc.convert(make_lines("new"), ("--no-such-option",))
    pandoc.prune()
    (kept,) = {path.name for path in tmp_path.iterdir()} - {"pages.txt"}
    assert (tmp_path / kept).read_text() == "<p>new</p>\n"
    assert (tmp_path / "pages.txt").read_text() == f"{kept}\n"


@pytest.mark.parametrize("page", sorted(ROOT.glob("reports/*.qmd")), ids=lambda page: page.stem)
def test_no_span_begins_with_a_blank_which_pandoc_drops(page: Path) -> None:
    assert re.findall(r"\w\[\s[^\]]*\]", page.read_text(encoding="utf-8")) == []
