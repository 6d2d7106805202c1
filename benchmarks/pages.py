"""Weight and speed of a built report from disk in headless Chromium: its first page, its largest, its explorer.

A page's weight is that of all files its first view loads, images further down left out; its time is from the start of
the navigation until it is painted, the median of several views. Prints one line per measure, with its target, and fails
where a weight misses it, or a time while the machine has less to do than it has cores: on a busy one times say little.

    python benchmarks/pages.py [--report results/report] [--repeats 9] [--chromium /usr/bin/chromium]
"""

import argparse
import os
import sys
from pathlib import Path
from statistics import median

from measuring.page_views import open_view
from playwright.sync_api import sync_playwright

# What shows that a page is ready: the rows of the explorer's table come by script.
EXPLORER, ROWS, ANY = "explorer.html", "#x-table tbody tr", "main"
TARGETS = {"MB": 1.0, "s": 0.5}
EXPLORER_MB = 1.5
SITE_MB = 40.0


def choose_pages(report: Path) -> dict[str, Path]:
    """Return the pages to measure by what they are; the largest is that with the most bytes of HTML."""
    largest = max(sorted(report.rglob("*.html")), key=lambda path: path.stat().st_size)
    pages = {"first page": report / "index.html", f"largest ({largest.relative_to(report)})": largest}
    return pages | {"explorer": report / EXPLORER}


def measure_pages(report: Path, chromium: str, repeats: int) -> dict[str, tuple[float, float]]:
    """Return by measure its value and target: weights in MB, medians of times in s."""
    measured = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, path in choose_pages(report).items():
            views = []
            for _ in range(repeats):
                page, view = open_view(browser, path, ROWS if path.name == EXPLORER else ANY)
                page.context.close()
                views.append(view)
            most = EXPLORER_MB if path.name == EXPLORER else TARGETS["MB"]
            measured[f"{name}, MB"] = (views[0].size_mb, most)
            measured[f"{name}, s"] = (median(view.painted_s for view in views), TARGETS["s"])
        browser.close()
    site = sum(path.stat().st_size for path in report.rglob("*") if path.is_file())
    return measured | {"site, MB": (site / 1e6, SITE_MB)}


def is_busy() -> bool:
    """Tell whether at least as many processes want to run as there are cores."""
    return os.getloadavg()[0] >= len(os.sched_getaffinity(0))


def main() -> int:
    """Measure and print; return 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, default=Path("results/report"))
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    if not (options.report / EXPLORER).exists():
        print(f"not measured: no report in {options.report}; `make report` builds one")
        return 0
    was_busy = is_busy()
    measured = measure_pages(options.report, options.chromium, options.repeats)
    missed = 0
    for name, (value, target) in measured.items():
        missed += value > target and not (was_busy and name.endswith(", s"))
        print(f"{name:32} {value:8.2f}   target {target:g}")
    if was_busy:
        print("the machine was busy: do not judge the pages by these times")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
