"""The pieces that fragments are made of: raw HTML tables and quotations in Markdown with Quarto's divs.

Tables are raw HTML, because their cells hold text of the archive and Markdown's tables have no safe way to quote that.
`Html` is text that is escaped already; only the functions here make some.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final, NewType
from urllib.parse import quote

from ccreport.report.markup.escape import escape_text, fence_html

Html = NewType("Html", str)

# ss `retrans:a/b`, the number b
CODE: Final = re.compile(r"`([^`]+)`")
NONE: Final = Html('<span class="none">–</span>')
EXPLORER: Final = "explorer.html"
# What they do in a browser, which pages of either renderer load.
BLOCKS_SCRIPT: Final = Path(__file__).with_name("blocks.js")
# From so many rows on, a column of one value is not a coincidence.
ALIKE_ROWS: Final = 3


def text(value: str | None) -> Html:
    """Return any text as HTML that shows it literally, a dash for none."""
    return NONE if value is None else Html(escape_text(value))


def verbatim(value: str | None, *, is_long: bool = False) -> Html:
    """Return a name of the archive in code font, on one line unless it is a long one, a dash for none."""
    long = ' class="long"' if is_long else ""
    return NONE if value is None else Html(f"<code{long}>{escape_text(value)}</code>")


def link_run(run_id: str, shown: Html | None = None) -> Html:
    """Return a run's name, or what is shown in its place, which leads to the explorer."""
    name = verbatim(run_id) if shown is None else shown
    title = "" if shown is None else f' title="{escape_text(run_id)}"'
    return Html(f'<a href="{EXPLORER}#run={quote(run_id)}"{title}>{name}</a>')


def prose(value: str) -> Html:
    """Return a sentence of our own as HTML, what is in backticks in code font."""
    parts = CODE.split(value)
    return Html("".join(f"<code>{escape_text(p)}</code>" if i % 2 else escape_text(p) for i, p in enumerate(parts)))


def markdown(value: str) -> str:
    """Return a sentence of our own as Markdown, what is in backticks in code font."""
    return "".join(part if i % 2 else escape_text(part) for i, part in enumerate(re.split(r"(`[^`]+`)", value)))


def number(value: float | None) -> Html:
    """Return a number with commas between thousands, a dash for none."""
    return NONE if value is None else Html(f"{value:,}")


def render_table(
    header: Sequence[str],
    rows: Iterable[Sequence[Html]],
    *,
    title: str,
    numbers: Collection[int] = (),
    total: Sequence[Html] | None = None,
    is_text: bool = False,
) -> str:
    """Return a raw HTML table that scrolls in its own box; `numbers` are the columns to align right.

    One that is mostly text has the cells of a row under each other on a phone, each behind its heading.
    """
    heads = [f' data-head="{text(name)}"' if is_text else "" for name in header]
    classes = [' class="number"' if column in numbers else "" for column in range(len(header))]

    def cells(tag: str, values: Iterable[Html], more: Iterable[str]) -> str:
        return "".join([f"<{tag}{m}{c}>{v}</{tag}>" for c, v, m in zip(classes, values, more, strict=True)])

    head = cells("th", map(text, header), [' scope="col"'] * len(header))
    body = "\n".join(f"<tr>{cells('td', row, heads)}</tr>" for row in rows)
    foot = f"<tfoot><tr>{cells('td', total, heads)}</tr></tfoot>\n" if total else ""
    kind = "data of-text" if is_text else "data"
    return fence_html(
        f'<div class="table-scroll" role="region" aria-label="{text(title)}" tabindex="0">\n'
        f'<table class="{kind}">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n{foot}</table>\n</div>'
    )


def render_varying(
    header: Sequence[str],
    rows: Sequence[Sequence[Html]],
    *,
    title: str,
    numbers: Collection[int] = (),
    total: Sequence[Html] | None = None,
    is_text: bool = False,
    is_cut: bool = False,
) -> str:
    """Return `render_table` of the columns that differ from row to row, below a line that says what all rows share.

    That they are the first of more rows, where the table `is_cut`, the line says, too: the others may differ. Of a
    column that has no value in any row nothing is said.
    """
    places = range(len(header))
    shared = [
        place
        for place in places
        if len(rows) >= ALIKE_ROWS
        and len({row[place] for row in rows}) == 1
        and (total is None or total[place] in ("", NONE, rows[0][place]))
    ]
    kept = [place for place in places if place not in shared]
    if not shared or not kept:
        return render_table(header, rows, title=title, numbers=numbers, total=total, is_text=is_text)
    said = "; ".join(f"{text(header[place])}: {rows[0][place]}" for place in shared if rows[0][place] != NONE)
    table = render_table(
        [header[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        title=title,
        numbers=[number for number, place in enumerate(kept) if place in numbers],
        total=None if total is None else [total[place] for place in kept],
        is_text=is_text,
    )
    line = fence_html(f'<p class="shared">{"The rows below" if is_cut else "All rows"}: {said}.</p>') if said else ""
    return line + table


def leave_out_empty(
    header: Sequence[str], rows: Sequence[Sequence[Html]], column: str
) -> tuple[list[str], list[list[Html]]]:
    """Return header and rows without a column in which no row has anything."""
    empty = header.index(column)
    kept = [place for place in range(len(header)) if place != empty or any(row[place] != NONE for row in rows)]
    return [header[place] for place in kept], [[row[place] for place in kept] for row in rows]


def render_float(label: str, content: str, caption: str, name: str = "") -> str:
    """Return content with a label and a caption (Markdown), which begins with the number `name` in the whole report."""
    attributes = f"#{label} number={name}" if name else f"#{label}"
    return f"::: {{{attributes}}}\n\n{content}\n{caption}\n\n:::\n"


def render_callout(kind: str, title: str, body: str) -> str:
    """Return a callout (note, tip, warning, important, caution); title and body are Markdown of our own."""
    return f"::: {{.callout-{kind}}}\n\n## {title}\n\n{body.strip()}\n\n:::\n"


def open_fold(summary: str) -> str:
    """Return the beginning of a part of a page that is closed until a reader, or a link to its section, opens it."""
    return fence_html(f'<details class="fold"><summary>{text(summary)}</summary>')


def open_phone_fold(summary: str) -> str:
    """Return the beginning of a part of a page that is closed on a phone only; elsewhere its summary is not shown."""
    return fence_html(f'<details class="fold part on-phone" open><summary>{text(summary)}</summary>')


def close_fold() -> str:
    """Return the end of such a part."""
    return fence_html("</details>")


def render_tabs(tabs: Iterable[tuple[str, str]]) -> str:
    """Return a tabset of titles and their Markdown; one that has a single tab is that tab's content alone."""
    listed = list(tabs)
    if len(listed) == 1:
        return listed[0][1]
    inner = "\n".join(f"### {title}\n\n{body}" for title, body in listed)
    return f":::: {{.panel-tabset}}\n\n{inner}\n::::\n"


def render_quotation(source: str, title: str) -> str:
    """Return a text file as it is, in a box that scrolls."""
    lines = "\n".join(escape_text(line) for line in source.rstrip("\n").split("\n"))
    return fence_html(f'<pre class="quotation" role="region" aria-label="{text(title)}" tabindex="0">{lines}</pre>')


def write_fragment(folder: Path, name: str, *parts: str) -> None:
    """Write a fragment of these parts, a blank line between any two."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(part.strip("\n") + "\n" for part in parts), encoding="utf-8")
