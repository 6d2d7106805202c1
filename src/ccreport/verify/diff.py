"""Two releases side by side, for those who have an old one and are shown a new one."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ccreport.core.errors import InputError
from ccreport.publish import SUMS
from ccreport.publish.changes.compare import Section, compare_releases, format_html, format_text
from ccreport.publish.changes.differences import ReleaseFolder, describe_order
from ccreport.publish.checks import FAULTS, describe_cause
from ccreport.publish.checks.sums import require_whole
from ccreport.storage.writable import check_file
from ccreport.verify.cells import check_csv
from ccreport.verify.fetch import open_release


def diff(old: str, new: str, /, *, html: str = "", full: bool = False) -> int:
    """Print what differs between two releases (folders, packed ones or addresses): runs, verdicts, cells, figures, why.

    `old` is the path or address of the former. `new` is that of the later. `html` is the path of a page to write.
    `full` lists all cells and files that differ, and the files of each figure with the hashes of both.
    Return 0 where it could be told, whatever it is, else 2, as where a file is not what its SHA256SUMS says. Raise
    InputError where that is so.
    """
    with tempfile.TemporaryDirectory(prefix="ccreport-diff-") as work:
        try:
            if html:
                check_file(Path(html), "--html")
            opened = [(place, *open_release(place, Path(work, side))) for side, place in (("old", old), ("new", new))]
            for place, folder, left_out in opened:
                require_whole(place, folder, left_out)
            before, after = (ReleaseFolder(folder) for _, folder, _ in opened)
            sides = ((old, before), (new, after))
            for place, side in sides:
                _require_parts(place, side)
            about = f"{before.title} ({old}) and {after.title} ({new})"
            if problem := describe_order(before.version, after.version):
                print(f"ccreport: {problem}; give the older release first to see what was added", file=sys.stderr)
            is_same = before.files == after.files
            if is_same:
                about += f": the same release, all {len(before.files)} files have the same SHA-256"
            sections = [] if is_same else compare_releases(before, after, is_full=full)
            found = [
                (f"differences in {place}", check_csv(side.folder, side.files, Path(work)).failures)
                for place, side in sides
            ]
        except InputError:
            raise
        except FAULTS as error:
            problem = f"a release cannot be read ({describe_cause(error)}); verify both"
            raise InputError(problem) from error
    if named := tuple((kind, failures) for kind, failures in found if failures):
        sections.insert(0, Section("CSV files that are not what their tables say", names=named))
    text = format_text(sections, is_full=full, is_brief=not full)
    print(f"# {about}\n\n{text}" if text else f"# {about}\n", end="")
    if html:
        Path(html).write_text(format_html("Two releases compared", about, sections), encoding="utf-8")
    return 0


def _require_parts(place: str, side: ReleaseFolder) -> None:
    """Raise InputError where a release lacks what is compared: nothing there would differ from anything."""
    gone = next((part for part in _list_parts(side) if not (side.folder / part).exists()), None)
    if gone:
        raise InputError(f"{place} is incomplete: it has no {gone}; `verify` says what else it lacks")


def _list_parts(side: ReleaseFolder) -> Iterator[str]:
    """Yield the files and folders that each release has; each is asked for before what is in it is read."""
    yield from ("CITATION.cff", "code/config.yaml", f"raw/{SUMS}", "tables/", "evaluations/")
    yield from (f"evaluations/{name}/{name}.yaml" for name in side.list_evaluations())
    # Only now, as all of the declarations are read at once.
    yield from (f"evaluations/{name}/tables/" for name, one in side.evaluations.items() if one.get("tables"))
