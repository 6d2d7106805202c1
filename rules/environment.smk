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

from ccreport.core.configuration import check_file
from ccreport.core.errors import InputError


def stop(error):
    """End here with one line on stderr; an exception would be shown with a trace of the rules."""
    sys.exit(f"ccreport: {error}")


# Of a file that is not YAML, Snakemake says no line.
try:
    check_file(Path("config.yaml"))
except InputError as error:
    stop(error)
