"""Time of a whole build of the sample archive: cold, with nothing to do, with its figures and pages only, with one
figure changed, and with one run added.

The archive is unpacked to a folder first, so that a run can be added, and the kernels are compiled as set-up does;
neither is counted. Prints one line per case: seconds, and CPU seconds over all processes.

    python benchmarks/build.py [--cores 2] [--repeats 3]
"""

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from measuring.builds import SWEEP_JOB, add_run, build, copy_tree, find_jobs, open_sample, remove_results

DESTINATION = "10.201.1.2"
EVALUATION = "evaluations/esnet-dtn.yaml"
# What is made of tables, for each evaluation: figures, pages, PDFs.
DRAWN = ("report", "explorer", "performance", "reference")
DRAWN_EACH = ("figures", "drawn", "cells", "fragments", "section", "report.pdf")


def measure(cores: int, repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Return seconds and CPU seconds of each case, one pair per repetition."""
    names = ("cold", "nothing to do", "figures and pages", "one figure changed", "one run added")
    cases: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        archive, tree = open_sample(folder), copy_tree(folder / "tree")

        def keep(name: str) -> None:
            built = build(tree, archive, cores=cores)
            cases[name].append((built.seconds, built.cpu_s))

        for number in range(repeats):
            remove_results(tree)
            keep("cold")
            keep("nothing to do")
            for pattern in (*DRAWN, *(f"*/{name}" for name in DRAWN_EACH)):
                for drawn in (tree / "results").glob(pattern):
                    shutil.rmtree(drawn) if drawn.is_dir() else drawn.unlink()
            keep("figures and pages")
            text = (tree / EVALUATION).read_text()
            (tree / EVALUATION).write_text(text.replace("The testbed, as", f"The testbed ({number}), as"))
            keep("one figure changed")
            add_run(find_jobs(archive, SWEEP_JOB)[0], DESTINATION)
            keep("one run added")
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
