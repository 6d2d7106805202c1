"""`adopt` where some results are empty or break off, or are called as no other is."""

from pathlib import Path

import pytest
from archives import write_archive
from captures import Conversation, write_pcap
from own_files import START_S, client_output

from ccreport.adopt.adopt import adopt
from ccreport.adopt.rows import list_manifests
from ccreport.archive.read_layout import load_layout

BROKEN = {"run2_cubic_20ms.json": "", "run3_cubic_20ms.json": '{"start": {'}


def write_results(folder: Path, names: list[str], more: dict[str, str]) -> Path:
    """Write a result a minute under these names, and other files."""
    results = {name: client_output(4000 + number, "cubic", START_S + 60 * number) for number, name in enumerate(names)}
    return write_archive(folder, results | more)


def test_a_broken_result_is_of_the_kind_of_those_that_are_called_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"run{number}_cubic_20ms.json" for number in (1, 4)]
    folder = write_results(tmp_path / "raw", names, BROKEN | {"kaputt.json": '{"a": oops', "notes.json": "{}"})
    assert adopt(folder, check=False) == 1
    printed = capsys.readouterr().out
    assert "1 kind of file names (4 files)" in printed
    assert "  run2_cubic_20ms.json: the file is empty" in printed
    assert "  run3_cubic_20ms.json: the JSON ends early" in printed
    assert "Not read, and of no pattern that says what they are:\n  kaputt.json: the JSON is damaged" in printed
    # JSON of something else is no fault.
    assert "Not read, as nothing says what they are (`kind` in the layout does):\n  notes.json\n" in printed
    assert "    kind: iperf3\n" in (folder / "layout.yaml").read_text()
    assert adopt(folder, check=True) == 1
    (listed,) = list_manifests(folder, load_layout(folder / "layout.yaml"))
    # So the reader sees them, and rejects them with its reason.
    assert {(file.kind, file.action) for file in listed.files if file.path in BROKEN} == {("src-cmd", "ingest")}


def test_a_pattern_that_fits_other_files_does_not_say_what_they_are(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "raw", ["alpha.json", "beta.json"], {"settings.json": '{"lab": "north"}'})
    assert adopt(folder, check=False) == 0
    assert "kind:" not in (folder / "layout.yaml").read_text().partition("files:")[2]


def test_a_name_of_digits_alone_may_be_a_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_results(tmp_path / "raw", ["9e3779b1.json", "17156075.json", "ab12cd34.json"], {})
    assert adopt(folder, check=False) == 0
    assert "1 kind of file names (3 files)" in capsys.readouterr().out
    assert "no name says more" not in (folder / "layout.yaml").read_text()


def test_results_come_first_among_empty_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"run{number}_cubic_20ms.json" for number in (1, 4)]
    others = dict.fromkeys(("a.log", "b.txt", "zzz.json"), "")
    adopt(write_results(tmp_path / "raw", names, {"run1_cubic_20ms.ss": "", **BROKEN, **others}), check=False)
    printed = capsys.readouterr().out
    # What ends as results do comes before a.log, which is the first by name.
    assert "  run2_cubic_20ms.json: the file is empty" in printed
    assert "  4 files, such as zzz.json: the file is empty" in printed


def test_samples_that_are_read_in_part_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = '{"timestamp": "22:10:01", "cpu-load": [{"cpu": "all", "usr": 15.66, "idle": 84.34}]}'
    loads = f'{{"sysstat": {{"hosts": [{{"nodename": "h", "statistics": [\n{sample},\n{sample[:30]}'
    folder = write_results(tmp_path / "raw", ["run1_cubic_20ms.json"], {"run1_cubic_20ms.mpstat.json": loads})
    adopt(folder, check=False)
    capsys.readouterr()
    adopt(folder, check=True)
    printed = capsys.readouterr().out
    assert "Not read, or not as a whole:" in printed
    assert "run1_cubic_20ms.mpstat.json: mpstat was stopped before it closed its output" in printed


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("file_name,delay", "tests.csv names 2 files here in `file_name`; call that column `file`"),
        ("file,rtt_ms", "tests.csv says what its rows are about, and no layout names it: add `table: tests.csv`."),
    ],
)
def test_a_csv_that_no_layout_names_is_told_by_check_too(
    header: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"t{number}.json" for number in (1, 2)]
    table = "\n".join([header, *(f"{name},{number}" for number, name in enumerate(names, 1))])
    folder = write_results(tmp_path / "raw", names, {"tests.csv": table})
    (folder / "layout.yaml").write_text("files: [{pattern: '(?P<run>t[0-9])[.]json'}]\n")
    adopt(folder, check=True)
    assert hint in capsys.readouterr().out
    (folder / "layout.yaml").write_text("files: [{pattern: '(?P<run>t[0-9])[.]json'}]\nignore: ['tests[.]csv']\n")
    adopt(folder, check=True)
    assert "call that column" not in capsys.readouterr().out


def test_a_layout_of_the_folder_above_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_results(tmp_path / "mine/results", ["t1.json"], {})
    (tmp_path / "mine/layout.yaml").write_text("files: [{pattern: '(?P<run>t[0-9])[.]json'}]\n")
    adopt(folder, check=True)
    told = "The folder above has a layout.yaml, which is not read here: python -m ccreport adopt "
    assert f"{told}{folder.parent} --check\n" in capsys.readouterr().out


def test_a_capture_that_ends_early_is_named_and_costs_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"run{number}_cubic_20ms.json" for number in (1, 2)]
    folder = write_results(tmp_path / "raw", names, {})
    whole = write_pcap(Conversation().handshake().packets)
    for number, capture in ((1, whole), (2, whole[:-5])):
        (folder / f"run{number}_cubic_20ms.pcap").write_bytes(capture)
    assert adopt(folder, check=False) == 0
    capsys.readouterr()
    assert adopt(folder, check=True) == 0
    printed = capsys.readouterr().out
    assert (
        "Not read, or not as a whole:\n"
        "  run2_cubic_20ms.pcap: the capture ends inside a packet; all packets before it are used\n"
    ) in printed
    assert "run1_cubic_20ms.pcap" not in printed
