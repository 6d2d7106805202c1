"""`adopt` on numbers in names: losses as ratios, flows and durations by any letters, days as folders."""

import json
from pathlib import Path

import pytest
from archives import write_archive
from own_files import START_S, client_output
from test_adopt import list_columns, propose

from ccreport.adopt.adopt import adopt
from ccreport.archive.read_layout import load_layout

NETEM = "qdisc netem 1: dev c1 root refcnt 2 limit 10000 delay 5ms loss {}%\n"


def result_of(number: int, streams: int = 1, duration_s: int = 10) -> str:
    """Return a result of a test with so many streams, each test 100 s after the former."""
    facts = json.loads(client_output(4000 + number, "cubic", START_S + 100 * number))
    facts["start"]["connected"] *= streams
    facts["start"]["test_start"]["duration"] = duration_s
    for side in facts["end"]["streams"][0].values():
        side["end"] = duration_s
    for interval in (*facts["intervals"], facts["end"]):
        interval["streams"] *= streams
    return json.dumps(facts)


@pytest.mark.parametrize(
    ("names", "losses_pct"),
    [
        (("a_plr1e-4.json", "b_plr2.5e-3.json"), (0.01, 0.25)),
        # One exponent says what the others are.
        (("a_plr1e-4.json", "b_plr0.01.json"), (0.01, 1)),
        (("a_loss1e-4.json", "b_lossnone.json"), (0.01, 0)),
        (("a-1e-05-x.json", "b-1e-03-x.json"), (0.001, 0.1)),
        # A rate is one, and nothing says the contrary.
        (("a_loss0.1.json", "b_loss0.2.json"), (0.1, 0.2)),
        (("a_loss0.1pct.json", "b_loss0.2pct.json"), (0.1, 0.2)),
    ],
)
def test_losses_with_an_exponent_are_ratios(
    names: tuple[str, str], losses_pct: tuple[float, float], tmp_path: Path
) -> None:
    told = propose(write_archive(tmp_path / "raw", {name: result_of(number) for number, name in enumerate(names)}))
    assert [values["loss_pct"] for values in told] == list(losses_pct)


@pytest.mark.parametrize("form", ["bbr_{}_x.json", "delay{}/bbr.json", "bbr rtt={}.json"])
def test_seconds_are_rtts_where_others_have_one(form: str, tmp_path: Path) -> None:
    files = {form.format(text): result_of(number) for number, text in enumerate(("800us", "10ms", "0.1s", "0,2s"))}
    told = propose(write_archive(tmp_path / "raw", files))
    assert sorted(float(str(values["rtt_ms"])) for values in told) == [0.8, 10, 100, 200]


def test_seconds_are_durations_where_no_other_has_an_rtt(tmp_path: Path) -> None:
    files = {f"bbr_10ms_{text}.json": result_of(number, 1, int(text[:-1])) for number, text in enumerate(("5s", "10s"))}
    told = propose(write_archive(tmp_path / "raw", files))
    assert [values["rtt_ms"] for values in told] == [10, 10]
    assert [values["duration_s"] for values in told] == ["10", "5"]


@pytest.mark.parametrize(("recorded", "expected"), [(("0.01", "0.1"), (0.01, 0.1)), (("0.01", "0.2"), (0.0001, 0.001))])
def test_qdiscs_tell_ratios_from_per_cent(
    recorded: tuple[str, str], expected: tuple[float, float], tmp_path: Path
) -> None:
    files = {}
    for number, (name, loss_pct) in enumerate(zip(("0.0001", "0.001"), recorded, strict=True)):
        files[f"{number}_loss{name}.json"] = result_of(number)
        files[f"{number}_loss{name}.tc"] = NETEM.format(loss_pct)
    told = propose(write_archive(tmp_path / "raw", files))
    assert [values["loss_pct"] for values in told[::2]] == list(expected)


@pytest.mark.parametrize(
    ("names", "recorded", "is_open"),
    [
        (("0.0001", "0.001"), None, True),
        (("0.1", "none"), None, True),
        (("0.0001", "0.001"), "0.01", False),
        (("0.1", "2"), None, False),
        (("0.1pct", "0.2pct"), None, False),
        (("1e-4", "0.01"), None, False),
        (("0", "none"), None, False),
    ],
)
def test_the_layout_asks_for_the_unit_of_losses_that_nothing_tells(
    names: tuple[str, str], recorded: str | None, is_open: bool, tmp_path: Path
) -> None:
    files = {f"{number}_loss{name}.json": result_of(number) for number, name in enumerate(names)}
    files |= {f"0_loss{names[0]}.tc": NETEM.format(recorded)} if recorded else {}
    adopt(write_archive(tmp_path / "raw", files), check=False)
    asked = "# Are losses in per cent? No name and no qdisc says it. If not, write loss_ratio for each loss_pct.\n"
    text = (tmp_path / "raw/layout.yaml").read_text()
    assert (asked in text) is is_open
    # What it says to type is all that there is to do.
    if is_open:
        (tmp_path / "raw/layout.yaml").write_text(text.replace("<loss_pct>", "<loss_ratio>"))
        (first, *_) = load_layout(tmp_path / "raw/layout.yaml").read_paths([f"0_loss{names[0]}.json"]).values()
        assert first.values["loss_pct"] == pytest.approx(100 * float(names[0]))


@pytest.mark.parametrize("words", ["x{}", "{}st", "n{}", "{}conn", "flux{}", "{}ports"])
def test_numbers_with_any_letters_are_flows_where_the_tests_say_so(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number, streams in enumerate((1, 2, 1, 2)):
        name = f"{words.format(streams)}_rep{number // 2 + 1}"
        files |= {f"{name}.json": result_of(number, streams), f"tc_{name}.txt": NETEM.format(0.1)}
    told = propose(write_archive(tmp_path / "raw", files))
    assert told == [{"flows": n, "iteration": rep} for n in (1, 2) for rep in (1, 2)] * 2
    assert list_columns(capsys.readouterr().out, "other", "files") == [("–", "iperf3, netem")] * 4


def test_numbers_that_tests_contradict_are_not_flows(tmp_path: Path) -> None:
    files = {f"x{streams}.json": result_of(number, streams + 1) for number, streams in enumerate((1, 2))}
    assert propose(write_archive(tmp_path / "raw", files)) == [{"x": "x1"}, {"x": "x2"}]


@pytest.mark.parametrize("words", ["{}s", "{}sec", "dur{}", "t{}", "{}"])
def test_a_duration_is_not_a_parameter(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setups = enumerate((("plain", 5), ("tuned", 60)))
    files = {f"{setup}_{words.format(s)}.json": result_of(n, 1, s) for n, (setup, s) in setups}
    propose(write_archive(tmp_path / "raw", files))
    assert list_columns(capsys.readouterr().out, "run", "other", "s") == [
        ("variant=plain", "variant=plain", "5"),
        ("variant=tuned", "variant=tuned", "60"),
    ]


def test_a_test_lasts_as_long_as_it_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The second began 3 s after the first, which was interrupted after 2.4 s of 10.
    files = {}
    for number, word in enumerate(("INT", "TERM")):
        facts = json.loads(client_output(4000 + number, "cubic", START_S + 3 * number))
        facts["start"]["test_start"]["duration"] = 10
        for side in facts["end"]["streams"][0].values():
            side["end"] = 2.4
        files[f"cubic_{word}.json"] = json.dumps(facts)
    propose(write_archive(tmp_path / "raw", files))
    said = capsys.readouterr().out
    assert list_columns(said, "s") == [("2 of 10",), ("2 of 10",)]
    assert "Measured at the same time" not in said


def test_tests_that_follow_at_once_are_not_flows_of_one_run(tmp_path: Path) -> None:
    files = {}
    for number, word in enumerate(("north", "south")):
        facts = json.loads(client_output(4000 + number, "cubic", START_S + 2 * number))
        facts["start"]["test_start"]["duration"] = 2
        for side in facts["end"]["streams"][0].values():
            side["end"] = 2.0004
        files[f"cubic_{word}.json"] = json.dumps(facts)
    assert {tuple(told) for told in propose(write_archive(tmp_path / "raw", files))} == {("cc", "variant")}


def test_names_of_two_and_of_three_numbers_have_patterns_that_take_files(tmp_path: Path) -> None:
    names = [f"{word}-{version}-{way}.json" for word in ("cli", "int") for version in ("3.1.7", "3.7", "3.20", "3.17.1")
             for way in ("rev", "udp")]  # fmt: skip
    folder = write_archive(tmp_path / "raw", {name: result_of(number) for number, name in enumerate(names)})
    adopt(folder, check=False)
    layout = load_layout(folder / "layout.yaml")
    assert not any("takes no file" in line for line in layout.list_shadowed(names))
    assert layout.list_unused(names) == []
    assert layout.read_paths(names)["cli-3.20-rev.json"].values["number"] == "3.20"


def test_a_duration_by_which_alone_runs_differ_is_called_so(tmp_path: Path) -> None:
    files = {f"cubic_{s}s.json": result_of(n, 1, s) for n, s in enumerate((5, 60))}
    assert propose(write_archive(tmp_path / "raw", files)) == [
        {"cc": "cubic", "duration_s": "5"},
        {"cc": "cubic", "duration_s": "60"},
    ]


def test_days_as_folders_and_times_of_a_zone_are_stamps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = {f"2026/11/{24 + n // 2}/loss{n % 2}.json": result_of(n) for n in range(4)}
    folder = write_archive(tmp_path / "days", days)
    assert adopt(folder, check=False) == 0
    assert load_layout(folder / "layout.yaml").groups == {"session", "loss_pct"}
    capsys.readouterr()
    times = {f"2026-11-25T10:0{n}:05Z_cubic.json": result_of(n) for n in range(2)}
    assert adopt(write_archive(tmp_path / "times", times), check=False) == 0
    assert list_columns(capsys.readouterr().out, "run") == [(f"2026-11-25T10:0{n}:05Z",) for n in range(2)]


def test_words_of_other_languages_and_with_blanks_are_known(tmp_path: Path) -> None:
    files = {f"Messung Verlust {n} Versuch {n + 1}.json": result_of(n) for n in range(2)}
    told = propose(write_archive(tmp_path / "raw", files))
    assert told == [{"loss_pct": n, "iteration": n + 1} for n in range(2)]
    files = {f"essai{n + 1}_perte{n}_delai{n + 1}0ms.json": result_of(n) for n in range(2)}
    told = propose(write_archive(tmp_path / "other", files))
    assert told == [{"iteration": n + 1, "loss_pct": n, "rtt_ms": 10 * (n + 1)} for n in range(2)]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("Run1Loss0.{}Rtt10Client.json", {"iteration": 1, "loss_pct": "0.{}", "rtt_ms": 10}),
        ("seed={},rtt=10ms.json", {"seed": "{}", "rtt_ms": 10}),
        ("lab 80 ms, 0.{} %.json", {"rtt_ms": 80, "loss_pct": "0.{}"}),
        ("20msLoss0.{}.json", {"rtt_ms": 20, "loss_pct": "0.{}"}),
        ("179560000{}/iperf.json", {"run": "179560000{}"}),
        ("p{}e-4.json", {"loss_pct": "0.0{}"}),
        # Decimal commas, and commas that separate words.
        ("0,0{}pct_2,5ms.json", {"loss_pct": "0.0{}", "rtt_ms": 2.5}),
        ("lab 80 ms, 0,{} %.json", {"rtt_ms": 80, "loss_pct": "0.{}"}),
        ("0,{}BDP,16,20ms.json", {"bdp": "0.{}", "rtt_ms": 20}),
        ("x1,{}.json", {"x": "x1,{}"}),
        ("x0.{}.json", {"x": "x0.{}"}),
    ],
)
def test_amounts_of_all_styles_are_read(names: str, told: dict[str, object], tmp_path: Path) -> None:
    files = {names.format(number): result_of(number) for number in (4, 7)}
    expected = [{name: str(value).format(number) for name, value in told.items()} for number in (4, 7)]
    read = [
        {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in one.items()}
        for one in propose(write_archive(tmp_path / "raw", files))
    ]
    assert read == expected


LAYOUT = r"""files:
  - {pattern: '(?P<run>[a-z])_(?P<GROUP>[0-9.]+)(_(?P<rtt_ms>[0-9]+)ms)?\.json'}
  - {pattern: '(?P<run>[a-z])_tc\.txt', kind: netem}
"""


def check(folder: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str], group: str = "loss_pct") -> str:
    """Return what the check says of files with a layout in which numbers are of a group."""
    assert adopt(write_archive(folder, files | {"layout.yaml": LAYOUT.replace("GROUP", group)}), check=True) == 0
    return capsys.readouterr().out


def test_losses_that_qdiscs_contradict_are_doubted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"a_0.0001_10ms.json": result_of(1), "b_0.005_10ms.json": result_of(2)}
    recorded = files | {"a_tc.txt": NETEM.format(0.01), "b_tc.txt": NETEM.format(0.5)}
    ratios = (
        "Names say a loss of 0.005 %, qdiscs of 0.5 %: ratios? Then write `loss_ratio` for `loss_pct` in the layout."
    )
    said = check(tmp_path / "recorded", recorded, capsys)
    assert ratios in said
    assert "contradict each other" not in said
    # What it says is what helps.
    said = check(tmp_path / "recorded", recorded, capsys, "loss_ratio")
    assert list_columns(said, "loss %") == [("0.01",), ("0.5",)]
    assert "ratios?" not in said
    assert "Names say a loss of 0.005 %: ratios? Then" in check(tmp_path / "named", files, capsys)
    assert "ratios?" not in check(tmp_path / "large", {"a_0.1.json": result_of(1)}, capsys)
    # A name that says its unit is not asked for it.
    write_archive(tmp_path / "unit", {"a_0.001pct.json": result_of(1), "b_0.002pct.json": result_of(2)})
    adopt(tmp_path / "unit", check=False)
    assert "ratios?" not in capsys.readouterr().out


def test_conditions_that_qdiscs_contradict_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"{name}.json": result_of(n) for n, name in enumerate(("a_0.3_10ms", "b_0.5_10ms", "c_0.5_40ms"))}
    files |= {f"{run}_tc.txt": NETEM.format(0.5) for run in "abc"}
    said = check(tmp_path / "raw", files, capsys)
    listed = said.partition("an RTT as names do, which contradict each other here:\n")[2].splitlines()[:3]
    # The 5 ms of one direction are half of 10 ms.
    assert listed[:2] == [
        "  a: a loss of 0.3 % by name, of 0.5 % by qdiscs",
        "  c: an RTT of 40 ms by name, delays of 5 ms by qdiscs",
    ]
    assert not listed[2].startswith("  ")


@pytest.mark.parametrize("word", ["owd10ms", "owd_10ms", "OWD=10ms", "owd10", "owd-10000us"])
def test_a_one_way_delay_is_half_of_an_rtt(word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"run{number}_{word}.json": result_of(number) for number in (1, 2)}
    assert [values["rtt_ms"] for values in propose(write_archive(tmp_path / "raw", files))] == [20, 20]
    assert list_columns(capsys.readouterr().out, "RTT ms") == [("20",)] * 2


def test_a_word_for_no_loss_is_a_loss_of_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ("rtt20_noloss", "rtt20_loss0.1pct", "rtt80_loss0.1pct")
    files = {f"{place}/{cc}.json": client_output(4001, cc) for place in places for cc in ("bbr", "cubic")}
    folder = write_archive(tmp_path, files)
    adopt(folder, check=False)
    assert [loss for (loss,) in list_columns(capsys.readouterr().out, "loss %")].count("0") == 2
    assert "    set: {loss_pct: 0}\n" in (folder / "layout.yaml").read_text()
