"""Examples of kinds of figures that sections of a report drew, in place of the pictures of example data."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

Examples = Mapping[str, Mapping[str, str]]
FRAGMENT: Final = "fragments/figure_kinds.md"
# <div><img src="kinds/heat_map.png" alt="" loading="lazy"><span><code>heat&#95;map</code>: example data</span></div>
PICTURE: Final = re.compile(
    r'<div><img src="kinds/(?P<kind>\w+)\.png"[^>]*><span>(?P<name><code>[^<]*</code>)[^<]*</span></div>'
)


def list_shown(examples: Examples, site: Path) -> dict[str, Mapping[str, str]]:
    """Return the examples whose thumbnails a site has: a section has none of its figures of captures."""
    return {kind: example for kind, example in examples.items() if (site / example["thumbnail"]).exists()}


def show_sections_examples(project: Path, sections: Sequence[tuple[str, Examples]]) -> None:
    """Put the first section's figure of a kind where a project's page has a picture of example data.

    `sections` are names of folders of sections, which are those of their evaluations, with their examples.
    """

    def show(picture: re.Match[str]) -> str:
        folder, example = next(
            ((name, own[picture["kind"]]) for name, own in sections if picture["kind"] in own), ("", {})
        )
        if not example:
            return picture[0]
        image = f'<img src="{folder}/{example["thumbnail"]}" alt=""{example["size"]} loading="lazy">'
        words = f"{picture['name']}: {example['title']} ({folder})"
        return f'<a href="{folder}/{example["figure"]}">{image}<span>{words}</span></a>'

    page = project / FRAGMENT
    page.write_text(PICTURE.sub(show, page.read_text(encoding="utf-8")), encoding="utf-8")
