"""`adopt` on names as people chose them who never saw another's: what their words mean, only the files show."""

import itertools
import json
import re
from pathlib import Path

import pytest
from archives import write_archive
from own_files import MPSTAT, START_S, client_output, socket_samples
from test_adopt import list_columns, propose

from ccreport.adopt.adopt import adopt
from ccreport.archive.read_layout import load_layout

NETEM = "qdisc netem 1: dev c1 root refcnt 2 limit 10000 delay 40ms loss 0.1%\n"
OWN_NAMES = {"B2": "bbr2", "Cu": "cubic"}


def write_letters(
    folder: Path, name: str = "{cc}-{streams}streams-tenth-percent-{letter}", letters: str = "abc"
) -> Path:
    """Write 12 runs of two algorithms under names of one's own, each with samples and qdiscs."""
    files = {}
    sweep = itertools.product(letters, (2, 4), OWN_NAMES)
    for number, (letter, streams, cc) in enumerate(sweep):
        path = name.format(letter=letter, streams=streams, cc=cc)
        port, start_s = 4000 + number, START_S + 60 * number
        files[f"{path}.iperf"] = client_output(port, OWN_NAMES[cc], start_s)
        files[f"{path}-sockets.log"] = socket_samples(port, OWN_NAMES[cc], start_s)
        files[f"{path}-qdisc.txt"] = NETEM
    return write_archive(folder, files)


def read_run_names(printed: str) -> list[str]:
    """Return the first column of the printed table of runs."""
    rows = printed[printed.index("run ") :].split("\n\n", maxsplit=1)[0].splitlines()[1:]
    return [re.split(r" {2,}", row)[0] for row in rows]


def test_words_that_differ_are_one_group_whatever_kinds_of_words_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_letters(tmp_path / "raw")
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    # B2 is a letter with a number, Cu is not; each stands for one algorithm in all of its tests.
    assert len([name for name in read_run_names(said) if name.startswith("cc=B2, ")]) == 6
    assert len(set(read_run_names(said))) == 12
    assert len(load_layout(folder / "layout.yaml").patterns) == 3
    assert "Not used" not in said
    # Each result is of one stream; no algorithm is contradicted.
    wrong = [line for line in said.splitlines() if line.endswith("by its results, which count.")]
    assert [line.partition(": ")[2].split(" by ")[0] for line in wrong] == ["2 flows", "4 flows"]


def test_an_algorithm_is_the_same_however_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"BBR v2": "bbr2", "bbr-v2": "bbr2", "BBR2": "bbr2", "bbrv2": "bbr2", "BBR.v1": "bbr", "New-Reno": "reno"}
    files = {}
    for number, (name, cc) in enumerate(names.items()):
        files[f"{name}_{number + 1}0ms.json"] = client_output(4000 + number, cc, START_S + 60 * number)
        files[f"{name}_{number + 1}0ms_ss.txt"] = socket_samples(4000 + number, cc, START_S + 60 * number)
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    expected = [("bbr2", n) for n in range(1, 5)] + [("bbr1", 5), ("reno", 6)]
    assert sorted(read_run_names(said)) == sorted(f"cc={cc}, rtt_ms={number}0" for cc, number in expected)
    assert said.count("iperf3, ss") == 6
    assert "by its results, which count" not in said


def test_words_in_names_of_different_length_keep_runs_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("lab-none-{}", "lab-tenth-percent-{}")
    files = {}
    for number, (repetition, name) in enumerate(itertools.product("ab", names)):
        files[f"{name.format(repetition)}.json"] = client_output(4000 + number, "cubic", START_S + 60 * number)
        files[f"{name.format(repetition)}-ss.txt"] = socket_samples(4000 + number, "cubic", START_S + 60 * number)
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    assert read_run_names(said) == [
        f"iteration={number}, variant={word}" for number in (1, 2) for word in ("none", "tenth")
    ]
    assert "(?P<variant>tenth)" in (folder / "layout.yaml").read_text()


def test_words_in_names_of_different_length_that_mean_algorithms_are_no_parameter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number, (repetition, cc) in enumerate(itertools.product("ab", OWN_NAMES)):
        name = {"B2": "B2-new-{}.json", "Cu": "Cu-{}.json"}[cc].format(repetition)
        files[name] = client_output(4000 + number, OWN_NAMES[cc], START_S + 60 * number)
    assert adopt(write_archive(tmp_path / "raw", files), check=False) == 0
    assert read_run_names(capsys.readouterr().out) == [
        f"cc={cc}, iteration={number}" for cc in OWN_NAMES for number in (1, 2)
    ]


def test_a_reason_why_files_are_not_used_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_letters(tmp_path / "raw")
    pattern = r"[^-]+-(?P<flows>\d)streams-tenth-percent-(?P<variant>[a-z])(\.iperf|-sockets\.log)"
    write_archive(folder, {"layout.yaml": f"files: [{{pattern: '{pattern}'}}]\n"})
    assert adopt(folder, check=True) == 1
    said = capsys.readouterr().out
    (line,) = said.partition("Not used:\n")[2].splitlines()[:1]
    assert line.startswith("  12 files, such as Cu-2streams-tenth-percent-a-sockets.log: B2-2streams-tenth-percent-a-")
    assert said.count("give the layout a group that tells the two apart") == 1


@pytest.mark.parametrize("start", ["T0", "t", "lab0"])
def test_folders_of_kinds_are_in_the_patterns_and_numbers_of_tests_are_runs(
    start: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number in range(11, 15):
        port, start_s = 4000 + number, START_S + 60 * number
        files[f"client-out/{start}{number}.json"] = client_output(port, "cubic", start_s)
        files[f"ss/{start}{number}.txt"] = socket_samples(port, "cubic", start_s)
        files[f"pre-netem/{start}{number}.txt"] = NETEM
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    assert read_run_names(said) == [f"{start}{number}" for number in range(11, 15)]
    assert said.count("iperf3, netem, ss") == 4
    assert "about no file here" not in said
    assert f"'ss/(?P<run>{start.rstrip('0')}[0-9]+)" in (folder / "layout.yaml").read_text()


def test_numbers_of_a_sweep_are_not_those_of_tests(tmp_path: Path) -> None:
    files = {f"q{number}.json": client_output(4000 + number, "cubic", START_S + number) for number in (1, 2, 4)}
    adopt(write_archive(tmp_path / "raw", files), check=False)
    assert load_layout(tmp_path / "raw/layout.yaml").groups == {"q"}


@pytest.mark.parametrize("letters", ["abc", "ABC"])
def test_letters_in_every_combination_are_repetitions(
    letters: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_letters(tmp_path / "raw", "{cc}-{streams}ms-{letter}", letters)
    adopt(folder, check=False)
    said = capsys.readouterr().out
    assert read_run_names(said)[:2] == [f"cc=B2, iteration=1, rtt_ms={rtt_ms}" for rtt_ms in (2, 4)]
    assert "repetition" not in said
    # Where one is missing, the letters may be anything.
    (folder / "layout.yaml").unlink()
    (folder / f"Cu-4ms-{letters[-1]}.iperf").unlink()
    adopt(folder, check=False)
    assert "iteration" not in load_layout(folder / "layout.yaml").groups
    asked = f"({', '.join(letters)}) a repetition? Then name this group `iteration`."
    assert asked in capsys.readouterr().out


@pytest.mark.parametrize(
    ("values", "group"), [(("a", "b"), "iteration"), (("1", "2"), "iteration"), (("mon", "tue"), "session")]
)
def test_a_parameter_that_may_count_repetitions_is_doubted_as_the_check_says(
    values: tuple[str, str], group: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number, (value, cc) in enumerate(itertools.product(values, ("bbr", "cubic"))):
        files[f"{cc}-{value}.json"] = client_output(4000 + number, cc, START_S + 60 * number)
    layout = "files: [{pattern: '(?P<cc>[a-z]+)-(?P<variant>[a-z0-9]+)[.]json'}]\n"
    folder = write_archive(tmp_path / "raw", files | {"layout.yaml": layout})
    adopt(folder, check=True)
    said = capsys.readouterr().out
    assert f"Is `variant` ({', '.join(values)}) a repetition? Then name this group `{group}`." in said
    write_archive(folder, {"layout.yaml": layout.replace("variant", group)})
    assert adopt(folder, check=True) == 0
    said = capsys.readouterr().out
    assert len(read_run_names(said)) == 4
    assert "repetition" not in said


def test_the_check_shows_loss_and_rate_of_qdiscs_and_the_rtt_that_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = """files:
  - {pattern: '(?P<run>[a-z]+)_(?P<loss_pct>[0-9.]+)(_(?P<rtt_ms>[0-9]+)ms)?[.]json'}
  - {pattern: '(?P<run>[a-z]+)_qdisc[.]txt', kind: netem}
"""
    files = {"named_1_40ms.json": client_output(4001), "recorded_1.json": client_output(4002)}
    qdiscs = "setting latency to 40ms\n" + NETEM + NETEM.replace("c1", "d0").replace(" loss 0.1%", "")
    # As `tc -s qdisc show dev lo` prints it.
    qdiscs += "qdisc tbf 8001: root refcnt 2 rate 50Mbit burst 32Kb lat 34.8ms \n"
    folder = write_archive(tmp_path / "raw", files | {"layout.yaml": layout, "recorded_qdisc.txt": qdiscs})
    assert adopt(folder, check=True) == 0
    rows = [re.split(r" {2,}", line) for line in capsys.readouterr().out.splitlines()[1:3]]
    # The smallest RTT of the result is 10 ms; what a qdisc says counts before a name.
    assert [row[:1] + row[3:6] for row in rows] == [
        ["named", "40", "1", "–"],
        ["recorded", "10 measured", "0.1", "bottleneck_bps=50000000, buffer_bytes=250000"],
    ]


def test_bare_numbers_are_flows_and_repetitions_where_the_tests_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number, (folder, streams, repetition) in enumerate(itertools.product(("none", "one-percent"), (1, 2), (1, 2))):
        facts = json.loads(client_output(4000 + number, "cubic", START_S + 60 * number))
        facts["start"]["connected"] *= streams
        for interval in (*facts["intervals"], facts["end"]):
            interval["streams"] *= streams
        files[f"{folder}/{streams}_{repetition}.json"] = json.dumps(facts)
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    runs = [f"flows={streams}, iteration={repetition}" for streams in (1, 2) for repetition in (1, 2)]
    assert read_run_names(said) == [*runs, *runs]
    # Else the second of the two patterns would fit no file.
    assert "about no file here" not in said


def test_a_proposal_under_which_runs_would_collide_has_more_groups_in_runs_by(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two sites at one time, so that the numbers are not repetitions of each other.
    files = {
        f"run{number}_{site}_{rtt_ms}ms.json": client_output(
            4000 + number, "cubic", START_S + 60 * number, f"10.0.0.{rtt_ms}"
        )
        for number in (1, 2)
        for site, rtt_ms in (("east", 20), ("west", 50))
    }
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    assert load_layout(folder / "layout.yaml").runs_by == ("rtt_ms", "run", "variant")
    assert len(read_run_names(said)) == 4
    assert "Not used" not in said


def test_a_proposal_that_leaves_files_out_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"run{number}.json": client_output(4000 + number, "cubic", START_S + 60 * number) for number in (1, 2)}
    # No test is of these.
    files |= {"run8-qdisc.txt": NETEM, "run9-qdisc.txt": NETEM}
    assert adopt(write_archive(tmp_path / "raw", files), check=False) == 1
    assert "  2 files, such as run8-qdisc.txt: qdiscs of no run" in capsys.readouterr().out


def test_a_pattern_does_not_take_files_of_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The qdiscs of the same form come first, and their last word may be any.
    files = {}
    for number, setup in enumerate(("plain", "tuned")):
        files[f"{setup}-iperf.json"] = client_output(4000 + number, "cubic", START_S + 60 * number)
        files[f"{setup}-sockets.txt"] = socket_samples(4000 + number, "cubic", START_S + 60 * number)
        files[f"{setup}-{('kim', 'leo')[number]}.txt"] = NETEM
    assert adopt(write_archive(tmp_path / "raw", files), check=False) == 0
    said = capsys.readouterr().out
    assert said.count("iperf3, netem, ss") == 2
    assert "about no file here" not in said


def test_hashes_name_runs(tmp_path: Path) -> None:
    files = {}
    for number, name in enumerate(("3f2a9c1", "279351e", "0012345")):
        files[f"{name}/out.json"] = client_output(4000 + number, "cubic", START_S + 60 * number)
        files[f"{name}/tc"] = NETEM
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    assert load_layout(folder / "layout.yaml").groups == {"run"}


def write_rounds(folder: Path, start: str) -> Path:
    """Write two repetitions of two tests, each repetition into a folder of its own."""
    files = {}
    for number, (repetition, cc) in enumerate(itertools.product((1, 2), ("bbr", "cubic"))):
        files[f"{start}{repetition}/{cc}_20ms.json"] = client_output(4000 + number, cc, START_S + 60 * number)
        files[f"{start}{repetition}/{cc}_20ms_cpu.txt"] = MPSTAT
    return write_archive(folder, files)


@pytest.mark.parametrize("start", ["round", "rep_", "10ms/try", "run"])
def test_folders_of_repetitions_are_of_one_job(start: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_rounds(tmp_path / "raw", start)
    told = propose(folder)
    assert {(values["job"], values["iteration"]) for values in told} == {("all", 1), ("all", 2)}
    said = capsys.readouterr().out
    assert list_columns(said, "files") == [("iperf3, mpstat",)] * 4
    assert "in folders of their own" not in said
    # Somebody's own layout without it is doubted, and what the check says is what helps.
    layout = (folder / "layout.yaml").read_text()
    write_archive(folder, {"layout.yaml": layout.replace("    set: {job: all}\n", "")})
    adopt(folder, check=True)
    said = capsys.readouterr().out
    assert "Repetitions are in folders of their own" in said
    assert "`set: {job: all}`" in said


def test_folders_of_conditions_stay_jobs(tmp_path: Path) -> None:
    names = itertools.product((10, 20), ("bbr", "cubic"), (1, 2))
    files = {
        f"{rtt}ms/{cc}_{number}.json": client_output(4000 + place, cc, START_S + 60 * place)
        for place, (rtt, cc, number) in enumerate(names)
    }
    assert all("job" not in values for values in propose(write_archive(tmp_path / "raw", files)))


@pytest.mark.parametrize(
    ("form", "queues", "column"),
    [
        ("{queue}/{cc}-{number}.json", ("fq", "pfifo"), "queue_discipline"),
        ("{cc}_{queue}_{number}.json", ("fq_codel", "cake"), "queue_discipline"),
        ("{cc}-{queue}-{number}.json", ("red", "pfifo_fast"), "queue_discipline"),
        # One of the two is a word of somebody's own.
        ("{queue}/{cc}-{number}.json", ("fq", "lab"), "variant"),
    ],
)
def test_names_of_queueing_disciplines_are_a_condition(
    form: str, queues: tuple[str, str], column: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [form.format(queue=queue, cc="cubic", number=number) for queue in queues for number in (1, 2)]
    files = {name: client_output(4000 + place, start_s=START_S + 60 * place) for place, name in enumerate(names)}
    propose(write_archive(tmp_path / "raw", files))
    others = [other for (other,) in list_columns(capsys.readouterr().out, "other")]
    assert sorted(others) == sorted(f"{column}={queue}" for queue in queues for _ in (1, 2))


def test_one_word_of_many_that_is_an_algorithm_names_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("bbr", "first", "evening", "again", "upstairs", "late")
    files = {f"{name}.json": client_output(4000 + n, start_s=START_S + 60 * n) for n, name in enumerate(names)}
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    assert "(?P<cc>" not in (folder / "layout.yaml").read_text(encoding="utf-8")
    assert "by its name" not in capsys.readouterr().out
