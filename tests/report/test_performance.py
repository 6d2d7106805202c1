"""The page "Performance" from hand-written results, the committed results, and what the benchmarks read and count."""

import html
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from archives import ROOT
from measuring.builds import add_run
from measuring.code_lines import count_python_lines, count_text_lines
from measuring.job_log import Job, count_jobs, read_jobs
from measuring.machine import read_processor
from measuring.processes import run_measured, summarise_repeats
from measuring.results import replace_measurement
from measuring.time_spent import name_part, split_time
from performance_inputs import make_scale, make_side_by_side, write_json, write_scale, write_side_by_side
from scale import CHANGES, TARGETS
from side_by_side import TASKS

from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.errors import InputError
from ccreport.core.evaluation import SAMPLE
from ccreport.report.performance.benchmark_results import load_measurements
from ccreport.report.performance.render import (
    CASES,
    render_costs,
    render_floor,
    render_jobs,
    render_machines,
    render_performance,
    render_side_by_side,
    render_time_spent,
)

LOG = [
    (1.0, "Building DAG of jobs..."),
    (3.0, "[Sun Nov 22 04:36:48 2026]"),
    (3.0, "localcheckpoint list_raw_files:"),
    (3.0, "    input: rule x:"),
    (3.0, "    jobid: 4"),
    (5.0, "Finished jobid: 4 (Rule: list_raw_files)"),
    (6.0, "localrule ingest_batch:"),
    (6.0, "    jobid: 7"),
    (6.0, "    threads: 2"),
    (6.5, "rule ingest_batch:"),
    (6.5, "    jobid: 8"),
    (9.0, "Finished jobid: 8 (Rule: ingest_batch)"),
    (10.0, "Finished jobid: 7 (Rule: ingest_batch)"),
    (10.0, "localrule report:"),
    (10.0, "    jobid: 0"),
    (10.5, "Finished jobid: 0 (Rule: report)"),
]


def read_rows(fragment: str) -> list[list[str]]:
    """Return the text of a table's cells, row by row."""
    rows = re.findall(r"<tr>(<td.*?)</tr>", fragment)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in cells]


# The page


def test_costs_stand_beside_the_targets_of_their_size_only() -> None:
    rows = read_rows(render_costs(make_scale()))
    # 60 s at 1.5 CPU seconds a second and 1 MB a second; 4 + 1 jobs.
    assert rows[0] == ["100", "cold", "60.0", "–", "90.0", "60.0", "2.00", "5", "3"]
    assert rows[4][:5] == ["10,000", "cold", "600", "720", "900"]
    assert [row[3] for row in rows] == ["–", "–", "–", "–", "720", "10.0", "30.0"]


def test_jobs_are_those_of_the_largest_archive() -> None:
    fragment = render_jobs(make_scale())
    assert read_rows(fragment) == [["ingest_batch", "4", "1"], ["list_views", "1", "1"]]
    assert "10,000 runs" in fragment


def test_shares_are_of_all_core_seconds_of_a_size() -> None:
    # 3 of 4 core-seconds.
    rows = read_rows(render_time_spent(make_scale()))
    assert [row[1:] for row in rows] == [["3.00 (75.0 %)"] * 2, ["1.00 (25.0 %)"] * 2]


def test_the_floor_has_a_column_for_each_size() -> None:
    rows = {row[0]: row[1:] for row in read_rows(render_floor(make_scale()))}
    assert rows["Raw files"] == ["400", "40,000"]
    assert rows["Raw, MB"] == ["15.0", "1,500"]
    assert rows["Start of the Python interpreter, s"] == ["0.250", "0.250"]


def test_machines_are_named_escaped() -> None:
    fragment = render_machines(make_scale(), make_side_by_side())
    assert [row[0] for row in read_rows(fragment)] == ["100 runs", "10,000 runs", "side by side"]
    assert "<b>9" not in fragment


def test_side_by_side_has_each_way_and_the_lines() -> None:
    rows = read_rows(render_side_by_side(make_side_by_side()))
    assert rows[0][2:] == ["today's script", "10.0", "15.0", "10.0"]
    assert rows[1][2:] == ["ccreport", "40.0", "60.0", "40.0"]
    assert rows[12:] == [
        ["Rates", "77.0", "400", "80", "25", "9,000"],
        ["Captures", "77.0", "400", "50", "25", "9,000"],
    ]


def test_the_page_has_all_that_it_includes(tmp_path: Path) -> None:
    render_performance(write_scale(tmp_path), write_side_by_side(tmp_path), tmp_path / "out")
    page = (ROOT / "reports/performance.qmd").read_text(encoding="utf-8")
    included = set(re.findall(r"include fragments/(\S+)", page))
    assert included == {path.name for path in (tmp_path / "out/fragments").iterdir()}
    alternative = (tmp_path / "out/figures/performance_scale/alt.txt").read_text()
    assert "cold: 60.0 s at 100 runs, 600 s at 10,000 runs (target 720 s)" in alternative
    # Numbers are in the results, not in the prose; the commands name sizes.
    assert not re.findall(r"\d+ (?:s|MB|GB|%)", page.partition("```sh")[0])


def test_without_measurements_the_page_says_so(tmp_path: Path) -> None:
    scale = write_json(make_scale() | {"measurements": []}, tmp_path / "a.json")
    render_performance(scale, write_json({"tasks": {}}, tmp_path / "b.json"), tmp_path / "out")
    for name in ("figure_performance_scale", "figure_performance_side_by_side", "performance_machines"):
        assert "Nothing has been measured yet" in (tmp_path / f"out/fragments/{name}.md").read_text()


@pytest.mark.parametrize("kind", ["scale", "side_by_side"])
def test_the_committed_results_are_as_their_schema_says_and_name_no_place(kind: str) -> None:
    path = ROOT / f"benchmarks/results/{kind}.json"
    load_measurements(path, kind)
    assert "/" not in path.read_text(encoding="utf-8")


def test_results_that_break_their_schema_are_refused(tmp_path: Path) -> None:
    broken: dict[str, Any] = make_scale()
    del broken["measurements"][1]["cases"]["cold"]
    with pytest.raises(InputError, match=r"measurements\.1\.cases: `cold` is missing"):
        load_measurements(write_json(broken, tmp_path / "scale.json"), "scale")
    with pytest.raises(InputError, match="date"):
        load_measurements(write_json({"tasks": make_side_by_side()["tasks"]}, tmp_path / "s.json"), "side_by_side")


# What the benchmarks read and count


def test_the_cases_that_are_measured_are_those_that_are_kept_and_shown(tmp_path: Path) -> None:
    measured = ["cold", "nothing_to_do", *CHANGES]
    assert measured == list(CASES) == load_yaml(SCHEMAS / "scale.schema.yaml")["$defs"]["case_name"]["enum"]
    load_measurements(write_json({"targets": TARGETS, "measurements": []}, tmp_path / "scale.json"), "scale")


def test_the_sample_has_the_jobs_that_benchmarks_name() -> None:
    jobs = set()
    for part in SAMPLE.glob("*.tar.zst"):
        with zstandard.open(part) as stream, tarfile.open(fileobj=stream, mode="r|") as packed:
            jobs |= {Path(member.name).parent.name for member in packed}
    named = [job for task in TASKS.values() for job in task.jobs]
    assert len(named) >= len(TASKS)
    assert jobs >= set(named)


def test_jobs_of_a_log_begin_and_end_as_their_lines_came() -> None:
    jobs = read_jobs(LOG)
    assert [(job.rule, job.begin_s, job.end_s, job.threads) for job in jobs[:3]] == [
        ("list_raw_files", 3.0, 5.0, 1),
        ("ingest_batch", 6.0, 10.0, 2),
        ("ingest_batch", 6.5, 9.0, 1),
    ]
    assert count_jobs(jobs, "report") == {"ingest_batch": 2, "list_raw_files": 1}


def test_core_seconds_of_a_build_sum_to_its_seconds_times_its_cores() -> None:
    jobs = [job for job in read_jobs(LOG) if job.rule != "report"]
    rows = split_time(jobs, {"list_raw_files": 0.5, "ingest_batch": 1.0}, write_s=2.5, seconds=12.0, cores=2)
    # Start-up 0.5 + 1 + 1. Inventory 2 - 0.5. Ingest 4 s x 2 cores - 1, and 2.5 - 1: 8.5, of which 2.5 writing.
    # Before the first job 3 s x 2; the rest of 24 is 24 - 2.5 - 1.5 - 8.5 - 6.
    found = {row["part"]: (row["core_s"], row["jobs"]) for row in rows}
    assert found == {
        "startup": (2.5, 3),
        "inventory": (1.5, 1),
        "parse": (6.0, 2),
        "write": (2.5, 0),
        "snakemake": (6.0, 0),
        "idle": (5.5, 0),
    }


def test_a_job_that_did_not_finish_has_no_time() -> None:
    assert Job("ingest_batch", 3.0).core_s == 0
    assert count_jobs([Job("ingest_batch", 3.0)], "report") == {}


def test_rules_of_evaluations_count_as_one() -> None:
    lines = [(1.0, "rule summarise_tables_esnet_dtn:"), (2.0, "rule summarise_tables:"), (3.0, "rule report:")]
    assert [job.rule for job in read_jobs(lines)] == ["summarise_tables", "summarise_tables", "report"]


def test_rules_are_told_apart_by_what_they_do() -> None:
    assert [name_part(rule) for rule in ("list_raw_files", "list_views", "ingest_x", "plot_figures", "new")] == [
        "inventory",
        "duckdb",
        "parse",
        "figures",
        "other",
    ]


def test_a_program_is_measured_with_its_children() -> None:
    program = "import sys, time; block = bytearray(50_000_000); print('ready'); time.sleep(1)"
    one = run_measured(["sh", "-c", f'python3 -c "{program}"; true'])
    assert [line for _, line in one.lines] == ["ready"]
    assert one.seconds >= 1
    assert one.peak_memory_bytes > 50_000_000
    with pytest.raises(RuntimeError, match="ended with 3"):
        run_measured(["sh", "-c", "exit 3"])


def test_repeats_are_summed_up_by_their_medians() -> None:
    one = run_measured(["true"])
    many = [type(one)(seconds, 2 * seconds, int(seconds), 0) for seconds in (5.0, 1.0, 2.0)]
    assert summarise_repeats(many) == {
        "repeats": 3,
        "seconds": 2.0,
        "cpu_s": 4.0,
        "peak_memory_bytes": 2,
        "written_bytes": 0,
    }


def test_a_size_takes_the_place_of_the_same_size() -> None:
    kept = replace_measurement({"measurements": [{"runs": 9}, {"runs": 1, "old": 1}]}, {"runs": 1})
    assert kept == {"measurements": [{"runs": 1}, {"runs": 9}]}


def test_an_added_run_is_the_next_iteration(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    for name in (
        "src-cmd:2001:db8::2:1",
        "ss:2001:db8::2:1",
        "src-cmd:2001:db8::2:3",
        "mpstat-sender:2001:db8::2:1.json",
    ):
        (job / name).write_text(name)
    (job / "jobmeta.json").write_text("{}")
    assert add_run(job, "2001:db8::2") == 4
    assert (job / "ss:2001:db8::2:4").read_text() == "ss:2001:db8::2:1"
    assert (job / "mpstat-sender:2001:db8::2:4.json").exists()
    assert len(list(job.iterdir())) == 8
    shutil.rmtree(job)
    job.mkdir()
    with pytest.raises(LookupError):
        add_run(job, "2001:db8::2")


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings() -> None:
    source = '"""Module.\n\nMore.\n"""\n\nimport os  # why\n\n\n# A comment.\n'
    source += 'def f():\n    """One."""\n    x = """a\n\nb"""\n    return x\n'
    # import, def, the three lines of the string, return.
    assert count_python_lines(source) == 6
    assert count_text_lines("-- why\nSELECT 1\n\n  # no\nFROM x\n") == 2


def test_the_processor_is_the_first_that_is_named() -> None:
    assert read_processor("processor\t: 0\nmodel name\t: Abacus 9\nmodel name\t: other\n") == "Abacus 9"
    assert read_processor("") == "unknown"
