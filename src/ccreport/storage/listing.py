"""Index pages as web servers make them: nginx (HTML and JSON), Apache, lighttpd and alike.

A page is a stranger's input: a link counts only if it leads to a file or folder directly below the page, on the same
server, and its decoded name is one that a file can have here. All else is left out and named. Sizes are taken where the
page gives bytes; rounded ones (`1.2K`) tell only whether a file changed.

nginx: https://nginx.org/en/docs/http/ngx_http_autoindex_module.html
Apache: https://httpd.apache.org/docs/2.4/mod/mod_autoindex.html
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes, urljoin, urlsplit

from ccreport.storage.places import StorageError

# "src-cmd…>  20-Nov-2026 22:10   1234" · "2026-11-20 22:10  1.2K" · "2026-Nov-20 22:10:01 - "
FACTS: Final = re.compile(
    r"(?P<time>\d{1,4}-(?:\d{2}|[A-Za-z]{3})-\d{1,4} \d{2}:\d{2}(?::\d{2})?)"
    r"\s*(?P<size>\d+(?:\.\d+)?(?:\s?[KMGTP]i?B?)?|-)?",
    re.IGNORECASE,
)
NAME_BYTES: Final = 255
# In so many at its beginning and at its end a page of HTML says that it begins and ends.
HEAD_BYTES: Final = 4096


class BrokenPageError(StorageError):
    """An index page that ends in its middle."""


@dataclass(frozen=True)
class Entry:
    """One line of an index page: a name below it, its bytes where the page tells them, and what else the page says."""

    name: str
    address: str
    is_folder: bool
    size_bytes: int | None = None
    mark: str = ""


@dataclass(frozen=True)
class Page:
    """An index page: its entries, and the links that were left out."""

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]


def check_name(raw: bytes) -> str | None:
    """Return the name of one file or folder, or None where no file here may be called so."""
    name = raw.decode("utf-8", "surrogateescape")
    is_bad = name in ("", ".", "..") or any(character in name for character in "/\\\0") or len(raw) > NAME_BYTES
    return None if is_bad else name


def parse_page(content: bytes, kind: str, address: str) -> Page:
    """Return what an index page lists; `kind` is its content type, `address` where it is, with a slash at its end.

    Raise StorageError where it is not an index page, BrokenPageError where it is a part of one.
    """
    kind = kind.partition(";")[0].strip().lower()
    if kind == "application/json":
        return _keep(_parse_json(content, address))
    if kind not in ("text/html", "application/xhtml+xml"):
        raise StorageError(
            f"{address} is {kind or 'of no declared type'}, no index page; name a folder, or a tarball's file"
        )
    if b"<html" in content[:HEAD_BYTES].lower() and b"</html" not in content[-HEAD_BYTES:].lower():
        raise BrokenPageError(f"{address} ends in its middle")
    return _keep(_parse_html(content.decode("utf-8", "surrogateescape"), address))


def _keep(found: Iterable[Entry | str]) -> Page:
    """Keep the first entry of each name; a name cannot be a file and a folder at once."""
    entries: dict[str, Entry] = {}
    left_out = []
    for entry in found:
        if isinstance(entry, str):
            left_out.append(entry)
        elif entries.setdefault(entry.name, entry).is_folder != entry.is_folder:
            left_out.append(entry.address)
    return Page(tuple(entries[name] for name in sorted(entries)), tuple(left_out))


def _parse_json(content: bytes, address: str) -> Iterator[Entry | str]:
    try:
        lines = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BrokenPageError(
            f"{address} is said to be JSON and is not ({error}); run again, or tell its keeper"
        ) from error
    if not isinstance(lines, list):
        raise StorageError(f"{address} is JSON, but no index as nginx writes it; name a folder, or a tarball's file")
    for line in lines:
        name = line.get("name") if isinstance(line, dict) else None
        if not isinstance(name, str):
            yield str(line)[:100]
            continue
        raw = name.encode("utf-8", "surrogatepass")
        is_folder = line.get("type") == "directory"
        if check_name(raw) is None or line.get("type") not in ("directory", "file"):
            yield name
            continue
        size = line.get("size")
        is_size = isinstance(size, int) and not isinstance(size, bool) and size >= 0
        place = address + quote_from_bytes(raw, safe="") + "/" * is_folder
        yield Entry(name, place, is_folder, size if is_size and not is_folder else None, str(line.get("mtime", "")))


class _Links(HTMLParser):
    """The links of a page, each with the text that follows it up to the next one."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[tuple[str, list[str]]] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if tag == "a" and target:
            # Apache with icons links each name twice; the facts follow the second link.
            self.links.append((target, []))
            self._is_inside = True

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = self._is_inside and tag != "a"

    def handle_data(self, data: str) -> None:
        if self.links and not self._is_inside:
            self.links[-1][1].append(data)


def _parse_html(text: str, address: str) -> Iterator[Entry | str]:
    parser = _Links()
    parser.feed(text)
    parser.close()
    facts: dict[str, str] = {}
    for link, after in parser.links:
        facts[link] = facts.get(link, "") + " ".join(after)
    for link, after_link in facts.items():
        if not link.startswith("?"):  # how to sort the page
            found = resolve_link(link, address)
            if found is None:
                if not _leads_up(link.strip(), address):
                    yield link
            else:
                yield _describe(*found, after_link)


def _describe(name: str, address: str, text: str) -> Entry:
    is_folder = address.endswith("/")
    match = FACTS.search(text)
    size = match["size"] if match else None
    is_exact = size is not None and size.isdigit() and not is_folder
    mark = f"{match['time']} {size or ''}".strip() if match else ""
    return Entry(name, address, is_folder, int(size) if is_exact and size else None, "" if is_folder else mark)


def resolve_link(link: str, address: str) -> tuple[str, str] | None:
    """Return name and address of what a link of a page leads to, or None where that is not directly below the page."""
    try:
        base, target = urlsplit(address), urlsplit(urljoin(address, link.strip()))
    except ValueError:
        return None
    if (target.scheme, target.netloc) != (base.scheme, base.netloc) or target.query or target.fragment:
        return None
    if not target.path.startswith(base.path):
        return None
    rest = target.path[len(base.path) :]
    name = check_name(unquote_to_bytes(rest.removesuffix("/").encode("utf-8", "surrogateescape")))
    if name is None or "/" in rest.removesuffix("/"):
        return None
    raw = name.encode("utf-8", "surrogateescape")
    return name, address + quote_from_bytes(raw, safe="") + "/" * rest.endswith("/")


def _leads_up(link: str, address: str) -> bool:
    """Tell whether a link is the page's own one to its parent or to itself, of which nothing need be said."""
    try:
        target = urljoin(address, link).partition("?")[0]
    except ValueError:
        return False
    return address.startswith(target) and target.endswith("/")
