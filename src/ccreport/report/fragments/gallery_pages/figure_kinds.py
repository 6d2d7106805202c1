"""Kinds of figures by topic, for whoever writes an evaluation: each with a thumbnail.

A kind is shown by the first figure of it that the evaluation drew, else by the picture of example data in
`reports/kinds`, which `make pictures` draws. In its place a report puts what a section drew (`report.kind_pictures`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ccreport.core.text import make_label
from ccreport.figures.select.declaration import CAPTURE_KINDS
from ccreport.figures.topics import TOPICS
from ccreport.figures.write import THUMBNAIL
from ccreport.report.fragments.exhibits import read_size
from ccreport.report.markup.blocks import verbatim
from ccreport.report.markup.escape import escape_text, fence_html

ALL_TOPICS: Final = (*TOPICS, ("captures", "Packet captures", tuple(sorted(CAPTURE_KINDS))))


def find_examples(declared: Mapping[str, Mapping[str, Any]], figures: Path) -> dict[str, dict[str, str]]:
    """Return of each kind that has one the first drawn figure: files, title and size as attributes, all for HTML.

    `declared` is what the evaluation declares of the figures by name; `figures` is a folder as `exhibits` says.
    """
    return {
        facts["kind"]: {
            "figure": f"figures/{name}/figure.svg",
            "thumbnail": f"figures/{name}/{THUMBNAIL}",
            "title": escape_text(facts["title"]),
            "size": read_size(figures / name / "figure.svg"),
        }
        # Of several figures of a kind the first is taken.
        for name, facts in reversed(list(declared.items()))
        if (figures / name / THUMBNAIL).exists()
    }


def render_figure_kinds(examples: Mapping[str, Mapping[str, str]]) -> str:
    """Return a part for each topic, with a thumbnail of each kind; `examples` are as `find_examples` gives them."""
    return "\n".join(_render_topic(title, kinds, examples) for _, title, kinds in ALL_TOPICS)


def _render_topic(title: str, kinds: tuple[str, ...], examples: Mapping[str, Mapping[str, str]]) -> str:
    items = "\n".join(f"<li>{_render_kind(kind, examples.get(kind))}</li>" for kind in kinds)
    heading = f"### {escape_text(title)} {{#{make_label('kinds', title)}}}\n"
    return f"{heading}\n" + fence_html(f'<ul class="gallery">\n{items}\n</ul>')


def _render_kind(kind: str, example: Mapping[str, str] | None) -> str:
    if example is None:
        words = f"{verbatim(kind)}: example data, not of this archive"
        return f'<div><img src="kinds/{kind}.png" alt="" loading="lazy"><span>{words}</span></div>'
    image = f'<img src="{example["thumbnail"]}" alt=""{example["size"]} loading="lazy">'
    return f'<a href="{example["figure"]}">{image}<span>{verbatim(kind)}: {example["title"]}</span></a>'
