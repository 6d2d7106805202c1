"""
Faults: what a build does against them before Snakemake looks at any file, and what Snakemake itself gets wrong.

The times of results from the future are set back, files of the checkout that are of the future are named, jobs end with
Snakemake, two builds cannot begin at once or end each other's locks, and a job that failed leaves no record as if it
had not.
"""

from snakemake.jobs import Job
from snakemake.persistence.file import FilePersistence

from ccreport.ages import age_results, check_sources
from ccreport.parents import BUILT_BY
from ccreport.slurm_status import keep_answer
from ccreport.snakemake_faults import keep_records, lock_at_once, unlock_own

# A job that is left alone, as Snakemake was killed, writes nothing that the next build makes anew.
os.environ.update({BUILT_BY: str(os.getpid())})

# Loaded wherever it is installed; first asked by its validation, before a build through Slurm submits its first job.
slurm = sys.modules.get("snakemake_executor_plugin_slurm")


def list_sources():
    """List the files of the checkout that results are made of, but for modules, which are known by their hash."""
    folders = map(Path, ("evaluations", "reports", "schemas", SOURCES / "ccreport/sql"))
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


# Jobs on other machines start Snakemake too, which is not the one that plans.
if workflow.is_main_process:
    keep_records(Job)
    lock_at_once(FilePersistence)
    unlock_own(FilePersistence)
    if slurm:
        keep_answer(slurm, slurm.validation)
    if aged_count := age_results(RESULTS):
        logger.warning(
            f"The clock was set back: {aged_count} files of {RESULTS} had times in the future; all is made again, but no"
            " raw file is read again that did not change."
        )
    try:
        check_sources(list_sources())
    except InputError as error:
        raise WorkflowError(str(error))
