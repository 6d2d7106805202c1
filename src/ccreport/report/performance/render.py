"""The page "Performance": what builds cost as archives grow, where the time goes, and the same by today's means.

All numbers come from result files of `benchmarks/scale.py` and `benchmarks/side_by_side.py`, which are committed, so
that a build of the report measures nothing.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.core.atomic_files import replaces_folder
from ccreport.figures.exhibits import Exhibit
from ccreport.figures.kit.figure import Figure
from ccreport.figures.wording.runs import format_significant
from ccreport.figures.write import write_files
from ccreport.report.fragments.exhibits import render_figure_fragment
from ccreport.report.markup.blocks import (
    NONE,
    Html,
    number,
    prose,
    render_float,
    render_table,
    render_varying,
    text,
    verbatim,
    write_fragment,
)
from ccreport.report.performance.benchmark_results import load_measurements
from ccreport.report.performance.cost_charts import draw_cost_curves, draw_costs_of_ways

Results = Mapping[str, Any]

CASES: Final = {
    "cold": "cold",
    "nothing_to_do": "nothing to do",
    "added_run_tables": "one run added, tables",
    "added_run": "one run added, report",
    "changed_config": "a key of the configuration",
    "edited_parser": "a parser edited",
    "edited_theme": "the figures' theme edited",
}
PARTS: Final = {
    "startup": "Start-up of jobs",
    "inventory": "Inventory: list, recognise, hash",
    "parse": "Parse",
    "write": "Write Parquet",
    "measure": "Measure runs and flows, close the ledger",
    "duckdb": "DuckDB: views, published tables, comparisons",
    "figures": "Figures",
    "pages": "Pages, explorer, PDF",
    "compile": "Load compiled kernels",
    "other": "Other rules",
    "snakemake": "Snakemake before the first job",
    "idle": "Between jobs, and cores without one",
}
FLOORS: Final = {
    "read_s": "All raw files through `cat`, s",
    "hash_s": "All raw files through `sha256sum`, s",
    "python_start_s": "Start of the Python interpreter, s",
    "job_start_s": "Start of an ingest job, to its help, s",
    "snakemake_start_s": "Start of Snakemake, to its version, s",
}
TASKS: Final = {"rates": "Rates", "captures": "Captures"}
REPETITIONS: Final = {"cold": "cold", "again": "the same again", "added_run": "one run added"}
NOT_MEASURED: Final = "Nothing has been measured yet; [below](#sec-performance-again) is how."
WAYS: Final = {"today": "today's script", "ccreport": "ccreport"}


@replaces_folder("output")
def render_performance(scale: Path, side_by_side: Path, output: Path) -> None:
    """Write fragments and figures of the page into the folders `fragments` and `figures` of a folder that is replaced.

    `scale` is a result file. `side_by_side` is another. Raise InputError where one is not as its schema says.
    """
    sizes, compared = load_measurements(scale, "scale"), load_measurements(side_by_side, "side_by_side")
    fragments, figures = output / "fragments", output / "figures"
    is_measured = {"scale": bool(sizes["measurements"]), "side_by_side": bool(compared["tasks"])}
    if is_measured["scale"]:
        curves = draw_cost_curves(list_costs(sizes), list_targets(sizes), CASES)
        _write_figure("scale", "Cost curves", curves, figures, fragments)
    if is_measured["side_by_side"]:
        bars = draw_costs_of_ways(list_ways(compared), list(REPETITIONS.values()))
        _write_figure("side_by_side", "Side by side", bars, figures, fragments)
    for name, was_measured in is_measured.items():
        if not was_measured:
            write_fragment(fragments, f"figure_performance_{name}.md", NOT_MEASURED)
    shown = {"scale": render_costs, "jobs": render_jobs, "time": render_time_spent, "floor": render_floor}
    for name, render in shown.items():
        write_fragment(fragments, f"performance_{name}.md", render(sizes) if is_measured["scale"] else "")
    side = render_side_by_side(compared) if is_measured["side_by_side"] else ""
    write_fragment(fragments, "performance_side_by_side.md", side)
    write_fragment(fragments, "performance_machines.md", render_machines(sizes, compared))


def _write_figure(name: str, title: str, figure: Figure, figures: Path, fragments: Path) -> None:
    exhibit = Exhibit(f"performance_{name}", title)
    folder = figures / exhibit.name
    folder.mkdir(parents=True)
    write_files(figure, folder)
    render_figure_fragment(exhibit, figures, fragments)


def list_costs(sizes: Results) -> pl.DataFrame:
    """Return case, runs and seconds of all measurements."""
    rows = [
        (case, measurement["runs"], cost["seconds"])
        for measurement in sizes["measurements"]
        for case, cost in measurement["cases"].items()
    ]
    return _frame_costs(rows)


def list_targets(sizes: Results) -> pl.DataFrame:
    """Return the targets as `list_costs` does."""
    targets = sizes["targets"]
    return _frame_costs([(case, targets["runs"], seconds) for case, seconds in targets["seconds"].items()])


def _frame_costs(rows: Sequence[tuple[str, int, float]]) -> pl.DataFrame:
    return pl.DataFrame(rows, {"case": pl.String, "runs": pl.Int64, "seconds": pl.Float64}, orient="row")


def list_ways(compared: Results) -> pl.DataFrame:
    """Return task, case, way, seconds and peak memory of the comparison, in the words of the page."""
    rows = [
        (TASKS[task], label, WAYS[way], cost["seconds"], cost["peak_memory_bytes"])
        for task, facts in compared["tasks"].items()
        for case, label in REPETITIONS.items()
        for way, cost in facts["cases"][case].items()
    ]
    names = {"task": pl.String, "case": pl.String, "way": pl.String, "seconds": pl.Float64}
    return pl.DataFrame(rows, names | {"peak_memory_bytes": pl.Int64}, orient="row")


def render_costs(sizes: Results) -> str:
    """Return the table of seconds, CPU seconds, memory, bytes written and jobs, by size and case, with the targets."""
    targets = sizes["targets"]
    header = ("Runs", "Change", "Wall, s", "Target, s", "CPU, s", "Memory, MB", "Written, MB", "Jobs", "Builds")
    rows = []
    for measurement in sizes["measurements"]:
        limits = targets["seconds"] if measurement["runs"] == targets["runs"] else {}
        for case, label in CASES.items():
            if cost := measurement["cases"].get(case):
                limit = limits.get(case)
                rows.append([number(measurement["runs"]), text(label), _seconds(cost["seconds"]), _seconds(limit)])
                rows[-1] += [
                    _seconds(cost["cpu_s"]),
                    *map(_megabytes, (cost["peak_memory_bytes"], cost["written_bytes"])),
                ]
                rows[-1] += [number(sum(cost["jobs"].values())), number(cost["repeats"])]
    table = render_table(header, rows, title="Cost of builds", numbers=(0, *range(2, 9)))
    caption = "What a build costs after each change: medians over the number of builds in the last column."
    return render_float("tbl-performance-costs", table, caption)


def render_jobs(sizes: Results) -> str:
    """Return the table of the jobs that one added run caused in the largest archive that has the case."""
    measured = [measurement for measurement in sizes["measurements"] if "added_run" in measurement["cases"]]
    if not measured:
        return ""
    largest = max(measured, key=lambda measurement: measurement["runs"])
    cold, added = (largest["cases"][case]["jobs"] for case in ("cold", "added_run"))
    rows = [[verbatim(rule), number(cold[rule]), number(added.get(rule, 0))] for rule in sorted(cold)]
    table = render_table(("Rule", "Cold", "One run added"), rows, title="Jobs by rule", numbers=(1, 2))
    return render_float("tbl-performance-jobs", table, f"Jobs of builds of {largest['runs']:,} runs.")


def render_time_spent(sizes: Results) -> str:
    """Return the table of core-seconds, with their shares, by what they went into; a column for each size."""
    measured = sizes["measurements"]
    of_sizes = [{row["part"]: row["core_s"] for row in measurement["time_spent"]} for measurement in measured]
    sums = [sum(spent.values()) or 1.0 for spent in of_sizes]
    rows = [
        [text(label), *(_share(spent.get(part), total) for spent, total in zip(of_sizes, sums, strict=True))]
        for part, label in PARTS.items()
        if any(part in spent for spent in of_sizes)
    ]
    header = ["Part", *_name_sizes(measured)]
    table = render_table(header, rows, title="Where the time goes", numbers=range(1, len(header)))
    caption = "Where the time of a cold build goes: seconds times cores, and their share of all."
    return render_float("tbl-performance-time", table, caption)


def _share(core_s: float | None, total_s: float) -> Html:
    if core_s is None:
        return NONE
    return text(f"{format_significant(core_s, 3)} ({100 * core_s / total_s:.1f} %)")


def _name_sizes(measured: Sequence[Results]) -> list[str]:
    return [f"{measurement['runs']:,} runs" for measurement in measured]


def render_floor(sizes: Results) -> str:
    """Return the table of what no program can do without, and of the sizes; a column for each of these."""
    measured = sizes["measurements"]
    header = ["What", *_name_sizes(measured)]
    rows = [
        [prose(label), *(_seconds(measurement["floor"][key]) for measurement in measured)]
        for key, label in FLOORS.items()
    ]
    files = [[text("Raw files"), *(number(measurement["archive"]["files"]) for measurement in measured)]]
    files += [[text("Raw, MB"), *(_megabytes(measurement["archive"]["bytes"]) for measurement in measured)]]
    files += [[text("Results, MB"), *(_megabytes(measurement["results"]["bytes"]) for measurement in measured)]]
    table = render_table(header, [*rows, *files], title="Floor", numbers=range(1, len(header)))
    return render_float("tbl-performance-floor", table, "What no program can do without, and the sizes.")


def render_machines(sizes: Results, compared: Results) -> str:
    """Return the table of machines, versions and days."""
    header = ("Measured", "Day", "Processor", "Cores", "Memory, GB", "Linux", "Python", "Snakemake", "polars", "DuckDB")
    named = list(zip(_name_sizes(sizes["measurements"]), sizes["measurements"], strict=True))
    named += [("side by side", compared)] if compared["tasks"] else []
    if not named:
        return NOT_MEASURED
    rows = []
    for name, measurement in named:
        machine = measurement["machine"]
        memory = format_significant(machine["memory_bytes"] / 1e9, 3)
        versions = [text(machine[key]) for key in ("kernel", "python", "snakemake", "polars", "duckdb")]
        row = [
            text(name),
            text(measurement["date"]),
            text(machine["processor"]),
            number(measurement["cores"]),
            text(memory),
            *versions,
        ]
        rows.append(row)
    table = render_varying(header, rows, title="Machines", numbers=(3, 4))
    return render_float("tbl-performance-machines", table, "What the numbers were measured on.")


def render_side_by_side(compared: Results) -> str:
    """Return the tables of time and memory by task, case and way, and of lines of code."""
    header = ("Task", "Case", "Way", "Wall, s", "CPU, s", "Memory, MB")
    rows = [
        [
            *map(text, (label, case_label, WAYS[way])),
            *map(_seconds, (cost["seconds"], cost["cpu_s"])),
            _megabytes(cost["peak_memory_bytes"]),
        ]
        for task, label in TASKS.items()
        for case, case_label in REPETITIONS.items()
        for way, cost in compared["tasks"][task]["cases"][case].items()
    ]
    costs = render_table(header, rows, title="Side by side", numbers=(3, 4, 5))
    names = ("Task", "Raw, MB", "Numbers that agree", "Today's script", "Declared and queried", "In the package")
    lines = [
        [text(label), _megabytes(facts["archive"]["bytes"]), number(facts["numbers"])]
        + [number(facts["lines"][key]) for key in ("today", "ccreport_written", "ccreport_package")]
        for label, facts in ((label, compared["tasks"][task]) for task, label in TASKS.items())
    ]
    counted = render_table(names, lines, title="Lines of code", numbers=range(1, 6))
    first = render_float("tbl-performance-side-by-side", costs, "The same table by both ways: medians.")
    return f"{first}\n" + render_float("tbl-performance-lines", counted, "Lines that hold code, and what was compared.")


def _seconds(value: float | None) -> Html:
    return NONE if value is None else text(format_significant(value, 3))


def _megabytes(size_bytes: float) -> Html:
    return text(format_significant(size_bytes / 1e6, 3))
