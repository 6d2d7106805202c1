"""The raw files that the ledger says were read, by what they were read for."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import duckdb
import polars as pl

from ccreport.core.text import make_label

PAGE: Final = "ledger_files"
OF_JOB: Final = "all runs of "
# About half a megabyte of a page that lists them.
FILES_PER_PAGE: Final = 3_000
# A closed job is about 80 px high.
JOBS_PER_PAGE: Final = 90

# Of a result file whose flows all have a known algorithm.
ALGORITHMS: Final = """
    SELECT path, string_agg(DISTINCT algorithm, ', ' ORDER BY algorithm)
    FROM streams
    JOIN flows USING (run_id, flow_id)
    LEFT JOIN algorithms USING (cc)
    JOIN raw_files USING (raw_file_id)
    GROUP BY path
    HAVING count(*) = count(algorithm)
"""


@dataclass(frozen=True)
class ReadFiles:
    """path, sha256, run_id and experiment_id of all files that a step read; those of whole jobs have no run_id.

    `algorithms` are those of the flows of each result file, by its path, where they were asked for.
    """

    files: pl.DataFrame
    algorithms: Mapping[str, str] = field(default_factory=dict)

    def find(self, runs: pl.DataFrame) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return what was read for runs as (run, job or no text, [(path, sha256)]), the files of whole jobs last.

        `runs` has run_id, experiment_id and result_path.
        """
        found = []
        for run_id, result_path in runs.select("run_id", "result_path").unique(maintain_order=True).iter_rows():
            own = self._of_runs.get(run_id) if result_path is None else self._of_results.get(result_path)
            # Of an edge network a file stands for itself.
            found.append(("" if run_id == result_path else f"run {run_id}", own or []))
        raw_runs = runs.filter(pl.col("result_path").is_null())
        for (experiment_id,) in raw_runs.select("experiment_id").unique(maintain_order=True).iter_rows():
            found.append((f"{OF_JOB}{experiment_id}", self._of_jobs.get(experiment_id, [])))
        return [(whose, files) for whose, files in found if files]

    @cached_property
    def pages(self) -> dict[str, int]:
        """Return the number, from 1, of the page that lists the files of each job; a job is on one page."""
        counted = self.files.group_by("experiment_id").len().sort("experiment_id")
        before = counted["len"].cum_sum() - counted["len"]
        by_count = pl.int_range(counted.height, eager=True) // JOBS_PER_PAGE
        pages = pl.DataFrame([before // FILES_PER_PAGE, by_count.alias("by_count")]).max_horizontal().rank("dense")
        return dict(zip(counted["experiment_id"], pages.to_list(), strict=True))

    def find_address(self, job: str) -> str | None:
        """Return the page and label at which the report lists the files of a job; None where none of it was read."""
        return f"{name_page(self.pages[job])}.html#{make_label('job', job)}" if job in self.pages else None

    @cached_property
    def _of_runs(self) -> dict[str, list[tuple[str, str]]]:
        return _group(self.files.filter(pl.col("run_id").is_not_null()), "run_id")

    @cached_property
    def _of_jobs(self) -> dict[str, list[tuple[str, str]]]:
        return _group(self.files.filter(pl.col("run_id").is_null()), "experiment_id")

    @cached_property
    def _of_results(self) -> dict[str, list[tuple[str, str]]]:
        return _group(self.files, "path")


def name_page(number: int) -> str:
    """Return the name of a page of raw files without its ending."""
    return PAGE if number == 1 else f"{PAGE}_{number}"


def _group(files: pl.DataFrame, by: str) -> dict[str, list[tuple[str, str]]]:
    grouped: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for whose, path, digest in files.select(pl.col(by).alias("whose"), "path", "sha256").iter_rows():
        grouped[whose].append((path, digest))
    return grouped


def load_read_files(connection: duckdb.DuckDBPyConnection) -> ReadFiles:
    """Return the files of the archive that a step read."""
    query = "SELECT path, sha256, run_id, experiment_id FROM raw_files WHERE state = 'ingested' ORDER BY path"
    return ReadFiles(connection.sql(query).pl())


def load_files_by_algorithm(connection: duckdb.DuckDBPyConnection) -> ReadFiles:
    """Return the files of the archive that a step read, with the algorithms of result files."""
    return replace(load_read_files(connection), algorithms=dict(connection.sql(ALGORITHMS).fetchall()))
