"""`adopt` where an unknown word with a number counts tests or repetitions, and where it may be swept."""

import unicodedata
from pathlib import Path

import pytest
from archives import write_archive
from own_files import MPSTAT, START_S, client_output, socket_samples, write_flows
from test_adopt import list_columns

from ccreport.adopt.adopt import adopt
from ccreport.archive.read_layout import load_layout


def propose(folder: Path, algorithms: dict[str, str], more: dict[str, str] | None = None) -> list[dict[str, object]]:
    """Have a layout proposed for results of these algorithms, by name, and return what it tells of each file."""
    results = {
        name: client_output(4001 + n, cc, START_S + 60 * (n + 1)) for n, (name, cc) in enumerate(algorithms.items())
    }
    files = results | (more or {})
    assert adopt(write_archive(folder, files), check=False) == 0
    told = load_layout(folder / "layout.yaml").read_paths(list(files))
    return [dict(told[path].values) for path in files]


def test_a_number_of_its_own_names_each_test(tmp_path: Path) -> None:
    told = propose(tmp_path / "raw", {f"take{number}.json": "cubic" for number in (1, 2, 3)})
    assert told == [{"run": f"take{number}"} for number in (1, 2, 3)]


def test_a_number_that_begins_anew_for_each_algorithm_counts_repetitions(tmp_path: Path) -> None:
    names = {f"take{number}_{cc}.json": cc for cc in ("cubic", "bbr") for number in (1, 2, 3)}
    told = propose(tmp_path / "raw", names)
    assert told == [{"iteration": number, "cc": cc} for cc in ("cubic", "bbr") for number in (1, 2, 3)]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_of_other_letters_are_whole_and_one_companion_is_joined(tmp_path: Path, form: str) -> None:
    def name(number: int, cc: str, ending: str) -> str:
        return unicodedata.normalize(form, f"Prüfung {number} ({cc}, 10 ms){ending}")

    names = {name(number, cc, ".json"): cc for number, cc in enumerate(("cubic", "cubic", "bbr2", "bbr2"), start=1)}
    samples = {name(3, "bbr2", " ss.txt"): socket_samples(4003, "bbr2", START_S + 180)}
    told = propose(tmp_path / "raw", names, samples)
    assert [one["run"] for one in told] == ["1", "2", "3", "4", "3"]
    assert told[2] == told[4]


def test_a_word_of_a_condition_stays_a_parameter_and_is_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = propose(tmp_path / "raw", {f"{cc}_level{number}.json": cc for cc in ("bbr", "cubic") for number in (1, 2)})
    assert {str(one["level"]) for one in told} == {"level1", "level2"}
    asked = "Is `level` (level1, level2) a repetition? Then write `level(?P<iteration>[0-9]+)`."
    assert asked in capsys.readouterr().out


@pytest.mark.parametrize("word", ["run", "rep", "iter"])
def test_a_number_behind_a_day_counts_repetitions_of_each_algorithm(tmp_path: Path, word: str) -> None:
    names = {f"2026-11-20_{cc}_{word}{number}_h1.json": cc for cc in ("cubic", "bbr") for number in (1, 2, 3)}
    told = propose(tmp_path / "raw", names)
    counted = [{"iteration": number, "cc": cc} for cc in ("cubic", "bbr") for number in (1, 2, 3)]
    assert [{key: one[key] for key in one if key in ("iteration", "cc")} for one in told] == counted
    assert not {"second_run", "run"} & load_layout(tmp_path / "raw/layout.yaml").groups


def test_runs_behind_a_day_that_are_each_of_one_test_keep_their_names(tmp_path: Path) -> None:
    names = {f"2026-11-20_{cc}_run{number}.json": cc for number, cc in enumerate(("cubic", "bbr", "reno"), start=1)}
    told = propose(tmp_path / "raw", names)
    assert [(one["run"], one["session"]) for one in told] == [(f"run{number}", "2026-11-20") for number in (1, 2, 3)]


@pytest.mark.parametrize("numbers", [(1, 2), (1, 2, 3)])
def test_an_r_with_a_number_at_the_end_counts_and_a_letter_of_a_folder_does_not(
    numbers: tuple[int, ...], tmp_path: Path
) -> None:
    names = {f"{letter}/x/r{number}.json": "cubic" for letter in "ab" for number in numbers}
    told = propose(tmp_path / "raw", names)
    assert told == [{"variant": letter, "iteration": number} for letter in "ab" for number in numbers]


def test_an_r_with_a_number_counts_where_a_run_is_missing(tmp_path: Path) -> None:
    names = {f"{cc}_r{number}.json": cc for cc, count in (("bbr", 3), ("cubic", 2)) for number in range(1, count + 1)}
    told = propose(tmp_path / "raw", names)
    assert [(one["cc"], one["iteration"]) for one in told] == [
        ("bbr", 1),
        ("bbr", 2),
        ("bbr", 3),
        ("cubic", 1),
        ("cubic", 2),
    ]


def test_an_r_with_a_number_before_other_words_is_a_parameter(tmp_path: Path) -> None:
    names = {f"r{number}_{cc}.json": cc for cc in ("bbr", "cubic") for number in (1, 3)}
    assert [one["r"] for one in propose(tmp_path / "raw", names)] == ["r1", "r3"] * 2


def write_beside(folder: Path, word: str) -> Path:
    """Write four tests that ran at one time, each beside samples of its own."""
    files = {}
    for number in range(1, 5):
        cc, rtt_ms = ("cubic", "bbr")[number % 2], 20 if number < 3 else 80
        files[f"results/{word}{number}_{cc}_{rtt_ms}ms.json"] = client_output(4000 + number, cc)
        files[f"results/{word}{number}_ss.txt"] = socket_samples(4000 + number, cc)
        files[f"results/{word}{number}_mpstat.txt"] = MPSTAT
    return write_archive(folder, files)


@pytest.mark.parametrize("word", ["run", "Run_", "test", "iter", "rep", "trial-"])
def test_words_of_runs_and_repetitions_tell_no_flows_of_one_time_apart(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert adopt(write_beside(tmp_path / "raw", word), check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "flows", "files") == [("1", "iperf3, mpstat, ss")] * 4
    assert "Measured at the same time between the same hosts" in said
    assert "for `flow`" not in said


def test_flows_of_which_each_may_be_a_run_are_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_beside(tmp_path / "raw", "h")
    adopt(folder, check=False)
    layout = folder / "layout.yaml"
    question = "Tests of one time count as flows of one run. Is each a run of its own? Then write `run` for `flow`."
    assert f"\n{question}\n" in capsys.readouterr().out
    assert f"\n# {question}\n" in layout.read_text()
    layout.write_text(layout.read_text().replace("<flow>", "<run>"))
    assert adopt(folder, check=True) == 0
    assert list_columns(capsys.readouterr().out, "flows", "files") == [("1", "iperf3, mpstat, ss")] * 4
    # Flows that several runs have are not asked about.
    adopt(write_flows(tmp_path / "flows"), check=False)
    assert "for `flow`" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["test_20261130_1010", "test_20261130_1110"], {"run": "20261130_1010"}),
        (["2026-11-30/1010", "2026-11-30/1110"], {"session": "2026-11-30", "run": "1010"}),
        (["2026-11-30/1010", "2026-12-01/1010"], {"run": "2026-11-30"}),
        (["48213", "48377"], {"run": "48213"}),
        # When the tests began, whatever the time zone, and when they did not.
        (["0711", "0712"], {"run": "0711"}),
        (["0714", "0720"], {"number": "0714"}),
        (["10000", "20000"], {"number": "10000"}),
        (["32768", "65536"], {"number": "32768"}),
        (["window_32761", "window_65535"], {"window": "32761"}),
        # Seconds since 1970 behind a word are any number.
        (["size=1500000000", "size=1600000000"], {"size": "1500000000"}),
    ],
)
def test_times_of_day_and_serials_name_tests(
    names: list[str], told: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, _ = propose(tmp_path / "raw", {f"{name}_cubic.json": "cubic" for name in names})
    assert first == {"cc": "cubic", **told}
    hint = "(?P<flows>`; if only names of runs, `(?P<run>`."
    assert (hint in capsys.readouterr().out) == ("number" in told)
