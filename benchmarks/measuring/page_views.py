"""Views of pages from disk in headless Chromium: the bytes that they load, and when they are painted."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, Page

PAINTED = """() => new Promise(done => requestAnimationFrame(() => setTimeout(() => {
  const [shown] = performance.getEntriesByType("navigation");
  const paints = performance.getEntriesByType("paint").map(paint => paint.startTime);
  done(Math.max(shown.domContentLoadedEventEnd, ...paints));
})))"""


@dataclass(frozen=True)
class View:
    """The first view of a page: megabytes of all files that it loaded, and seconds from navigation until painted."""

    size_mb: float
    painted_s: float


def open_view(browser: Browser, path: Path, ready: str) -> tuple[Page, View]:
    """Open a page from disk in a context of its own, so that nothing is cached; `ready` selects what it waits for."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(path.absolute().as_uri())
    page.wait_for_selector(ready)
    files = {Path(unquote(urlsplit(url).path)) for url in loaded if url.startswith("file:")}
    size = sum(file.stat().st_size for file in files)
    return page, View(size / 1e6, float(page.evaluate(PAINTED)) / 1000)
