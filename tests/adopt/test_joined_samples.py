"""`adopt` where connections, and not names, tell the tests of samples of sockets."""

from pathlib import Path

import pytest
from archives import write_archive
from own_files import START_S, client_output, socket_samples

from ccreport.adopt.adopt import adopt
from ccreport.archive.read_layout import load_layout

NAMES = [(cc, number) for cc in ("cubic", "bbr") for number in (1, 2)]


def write_dumps(folder: Path, name: str, dump: str) -> Path:
    """Write four tests, and samples of each under a name with a number of its own."""
    files = {}
    for count, (cc, number) in enumerate(NAMES):
        port, start_s = 4001 + count, START_S + 60 * count
        files[name.format(cc=cc, number=number, day=number)] = client_output(port, cc, start_s)
        files[dump.format(number=11 + count, cc=cc, iteration=number)] = socket_samples(port, cc, start_s)
    return write_archive(folder, files)


@pytest.mark.parametrize(
    ("name", "dump"),
    [
        ("lab/{cc}_run{number}.json", "lab/sock-dump-{number}.txt"),
        # The day is a session, in whose experiment the samples are then.
        ("lab/2026-11-20_{cc}_run{number}_h1.json", "lab/sock-dump-{number}.txt"),
        # Each repetition has a day of its own; samples of one folder would be of no session.
        ("lab/2026-11-2{day}_{cc}_run{number}_h1.json", "lab/sock-dump-{number}.txt"),
        # Both have numbers, but not the same.
        ("lab/{cc}_{number}.json", "lab/{number}.txt"),
    ],
)
def test_samples_whose_names_agree_with_no_test_are_left_to_their_connections(
    name: str, dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_dumps(tmp_path / "raw", name, dump)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    assert said.count("iperf3, ss") == 4
    words = f"No pattern for 4 ss files, such as {dump.format(number=11)}: joined to the tests of the folder by"
    assert words in said
    assert f"# {words}" in (folder / "layout.yaml").read_text()
    assert len(load_layout(folder / "layout.yaml").patterns) == 1


def test_samples_whose_names_tell_their_tests_keep_their_pattern(tmp_path: Path) -> None:
    folder = write_dumps(tmp_path / "raw", "lab/{cc}_{number}.json", "lab/{cc}_{iteration}_sock.txt")
    adopt(folder, check=False)
    assert len(load_layout(folder / "layout.yaml").patterns) == 2


def test_samples_that_a_pattern_keeps_from_their_tests_are_said_to_be_of_these(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_dumps(tmp_path / "raw", "{cc}_{number}.json", "sock-{number}.txt")
    layout = r"files: [{pattern: '(?P<cc>[a-z]+)_(?P<iteration>\d)[.]json'}, {pattern: 'sock-(?P<dump>\d+)[.]txt'}]"
    write_archive(folder, {"layout.yaml": layout})
    adopt(folder, check=True)
    said = capsys.readouterr().out
    assert "  dump=11: ss; its connections are those of cc=cubic, iteration=1\n" in said
    assert "Without their pattern, samples beside their test are joined to it by these connections: delete it." in said


@pytest.mark.parametrize(
    ("has_log", "advice", "runs_by"),
    [(False, "`session`", ""), (True, "`run`, and add `runs_by: [run, cc]`", "runs_by: [run, cc]\n")],
)
def test_words_of_repetitions_are_named_so_that_one_log_stays_with_all_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, has_log: bool, advice: str, runs_by: str
) -> None:
    tests = [(word, cc) for word in ("alpha", "bravo") for cc in ("bbr", "cubic")]
    times = [(4001 + count, START_S + 60 * count) for count in range(len(tests))]
    pairs = list(zip(tests, times, strict=True))
    files = {f"raw/{word}-{cc}.json": client_output(port, cc, start_s) for (word, cc), (port, start_s) in pairs}
    if has_log:
        files["raw/of_the_afternoon.log"] = "".join(
            socket_samples(port, cc, time_s) for (_, cc), (port, time_s) in pairs
        )
    folder = write_archive(tmp_path, files)
    adopt(folder, check=False)
    assert f"Is `variant` (alpha, bravo) a repetition? Then name this group {advice}.\n" in capsys.readouterr().out
    # What it says is what helps.
    layout = folder / "layout.yaml"
    group = advice.split("`")[1]
    layout.write_text(layout.read_text().replace("variant", group) + runs_by)
    assert adopt(folder, check=True) == 0
    said = capsys.readouterr().out
    assert said.count("iperf3, ss\n") == (4 if has_log else 0)
    assert "Each condition has one run" not in said
