"""
Helpers of the rules: which experiments and tables there are, and which files a command is made of.
"""

import json
import os
import sys
from functools import cache
from pathlib import Path

from snakemake.logging import logger

SOURCES = Path(workflow.basedir).resolve().parent / "src"
sys.path.insert(0, str(SOURCES))
# The rules' commands find the package without an installation, wherever Snakemake itself was installed.
os.environ.update(PYTHONPATH=str(SOURCES))
# The same Python that has Snakemake runs them, also where `.venv/bin/snakemake` was called and the shell finds another.
os.environ.update(
    PATH=os.pathsep.join((str(Path(sys.executable).parent), *os.get_exec_path()))
)
# Jobs run side by side, so one more thread in each would only wait for the others.
os.environ.update(POLARS_MAX_THREADS="1")

from ccreport.__main__ import COMMANDS
from ccreport.archive import fingerprint
from ccreport.batches import AFRESH, read_batches
from ccreport.errors import InputError
from ccreport.fingerprints import digest_code
from ccreport.ingest.readers import READ_TABLES, READERS
from ccreport.measure import EXPERIMENT_TABLES, MEASURED_TABLES, NEEDED_TABLES
from ccreport.schemas import list_tables
from ccreport.storage.places import find_fetched, is_packed, is_remote

# Path variables stand in paths only; a command that takes a folder is given it through these.
RESULTS = Path(workflow.pathvars.apply("<results>"))

# An archive elsewhere is fetched first, and read from where it then lies.
IS_REMOTE = is_remote(config["archive"])
FETCHED = RESULTS / "fetched"
ARCHIVE = (
    find_fetched(config["archive"], FETCHED) if IS_REMOTE else Path(config["archive"])
)
if not IS_REMOTE and not ARCHIVE.exists():
    raise WorkflowError(
        f"archive: {ARCHIVE} does not exist; set `archive` in config.yaml or --config archive=PATH"
    )
IS_PACKED = is_packed(config["archive"]) if IS_REMOTE else not ARCHIVE.is_dir()
RAW_FOLDER = RESULTS / "archive" if IS_PACKED else ARCHIVE

# Parameters are computed more than once.
ask_fingerprint = cache(fingerprint)

REPORT_SOURCES = sorted(
    path.name for path in Path("reports").iterdir() if path.is_file()
)
# What the report shows of the configuration: all but where the results lie, and how files come and go.
UNSHOWN = {
    "connections_count",
    "offline",
    "pathvars",
    "release",
    "store_results",
    "verify",
}
CONFIG_TEXT = json.dumps(
    {key: value for key, value in config.items() if key not in UNSHOWN}, sort_keys=True
)


wildcard_constraints:
    batch=r"[A-Za-z0-9._-]+",
    table=r"[a-z0-9_]+",


def digest_sources(command, *tables):
    """Return a hash of a subcommand's sources: its module, all that imports, and the schemas of the tables it writes.

    As inputs these would be thousands, the same modules for each batch, and Snakemake asks for each of them many times.
    """
    # Snakemake prints it as the reason why a rule is run again.
    return f"code of {command}: {digest_code(COMMANDS[command], tables, libraries=())}"


def list_package_files(*patterns):
    """List the files of the package that match a pattern, for what is shown or rendered as a whole."""
    package = Path(os.path.relpath(SOURCES)) / "ccreport"
    return sorted(str(path) for pattern in patterns for path in package.rglob(pattern))


def find_batches():
    """Return the experiments of each batch that the inventory made; what it found decides what runs."""
    return read_batches(Path(checkpoints.list_raw_files.get().output.batches))


def list_packet_runs(wildcards):
    """List the runs of a batch whose packets the config asks for; only these make its captures be read anew."""
    # Not through the checkpoint: a job on a cluster has no part in it, and a parameter cannot wait for it there.
    listed = read_batches(RESULTS / "batches.txt") if config["packet_runs"] else {}
    experiments = listed.get(wildcards.batch, [])
    return [
        run
        for run in config["packet_runs"]
        if any(run.startswith(f"{experiment}.") for experiment in experiments)
    ]


def list_batch_tables(wildcards):
    """List the files of all tables that have one for each batch, which only the ledger names.

    Whoever reads them waits for the ledger, which counts what is in them: thousands of files that each rule names would
    take Snakemake longer than the rules.
    """
    return collect(
        "<results>/tables/{table}/{batch}.parquet",
        table=EXPERIMENT_TABLES,
        batch=find_batches(),
    )


def list_batch_rejects(wildcards):
    """List the files in which the readers wrote what they could not use."""
    return collect(
        "<results>/rejects/{reader}/{batch}.parquet",
        reader=READERS,
        batch=find_batches(),
    )


onstart:
    # Who asks for everything anew does not want what was kept of a batch either.
    if workflow.dag_settings.forceall:
        os.environ.update({AFRESH: "1"})
