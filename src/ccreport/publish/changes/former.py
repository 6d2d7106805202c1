"""What a refreshed report says of the release before: the page "Changes", from results that are not published yet."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ccreport.publish.changes.compare import COLUMNS, Section, compare_results, count_names, format_change
from ccreport.publish.changes.differences import ReleaseFolder
from ccreport.publish.release import find_former, list_shown, read_settings
from ccreport.publish.stage import stage_results, write_raw_sums
from ccreport.report.markup.blocks import render_table, text, verbatim
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.report.markup.standalone_page import format_items

HEAD: Final = """\
Compared with {title}, which `release.former` in `config.yaml` names. First come verdicts that flipped, then other
values of claims, published pairs, cells of published tables and figures, each with what changed of all that it is made
of; then what changed of the raw files, the configuration and the code as a whole.
"""


def compare_former(config: str, results: Path, evaluations: list[Path], sections: list[Path], changes: Path) -> None:
    """Write the page's text: what the results of a build have otherwise than the release that the config names, if any.

    `config` is as `publish` takes it. `evaluations` are as it takes them. `sections` is as it takes it.
    Raise InputError where that release is none.
    """
    settings = read_settings(config)
    former = find_former(settings)
    if former is None:
        changes.write_text("", encoding="utf-8")
        return
    with tempfile.TemporaryDirectory(prefix="ccreport-changes-") as work:
        stage = Path(work)
        (stage / "raw").mkdir()
        write_raw_sums(results, stage / "raw")
        stage_results(settings, list_shown(evaluations, sections), results, [], stage)
        old = ReleaseFolder(former)
        parts = [part for section in compare_results(old, ReleaseFolder(stage)) for part in _render(section)]
    changes.write_text("\n\n".join((HEAD.format(title=escape_text(old.title)), *parts)) + "\n", encoding="utf-8")


def _render(section: Section) -> Iterator[str]:
    """Yield the parts of the page's text about a section."""
    yield f"## {escape_text(section.title)}"
    if section.causes:
        yield "What changed of what it is made of:"
        yield fence_html(format_items(section.causes))
    if section.changes:
        rows = (
            [*map(text, (change.where, change.old, change.new, format_change(change)))] for change in section.changes
        )
        yield render_table(COLUMNS, rows, title=section.title)
    for kind, names in section.names:
        yield f"{count_names(names, kind)}:"
        items = "".join(f"<li>{verbatim(name, is_long=True)}</li>\n" for name in names)
        yield fence_html(f"<ul>\n{items}</ul>")
    if not (section.changes or section.names):
        yield "No difference."
