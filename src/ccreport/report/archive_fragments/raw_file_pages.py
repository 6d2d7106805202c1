"""The raw files that were read, job by job, in the form that `sha256sum --check` takes.

A run is behind many cells and figures, which lead here: a report lists its files once.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import polars as pl
import yaml

from ccreport.core.text import make_label
from ccreport.report.markup.blocks import Html, close_fold, open_fold, render_quotation, text
from ccreport.trace.raw_files import ReadFiles, name_page

ABOUT: Final = """\
Every raw file that a step read, by job and run, with its SHA-256. The lines are in the form that `sha256sum --check`
takes in the archive's folder. Each path is that of the file in the archive, which [Provenance](provenance.qmd) names:
below its folder or in one of its packed files, which a build unpacks into `results/archive`; a release has the archive
as it was published. Among packed files, `for part in *.tar.*; do tar --list --file "$part" | grep -qF PATH && echo
"$part"; done` names those that hold a path. The [ledger](ledger.qmd) counts all files, also those that no step reads.
"""


def link_jobs(jobs: Iterable[str], read: ReadFiles) -> Html:
    """Return links to the raw files of jobs, with commas between them; jobs without read files have none."""
    return Html(
        ", ".join(
            f'<a href="{address}">{text(job)}</a>' for job in jobs if (address := read.find_address(job)) is not None
        )
    )


def render_file_pages(read: ReadFiles, fragments: Path) -> None:
    """Write the pages that list the files which a step read, at least one."""
    pages = read.pages
    last = max(pages.values(), default=1)
    files = read.files.sort("experiment_id", "run_id", "path", nulls_last=True)
    of_jobs = files.partition_by("experiment_id", as_dict=True, include_key=False)
    for number in range(1, last + 1):
        title = "Raw files" if last == 1 else f"Raw files, {number} of {last}"
        parts = [f"---\n{yaml.safe_dump({'title': title, 'toc': False})}---\n", ABOUT]
        if last > 1:
            parts.append(" · ".join(f"[{page}]({name_page(page)}.qmd)" for page in range(1, last + 1)) + "\n")
        parts += [_render_job(job, own) for (job,), own in of_jobs.items() if pages[str(job)] == number]
        (fragments / f"{name_page(number)}.qmd").write_text("\n".join(parts), encoding="utf-8")


def _render_job(job: object, files: pl.DataFrame) -> str:
    """Return a job's section, closed until a link to it opens it."""
    name = str(job)
    lines = []
    for run in files["run_id"].unique(maintain_order=True):
        lines.append(f"# all runs of {name}" if run is None else f"# run {run}")
        own = files.filter(pl.col("run_id").eq_missing(run))
        # A path may hold a line break, which is written as \n on its one line.
        lines += [f"{digest}  {path}".replace("\n", "\\n") for digest, path in own.select("sha256", "path").iter_rows()]
    heading = f"## {text(name)} {{#{make_label('job', name)}}}\n"
    count = f"{files.height} file{'' if files.height == 1 else 's'}"
    listed = render_quotation("\n".join(lines), f"Raw files of {name}")
    return f"{heading}\n{open_fold(count)}\n{listed}\n{close_fold()}"
