"""`adopt`: the layout that is proposed for a folder, and the table of runs that it gives."""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from archives import JOB, ROOT, SS, iperf3_json, list_plain, write_archive
from hypothesis import given, settings
from hypothesis import strategies as st
from own_files import MPSTAT, START_S, client_output, socket_samples, write_flows, write_runs

from ccreport.adopt.adopt import adopt
from ccreport.adopt.contents import Content, Way, read_content
from ccreport.adopt.path_words import split_path
from ccreport.adopt.proposal import propose_layout
from ccreport.adopt.rows import list_manifests
from ccreport.archive.pack import pack_folder
from ccreport.archive.read_layout import load_layout
from ccreport.core.errors import InputError


def list_columns(printed: str, *columns: str) -> list[tuple[str, ...]]:
    """Return columns of the printed table of runs, whose cells are apart by two blanks at least."""
    header, *rows = printed[printed.index("run ") :].split("\n\n", maxsplit=1)[0].splitlines()
    positions = [re.split(r" {2,}", header).index(column) for column in columns]
    return [tuple(re.split(r" {2,}", row)[position] for position in positions) for row in rows]


def propose(folder: Path) -> list[dict[str, object]]:
    """Have a layout proposed, and return its patterns with what they tell of the folder's files."""
    before = {path: file.read_bytes() for path, file in list_plain(folder).items()}
    assert adopt(folder, check=False) == 0
    after = {path: file.read_bytes() for path, file in list_plain(folder).items()}
    # Nothing is copied, renamed or changed.
    assert {path: data for path, data in after.items() if path != "layout.yaml"} == before
    told = load_layout(folder / "layout.yaml").read_paths(sorted(before))
    return [dict(told[path].values) for path in sorted(before) if path in told]


def test_files_of_runs_are_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = propose(write_runs(tmp_path / "raw"))
    assert told[0] == {"run": "run1", "cc": "cubic", "rtt_ms": 20.0}
    assert told[1:3] == [{"run": "run1"}, {"run": "run1"}]
    assert list_columns(capsys.readouterr().out, "run", "algorithm", "flows", "RTT ms", "start (UTC)", "files") == [
        # 1795212600 is 22:10:00; each run is a minute after the former.
        (f"run{number}", cc, "1", "20", f"2026-11-20 22:1{number}:00", "iperf3, mpstat, ss")
        for number, cc in enumerate(("cubic", "cubic", "bbr", "bbr"), start=1)
    ]


def test_the_layout_names_its_schema_for_editors(tmp_path: Path) -> None:
    layout = write_runs(tmp_path / "raw") / "layout.yaml"
    propose(layout.parent)
    named = layout.read_text().splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (layout.parent / named).resolve() == ROOT / "schemas/layout.schema.yaml"


def test_tests_of_one_time_are_flows_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = propose(write_flows(tmp_path / "raw"))
    assert told[0] == {"rtt_ms": 20.0, "loss_pct": 0.01, "flow": "h10", "cc": "cubic", "bdp": "0.5"}
    # iperf3 does not tell the algorithms here, so that the names do.
    assert list_columns(capsys.readouterr().out, "algorithm", "flows", "RTT ms", "loss %", "other") == [
        ("bbr, cubic", "3", rtt, loss, f"bdp={bdp}")
        for rtt, loss in (("20", "0.01"), ("50", "0"))
        for bdp in ("0.5", "2")
    ]


def test_other_files_of_a_flow_are_called_as_its_test(tmp_path: Path) -> None:
    files = {f"x/h{number}_out.json": client_output(4000 + number) for number in (1, 2)}
    files |= {f"x/h{number}_ss.txt": socket_samples(4000 + number) for number in (1, 2)}
    assert propose(write_archive(tmp_path / "raw", files)) == [
        {"flow": "h1"},
        {"flow": "h1"},
        {"flow": "h2"},
        {"flow": "h2"},
    ]


def test_tests_one_after_another_are_repetitions(tmp_path: Path) -> None:
    files = {f"h{number}_cubic.json": client_output(4000, "cubic", START_S + 60 * number) for number in (1, 2, 3)}
    assert [told["h"] for told in propose(write_archive(tmp_path / "raw", files))] == ["h1", "h2", "h3"]
    files = {f"cubic_{number}.json": client_output(4000, "cubic", START_S + 60 * number) for number in (1, 2, 3)}
    told = propose(write_archive(tmp_path / "again", files))
    assert told == [{"cc": "cubic", "iteration": number} for number in (1, 2, 3)]


def test_units_and_words_become_groups(tmp_path: Path) -> None:
    files = {
        f"{setup}/loss0.1_100mbps_{cc}_p4_iter{number}_{kind}": content
        for start_s, setup in ((START_S, "tuned"), (START_S + 600, "plain"))
        for cc in ("bbr2", "cubic")
        for number in (1, 2)
        for kind, content in (("client.json", client_output(4000, cc, start_s + 60 * number)), ("server.txt", MPSTAT))
    }
    told = propose(write_archive(tmp_path / "raw", files))
    assert len(told) == 16
    shared = {"variant": "plain", "loss_pct": 0.1, "bottleneck_bps": 1e8, "cc": "bbr2", "flows": 4, "iteration": 1}
    assert told[0] == shared
    # mpstat of a server is the receiver's.
    assert told[1] == shared | {"side": "receiver"}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        # A decimal is not a repetition, and its unit is not known.
        (("run1_cubic_0.01.json", "run2_cubic_0.1.json"), ({"number": "0.01"}, {"number": "0.1"})),
        (("run1_cubic_1.json", "run2_cubic_2.json"), ({"iteration": 1}, {"iteration": 2})),
        (("run1_cubic_0.01.json", "run2_cubic_none.json"), ({"loss_pct": 0.01}, {"loss_pct": 0.0})),
        (("run1_loss0.01.json", "run2_lossnone.json"), ({"loss_pct": 0.01}, {"loss_pct": 0.0})),
        (("run1_loss0.01.json", "run2_loss1.json"), ({"loss_pct": 0.01}, {"loss_pct": 1.0})),
        # Beside other words it is one.
        (("run1_none.json", "run2_heavy.json"), ({"variant": "none"}, {"variant": "heavy"})),
    ],
)
def test_numbers_without_a_unit(names: tuple[str, str], told: tuple[dict[str, object], ...], tmp_path: Path) -> None:
    files = {name: client_output(4000 + number) for number, name in enumerate(names)}
    known = propose(write_archive(tmp_path / "raw", files))
    assert [{key: value for key, value in one.items() if key not in ("run", "cc")} for one in known] == list(told)
    assert adopt(tmp_path / "raw", check=True) == 0


def test_groups_that_some_kinds_lack_do_not_keep_a_run_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number in (1, 2):
        files[f"{number}_20ms_cubic.json"] = client_output(4000 + number, "cubic", START_S + 60 * number)
        files[f"{number}_sockets.txt"] = socket_samples(4000 + number, "cubic", START_S + 60 * number)
    propose(write_archive(tmp_path / "raw", files))
    assert load_layout(tmp_path / "raw/layout.yaml").runs_by == ("iteration",)
    assert list_columns(capsys.readouterr().out, "files") == [("iperf3, ss",), ("iperf3, ss",)]


def test_kinds_of_files_in_folders_of_their_own_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {}
    for number, site in ((1, "east"), (2, "west")):
        start_s = START_S + 60 * number
        files[f"iperf/{site}/run1.json"] = client_output(4000 + number, "cubic", start_s)
        files[f"sockets/{site}/run1.txt"] = socket_samples(4000 + number, "cubic", start_s)
    told = propose(write_archive(tmp_path / "raw", files))
    # The same number at both sites, one after the other: a repetition, not the name of a run.
    assert told[0] == {"variant": "east", "iteration": 1, "job": "all"}
    assert told[2] == told[0]
    said = capsys.readouterr().out
    assert list_columns(said, "files") == [("iperf3, ss",), ("iperf3, ss",)]
    assert "none of its connections" not in said


def test_runs_that_are_numbered_anew_for_each_algorithm_are_repetitions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number, (run, cc) in enumerate(itertools.product((1, 2), ("cubic", "bbr"))):
        start_s = START_S + 60 * number
        files[f"run{run}_{cc}.json"] = client_output(4000 + number, cc, start_s)
        files[f"run{run}_{cc}_ss.txt"] = socket_samples(4000 + number, cc, start_s)
    # A copy of the first.
    files["mine.json"] = files["run1_cubic.json"]
    propose(write_archive(tmp_path / "raw", files))
    said = capsys.readouterr().out
    assert list_columns(said, "algorithm", "files") == [
        *(("bbr", "iperf3, ss"), ("bbr", "iperf3, ss"), ("cubic", "iperf3, ss"), ("cubic", "iperf3, ss")),
        ("cubic", "iperf3"),
    ]
    assert "Not used" not in said
    assert "mine: the same test as cc=cubic, iteration=1, by its start and its connections; delete one" in said


@pytest.mark.parametrize(
    "name",
    [
        *("2026-11-20_{cc}_{rtt}ms.json", "2026-11-20/{cc}_{rtt}ms.json"),
        *("exp7_{cc}_{rtt}ms.json", "{cc}_{rtt}ms_20261120.json"),
    ],
)
def test_a_day_or_a_series_of_several_tests_is_a_session(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number, (cc, rtt, rep) in enumerate(itertools.product(("cubic", "bbr"), (20, 80), (1, 2))):
        path = name.format(cc=cc, rtt=rtt).replace(".json", f"_rep{rep}.json")
        files[path] = client_output(4000 + number, cc, START_S + 60 * number)
    propose(write_archive(tmp_path / "raw", files))
    said = capsys.readouterr().out
    assert len(list_columns(said, "algorithm")) == 8
    assert "Not used" not in said


def test_runs_at_the_same_time_between_the_same_hosts_may_be_flows_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "20ms/h1_cubic.json": client_output(4001, "cubic"),
        "20ms/h2_reno.json": client_output(4002, "reno", START_S),
        # Here one after the other, so that the two are not flows of one run everywhere.
        "50ms/h1_cubic.json": client_output(4003, "cubic", START_S + 60),
        "50ms/h2_reno.json": client_output(4004, "reno", START_S + 120),
    }
    propose(write_archive(tmp_path / "raw", files))
    said = capsys.readouterr().out
    title, pair = said[said.index("Measured at the same time") :].splitlines()[:2]
    assert title.endswith("call what tells them apart `flow`:")
    assert re.fullmatch(r"  .*cc=cubic.*rtt_ms=20.* and .*cc=reno.*rtt_ms=20.*: \d+ s", pair)
    assert said.count("rtt_ms=50") == 2


def test_the_check_says_what_is_wrong_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = r"""
table: runs.csv
files:
  - {pattern: '(?P<run>run\d)_(?P<cc>[a-z]+)\.json'}
  - {pattern: '(?P<run>run\d)_ss\.txt'}
  - {pattern: '(?P<run>run\d)_cpu\.txt'}
ignore: ['old/.*', '.*\.log']
"""
    files = {
        "layout.yaml": layout,
        **dict.fromkeys(("old/run1_cubic.json", "old/a.log", "b.log"), "x"),
        "runs.csv": "run,loss_pct\nrun1,0\nrun3,1\n",
        "run1_cubic.json": client_output(4001, "cubic"),
        "run2_bbr.json": client_output(4002, "cubic", START_S + 60),
        # The samples of the two runs have each other's names.
        "run1_ss.txt": socket_samples(4002, "cubic", START_S + 60),
        "run2_ss.txt": socket_samples(4001, "cubic"),
        "run2_reno.json": iperf3_json(),
        "notes.txt": "sunny",
    }
    assert adopt(write_archive(tmp_path / "raw", files), check=True) == 1
    said = capsys.readouterr().out
    assert "run1: its ss samples show none of its connections, but those of run2; correct the layout." in said
    assert "run2: bbr by its name or its row of the table, cubic by its results, which count." in said
    assert "run2_reno.json: run2_bbr.json already is this run's src-cmd; give the layout a group" in said
    assert "call a `run` of several runs `session`, or add `runs_by`" in said
    assert re.search(r"Not read, as nothing says what they are.*\n  notes.txt", said)
    assert "Both runs have no mpstat (whether a processor was the limit). Beside the next test, run:" in said
    assert "  mpstat -P ALL -o JSON 1 > " in said
    assert "Both runs have no declared RTT" in said
    assert "1 of 2 runs (run2) has no declared loss: nothing says which loss the path was set to." in said
    unused = "  layout.yaml:6: (?P<run>run\\d)_cpu\\.txt\n  table: run run3; did you mean `run2`?\n"
    assert f"Of the layout, this is about no file here:\n{unused}" in said
    assert "Ignored, by pattern of the layout:\n  .*\\.log: 1 file\n  old/.*: 2 files\n" in said
    assert "no ss" not in said


@pytest.mark.parametrize(
    ("word", "is_doubted"), [("5ms", True), ("delay5ms", True), ("delay5", True), ("rtt=10ms", False)]
)
def test_delays_in_one_direction_are_doubted(
    word: str, is_doubted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for port in (4001, 4002):
        start_s = START_S + 60 * (port - 4000)
        files[f"run{port}_{word}_cubic.json"] = client_output(port, "cubic", start_s)
        # Its smallest RTT is 10 ms.
        files[f"run{port}_{word}_cubic_ss.txt"] = socket_samples(port, "cubic", start_s)
    folder = write_archive(tmp_path / "raw", files)
    propose(folder)
    hint = "Names say 5 ms, files measured 10 ms: one-way delays? Then write `scale: {rtt_ms: 2}`"
    assert (hint in capsys.readouterr().out) == is_doubted
    # What the hint says is what helps.
    layout = (folder / "layout.yaml").read_text()
    (folder / "layout.yaml").write_text(layout.replace("  - pattern:", "  - scale: {rtt_ms: 2}\n    pattern:"))
    assert adopt(folder, check=True) == 0
    assert "one-way" not in capsys.readouterr().out


@pytest.mark.parametrize("word", ["delay-30ms", "delay30", "lat_30ms"])
def test_whether_a_delay_is_one_way_is_asked_where_nothing_longer_is_measured(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "Are delays in names one-way? If so, write `scale: {rtt_ms: 2}`"
    files = {f"{word}_cubic_{number}.json": client_output(number, start_s=START_S + 60 * number) for number in (1, 2)}
    folder = write_archive(tmp_path / "raw", files)
    propose(folder)
    said = capsys.readouterr().out
    # Its smallest RTT is 10 ms.
    assert "RTTs contradict each other: declared 30 ms, smallest measured 10 ms (2 of 2 runs). Is the number or" in said
    assert f"\n{question}" in said
    assert f"# {question}" in (folder / "layout.yaml").read_text()
    near = write_archive(tmp_path / "near", {name.replace("30", "8"): text for name, text in files.items()})
    propose(near)
    said = capsys.readouterr().out
    assert question not in said
    assert "contradict" not in said
    rtts = {name.replace(word, "rtt-30ms"): text for name, text in files.items()}
    propose(write_archive(tmp_path / "rtts", rtts))
    assert question not in capsys.readouterr().out


def test_flows_that_did_not_run_together_are_doubted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = "files:\n  - {pattern: '(?P<run>[a-z]+)_(?P<flow>h[0-9])[.]json'}\n"
    files = {
        "layout.yaml": layout,
        "apart_h1.json": client_output(4001),
        "apart_h2.json": client_output(4002, None, START_S + 500),
        "together_h1.json": client_output(4003),
        "together_h2.json": client_output(4004),
    }
    adopt(write_archive(tmp_path / "raw", files), check=True)
    doubted = [line for line in capsys.readouterr().out.splitlines() if "one after another" in line]
    assert len(doubted) == 1
    assert re.match(r"apart: its results were measured one after another, 4\d\d s apart", doubted[0])


@pytest.mark.parametrize("word", ["try", "lab"])
def test_a_single_log_is_of_one_of_the_tests(word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests = {f"sweep-{word}{n}.json": client_output(4000 + n, "bbr", START_S + 100 * n) for n in (1, 2, 3)}
    folder = write_archive(tmp_path / "raw", tests | {f"sweep-{word}1.sockets.log": SS})
    propose(folder)
    capsys.readouterr()
    adopt(folder, check=True)
    printed = capsys.readouterr().out
    assert "Not used" not in printed
    assert printed.count("bbr") >= 3


def test_the_check_says_which_results_are_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = client_output(4001, "cubic")
    files = {
        "run1.json": whole,
        "run2.json": whole[: len(whole) // 2],
        "run3.json": json.dumps(
            {
                "start": {"connected": [], "version": "iperf 3.12", "system_info": "Linux"},
                "intervals": [],
                "end": {},
                "error": "unable to connect to server",
            }
        ),
    }
    # A reason that several have is said once.
    files["run4.json"] = files["run3.json"]
    adopt(write_archive(tmp_path / "raw", files), check=True)
    said = capsys.readouterr().out
    listed = said.split("Not read, or not as a whole:\n")[1].splitlines()
    assert [line.split(":")[0].strip() for line in listed[:2]] == ["run2.json", "2 files, such as run3.json"]
    assert "ends early" in listed[0]
    assert "unable to connect to server" in listed[1]


def test_the_check_needs_no_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"result.json": client_output(4001), "sockets.log": socket_samples(4001)}
    assert adopt(write_archive(tmp_path / "raw", files), check=True) == 0
    # Samples are joined to the test by their connections.
    assert list_columns(capsys.readouterr().out, "run", "algorithm", "files") == [("result", "cubic", "iperf3, ss")]
    assert not (tmp_path / "raw/layout.yaml").exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"layout.yaml": "files: []", "run1.json": iperf3_json()}, "layout.yaml exists; look at its runs with --check"),
        ({"notes.txt": "sunny"}, "is a result of a tool that is read; record one with iperf3 -c HOST -J"),
        ({"a b": socket_samples(4001)}, "raw/a b'` prints its samples"),
        ({f"{JOB}/src-cmd:h:1": iperf3_json()}, "no files but the test harness's"),
    ],
)
def test_where_there_is_nothing_to_propose_it_says_why(tmp_path: Path, files: dict[str, str], message: str) -> None:
    folder = write_archive(tmp_path / "raw", files)
    with pytest.raises(InputError, match=re.escape(message)):
        adopt(folder, check=False)
    assert (folder / "layout.yaml").exists() == ("layout.yaml" in files)


def test_a_folder_that_is_not_there_is_said_not_to_exist(tmp_path: Path) -> None:
    (tmp_path / "measured").mkdir()
    with pytest.raises(InputError, match=r"mesured does not exist; did you mean `.*/measured`\?$"):
        adopt(tmp_path / "mesured", check=False)


@pytest.mark.parametrize("check", [False, True])
def test_an_empty_folder_has_no_files(tmp_path: Path, check: bool) -> None:
    with pytest.raises(InputError, match=r"has no files$"):
        adopt(tmp_path, check=check)


def test_a_bare_file_needs_no_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_archive(tmp_path / "raw", {"result.json": client_output(4001)})
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    assert "it needs no layout, and is read without one, its one result as a run." in said
    assert list_columns(said, "run", "algorithm") == [("result", "cubic")]
    # The port is that of the results.
    assert "-w NAME.pcap tcp port 5201\n" in said
    assert not (folder / "layout.yaml").exists()


@pytest.mark.parametrize(
    ("table", "names", "runs"),
    [
        # A row a run: some word of the names is the run.
        (
            "run,rtt_ms,note\nmonday,20,\nfriday,30,it rained\n",
            ("monday/client.json", "friday/client.json"),
            ("friday", "monday"),
        ),
        ("file,run,rtt_ms\nt-1.json,a,20\nt-2.json,b,30\n", ("t-1.json", "t-2.json"), ("a", "b")),
        # Names that differ in nothing that tells.
        ("file,run,rtt_ms\nx.json,a,20\ny.json,b,30\n", ("x.json", "y.json"), ("a", "b")),
    ],
)
def test_a_documented_table_is_proposed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], table: str, names: tuple[str, ...], runs: tuple[str, ...]
) -> None:
    files = {name: client_output(4001, "cubic", START_S + 60 * number) for number, name in enumerate(names)}
    folder = write_archive(tmp_path / "raw", files | {"runs.csv": table})
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    written = (folder / "layout.yaml").read_text()
    assert "table: 'runs.csv'" in written
    # Else each note would be a condition.
    assert ("ignore_columns: [note]" in written) == ("note" in table)
    assert [run for (run,) in list_columns(said, "run")] == list(runs)
    assert {rtt for (rtt,) in list_columns(said, "RTT ms")} == {"20", "30"}


def test_a_table_with_a_mistake_is_named_and_others_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"run1.json": client_output(4001), "run2.json": client_output(4002)}
    files |= {"runs.csv": "run,loss_pct\nrun1,200\n", "notes.csv": "day,weather\nmonday,sun\n"}
    assert adopt(write_archive(tmp_path / "raw", files), check=False) == 0
    said = capsys.readouterr().out
    assert f"runs.csv is not proposed as `table`: {tmp_path}/raw/runs.csv:2: loss_pct is '200'" in said
    assert "notes.csv" not in said
    assert "table:" not in (tmp_path / "raw/layout.yaml").read_text()


@pytest.mark.slow
def test_the_command_takes_a_folder(tmp_path: Path) -> None:
    write_runs(tmp_path / "raw")
    command = [sys.executable, "-m", "ccreport", "adopt", str(tmp_path / "raw")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert again.stderr.startswith("ccreport: ")
    checked = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0
    assert checked.stdout.splitlines()[0].startswith("run ")


def test_files_say_their_times_algorithms_and_connections(tmp_path: Path) -> None:
    write_archive(
        tmp_path,
        {
            "a": client_output(4001, "bbr"),
            "b": socket_samples(4001),
            "c": client_output(4001).replace('"connecting_to"', '"accepted_connection"'),
            "d": "qdisc netem 1: dev eth0 root limit 1000 delay 10ms\n",
            "e": SS,
        },
    )
    ends = frozenset({("10.0.0.1", 4001, "10.0.0.2", 5201)})
    ways = {False: Way(1, 1e6, 1.0)}
    assert read_content(tmp_path / "a") == Content(
        "iperf3", False, START_S, START_S + 1.0, ("bbr",), 1, ends, min_rtt_ms=10.0, asked_s=1.0, ways=ways
    )
    assert read_content(tmp_path / "b") == Content(
        "ss", False, START_S + 0.5, START_S + 1.5, ends=ends, min_rtt_ms=10.0, min_rtts_ms=dict.fromkeys(ends, 10.0)
    )
    assert (read_content(tmp_path / "c").kind, read_content(tmp_path / "d").kind) == ("iperf3-server", "netem")
    assert read_content(tmp_path / "e").ends == frozenset()


PATHS = st.text(alphabet="abhr017_-./= %ü'(", min_size=1, max_size=20)


@settings(deadline=None)
@given(PATHS)
def test_the_words_of_a_path_are_the_path(path: str) -> None:
    assert "".join(word.text for word in split_path(path)) == path


def test_the_documented_layout_of_another_group_reads_its_names(tmp_path: Path) -> None:
    page = (ROOT / "reports/own_archive.qmd").read_text(encoding="utf-8")
    section = page.partition("{#own-archive-foreign}")[2]
    names, layout = (re.search(rf"```{kind}\n(.*?)```", section, re.DOTALL) for kind in ("text", "yaml"))
    assert names is not None
    assert layout is not None
    (tmp_path / "layout.yaml").write_text(layout[1])
    paths = names[1].splitlines()[:2]
    told = load_layout(tmp_path / "layout.yaml").read_paths(paths)
    of_both = {"host": "ap-northeast-1_aws", "sender_host": "lon04_ibm", "job": "us-west1-a_gcp"}
    expected = [{"way": "target_direct", "iteration": 3}, {"way": "proxy_forwarding"}]
    for path, own in zip(paths, expected, strict=True):
        values = dict(told[path].values)
        assert {name: values[name] for name in [*of_both, *own]} == of_both | own


def test_files_with_a_number_more_have_a_pattern_of_their_own(tmp_path: Path) -> None:
    paths = [f"bw_{way}{number}.json" for way in ("direct", "proxied") for number in ("", "_1", "_2")]
    first, second = propose_layout({path: Content("iperf3") for path in paths}).patterns
    place = tmp_path / "layout.yaml"
    place.write_text(json.dumps({"files": [{"pattern": one.write_pattern()} for one in (first, second)]}))
    told = load_layout(place).read_paths(paths)
    # `direct_1` is `direct`, the first, and not a way by another name.
    ways = {dict(values.values)[first.groups[0]] for values in told.values()}
    assert (len(first.paths), ways) == (4, {"direct", "proxied"})


@settings(deadline=None)
@given(st.sets(PATHS, min_size=1, max_size=6))
def test_a_proposal_fits_the_files_that_it_is_made_of(
    tmp_path_factory: pytest.TempPathFactory, paths: set[str]
) -> None:
    proposal = propose_layout({path: Content("iperf3") for path in paths})
    place = tmp_path_factory.mktemp("proposed") / "layout.yaml"
    patterns = [{"pattern": one.write_pattern()} for one in proposal.patterns]
    assert {path for one in proposal.patterns for path in one.paths} | set(proposal.unnamed) == paths
    if patterns:
        # JSON is YAML.
        place.write_text(json.dumps({"files": patterns}))
        told = load_layout(place).read_paths(sorted(paths))
        assert {path for one in proposal.patterns for path in one.paths} <= told.keys()


def test_results_of_receivers_alone_are_no_runs_and_why_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, name in enumerate(("srv-3.7-bidir.json", "srv-3.17.1-bidir.json"), start=1):
        (tmp_path / f"a_run{number}.json").write_bytes((ROOT / "conformance/inputs/iperf3" / name).read_bytes())
    adopt(tmp_path, check=False)
    printed = capsys.readouterr().out
    assert "No file here is a run: 2 results of the receiving side (iperf3 -s)." in printed
    assert "record it with iperf3 -c HOST -J" in printed


@pytest.mark.parametrize("beside", [{}, {"layout.yaml": "files: [{pattern: 'a(?P<run>.*)[.]tgz'}]\n"}])
@pytest.mark.parametrize("check", [True, False])
def test_packed_files_by_themselves_are_not_taken_for_results(
    tmp_path: Path, beside: dict[str, str], *, check: bool
) -> None:
    folder = write_archive(tmp_path / "raw", beside)
    folder.mkdir(exist_ok=True)
    pack_folder(
        write_archive(tmp_path / "files", {"run1.json": client_output(4000, "cubic")}), folder / "a1.tar.zst", 5
    )
    with pytest.raises(InputError, match=r"holds packed files, which a build unpacks by itself.*unpack them all"):
        adopt(folder, check=check)
    assert {path.name for path in folder.iterdir()} == {"a1.tar.zst", *beside}


def test_a_packed_file_among_others_is_named_and_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"run{number}_cubic.json": client_output(4000 + number, "cubic") for number in (1, 2)}
    folder = write_archive(tmp_path / "raw", files)
    pack_folder(write_archive(tmp_path / "files", files), folder / "run3_cubic.tar.zst", 5)
    assert adopt(folder, check=False) == 1
    printed = capsys.readouterr().out
    assert "1 kind of file names (2 files)" in printed
    assert "run3_cubic.tar.zst: this is a packed file, which is not opened among other files; unpack it here" in printed
    # Nor by a pattern that fits it.
    layout = (
        write_archive(tmp_path, {"own.yaml": "files: [{pattern: 'run(?P<run>[0-9]).*', kind: iperf3}]\n"}) / "own.yaml"
    )
    (listed,) = list_manifests(folder, load_layout(layout))
    assert {file.path for file in listed.files if file.action == "rejected"} == {"run3_cubic.tar.zst"}
    assert {run.suffix for run in listed.runs} == {"1", "2"}


def test_the_direction_of_a_result_is_among_what_else_tells_its_condition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, name in enumerate(("cli-3.20-p2.json", "cli-3.20-rev.json", "cli-3.20-bidir.json"), start=1):
        (tmp_path / f"cubic_run{number}.json").write_bytes((ROOT / "conformance/inputs/iperf3" / name).read_bytes())
    adopt(tmp_path, check=False)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.endswith("  iperf3")]
    told = [re.findall(r"direction=(\w+)", row) for row in rows]
    assert told == [[], ["reverse"], ["both"]]
    # A build knows no RTT of data that only come back.
    assert [" measured" in row for row in rows] == [True, False, True]
