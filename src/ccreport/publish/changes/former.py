"""What a refreshed report says of the release before: the page "Changes", from results that are not published yet."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ccreport.publish.changes.compare import (
    CAUSES,
    COLUMNS,
    Section,
    compare_releases,
    count_changes,
    count_names,
    format_change,
)
from ccreport.publish.changes.differences import ReleaseFolder
from ccreport.publish.release import (
    find_former,
    leave_out_other_explanations,
    list_shown,
    read_settings,
    stage_data,
)
from ccreport.publish.stage import stage_raw
from ccreport.report.markup.blocks import close_fold, open_fold, render_table, text, verbatim
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.report.markup.standalone_page import format_items

HEAD: Final = """\
Compared with {title}, which `release.former` in `config.yaml` names. First come runs, then verdicts that flipped,
other values of claims, published pairs, cells of published tables and figures, each with possible causes; then what
changed of the raw files, the configuration, the code and the files of results as a whole.
"""
# Of a list of names; longer ones are folded away.
SHOWN: Final = 20


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
        # What is published later is staged and compared in the same way, for its CHANGES.md.
        stage_raw([], results, stage / "raw", 0, is_whole=False)
        settings = leave_out_other_explanations(settings, results)
        stage_data(settings, list_shown(evaluations, sections), results, [], stage)
        old = ReleaseFolder(former)
        parts = [part for section in compare_releases(old, ReleaseFolder(stage)) for part in _render(section)]
    changes.write_text("\n\n".join((HEAD.format(title=escape_text(old.title)), *parts)) + "\n", encoding="utf-8")


def _render(section: Section) -> Iterator[str]:
    """Yield the parts of the page's text about a section."""
    yield f"## {escape_text(section.title)}"
    if section.causes:
        yield CAUSES
        yield fence_html(format_items(section.causes))
    if section.changes:
        rows = (
            [*map(text, (change.where, change.old, change.new, format_change(change)))] for change in section.changes
        )
        yield f"{count_changes(section)}:"
        yield render_table(COLUMNS, rows, title=section.title)
    for kind, names in section.names:
        items = "".join(f"<li>{verbatim(name, is_long=True)}</li>\n" for name in names)
        is_long = len(names) > SHOWN
        yield open_fold(count_names(names, kind)) if is_long else f"{count_names(names, kind)}:"
        yield fence_html(f"<ul>\n{items}</ul>")
        if is_long:
            yield close_fold()
    if not (section.changes or section.names):
        yield "No difference."
