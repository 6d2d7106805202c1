"""A site with an explorer, served from disk and from a web server."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from explorer_page import Open, serve
from explorer_site import write_database, write_site
from playwright.sync_api import Browser, Page, expect


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    return write_site(write_database(folder), folder)


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    with serve(site) as address:
        yield address


@pytest.fixture
def open_page(browser: Browser, site: Path) -> Iterator[Open]:
    """Open the page with a hash; afterwards fail on any complaint of the browser and any request to another host."""
    complaints: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_(hash_: str = "", base: str = "", width: int = 1400, scheme: str = "light", of: Path = site) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{base or of.as_uri()}/explorer.html{hash_}")
        expect(page.locator("#explorer")).to_be_visible()
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
    assert {urlsplit(url).hostname for url in requests} <= {None, "", "127.0.0.1"}
