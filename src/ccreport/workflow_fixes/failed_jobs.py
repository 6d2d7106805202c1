"""What Snakemake (9.27) records of a job that failed, corrected in the process that runs a build.

Of such a job it records parameters and inputs as of one that succeeded, and removes its outputs. Where all files that
are made from these outputs are still there, the next build finds nothing to do, though they are from before the change.
Outputs that it was to update are put back, but as files of now: nothing is younger than they are, and they would stay.
"""

import math
import os
from pathlib import Path
from typing import Any


def keep_records(job_class: Any) -> None:
    """Let a job that failed leave the records of its outputs as they were, and the times of those put back."""
    postprocess = job_class.postprocess

    async def postprocess_and_keep(self: Any, *args: Any, error: bool = False, **options: Any) -> None:
        persistence = self.dag.workflow.persistence
        before = {output: persistence.metadata(output) for output in self.output} if error else {}
        records = {output: record and record.model_copy(deep=True) for output, record in before.items()}
        # What the job had replaced before it failed is put back too: then its record knows when it was made.
        times = {
            path: min(Path(path).stat().st_mtime, getattr(record, "endtime", None) or math.inf)
            for path, record in records.items()
            if Path(path).exists()
        }
        await postprocess(self, *args, error=error, **options)
        for path, time_s in times.items():
            if Path(path).exists():
                os.utime(path, (time_s, time_s))
        for output, record in records.items():
            persistence.cleanup_metadata(output)
            if record is not None:
                persistence._write_record(persistence._get_key(output), record)

    job_class.postprocess = postprocess_and_keep
