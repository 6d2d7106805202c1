"""The page of the explorer, its list and its charts in a browser."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from explorer_site import PLAIN_COUNT
from playwright.sync_api import Locator, Page, expect

ALL = PLAIN_COUNT + 3
# What the first run was.
NAME = "BBRv1 and CUBIC, 2 flows, RTT 10 ms, loss 0 %, iteration 1, session 2026-11-20:22:10"
# No inline script, no eval, no other host. Vega gives its elements styles.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:"
Open = Callable[..., Page]


class Handler(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serve(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site))) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def rows_of(page: Page) -> Locator:
    return page.locator("#x-table tbody tr")


def column(page: Page, label: str) -> list[str]:
    headers = [text.split()[0] if text else "" for text in page.locator("#x-table thead th").all_inner_texts()]
    return rows_of(page).locator(f"td:nth-child({headers.index(label) + 1})").all_inner_texts()


def drawn(page: Page) -> str | None:
    expect(page.locator("#x-chart svg")).to_be_visible()
    return page.locator("#x-chart").get_attribute("data-lines")


def lines_of(page: Page, panel: str) -> Locator:
    return page.locator(f"#x-chart .{panel}_group .mark-line path:not([d=''])")


def show(value: object) -> str:
    """Return a value as the page shows it: numbers to 4 significant digits, with commas from 1,000 on."""
    if value is None:
        return "–"
    if isinstance(value, str | bool):
        return str(value)
    rounded = float(f"{float(str(value)):.4g}")
    return f"{rounded:,.0f}" if rounded.is_integer() else f"{rounded:,}"
