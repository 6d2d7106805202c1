"""What instruments leave of a run, without a testbed: what it would print is made up."""

import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from test_topology import RUN

from ccreport.collect.plan import Commands, Instruments
from ccreport.collect.testbed.commands import WrongCallError
from ccreport.collect.testbed.instruments import Watch
from ccreport.collect.testbed.run import _Performance
from ccreport.collect.testbed.testbed import Testbed as Place
from ccreport.core.errors import InputError


class Printing:
    """Stands for a testbed whose programs print their own command lines."""

    def execute(self, place: str, command: list[str], **_: Any) -> SimpleNamespace:
        return SimpleNamespace(stdout=f"{place}: {' '.join(command)}\n")


@pytest.mark.parametrize(
    ("kept", "said", "error"),
    [
        (
            "tcp prt 1",
            "tcpdump: syntax error",
            WrongCallError("instruments.capture.filter: `tcp prt 1`: tcpdump: syntax er"),
        ),
        ("tcp port 1", "tcpdump: s0: no permission", OSError("tcpdump: tcpdump: s0: no permission")),
        (None, "tcpdump: syntax error", OSError("tcpdump: tcpdump: syntax error")),
    ],
)
def test_a_filter_that_tcpdump_refuses_is_told_by_its_key(
    kept: str | None, said: str, error: Exception, tmp_path: Path
) -> None:
    def popen(_: str, __: list[str], **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["echo", said], **options)
        process.wait()
        return process

    run = replace(RUN, instruments=Instruments(tcpdump_snap_bytes=128, tcpdump_filter=kept, mpstat_interval_s=None))
    watch = Watch(run, cast(Place, SimpleNamespace(popen=popen)), tmp_path)
    with pytest.raises(type(error), match=f"^{error}"):
        watch.start()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "no answer"),
        (127, "sh: 1: x: not found"),
        # Behind the fault is how the program is called.
        (1, 'What is "dely"?\nUsage: ... netem [ limit PACKETS ]\n'),
        (2, "ls: unrecognized option '--nosuch'\nTry 'ls --help' for more information."),
        (2, 'sh: 1: Syntax error: end of file unexpected (expecting "then")'),
        (255, 'Option "-nosuch" is unknown, try "ip -help".'),
    ],
)
def test_a_command_that_fails_is_not_called_again(code: int, said: str, tmp_path: Path) -> None:
    ended = SimpleNamespace(stdout="", stderr=said, returncode=code)
    run = replace(RUN, commands=Commands(before_source=("x",)))
    performance = _Performance(run, cast(Place, SimpleNamespace(execute=lambda *_, **__: ended)), tmp_path)
    # What is not found ends the sweep, as a setting does that the kernel refuses.
    with pytest.raises(InputError if code == 127 else WrongCallError) as raised:
        performance._run_commands("before_source", "pre-src-cmd", ["sender1"])
    assert str(raised.value) == f"commands.before_source: `x` ended with {code}: {said.splitlines()[0]}"


def test_a_dump_has_the_sockets_and_the_counters_of_one_time(tmp_path: Path) -> None:
    run = replace(RUN, instruments=Instruments(ss_interval_s=None, dumps_at_s=(0.0,)))
    watch = Watch(run, cast(Place, Printing()), tmp_path)
    watch.start_sampling()
    for sampler in watch.samplers:
        sampler.join()
    written = {path.name.partition(":")[0]: path for path in tmp_path.rglob("*:*")}
    assert {name: path.read_text(encoding="utf-8") for name, path in written.items()} == {
        "ss-neit": "sender1: ss -neit\n",
        "nstat": "sender1: nstat -asz\n",
    }
    # Both are below the folder that says the algorithm, and end in the time.
    assert len({(path.parent, path.name.partition(":")[2]) for path in written.values()}) == 1
    assert written["nstat"].parent.parent == tmp_path / "edge"
