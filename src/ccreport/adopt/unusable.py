"""What of a folder or its layout is of no use: files that cannot be read, patterns and rows that are about no file."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from ccreport.adopt.contents import Content
from ccreport.adopt.layout_faults import list_untaken
from ccreport.archive.layout import IGNORED, Layout
from ccreport.archive.manifest import Manifest, RawFile
from ccreport.core.text import display_name
from ccreport.inventory.kinds import MEASUREMENT_RULE, TEST_KINDS

UNREAD_RULES: Final = ("unknown_files_not_read", MEASUREMENT_RULE)


def has_unfitting(layout: Layout | None, manifests: Sequence[Manifest]) -> bool:
    """Tell whether a run may lack conditions: a row of the table is about no file, or a pattern while files have none.

    Patterns may be of files that others have, or be there to ignore some.
    """
    if layout is None:
        return False
    paths = [file.path for manifest in manifests for file in manifest.files]
    ignoring = {layout.describe(own) for own in layout.patterns if own.kind == IGNORED}
    unused = {*layout.list_unused(paths)} - ignoring
    patterns = {layout.describe(own) for own in layout.patterns}
    return bool(unused - patterns) or bool(unused and list_untaken(layout, manifests))


def has_unusable(folder: Path, manifests: Iterable[Manifest], read: Callable[[Path], Content]) -> bool:
    """Tell whether some file is rejected, or nothing of it can be read: it is empty, say, or breaks off."""
    files = [file for manifest in manifests for file in manifest.files]
    taken = (file for file in files if file.action == "ingest" or file.rule in UNREAD_RULES)
    return any(file.action == "rejected" for file in files) or any(read(folder / one.path).is_unusable for one in taken)


def put_results_first(said: Sequence[tuple[str, str]], files: Iterable[RawFile]) -> list[tuple[str, str]]:
    """Return messages about files with those on results first, and on files that end as results do: they are runs."""
    results = {display_name(file.path) for file in files if file.kind in TEST_KINDS}
    endings = {PurePosixPath(name).suffix for name in results}
    return sorted(said, key=lambda told: (told[0] not in results, PurePosixPath(told[0]).suffix not in endings))
