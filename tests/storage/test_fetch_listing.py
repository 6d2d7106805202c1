"""Index pages, checksums and addresses, as pure functions of what servers and strangers write."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccreport.storage.listing import Entry, parse_page, resolve_link
from ccreport.storage.places import StorageError, check_address, find_fetched, guess_address, is_packed, name_packed
from ccreport.storage.sums import is_sums, matches_etag, parse_digest, parse_sums

PLACE = "https://host.example/a/b/"

NGINX = rb"""<html>
<head><title>Index of /a/b/</title></head>
<body>
<h1>Index of /a/b/</h1><hr><pre><a href="../">../</a>
<a href="2026-11-20%3A22%3A10/">2026-11-20:22:10/</a>                    20-Nov-2026 22:12                   -
<a href="src-cmd%3A10.2.3.4%3A1">src-cmd:10.2.3.4:1</a>                  20-Nov-2026 22:12              300000
<a href="a%26b.json">a&amp;b.json</a>                                    20-Nov-2026 22:12                 12K
</pre><hr></body>
</html>"""

# Apache with IndexOptions FancyIndexing HTMLTable: icons, how to sort, the parent.
APACHE = rb"""<table><tr><th><a href="?C=N;O=D">Name</a></th>
<th><a href="?C=M;O=A">Last modified</a></th></tr>
<tr><td valign="top"><img src="/icons/back.gif" alt="[PARENTDIR]"></td>
<td><a href="/a/">Parent Directory</a></td></tr>
<tr><td><a href="job/"><img src="/icons/folder.gif" alt="[DIR]"></a></td><td><a href="job/">job/</a></td>
<td align="right">2026-11-20 22:12  </td><td align="right">  - </td></tr>
<tr><td><img src="/icons/unknown.gif"></td><td><a href="./2026-11-20:x">2026-11-20:x</a></td>
<td align="right">2026-11-20 22:12  </td><td align="right">1.2K</td></tr>
<tr><td><a href="small">small</a></td><td align="right">2026-11-20 22:12  </td><td align="right"> 17 </td></tr>
</table>"""


def test_a_page_of_nginx() -> None:
    page = parse_page(NGINX, "text/html", PLACE)
    assert page.entries == (
        Entry("2026-11-20:22:10", f"{PLACE}2026-11-20%3A22%3A10/", is_folder=True),
        Entry("a&b.json", f"{PLACE}a%26b.json", is_folder=False, mark="20-Nov-2026 22:12 12K"),
        Entry("src-cmd:10.2.3.4:1", f"{PLACE}src-cmd%3A10.2.3.4%3A1", False, 300000, "20-Nov-2026 22:12 300000"),
    )
    assert page.left_out == ()


def test_a_page_of_apache() -> None:
    page = parse_page(APACHE, "text/html;charset=UTF-8", PLACE)
    assert [(one.name, one.is_folder, one.size_bytes) for one in page.entries] == [
        ("2026-11-20:x", False, None),
        ("job", True, None),
        ("small", False, 17),
    ]
    assert page.left_out == ()


def test_a_page_of_nginx_as_json() -> None:
    page = parse_page(
        b"""[{"name":"j%2f", "type":"file", "mtime":"Fri, 20 Nov 2026 22:12:00 GMT", "size":3},
        {"name":"d", "type":"directory", "mtime":"Fri, 20 Nov 2026 22:12:00 GMT"}, {"name":"l", "type":"other"},
        {"name":"../x", "type":"file", "size":1}, {"name":"/etc", "type":"directory"}, 7]""",
        "application/json",
        PLACE,
    )
    assert page.entries == (
        Entry("d", f"{PLACE}d/", is_folder=True, mark="Fri, 20 Nov 2026 22:12:00 GMT"),
        Entry("j%2f", f"{PLACE}j%252f", False, 3, "Fri, 20 Nov 2026 22:12:00 GMT"),
    )
    assert page.left_out == ("l", "../x", "/etc", "7")


@pytest.mark.parametrize(
    "link",
    [
        "https://other.example/a/b/x",
        "//other.example/a/b/x",
        "http://host.example/a/b/x",
        "https://host.example:444/a/b/x",
        "/etc/passwd",
        "../x",
        "/a/x",
        "/a/bx",
        "c/d",
        "c/../../x",
        "%2e%2e/",
        "..%2fx",
        "x%2fy",
        "%2fetc%2fpasswd",
        "x%5cy",
        "x%00y",
        "x?y=1",
        "x#y",
        "javascript:alert(1)",
        "mailto:x@host.example",
        "file:///etc/passwd",
        "//[",
        "x" * 256,
    ],
)
def test_a_link_that_leads_elsewhere_is_left_out(link: str) -> None:
    assert resolve_link(link, PLACE) is None
    page = parse_page(f'<a href="{link}">good.json</a> 20-Nov-2026 22:12 3'.encode(), "text/html", PLACE)
    assert page.entries == ()


@given(st.binary(max_size=300), st.sampled_from(["text/html", "application/json"]))
def test_no_page_gives_a_name_that_leads_out(content: bytes, kind: str) -> None:
    try:
        page = parse_page(b'<a href="' + content + b'">' if kind == "text/html" else content, kind, PLACE)
    except StorageError:
        return
    for entry in page.entries:
        assert "/" not in entry.name
        assert entry.name not in ("", ".", "..")
        assert entry.address.startswith(PLACE)


def test_what_is_no_index_is_refused() -> None:
    with pytest.raises(StorageError, match="is image/png, no index page"):
        parse_page(b"", "image/png", PLACE)
    for content in (b"{", b'{"name": 1}', b"[" * 100_000):
        with pytest.raises(StorageError, match="JSON"):
            parse_page(content, "application/json", PLACE)


def test_lists_of_checksums() -> None:
    one, two = "a" * 64, "B" * 64
    text = f"{one}  ./x/y.json\n{two} *z\r\n\\{one}  new\\nline\\\\\nSHA256 (w v) = {two}\n# words\n{one[:-1]}  short\n"
    assert parse_sums(text, "SHA256SUMS") == {"x/y.json": one, "z": "b" * 64, "new\nline\\": one, "w v": "b" * 64}
    assert parse_sums(f"\\{one}  dir\\\\new\n", "SHA256SUMS") == {"dir\\new": one}
    assert parse_sums(one, "a.tar.gz.sha256") == {"a.tar.gz": one}
    assert is_sums("sha256sum.txt", [])
    assert is_sums("a.tar.sha256", ["a.tar"])
    assert not is_sums("a.tar.sha256", ["b.tar"])


def test_digests_of_headers() -> None:
    # `printf top | openssl dgst -sha256 -binary | base64`
    value = "uYA4dKtGBoxqj0HCuN2JRVHDAgNtNU0QZjNeOoBBJZ8="
    known = ("sha256", "b9803874ab46068c6a8f41c2b8dd894551c302036d354d1066335e3a8041259f")
    assert parse_digest({"Repr-Digest": f"sha-256=:{value}:"}) == known
    assert parse_digest({"Digest": f"adler=03da0195,SHA-256={value}"}) == known
    assert parse_digest({"Repr-Digest": "sha-256=:bad:"}) is None
    assert parse_digest({}) is None


def test_etags_of_s3(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    assert matches_etag(path, '"900150983cd24fb0d6963f7d28e17f72"') is True  # MD5 of abc, RFC 1321
    assert matches_etag(path, '"900150983cd24fb0d6963f7d28e17f73"') is False
    assert matches_etag(path, 'W/"1"') is None
    path.write_bytes(b"a" * (8 * 2**20) + b"b")
    parts = [
        hashlib.md5(b"a" * 8 * 2**20, usedforsecurity=False).digest(),
        hashlib.md5(b"b", usedforsecurity=False).digest(),
    ]
    assert matches_etag(path, f'"{hashlib.md5(b"".join(parts), usedforsecurity=False).hexdigest()}-2"') is True
    assert matches_etag(path, f'"{"0" * 32}-2"') is None


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://host.example/a/", "use https"),
        ("ftp://host.example/a/", "no such kind of address"),
        ("https://me:secret@host.example/a/", "~/.netrc"),
        ("https://host.example/a/?x=1", "leave that part out"),
        ("s3:///a", "no such kind of address"),
    ],
)
def test_addresses_that_nothing_is_fetched_from(address: str, words: str) -> None:
    with pytest.raises(StorageError, match=words) as caught:
        check_address(address)
    assert "secret" not in str(caught.value)


def test_where_a_fetched_archive_lies() -> None:
    assert find_fetched("s3://bucket/a", Path("f")) == Path("f/files")
    assert find_fetched("https://host.example/a.tar.zst", Path("f")) == Path("f/files/a.tar.zst")
    assert is_packed("https://host.example/A.ZIP")
    for name in ("..%2f.tar", "%2e.tar", ".tar", "%0a.tar"):
        assert name_packed(f"https://host.example/{name}") == "archive.tar"


@pytest.mark.parametrize(
    ("place", "meant"),
    [
        ("127.0.0.1:8765/2.0/", "http"),
        ("localhost/2.0", "http"),
        ("192.0.2.1/2.0", "https"),
        ("host.example/releases/2.0/", "https"),
        ("host:8080", "https"),
        *(("results/release/2.0", ""), ("2.0/", ""), ("../2.0", ""), ("host.example", ""), ("a:b/c", "")),
        ("https://host.example/", ""),
    ],
)
def test_a_path_that_begins_with_a_host_is_meant_as_an_address(place: str, meant: str) -> None:
    assert guess_address(place) == (f"; did you mean `{meant}://{place}`?" if meant else "")
