"""Take the README's picture of the report's first page: `make pictures`. Needs Debian's package `chromium`."""

import argparse
import shutil
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

SIZE = {"width": 1200, "height": 900}
# With the colours of the few marks beside the greys of text, in a quarter of the bytes.
COLOURS = 128


def take_picture(page: Path) -> bytes:
    """Return what a reader sees first of a page, as PNG."""
    with sync_playwright() as playwright:
        # Its sandbox needs rights that containers do not give.
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        tab.goto(page.resolve().as_uri(), wait_until="load")
        picture = tab.screenshot()
        browser.close()
    return picture


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, help="page of a built report")
    parser.add_argument("picture", type=Path, help="PNG file to write")
    given = parser.parse_args()
    with Image.open(BytesIO(take_picture(given.page))) as image:
        image.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(given.picture, optimize=True)
