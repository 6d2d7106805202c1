"""`adopt` on two files of a run that takes one, and on two clients of a run: which are used, and what is said of it."""

import itertools
from pathlib import Path

import pytest
from archives import write_archive
from own_files import MPSTAT, START_S, client_output, socket_samples
from test_adopt import list_columns

from ccreport.adopt.adopt import adopt
from ccreport.archive.read_layout import load_layout

FIRST = "qdisc netem 1: dev c1 root refcnt 2 limit 10000 delay 40ms loss 0.1%\n"
SECOND = FIRST.replace("0.1%", "0.2%")
BARE = "qdisc fq 1: dev c1 root refcnt 2 limit 10000p\n"


def write_pairs(folder: Path, test: str, qdiscs: tuple[str, str], contents: tuple[str, str] = (FIRST, SECOND)) -> Path:
    """Write two runs with two files of qdiscs each, under names with the word of the run put in."""
    files = {}
    for number, word in enumerate(("bbr", "cubic")):
        files[test.format(word)] = client_output(4000 + number, word, START_S + 60 * number)
        files |= {name.format(word): content for name, content in zip(qdiscs, contents, strict=True)}
    return write_archive(folder, files)


@pytest.mark.parametrize(
    ("test", "qdiscs", "ignored"),
    [
        ("{}.json", ("{}-tc-before.txt", "{}-tc-after.txt"), r".*-tc-after\.txt"),
        ("{}.sha.json", ("{}.sha.before", "{}.sha.after"), r".*\.sha\.after"),
        ("{}/Client.json", ("{}/Qdisc.Start.gz", "{}/Qdisc.End.gz"), r"Qdisc\.End\.gz"),
        ("Messung {}.json", ("Messung {} tc vorher.txt", "Messung {} tc nachher.txt"), r".* tc nachher\.txt"),
        ("{}_5.json", ("tc_pre5_{}.txt", "tc_post5_{}.txt"), "tc_post.*"),
        ("test/{}.json", ("avant/{}.txt", "apres/{}.txt"), "apres/.*"),
        ("{}/test.json", ("{}/before/tc.txt", "{}/after/tc.txt"), r"after/tc\.txt"),
        # Without a word that says the order.
        ("{}/test.json", ("{}/tc.0", "{}/tc.1"), r"tc\.1"),
        ("{}.json", ("{}-tc-client.txt", "{}-tc-server.txt"), r".*-tc-server\.txt"),
    ],
)
def test_the_first_of_two_files_of_a_run_is_used(
    test: str, qdiscs: tuple[str, str], ignored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_pairs(tmp_path / "raw", test, qdiscs)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "loss %", "other", "files") == [("0.1", "–", "iperf3, netem")] * 2
    assert f"  {ignored}: 2 files" in said
    ignored_last, _, after = said.partition("\n\nFor the report: ")
    assert ignored_last.endswith(f"a run takes one, here {qdiscs[0].format('bbr')}.")
    assert after == f"make report ARCHIVE={folder}\n"
    former, later = (name.format("bbr") for name in qdiscs)
    why = f"# 2 netem files, such as {later}: a run takes one, here {former}\n  - '{ignored}'\n"
    assert why in (folder / "layout.yaml").read_text()


def test_the_second_is_used_where_the_first_says_nothing_of_the_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_pairs(tmp_path / "raw", "{}.json", ("{}-tc-before.txt", "{}-tc-after.txt"), (BARE, SECOND))
    assert adopt(folder, check=False) == 0
    assert list_columns(capsys.readouterr().out, "loss %") == [("0.2",), ("0.2",)]


def test_words_that_tests_have_too_are_of_the_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {}
    for number, when in enumerate(("pre", "post")):
        files[f"upgrade-{when}.json"] = client_output(4000 + number, "cubic", START_S + 60 * number)
        files[f"upgrade-{when}-tc.txt"] = FIRST
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    assert list_columns(capsys.readouterr().out, "files") == [("iperf3, netem",)] * 2
    assert "ignore:" not in (folder / "layout.yaml").read_text()


def test_samples_of_other_connections_are_not_ignored(tmp_path: Path) -> None:
    files = {}
    for number in (1, 2):
        files[f"run{number}.json"] = client_output(4000 + number, "cubic", START_S + 60 * number)
        files |= {f"run{number}-{host}.log": socket_samples(4000 + 10 * number + host) for host in (1, 2)}
    folder = write_archive(tmp_path / "raw", files)
    adopt(folder, check=False)
    assert "ignore:" not in (folder / "layout.yaml").read_text()


def test_files_are_ignored_one_by_one_where_an_expression_would_fit_others(tmp_path: Path) -> None:
    folder = write_pairs(tmp_path / "raw", "{}.json", ("{}-tc-before.txt", "{}-tc-after.txt"))
    # Of this run there is only the later one.
    write_archive(folder, {"reno.json": client_output(4009, "reno", START_S + 600), "reno-tc-after.txt": SECOND})
    assert adopt(folder, check=False) == 0
    layout = load_layout(folder / "layout.yaml").read_paths(["bbr-tc-after.txt", "reno-tc-after.txt"])
    assert [told.ignored_by for told in layout.values()] == [r"bbr-tc-after\.txt", None]


def test_the_check_says_what_to_do_with_the_second(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = r"files: [{pattern: '(?P<run>[a-z]+)(-(load|cpu)\.txt|\.json)'}]"
    files = {"a.json": client_output(4001), "a-load.txt": MPSTAT, "a-cpu.txt": MPSTAT, "layout.yaml": layout}
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=True) == 1
    said = capsys.readouterr().out
    assert "a-load.txt: a-cpu.txt already is this run's mpstat, and a run takes one; where both are of one run" in said
    assert "name the second under `ignore` of the layout" in said
    write_archive(folder, {"layout.yaml": layout + "\nignore: ['.*-cpu\\.txt']"})
    assert adopt(folder, check=True) == 0


def test_loads_of_the_hosts_of_two_flows_are_one_too_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {}
    for take, (flow, cc) in itertools.product((1, 2, 3), enumerate(("bbr", "cubic"))):
        port, start_s, name = 4000 + 10 * take + flow, START_S + 60 * take, f"take{take}_{'ab'[flow]}"
        files[f"{name}.json"] = client_output(port, cc, start_s)
        files |= {f"{name}_ss.txt": socket_samples(port, cc, start_s), f"{name}_mpstat.txt": MPSTAT}
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "flows", "files") == [("2", "iperf3 × 2, mpstat, ss × 2")] * 3
    assert "3 mpstat files, such as take1_b_mpstat.txt: a run takes one, here take1_a_mpstat.txt; of a receiver" in said
    # As it was proposed before.
    both = r"files: [{pattern: 'take(?P<iteration>[0-9])_(?P<flow>[ab])(_(?P<kind>ss|mpstat)\.txt|\.json)'}]"
    write_archive(folder, {"layout.yaml": both})
    assert adopt(folder, check=True) == 1
    said = capsys.readouterr().out
    assert (
        "3 files, such as take1_b_mpstat.txt: take1_a_mpstat.txt already is this run's mpstat, and a run takes" in said
    )


@pytest.mark.parametrize(
    ("names", "flow", "run"),
    [
        (("take {}.json", "take {} second.json"), "second", "A"),
        (("bg_loss1_{}.json", "loss1_{}.json"), "bg", "iteration=1, loss_pct=1"),
    ],
)
def test_a_second_client_with_a_word_more_is_of_the_same_run(
    names: tuple[str, str], flow: str, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number, letter in enumerate("AB"):
        for client, (name, cc) in enumerate(zip(names, ("cubic", "bbr"), strict=True)):
            files[name.format(letter)] = client_output(4000 + 10 * number + client, cc, START_S + 60 * number)
        files[f"{names[0].format(letter).removesuffix('.json')} tc.txt"] = FIRST
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    rows = list_columns(said, "run", "algorithm", "flows", "files")
    assert rows[0] == (run, "bbr, cubic", "2", "iperf3 × 2, netem")
    assert len(rows) == 2
    assert f"set: {{flow: {flow}}}" in (folder / "layout.yaml").read_text()
    assert "set: {flow: first}" in (folder / "layout.yaml").read_text()


def test_a_word_more_is_not_a_client_of_tests_one_after_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("take A.json", "take A second.json", "take B.json", "take B second.json")
    files = {name: client_output(4000 + n, "cubic", START_S + 60 * n) for n, name in enumerate(names)}
    assert adopt(write_archive(tmp_path / "raw", files), check=False) == 0
    assert len(list_columns(capsys.readouterr().out, "run")) == 4


def test_an_optional_flow_is_the_first_where_it_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = r"files: [{pattern: 'take (?P<run>[A-Z])( (?P<flow>second))?(\.json|-ss\.txt)'}]"
    files = {"take A.json": client_output(4001), "take A second.json": client_output(4002, "bbr")}
    files |= {"take A-ss.txt": socket_samples(4001), "layout.yaml": layout}
    assert adopt(write_archive(tmp_path / "raw", files), check=True) == 0
    assert list_columns(capsys.readouterr().out, "run", "algorithm", "flows") == [("A", "bbr, cubic", "2")]


def test_algorithms_of_runs_are_kept_apart_from_those_of_flows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Both flows of a run have its algorithm.
    alone = {
        f"{cc}_20ms_h{flow}.json": client_output(4000 + 10 * number + flow, cc, START_S + 60 * number)
        for number, cc in enumerate(("bbr", "cubic"))
        for flow in (1, 2)
    }
    assert adopt(write_archive(tmp_path / "alone", alone), check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "run", "flows") == [("cc=bbr, rtt_ms=20", "2"), ("cc=cubic, rtt_ms=20", "2")]
    # Each flow of a run has its own, also beside samples that do not say the RTT.
    shared = {}
    for number, rtt_ms in enumerate((20, 80)):
        for flow, cc in ((1, "bbr"), (2, "cubic")):
            port, start_s = 4000 + 10 * number + flow, START_S + 60 * number
            shared[f"{number}_h{flow}_{cc}_{rtt_ms}ms.json"] = client_output(port, cc, start_s)
            shared[f"{number}_h{flow}_{cc}_ss.log"] = socket_samples(port, cc, start_s)
    assert adopt(write_archive(tmp_path / "shared", shared), check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "algorithm", "flows", "files") == [("bbr, cubic", "2", "iperf3 × 2, ss × 2")] * 2


def test_the_files_of_a_single_test_are_of_its_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"try 2.json": client_output(4001), "load.txt": MPSTAT, "tc_before.txt": FIRST, "tc_after.txt": SECOND}
    assert adopt(write_archive(tmp_path / "raw", files), check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "run", "loss %", "files") == [("try 2", "0.1", "iperf3, mpstat, netem")]


def test_words_like_numbers_or_booleans_are_texts_in_the_layout(tmp_path: Path) -> None:
    for word in ("on", "2"):
        files = {}
        for number, letter in enumerate("AB"):
            files[f"{letter}.json"] = client_output(4000 + number, "cubic", START_S + 60 * number)
            files[f"{letter}_{word}.json"] = client_output(4010 + number, "cubic", START_S + 60 * number)
        folder = write_archive(tmp_path / word, files)
        assert adopt(folder, check=False) == 0
        assert f"set: {{flow: '{word}'}}" in (folder / "layout.yaml").read_text()


def test_algorithms_of_tests_at_one_time_are_flows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {}
    for number in (1, 2):
        for port, cc in ((1, "bbr"), (2, "cubic")):
            files[f"T0{number}/{cc}.json"] = client_output(4000 + 10 * number + port, cc, START_S + 60 * number)
        files[f"T0{number}/tc"] = FIRST
    assert adopt(write_archive(tmp_path / "raw", files), check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "run", "algorithm", "files") == [
        (f"T0{number}", "bbr, cubic", "iperf3 × 2, netem") for number in (1, 2)
    ]


def test_several_clients_with_a_word_more_are_of_the_same_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for number, letter in enumerate("AB"):
        for client, (word, cc) in enumerate((("", "cubic"), (" second", "bbr"), (" third", "reno"))):
            files[f"take {letter}{word}.json"] = client_output(4000 + 10 * number + client, cc, START_S + 60 * number)
    assert adopt(write_archive(tmp_path / "raw", files), check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "run", "algorithm", "files") == [
        (run, "bbr, cubic, reno", "iperf3 × 3") for run in ("A", "B")
    ]


def test_flows_of_a_single_run_have_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"h{number}.json": client_output(4000 + number) for number in (1, 2)}
    assert adopt(write_archive(tmp_path / "raw", files), check=False) == 0
    assert list_columns(capsys.readouterr().out, "run", "flows") == [("all", "2")]


def test_a_copy_of_a_test_is_not_a_flow(tmp_path: Path) -> None:
    files = {f"{letter}.json": client_output(4000 + n) for n, letter in enumerate("AB")}
    folder = write_archive(tmp_path / "raw", files | {f"{name[0]} copy.json": data for name, data in files.items()})
    adopt(folder, check=False)
    assert "flow: " not in (folder / "layout.yaml").read_text()


@pytest.mark.parametrize("mark", [" (copy)", "(1)", " - Kopie (2)"])
def test_a_copy_is_proposed_to_be_ignored(mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"day/test{n}_cubic.json": client_output(4000 + n, "cubic", START_S + 60 * n) for n in (1, 2, 3)}
    copied = f"day/test1_cubic{mark}.json"
    assert adopt(write_archive(tmp_path / "raw", files | {copied: files["day/test1_cubic.json"]}), check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "run", "files") == [(f"test{n}", "iperf3") for n in (1, 2, 3)]
    assert f"Ignored: 1 iperf3 file, such as {copied}: a copy of day/test1_cubic.json.\n" in said
    # Another test under such a name is not one.
    files[copied] = client_output(4009, "cubic", START_S + 600)
    adopt(write_archive(tmp_path / "other", files), check=False)
    assert "a copy of" not in capsys.readouterr().out


def test_patterns_of_a_proposal_fit_files_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["30/test_20261130_1010", "30/test_20261130_1020", "31/rev_1", "31/rev_2", "31/par_1", "31/par_2"]
    files = {f"{name}.json": client_output(4001 + n, "cubic", START_S + 60 * n) for n, name in enumerate(names)}
    adopt(write_archive(tmp_path / "raw", files), check=False)
    assert "more than one pattern fits" not in capsys.readouterr().out
