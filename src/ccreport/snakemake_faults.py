"""What Snakemake (9.27) does after a fault and must not, mended in the process that runs a build.

- Of a job that failed it writes down parameters and inputs as of one that succeeded, and removes its outputs. Where all
  that is made of these is still there, the next build finds nothing to do, though they are of before the change.
- It looks for the lock of another build first and locks then: of two that start at once both go on.
- A build that ends removes the locks of all: of one that still runs for another target, too.
"""

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

GUARD: Final = "ccreport.guard"


def keep_records(job_class: Any) -> None:
    """Let a job that failed leave the records of its outputs as they were."""
    postprocess = job_class.postprocess

    async def postprocess_and_keep(self: Any, *args: Any, error: bool = False, **options: Any) -> None:
        persistence = self.dag.workflow.persistence
        before = {output: persistence.metadata(output) for output in self.output} if error else {}
        records = {output: record and record.model_copy(deep=True) for output, record in before.items()}
        await postprocess(self, *args, error=error, **options)
        for output, record in records.items():
            persistence.cleanup_metadata(output)
            if record is not None:
                persistence._write_record(persistence._get_key(output), record)

    job_class.postprocess = postprocess_and_keep


def lock_at_once(persistence_class: Any) -> None:
    """Let no other build come between the look for a lock and the lock."""
    lock = persistence_class.lock

    @contextmanager
    def lock_guarded(self: Any) -> Iterator[None]:
        with ExitStack() as held:
            with (Path(self.path) / GUARD).open("w") as guard:
                fcntl.flock(guard, fcntl.LOCK_EX)
                held.enter_context(lock(self))
            yield

    persistence_class.lock = lock_guarded


def unlock_own(persistence_class: Any) -> None:
    """Let a build that ends remove no locks but its own; `snakemake --unlock` still removes all."""

    def unlock(self: Any) -> None:
        for path in self._lockfile.values():
            Path(path).unlink(missing_ok=True)
        self._lockfile.clear()

    persistence_class.unlock = unlock
    persistence_class.cleanup_locks = persistence_class._delete_locks
