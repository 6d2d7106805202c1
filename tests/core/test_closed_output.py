"""Output that nobody reads to its end, as behind `head`."""

import subprocess
import sys
from pathlib import Path

import pytest
from archives import ROOT
from user_kernel import needs_kernel


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("adopt", 141),
        pytest.param("collect --campaign quick --dry-run", 0, marks=needs_kernel("iperf3", "tcpdump", "mpstat")),
    ],
)
def test_a_command_that_judges_does_not_succeed_unread(command: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "ss_cubic.txt").write_text(
        "# 1.0\nESTAB 0 0 10.0.0.1:5201 10.0.0.2:40000\n\t cubic rtt:1/1 bytes_sent:1\n", encoding="utf-8"
    )
    given = [*command.split(), *([str(tmp_path)] if command == "adopt" else [])]
    call = [sys.executable, "-m", "ccreport", *given]
    with subprocess.Popen(call, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=60) == status
