"""
Helpers of the rules, and nothing else: which experiments and tables there are, and which files a command is made of.
"""

import json
import os
import sys
from pathlib import Path

SOURCES = Path(workflow.basedir).parent / "src"
sys.path.insert(0, str(SOURCES))
# The rules' commands find the package without an installation, wherever Snakemake itself was installed.
os.environ.update(PYTHONPATH=str(SOURCES))
# Jobs run side by side, so one more thread in each would only wait for the others.
os.environ.update(POLARS_MAX_THREADS="1")

from ccreport.__main__ import COMMANDS
from ccreport.archive import fingerprint
from ccreport.database import EXPERIMENT_TABLES, SHARED_QUERIES
from ccreport.errors import InputError
from ccreport.imports import list_imports
from ccreport.ingest.tcpdump import PIECES as PACKET_TABLES
from ccreport.measure.ledger import INGESTED_TABLES, READERS
from ccreport.tables import list_tables

# Path variables stand in paths only; a command that takes a folder is given it through these.
RESULTS = Path(workflow.pathvars.apply("<results>"))

ARCHIVE = Path(config["archive"])
if not ARCHIVE.exists():
    raise WorkflowError(
        f"archive: {ARCHIVE} does not exist; set `archive` in config.yaml or --config archive=PATH"
    )
RAW_FOLDER = ARCHIVE if ARCHIVE.is_dir() else RESULTS / "archive"

REPORT_SOURCES = sorted(
    path.name for path in Path("reports").iterdir() if path.is_file()
)
# What the report shows of the configuration: all but where the results lie.
CONFIG_TEXT = json.dumps(
    {key: value for key, value in config.items() if key != "pathvars"}, sort_keys=True
)


wildcard_constraints:
    experiment=r"[A-Za-z0-9._-]+",
    table=r"[a-z0-9_]+",


def list_sources(command, *tables):
    """List what a subcommand is made of: its module, all that imports, and the schemas of the tables it writes."""
    modules = [os.path.relpath(path) for path in list_imports(COMMANDS[command])]
    return [
        *modules,
        "schemas/columns.yaml",
        *(f"schemas/tables/{table}.yaml" for table in tables),
    ]


def list_package_files(*patterns):
    """List the files of the package that match a pattern, for what is shown or rendered as a whole."""
    package = Path(os.path.relpath(SOURCES)) / "ccreport"
    return sorted(str(path) for pattern in patterns for path in package.rglob(pattern))


def list_packet_runs(wildcards):
    """List the runs of an experiment whose packets the config asks for; only these make its captures be read anew."""
    experiment = wildcards.experiment
    return [
        run
        for run in config["packet_runs"]
        if run.removeprefix(experiment).startswith(".")
    ]


def list_experiments(wildcards):
    """List the experiments that the inventory found; what it found decides what runs."""
    with checkpoints.list_raw_files.get().output.experiments.open() as stream:
        return stream.read().split()


def list_experiment_tables(wildcards):
    """List the files of all tables that have one for each experiment."""
    return collect(
        "<results>/tables/{table}/{experiment}.parquet",
        table=EXPERIMENT_TABLES,
        experiment=list_experiments(wildcards),
    )


def list_experiment_rejects(wildcards):
    """List the files in which the readers wrote what they could not use."""
    return collect(
        "<results>/rejects/{reader}/{experiment}.parquet",
        reader=READERS,
        experiment=list_experiments(wildcards),
    )
