"""Size and speed of the explorer with 10,000 runs: the export, the first view from disk, and a filter in Chromium.

A made-up archive of 100 experiments; every run has two flows of 8 s. A filter's time is from the input event until the
rows of the table stand and are laid out; of each control's values the slowest counts. Prints one line per measure, with
its target, and fails where one is missed.

    python benchmarks/explorer.py [--runs 10000] [--chromium /usr/bin/chromium]
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))

import duckdb
import numpy as np
import polars as pl
from archives import EPOCH, make_table
from explorer_site import make_run, write_site
from measuring.page_views import open_view
from playwright.sync_api import sync_playwright

from ccreport.core.tables import write_table

EXPERIMENTS = 100
BINS = 16
TARGETS = {"first view, MB": 1.5, "first view, s": 1.0, "slowest filter, ms": 100.0}
# Each control is given each of its values, by the event that a reader's input makes.
TIME_FILTERS = """() => {
  const times = {};
  const ask = (id, value) => {
    const control = document.getElementById(`x-${id}`);
    const start = performance.now();
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    document.getElementById("x-table").getBoundingClientRect();
    times[id] = Math.max(times[id] ?? 0, performance.now() - start);
    control.value = "";
  };
  for (const id of ["session", "job", "host", "mode", "cc", "flows", "state"]) {
    for (const { value } of document.getElementById(`x-${id}`).options) ask(id, value);
  }
  for (const value of ["j", "job", "job_7", "h3 cubic", "nothing like it"]) ask("find", value);
  for (const id of ["rtt_min", "rtt_max", "loss_min", "loss_max"]) {
    for (const value of ["0.01", "20", "90"]) ask(id, value);
  }
  const header = document.querySelectorAll("#x-table th button");
  header.forEach((_, i) => {
    const start = performance.now();
    document.querySelectorAll("#x-table th button")[i].click();
    document.getElementById("x-table").getBoundingClientRect();
    times.sort = Math.max(times.sort ?? 0, performance.now() - start);
  });
  return times;
}"""


def write_database(folder: Path, runs_count: int) -> Path:
    """Write the tables of so many runs, and the database over them."""
    random = np.random.default_rng(4)
    runs = [_draw_run(i, runs_count, random) for i in range(runs_count)]
    flows = [
        {"run_id": run["run_id"], "flow_id": f"{run['run_id']}/{number}", "client_number": 1, "stream_number": number}
        | {"cc": cc, "local_port": 40000 + number, "mss_bytes": 1448, "start_offset_s": 0.0}
        for run in runs
        for number, cc in enumerate(("cubic", "bbr"), 1)
    ]
    keys = pl.DataFrame(flows).select("run_id", "flow_id", "client_number", "stream_number")
    bins = pl.DataFrame({"interval_number": range(BINS)})
    rate = pl.Series(random.uniform(1e6, 1e9, keys.height * BINS))
    spread = keys.join(bins, how="cross").with_columns(start_s=pl.col("interval_number") * 0.5, raw_file_id=pl.lit("f"))
    intervals = spread.with_columns(
        end_s=pl.col("start_s") + 0.5, is_omitted=False, is_reverse=False, interval_bytes=1, interval_bps=rate
    ).with_columns(
        pl.lit(None, pl.Float64()).alias(name) for name in ("retransmits_iperf3_count", "cwnd_bytes", "rtt_ms")
    )
    samples = spread.select("run_id", "flow_id", "raw_file_id", connection_number=0, is_partial=False).with_columns(
        time_utc=pl.lit(EPOCH) + pl.duration(milliseconds=spread["start_s"] * 1000),
        retransmits_ss_count=spread["interval_number"] ** 2,
        cwnd_segments_count=spread["interval_number"] + 10,
        rtt_ms=rate / 1e7,
    )
    tables = {"runs": make_table("runs", runs), "flows": make_table("flows", flows)}
    database = folder / "archive.duckdb"
    with duckdb.connect(str(database)) as connection:
        for name, frame in (tables | {"intervals": intervals, "samples": samples}).items():
            if name in tables:
                write_table(frame, name, folder / f"{name}.parquet")
            else:
                frame.write_parquet(folder / f"{name}.parquet")
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{folder / f'{name}.parquet'}')")
    return database


def _draw_run(i: int, runs_count: int, random: np.random.Generator) -> dict[str, object]:
    experiment = f"2026-11-20-22-10-job_{i * EXPERIMENTS // runs_count}_p16_loss0.001-0a1b2c3d4e"
    digest = random.bytes(5).hex()
    iteration, rtt = int(random.integers(1, 30)), float(random.choice([10, 20, 40, 80]))
    run_id = f"{experiment}.10.201.1.{i % 7}-{iteration}-{rtt}ms-{digest}"
    more = {
        "session": f"2026-11-{1 + i * 30 // runs_count:02d}:22:10",
        "job": experiment[17:-11],
        "host": f"h{i % 7}",
        "iteration": iteration,
        "rtt_ms": rtt,
        "loss_pct": float(random.choice([0, 0.001, 0.01, 0.1, 1])),
        "rtt_min_ms": rtt + float(random.uniform()),
        "retransmits_count": int(random.integers(0, 100_000)),
        "retransmit_ratio": float(random.uniform()),
        "jain_ratio": float(random.uniform()),
        "cpu_sender_mean_pct": float(random.uniform(0, 100)),
        "cpu_receiver_mean_pct": float(random.uniform(0, 100)),
        "flows_count": 2,
        "sender_host": "sender",
        "goodput_bps": float(random.uniform(1e6, 1e10)),
    }
    return make_run(run_id, experiment, "both", "bbr,cubic", float(random.uniform(1, 1e4)), **more)


def export_measured(database: Path, output: Path) -> None:
    """Export in a process of its own, without anything kept from before, and print its time and memory."""
    batches = database.with_suffix(".txt")
    batches.write_text("")
    paths = {"batches": batches, "tables": database.parent, "database": database, "output": output}
    options = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    command = [sys.executable, "-m", "ccreport", "export_runs", *options, "--published", "--engine"]
    start = time.perf_counter()
    subprocess.run(command, check=True)
    print(f"{'export, s':24} {time.perf_counter() - start:8.2f}")
    print(f"{'export, MB of memory':24} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3:8.2f}")


def measure_page(site: Path, chromium: str) -> dict[str, float]:
    """Return size and time of the first view, and the slowest time of each control, with the page opened from disk."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page, view = open_view(browser, site / "explorer.html", "#x-table tbody tr")
        measured = {"first view, MB": view.size_mb, "first view, s": view.painted_s}
        times: dict[str, float] = page.evaluate(TIME_FILTERS)
        browser.close()
    slowest = {f"filter {name}, ms": value for name, value in times.items()}
    return measured | slowest | {"slowest filter, ms": max(times.values())}


def main() -> int:
    """Measure and print; return 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        database = write_database(folder, options.runs)
        site = write_site(database, folder / "site", export_measured)
        measured = measure_page(site, options.chromium)
    missed = 0
    for name, value in measured.items():
        target = TARGETS.get(name)
        missed += target is not None and value > target
        print(f"{name:24} {value:8.2f}" + (f"   target {target:g}" if target else ""))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
