"""Runs that the configuration names, looked up in the archive as the inventory found it."""

import difflib
import itertools
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from ccreport.archive.manifest import read_manifest_facts
from ccreport.core.configuration import LISTS_RUNS
from ccreport.core.schema_problems import guess_near
from ccreport.rebuild.batches import read_batches

# Names of experiments are long, and many differ in a number only.
CLOSE: Final = 0.9


def list_unknown_runs(wanted: Iterable[str], batches: Path, manifests: Path) -> Iterator[tuple[int, str]]:
    """Yield number and words of each wanted `run_id` that the archive does not have; none without an inventory."""
    if not (batches.is_file() and manifests.is_dir()):
        return
    batch_of = {name: batch for batch, experiments in read_batches(batches).items() for name in experiments}
    for number, run in enumerate(wanted):
        # Names of experiments may have dots of their own.
        of_run = [name for name in batch_of if run.startswith(f"{name}.")] or _find_near_experiments(run, batch_of)
        runs: list[str] = []
        for experiment in of_run:
            listed = read_manifest_facts(manifests / f"{batch_of[experiment]}.json")
            runs += [run["run_id"] for facts in listed if facts["experiment_id"] == experiment for run in facts["runs"]]
        if run not in runs:
            hint = guess_near(run, runs) or f"; {LISTS_RUNS} lists those that it has"
            yield number, f"the archive has no run `{run}`{hint}"


def _find_near_experiments(run: str, known: Collection[str]) -> list[str]:
    """Return the experiments that a run's name may begin with: names of both may have dots."""
    starts = itertools.accumulate(run.split("."), "{}.{}".format)
    return [near for start in starts for near in difflib.get_close_matches(start, known, 1, CLOSE)]
