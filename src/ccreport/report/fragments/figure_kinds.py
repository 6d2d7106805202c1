"""Kinds of figures by topic, for whoever writes an evaluation: each as the first drawn figure of that kind shows it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ccreport.figures.select.declaration import CAPTURE_KINDS
from ccreport.figures.write import THUMBNAIL
from ccreport.report.fragments.exhibits import read_size
from ccreport.report.fragments.gallery import TOPICS
from ccreport.report.markup.blocks import verbatim
from ccreport.report.markup.escape import escape_text, fence_html, make_label

ALL_TOPICS: Final = (*TOPICS, ("captures", "Packet captures", tuple(sorted(CAPTURE_KINDS))))


def render_figure_kinds(declared: Mapping[str, Mapping[str, Any]], figures: Path) -> str:
    """Return a section for each topic, with a thumbnail of each kind that has one.

    `declared` is what the evaluation declares of the figures by name; `figures` is a folder as `exhibits` says.
    """
    drawn = {name: facts for name, facts in declared.items() if (figures / name / THUMBNAIL).exists()}
    # Of several figures of a kind the first is taken.
    examples = {facts["kind"]: name for name, facts in reversed(drawn.items())}
    return "\n".join(_render_topic(title, kinds, examples, drawn, figures) for _, title, kinds in ALL_TOPICS)


def _render_topic(
    title: str,
    kinds: tuple[str, ...],
    examples: Mapping[str, str],
    drawn: Mapping[str, Mapping[str, Any]],
    figures: Path,
) -> str:
    shown = [kind for kind in kinds if kind in examples]
    items = "\n".join(_render_kind(kind, examples[kind], drawn[examples[kind]]["title"], figures) for kind in shown)
    others = ", ".join(f"`{kind}`" for kind in kinds if kind not in examples)
    parts = [f"### {escape_text(title)} {{#{make_label('kinds', title)}}}\n"]
    parts += [fence_html(f'<ul class="gallery">\n{items}\n</ul>')] if items else []
    parts += [f"Without an example in this report: {others}.\n"] if others else []
    return "\n".join(parts)


def _render_kind(kind: str, figure: str, title: str, figures: Path) -> str:
    size = read_size(figures / figure / "figure.svg")
    image = f'<img src="figures/{figure}/{THUMBNAIL}" alt=""{size} loading="lazy">'
    words = f"{verbatim(kind)}: {escape_text(title)}"
    return f'<li><a href="figures/{figure}/figure.svg">{image}<span>{words}</span></a></li>'
