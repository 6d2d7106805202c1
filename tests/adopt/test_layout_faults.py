"""`adopt --check` on layouts that somebody wrote: patterns that fit nothing or too much, and groups that part runs."""

import itertools
import re
from pathlib import Path

import pytest
from archives import write_archive
from own_files import MPSTAT, START_S, client_output, socket_samples
from test_adopt import list_columns

from ccreport.adopt.adopt import adopt

ALGORITHMS = ("bbr", "cubic")


def check(folder: Path, layout: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the check says of files with a layout."""
    adopt(write_archive(folder, files | {"layout.yaml": layout}), check=True)
    return capsys.readouterr().out


def result(number: int, cc: str = "cubic") -> str:
    """Return a result that began a minute after the former."""
    return client_output(4000 + number, cc, START_S + 60 * number)


def test_two_patterns_that_fit_one_file_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = r"""files:
  - pattern: '(?P<cc>[a-z]+)-(?P<iteration>\d)\.json'

  - pattern: '(?P<cc>cubic)-\d\.json'
  - pattern: '(?P<cc>[a-z]+)-(?P<iteration>\d)(-more)?\.json'
  - pattern: '.*\.log'
ignore: ['old\.log']
"""
    files = {
        f"{cc}-{number}.json": result(2 * number + place, cc)
        for place, cc in enumerate(ALGORITHMS)
        for number in (1, 2)
    }
    files |= {"bbr-3-more.json": result(7, "bbr"), "old.log": "x", "new.log": "x"}
    said = check(tmp_path / "raw", layout, files, capsys)
    listed = said.partition("more than one pattern fits:\n")[2].splitlines()
    assert listed[:2] == [
        "  layout.yaml:4: fits cubic-1.json and 1 more, which layout.yaml:2 takes before, so that it takes no file",
        "  layout.yaml:5: fits bbr-1.json and 3 more, which layout.yaml:2 takes before",
    ]
    # Some logs are ignored on purpose, and the pattern that is said to take no file is not said to fit none.
    assert "layout.yaml:6" not in said
    assert "about no file" not in said


def test_a_pattern_that_fits_nothing_has_its_line_and_what_would_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = "files:\n  # As last year.\n  - pattern: '(?P<cc>[a-z]+)-(?P<rtt_ms>[0-9]+)ms[.]txt'\n"
    files = {f"{cc}-20ms.json": result(number, cc) for number, cc in enumerate(ALGORITHMS)}
    said = check(tmp_path / "raw", layout, files, capsys)
    assert "about no file here:\n  layout.yaml:3: (?P<cc>[a-z]+)-" in said
    title, pattern = said[said.index("No pattern takes") :].splitlines()[:2]
    assert title.startswith("No pattern takes 2 files, such as bbr-20ms.json.")
    # What it says is what helps.
    said = check(tmp_path / "raw", f"files:\n{pattern}\n", files, capsys)
    assert list_columns(said, "algorithm", "RTT ms") == [("bbr", "20"), ("cubic", "20")]
    assert "No pattern takes" not in said


def test_a_proposed_pattern_has_the_folders_of_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = "(?P<session>[0-9-]+)/RTT (?P<rtt_ms>[0-9.,]+) ms"
    layout = f"files:\n  - pattern: '{folders}/(?P<cc>[a-z]+)[.]json'\n  - pattern: '{folders}/cpu[.]json'\n"
    folder = "2026-11-20/RTT 20,5 ms"
    files = {f"{folder}/{cc}.json": result(number, cc) for number, cc in enumerate(ALGORITHMS)}
    said = check(tmp_path / "raw", layout, files | {f"{folder}/cpu load.txt": "x\n"}, capsys)
    proposed = said[said.index("No pattern takes 1 file") :].splitlines()[1]
    assert proposed.startswith(f"  - pattern: '{folders}/")
    assert re.fullmatch(proposed.partition("'")[2].rstrip("'"), f"{folder}/cpu load.txt")


def test_text_of_a_tool_is_told_from_files_of_nothing_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "Connecting to host 10.0.0.2, port 5201\n[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
    files = {"cubic.json": result(1, "cubic"), "by hand.txt": text, "notes.txt": "a note\n"}
    said = check(tmp_path / "raw", "files:\n  - pattern: '(?P<cc>[a-z]+)[.]json'\n", files, capsys)
    assert "by hand.txt: this is iperf3's text output; run it with -J and keep the JSON" in said
    assert re.search(r"as nothing says what they are \(`kind` in the layout does\):\n  notes\.txt\n", said)


def test_what_is_set_on_the_tests_alone_does_not_part_runs_unsaid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = r"""files:
  - pattern: '(?P<cc>[a-z]+)-(?P<variant>[a-z])\.json'
    set: {bottleneck_mbps: 50, buffer_bytes: 250000}
  - pattern: '(?P<cc>[a-z]+)-(?P<variant>[a-z])\.ss'
"""
    files = {}
    for number, cc in enumerate(ALGORITHMS):
        files[f"{cc}-a.json"] = result(number, cc)
        files[f"{cc}-a.ss"] = socket_samples(4000 + number, cc, START_S + 60 * number)
    said = check(tmp_path / "raw", layout, files, capsys)
    assert len(list_columns(said, "run")) == 4
    lines = said[said.index("2 runs of ss without a test") :].splitlines()
    assert " and those with one differ only in bottleneck_bps and buffer_bytes, which not all have:" in lines[0]
    assert lines[1:3] == ["  cc=bbr, variant=a", "  bottleneck_bps=50000000, buffer_bytes=250000, cc=bbr, variant=a"]
    assert "no ss" not in said
    assert "Both runs have no mpstat" in said
    # What it says is what helps.
    assert "  runs_by: [cc, variant]" in lines
    said = check(tmp_path / "raw", f"{layout}runs_by: [cc, variant]\n", files, capsys)
    assert list_columns(said, "files") == [("iperf3, ss",)] * 2
    assert "without a test" not in said


def test_names_of_runs_with_commas_are_apart_in_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = r"files: [{pattern: '(?P<cc>[a-z]+)-(?P<variant>[a-z])\.(json|ss)'}]"
    files = {f"{cc}-{letter}.json": result(ord(letter), cc) for cc in ALGORITHMS for letter in "ab"}
    files["cubic-a.ss"] = socket_samples(4000 + ord("a"), "cubic", START_S + 60 * ord("a"))
    said = check(tmp_path / "raw", layout, files, capsys)
    assert "3 of 4 runs (cc=bbr, variant=a; cc=bbr, variant=b; cc=cubic, variant=b) have no ss" in said


@pytest.mark.parametrize(
    ("layout", "table"),
    [
        ("files: [{pattern: '[a-z]_plr(?P<loss_ratio>[0-9.]+)[.]json'}]", None),
        ("files: [{pattern: '[a-z]_plr(?P<loss_pct>[0-9.]+)[.]json', scale: {loss_pct: 100}}]", None),
        ("table: files.csv", "file,loss_ratio\na_plr0.0001.json,0.0001\n"),
    ],
)
def test_a_small_loss_that_is_a_ratio_already_is_not_doubted(
    layout: str, table: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"a_plr0.0001.json": result(1)} | ({"files.csv": table} if table is not None else {})
    said = check(tmp_path / "raw", layout, files, capsys)
    assert list_columns(said, "loss %") == [("0.01",)]
    assert "ratios?" not in said


def test_the_table_of_the_layout_is_not_a_file_without_a_pattern(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = "table: runs.csv\nfiles: [{pattern: '(?P<cc>[a-z]+)[.]json'}]\n"
    files = {"cubic.json": result(1), "runs.csv": "run,rtt_ms\nmonday,20\n"}
    said = check(tmp_path, layout, files, capsys)
    assert "  table: run monday\n" in said
    assert "such as runs.csv" not in said


def test_a_run_without_a_test_has_the_name_of_the_one_that_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = "files: [{pattern: '(?P<cc>[a-z]+)_(?P<iteration>[0-9])([.]json|_ss[.]txt)'}]\n"
    files = {"cubic_1.json": result(1), "cubic_2.json": result(2), "cubik_1_ss.txt": socket_samples(4001)}
    said = check(tmp_path, layout, files, capsys)
    told = "Without a result of a test (1 run):\n  cc=cubik, iteration=1: ss; is it of cc=cubic, iteration=1?\n"
    assert told in said
    # With the name mended, nothing is missed.
    mended = {"cubic_1_ss.txt" if name.startswith("cubik") else name: text for name, text in files.items()}
    assert "Without a result" not in check(tmp_path / "mended", layout, mended, capsys)


def test_a_group_of_another_name_than_that_of_the_tests_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = r"""files:
  - {pattern: '(?P<run>run\d+)_(?P<cc>[a-z]+)\.json', set: {rtt_ms: 20}}
  - {pattern: '(?P<run>run\d+)_mpstat\.txt', kind: mpstat}
  - {pattern: '(?P<name>run\d+)_ss\.txt', kind: ss}
"""
    files = {}
    for number, cc in enumerate(ALGORITHMS, 1):
        files[f"run{number}_{cc}.json"] = result(number, cc)
        files[f"run{number}_mpstat.txt"] = MPSTAT
        files[f"run{number}_ss.txt"] = socket_samples(4000 + number, cc, START_S + 60 * number)
    folder = write_archive(tmp_path / "raw", files | {"layout.yaml": layout})
    assert adopt(folder, check=True) == 1
    said = capsys.readouterr().out
    told = said[said.index("Without a result of a test (2 runs):") :].splitlines()[1:4]
    assert told == [
        "  name=run1: ss; is it of run1_bbr.json?",
        "  name=run2: ss; is it of run2_cubic.json?",
        "Call the group `name` in layout.yaml:4 `run`, as that of tests is: 2 runs get one so.",
    ]
    # What it says is what helps.
    (folder / "layout.yaml").write_text(layout.replace("<name>", "<run>"))
    assert adopt(folder, check=True) == 0
    assert list_columns(capsys.readouterr().out, "files") == [("iperf3, mpstat, ss",)] * 2


def test_a_kind_that_files_contradict_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = r"""files:
  - {pattern: '(?P<run>run\d+)\.json'}
  - {pattern: '(?P<run>run\d+)_cpu\.txt', kind: ss}
"""
    files = {f"run{number}.json": result(number) for number in (1, 2)}
    files |= {f"run{number}_cpu.txt": MPSTAT for number in (1, 2)}
    told = "layout.yaml:3: the `kind` is ss; run1_cpu.txt and 1 more file are mpstat by content, which counts.\n"
    assert told in check(tmp_path / "raw", layout, files, capsys)
    assert "by content" not in check(tmp_path / "mended", layout.replace("ss}", "mpstat}"), files, capsys)


def test_a_result_whose_name_lacks_a_unit_is_that_of_the_files_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files: dict[str, str] = {}
    for number, (cc, rtt_ms) in enumerate(itertools.product(ALGORITHMS, (20, 80))):
        port, start_s = 4000 + number, START_S + 60 * number
        name = f"dtn1_{cc}_{rtt_ms}ms_1"
        files[f"{name}_ss.txt"] = socket_samples(port, cc, start_s)
        files[f"{name.replace('cubic_80ms', 'cubic_80')}.json"] = client_output(port, cc, start_s)
    folder = write_archive(tmp_path / "raw", files)
    adopt(folder, check=False)
    said = capsys.readouterr().out
    told = "Without a result of a test (1 run):\n  cc=cubic, rtt_ms=80: ss; is it of dtn1_cubic_80_1.json?\n"
    assert told in said
    assert "runs_by" not in said


@pytest.mark.parametrize(
    ("rows", "pattern", "status"),
    [
        ("cubic,20\n", "(?P<cc>[a-z]+)", 0),
        # A row that is misspelt, of a run that has none.
        ("cubik,20\n", "(?P<cc>[a-z]+)", 1),
        # A pattern that fits nothing while a file is of no pattern, and one that is of files which are not here.
        ("cubic,20\n", "(?P<cc>[a-z]+)(?P<rtt_ms>ms)|(?P<run>cubic)", 1),
        ("cubic,20\n", "(?P<run>cubic)", 0),
    ],
)
def test_what_is_about_no_file_ends_the_check_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, pattern: str, status: int
) -> None:
    run = "(?P<run>[a-z]+)" if "run" not in pattern else pattern.rpartition("|")[2]
    unused = pattern.partition("|")[0] if "|" in pattern else "(?P<run>[a-z]+)_ss"
    layout = f"table: t.csv\nfiles: [{{pattern: '{run}[.]json'}}, {{pattern: '{unused}[.]txt'}}]\nignore: ['x']\n"
    files = {"layout.yaml": layout, "cubic.json": result(1), "t.csv": f"run,rtt_ms\n{rows}"}
    files |= {"cubic20ms.json": result(2)} if "|" in pattern else {}
    assert adopt(write_archive(tmp_path, files), check=True) == status
    said = capsys.readouterr().out
    assert ("table: run cubik; did you mean `cubic`?" in said) is ("cubik" in rows)


def test_a_misspelt_word_of_a_pattern_is_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = "files:\n  - {pattern: '[0-9-]+_(?P<cc>[a-z]+)_run(?P<iteration>[0-9]{1,2})_h2[.]json', kind: iperf3}\n"
    files = {f"2026-11-20_{cc}_run1_h1.json": result(number, cc) for number, cc in enumerate(ALGORITHMS)}
    said = check(tmp_path / "raw", layout, files, capsys)
    assert "Did you mean `h1` for `h2` in layout.yaml:2? Then it fits 2 of 2 files:\n" in said
    assert "  - pattern: '[0-9-]+_(?P<cc>[a-z]+)_run(?P<iteration>[0-9]{1,2})_h1[.]json'\n" in said


def test_a_misspelt_word_before_a_number_is_mended_for_all_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = "files:\n  - pattern: '(?P<run>test\\d+)[.]json'\n"
    files = {f"run{number}.json": result(number) for number in range(1, 12)}
    said = check(tmp_path / "raw", layout, files, capsys)
    assert "Did you mean `run` for `test` in layout.yaml:2? Then it fits 11 of 11 files:\n" in said


def test_a_word_of_a_pattern_that_fits_others_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = "table: t.csv\nfiles:\n  - pattern: '(?P<run>[a-z]+)[.]json'\n"
    files = {f"{cc}.json": result(number, cc) for number, cc in enumerate(ALGORITHMS)}
    said = check(tmp_path / "raw", layout, files | {"base.yaml": "a: 1\n", "t.csv": "run,rtt_ms\nreno,20\n"}, capsys)
    assert "table: run reno" in said
    assert "Did you mean `yaml`" not in said
    assert (
        "No pattern takes 1 file, such as base.yaml. Add one below `files:` that fits, as this fits the first:" in said
    )


def test_an_rtt_that_only_samples_have_is_declared_and_not_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = "files: [{pattern: '(?P<cc>[a-z]+)[.]json'}, {pattern: '(?P<cc>[a-z]+)[.]txt', set: {rtt_ms: 40}}]\n"
    files = {f"{cc}.json": result(number, cc) for number, cc in enumerate(ALGORITHMS)}
    files |= {f"{cc}.txt": socket_samples(4000 + number, cc) for number, cc in enumerate(ALGORITHMS)}
    said = check(tmp_path / "raw", layout, files, capsys)
    assert "differ only in rtt_ms" in said
    assert "declared 40 ms, smallest measured 10 ms (2 of 2 runs)" in said
    assert "no declared RTT" not in said


def write_buffers(folder: Path, layout: str) -> Path:
    """Write tests of two buffers, of two flows each, and samples whose names say the buffers without their unit."""
    files = {"layout.yaml": layout} if layout else {}
    for (place, buffer), trial in itertools.product(enumerate(("0.5", "2")), (1, 2)):
        start_s = START_S + 60 * (2 * trial + place)
        for flow, cc in enumerate(ALGORITHMS):
            port = 4000 + 10 * (2 * trial + place) + flow
            files[f"buf{buffer}BDP/trial{trial}/dtn{flow}_{cc}.json"] = client_output(port, cc, start_s)
        files[f"sockets/buf{buffer}_trial{trial}.txt"] = socket_samples(port, cc, start_s)
    return write_archive(folder, files)


def test_a_number_with_other_letters_is_the_same_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_buffers(tmp_path, "")
    assert adopt(folder, check=False) == 0
    assert list_columns(capsys.readouterr().out, "run", "files") == [
        (f"bdp={buffer}, iteration={trial}", "iperf3 × 2, ss") for buffer in ("0.5", "2") for trial in (1, 2)
    ]
    assert "sockets/buf(?P<bdp>[0-9.]+)_trial" in (folder / "layout.yaml").read_text()


def test_groups_that_would_make_runs_contradict_themselves_are_not_advised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = r"""files:
  - pattern: '(?P<bdp>buf[0-9.]+)BDP/trial(?P<iteration>[0-9]+)/(?P<flow>dtn[0-9]+)_(?P<cc>[a-z]+)\.json'
    set: {job: all}
  - pattern: 'sockets/(?P<buf>buf[0-9.]+)_trial(?P<iteration>[0-9]+)\.txt'
    set: {job: all}
"""
    # Samples without a test are of no use.
    assert adopt(write_buffers(tmp_path, layout), check=True) == 1
    said = capsys.readouterr().out
    assert "4 runs of ss without a test and those with one differ only in bdp and buf" in said
    assert "runs_by" not in said
    # They are of some of these runs.
    assert "no ss" not in said


def test_a_layout_that_ignores_all_files_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = check(tmp_path, "ignore: ['.*']\n", {"a.json": result(1)}, capsys)
    assert "No file here is a run." in said
    assert adopt(tmp_path, check=True) == 1


def test_rows_about_runs_need_a_group_that_names_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = "table: told.csv\nfiles:\n  - pattern: '(?P<cc>[a-z]+)-(?P<iteration>[0-9])[.]json'\n"
    files = {f"{cc}-1.json": result(number, cc) for number, cc in enumerate(ALGORITHMS)}
    told = {"told.csv": 'run,rtt_ms\n"cc=bbr, iteration=1",20\n'}
    said = check(tmp_path / "raw", layout, files | told, capsys)
    assert "  table: it has a column `run`, but no pattern a group of that name; name one, or use a column" in said


def test_the_check_shows_what_jobmeta_says_and_what_of_it_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = "files:\n  - pattern: '(?P<site>[a-z]+)/(?P<cc>bbr|cubic)\\.json'\n    kind: iperf3\n"
    metas = {
        "told": '{"lat": "10ms", "loss": "0.01", "bottleneck": "1gbit"}',
        "none": '{"lat": "10ms", "loss": null}',
        "wrong": '{"lat": "5 parsec", "los": "0.01"}',
        "broken": '{"lat": "5ms", }',
    }
    files = {
        f"{job}/{cc}.json": result(7 * n + m, cc) for n, job in enumerate(metas) for m, cc in enumerate(ALGORITHMS)
    }
    files |= {f"{job}/jobmeta.json": text for job, text in metas.items()}
    said = check(tmp_path / "raw", layout, files, capsys)
    rows = {job: [line for line in said.splitlines() if f"site={job}" in line and "bbr" in line] for job in metas}
    cells = {job: re.split(r" {2,}", line)[3:5] for job, (line, *_) in rows.items()}
    assert cells["told"] == ["20", "0.01"]
    assert cells["none"] == ["20", "0"]
    assert cells["wrong"][1] == cells["broken"][1] == "–"
    assert "bottleneck_bps=1000000000" in rows["told"][0]
    assert "wrong/jobmeta.json: lat is '5 parsec': not a time such as 2.5ms" in said
    assert "wrong/jobmeta.json: nothing is read from the key 'los'; did you mean `loss`?" in said
    assert "broken/jobmeta.json: this is no JSON" in said
