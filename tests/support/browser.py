"""Headless browsers (Debian's Chromium and Firefox) and a web server, for tests that look at pages as a reader does."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (Debian: apt-get install chromium); no page can be looked at"
)

# Playwright drives a Firefox of its own only; Debian's can take a picture of a page.
FIREFOX = shutil.which("firefox-esr")
needs_firefox = pytest.mark.skipif(
    FIREFOX is None, reason="Firefox is not installed (Debian: apt-get install firefox-esr); it looks at no page"
)


class _SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        del arguments


class Loader:
    """Goes to pages, each until it has loaded all that it asked for, what its scripts ask for later too.

    Playwright's own "networkidle" now and then never comes.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.open: dict[Request, str] = {}
        page.on("request", lambda request: self.open.__setitem__(request, request.url))
        for event in ("requestfinished", "requestfailed"):
            page.on(event, lambda request: self.open.pop(request, None))

    def load(self, address: str) -> None:
        """Go to a page and wait, up to 30 s, until nothing is being loaded a tenth of a second later."""
        self.open.clear()
        self.page.goto(address)
        for _ in range(300):
            self.page.wait_for_timeout(100)
            if not self.open:
                return
        raise AssertionError(f"{self.page.url} still loads {', '.join(self.open.values())}")


def wait_until(page: Page, condition: str) -> None:
    """Wait, up to 30 s, until an expression of JavaScript is true on a page.

    Playwright's `wait_for_function` compiles the expression on the page unless it is true at once, which a
    Content-Security-Policy like that of our pages refuses.
    """
    for _ in range(300):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"on {page.url} this did not come true: {condition}")


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Start Chromium; its sandbox needs rights that containers do not give."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def picture_in_firefox(address: str, size: tuple[int, int], folder: Path) -> Path:
    """Return the PNG of the top of a page in Firefox, whose profile is in the folder; at least 450 px wide."""
    picture, profile = folder / "firefox.png", folder / "profile"
    profile.mkdir(exist_ok=True)
    picture.unlink(missing_ok=True)
    window = f"--window-size={size[0]},{size[1]}"
    command = [
        str(FIREFOX),
        "--headless",
        "--no-remote",
        "--profile",
        profile,
        window,
        "--screenshot",
        picture,
        address,
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return picture


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on the loopback interface, at a free port; the address ends without a slash."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_SilentHandler, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
