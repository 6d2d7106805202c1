"""
Environment: where the rules and their commands find the package, and how a call ends that its user can mend.
"""

import os
import sys
from pathlib import Path

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

from ccreport.core.configuration import Sources, check_file, check_pathvars
from ccreport.core.errors import InputError

# Not empty once the first job may start.
BUILDS_BEGUN = []


def stop(error):
    """End here with one line on stderr; an exception would be shown with a trace of the rules."""
    if BUILDS_BEGUN:
        # An input function that waited for a checkpoint: to the scheduler its end is one by the user, without words.
        say_last(f"ccreport: {error}")
    sys.exit(f"ccreport: {error}")


# Files of --configfile go before config.yaml, and --config before all of them.
CONFIG_SOURCES = Sources(
    workflow.config_settings.config,
    [Path("config.yaml"), *workflow.config_settings.configfiles],
)
# Of a file that is not YAML, Snakemake says no line, and of wrong path variables none either.
try:
    check_file(Path("config.yaml"))
    check_pathvars(CONFIG_SOURCES)
except InputError as error:
    stop(error)
