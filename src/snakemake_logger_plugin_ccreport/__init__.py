"""Progress of a build, for people: stage, share done, time left, what is wrong, and at the end what the build made.

`make report` and the like call `snakemake --logger ccreport`, which finds this plugin by the name of its package.
Snakemake writes its own log to `.snakemake/log/` all the same. It imports its plugins before it reads its arguments,
whichever call it is: what it would answer with a trace is said here.
"""

import logging
import re
import sys
import time
from collections.abc import Callable, Mapping, Set
from types import TracebackType
from typing import Final

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from ccreport.workflow_fixes.typed_settings import find_mistyped

if mistyped := find_mistyped(sys.argv[1:]):
    sys.exit(f"ccreport: {mistyped}")

# By how the name of a rule begins; CONTRIBUTING has the verbs. Of several that fit, the first counts.
STAGES: Final = {
    "compare_former": "comparing with the build before",
    "render_performance": "writing the docs",
    "render_reference": "writing the docs",
    "fetch_": "fetching the archive",
    "list_raw_files": "listing raw files",
    "list_": "preparing the database",
    "compile_": "compiling readers",
    "ingest_": "reading raw files",
    "measure_": "measuring runs",
    "summarise_": "summarising tables",
    "compare_": "comparing tables",
    "judge_": "judging claims",
    "trace_": "tracing cells",
    "plot_": "drawing figures",
    "export_": "exporting runs",
    "render_": "rendering pages",
    "publish": "publishing a release",
    "store_": "storing results",
    "upload": "uploading",
    "verify": "verifying a release",
    "collect": "collecting",
}
# How many jobs there are is known when the last of these has ended: what they find decides.
CHECKPOINTS: Final = frozenset(("fetch_archive", "list_raw_files", "list_sections"))
# A job of this rule says itself how far it is, in lines of its own.
SELF_TELLING: Final = "collect"
# Of an output that a job updates and that a failed one leaves as it was, or that was not there before.
RESTORED: Final = ("Restored previous version of", "Cannot restore ")
# What Snakemake says where it, or a command of it, was ended by Ctrl-C or `kill`.
INTERRUPTED: Final = re.compile(
    r"died with <Signals\.SIG(INT|TERM)|returned non-zero exit status 1(30|43)\b"
    r"|Terminating processes on user request|Will exit after finishing currently running jobs|Cancelling snakemake on "
)
AGAIN: Final = "interrupted; call it again to go on"


def _tell_end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in one line that Ctrl-C came before there was a build that could be told; any other end has its trace."""
    if issubclass(kind, KeyboardInterrupt):
        print(AGAIN, file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _tell_end
# What the workflow says of the evaluation that it chose.
CHOSEN: Final = "Evaluation: "
# Before, the jobs that ended are not a measure of the others.
LEAST_SHARE: Final = 0.1


def find_stage(rule: str) -> str:
    """Return what a job of a rule does, in words; nothing for a rule that only names others, as `report` does."""
    return next((stage for start, stage in STAGES.items() if rule.startswith(start)), "")


def describe_time_left(elapsed_s: float, share: float) -> str:
    """Return roughly how long the rest takes, if its jobs are as long as those before; nothing where unknown."""
    if not LEAST_SHARE <= share < 1:
        return ""
    left_s = elapsed_s * (1 - share) / share
    return f"about {max(5, round(left_s / 5) * 5)} s left" if left_s <= 90 else f"about {round(left_s / 60)} min left"


class LogHandler(LogHandlerBase):
    """Writes progress to stderr: on a terminal into one line, else a line for each stage.

    The workflow sets `list_outcome`, which returns the lines about what was made, and `is_explained`, where it says
    itself what was wrong: what Snakemake says of it is then only in Snakemake's log.
    """

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.list_outcome: Callable[[], list[str]] = list
        self.is_explained, self.errors = False, list[str]()
        self.is_interrupted, self.failed = False, list[str]()
        self.begun_s = time.monotonic()
        self.stage, self.stages_shown = "", set[str]()
        # Shown is what was done at most; how much is left to do is by all jobs, as far as they are known.
        self.share_shown, self.share = 0.0, 0.0
        self.checkpoints: Set[str] = frozenset()
        self.checkpoint_jobs: dict[int, str] = {}
        self.log_hint = ""
        self.is_complete, self.has_failed = False, False
        self.is_open_line, self.is_planned = False, False

    def emit(self, record: logging.LogRecord) -> None:
        """Show what a record says of progress, and warnings; errors are kept for the end."""
        facts = vars(record)
        match facts.get("event"):
            case LogEvent.RUN_INFO:
                self.checkpoints = CHECKPOINTS & facts["stats"].keys()
                if self.common_settings.dryrun and not self.is_planned:
                    self.is_planned = True
                    self._show_plan(facts["stats"])
            case LogEvent.JOB_INFO if self.common_settings.dryrun or facts["rule_name"] == SELF_TELLING:
                pass
            case LogEvent.JOB_INFO:
                self.stage = find_stage(facts["rule_name"]) or self.stage
                if facts["rule_name"] in CHECKPOINTS:
                    self.checkpoints |= {facts["rule_name"]}
                    self.checkpoint_jobs[facts["jobid"]] = facts["rule_name"]
                self._show_progress()
            case LogEvent.JOB_FINISHED:
                self.checkpoints -= {self.checkpoint_jobs.get(facts["job_id"])}
            case LogEvent.PROGRESS:
                # A checkpoint adds jobs, but what was done stays done.
                self.share = facts["done"] / facts["total"]
                self.share_shown = max(self.share_shown, self.share)
                self.is_complete = facts["done"] == facts["total"]
                self._show_progress()
            case LogEvent.JOB_ERROR:
                self.has_failed = True
                self.failed.append(f"Failed: {facts['rule_name']}; see {', '.join(facts['log'])}")
                self._show_failed()
            case _:
                self._show_message(record)

    def _show_failed(self) -> None:
        """Show which jobs failed, unless they did so as the build was interrupted."""
        while self.failed and not self.is_interrupted:
            self._write_line(self.failed.pop(0))

    def _show_message(self, record: logging.LogRecord) -> None:
        self.is_interrupted |= bool(INTERRUPTED.search(str(record.msg)))
        if record.levelno >= logging.ERROR:
            self.has_failed = True
            self.errors.append(self.format(record))
        elif str(record.msg).startswith(RESTORED):
            pass
        elif record.levelno >= logging.WARNING or str(record.msg).startswith(CHOSEN):
            self._write_line(self.format(record))
        elif record.msg == NOTHING_TO_BE_DONE_MSG:
            self.is_complete = True
            self._write_line(record.msg)
        elif str(record.msg).startswith("Complete log"):
            self.log_hint = record.msg

    def _show_plan(self, counts: Mapping[str, int]) -> None:
        """Show how many jobs of which rules a build would run; Snakemake tells it at the begin and at the end."""
        jobs = counts["total"]
        self._write_line(f"Would run {jobs:,} job{'' if jobs == 1 else 's'}:")
        for rule, count in counts.items():
            if rule != "total":
                self._write_line(f"{count:6,}  {rule}")
        if found := CHECKPOINTS & counts.keys():
            self._write_line(f"More jobs may follow, by what these find: {', '.join(sorted(found))}.")

    def _show_progress(self) -> None:
        if not self.stage:
            return
        left = "" if self.checkpoints else describe_time_left(time.monotonic() - self.begun_s, self.share)
        line = "  ".join(part for part in (f"{self.share_shown:4.0%}", self.stage, left) if part)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{line}")
            sys.stderr.flush()
            self.is_open_line = True
        elif self.stage not in self.stages_shown:
            self.stages_shown.add(self.stage)
            self._write_line(line)

    def _write_line(self, line: str) -> None:
        end_of_line = "\r\033[K" if self.is_open_line else ""
        self.is_open_line = False
        print(f"{end_of_line}{line}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Say once what was made, or where Snakemake's log is."""
        took_s = round(time.monotonic() - self.begun_s)
        took = [f"100%  done in {took_s // 60} min {took_s % 60} s"] if self.share else []
        failure = [] if self.is_explained else [*self.errors, self.log_hint]
        if self.is_interrupted and not self.is_complete:
            failure, self.has_failed, self.is_interrupted = [AGAIN], True, False
        lines = failure if self.has_failed else took + self.list_outcome() if self.is_complete else []
        for line in filter(None, lines):
            self._write_line(line)
        self.is_complete, self.errors, self.log_hint = False, [], ""
        super().close()
