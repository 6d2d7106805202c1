"""
Helpers of the rules: which experiments and tables there are, and which files a command is made of.
"""

import hashlib
import json
from functools import cache
from pathlib import Path

from snakemake.logging import logger

from ccreport.__main__ import COMMANDS
from ccreport.archive.harness_layout import fingerprint
from ccreport.archive.parts import find_raw_folder
from ccreport.rebuild.batches import IGNORE_CACHES, read_batches
from ccreport.core.errors import InputError
from ccreport.rebuild.fingerprints import digest_code, digest_files
from ccreport.ingest.readers import READ_TABLES, READERS, RULES
from ccreport.measure import EXPERIMENT_TABLES, MEASURED_TABLES, NEEDED_TABLES
from ccreport.core.declarations import list_tables, name_query
from ccreport.core.settings.shown import UNSHOWN, select_shown

# Path variables stand in paths only; a command that takes a folder is given it through these.
RESULTS = Path(workflow.pathvars.apply("<results>"))

# Parameters are computed more than once.
ask_fingerprint = cache(fingerprint)

# Pages, without the folder of pictures, which only the website shows.
REPORT_SOURCES = sorted(
    path.name for path in Path("reports").iterdir() if path.is_file()
)
# What the report shows of the configuration.
CONFIG_TEXT = json.dumps(select_shown(config), sort_keys=True)


wildcard_constraints:
    batch=r"[A-Za-z0-9._-]+",
    table=r"[a-z0-9_]+",


def digest_sources(command, *tables):
    """Return a hash of a subcommand's sources: its module, all that imports, and the schemas of the tables it writes.

    As inputs these would be thousands, the same modules for each batch, and Snakemake asks for each of them many times.
    """
    modules = [COMMANDS[command]]
    if command == "ingest_batch":
        # It finds the readers by their declarations.
        modules += [reader.module for reader in READERS]
    # Snakemake prints it as the reason why a rule is run again.
    return f"code of {command}: {digest_code(modules, tables, libraries=())}"


def list_package_files(*patterns):
    """List the files of the package that match a pattern, for what is shown or rendered as a whole."""
    package = Path(os.path.relpath(SOURCES)) / "ccreport"
    return sorted(str(path) for pattern in patterns for path in package.rglob(pattern))


def digest_package(*patterns):
    """Return a hash of such files of the package, where a rule that named them as inputs would print hundreds of paths."""
    return f"files of the package: {digest_files(SOURCES / 'ccreport', patterns)}"


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


def digest_manifest(wildcards):
    """Return a hash of a batch's manifest, which tells whether its files changed: all manifests are written together."""
    batch = wildcards.batch
    manifest = RESULTS / f"manifests/{batch}.json"
    if not manifest.exists():
        return ""
    return f"manifest {hashlib.sha256(manifest.read_bytes()).hexdigest()}"


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
        reader=RULES,
        batch=find_batches(),
    )


def list_warnings(log):
    """List what a step of the build warned of in its log."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return [line for line in lines if line.startswith("warning: ")]
