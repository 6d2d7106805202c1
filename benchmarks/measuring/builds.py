"""Builds in a copy of the tree, where modules and evaluations can be edited, and the archives that are built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ccreport.archive.harness_layout import parse_suffix, split_name
from ccreport.archive.parts import open_archive
from ccreport.core.evaluation import SAMPLE
from measuring.processes import Measured, run_measured

ROOT = Path(__file__).resolve().parents[2]
# What a build of the report reads; results, logs and caches of the tree itself stay behind.
FOLDERS = ("benchmarks", "campaigns", "evaluations", "reports", "rules", "schemas", "src", "workflow", "archive/sample")
FILES = ("config.yaml", "environment.yml", "pyproject.toml", "archive/explanations.yaml")
# A job of the sample's sweep behind Table II, which each of its repetitions has.
SWEEP_JOB = "cubic_p16_loss0.1"
# What is measured, unpacked or made up, is reported on as the packed sample is.
MEASURED, SECTIONS = "esnet-dtn", ["mininet-bbr2", "brakmo-bbr", "edge-bbr2"]
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info")


def copy_tree(tree: Path) -> Path:
    """Copy the program into a new folder and compile its kernels, as set-up does; return the folder."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=LEFT_OUT)
    for name in FILES:
        (tree / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tree / name)
    call_command(tree, "compile_kernels", "--kernels", str(tree / "kernels.txt"))
    return tree


def make_environment(tree: Path) -> dict[str, str]:
    """Return an environment in which the tree's own package is the one that runs."""
    return os.environ | {"PYTHONPATH": str(tree / "src"), "POLARS_MAX_THREADS": "1"}


def call_command(tree: Path, *words: str) -> Measured:
    """Run a subcommand of the tree's package."""
    return run_measured([sys.executable, "-m", "ccreport", *words], tree, make_environment(tree))


def build(tree: Path, archive: Path, target: str = "report", cores: int = 2, **config: object) -> Measured:
    """Build a target in a copy of the tree, with values of the configuration, and measure it."""
    values = {"archive": archive, "evaluation": MEASURED, "sections": SECTIONS, "explanations": "", **config}
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--nolock", target, "--config"]
    return run_measured([*command, *(f"{n}={v}" for n, v in values.items())], tree, make_environment(tree))


def remove_results(tree: Path) -> None:
    """Make the next build a cold one."""
    for name in ("results", "logs", ".snakemake"):
        shutil.rmtree(tree / name, ignore_errors=True)


def open_sample(folder: Path) -> Path:
    """Unpack the sample archive below a folder, and return the folder of its sessions."""
    return open_archive([SAMPLE], folder / "archive").root


def find_jobs(archive: Path, job: str) -> list[Path]:
    """Return the folders of the jobs of this name, one in each session that has it; raise LookupError for none."""
    if found := sorted(archive.glob(f"*/{job}")):
        return found
    raise LookupError(f"{archive} has no job {job}")


def add_run(job: Path, destination: str) -> int:
    """Copy the files of one iteration of a job to that destination as its next iteration, and return the number.

    Raise LookupError where the job has no run to that destination.
    """
    found = {}
    for path in sorted(job.iterdir()):
        name = split_name(path.name)
        suffix = parse_suffix(name.suffix, [destination], has_limits=False) if name else None
        if suffix and suffix.host == destination and suffix.iteration is not None:
            found[path] = suffix
    if not found:
        raise LookupError(f"{job} has no run to {destination}")
    iterations = [suffix.iteration for suffix in found.values()]
    first, following = min(iterations), max(iterations) + 1
    for path, suffix in found.items():
        if suffix.iteration == first:
            name = path.name.replace(f":{destination}:{first}", f":{destination}:{following}", 1)
            shutil.copyfile(path, job / name)
    return following


def measure_folder(folder: Path) -> dict[str, int]:
    """Return the number of files below a folder, and their bytes."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return {"files": len(sizes), "bytes": sum(sizes)}


def measure_reading(folder: Path) -> tuple[Measured, Measured]:
    """Measure what every reader of an archive has to do at least: read its bytes, and hash them (SHA-256)."""
    listed = ["find", str(folder), "-type", "f", "-print0"]
    read, hashed = (
        ["sh", "-c", f'"$@" | xargs -0 {program} >/dev/null', "sh", *listed] for program in ("cat", "sha256sum")
    )
    # Not the disk's time but the kernel's: the files are read once before.
    subprocess.run(read, check=True)
    return run_measured(read), run_measured(hashed)
