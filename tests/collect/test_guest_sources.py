"""What works inside a testbed runs from the few modules that are copied there, with Python alone."""

import subprocess
import sys
from pathlib import Path

from ccreport.collect.testbed.init import copy_sources


def test_the_copied_modules_import_no_others(tmp_path: Path) -> None:
    sources = copy_sources(tmp_path)
    start = f"import sys; sys.path.insert(0, {str(sources)!r}); import ccreport.collect.testbed.guest"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", start], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
