"""The raw files of the runs behind a row: a line for each run below its job’s folder, which leads to the ledger."""

import re
from collections.abc import Iterable, Sequence
from os.path import commonpath
from pathlib import PurePosixPath
from typing import Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.report.markup.blocks import Html, close_fold, open_fold, text, verbatim
from ccreport.report.markup.escape import fence_html
from ccreport.trace.raw_files import OF_JOB, ReadFiles

# ss:10.201.1.2:1:10.0ms: what it is, and of which run.
OF_RUN: Final = re.compile(r"([\w.-]+)(:.*)", re.DOTALL)
ABOUT: Final = (
    "Paths of raw files are those in the archive, several of a run as a shell writes them: `a/{x,y}:1` is `a/x:1` and "
    "`a/y:1`. Each folder leads to the ledger’s list of its job, with checksums and the files of the whole job."
)


def render_raw_files(runs: pl.DataFrame, read: ReadFiles) -> list[str]:
    """Return a fold with the files that were read for runs, or that stand for these; nothing where none was.

    `runs` has run_id, experiment_id and result_path.
    """
    known = runs.drop_nulls("experiment_id")
    items = [
        _render_job(str(job), files, read)
        for (job,), own in known.partition_by("experiment_id", as_dict=True, maintain_order=True).items()
        if (files := [[path for path, _ in found] for whose, found in read.find(own) if not whose.startswith(OF_JOB)])
    ]
    if not items:
        return []
    are_files = known["run_id"].equals(known["result_path"])
    of_runs = "" if are_files else f" of {count_things(runs['run_id'].n_unique(), 'run')}"
    listed = fence_html("<ul>\n" + "\n".join(items) + "\n</ul>")
    return [open_fold(f"Raw files{of_runs}"), listed, close_fold()]


def _render_job(job: str, files_of_runs: Sequence[Sequence[str]], read: ReadFiles) -> Html:
    """Return the folder that the files of a job's runs are in, as a link, and below it a line for each run."""
    folders = {str(PurePosixPath(path).parent) for paths in files_of_runs for path in paths}
    folder = "" if "." in folders else commonpath(folders)
    start = f"{folder}/" if folder else ""
    names_of_runs = [shorten(path.removeprefix(start) for path in paths) for paths in files_of_runs]
    lines = [", ".join(map(verbatim, names)) for names in names_of_runs]
    name = text(start or job)
    address = read.find_address(job)
    shown = f'<a href="{address}">{name}</a>' if address else name
    return Html(f"<li>{'<br>'.join([shown, *lines])}</li>")


def shorten(names: Iterable[str]) -> list[str]:
    """Return names that differ only before their first colon as one, as a shell writes them: `{ss,iperf}:1:10.0ms`."""
    starts: dict[str, list[str]] = {}
    others = []
    for name in names:
        if found := OF_RUN.fullmatch(name):
            starts.setdefault(found[2], []).append(found[1])
        else:
            others.append(name)
    joined = (f"{{{','.join(own)}}}{end}" if len(own) > 1 else f"{own[0]}{end}" for end, own in starts.items())
    return [*joined, *others]
