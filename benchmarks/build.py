"""Time of a whole build of the sample archive: cold, with nothing to do, with its figures and pages only, with one
figure changed, and with one run added.

The archive is unpacked to a folder first, so that a run can be added, and the kernels are compiled as set-up does;
neither is counted. Prints one line per case: seconds, and CPU seconds over all processes.

    python benchmarks/build.py [--cores 2] [--repeats 3]
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ccreport.archive import find_root
from ccreport.ingest.kernels import compile_kernels
from ccreport.unpack import unpack_archive

ROOT = Path(__file__).resolve().parents[1]
JOB = "2026-11-20:22:11/cubic_p16_loss0.1"
EVALUATION = "esnet-dtn"
# What is made of tables, for each evaluation: figures, pages, PDFs.
DRAWN = ("report", "explorer", "*/figures", "*/drawn", "*/cells", "*/fragments", "*/section", "*/report.pdf")
ADDED = ("src-cmd:10.201.1.2:{}:10.0ms", "ss:10.201.1.2:{}:10.0ms", "pre-netem:10.201.1.2:{}:10.0ms")


def build(archive: Path, folder: Path, cores: int) -> tuple[float, float]:
    """Build the report and return seconds and CPU seconds."""
    paths = f'pathvars={{"results": "{folder}/results", "logs": "{folder}/logs"}}'
    command = [sys.executable, "-m", "snakemake", "report", "--cores", str(cores), "--nolock", "--quiet", "all"]
    command += ["--config", f"archive={archive}", f"evaluation={folder}/{EVALUATION}.yaml", paths]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(cores: int, repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Return seconds and CPU seconds of each case, one pair per repetition."""
    names = ("cold", "nothing to do", "figures and pages", "one figure changed", "one run added")
    cases: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        unpack_archive(ROOT / "archive/sample.tar.zst", folder / "archive")
        archive = find_root(folder / "archive")
        compile_kernels(folder / "kernels.txt")
        evaluation = folder / f"{EVALUATION}.yaml"
        shutil.copy(ROOT / "evaluations" / evaluation.name, evaluation)
        shutil.copytree(ROOT / "evaluations" / EVALUATION, folder / EVALUATION)
        for number in range(repeats):
            shutil.rmtree(folder / "results", ignore_errors=True)
            cases["cold"].append(build(archive, folder, cores))
            cases["nothing to do"].append(build(archive, folder, cores))
            for pattern in DRAWN:
                for drawn in (folder / "results").glob(pattern):
                    shutil.rmtree(drawn) if drawn.is_dir() else drawn.unlink()
            cases["figures and pages"].append(build(archive, folder, cores))
            evaluation.write_text(evaluation.read_text().replace("The testbed, as", f"The testbed ({number}), as"))
            cases["one figure changed"].append(build(archive, folder, cores))
            for name in ADDED:
                shutil.copy(archive / JOB / name.format(1), archive / JOB / name.format(90 + number))
            cases["one run added"].append(build(archive, folder, cores))
    return cases


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"sample archive, {options.cores} cores, median of {options.repeats}")
    for case, pairs in measure(options.cores, options.repeats).items():
        seconds, cpu = (statistics.median(values) for values in zip(*pairs, strict=True))
        print(f"{case:18} {seconds:7.1f} s {cpu:7.1f} CPU s")


if __name__ == "__main__":
    main()
