"""`adopt` beside a CSV that says more of each file: its separators, and the names of its columns."""

import itertools
import re
from pathlib import Path

import pytest
from archives import write_archive
from own_files import START_S, client_output, socket_samples
from test_adopt import list_columns

from ccreport.adopt.adopt import adopt
from ccreport.archive.read_layout import load_layout
from ccreport.core.declared_files import DeclarationError

PATHS = ("data/9e3779b1.json", "data/17156075.json", "data/ab12cd34.json")


def write_indexed(folder: Path, header: str, row: str) -> Path:
    """Write three results and a CSV of them; `row` has braces for the path."""
    results = {path: client_output(4000 + n, "cubic", START_S + 60 * n) for n, path in enumerate(PATHS)}
    index = "".join(f"{line}\n" for line in (header, *(row.format(path) for path in PATHS)))
    return write_archive(folder, results | {"index.csv": index})


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_may_be_apart_by_commas_semicolons_or_tabs(tmp_path: Path, separator: str) -> None:
    header = separator.join(("file", "rtt_ms", "loss_pct", "notes"))
    row = separator.join(("{}", *(("10", "0.1") if separator == "," else ("10,0", "0,1")), "Tag 1"))
    folder = write_indexed(tmp_path / "raw", header, row)
    assert adopt(folder, check=False) == 0
    assert "table: 'index.csv'\nignore_columns: [notes]\n" in (folder / "layout.yaml").read_text()
    told = load_layout(folder / "layout.yaml").read_paths(PATHS)
    assert [(one.values["rtt_ms"], one.values["loss_pct"]) for one in told.values()] == [(10, 0.1)] * 3


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        (
            "filename;algorithm;rtt;loss;notes",
            "{};cubic;10,0;0,1;Tag 1",
            (
                "call that column `file` (and `algorithm` `cc`, `rtt` `rtt_ms`, `loss` `loss_pct`), then delete "
                "layout.yaml and run `adopt` again, which writes a layout with the table."
            ),
        ),
        (
            "filename,one_way_delay_ms,bandwidth_delay_product",
            "{},10,2",
            "call that column `file` (and `one_way_delay_ms` `owd_ms`), then delete layout.yaml and run",
        ),
        (
            "filename,loss %,drop fraction of the switch",
            "{},0.1,7",
            "call that column `file` (and `loss %` `loss_pct`), then delete layout.yaml and run",
        ),
        ("rtt_ms,filename,lab", "10,{},north", "call that column `file`, then delete layout.yaml and run"),
    ],
)
def test_what_to_call_the_columns_of_an_index_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], header: str, row: str, expected: str
) -> None:
    folder = write_indexed(tmp_path / "raw", header, row)
    assert adopt(folder, check=False) == 0
    assert f"index.csv names 3 files here in `filename`; {expected}" in capsys.readouterr().out
    assert "table:" not in (folder / "layout.yaml").read_text()


def test_a_csv_of_measurements_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert adopt(write_indexed(tmp_path / "raw", "time;rate", "1;2"), check=False) == 0
    assert "index.csv" not in capsys.readouterr().out


def test_one_line_says_which_names_results_contradict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_indexed(tmp_path / "raw", "file;cc", "{};bbr")
    index = (folder / "index.csv").read_text()
    (folder / "index.csv").write_text(index.replace("9e3779b1.json;bbr", "9e3779b1.json;cubik") + "data/0.json;cubic\n")
    (folder / "data/0.json").write_text(client_output(4009, "cubic", START_S + 900))
    adopt(folder, check=False)
    said = capsys.readouterr().out
    counts = "by its name or its row of the table, cubic by its results, which count."
    assert f"2 runs, such as ab12cd34: bbr {counts}" in said
    assert f"9e3779b1: cubik {counts}" in said


def write_conditions(folder: Path, header: str, word: str = "c") -> Path:
    """Write two repetitions of two conditions, and a CSV with a row for each condition."""
    results = {
        f"c0{condition}_r{number}.json": client_output(port, "cubic", START_S + 60 * port)
        for port, (condition, number) in enumerate(itertools.product((1, 2), (1, 2)), 4000)
    }
    return write_archive(folder, results | {"conditions.csv": f"{header}\n{word}01,5,0\n{word}02,40,0.1\n"})


@pytest.mark.parametrize("word", ["c", ""])
def test_a_column_of_conditions_that_names_hold_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert adopt(write_conditions(tmp_path / "raw", "cond,rtt_ms,loss", word), check=False) == 0
    assert (
        "conditions.csv: values of `cond` are parts of these names; call that column `run` (and `loss` `loss_pct`), "
        "then delete layout.yaml and run `adopt` again, which writes a layout with the table.\n"
    ) in capsys.readouterr().out


def test_following_advice_on_an_index_gives_a_run_for_each_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of six tests with samples, two have a second client. Rows are about results, and none about samples."""
    files = {}
    for n in range(1, 7):
        files[f"raw/meas_{n:03}.json"] = client_output(4000 + n, "cubic", START_S + 60 * n)
        files[f"raw/meas_{n:03}.ss"] = socket_samples(4000 + n, "cubic", START_S + 60 * n)
        if n > 4:
            files[f"raw/meas_{n:03}_b.json"] = client_output(5000 + n, "bbr2", START_S + 60 * n)
    rows = [f"{path},cubic,{10 * (1 + n % 3)},{1 + n // 3},2024-05-01,rack 3\n" for n, path in enumerate(files)]
    rows = [row.removeprefix("raw/") for row in rows if ".ss" not in row and "_b" not in row]
    folder = write_archive(tmp_path, files | {"index.csv": f"filename,algo,rtt_ms,rep,date,notes\n{''.join(rows)}"})
    adopt(folder, check=False)
    said = capsys.readouterr().out
    assert "`algo` `cc`, `rep` `iteration`), with the path of each file, as `raw/meas_001.json` for" in said
    assert "then delete layout.yaml and run `adopt` again" in said
    header = "file,cc,rtt_ms,iteration,date,notes\n"
    (folder / "index.csv").write_text(header + "".join(f"raw/{row}" for row in rows))
    (folder / "layout.yaml").unlink()
    assert adopt(folder, check=False) == 0
    runs = capsys.readouterr().out.partition("files\n")[2].partition("\n\n")[0].splitlines()
    assert [run.split("  ")[-1].strip() for run in runs] == ["iperf3, ss"] * 4 + ["iperf3 × 2, ss"] * 2


@pytest.mark.parametrize("word", ["c", ""])
def test_a_table_of_conditions_makes_other_numbers_repetitions(tmp_path: Path, word: str) -> None:
    folder = write_conditions(tmp_path / "raw", "run,rtt_ms,loss_pct", word)
    assert adopt(folder, check=False) == 0
    layout = load_layout(folder / "layout.yaml")
    told = layout.read_paths(["c01_r2.json", "c02_r1.json"])
    runs = [f"{word}01", f"{word}02"]
    assert [dict(one.values) for one in told.values()] == [
        {"run": runs[0], "iteration": 2},
        {"run": runs[1], "iteration": 1},
    ]
    assert [layout.by_run[run]["rtt_ms"] for run in runs] == [5, 40]


def test_delays_of_a_table_may_be_one_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_conditions(tmp_path / "raw", "run,rtt_ms,loss_pct")
    # The results measured 10 ms, and the table says half of it.
    (folder / "conditions.csv").write_text("run,rtt_ms\nc01,5\nc02,5\n")
    adopt(folder, check=False)
    said = "The table says 5 ms, files measured 10 ms: one-way delays? Then write `scale: {rtt_ms: 2}` beside `table`."
    assert said in capsys.readouterr().out
    with (folder / "layout.yaml").open("a") as stream:
        stream.write("scale: {rtt_ms: 2}\n")
    assert adopt(folder, check=True) == 0
    assert "one-way" not in capsys.readouterr().out
    assert load_layout(folder / "layout.yaml").by_run["c01"]["rtt_ms"] == 10


def write_numbered(folder: Path, table: str) -> Path:
    """Write four runs whose names have RTT and algorithm, and a CSV of runs."""
    names = [
        f"results/run{n}_{cc}_{rtt}ms.json"
        for n, (cc, rtt) in enumerate(itertools.product(("cubic", "bbr"), (20, 60)), 1)
    ]
    results = {name: client_output(4000 + n, name.split("_")[1], START_S + 60 * n) for n, name in enumerate(names)}
    return write_archive(folder, results | {"runs.csv": table})


def test_a_table_that_contradicts_names_is_told_and_does_not_win(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"run{n},0.05,20\n" for n in range(1, 5))
    folder = write_numbered(tmp_path / "raw", f"run,loss_pct,rtt_ms\n{rows}")
    assert adopt(folder, check=False) == 1
    assert "`rtt_ms` is 60 by the path and 20 in its row of the table" in capsys.readouterr().out
    told = load_layout(folder / "layout.yaml").read_paths(
        ["results/run1_cubic_20ms.json", "results/run2_cubic_60ms.json"]
    )
    assert [one.problem is None for one in told.values()] == [True, False]


def test_a_table_of_some_of_the_runs_is_proposed(tmp_path: Path) -> None:
    folder = write_numbered(tmp_path / "raw", "run,loss_pct\nrun1,0.05\nrun2,0.05\n")
    assert adopt(folder, check=False) == 0
    assert "table: 'runs.csv'\n" in (folder / "layout.yaml").read_text()
    assert {*load_layout(folder / "layout.yaml").by_run} == {"run1", "run2"}


def test_a_table_of_other_runs_is_not_passed_over_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_numbered(tmp_path / "raw", "run,loss_pct\nmonday,0.05\ntuesday,0.05\n")
    assert adopt(folder, check=False) == 0
    assert "runs.csv is not proposed as `table`: its runs (monday, tuesday) are not those" in capsys.readouterr().out


def test_a_heading_with_a_unit_in_brackets_is_the_group_that_it_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_numbered(tmp_path / "raw", "run,Loss (%)\nrun1,0.05\nrun2,0.05\n")
    adopt(folder, check=False)
    assert "`Loss (%)` is not a group; did you mean `loss_pct`?" in capsys.readouterr().out


def test_of_misspelt_files_the_one_with_the_same_number_is_meant(tmp_path: Path) -> None:
    folder = write_numbered(tmp_path / "raw", "file,loss_pct\nresults/run3_cubic_20ms.json,0\n")
    (folder / "layout.yaml").write_text("table: runs.csv\n")
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.json"))
    (unused,) = load_layout(folder / "layout.yaml").list_unused(paths)
    assert unused.endswith("did you mean `results/run3_bbr_20ms.json`?")


def write_opaque(folder: Path, header: str, names: tuple[str, ...] = ("1eef", "3dde", "b99a")) -> Path:
    """Write three results, and a CSV that tells their conditions: two of one, one of another."""
    results = {f"data/{name}.json": client_output(4000 + n, start_s=START_S + 60 * n) for n, name in enumerate(names)}
    rows = "".join(f"{path},{delay},0.01\n" for path, delay in zip(results, (10, 10, 25), strict=True))
    return write_archive(folder, results | {"tests.csv": f"{header}\n{rows}"})


def test_names_without_a_meaning_are_runs_where_a_table_tells_conditions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_opaque(tmp_path / "raw", "file,rtt_ms,loss_pct")
    assert adopt(folder, check=False) == 0
    assert load_layout(folder / "layout.yaml").groups == {"run", "rtt_ms", "loss_pct"}
    said = capsys.readouterr().out
    assert "Each condition has one run" not in said
    # The unit is in the name of the column.
    assert "ratios?" not in said


def test_names_that_may_be_a_condition_are_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_opaque(tmp_path / "raw", "file,rtt_ms,loss_pct", ("north", "south", "west"))
    adopt(folder, check=False)
    assert (
        "Each condition has one run, so that nothing can be told from chance. Is `variant` (north, south, west) only "
        "the name of each run? Then name this group `run`."
    ) in capsys.readouterr().out


def test_columns_that_look_like_an_rtt_or_a_loss_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adopt(write_opaque(tmp_path / "other", "file,path_delay_ms,drop_percent"), check=False)
    either = "Then call that `rtt_ms`, or `owd_ms` where it is one-way."
    assert f"Is it the column `path_delay_ms`? {either}\n" in capsys.readouterr().out
    adopt(write_opaque(tmp_path / "raw", "file,one_way_delay_ms,drop_percent"), check=False)
    said = capsys.readouterr().out
    assert "Is it the column `one_way_delay_ms`? Then call that `owd_ms`.\n" in said
    assert "Is it the column `drop_percent`? Then call that `loss_pct`.\n" in said


def test_an_algorithm_that_nothing_knows_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_indexed(tmp_path / "raw", "file,cc,rtt_ms", "{},cubik,10")
    adopt(folder, check=False)
    words = "by its name or its row of the table is not a known algorithm"
    assert f"cubik {words}; did you mean `cubic`?" in capsys.readouterr().out
    # Results that tell none do not know somebody's own either.
    for number, path in enumerate(PATHS):
        (folder / path).write_text(client_output(4000 + number, None, START_S + 60 * number))
    (folder / "index.csv").write_text((folder / "index.csv").read_text().replace("cubik", "ours"))
    adopt(folder, check=True)
    assert f"ours {words}." in capsys.readouterr().out


def test_files_that_an_index_has_no_row_for_are_of_the_runs_of_their_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for count, number in enumerate((1037, 1074)):
        files[f"iperf_{number}.json"] = client_output(4000 + count, "cubic", START_S + 60 * count)
        files[f"iperf_{number}.ss"] = socket_samples(4000 + count, "cubic", START_S + 60 * count)
    index = "file,date,rtt_ms\niperf_1037.json,2026-11-20,20\niperf_1074.json,2026-11-21,30\n"
    folder = write_archive(tmp_path, files | {"index.csv": index})
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "RTT ms", "other", "files") == [("20", "–", "iperf3, ss"), ("30", "–", "iperf3, ss")]
    ignored = "Ignored: column `date` of index.csv, as notes, dates and times of day are not conditions."
    assert f"{ignored}\n" in said
    assert f"# {ignored}\ntable: 'index.csv'\nignore_columns: [date]\n" in (folder / "layout.yaml").read_text()


@pytest.mark.parametrize(
    ("text", "is_left_out"),
    [
        *(
            (text, True)
            for text in ("2026-11-20", "20261120", "20.11.2026", "11/20/26", "22:10", "2026-11-20 22:10:05Z")
        ),
        *((text, False) for text in ("6.1.20", "20", "2.5", "5.15.0-91", "h1", "2026")),
    ],
)
def test_columns_of_dates_and_times_are_no_conditions(tmp_path: Path, text: str, *, is_left_out: bool) -> None:
    folder = write_indexed(tmp_path, "file,rtt_ms,when", "{},20," + text)
    adopt(folder, check=False)
    assert ("ignore_columns: [when]" in (folder / "layout.yaml").read_text()) is is_left_out


@pytest.mark.parametrize(
    ("told", "is_left_out"),
    [
        ("as planned,host {} was rebooted,rain began at {},fan {} loud,fine again {},sun for {} h", True),
        # A condition with a name, numbers, and what only some rows have.
        ("dsl line,dsl line,dsl line,cable modem,cable modem,cable modem", False),
        ("1,2,3,4,5,6", False),
        ("as planned,,,,,", False),
    ],
)
def test_words_that_are_others_in_each_row_of_repetitions_are_notes(
    tmp_path: Path, told: str, *, is_left_out: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"t{number}.json" for number in range(6)]
    rows = [f"{names[n]},{20 * (n // 3 + 1)},{text}" for n, text in enumerate(told.split(","))]
    files = {name: client_output(4000 + n, "cubic", START_S + 60 * n) for n, name in enumerate(names)}
    folder = write_archive(tmp_path, files | {"index.csv": "\n".join(["file,rtt_ms,was los", *rows])})
    adopt(folder, check=False)
    assert ("ignore_columns: ['was los']" in (folder / "layout.yaml").read_text()) is is_left_out
    said = capsys.readouterr().out
    assert ("Ignored: column `was los` of index.csv" in said) is is_left_out
    assert ("Each condition has one run" in said) is (told == "1,2,3,4,5,6")


def test_a_number_of_flows_that_results_contradict_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"{cc}_P{flows}_rep{number}.json" for cc in ("bbr", "cubic") for flows in (1, 8) for number in (1, 2)]
    files = {name: client_output(4000 + n, name[:-12], START_S + 60 * n) for n, name in enumerate(names)}
    adopt(write_archive(tmp_path, files), check=False)
    said = capsys.readouterr().out
    told = "8 flows by its name or its row of the table, 1 by its results, which count."
    assert f"4 runs, such as cc=bbr, flows=8, iteration=1: {told}\n" in said
    assert "1 flow by its name" not in said


@pytest.mark.parametrize(
    ("column", "rate", "doubt"),
    [
        # All results are of 8 Mbit/s.
        ("bottleneck_mbps", "7.7", ""),
        (
            "bottleneck_mbps",
            "7.5",
            "A bottleneck of 7.5 Mbit/s is declared; 3 of 3 runs measured more, such as 8 Mbit/s: was it",
        ),
        (
            "bottleneck_mbps",
            "0.01",
            "measured more, such as 8 Mbit/s: `bottleneck_gbps` in place of `bottleneck_mbps`?",
        ),
        (
            "bottleneck_bps",
            "10",
            "A bottleneck of 10 bit/s is declared; 3 of 3 runs measured more, such as 8 Mbit/s: `bottle",
        ),
        (
            "pacing_mbps",
            "1",
            "A pacing rate of 1 Mbit/s is declared; 3 of 3 runs measured more, such as 8 Mbit/s: was it set",
        ),
    ],
)
def test_more_than_a_declared_rate_is_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, rate: str, doubt: str
) -> None:
    adopt(write_indexed(tmp_path, f"file,{column}", f"{{}},{rate}"), check=False)
    said = capsys.readouterr().out
    assert doubt in said
    assert ("measured more" in said) is bool(doubt)


def test_a_table_in_utf_16_is_to_be_saved_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_indexed(tmp_path, "file,rtt_ms", "{},20")
    (folder / "index.csv").write_text((folder / "index.csv").read_text(), encoding="utf-16")
    adopt(folder, check=False)
    problem = f"{folder}/index.csv: this is not text in UTF-8; save it as UTF-8"
    assert f"index.csv is not proposed as `table`: {problem}\n" in capsys.readouterr().out
    (folder / "layout.yaml").write_text("table: index.csv\n")
    with pytest.raises(DeclarationError, match=problem):
        adopt(folder, check=True)


def test_a_result_without_a_row_is_said_and_a_row_without_a_file_means_one_with_its_ending(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for count, number in enumerate((1037, 1296)):
        files[f"iperf_{number}.json"] = client_output(4000 + count, "cubic", START_S + 60 * count)
        files[f"iperf_{number}.ss"] = socket_samples(4000 + count, "cubic", START_S + 60 * count)
    index = "file,rtt_ms\niperf_1037.json,20\niperf_9999.json,30\n"
    assert adopt(write_archive(tmp_path, files | {"index.csv": index}), check=False) == 1
    said = capsys.readouterr().out
    assert "table: file iperf_9999.json; did you mean `iperf_1296.json`?" in said
    assert "index.csv has no row for 1 result: iperf_1296.json.\n" in said


# What a table of delays in one direction calls them, and half of the RTT in its unit.
ONE_WAYS = [("owd_ms", "5"), ("owd_us", "5000"), ("owd_s", "0.005"), ("one_way_delay_ms", "5"), ("OWD (ms)", "5")]


@pytest.mark.parametrize(("column", "half"), ONE_WAYS)
@pytest.mark.parametrize("key", ["file", "filename", "cond"])
def test_following_advice_on_one_way_delays_gives_whole_rtts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, half: str, key: str
) -> None:
    """Columns are called as is said, until nothing more is, and the layout is proposed anew: nothing else is done."""
    if key == "cond":
        folder, table = write_conditions(tmp_path, "cond,rtt_ms,loss"), "conditions.csv"
        (folder / table).write_text(f"cond,{column}\nc01,{half}\nc02,{half}\n")
    else:
        folder, table = write_indexed(tmp_path, f"{key},{column},comment", f"{{}},{half},fine"), "index.csv"
    for _ in range(3):
        (folder / "layout.yaml").unlink(missing_ok=True)
        adopt(folder, check=False)
        advice = " ".join(line for line in capsys.readouterr().out.splitlines() if "call that" in line)
        header, rows = (folder / table).read_text().split("\n", maxsplit=1)
        for former, name in re.findall(r"`([^`]+)` `([^`]+)`", advice):
            header = header.replace(former, name)
        for name in re.findall(r"call that (?:column )?`([^`]+)`", advice):
            header = header.replace(key if name in ("file", "run") else column, name)
        (folder / table).write_text(f"{header}\n{rows}")
        assert "scale" not in advice
    layout = load_layout(folder / "layout.yaml")
    rtts = [row["rtt_ms"] for row in (*layout.by_path.values(), *layout.by_run.values())]
    assert rtts == [10] * (2 if key == "cond" else 3)


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        # What is in a unit of its own needs no other name.
        (
            "filename;algorithm;repetition;bottleneck_gbps",
            "{};cubic;1;10",
            (
                "index.csv names 3 files here in `filename`; call that column `file` (and `algorithm` `cc`, "
                "`repetition` `iteration`), with the path of each file, as `data/9e3779b1.json` for `9e3779b1.json`, "
                "then delete layout.yaml and run `adopt` again, which writes a layout with the table.\n"
            ),
        ),
        (
            "path;owd_ms;delay",
            "/home/me/data/{};5;10",
            (
                "as `data/9e3779b1.json` for `/home/me/data/9e3779b1.json`, then delete layout.yaml and run `adopt` "
                "again, which writes a layout with the table. Before that, mend index.csv:1: the column `rtt_ms` is "
                "there twice, as `owd_ms` and `rtt_ms`; "
            ),
        ),
        ("filename,rtt_ms", "{},fast", "Before that, mend index.csv:2: rtt_ms is 'fast', which is not a number.\n"),
        (
            "file,rtt_ms",
            "{},10",
            (
                "index.csv is not proposed as `table`: no file `9e3779b1.json` (nor 2 more); did you mean "
                "`data/9e3779b1.json`? Write in `file` the path of each file below this folder.\n"
            ),
        ),
        (
            "file;algorithm;repetition;rtt",
            "C:\\data\\{};cubic;1;10",
            (
                "index.csv:1: `algorithm`, `repetition` and `rtt` are not groups; did you mean `cc`, `iteration` and "
                "`rtt_ms`? Their names say their units; `scale` converts others. For parameters of your own, choose "
                "other names. Also: no file `C:\\data\\9e3779b1.json` (nor 2 more); did you mean `data/9e3779b1.json`?"
            ),
        ),
    ],
)
def test_a_table_of_names_without_their_folders_is_told_the_paths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], header: str, row: str, expected: str
) -> None:
    folder = write_indexed(tmp_path, header, row)
    index = (folder / "index.csv").read_text().replace("data/", "", 3)
    (folder / "index.csv").write_text(index.replace("/home/me/", "/home/me/data/") if "/home" in row else index)
    adopt(folder, check=False)
    assert expected in capsys.readouterr().out


def test_of_two_files_of_one_name_both_may_be_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_indexed(tmp_path, "file,rtt_ms", "{},10")
    write_archive(folder, {"more/17156075.json": client_output(4009), "index.csv": "file,rtt_ms\n17156075.json,10\n"})
    adopt(folder, check=False)
    said = "no file `17156075.json`; did you mean `data/17156075.json` or `more/17156075.json`? Write in"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "conditions"),
    [
        (["lab1x", "lab2x"], ["lab1x", "lab2x"]),
        (["c1_r1", "c1_r2", "c2_r1", "c2_r2"], ["c1", "c2"]),
        # Of two words, no group holds both.
        (["north-a-1", "south-b-1"], ["north-a", "south-b"]),
        (["fast_long_r1", "fast_long_r2", "slow_long_r1", "slow_long_r2"], ["fast_long", "slow_long"]),
    ],
)
def test_only_what_helps_is_advised_for_conditions_in_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: list[str], conditions: list[str]
) -> None:
    files = {f"{name}.json": client_output(4000 + n, "cubic", START_S + 60 * n) for n, name in enumerate(names)}
    table = "cond,rtt_ms\n" + "".join(f"{word},10\n" for word in conditions)
    adopt(write_archive(tmp_path, files | {"t.csv": table}), check=False)
    is_advised = "run `adopt` again, which writes a layout with the table." in capsys.readouterr().out
    (tmp_path / "t.csv").write_text(table.replace("cond", "run", 1))
    (tmp_path / "layout.yaml").unlink()
    adopt(tmp_path, check=False)
    assert ("\ntable: 't.csv'\n" in (tmp_path / "layout.yaml").read_text()) is is_advised


def test_words_that_together_are_runs_of_a_table_are_its_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"t-{cc}-{number}" for cc in ("bbr", "cubic") for number in (1, 2)]
    files = {}
    for place, name in enumerate(names):
        files[f"{name}.dat"] = client_output(4000 + place, name.split("-")[1], START_S + 60 * place)
        files[f"raw/{name}.sockets"] = socket_samples(4000 + place, name.split("-")[1], START_S + 60 * place)
    rows = "".join(f"{name};20;0;ok\n" for name in names)
    folder = write_archive(tmp_path, files | {"log.csv": f"name;RTT (ms);loss;note\n{rows}"})
    adopt(folder, check=False)
    advice = (
        "call that column `run` (and `RTT (ms)` `rtt_ms`, `loss` `loss_pct`), then delete layout.yaml and run `adopt`"
    )
    assert advice in capsys.readouterr().out
    (folder / "log.csv").write_text(f"run;rtt_ms;loss_pct;note\n{rows}")
    adopt(folder, check=True)
    anew = "log.csv says what its rows are about, and no layout names it: delete layout.yaml and run `adopt` again"
    assert anew in capsys.readouterr().out
    (folder / "layout.yaml").unlink()
    assert adopt(folder, check=False) == 0
    said = capsys.readouterr().out
    assert list_columns(said, "run", "RTT ms", "loss %", "files") == [(name, "20", "0", "iperf3, ss") for name in names]
    told = load_layout(folder / "layout.yaml").read_paths(["t-bbr-2.dat"])["t-bbr-2.dat"].values
    assert (told["run"], told["cc"], told["iteration"]) == ("t-bbr-2", "bbr", 2)
