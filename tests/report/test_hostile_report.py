"""The hostile archive all the way to its report: every page in Chromium, and the PDF."""

import json
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from archives import ROOT
from browser import Loader
from builds import Build, build, read_results
from hostile.archive import PAYLOADS, PWNED, write_hostile
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

SECTIONS = ["brakmo-bbr", "mininet-bbr2", "edge-bbr2"]
WATCH = """
    addEventListener('securitypolicyviolation', event => (window.refused ??= []).push(event.effectiveDirective));
"""
STATE = f"() => [window.{PWNED} ?? null, window.refused ?? [], document.querySelectorAll('iframe, object').length]"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("hostile")
    done = build("report", write_hostile(folder / "hostile.tar"), folder, sections=SECTIONS)
    assert done.returncode == 0, done.output[-5000:]
    return done


def test_the_workflow_runs_nothing_of_it_and_writes_only_its_results(built: Build) -> None:
    assert not (ROOT / PWNED).exists()
    folder = built.results.parent
    assert {path.name for path in folder.iterdir()} == {"hostile.tar", "results", "logs"}
    # One member of that name is a file of the archive.
    assert [path.parent.name for path in folder.rglob(PWNED)] == ["member0"]
    assert read_results(built.results, "runs").height > 20
    assert read_results(built.results, "rejects").height > 40


def test_no_page_runs_asks_for_or_shows_as_markup_what_the_archive_says(built: Build, browser: Browser) -> None:
    pages = sorted((built.results / "report").rglob("*.html"))
    assert len(pages) > 60
    dialogs: list[str] = []
    asked: list[str] = []
    context = browser.new_context()
    page = context.new_page()
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(WATCH)
    for path in pages:
        page.goto(path.as_uri())
        assert page.evaluate(STATE) == [None, [], 0], path.name
        assert page.locator("[onclick], [onerror], [onload], a[href^='javascript:' i]").count() == 0, path.name
    context.close()
    assert dialogs == []
    assert [url for url in asked if not url.startswith((built.results.as_uri(), "data:", "blob:"))] == []


def test_the_explorer_shows_hostile_runs_as_text(built: Build, browser: Browser) -> None:
    runs = read_results(built.results, "runs")["run_id"].to_list()
    context = browser.new_context()
    page: Page = context.new_page()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.add_init_script(WATCH)
    loader = Loader(page)
    for run in runs[:: max(1, len(runs) // 12)]:
        page.goto("about:blank")
        loader.load(f"{(built.results / 'report/explorer.html').as_uri()}#run={quote(run, safe='')}")
        assert page.evaluate(STATE) == [None, [], 0], run
    context.close()
    assert dialogs == []


def test_drawings_and_the_pdf_hold_no_action(built: Build) -> None:
    for path in sorted(built.results.glob("*/figures/*/figure.svg")):
        for element in ElementTree.parse(path).iter():  # noqa: S314
            assert not element.tag.endswith(("script", "foreignObject", "image", "}a")), path
            assert not [name for name in element.attrib if name.startswith("on") or name.endswith("href")], path
    for path in built.results.glob("*/report.pdf"):
        content = path.read_bytes()
        for action in (b"/JavaScript", b"/Launch", b"/OpenAction", b"/EmbeddedFile"):
            assert action not in content, (path, action)


def test_names_are_there_literally(built: Build) -> None:
    listed = json.dumps(read_results(built.results, "raw_files")["path"].to_list())
    for name in ("shell", "sql", "latex"):
        assert json.dumps(PAYLOADS[name].replace("/", "_"))[1:-1] in listed, name
