"""What instruments leave of a run, without a testbed: what it would print is made up."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from test_topology import RUN

from ccreport.collect.plan import Instruments
from ccreport.collect.testbed.instruments import Watch
from ccreport.collect.testbed.testbed import Testbed as Place


class Printing:
    """Stands for a testbed whose programs print their own command lines."""

    def execute(self, place: str, command: list[str], **_: Any) -> SimpleNamespace:
        return SimpleNamespace(stdout=f"{place}: {' '.join(command)}\n")


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
