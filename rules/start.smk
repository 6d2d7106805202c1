"""
Start: what a build does before its first job, and no call of Snakemake that only reads the rules.

It locks its results against other builds, names files of the checkout that are of
the future, sets back the times of results that are, and patches what Snakemake gets wrong. docs/snakemake-faults.md reports the faults.
"""

import atexit

from snakemake.exceptions import LockException
from snakemake.jobs import Job
from snakemake.scheduling.job_scheduler import JobScheduler

from ccreport.workflow_fixes.build_lock import (
    check_unlocked,
    describe_lock,
    lock_results,
)
from ccreport.workflow_fixes.clock_skew import (
    backdate_results,
    check_sources,
    count_set_backs,
)
from ccreport.workflow_fixes.orphans import BUILD_PID_VARIABLE
from ccreport.workflow_fixes.patches import apply_patches

# A job that is left alone, as Snakemake was killed, writes nothing that the next build makes anew.
os.environ.update({BUILD_PID_VARIABLE: str(os.getpid())})

# Open as long as the build runs.
BUILD_LOCKS = []


def say_last(*lines):
    """Print lines behind what Snakemake says at its end; `make` shows them in place of that."""
    for handler in workflow.logger_manager.get_log_handlers():
        handler.is_explained = True
    if lines:
        atexit.register(print, *lines, sep="\n", file=sys.stderr)


def concerns_archive():
    """Return whether the build makes something of the archive: a sweep does not, nor the check of a named release."""
    aside = {"collect", "verify"} if config["verify"] else {"collect"}
    asked = set(workflow.dag_settings.targets)
    return not asked or not asked <= aside


def list_sources():
    """List the files of the checkout that results are made of, but for modules, which are known by their hash."""
    folders = map(Path, ("evaluations", "reports", "schemas", SOURCES / "ccreport/sql"))
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def find_slurm():
    """Return the plugin through which a build runs on Slurm, None for another build."""
    slurm = sys.modules.get("snakemake_executor_plugin_slurm")
    is_used = slurm and isinstance(workflow.executor_settings, slurm.ExecutorSettings)
    return slurm if is_used else None


def set_back_times():
    """Give old times to results from the future, and say so."""
    if count := backdate_results(RESULTS):
        logger.warning(
            f"The clock was set back: {count} files of {RESULTS} had times in the future; all is made again, but no raw"
            " file is read again that did not change."
        )


def refuse_beside(error):
    """Let a build, or the plan of one, end with this line: Snakemake's are of its own lock, or of files that are gone by now."""
    execute = workflow.execute

    def execute_alone(*args, **options):
        if workflow.execution_settings.lock:
            stop(error)
        return execute(*args, **options)

    # What only reads the rules, such as --list, does not come here.
    workflow.execute = execute_alone


def explain_lock():
    """Let a build that meets Snakemake's lock of another one end with the command that removes it."""
    execute = workflow.execute

    def execute_unlocked(*args, **options):
        try:
            return execute(*args, **options)
        except LockException:
            stop(describe_lock(sys.argv))

    workflow.execute = execute_unlocked


if workflow.is_main_process:
    explain_lock()
    try:
        check_unlocked(RESULTS)
    except InputError as error:
        refuse_beside(error)


onstart:
    try:
        if workflow.execution_settings.lock:
            BUILD_LOCKS.append(lock_results(RESULTS))
        check_sources(list_sources())
        check_former()
        skipped = apply_patches(Job, JobScheduler, find_slurm())
    except InputError as error:
        say_last(f"ccreport: {error}")
        raise WorkflowError(str(error))
    BUILDS_BEGUN.append(RESULTS)
    set_back_times()
    if IS_CHOSEN and concerns_archive():
        logger.info(
            f"Evaluation: {MAIN}, chosen by the archive; results are in {RESULTS / MAIN}. Name another as `evaluation`."
        )
    if skipped:
        logger.warning(skipped)
    # Who asks for everything anew does not want what was kept of a batch either.
    if workflow.dag_settings.forceall:
        os.environ.update({IGNORE_CACHES: "1"})
