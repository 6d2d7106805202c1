"""`adopt` on several algorithms in a path: that of a file is where names agree with results, others name a mix."""

import itertools
from pathlib import Path

import pytest
from archives import write_archive
from own_files import MPSTAT, START_S, client_output, socket_samples
from test_adopt import list_columns, propose

from ccreport.adopt.adopt import adopt
from ccreport.archive.read_layout import load_layout

MIXES = ("bbr-vs-cubic", "cubic-vs-cubic")


def write_mixes(folder: Path, result: str, *beside: str) -> Path:
    """Write tests of two flows at one time in each of two mixes, and samples and loads under names beside them."""
    files = {}
    for (number, mix), (flow, host) in itertools.product(enumerate(MIXES), enumerate(("alpha", "beta"))):
        cc, start_s = mix.split("-vs-")[flow], START_S + 60 * number
        told = {"mix": mix, "host": host, "cc": cc, "other": mix.split("-vs-")[1 - flow]}
        files[result.format(**told)] = client_output(4000 + 10 * number + flow, cc, start_s)
        for name in beside:
            content = socket_samples(4000 + 10 * number + flow, cc, start_s) if name.endswith("ss") else MPSTAT
            files[name.format(**told)] = content
    return write_archive(folder, files)


@pytest.mark.parametrize(
    ("result", "beside"),
    [
        ("20ms/{mix}/{host}_{cc}.json", ("20ms/{mix}/{host}.ss", "20ms/{mix}/{host}_mpstat.txt")),
        ("{mix}_{host}_{cc}.json", ("{mix}_{host}.ss", "{mix}_{host}_mpstat.txt")),
        ("iperf/{mix}/{host}_{cc}.json", ("sockets/{mix}/{host}.ss",)),
        # The algorithm of a file is in no name.
        ("{mix}/{host}.json", ("{mix}/{host}.ss",)),
        ("{mix}_{host}.json", ("{mix}_{host}.ss",)),
    ],
)
def test_a_mix_is_one_parameter(
    result: str, beside: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_mixes(tmp_path / "raw", result, *beside)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    rows = list_columns(said, "algorithm", "flows", "other")
    assert rows == [("bbr, cubic", "2", "mix=bbr-vs-cubic"), ("cubic", "2", "mix=cubic-vs-cubic")]
    # They are compared within a run.
    assert "No two algorithms share a condition" not in said
    told = load_layout(folder / "layout.yaml").read_paths([result.format(mix=MIXES[0], host="beta", cc="cubic")])
    assert [one.values.get("cc") for one in told.values()] == (["cubic"] if "{cc}" in result else [None])


def test_the_algorithm_is_not_the_first_word_but_the_right_one(tmp_path: Path) -> None:
    for place, result in enumerate(("against-{other}/{host}_{cc}.json", "{other}/{cc}/{host}.json")):
        told = propose(write_mixes(tmp_path / str(place), result))
        assert sorted(str(values["cc"]) for values in told) == ["bbr", "cubic", "cubic", "cubic"]
        assert sorted(str(values["mix"]) for values in told) == ["bbr", "cubic", "cubic", "cubic"]


def test_a_first_algorithm_that_results_have_stays(tmp_path: Path) -> None:
    files = {
        f"{cc}_beside_{other}_{number}.json": client_output(4000 + number, cc, START_S + 60 * number)
        for number, (cc, other) in enumerate((("bbr", "cubic"), ("cubic", "bbr")))
    }
    told = propose(write_archive(tmp_path / "raw", files))
    assert [(values["cc"], values["second_cc"]) for values in told] == [("bbr", "cubic"), ("cubic", "bbr")]
