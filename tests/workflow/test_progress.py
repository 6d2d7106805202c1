"""What `make` shows of a build: records as Snakemake makes them, and what a person reads."""

import logging
import re
import signal
import subprocess
import sys

import pytest
from archives import ROOT
from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake.logging import DefaultFormatter
from snakemake.settings.types import OutputSettings
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_ccreport import LogHandler, describe_time_left, find_stage

OUTCOME = ["results/report/index.html", "  2 runs measured"]


@pytest.fixture
def handler() -> LogHandler:
    made = LogHandler(OutputSettings(), None)
    made.setFormatter(DefaultFormatter())
    made.list_outcome = lambda: OUTCOME
    return made


def emit(handler: LogHandler, message: str | None = None, level: int = logging.INFO, **facts: object) -> None:
    handler.emit(logging.makeLogRecord({"msg": message, "levelno": level, **facts}))


def start_job(handler: LogHandler, rule: str) -> None:
    emit(handler, event=LogEvent.JOB_INFO, rule_name=rule)


def finish_jobs(handler: LogHandler, done: int, total: int) -> None:
    emit(handler, event=LogEvent.PROGRESS, done=done, total=total)


def list_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_stage_is_a_line_and_the_end_is_what_was_made(
    handler: LogHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(handler, "Building DAG of jobs...")
    for number, rule in enumerate(("ingest_batch", "ingest_batch", "measure_batch", "tables"), 1):
        start_job(handler, rule)
        finish_jobs(handler, number, 4)
    emit(handler, "Complete log(s): /somewhere")
    handler.close()
    # Logging closes its handlers once more when Python ends.
    handler.close()
    shown = [re.sub(r" +about \d+ s left", "", line).strip() for line in list_lines(capsys)]
    end = ["100%  done in 0 min 0 s", *map(str.strip, OUTCOME)]
    assert shown == ["0%  reading raw files", "50%  measuring runs", *end]


def test_a_sweep_tells_itself_how_far_it_is(handler: LogHandler, capsys: pytest.CaptureFixture[str]) -> None:
    start_job(handler, "collect")
    finish_jobs(handler, 1, 1)
    handler.list_outcome = list
    handler.close()
    assert list_lines(capsys) == ["100%  done in 0 min 0 s"]
    assert "$(PROGRESS) --cores 1 collect" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_a_dry_run_shows_what_would_run_once(capsys: pytest.CaptureFixture[str]) -> None:
    handler = LogHandler(OutputSettings(dryrun=True), None)
    handler.setFormatter(DefaultFormatter())
    stats = {"list_raw_files": 1, "plot_figures": 12, "total": 13}
    emit(handler, event=LogEvent.RUN_INFO, stats=stats)
    start_job(handler, "plot_figures")
    # Snakemake tells it once more at the end.
    emit(handler, event=LogEvent.RUN_INFO, stats=stats)
    handler.close()
    assert list_lines(capsys) == [
        "Would run 13 jobs:",
        "     1  list_raw_files",
        "    12  plot_figures",
        "More jobs may follow, by what these find: list_raw_files.",
    ]


def test_the_share_done_never_falls(handler: LogHandler, capsys: pytest.CaptureFixture[str]) -> None:
    finish_jobs(handler, 8, 10)
    finish_jobs(handler, 9, 30)
    start_job(handler, "measure_batch")
    assert list_lines(capsys)[-1].startswith(" 80%  measuring runs")


def test_time_left_is_said_where_all_jobs_are_known(handler: LogHandler, capsys: pytest.CaptureFixture[str]) -> None:
    emit(handler, event=LogEvent.RUN_INFO, stats={"list_raw_files": 1, "list_sections": 1, "report": 1, "total": 20})
    handler.begun_s -= 100
    finish_jobs(handler, 10, 20)
    for number, rule in enumerate(("list_raw_files", "list_sections")):
        emit(handler, event=LogEvent.JOB_INFO, rule_name=rule, jobid=number)
        assert "left" not in list_lines(capsys)[-1]
        emit(handler, event=LogEvent.JOB_FINISHED, job_id=number)
    # What they find makes 40 jobs of 20: half is shown as done, and a quarter is it.
    finish_jobs(handler, 10, 40)
    start_job(handler, "plot_figures")
    assert list_lines(capsys)[-1] == " 50%  drawing figures  about 5 min left"


def test_a_second_build_says_that_nothing_is_to_be_done_and_what_there_is(
    handler: LogHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(handler, NOTHING_TO_BE_DONE_MSG)
    handler.close()
    assert list_lines(capsys) == [NOTHING_TO_BE_DONE_MSG, *OUTCOME]


def test_warnings_are_shown_and_a_failure_names_its_logs_and_makes_nothing_of_the_rest(
    handler: LogHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(handler, "Building DAG of jobs...")
    emit(handler, "Evaluation: generic, chosen by the archive")
    emit(handler, "warning: no such run", logging.WARNING)
    emit(handler, "Error", logging.ERROR, event=LogEvent.JOB_ERROR, rule_name="list_views", log=["logs/list_views.txt"])
    finish_jobs(handler, 3, 3)
    emit(handler, "Complete log(s): /somewhere")
    handler.close()
    chosen, first, second, *_, last = list_lines(capsys)
    assert chosen == "Evaluation: generic, chosen by the archive"
    assert first == "warning: no such run"
    assert second == "Failed: list_views; see logs/list_views.txt"
    assert last == "Complete log(s): /somewhere"


@pytest.mark.parametrize("is_explained", [False, True])
def test_what_snakemake_says_of_a_failure_is_shown_at_the_end_unless_the_workflow_explains_it(
    is_explained: bool, handler: LogHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(handler, "WorkflowError: at least one job failed", logging.ERROR)
    emit(handler, "Restored previous version of results/inventory.jsonl (updating job failed).", logging.WARNING)
    emit(handler, "Cannot restore results/inventory.jsonl: no backup found.", logging.WARNING)
    emit(handler, "Complete log(s): /somewhere")
    handler.is_explained = is_explained
    assert list_lines(capsys) == []
    handler.close()
    said = ["WorkflowError: at least one job failed", "Complete log(s): /somewhere"]
    assert list_lines(capsys) == ([] if is_explained else said)


def test_a_call_that_ends_before_its_last_job_tells_of_no_result(
    handler: LogHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    finish_jobs(handler, 1, 3)
    capsys.readouterr()
    handler.close()
    assert list_lines(capsys) == []


@pytest.mark.parametrize(
    ("elapsed_s", "share", "said"),
    [
        (10, 0.05, ""),
        (30, 0.25, "about 90 s left"),
        (30, 0.2, "about 2 min left"),
        (40, 0.5, "about 40 s left"),
        (40, 0.99, "about 5 s left"),
        (40, 1.0, ""),
    ],
)
def test_time_left_is_what_the_jobs_before_took(elapsed_s: float, share: float, said: str) -> None:
    assert describe_time_left(elapsed_s, share) == said


def test_every_rule_that_makes_something_has_a_stage() -> None:
    text = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    names = re.findall(r"^(?:rule|checkpoint) (\w+):", text, re.MULTILINE)
    assert len(names) > 20
    assert [name for name in [*names, "summarise_tables_esnet_dtn"] if not find_stage(name)] == []


def test_what_a_build_does_first_is_not_called_its_last_stage() -> None:
    stages = [find_stage(name) for name in ("compare_former", "compare_tables", "render_reference", "render_report")]
    assert stages == ["comparing with the build before", "comparing tables", "writing the docs", "rendering pages"]


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ("RuleException: Command 'python' died with <Signals.SIGINT: 2>.", logging.ERROR),
        ("RuleException: Command 'python | tee' returned non-zero exit status 143.", logging.ERROR),
        ("Terminating processes on user request, this might take some time.", logging.INFO),
        ("Will exit after finishing currently running jobs (scheduler).", logging.INFO),
    ],
)
def test_an_interrupted_build_says_so_in_one_line(
    said: str, level: int, handler: LogHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    finish_jobs(handler, 1, 3)
    emit(handler, said, level)
    emit(handler, "Error", logging.ERROR, event=LogEvent.JOB_ERROR, rule_name="list_views", log=["logs/list_views.txt"])
    emit(handler, "WorkflowError: At least one job did not complete successfully.", logging.ERROR)
    emit(handler, "Complete log(s): /somewhere")
    handler.close()
    handler.close()
    assert list_lines(capsys) == ["interrupted; call it again to go on"]


def test_an_interrupt_before_the_build_begins_has_no_trace() -> None:
    code = "import snakemake_logger_plugin_ccreport; raise KeyboardInterrupt"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "interrupted; call it again to go on\n")
