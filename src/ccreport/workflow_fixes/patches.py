"""Patches of Snakemake and of its Slurm plugin, applied when a build starts.

They use names that these programs do not promise to keep, so each is applied only to versions with which it was tried.
`docs/snakemake-faults.md` reports the faults; a fault that a new version no longer has needs no patch any more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from types import ModuleType
from typing import Any, Final

from ccreport.core.units import read_whole_number
from ccreport.workflow_fixes.failed_jobs import keep_records
from ccreport.workflow_fixes.reevaluations import keep_one_chain
from ccreport.workflow_fixes.slurm_status import POLL_VARIABLE, ask_often, keep_answer

SNAKEMAKE: Final = "snakemake"
SLURM: Final = "snakemake-executor-plugin-slurm"
DAY_S: Final = 86400


@dataclass(frozen=True)
class Range:
    """Versions from `first` up to, but not including, `end`, each as (major, minor)."""

    first: tuple[int, int]
    end: tuple[int, int]

    def has(self, release: str) -> bool:
        """Tell whether a version such as `9.27.1` is in this range."""
        major, minor = release.split(".")[:2]
        return self.first <= (int(major), int(minor)) < self.end


# Tried: Snakemake 9.27.0 and 9.27.1; the plugin 2.8.0.
TRIED: Final[Mapping[str, Range]] = {SNAKEMAKE: Range((9, 27), (9, 28)), SLURM: Range((2, 8), (2, 9))}


def apply_patches(job_class: Any, scheduler_class: Any, slurm: ModuleType | None) -> str:
    """Patch Snakemake's classes of jobs and schedulers and, for a build through Slurm, the modules of the plugin.

    Return a sentence about the patches that were skipped, or an empty string. Raise InputError where the environment
    holds something else than seconds.
    """
    patches: dict[str, Callable[[], None]] = {SNAKEMAKE: lambda: _patch_snakemake(job_class, scheduler_class)}
    if slurm is not None:
        patches[SLURM] = lambda: _patch_slurm(slurm)
    installed = {package: version(package) for package in patches}
    skipped = [f"{package} {release}" for package, release in installed.items() if not TRIED[package].has(release)]
    for package, patch in patches.items():
        if TRIED[package].has(installed[package]):
            patch()
    if not skipped:
        return ""
    return (
        f"The patches for faults of {' and '.join(skipped)} were not tried with this version and are skipped;"
        " docs/snakemake-faults.md says what may go wrong."
    )


def _patch_snakemake(job_class: Any, scheduler_class: Any) -> None:
    keep_records(job_class)
    keep_one_chain(scheduler_class)


def _patch_slurm(slurm: ModuleType) -> None:
    keep_answer(slurm, slurm.validation)
    if seconds := read_whole_number(POLL_VARIABLE, 1, DAY_S):
        ask_often(slurm.Executor, seconds)
