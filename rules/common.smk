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
from ccreport.database import EXPERIMENT_TABLES
from ccreport.errors import InputError
from ccreport.evaluation import load_evaluation
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

# A bare name stands for the file of that name among those that come with the pipeline.
if "/" not in config["evaluation"] and not config["evaluation"].endswith(".yaml"):
    config["evaluation"] = f"evaluations/{config['evaluation']}.yaml"
try:
    EVALUATION = load_evaluation(Path(config["evaluation"]))
except (InputError, OSError) as error:
    raise WorkflowError(f"evaluation: {error}")
PUBLISHED_TABLES = list(EVALUATION["tables"])
# Tables of cells, which have values to compare; the others show what queries found.
CELL_TABLES = [name for name, facts in EVALUATION["tables"].items() if "rows" in facts]
FIGURES = list(EVALUATION["figures"])
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


def list_expected():
    """List the files of published values that the evaluation names, by their paths from here."""
    folder = Path(config["evaluation"]).parent
    return [folder / facts["expected"] for facts in EVALUATION["reproduction"].values()]


def list_other_tables():
    """List the tables of cells of the build that the config compares with."""
    if config["compare_with"] is None:
        return []
    folder = Path(config["compare_with"])
    summaries = folder / "summaries" if (folder / "summaries").is_dir() else folder
    tables = [summaries / f"{table}.parquet" for table in CELL_TABLES]
    found = [table for table in tables if table.is_file()]
    if not found:
        raise WorkflowError(f"compare_with: {folder} has no results of another build")
    return found


def declare(*parts):
    """Return parts of the evaluation as text: a rule with it reruns when these change, and not with all the file."""
    return json.dumps({part: EVALUATION[part] for part in parts}, sort_keys=True)


def declare_table(wildcards):
    """Return what the evaluation declares of a published table, as text."""
    return json.dumps(EVALUATION["tables"][wildcards.table], sort_keys=True)


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
