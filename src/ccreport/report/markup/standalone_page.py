"""Pages of one file: text and tables, escaped, under the content security policy of all pages.

The policy allows no style or script element within a page, so styles are in attributes.
"""

import html
from collections.abc import Iterable, Sequence
from typing import Final

from ccreport.report.markup.content_security import META, POLICY
from ccreport.report.markup.escape import show_text

PAGE: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
</head>
<body style="font-family: sans-serif; line-height: 1.4; max-width: 75rem; margin: 1rem auto; padding: 0 1rem">
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
CELL: Final = "text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; overflow-wrap: anywhere"


def format_page(title: str, parts: Iterable[str]) -> str:
    """Return a page of a title, which is text, and parts, which are HTML made by the functions here."""
    return PAGE.format(policy=META.format(POLICY), title=escape(title), body="\n".join(parts))


def escape(text: str) -> str:
    """Return text as HTML, what cannot be printed as visible escapes."""
    return html.escape(show_text(text))


def format_heading(text: str) -> str:
    """Return a heading of a section."""
    return f"<h2>{escape(text)}</h2>"


def format_paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def format_items(texts: Iterable[str]) -> str:
    """Return a list, empty for no items."""
    items = "".join(f"<li>{escape(text)}</li>\n" for text in texts)
    return f"<ul>\n{items}</ul>" if items else ""


def format_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts with a header line."""
    heads = "".join(f'<th scope="col" style="{CELL}">{escape(text)}</th>' for text in head)
    lines = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{escape(text)}</td>' for text in row) + "</tr>\n" for row in rows
    )
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>"
