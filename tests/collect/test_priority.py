"""A collector that runs niced stays behind other work, in whatever sessions its testbeds are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ccreport.collect.testbed.init import stay_nice


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel does not schedule by session")
def test_a_new_session_is_as_nice_as_what_started_it() -> None:
    # What starts testbeds, in a process of its own: nobody gets a former priority back.
    script = (
        "import os, subprocess, sys\n"
        "from pathlib import Path\n"
        "from ccreport.collect.testbed.init import stay_nice\n"
        "os.nice(7)\n"
        "with subprocess.Popen(['sleep', '60'], start_new_session=True) as child:\n"
        "    stay_nice(child.pid)\n"
        "    print(Path(f'/proc/{child.pid}/autogroup').read_text())\n"
        "    child.kill()\n"
    )
    expected = os.getpriority(os.PRIO_PROCESS, 0) + 7
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.split()[-2:] == ["nice", str(min(expected, 19))]


def test_a_process_that_is_gone_does_no_harm() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    stay_nice(child.pid)
