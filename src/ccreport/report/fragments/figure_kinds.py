"""Kinds of figures by topic, for whoever writes an evaluation: each with a thumbnail.

A kind is shown by the first figure of it that the report drew, else by that of a section, else by the picture of
example data in `reports/kinds`, which `make pictures` draws.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ccreport.figures.select.declaration import CAPTURE_KINDS
from ccreport.figures.write import THUMBNAIL
from ccreport.report.fragments.exhibits import read_size
from ccreport.report.fragments.gallery import TOPICS
from ccreport.report.markup.blocks import verbatim
from ccreport.report.markup.escape import escape_text, fence_html, make_label

ALL_TOPICS: Final = (*TOPICS, ("captures", "Packet captures", tuple(sorted(CAPTURE_KINDS))))
PICTURES: Final = "kinds"
Examples = Mapping[str, Mapping[str, str]]


def find_examples(declared: Mapping[str, Mapping[str, Any]], figures: Path) -> dict[str, dict[str, str]]:
    """Return of each kind that has one the first drawn figure: its name, its title and its size as attributes, escaped.

    `declared` is what the evaluation declares of the figures by name; `figures` is a folder as `exhibits` says.
    """
    return {
        facts["kind"]: {
            "figure": name,
            "title": escape_text(facts["title"]),
            "size": read_size(figures / name / "figure.svg"),
        }
        # Of several figures of a kind the first is taken.
        for name, facts in reversed(list(declared.items()))
        if (figures / name / THUMBNAIL).exists()
    }


def render_figure_kinds(examples: Sequence[tuple[str, Examples]]) -> str:
    """Return a part for each topic, with a thumbnail of each kind.

    `examples` are those of the report (named ""), then of its sections, each with the name of its evaluation, which its
    folder in the report has too.
    """
    return "\n".join(_render_topic(title, kinds, examples) for _, title, kinds in ALL_TOPICS)


def _render_topic(title: str, kinds: tuple[str, ...], examples: Sequence[tuple[str, Examples]]) -> str:
    items = "\n".join(f"<li>{_render_kind(kind, examples)}</li>" for kind in kinds)
    heading = f"### {escape_text(title)} {{#{make_label('kinds', title)}}}\n"
    return f"{heading}\n" + fence_html(f'<ul class="gallery">\n{items}\n</ul>')


def _render_kind(kind: str, examples: Sequence[tuple[str, Examples]]) -> str:
    for evaluation, own in examples:
        if kind in own:
            example, folder = own[kind], f"{evaluation}/figures" if evaluation else "figures"
            path = f"{folder}/{example['figure']}"
            words = f"{example['title']} ({escape_text(evaluation)})" if evaluation else example["title"]
            shown = _render_picture(kind, f"{path}/{THUMBNAIL}", words, example["size"])
            return f'<a href="{path}/figure.svg">{shown}</a>'
    return f"<div>{_render_picture(kind, f'{PICTURES}/{kind}.png', 'example data, not of this archive')}</div>"


def _render_picture(kind: str, image: str, words: str, size: str = "") -> str:
    return f'<img src="{image}" alt=""{size} loading="lazy"><span>{verbatim(kind)}: {words}</span>'
