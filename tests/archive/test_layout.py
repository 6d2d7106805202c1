"""Declared layouts: what is told of a path, and what a layout may not be."""

import json
import re
import time
from pathlib import Path

import pytest
from archives import write_archive
from hypothesis import given, settings
from hypothesis import strategies as st

from ccreport.archive.layout import Told
from ccreport.archive.layout_groups import KNOWN, read_value, sort_naturally
from ccreport.archive.read_layout import load_layout, open_layout
from ccreport.core.declared_files import DeclarationError, find_line_of_text


def told_of(tmp_path: Path, layout: str, *paths: str, wrapping: str = "") -> list[Told | None]:
    (tmp_path / "layout.yaml").write_text(layout)
    told = load_layout(tmp_path / "layout.yaml").read_paths(list(paths), wrapping)
    return [told.get(path) for path in paths]


def test_the_groups_of_the_first_pattern_that_fits_count(tmp_path: Path) -> None:
    layout = r"""
files:
  - {pattern: '(?P<cc>cubic|bbr)_(?P<rtt_ms>[0-9.]+)ms_(?P<queue>\w+)\.json', kind: iperf3}
  - {pattern: '(?P<cc>\w+)\.json', set: {side: server, rtt_ms: 5}}
  - {pattern: 'tc_(?P<loss_pct>[0-9.]+)_(\w+)\.txt', kind: netem}
ignore: ['old/.*']
"""
    paths = ("bbr_20.5ms_fq.json", "deep/er/bbr_20ms.json", "tc_0.01_x.txt", "old/bbr_20ms_fq.json", "notes.txt")
    assert told_of(tmp_path, layout, *paths) == [
        Told({"cc": "bbr", "rtt_ms": 20.5, "queue": "fq"}, "src-cmd"),
        Told({"side": "receiver", "rtt_ms": 5.0, "cc": "bbr_20ms"}),
        Told({"loss_pct": 0.01}, "pre-netem"),
        Told(ignored_by="old/.*"),
        None,
    ]


def test_a_path_fits_from_its_beginning_or_from_behind_a_slash(tmp_path: Path) -> None:
    layout = "files: [{pattern: '(?P<job>[^/]+)/(?P<run>[a-z]+)'}]"
    # The longest that fits: of a/b/c these are b and c, as [^/]+ takes no slash.
    assert told_of(tmp_path, layout, "a/b/c", "b/c", "c") == [
        Told({"job": "b", "run": "c"}),
        Told({"job": "b", "run": "c"}),
        None,
    ]
    # A folder around the whole archive is part of the path.
    assert told_of(tmp_path, layout, "c", wrapping="only/") == [Told({"job": "only", "run": "c"})]


def test_a_compressed_file_fits_as_what_it_holds(tmp_path: Path) -> None:
    layout = r"files: [{pattern: '(?P<run>\d+)\.json'}, {pattern: '(?P<run>\d+)\.pcap\.gz'}]"
    assert told_of(tmp_path, layout, "7.json.zst", "8.pcap.gz") == [Told({"run": "7"}), Told({"run": "8"})]


def test_a_scale_multiplies_without_the_error_of_doubles(tmp_path: Path) -> None:
    pattern = r"(?P<bottleneck_bps>[0-9.]+)M_(?P<rtt_ms>[0-9.]+)"
    layout = f"files: [{{pattern: '{pattern}', scale: {{bottleneck_bps: 1e6, rtt_ms: 3}}}}]"
    # 0.1 · 3 is 0.30000000000000004 in doubles.
    assert told_of(tmp_path, layout, "100M_0.1") == [Told({"bottleneck_bps": 1e8, "rtt_ms": 0.3})]


def test_repetitions_may_be_letters(tmp_path: Path) -> None:
    layout = "files: [{pattern: '(?P<iteration>[A-Za-z])[.]json'}]"
    told = told_of(tmp_path, layout, "a.json", "b.json", "Z.json")
    assert told == [Told({"iteration": number}) for number in (1, 2, 26)]


@pytest.mark.parametrize(
    ("pattern", "path", "problem"),
    [
        ("(?P<rtt_ms>[a-z]+)", "fast", "rtt_ms is 'fast', which is not a number"),
        ("(?P<loss_pct>[0-9]+)", "101", "loss_pct is '101', which is not between 0 and 100"),
        ("(?P<rtt_ms>-[0-9]+)", "-80", "rtt_ms is '-80', which is negative"),
        ("(?P<iteration>[0-9.]+)", "1.5", "iteration is '1.5', which is not a whole number"),
        ("(?P<rtt_ms>.+)", "nan", "rtt_ms is 'nan', which is not between 0"),
        ("(?P<owd_s>.+)", "fast", "owd_s is 'fast', which is not a number"),
        ("(?P<side>.+)", "left", "side is 'left': write sender or receiver"),
    ],
)
def test_a_value_of_the_wrong_kind_is_said(tmp_path: Path, pattern: str, path: str, problem: str) -> None:
    (told,) = told_of(tmp_path, f"files: [{{pattern: '{pattern}'}}]", path)
    assert told is not None
    assert told.problem is not None
    assert told.problem.startswith(f"layout.yaml, files.0: {problem}")


def test_rows_of_a_table_add_to_a_pattern(tmp_path: Path) -> None:
    write_archive(tmp_path, {"files.csv": "file,cc,rtt_ms\na.json,bbr,20\nsub/b.json,,7\n"})
    layout = "table: files.csv\nfiles: [{pattern: '(?P<cc>[a-z])\\.json'}]"
    assert told_of(tmp_path, layout, "a.json", "sub/b.json", "c.json") == [
        Told({"cc": "bbr", "rtt_ms": 20.0}),
        Told({"cc": "b", "rtt_ms": 7.0}),
        Told({"cc": "c"}),
    ]


@pytest.mark.parametrize(
    ("group", "said", "same", "other"),
    [
        ("session", "monday", "monday", "tuesday"),
        ("job", "a", "a", "b"),
        ("iteration", "a", "1", "5"),
        ("flows", "08", "8", "4"),
        ("flow", "h1", "h1", "h2"),
        ("host", "h1", "h1", "h2"),
        ("sender_host", "h1", "h1", "h2"),
        ("side", "client", "sender", "server"),
        ("kind", "iperf", "iperf3", "ss"),
        ("cc", "bbr", "bbr1", "bbr2"),
        ("cc", "cubic", "CUBIC", "reno"),
        ("kernel", "6.1", "6.1", "6.8"),
        ("color", "red", "red", "blue"),
    ],
)
def test_what_a_path_and_its_row_say_is_to_be_the_same(
    tmp_path: Path, group: str, said: str, same: str, other: str
) -> None:
    write_archive(tmp_path, {"t.csv": f"file,{group}\n1/{said}.json,{same}\n2/{said}.json,{other}\n"})
    layout = f"table: t.csv\nfiles: [{{pattern: '(?P<{group}>[a-z0-9.]+)\\.json'}}]"
    agreed, contradicted = told_of(tmp_path, layout, f"1/{said}.json", f"2/{said}.json")
    assert agreed is not None
    assert agreed.problem is None
    assert contradicted is not None
    assert contradicted.problem is not None
    assert contradicted.problem.startswith(f"layout.yaml: `{group}` is ")
    assert contradicted.problem.endswith(f"or write (?:…) in place of (?P<{group}>…) where the table counts")


def test_a_row_may_call_a_run_otherwise_than_the_path(tmp_path: Path) -> None:
    write_archive(tmp_path, {"t.csv": "file,run\na.json,monday\n"})
    (told,) = told_of(tmp_path, "table: t.csv\nfiles: [{pattern: '(?P<run>[a-z])\\.json'}]", "a.json")
    assert told == Told({"run": "monday"})


def test_a_row_of_a_run_contradicts_the_path_too(tmp_path: Path) -> None:
    write_archive(tmp_path, {"t.csv": "run,iteration\na,5\n"})
    layout = "table: t.csv\nfiles: [{pattern: '(?P<run>[a-z])_(?P<iteration>[0-9])\\.json'}]"
    agreed, contradicted = told_of(tmp_path, layout, "a_5.json", "a_2.json")
    assert agreed is not None
    assert agreed.problem is None
    assert contradicted is not None
    assert contradicted.problem is not None
    assert "`iteration` is 2 by the path and 5 in its row" in contradicted.problem


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("files:\n  - pattren: a\n", ":2: files.0.pattren: `pattren` is not a key; did you mean `pattern`?"),
        ("flies: []\n", ":1: flies: `flies` is not a key; did you mean `files`?"),
        (
            "files:\n  - pattern: a\n    kind: iperf\n",
            "files.0.kind: `iperf` is not one of its values; did you mean `iperf3`?",
        ),
        ("files:\n  - kind: ss\n", ":2: files.0: `pattern` is missing"),
        ("files:\n  - pattern: '('\n", ":2: files.0.pattern: '(' is not a regular expression (unclosed group)"),
        ("ignore: ['*_ss.txt']\n", r":1: ignore.0: '*_ss.txt' is not a regular expression ("),
        ("ignore: ['*_ss.txt']\n", r"); write `.*_ss\.txt`"),
        ("files:\n  - pattern: '(a\\.json'\n", r"'(a\.json' is not a regular expression (unclosed group)"),
        ('ignore: ["a\\.json"]\n', "a backslash in double quotes; write the text in single quotes"),
        ("files:\n  - pattern: '(?=a)'\n", "is not a regular expression (look-around"),
        (
            "files:\n  - pattern: 'a(?<!b)'\n",
            "not supported); write what may be there, as (?:cubic|bbr), or name the files",
        ),
        ("files:\n  - pattern: '(?P<cc>a)/(?P=cc)'\n", "); write `[^/]+` for what says again what a group has"),
        ("files:\n  - pattern: '(?P<cc>a)/\\1'\n", "); write `[^/]+` for what says again what a group has"),
        (
            "files:\n\n  - pattern: '(?P<rtt>a)'\n",
            ":3: files.0.pattern: `rtt` is not a group; did you mean `rtt_ms`? Its name says its unit; ",
        ),
        (
            "files:\n  - pattern: '(?P<delay_us>a)'\n",
            "`delay_us` is not a group; did you mean `rtt_us`? Its name says its unit; `scale` converts another one.",
        ),
        (
            "files:\n  - pattern: '(?P<rate>a)'\n",
            "there are also `bottleneck_kbps`, `bottleneck_mbps`, `bottleneck_gbps`, and `scale` converts another one.",
        ),
        (
            "files:\n  - pattern: '(?P<rtt_us>a)-(?P<rtt_ms>b)'\n",
            ":2: files.0.pattern: the pattern says `rtt_ms` twice, in two units",
        ),
        ("files:\n  - pattern: '(?P<bw_mbit>a)'\n", "did you mean `bottleneck_mbps`? Its name says its unit; "),
        ("files:\n  - pattern: '(P<cc>a)'\n", ":2: files.0.pattern: `(P<cc>` does not begin a group; write `(?P<cc>`"),
        (
            "files:\n  pattern: a\n",
            ":1: files: a group of keys is not a list; begin each item with a dash: `- pattern: …`",
        ),
        ("files:\n  - pattern: '(?P<iteraton>a)'\n", "`iteraton` is not a group; did you mean `iteration`?"),
        (
            "files:\n  - pattern: a\n    set: {loss: 1}\n",
            ":3: files.0.set.loss: `loss` is not a group",
        ),
        (
            "files:\n  - pattern: a\n    set: {rtt_ms: x}\n",
            ":3: files.0.set.rtt_ms: rtt_ms is 'x', which",
        ),
        ("files:\n  - pattern: a\n    scale: {rtt_ms: 2}\n", "files.0.scale.rtt_ms: the pattern has no group `rtt_ms`"),
        (
            "files: [{pattern: a}]\nscale: {rtt_ms: 2}\n",
            ":2: scale: this is about columns of a `table`;",
        ),
        ("files: [{pattern: '(?P<cc>a)'}]\nruns_by: [cc, flow]\n", ":2: runs_by.1: no pattern has a group `flow`"),
        ("- a\n", ":1: this is not a layout; begin with `files:`"),
        ('files: [{pattern: "\\d"}]\n', ":1: not YAML: "),
        ("files: &a [{pattern: x}]\nignore: *a\n", "anchors and aliases"),
        ("table: nowhere.csv\n", ":1: table: "),
        ("files:\n  - pattern: a\n    set: {1: x}\n    2: y\n", "`2` is not a key; there are kind,"),
        ("files:\n  - pattern: a\n    set: {rtt_ms: .nan}\n", ":3: files.0.set.rtt_ms: rtt_ms is 'nan', which"),
        ("files:\n  - pattern: (?P<rtt_ms>a)\n    scale: {rtt_ms: x}\n", ":3: files.0.scale.rtt_ms: "),
    ],
)
def test_a_mistake_is_named_with_its_line_and_what_to_type(tmp_path: Path, layout: str, message: str) -> None:
    (tmp_path / "layout.yaml").write_text(layout)
    with pytest.raises(DeclarationError, match=re.escape(message)) as raised:
        load_layout(tmp_path / "layout.yaml")
    assert str(raised.value).startswith(f"{tmp_path}/layout.yaml:")


def test_groups_of_a_pattern_may_be_in_other_units_as_columns_of_a_table(tmp_path: Path) -> None:
    pattern = r"(?P<bottleneck_mbps>[0-9.]+)M_(?P<rtt_us>[0-9.]+)us/(?P<iteration>\d)"
    layout = f"files: [{{pattern: '{pattern}', set: {{pacing_gbps: 2.4}}, scale: {{rtt_us: 2}}}}]\nruns_by: [rtt_us]"
    (tmp_path / "layout.yaml").write_text(layout)
    loaded = load_layout(tmp_path / "layout.yaml")
    told = {"bottleneck_bps": 100e6, "rtt_ms": 1.0, "iteration": 1, "pacing_bps": 2.4e9}
    one_way = layout.replace("scale: {rtt_us: 2}", "kind: ss").replace("rtt_us", "owd_us")
    (tmp_path / "one_way.yaml").write_text(one_way)
    assert load_layout(tmp_path / "one_way.yaml").read_paths(["100M_500us/1"])["100M_500us/1"].values == told
    assert loaded.read_paths(["100M_500us/1"]) == {"100M_500us/1": Told(told)}
    assert loaded.name_run(told) == "rtt_ms=1"


def test_columns_of_a_table_may_be_in_other_units_or_be_ignored(tmp_path: Path) -> None:
    table = "run,bottleneck_mbps,pacing_gbps,rtt_us,note\na,100,2.4,500,rainy\nb,,,,\n"
    write_archive(tmp_path, {"layout.yaml": "table: t.csv\nignore_columns: [note]\n", "t.csv": table})
    layout = load_layout(tmp_path / "layout.yaml")
    assert layout.by_run == {
        "a": {"run": "a", "bottleneck_bps": 100e6, "pacing_bps": 2.4e9, "rtt_ms": 0.5},
        "b": {"run": "b"},
    }
    assert "note" not in layout.groups
    # Factors are those of columns, with their units: 500 µs and 100 Mbit/s, twice and ten times.
    scaled = "table: t.csv\nignore_columns: [note]\nscale: {rtt_us: 2, bottleneck_mbps: 1e1}\n"
    write_archive(tmp_path, {"layout.yaml": scaled})
    row = load_layout(tmp_path / "layout.yaml").by_run["a"]
    assert (row["rtt_ms"], row["bottleneck_bps"], row["pacing_bps"]) == (1, 1e9, 2.4e9)
    write_archive(tmp_path, {"layout.yaml": "table: t.csv\nignore_columns: [note]\nscale: {loss_pct: 2}\n"})
    with pytest.raises(DeclarationError, match=r":3: scale\.loss_pct: t\.csv has no column `loss_pct`"):
        load_layout(tmp_path / "layout.yaml")
    write_archive(tmp_path, {"layout.yaml": "table: t.csv\n\nignore_columns: [note, nite]\n"})
    message = "layout.yaml:3: ignore_columns.1: t.csv has no column `nite`; did you mean `note`?"
    with pytest.raises(DeclarationError, match=re.escape(message)):
        load_layout(tmp_path / "layout.yaml")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("path,cc\n", "t.csv:1: neither `file` nor `run` is a column; one of them says what a row is about"),
        ("Run,CC\n", "t.csv:1: neither `file` nor `run` is a column; did you mean `run` for `Run`?"),
        ("host,Files\n", "t.csv:1: neither `file` nor `run` is a column; did you mean `file` for `Files`?"),
        ("run,Host,CC\n", "t.csv:1: `Host` and `CC` are not groups; did you mean `host` and `cc`?"),
        ("file,loss\n", "t.csv:1: `loss` is not a group; did you mean `loss_pct`"),
        ("file,cc\na,b,c\n", "t.csv:2: not as many fields"),
        ("run,rtt_ms\na,20\nb,fast\n", "t.csv:3: rtt_ms is 'fast', which is not a number"),
        ("run,flow\na,h1\n", "t.csv:1: `flow` is true of a file"),
        ("file\na\na\n", "t.csv:3: file 'a' is in line 2, too"),
        ("", "t.csv is empty; its first line has to name its columns"),
        ("run,bottleneck_bps,bottleneck_gbps\na,1e9,1\n", "t.csv:1: the column `bottleneck_bps` is there twice"),
        ("run,rtt_ms,owd_ms\na,2,1\n", "`rtt_ms` is there twice, as `owd_ms` and `rtt_ms`; `ignore_columns` leaves"),
        ("run,algo,rep\na,b,1\n", "t.csv:1: `algo` and `rep` are not groups; did you mean `cc` and `iteration`? For"),
        ("run,rtt_us\na,fast\n", "t.csv:2: rtt_us is 'fast', which is not a number"),
        ("run,owd_ms\na,5ms\n", "t.csv:2: owd_ms is '5ms', which is not a number; its unit is that of the name"),
        ("run,loss_ratio\na,0.01 %\n", "t.csv:2: loss_ratio is '0.01 %', which is not a number; its unit is that of"),
        ("run,loss_ratio\na,5\n", "t.csv:2: loss_ratio is '5', which is not between 0 and 1"),
    ],
)
def test_a_mistake_in_a_table_is_named_with_its_line(tmp_path: Path, table: str, message: str) -> None:
    write_archive(tmp_path, {"layout.yaml": "table: t.csv\n", "t.csv": table})
    with pytest.raises(DeclarationError, match=re.escape(message)) as raised:
        load_layout(tmp_path / "layout.yaml")
    assert str(raised.value).startswith(f"{tmp_path}/t.csv")


def test_an_archives_own_layout_reads_nothing_outside_of_it(tmp_path: Path) -> None:
    write_archive(tmp_path, {"secret.csv": "file\nx\n", "raw/layout.yaml": "table: ../secret.csv\n"})
    with pytest.raises(DeclarationError, match="leads out of the layout's folder"):
        open_layout("", tmp_path / "raw")
    # Whoever builds may name any file.
    assert open_layout(str(tmp_path / "raw/layout.yaml"), tmp_path)[0] is not None
    (tmp_path / "raw/layout.yaml").unlink()
    (tmp_path / "raw/layout.yaml").symlink_to(tmp_path / "secret.csv")
    assert open_layout("", tmp_path / "raw") == (None, "")


def test_a_file_of_another_program_is_not_taken_for_a_layout(tmp_path: Path) -> None:
    for text in ("name: lab\ntopology: {nodes: []}\n", "[1, 2]\n", "just words\n"):
        (tmp_path / "layout.yaml").write_text(text)
        assert open_layout("", tmp_path) == (None, "")
    # A misspelt key is still said.
    (tmp_path / "layout.yaml").write_text("flies: []\n")
    with pytest.raises(DeclarationError, match="did you mean `files`"):
        open_layout("", tmp_path)


def test_the_hash_of_a_layout_is_that_of_its_table_too(tmp_path: Path) -> None:
    write_archive(tmp_path, {"layout.yaml": "table: t.csv\n", "t.csv": "run,rtt_ms\na,1\n"})
    given = str(tmp_path / "layout.yaml")
    first = open_layout(given, tmp_path)[1]
    assert open_layout(given, tmp_path)[1] == first
    (tmp_path / "t.csv").write_text("run,rtt_ms\na,2\n")
    assert open_layout(given, tmp_path)[1] != first
    assert open_layout(json.dumps({"files": [{"pattern": "a"}]}), tmp_path)[1] not in ("", first)


def test_a_pattern_that_backtracks_elsewhere_takes_no_time(tmp_path: Path) -> None:
    # Python's own expressions take 2^40 steps for this one.
    started_s = time.monotonic()
    assert told_of(tmp_path, "files: [{pattern: '(?P<run>(a+)+)b'}]", "a" * 40) == [None]
    assert time.monotonic() - started_s < 5


@settings(deadline=None)
@given(st.sampled_from(sorted(KNOWN)), st.text())
def test_no_text_is_an_error_but_a_value_error(name: str, text: str) -> None:
    try:
        value = read_value(name, text)
    except ValueError as error:
        value = str(error)
        is_said = value.startswith(f"{name} is ")
    else:
        is_said = isinstance(value, str) or 0 <= value <= 2**63
    assert is_said


@settings(deadline=None)
@given(st.floats(0, 100, allow_nan=False).map(lambda value: float(f"{value:.9g}")))
def test_a_written_number_reads_back(value: float) -> None:
    assert read_value("loss_pct", repr(value)) == value
    assert read_value("rtt_ms", f"{value:.9g}") == value


@settings(deadline=None)
@given(st.text(alphabet="abc_-.0123456789", min_size=1, max_size=12), st.integers(0, 9999))
def test_a_run_and_a_number_written_into_a_name_are_read_from_it(run: str, iteration: int) -> None:
    layout, _ = open_layout(json.dumps({"files": [{"pattern": r"(?P<run>.+)\+(?P<iteration>\d+)"}]}), Path())
    assert layout is not None
    (told,) = layout.read_paths([f"x/{run}+{iteration}"]).values()
    # The whole path fits, so that the folder is part of the name.
    assert told == Told({"run": f"x/{run}", "iteration": iteration})


@settings(deadline=None)
@given(st.lists(st.text(), unique=True))
def test_names_are_put_into_an_order(names: list[str]) -> None:
    assert sorted(sort_naturally(names)) == sorted(names)
    assert sort_naturally(["h10", "h9", "h1", "a", "h"]) == ["a", "h", "h1", "h9", "h10"]


def test_lines_are_those_of_keys_and_items() -> None:
    text = "a:\n  - b: 1\n    c:\n      2\n  - d\n"
    places: list[tuple[tuple[str | int, ...], int | None]] = [
        ((), None),
        (("a",), 1),
        (("a", 0), 2),
        (("a", 0, "c"), 3),
        (("a", 1), 5),
    ]
    assert [find_line_of_text(text, place) for place, _ in places] == [line for _, line in places]
    # What is not there is told by what it would be in.
    assert find_line_of_text(text, ("a", 1, "x")) == 5
