"""The content security policy of every page: what a page may load and run, whatever text of an archive got into it.

Pages run files of their own site and nothing else: no script or style element, handler or `javascript:` link within a
page, no frame, no plugin, no connection, no other host. The policy is in a `<meta>`, so it also holds for pages that
are opened from disk; for `file:` Chromium takes `'self'` to be any file. Styles in attributes are allowed: tables and
Vega's drawings have them, and they run nothing.

Quarto's pages hold scripts and handlers of Quarto's own. Which these are is learnt from a page of the same project
without a word of the archive, and only they are allowed, by their hashes; styles are allowed wherever they are.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

NOTHING_ELSE: Final = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src 'self' data:; {more}"
    "form-action 'self'; base-uri 'none'"
)
POLICY: Final = NOTHING_ELSE.format(scripts="'self'", styles="'self'; style-src-attr 'unsafe-inline'", more="")
META: Final = '<meta http-equiv="Content-Security-Policy" content="{}">'
# The encoding must be within the first 1024 bytes, so before a long policy.
HEAD: Final = re.compile(r"<head\b[^>]*>(?:\s*<meta charset=[^>]*>)?", re.IGNORECASE)
# All that our pages use of Quarto, which brings its scripts for each into a page.
BLANK_PAGE: Final = """---
title: Blank
---

## Heading {#sec-blank}

::: {.callout-note}
Note.
:::

::: {.panel-tabset}
## One

`code`

## Two

| a |
|---|
| 1 |
:::
"""


class _InlineScripts(HTMLParser):
    """Collects the text of the scripts and of the handlers, such as `onclick`, that a page holds itself."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.handlers: list[str] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handlers += [value for name, value in attrs if name.startswith("on") and value]
        self._is_inside = tag == "script" and "src" not in dict(attrs)
        if self._is_inside:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._is_inside = False

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.texts[-1] += data


def hash_scripts(page: str) -> list[str]:
    """Return the hashes of the scripts that a page holds itself, as a policy has them, sorted."""
    return _hash(_read_scripts(page).texts)


def hash_handlers(page: str) -> list[str]:
    """Return the hashes of the handlers that a page's elements have, as a policy has them, sorted."""
    return _hash(_read_scripts(page).handlers)


def _read_scripts(page: str) -> _InlineScripts:
    parser = _InlineScripts()
    parser.feed(page)
    return parser


def _hash(texts: Iterable[str]) -> list[str]:
    digests = {hashlib.sha256(text.encode()).digest() for text in texts if text.strip()}
    return sorted(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def make_quarto_policy(scripts: Iterable[str], handlers: Iterable[str]) -> str:
    """Return the policy of Quarto's pages, which allows those scripts and handlers in a page that have these hashes."""
    allowed = " ".join(("'self'", *scripts))
    attributes = " ".join(("'unsafe-hashes'", *handlers))
    more = f"script-src-attr {attributes}; font-src 'self' data:; "
    return NOTHING_ELSE.format(scripts=allowed, styles="'self' 'unsafe-inline'", more=more)


def set_policy(site: Path, policy: str) -> None:
    """Put the policy first in the head of every page in the folder of a site; raise ValueError where one has no head.

    Only what follows it in a page is subject to it. Sites in folders below have had theirs.
    """
    for page in sorted(site.glob("*.html")):
        text = page.read_text(encoding="utf-8")
        head = HEAD.search(text)
        if head is None:
            raise ValueError(f"{page.name} has no head to put a content security policy in")
        page.write_text(f"{text[: head.end()]}\n{META.format(policy)}{text[head.end() :]}", encoding="utf-8")
